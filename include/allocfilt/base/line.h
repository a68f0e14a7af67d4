/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_LINE_H
#define ALLOCFILT_BASE_LINE_H

#include <stddef.h>

#include "allocfilt/base/text.h"
#include "allocfilt/base/writer.h"

/* A line that is built in a fixed buffer; text that does not fit is cut off. */

#define LINE_MAX_BYTES 4096 /* with a newline */

struct line {
	size_t used;
	char text[LINE_MAX_BYTES + 1]; /* NUL-terminated */
};

/** line_clear - make the line empty; to be called first */
void line_clear(struct line *line);

/** line_add - add formatted text */
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** line_add_text - add a text as it is */
void line_add_text(struct line *line, const char *text);

/** line_add_counted - add @before and text_counted(), but nothing for 0 */
void line_add_counted(struct line *line, const char *before, uint64_t count, const char *words);

/** line_add_ms - add ns as milliseconds, "12.345"; @width: columns before the point, at least */
void line_add_ms(struct line *line, int width, uint64_t ns);

/** line_add_duration - add a time as text_duration() prints it; @width: columns, at least */
void line_add_duration(struct line *line, int width, uint64_t ns);

/** line_pad - add blanks up to a number of columns, unless the line has more */
void line_pad(struct line *line, size_t columns);

/** line_add_name - add a name of any bytes as it may be shown where the writer writes: text_rule_of() */
void line_add_name(struct line *line, const struct writer *writer, const char *name);

/** line_add_escaped - add a name of any bytes; it is cut between characters */
void line_add_escaped(struct line *line, const char *text, enum text_rule rule);

/** line_put - write it with a newline; returns as writer_put() */
int line_put(struct line *line, struct writer *writer);

/** line_write - write a line of formatted text; returns as writer_put() */
int line_write(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
