/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEST_WRITTEN_TEXT_H
#define ALLOCFILT_TEST_WRITTEN_TEXT_H

#include <stdio.h>
#include <stdlib.h>

#include "allocfilt/base.h"

/* What goes to a writer, as a text. */
static FILE *written_file;

static inline struct writer *begin_text(void)
{
	struct writer *writer;

	written_file = tmpfile();
	writer = written_file ? writer_new(fileno(written_file), -1) : NULL;
	if (!writer)
		abort();
	return writer;
}

/* Valid until the next call. */
static inline const char *end_text(struct writer *writer)
{
	static char text[1 << 20];
	size_t length;

	if (writer_flush(writer))
		abort();
	writer_free(writer);
	rewind(written_file);
	length = fread(text, 1, sizeof(text) - 1, written_file);
	fclose(written_file);
	text[length] = '\0';
	return text;
}

#endif
