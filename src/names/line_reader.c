// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "names/line_reader.h"

void line_reader_start(struct line_reader *reader, int fd)
{
	reader->fd = fd;
	reader->at_end = fd < 0 || lseek(fd, 0, SEEK_SET) < 0;
	reader->start = 0;
	reader->end = 0;
}

/* Moves the unread bytes to the front and reads more after them. */
static void fill(struct line_reader *reader)
{
	ssize_t length;

	memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
	reader->end -= reader->start;
	reader->start = 0;
	length = TEMP_FAILURE_RETRY(
		read(reader->fd, reader->buffer + reader->end, LINE_READER_BYTES - reader->end));
	if (length > 0)
		reader->end += (size_t)length;
	else
		reader->at_end = true;
}

char *line_reader_next(struct line_reader *reader)
{
	bool too_long = false;

	for (;;) {
		char *line = reader->buffer + reader->start;
		char *newline = memchr(line, '\n', reader->end - reader->start);

		if (!newline && reader->at_end) {
			if (too_long)
				reader->end = reader->start;
			if (reader->start == reader->end)
				return NULL;
			newline = reader->buffer + reader->end;
			reader->end++;
		}
		if (newline) {
			*newline = '\0';
			reader->start = (size_t)(newline + 1 - reader->buffer);
			if (!too_long)
				return line;
			too_long = false;
			continue;
		}
		if (!reader->start && reader->end == LINE_READER_BYTES) {
			too_long = true;
			reader->end = 0;
		}
		fill(reader);
	}
}
