/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NOTES_H
#define NOTES_H

#include "unit_test.h"

/* What a test's callbacks received, as one text. */
static struct {
	char text[8192];
	size_t used;
	bool quiet; /* nothing is noted */
} notes;

static inline void clear_notes(void)
{
	memset(&notes, 0, sizeof(notes));
}

__attribute__((format(printf, 1, 2))) static inline void note(const char *format, ...)
{
	va_list arguments;

	if (notes.quiet)
		return;
	va_start(arguments, format);
	notes.used += vsnprintf(notes.text + notes.used, sizeof(notes.text) - notes.used, format,
				arguments);
	va_end(arguments);
	assert_true(notes.used < sizeof(notes.text));
}

/* Ends what was noted before. */
static inline void note_separator(const char *separator)
{
	if (notes.used)
		note("%s", separator);
}

#endif
