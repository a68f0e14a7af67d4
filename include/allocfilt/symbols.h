/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_SYMBOLS_H
#define ALLOCFILT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Names of kernel addresses, from the text of kallsyms. A fixed table, filled at the start with
 * what is likely to be asked; an address that is not in it is looked up in the file at its first
 * sight, by streaming through a fixed buffer, so that nothing is allocated on the path of an event.
 */

#define SYMBOLS_MAX		2048
#define SYMBOL_NAME_MAX		96	/* with the NUL; a longer one is cut */
#define SYMBOL_MODULE_MAX	56	/* MODULE_NAME_LEN of a 64-bit kernel */

struct symbol {
	uint64_t address;
	uint64_t size;			/* bytes up to the next symbol; 0: unknown */
	char name[SYMBOL_NAME_MAX];
	char module[SYMBOL_MODULE_MAX];	/* empty for the kernel itself */
};

struct symbols;

/**
 * symbols_new - open @path ("/proc/kallsyms", "DIR/kallsyms") and fill the table in one pass
 * @wanted: for each name of the file: keep it? NULL keeps none
 *
 * A path that is not there or all of whose addresses are zero (no CAP_SYSLOG) leaves an empty
 * table: symbols_readable() tells, and addresses print as the kernel prints unknown ones (0x…).
 * Returns NULL with errno ENOMEM only.
 */
struct symbols *symbols_new(const char *path, int (*wanted)(void *context, const char *name),
			    void *context);
void symbols_free(struct symbols *symbols);

/** symbols_readable - 0, or the -errno of the opening; -EPERM for addresses that are zeros */
int symbols_readable(const struct symbols *symbols);

/**
 * symbols_find - the symbol that contains @address, NULL for none
 *
 * Valid until symbols_free(). A table that is full answers from the file without keeping it (the
 * result is then valid until the next call); symbols_overflow() counts that.
 */
const struct symbol *symbols_find(struct symbols *symbols, uint64_t address);
/**
 * symbols_look_up - of several addresses that are about to be asked for, as those of a stack
 *
 * Those that the table does not have are looked up in one pass over the file, the first 32 of them.
 */
void symbols_look_up(struct symbols *symbols, const uint64_t *addresses, size_t count);

/** symbols_address - where the first symbol of that name that symbols_new() kept begins; 0: none */
uint64_t symbols_address(const struct symbols *symbols, const char *name);
uint64_t symbols_overflow(const struct symbols *symbols);

/**
 * symbols_text - an address as the kernel prints it with %ps or %pS
 * @style: 's' or 'S'
 *
 * "name", "name [module]"; "name+0x0/0x1d0", "name+0x0/0x110 [module]"; "0x…" for an unknown one.
 * lib/vsprintf.c: symbol_string(); kernel/kallsyms.c: __sprint_symbol(). Returns the length.
 */
int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size);

#endif
