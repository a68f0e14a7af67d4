// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kills a run, and tells how long tracing is not as it was, for the tests in a virtual machine;
 * linked statically.
 *
 *   kills PID	SIGKILL; prints the ms until there is no undo file, no instance of ours, no threshold and
 *		no tracer; -1: not within 60 s
 *
 * Its memory is locked: it must not wait for what it watches.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"

static int reads_as(const char *path, const char *expected)
{
	int fd = open(path, O_RDONLY), same;
	char text[32] = "";

	same = read(fd, text, sizeof(text) - 1) >= 0 && !strcmp(text, expected);
	close(fd);
	return same;
}

static int is_as_before(void)
{
	return access("/run/allocfilt/undo", F_OK) && access(TRACING "instances/allocfilt", F_OK) &&
	       reads_as(TRACING "current_tracer", "nop\n") &&
	       reads_as(TRACING "tracing_thresh", "0\n");
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long from;

	if (argc != 2)
		return 2;
	mlockall(MCL_CURRENT | MCL_FUTURE);
	setpriority(PRIO_PROCESS, 0, -20);
	from = now_ms();
	kill(atoi(argv[1]), SIGKILL);
	while (!is_as_before() && now_ms() - from < 60000)
		usleep(2000);
	printf("%ld\n", is_as_before() ? now_ms() - from : -1);
	return 0;
}
