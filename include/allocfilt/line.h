/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_LINE_H
#define ALLOCFILT_LINE_H

#include <stddef.h>

#include "writer.h"

/* A line of text that is put together piece by piece in a fixed buffer; what is too long is cut. */

#define LINE_MAX_BYTES 1024

struct line {
	size_t used;
	char text[LINE_MAX_BYTES];
};

void line_clear(struct line *line);
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** line_put - write it with a newline; 0 or -errno of the writer */
int line_put(struct line *line, struct writer *writer);

#endif
