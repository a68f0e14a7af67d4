// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int oom_score_set(int score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", score);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != length)
		ret = -errno;
	close(fd);
	return ret;
}
