// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/record/source.h"

uint64_t event_number(const void *at, size_t size, bool big_endian)
{
	uint64_t value = 0;

	memcpy((char *)&value + (big_endian ? sizeof(value) - size : 0), at, size);
	return big_endian ? be64toh(value) : le64toh(value);
}

static int compare_path(const void *path, const void *file)
{
	return strcmp(path, ((const struct source_file *)file)->path);
}

static const struct source_file *find_file(const struct data_source *source, const char *path)
{
	return bsearch(path, source->files, source->nr_files, sizeof(*source->files), compare_path);
}

bool source_has(const struct data_source *source, const char *path)
{
	return find_file(source, path);
}

/* A descriptor of a copy. */
static int open_copy(const struct source_file *file)
{
	int fd, ret;

	if (!file)
		return -ENOENT;
	fd = memfd_create("allocfilt", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = file_write_all(fd, file->text, file->length);
	if (!ret && lseek(fd, 0, SEEK_SET))
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int source_open(const struct data_source *source, const char *path)
{
	if (source->files)
		return open_copy(find_file(source, path));
	if (source->proc && !strcmp(path, "kallsyms"))
		return file_open(source->proc, path, FILE_TEXT_MAX);
	if (source->proc && !strcmp(path, "mountinfo"))
		return file_open("/proc/self", path, FILE_TEXT_MAX);
	return file_open(source->dir, path, FILE_TEXT_MAX);
}

int source_read(const struct data_source *source, const char *path, char **ret_text,
		size_t *ret_length)
{
	return file_read_fd(source_open(source, path), ret_text, ret_length);
}

int source_events(const struct data_source *source,
		  int (*visit)(void *context, const char *system, const char *name), void *context)
{
	int ret = 0;

	if (!source->files)
		return event_directories(source->dir, visit, context);
	for (size_t i = 0; !ret && i < source->nr_files; i++) {
		char system[NAME_MAX + 1], name[NAME_MAX + 1];
		const char *path = source->files[i].path;
		int end = 0;

		sscanf(path, "events/%255[^/]/%255[^/]/format%n", system, name, &end);
		if (end && !path[end])
			ret = visit(context, system, name);
	}
	return ret;
}
