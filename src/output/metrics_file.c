// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/output.h"

#define ENDING ".prom" /* node_exporter reads no other */

struct metrics_file {
	char *path;
	struct writer *writer;
	int last; /* -errno of the last write, or 0 */
	bool changed;
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct metrics_file *metrics_file_new(const char *path)
{
	struct metrics_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->path = strdup(path);
	file->writer = writer_new(-1, -1);
	if (file->path && file->writer)
		return file;
	metrics_file_free(file);
	errno = ENOMEM;
	return NULL;
}

void metrics_file_free(struct metrics_file *file)
{
	if (!file)
		return;
	writer_free(file->writer);
	free(file->path);
	free(file);
}

/*
 * No fsync(2): it may take seconds while memory is short, which is when this program runs, and what
 * a machine that crashed had of these numbers is of no use to the next run.
 */
static int replace(struct metrics_file *file, int (*fill)(void *context, struct writer *writer),
		   void *context)
{
	struct file_replacement new;
	int ret = file_replace_begin(&new, NULL, file->path, 0644);

	if (ret)
		return ret;
	writer_attach(file->writer, new.fd);
	ret = fill(context, file->writer);
	return file_replace_end(&new, ret ? ret : writer_flush(file->writer), false);
}

static const char *way_out(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
	case EROFS:
		return "give a file in a directory that allocfilt may write to; a service needs ReadWritePaths= for it";
	case ENOENT:
	case ENOTDIR:
		return "its directory has to be there";
	case EISDIR:
		return "give the name of a file";
	case EDQUOT:
	case EFBIG:
	case ENOSPC:
		return "there has to be room for it";
	default:
		return "give another file, best in a directory of a tmpfs";
	}
}

int metrics_file_write(struct metrics_file *file, int (*fill)(void *context, struct writer *writer),
		       void *context, struct failure *failure)
{
	int ret = replace(file, fill, context);

	file->changed = ret != file->last;
	file->last = ret;
	if (!ret)
		return 0;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "--metrics %s: %s; %s", file->path,
			   strerror(-ret), way_out(-ret));
}

bool metrics_file_changed(const struct metrics_file *file)
{
	return file->changed;
}

bool metrics_file_is_collected(const char *path)
{
	const char *name = name_of(path);
	size_t length = strlen(name);

	return length >= strlen(ENDING) && !strcmp(name + length - strlen(ENDING), ENDING);
}
