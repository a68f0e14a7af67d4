// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base.h"

#define FILE_FIRST_SIZE 4096
/* Larger than any; not every file has an end. */
#define FILE_SIZE_MAX (64 << 20)
/* Below the kernel's limit for one write of any list; one page. */
#define FILE_WRITE_MAX 4000

int file_path(char *buffer, const char *dir, const char *path)
{
	int length;

	if (dir)
		length = snprintf(buffer, PATH_MAX, "%s/%s", dir, path);
	else
		length = snprintf(buffer, PATH_MAX, "%s", path);
	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int file_open(const char *dir, const char *path, int flags)
{
	char name[PATH_MAX];
	int fd, ret;

	ret = file_path(name, dir, path);
	if (ret)
		return ret;
	do
		fd = open(name, flags | O_CLOEXEC | O_NOCTTY);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

/* Reads to the end into *text, which grows; *text is the caller's in every case. */
static int read_whole(int fd, char **text, size_t *length)
{
	size_t size = 0;
	ssize_t got;

	*length = 0;
	for (;;) {
		if (*length + 1 >= size) {
			char *larger;

			if (size >= FILE_SIZE_MAX)
				return -EFBIG;
			larger = realloc(*text, size ? size * 2 : FILE_FIRST_SIZE);
			if (!larger)
				return -ENOMEM;
			size = size ? size * 2 : FILE_FIRST_SIZE;
			*text = larger;
		}
		got = read(fd, *text + *length, size - *length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		*length += got;
	}
	(*text)[*length] = '\0';
	return 0;
}

int file_read(const char *dir, const char *path, char **ret_text, size_t *ret_length)
{
	int fd = file_open(dir, path, O_RDONLY);
	char *text = NULL;
	size_t length;
	int ret;

	if (fd < 0)
		return fd;
	ret = read_whole(fd, &text, &length);
	close(fd);
	if (ret) {
		free(text);
		return ret;
	}
	*ret_text = text;
	if (ret_length)
		*ret_length = length;
	return 0;
}

/* As much of a text as goes into one write, up to the end of a line where there is one. */
static size_t chunk_of(const char *text, size_t length)
{
	const char *newline;

	if (length <= FILE_WRITE_MAX)
		return length;
	newline = memrchr(text, '\n', FILE_WRITE_MAX);
	return newline ? (size_t)(newline - text) + 1 : FILE_WRITE_MAX;
}

static int write_whole(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t wrote = write(fd, text, chunk_of(text, left));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -errno;
		if (!wrote)
			return -EIO;
		text += wrote;
		left -= wrote;
	}
	return 0;
}

static int open_and_write(const char *dir, const char *path, const char *text, int flags)
{
	int fd = file_open(dir, path, O_WRONLY | flags);
	int ret;

	if (fd < 0)
		return fd;
	ret = write_whole(fd, text);
	if (close(fd) < 0 && !ret)
		ret = -errno;
	return ret;
}

int file_write(const char *dir, const char *path, const char *text)
{
	return open_and_write(dir, path, text, O_TRUNC);
}

int file_append(const char *dir, const char *path, const char *text)
{
	return open_and_write(dir, path, text, O_APPEND);
}

char *file_read_text(const char *dir, const char *name, size_t *ret_length)
{
	char *text;
	int ret = file_read(dir, name, &text, ret_length);

	if (ret) {
		errno = -ret;
		return NULL;
	}
	return text;
}
