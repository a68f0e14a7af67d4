/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_ENTRY_H
#define ALLOCFILT_JOURNAL_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "journal/socket.h"

/*
 * An entry of the journal in the making, as its native protocol has it: fields in the order in
 * which they are added, `NAME=value`, or with the length before the value where it has a newline.
 * Values are any bytes; names are ours. A field that no longer fits is left out, the others stay.
 */

struct journal_entry {
	size_t used;
	size_t left_out; /* fields */
	char bytes[JOURNAL_ENTRY_MAX];
};

void journal_entry_clear(struct journal_entry *entry);

/** journal_entry_text - @value: any bytes up to the NUL; "" is a field too */
void journal_entry_text(struct journal_entry *entry, const char *name, const char *value);
void journal_entry_number(struct journal_entry *entry, const char *name, uint64_t number);

/** journal_entry_fields - append the fields of another entry, all or none */
void journal_entry_fields(struct journal_entry *entry, const struct journal_entry *more);

/** journal_entry_room - bytes of a value of this name that still fit */
size_t journal_entry_room(const struct journal_entry *entry, const char *name);

/** journal_entry_length - eight bytes, little-endian, that stand before a value with newlines */
#define JOURNAL_LENGTH_BYTES 8
void journal_entry_length(char bytes[JOURNAL_LENGTH_BYTES], uint64_t length);

#endif
