// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int output_file_open(int *ret_fd, const char *path, struct failure *failure)
{
	*ret_fd = STDOUT_FILENO;
	if (!path)
		return 0;
	*ret_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (*ret_fd < 0)
		return failure_set(failure, failure_status_of_path(errno), errno, "-o %s: %s", path,
				   strerror(errno));
	return 0;
}

int output_file_begin(int fd, const char *path)
{
	struct stat status;

	if (!path || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	return ftruncate(fd, 0) < 0 ? -errno : 0;
}

int output_file_close(int fd, const char *path, int ret, struct failure *failure)
{
	if (!path || !close(fd) || ret)
		return ret;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "-o %s: %s", path,
			   strerror(errno));
}
