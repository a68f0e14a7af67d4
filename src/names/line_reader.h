/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_LINE_READER_H
#define ALLOCFILT_NAMES_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Lines of a file of any size, through a fixed buffer: getline(3) would allocate.
 */

#define LINE_READER_BYTES (32u << 10)

struct line_reader {
	int fd;
	bool at_end;
	size_t start; /* of the unread bytes in buffer */
	size_t end;
	char buffer[LINE_READER_BYTES + 1];
};

/** line_reader_start - read from the beginning of @fd, which stays open; -1 has no lines */
void line_reader_start(struct line_reader *reader, int fd);

/**
 * line_reader_next - the next line without its newline, NUL-terminated; NULL at the end
 *
 * Valid until the next call, and the caller may change it. A line that is longer than the buffer
 * is skipped. A read error ends the file.
 */
char *line_reader_next(struct line_reader *reader);

#endif
