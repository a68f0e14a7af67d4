// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that times its own waits in a shortage of memory; linked statically for the virtual
 * machine.
 *
 *   felt reread FILE MS      read pages of FILE, which is mapped, at random, so long
 *   felt grow MIB            write to each page of so much memory
 *   felt swap MIB MS         the same, have it written out, then read pages of it at random, so long
 *   felt huge MIB            write to each huge page of so much memory
 *   felt short FILE MIB MS   take all memory but so much; fill half of that, give it back and
 *                            read FILE, over and over, so long
 *   felt fragment MIB        take all free memory but so much, give back every second page, say so
 *                            and stay
 *
 * The first five come before all other tasks, so that they wait for memory and not for a CPU. They
 * print the task, how many of its accesses that had a fault took 1 ms or more, and the ns
 * of these.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#define FELT_NS	  1000000
#define MIB	  (1ul << 20)
#define HUGE_PAGE (2 * MIB)

static size_t page;
static unsigned long felt_count;
static int64_t felt_ns;

static void die(const char *what)
{
	fprintf(stderr, "felt: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* Without a fault it is the machine that emulates this one that took the time. */
static void touch(volatile char *at, bool write)
{
	long before = faults();
	int64_t ns = now();

	if (write)
		*at = 1;
	else
		(void)*at;
	ns = now() - ns;
	if (ns < FELT_NS || faults() == before)
		return;
	felt_count++;
	felt_ns += ns;
}

static volatile char *map_memory(size_t size, int advice)
{
	char *map = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		die("mmap");
	map += -(uintptr_t)map % HUGE_PAGE;
	if (madvise(map, size, advice))
		die("madvise");
	return map;
}

static char *map_file(const char *name, size_t *size)
{
	int fd = open(name, O_RDONLY);
	char *map;

	*size = lseek(fd, 0, SEEK_END);
	map = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die(name);
	close(fd);
	return map;
}

static void write_each(volatile char *map, size_t size, size_t step)
{
	for (size_t at = 0; at < size; at += step)
		touch(map + at, true);
}

/* Below the limit again, the task is no more held at what it does next, which is no access. */
static void grow(size_t size)
{
	volatile char *map = map_memory(size, MADV_NOHUGEPAGE);

	write_each(map, size, page);
	munmap((char *)map, size);
}

static void read_each(volatile char *map, size_t size)
{
	for (size_t at = 0; at < size; at += page)
		touch(map + at, false);
}

/* xorshift64: the same pages in each run */
static void read_some(volatile char *map, size_t size, int64_t until)
{
	uint64_t random = 88172645463325252u;

	while (now() < until) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		touch(map + random % (size / page) * page, false);
	}
}

static void reread(const char *name, int64_t until)
{
	size_t size;
	char *map = map_file(name, &size);

	read_each(map, size);
	read_some(map, size, until);
}

static void swap(size_t size, int64_t until)
{
	volatile char *map = map_memory(size, MADV_NOHUGEPAGE);

	write_each(map, size, page);
	if (madvise((char *)map, size, MADV_PAGEOUT))
		die("MADV_PAGEOUT");
	read_some(map, size, until);
}

static size_t available(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long kib = 0;
	char line[128];

	while (file && !kib && fgets(line, sizeof(line), file))
		sscanf(line, "MemAvailable: %lu", &kib);
	if (!kib)
		die("MemAvailable");
	fclose(file);
	return kib * 1024;
}

/* What is given back would be free the next time, so the file takes it in between. */
static void run_short(const char *name, size_t left, int64_t ms)
{
	size_t size = left / 2, file_size;
	int64_t until;

	while (available() > left)
		write_each(map_memory(MIB, MADV_NOHUGEPAGE), MIB, page);
	for (until = now() + ms; now() < until;) {
		volatile char *map = map_memory(size, MADV_NOHUGEPAGE);
		char *file = map_file(name, &file_size);

		write_each(map, size, page);
		munmap((char *)map, size);
		read_each(file, file_size);
		munmap(file, file_size);
	}
}

static void fragment(size_t left)
{
	volatile char *map;
	struct sysinfo info;
	size_t size;

	if (sysinfo(&info) || info.freeram < left)
		die("sysinfo");
	size = (info.freeram - left) / HUGE_PAGE * HUGE_PAGE;
	map = map_memory(size, MADV_NOHUGEPAGE);
	write_each(map, size, page);
	for (size_t at = 0; at < size; at += 2 * page)
		if (madvise((char *)map + at, page, MADV_DONTNEED))
			die("madvise");
	puts("fragmented");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *what = argc >= 3 ? argv[1] : "";
	struct sched_param first = { .sched_priority = 1 };
	int64_t ms = argc >= 4 ? strtoul(argv[argc - 1], NULL, 10) * 1000000 : 0;
	size_t size = argc >= 3 ? strtoul(argv[argc == 5 ? 3 : 2], NULL, 10) * MIB : 0;

	page = sysconf(_SC_PAGESIZE);
	/*
	 * allocfilt believes for a second what it has read of a task, and has no CPU to read more while
	 * this one has it. So there is a pause at both ends.
	 */
	if (strcmp(what, "fragment")) {
		usleep(1200000);
		if (sched_setscheduler(0, SCHED_FIFO, &first))
			die("sched_setscheduler");
	}
	if (!strcmp(what, "reread"))
		reread(argv[2], now() + ms);
	else if (!strcmp(what, "grow"))
		grow(size);
	else if (!strcmp(what, "swap"))
		swap(size, now() + ms);
	else if (!strcmp(what, "huge"))
		write_each(map_memory(size, MADV_HUGEPAGE), size, HUGE_PAGE);
	else if (!strcmp(what, "short"))
		run_short(argv[2], size, ms);
	else if (!strcmp(what, "fragment"))
		fragment(size);
	else
		return 2;
	printf("%d %lu %lld\n", getpid(), felt_count, (long long)felt_ns);
	usleep(500000);
	return 0;
}
