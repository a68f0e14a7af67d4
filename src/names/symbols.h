/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_SYMBOLS_H
#define ALLOCFILT_NAMES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names of kernel addresses, from a file like /proc/kallsyms. A fixed table holds the likely ones,
 * which are read in one pass over the file. Another address is looked up later, through a fixed
 * buffer. In a running kernel, which formats each line when it is read, that is a pass again: at most
 * one a second, for all that is unknown by then. Of a capture's file there is an index.
 */

#define SYMBOLS_MAX	  2048
#define SYMBOLS_TEXT_MAX  (64u << 10) /* bytes of all their names; 20 for one are usual */
#define SYMBOL_NAME_MAX	  96	      /* with the NUL; a longer one is cut */
#define SYMBOL_MODULE_MAX 56	      /* MODULE_NAME_LEN of a 64-bit kernel */

struct symbol {
	uint64_t address;
	uint64_t size; /* bytes up to the next symbol; 0: unknown */
	const char *name;
	const char *module; /* "" for the kernel itself */
};

struct symbols;

/**
 * symbols_new - see whether a file has addresses
 * @fd: a text of kallsyms, or the -errno of opening it; belongs to the symbols from now on
 * @live: a running kernel's
 *
 * Returns NULL with errno ENOMEM only; see symbols_readable().
 */
struct symbols *symbols_new(int fd, bool live);
void symbols_free(struct symbols *symbols);

/**
 * symbols_readable - 0, or the -errno of open(2); -ENODATA if the file has no symbol, -EPERM if all
 * addresses are zeros
 */
int symbols_readable(const struct symbols *symbols);

/**
 * symbols_read - fill the table in one pass over the file, as far as it can be read
 * @wanted: returns whether a function of the kernel belongs into the table
 */
void symbols_read(struct symbols *symbols, bool (*wanted)(void *context, const char *name),
		  void *context);

/** symbols_set_time - @ts: ns of the trace clock; in a running kernel, for the pause between passes */
void symbols_set_time(struct symbols *symbols, uint64_t ts);

/**
 * symbols_look_up - read the symbols of several addresses into the table, as those of a stack
 *
 * In a full table they replace those that came first. In a running kernel those that have to wait are
 * looked up with the next ones, up to 128 in one pass; what no symbol contains is not looked for
 * again for a minute.
 */
void symbols_look_up(struct symbols *symbols, const uint64_t *addresses, size_t count);

/**
 * symbols_find - the symbol that contains @address; valid until the next call
 *
 * NULL for none, or for one that waits for the next pass.
 */
const struct symbol *symbols_find(struct symbols *symbols, uint64_t address);

/** symbols_address - address of the first symbol of that name in the table; 0: none */
uint64_t symbols_address(const struct symbols *symbols, const char *name);

/**
 * symbols_in_scheduler - is the address in the kernel's section of functions that wait?
 *
 * What wchan leaves out of a stack: __sched of include/linux/sched/debug.h. False where kallsyms
 * does not have its ends.
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
