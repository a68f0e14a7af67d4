// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names/mounts.h"

#define BUFFER_SIZE (32u << 10) /* a line has two paths and options: 3 pages as a rule */

struct mounts {
	int fd; /* -1: none */
	char buffer[BUFFER_SIZE + 1];
};

struct question {
	uint32_t major;
	uint32_t minor;
	char *point;
	size_t size;
	bool whole; /* found, and no better is to be expected */
};

struct mounts *mounts_new(const char *path)
{
	struct mounts *mounts = calloc(1, sizeof(*mounts));

	if (!mounts)
		return NULL;
	mounts->fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return mounts;
}

void mounts_free(struct mounts *mounts)
{
	if (!mounts)
		return;
	if (mounts->fd >= 0)
		close(mounts->fd);
	free(mounts);
}

static const char *next_word(const char *word)
{
	word += strcspn(word, " ");
	return word + strspn(word, " ");
}

/* "36 35 98:0 /root /mount/point options … - type source options": proc(5). */
static void look_at(struct question *question, const char *line)
{
	const char *device = next_word(next_word(line));
	const char *root = next_word(device);
	const char *point = next_word(root);
	uint32_t major, minor;
	bool whole = root[0] == '/' && root[1] == ' ';

	if (sscanf(device, "%u:%u ", &major, &minor) != 2 || major != question->major ||
	    minor != question->minor || !*point)
		return;
	if (!whole && *question->point)
		return;
	snprintf(question->point, question->size, "%.*s", (int)strcspn(point, " "), point);
	question->whole = whole;
}

/* Returns how many bytes of the buffer are used up. */
static size_t look_at_lines(struct question *question, char *buffer)
{
	char *line = buffer, *newline;

	while (!question->whole && (newline = strchr(line, '\n'))) {
		*newline = '\0';
		look_at(question, line);
		line = newline + 1;
	}
	return (size_t)(line - buffer);
}

void mounts_find(struct mounts *mounts, uint32_t major, uint32_t minor, char *point, size_t size)
{
	struct question question = {
		.major = major,
		.minor = minor,
		.point = point,
		.size = size,
	};
	size_t held = 0, used;
	ssize_t got;

	*point = '\0';
	if (mounts->fd < 0 || lseek(mounts->fd, 0, SEEK_SET) < 0)
		return;
	while (!question.whole) {
		got = read(mounts->fd, mounts->buffer + held, BUFFER_SIZE - held);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		held += (size_t)got;
		mounts->buffer[held] = '\0';
		used = look_at_lines(&question, mounts->buffer);
		/* No mount has a line that long. */
		if (!used && held == BUFFER_SIZE)
			used = held;
		held -= used;
		memmove(mounts->buffer, mounts->buffer + used, held);
	}
}
