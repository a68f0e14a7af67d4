// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pressure of a cgroup over time, as the kernel counts it; linked statically for the virtual machine.
 *
 *   psi CGROUP      sample every 20 ms until SIGTERM, then print for each sample the wall-clock time
 *                   in ns, and the totals in us: "some" and "full" of memory, of io, "some" of cpu
 *
 * Samples stay in locked memory meanwhile: they are taken when memory is short.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS   20000000
#define MAX_SAMPLES 60000
#define FILES	    3
#define TOTALS	    (2 * FILES)

struct sample {
	int64_t ns;
	uint64_t us[TOTALS];
};

static struct sample samples[MAX_SAMPLES];
static volatile sig_atomic_t stopped;

static void die(const char *what)
{
	fprintf(stderr, "psi: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static int open_pressure(const char *cgroup, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.pressure", cgroup, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		die(path);
	return fd;
}

/* Totals of the line "some" and, if there is one, of the line "full" */
static int read_totals(int fd, uint64_t us[2])
{
	char text[256];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
	const char *at = text;

	if (length <= 0)
		return -1;
	text[length] = '\0';
	for (int line = 0; line < 2 && (at = strstr(at, "total=")); line++) {
		at += strlen("total=");
		us[line] = strtoull(at, NULL, 10);
	}
	return 0;
}

static int take(struct sample *sample, const int fds[FILES])
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	sample->ns = time.tv_sec * 1000000000LL + time.tv_nsec;
	for (int i = 0; i < FILES; i++) {
		if (read_totals(fds[i], sample->us + (size_t)2 * i))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[FILES] = { "memory", "io", "cpu" };
	struct sched_param priority = { .sched_priority = 50 };
	struct timespec period = { .tv_nsec = PERIOD_NS };
	size_t count = 0;
	int fds[FILES];

	if (argc != 2)
		return 2;
	for (int i = 0; i < FILES; i++)
		fds[i] = open_pressure(argv[1], names[i]);
	if (mlockall(MCL_CURRENT) || sched_setscheduler(0, SCHED_FIFO, &priority))
		die("mlockall or sched_setscheduler");
	signal(SIGTERM, stop);
	while (!stopped && count < MAX_SAMPLES && !take(samples + count, fds)) {
		count++;
		nanosleep(&period, NULL);
	}
	for (size_t i = 0; i < count; i++) {
		printf("%" PRId64, samples[i].ns);
		for (int j = 0; j < TOTALS - 1; j++)
			printf(" %" PRIu64, samples[i].us[j]);
		putchar('\n');
	}
	return 0;
}
