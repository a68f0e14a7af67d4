// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "run/own_usage.h"

#define STATM_MAX 128 /* seven numbers */

/* Not by stdio: fopen(3) allocates. */
static ssize_t read_statm(char text[STATM_MAX])
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return -1;
	length = read(fd, text, STATM_MAX - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

uint64_t own_resident(void)
{
	char text[STATM_MAX];
	uint64_t pages;

	if (read_statm(text) <= 0 || sscanf(text, "%*u %" SCNu64, &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t time_ns(const struct timeval *time)
{
	return ((uint64_t)time->tv_sec * 1000000 + time->tv_usec) * 1000;
}

uint64_t own_cpu(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return 0;
	return time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime);
}
