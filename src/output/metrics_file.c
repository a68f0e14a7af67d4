// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/output/metrics.h"

struct metrics_file {
	char *path;
	struct writer *writer;
	int last; /* result of the last write, 0 or -errno */
	bool changed;
};

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

/* Advice to the user about an error, for the end of a message. */
static const char *remedy(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
	case EROFS:
		return "use a directory that allocfilt may write to; a service needs ReadWritePaths= for it";
	case ENOENT:
	case ENOTDIR:
		return "its directory must exist";
	case EISDIR:
	case ELOOP:
	case EMEDIUMTYPE:
		return "name a regular file, or one that does not exist";
	case EDQUOT:
	case EFBIG:
	case ENOSPC:
		return "make room for it";
	default:
		return "use another file, best on a tmpfs";
	}
}

static int refuse_metrics_file(const struct metrics_file *file, enum exit_status status, int error,
			       struct failure *failure)
{
	return failure_set(failure, status, -error, "--metrics %s: %s; %s", file->path,
			   file_error(-error), remedy(-error));
}

int metrics_file_check(const struct metrics_file *file, struct failure *failure)
{
	const char *name;
	int dir = file_open_parent(file->path, &name);
	int ret = dir < 0 ? dir : faccessat(dir, ".", W_OK, AT_EACCESS) ? -errno : 0;

	file_close(dir);
	return ret ? refuse_metrics_file(file, EXIT_STATUS_USAGE, ret, failure) : 0;
}

int metrics_file_write(struct metrics_file *file, const struct summary_view *view,
		       const struct metrics_process *process, struct failure *failure)
{
	struct file_replacement new;
	const char *name;
	int dir = file_open_parent(file->path, &name);
	int ret = dir < 0 ? dir : file_replace_begin(&new, dir, name, 0644);

	if (!ret) {
		writer_attach(file->writer, new.fd);
		ret = metrics_text(file->writer, view, process);
		if (!ret)
			ret = writer_flush(file->writer);
		/*
		 * No fsync(2): it can block for seconds when memory is short, and after a crash
		 * nobody needs these numbers.
		 */
		ret = file_replace_end(&new, ret, false);
	}
	file_close(dir);
	file->changed = ret != file->last;
	file->last = ret;
	return ret ? refuse_metrics_file(file, EXIT_STATUS_RUN_TIME, ret, failure) : 0;
}

bool metrics_file_changed(const struct metrics_file *file)
{
	return file->changed;
}
