// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory pressure for the tests in a virtual machine; linked statically.
 *
 *   pressure memory PERCENT    map that share of memory, touch it, drop it, over and over
 *   pressure hold MIB          take and lock all memory but what leaves MIB available, keep it
 *   pressure files DIR         write, read back and remove files in DIR, over and over
 *   pressure hog BUSY_MS       keep a CPU busy that long, then leave it alone half as long
 *   pressure faults ROUNDS     fault in pages
 *   pressure execs ROUNDS      fork, and execute /bin/true
 *   pressure reads ROUNDS      read a file of the working directory that is not cached
 *   pressure switches ROUNDS   wake another task and wait for it
 *   pressure freed ROUNDS      fault in pages, each by one write, and give them back
 *   pressure kmallocs ROUNDS   size a pipe, which is one kmalloc and one kfree
 *   pressure objects ROUNDS    read no link, which is one object of a slab cache, for the name
 *   pressure pages RATE MS     allocate so many pages a second for so long, in a burst each ms, before
 *                              all other tasks, print how many and the time; from 5.14 on
 *   pressure throttled MIB     fault in so much, the memory.high of its cgroup, then 1280 pages: print
 *                              of each fault in which the task slept how long it did, and how long
 *                              it waited for a CPU
 *
 * The first four run until they are killed. The next seven print the ns of one page, fork,
 * switch, kmalloc or object, over all rounds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHUNK	    (64 * 1024)
#define BIG_FILES   6
#define BIG_CHUNKS  128
#define SMALL_FILES 400
#define DECOYS	    4
#define HOLD_STEP   (128 * 1024)

#define THROTTLED_PAGES 1280

static void die(const char *what)
{
	fprintf(stderr, "pressure: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The OOM killer has to find us before the program under test: first those whose death costs
 * nothing, then those who start them. */
#define OOM_FIRST "1000"
#define OOM_NEXT  "500"

static void volunteer_for_oom(const char *score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd < 0 || write(fd, score, strlen(score)) != (ssize_t)strlen(score))
		die("oom_score_adj");
	close(fd);
}

static void touch(volatile char *map, size_t size, size_t page)
{
	for (size_t at = 0; at < size; at += page)
		map[at]++;
}

static void memory_rounds(unsigned long percent)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = sysconf(_SC_PHYS_PAGES) / 100 * percent * page;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	volunteer_for_oom(OOM_FIRST);
	for (;;) {
		char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

		if (map == MAP_FAILED)
			die("mmap");
		madvise(map, size, MADV_HUGEPAGE);
		for (int pass = 0; pass < 3; pass++)
			touch(map, size, page);
		munmap(map, size);
	}
}

static unsigned long available_kib(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long kib = 0;
	char line[128];

	while (file && !kib && fgets(line, sizeof(line), file))
		sscanf(line, "MemAvailable: %lu", &kib);
	if (!kib)
		die("MemAvailable");
	fclose(file);
	return kib;
}

/* In small steps: reclaim makes more available on the way. */
static void hold(unsigned long left_kib)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	volunteer_for_oom(OOM_FIRST);
	for (int calm = 0; calm < 20; calm++) {
		for (; available_kib() > left_kib; calm = 0) {
			void *map = mmap(NULL, HOLD_STEP, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (map == MAP_FAILED || mlock(map, HOLD_STEP))
				die("hold");
		}
		usleep(50000);
	}
	for (;;)
		pause();
}

/* While a victim's memory is on its way back, the OOM killer takes another one: of these rather
 * than the program under test. */
static void decoy(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	volunteer_for_oom(OOM_FIRST);
	for (;;)
		pause();
}

static pid_t start_decoy(void)
{
	pid_t pid = fork();

	if (pid == 0)
		decoy();
	return pid;
}

static void start_decoys(pid_t decoys[DECOYS])
{
	for (int i = 0; i < DECOYS; i++)
		decoys[i] = start_decoy();
}

static void replace_decoy(pid_t decoys[DECOYS], pid_t gone)
{
	for (int i = 0; i < DECOYS; i++)
		if (decoys[i] == gone || decoys[i] < 0)
			decoys[i] = start_decoy();
}

/* @worker is started again when the OOM killer has taken it. */
static void keep_at_work(void (*work)(unsigned long amount), unsigned long amount)
{
	pid_t decoys[DECOYS], worker = -1;

	volunteer_for_oom(OOM_NEXT);
	start_decoys(decoys);
	for (;;) {
		pid_t gone;

		if (worker < 0)
			worker = fork();
		if (worker == 0)
			work(amount);
		gone = wait(NULL);
		if (gone == worker)
			worker = -1;
		else
			replace_decoy(decoys, gone);
		usleep(10000);
	}
}

/* A full disk is no error here: what counts is the page cache and the inodes. */
static void write_file(const char *name, int chunks, size_t size, const char *data)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	if (fd < 0)
		return;
	while (chunks-- > 0 && write(fd, data, size) == (ssize_t)size)
		;
	close(fd);
}

