// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>

#include "allocfilt/base.h"

void line_clear(struct line *line)
{
	line->used = 0;
	line->text[0] = '\0';
}

void line_add(struct line *line, const char *format, ...)
{
	size_t room = sizeof(line->text) - 1 - line->used;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line->text + line->used, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		line->used += (size_t)length < room ? (size_t)length : room - 1;
}

int line_put(struct line *line, struct writer *writer)
{
	line->text[line->used] = '\n';
	return writer_put(writer, line->text, line->used + 1);
}
