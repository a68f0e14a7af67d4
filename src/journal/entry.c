// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "journal/entry.h"

void journal_entry_clear(struct journal_entry *entry)
{
	entry->used = 0;
	entry->left_out = 0;
}

static void add(struct journal_entry *entry, const char *bytes, size_t length)
{
	memcpy(entry->bytes + entry->used, bytes, length);
	entry->used += length;
}

void journal_entry_length(char bytes[JOURNAL_LENGTH_BYTES], uint64_t length)
{
	for (int i = 0; i < JOURNAL_LENGTH_BYTES; i++)
		bytes[i] = (char)(length >> (8 * i));
}

size_t journal_entry_room(const struct journal_entry *entry, const char *name)
{
	size_t taken = entry->used + strlen(name) + 1 + JOURNAL_LENGTH_BYTES + 1;

	return taken < sizeof(entry->bytes) ? sizeof(entry->bytes) - taken : 0;
}

static void add_with_length(struct journal_entry *entry, const char *value, size_t length)
{
	char bytes[JOURNAL_LENGTH_BYTES];

	journal_entry_length(bytes, length);
	add(entry, "\n", 1);
	add(entry, bytes, sizeof(bytes));
	add(entry, value, length);
}

void journal_entry_text(struct journal_entry *entry, const char *name, const char *value)
{
	size_t length = strlen(value);

	if (length > journal_entry_room(entry, name)) {
		entry->left_out++;
		return;
	}
	add(entry, name, strlen(name));
	if (strchr(value, '\n')) {
		add_with_length(entry, value, length);
	} else {
		add(entry, "=", 1);
		add(entry, value, length);
	}
	add(entry, "\n", 1);
}

void journal_entry_number(struct journal_entry *entry, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	journal_entry_text(entry, name, text);
}

void journal_entry_fields(struct journal_entry *entry, const struct journal_entry *more)
{
	if (more->used > sizeof(entry->bytes) - entry->used)
		entry->left_out++;
	else
		add(entry, more->bytes, more->used);
}