static void read_file(const char *name, char *data)
{
	int fd = open(name, O_RDONLY);

	if (fd < 0)
		return;
	while (read(fd, data, CHUNK) > 0)
		;
	close(fd);
}

static void files(const char *dir)
{
	static char data[CHUNK];
	char name[64];

	volunteer_for_oom(OOM_NEXT);
	if (mkdir(dir, 0700) && errno != EEXIST)
		die(dir);
	if (chdir(dir))
		die(dir);
	for (unsigned int round = 0;; round++) {
		memset(data, round, sizeof(data));
		snprintf(name, sizeof(name), "big.%u", round % BIG_FILES);
		write_file(name, BIG_CHUNKS, CHUNK, data);
		for (int i = 0; i < SMALL_FILES; i++) {
			snprintf(name, sizeof(name), "small.%u.%d", round % 4, i);
			write_file(name, 1, 512, data);
		}
		for (int i = 0; i < BIG_FILES; i++) {
			snprintf(name, sizeof(name), "big.%d", i);
			read_file(name, data);
		}
		for (int i = 0; i < SMALL_FILES; i++) {
			snprintf(name, sizeof(name), "small.%u.%d", (round + 1) % 4, i);
			unlink(name);
		}
	}
}

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* In the kernel, without a fault for each: so that it can be many. */
static void pages(unsigned long rate, unsigned long ms)
{
	struct sched_param first = { .sched_priority = 1 };
	size_t size = (rate + 999) / 1000 * sysconf(_SC_PAGESIZE);
	long long start = now(), next = start;
	char *map;

	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		die("mmap");
	madvise(map, size, MADV_NOHUGEPAGE);
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("sched_setscheduler");
	for (unsigned long burst = 0; burst < ms; burst++) {
		struct timespec time;

		if (madvise(map, size, MADV_POPULATE_WRITE) || madvise(map, size, MADV_DONTNEED))
			die("madvise");
		next += 1000000;
		time.tv_sec = next / 1000000000;
		time.tv_nsec = next % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
	}
	printf("%lu pages in %lld ns\n", (rate + 999) / 1000 * ms, now() - start);
}

/* Before all tasks that are not of the same class. */
static void hog(unsigned long busy_ms)
{
	struct sched_param param = { .sched_priority = 10 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler");
	for (;;) {
		struct timespec idle = { busy_ms / 2 / 1000, busy_ms / 2 % 1000 * 1000000 };
		long long until = now() + busy_ms * 1000000LL;

		while (now() < until)
			;
		nanosleep(&idle, NULL);
	}
}

/* Workloads: one round each, which returns its ns. */

#define ROUND_FAULTS   512
#define ROUND_READS    128
#define ROUND_TRIPS    100
#define ROUND_EXECS    4
#define ROUND_KMALLOCS 1000
#define ROUND_OBJECTS  1000

static char *round_map(size_t size)
{
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || madvise(map, size, MADV_NOHUGEPAGE))
		die("mmap");
	return map;
}

/* The faults alone: giving the pages back costs as much, and allocates nothing. */
static long long faults(void)
{
	static char *map;
	size_t page = sysconf(_SC_PAGESIZE), size = ROUND_FAULTS * page;
	long long start;

	if (!map)
		map = round_map(size);
	start = now();
	touch(map, size, page);
	start = now() - start;
	madvise(map, size, MADV_DONTNEED);
	return start;
}

/* For who records that a page is freed, too. A write that comes first is one fault; touch() reads
 * before, which is another, of the page of zeroes. */
static long long freed(void)
{
	static volatile char *map;
	size_t page = sysconf(_SC_PAGESIZE), size = ROUND_FAULTS * page;
	long long start;

	if (!map)
		map = round_map(size);
	start = now();
	for (size_t at = 0; at < size; at += page)
		map[at] = 1;
	if (madvise((char *)map, size, MADV_DONTNEED))
		die("madvise");
	return now() - start;
}

static void echo(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	_exit(0);
}

/* A trip has two switches, to the other task and back; each of them has to be woken. */
static long long switches(void)
{
	static int there[2], back[2];
	struct sched_param param = { 0 };
	char byte = 0;
	long long start;
	pid_t other = 1;

	if (!there[1]) {
		/* So that who is woken never takes the CPU from who wakes: each trip is the same. */
		if (sched_setscheduler(0, SCHED_BATCH, &param))
			die("sched_setscheduler");
		if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
			die("pipe");
		other = fork();
	}
	if (other < 0)
		die("fork");
	if (!other) {
		close(there[1]);
		echo(there[0], back[1]);
	}
	start = now();
	for (int i = 0; i < ROUND_TRIPS; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			die("pipe");
	return now() - start;
}

static long long execs(void)
{
	long long start = now();

	for (int i = 0; i < ROUND_EXECS; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			die("/bin/true");
	}
	return now() - start;
}

static long long cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* What this task has run for: how long it waits for the disk is of the machine that emulates it. */
static long long reads(void)
{
	static char data[CHUNK];
	static int fd = -1;
	size_t size = ROUND_READS * sysconf(_SC_PAGESIZE);
	long long start;

	if (fd < 0) {
		write_file("reads", size / CHUNK, CHUNK, data);
		fd = open("reads", O_RDONLY);
		if (fd < 0 || fsync(fd))
			die("reads");
	}
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) || lseek(fd, 0, SEEK_SET))
		die("reads");
	start = cpu_time();
	for (size_t done = 0; done < size; done += CHUNK)
		if (read(fd, data, CHUNK) != CHUNK)
			die("reads");
	return cpu_time() - start;
}

