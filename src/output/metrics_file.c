// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/output.h"

#define ENDING	      ".prom" /* node_exporter reads no other */
#define TEMPORARY_END ".allocfilt"

struct metrics_file {
	char *path;
	char *temporary; /* in the same directory, or it could not be renamed */
	struct writer *writer;
	int last; /* -errno of the last write, or 0 */
	bool changed;
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *temporary_of(const char *path)
{
	size_t size = strlen(path) + strlen(TEMPORARY_END) + 2;
	const char *name = name_of(path);
	char *temporary = malloc(size);

	if (temporary)
		snprintf(temporary, size, "%.*s.%s" TEMPORARY_END, (int)(name - path), path, name);
	return temporary;
}

struct metrics_file *metrics_file_new(const char *path)
{
	struct metrics_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->path = strdup(path);
	file->temporary = temporary_of(path);
	file->writer = writer_new(-1, -1);
	if (file->path && file->temporary && file->writer)
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
	free(file->temporary);
	free(file->path);
	free(file);
}

static int open_new(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int open_temporary(const char *path)
{
	int fd = open_new(path);

	if (fd != -EEXIST)
		return fd;
	if (unlink(path))
		return -errno;
	return open_new(path);
}

/*
 * No fsync(2): it may take seconds while memory is short, which is when this program runs, and what
 * a machine that crashed had of these numbers is of no use to the next run.
 */
static int write_text(struct metrics_file *file, int fd,
		      int (*fill)(void *context, struct writer *writer), void *context)
{
	int ret;

	if (fchmod(fd, 0644))
		return -errno;
	writer_attach(file->writer, fd);
	ret = fill(context, file->writer);
	return ret ? ret : writer_flush(file->writer);
}

static int replace(struct metrics_file *file, int (*fill)(void *context, struct writer *writer),
		   void *context)
{
	int fd = open_temporary(file->temporary);
	int ret;

	if (fd < 0)
		return fd;
	ret = write_text(file, fd, fill, context);
	/* Some file systems tell of a full disk only here. */
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(file->temporary, file->path))
		ret = -errno;
	if (ret)
		unlink(file->temporary);
	return ret;
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
