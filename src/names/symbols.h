/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_SYMBOLS_H
#define ALLOCFILT_NAMES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/event_text.h"

/*
 * Names of kernel functions, from a text like /proc/kallsyms. All of its code symbols are kept, sorted
 * by address, in memory of their own: about 40 bytes each. The file is read once, and in a running
 * kernel again when modules have come or gone, or an address has no name.
 */

#define SYMBOL_NAME_MAX	  96 /* with the NUL; a longer one is cut */
#define SYMBOL_MODULE_MAX 56 /* MODULE_NAME_LEN of a 64-bit kernel */

#define SYMBOLS_MAX	 (1u << 20)  /* later symbols of the file have no name */
#define SYMBOLS_TEXT_MAX (48u << 20) /* bytes of all names; the same */

struct symbol {
	uint64_t address;
	uint64_t size; /* bytes up to the next symbol; 0: unknown */
	const char *name;
	const char *module; /* "" for the kernel itself */
};

struct symbols;

/**
 * symbols_new - see whether a file has addresses
 * @fd: a text of kallsyms, or the -errno of opening it
 * @modules: the running kernel's text of /proc/modules; negative: the symbols do not change
 *
 * Both descriptors belong to the symbols from now on. Returns NULL if there is no memory; see
 * symbols_readable().
 */
struct symbols *symbols_new(int fd, int modules);
void symbols_free(struct symbols *symbols);

/**
 * symbols_readable - 0, or the -errno of open(2); -ENODATA if the file has no symbol, -EPERM if all
 * addresses are zeros
 */
int symbols_readable(const struct symbols *symbols);

/** symbols_read - read the file, as far as it can be read; false: there was no memory for all symbols */
bool symbols_read(struct symbols *symbols);

/**
 * symbols_find - the symbol that contains @address, NULL for none; valid until the next call
 *
 * In a running kernel this looks at /proc/modules, at most once a second, when the address is a
 * module's or has no name. If the modules are others, the modules' symbols are read again. They are
 * also read again for an address without a name: a second later at first, and up to a minute later
 * while that brings no name. Their memory is used again, and grows by what is loaded since.
 */
const struct symbol *symbols_find(struct symbols *symbols, uint64_t address);

/** symbols_address - address of the first function of that name; 0: none */
uint64_t symbols_address(const struct symbols *symbols, const char *name);

/**
 * symbols_in_scheduler - is the address in the kernel's section of functions that wait?
 *
 * The kernel leaves these functions out of wchan, too: __sched of include/linux/sched/debug.h. False
 * where kallsyms does not have the ends of the section.
 */
bool symbols_in_scheduler(const struct symbols *symbols, uint64_t address);

/**
 * symbols_text - print an address as the kernel does with %ps or %pS
 * @style: 's' or 'S'
 *
 * "name", "name [module]"; "name+0x0/0x1d0", "name+0x0/0x110 [module]"; "0x…" for an unknown one.
 * lib/vsprintf.c: symbol_string(); kernel/kallsyms.c: __sprint_symbol(). Returns the length.
 */
int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size);

#endif