/* The array of a pipe's buffers is allocated anew even if the size stays. */
static long long kmallocs(void)
{
	static int ends[2];
	long long start;

	if (!ends[1] && pipe(ends))
		die("pipe");
	start = now();
	for (int i = 0; i < ROUND_KMALLOCS; i++)
		if (fcntl(ends[0], F_SETPIPE_SZ, CHUNK) != CHUNK)
			die("F_SETPIPE_SZ");
	return now() - start;
}

static long long objects(void)
{
	long long start = now();
	char link[8];

	for (int i = 0; i < ROUND_OBJECTS; i++)
		if (readlink("/", link, sizeof(link)) != -1 || errno != EINVAL)
			die("readlink");
	return now() - start;
}

static void measure(long long (*round)(void), unsigned int operations, unsigned long rounds)
{
	long long ns = 0;

	for (unsigned long i = 0; i < rounds; i++)
		ns += round();
	printf("%.1f\n", (double)ns / rounds / operations);
}

/* What the scheduler itself knows of this task, in ns. */
static long long waited_so_far(int schedstat)
{
	char line[64] = "";
	long long waited;

	if (pread(schedstat, line, sizeof(line) - 1, 0) < 0 ||
	    sscanf(line, "%*u %lld", &waited) != 1)
		die("schedstat");
	return waited;
}

static long slept_so_far(int schedstat, long long *ns)
{
	struct rusage before, after;

	/* Again if another task took the CPU in between: all of it is of one moment. */
	do {
		struct timespec ran;

		getrusage(RUSAGE_THREAD, &before);
		*ns = now() - waited_so_far(schedstat);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
		*ns -= ran.tv_sec * 1000000000LL + ran.tv_nsec;
		getrusage(RUSAGE_THREAD, &after);
	} while (before.ru_nivcsw != after.ru_nivcsw);
	return after.ru_nvcsw;
}

/* A wait outside of a throttled fault is none of a stall: on a busy machine there are many. */
static void throttled(unsigned long mib)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t whole = (mib << 20) + THROTTLED_PAGES * page;
	int schedstat = open("/proc/self/schedstat", O_RDONLY);
	char *map;

	map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		die("mmap");
	madvise(map, whole, MADV_NOHUGEPAGE);
	touch(map, mib << 20, page);
	for (size_t at = mib << 20; at < whole; at += page) {
		long long slept_before, slept_after, waited_before, waited_after;
		long sleeps = slept_so_far(schedstat, &slept_before);

		waited_before = waited_so_far(schedstat);
		touch(map + at, page, page);
		waited_after = waited_so_far(schedstat);
		if (slept_so_far(schedstat, &slept_after) == sleeps)
			continue;
		printf("%d %lld %lld\n", getpid(), slept_after - slept_before,
		       waited_after - waited_before);
	}
	/* Below the limit again: what follows sleeps no more. */
	munmap(map, whole);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "memory"))
		keep_at_work(memory_rounds, strtoul(argv[2], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "hold"))
		keep_at_work(hold, strtoul(argv[2], NULL, 10) * 1024);
	else if (argc == 3 && !strcmp(argv[1], "files"))
		files(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "hog"))
		hog(strtoul(argv[2], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "faults"))
		measure(faults, ROUND_FAULTS, strtoul(argv[2], NULL, 10));
	else if (argc == 4 && !strcmp(argv[1], "pages"))
		pages(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "switches"))
		measure(switches, 2 * ROUND_TRIPS, strtoul(argv[2], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "execs"))
		measure(execs, ROUND_EXECS, strtoul(argv[2], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "reads"))
		measure(reads, ROUND_READS, strtoul(argv[2], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "freed"))
		measure(freed, ROUND_FAULTS, strtoul(argv[2], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "kmallocs"))
		measure(kmallocs, ROUND_KMALLOCS, strtoul(argv[2], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "objects"))
		measure(objects, ROUND_OBJECTS, strtoul(argv[2], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "throttled"))
		throttled(strtoul(argv[2], NULL, 10));
	else
		fprintf(stderr,
			"usage: pressure memory PERCENT|hold MIB|files DIR|hog BUSY_MS|"
			"faults|execs|reads|switches|freed|kmallocs|objects ROUNDS|throttled MIB\n");
	return argc >= 3 ? 0 : 2;
}
