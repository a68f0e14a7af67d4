/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEST_WRITTEN_TEXT_H
#define ALLOCFILT_TEST_WRITTEN_TEXT_H

#include "allocfilt/base/writer.h"
#include "unit_test.h"

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

/* What was written since the last call; valid until the next one. */
static inline const char *next_text(struct writer *writer)
{
	static char text[1 << 16];
	ssize_t length;

	if (writer_flush(writer))
		abort();
	length = pread(fileno(written_file), text, sizeof(text) - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	if (ftruncate(fileno(written_file), 0) || lseek(fileno(written_file), 0, SEEK_SET))
		abort();
	return text;
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

static inline void text_has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("missing: %s in %s", what, text);
}

static inline int count_in(const char *text, const char *what)
{
	int count = 0;

	for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
		count++;
	return count;
}

#endif
