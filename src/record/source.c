// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/record.h"

int source_open(const struct data_source *source, const char *path)
{
	if (source->files)
		return file_table_open(source->files, path);
	if (source->proc && !strcmp(path, "kallsyms"))
		return file_open(source->proc, path, FILE_TEXT_MAX);
	if (source->proc && !strcmp(path, "mountinfo"))
		return file_open(source->proc, "self/mountinfo", FILE_TEXT_MAX);
	return file_open(source->dir, path, FILE_TEXT_MAX);
}

int source_read(const struct data_source *source, const char *path, char **ret_text,
		size_t *ret_length)
{
	int fd, ret;

	if (source->files)
		return file_table_read(source->files, path, ret_text, ret_length);
	fd = source_open(source, path);
	if (fd < 0)
		return fd;
	ret = file_read_fd(fd, ret_text, ret_length);
	close(fd);
	return ret;
}

int source_events(const struct data_source *source,
		  int (*visit)(void *context, const char *system, const char *name), void *context)
{
	return source->files ? file_table_events(source->files, visit, context) :
			       event_directories(source->dir, visit, context);
}
