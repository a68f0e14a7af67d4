/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_SYMBOLS_H
#define ALLOCFILT_NAMES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names of kernel addresses, from a file like /proc/kallsyms. A fixed table holds the likely ones.
 * Another address is looked up in the file, through a fixed buffer, so that nothing is allocated on
 * the path of a record.
 */

#define SYMBOLS_MAX	  2048
#define SYMBOLS_TEXT_MAX  (64u << 10) /* bytes of all their names; 20 for one are usual */
#define SYMBOL_NAME_MAX	  96	      /* with the NUL; a longer one is cut */
#define SYMBOL_MODULE_MAX 56	      /* MODULE_NAME_LEN of a 64-bit kernel */

struct symbol {
	uint64_t address;
	uint64_t size;	    /* bytes up to the next symbol; 0: unknown */
	const char *name;   /* "": no symbol contains the address */
	const char *module; /* "" for the kernel itself */
};

struct symbols;

/**
 * symbols_new - open @path ("/proc/kallsyms", "DIR/kallsyms") and fill the table in one pass
 * @wanted: returns whether a function of the kernel belongs into the table; NULL: none does
 *
 * Without the file, or where it has no address other than zero (no CAP_SYSLOG), the table is empty.
 * Returns NULL with errno ENOMEM only.
 */
struct symbols *symbols_new(const char *path, bool (*wanted)(void *context, const char *name),
			    void *context);
void symbols_free(struct symbols *symbols);

/**
 * symbols_readable - 0, or the -errno of open(2); -ENODATA if the file has no symbol, -EPERM if all
 * addresses are zeros
 */
int symbols_readable(const struct symbols *symbols);

/**
 * symbols_look_up - read the symbols of several addresses into the table, as those of a stack
 *
 * The first 32 that the table does not have are looked up in one pass over the file. In a full table
 * they replace those that came first.
 */
void symbols_look_up(struct symbols *symbols, const uint64_t *addresses, size_t count);

/** symbols_find - the symbol that contains @address, NULL for none; valid until the next call */
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
