// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that times its own waits in a shortage of memory; linked statically for the virtual
 * machine.
 *
 *   felt reread FILE MS      read pages of FILE, which is mapped as code, at random, so long
 *   felt grow MIB            write to each page of so much memory
 *   felt swap MIB MS         the same, a MiB a second, which is written out; then, until MS are over,
 *                            read pages of it at random
 *   felt both FILE MIB MS    the two at once: pages of FILE and of so much memory
 *   felt huge MIB            write to each huge page of so much memory
 *   felt short FILE MIB MS   take all memory but so much; fill half of that, give it back and
 *                            read FILE, whose reads are not counted, over and over, so long
 *   felt packet BLOCKS       open a packet socket with a ring of so many blocks of 16 pages
 *   felt socket COUNT        send so many messages of 16,000 bytes that nobody receives
 *   felt faults MS           write to new pages, so long
 *   felt fragment MIB COUNT  take all free memory but so much, give back every second page, have
 *                            so many more tasks that share the others, say so and stay
 *   felt victim MIB          write to each page of so much memory, say so and stay, first for the
 *                            OOM killer
 *   felt names DIR COUNT     look for so many files that are not in DIR
 *   felt files DIR COUNT     read so many empty files in DIR, made where they are missing
 *
 * All down to "socket" come before all other tasks, so that they wait for memory and not for a CPU; with
 * FREES=1 in the environment not before those that free memory later. All down to
 * "faults" print the task, how many of its accesses that had a fault, or of its calls, took 1 ms or
 * more, and the ns of these; then of each its start, in ns by the wall clock, and its ns. The first
 * read of a page of FILE is no matter of memory: it is in no sum, and has "first" after its ns.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#define FELT_NS	  1000000
#define MIB	  (1ul << 20)
#define HUGE_PAGE (2 * MIB)

#define FELT_MAX 16384

static size_t page;
static const volatile char *mapped; /* a file */
static size_t mapped_bytes;
static bool *was_read; /* pages of it, by us */
static unsigned long felt_count, nr_felt;
static int64_t felt_ns;
static struct {
	int64_t start, ns;
	bool first;
} felt[FELT_MAX];

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

static void took(int64_t start, int64_t end, bool first)
{
	if (end - start < FELT_NS)
		return;
	if (nr_felt < FELT_MAX) {
		felt[nr_felt].start = start;
		felt[nr_felt].first = first;
		felt[nr_felt++].ns = end - start;
	}
	if (first)
		return;
	felt_count++;
	felt_ns += end - start;
}

/* Without a fault it is the machine that emulates this one that took the time. */
static void touch(volatile char *at, bool write)
{
	long before = faults();
	bool is_file = at >= mapped && at < mapped + mapped_bytes;
	int64_t start = now(), end;

	if (write)
		*at = 1;
	else
		(void)*at;
	end = now();
	if (faults() != before)
		took(start, end, is_file && !was_read[(at - mapped) / page]);
	if (is_file)
		was_read[(at - mapped) / page] = true;
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

/* Pages of code are in use from their first read on (mm/vmscan.c), those of data only later. */
static char *map_file(const char *name, size_t *size)
{
	int fd = open(name, O_RDONLY);
	char *map;

	*size = lseek(fd, 0, SEEK_END);
	map = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die(name);
	close(fd);
	free(was_read);
	mapped = map;
	mapped_bytes = *size;
	was_read = calloc(*size / page + 1, sizeof(*was_read));
	if (!was_read)
		die("calloc");
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
static void read_one(volatile char *map, size_t size)
{
	static uint64_t random = 88172645463325252u;

	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	touch(map + random % (size / page) * page, false);
}

static void read_some(volatile char *map, size_t size, int64_t until)
{
	while (now() < until)
		read_one(map, size);
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

	/* A cgroup at its limit whose pages are all being written has none to reclaim: OOM. */
	for (size_t at = 0; at < size; at += MIB) {
		write_each(map + at, MIB, page);
		if (madvise((char *)map + at, MIB, MADV_PAGEOUT))
			die("MADV_PAGEOUT");
		sleep(1);
	}
	read_some(map, size, until);
}

static void both(const char *name, size_t size, int64_t until)
{
	volatile char *map = map_memory(size, MADV_NOHUGEPAGE);
	size_t file_size;
	char *file = map_file(name, &file_size);

	write_each(map, size, page);
	read_each(file, file_size);
	while (now() < until) {
		read_one(map, size);
		read_one(file, file_size);
	}
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
		volatile char *file = map_file(name, &file_size);

		write_each(map, size, page);
		munmap((char *)map, size);
		for (size_t at = 0; at < file_size; at += page)
			(void)file[at];
		munmap((char *)file, file_size);
	}
}

/* In alloc_pg_vec() a block is of __get_free_pages(). Without a protocol no packet comes. */
static void open_packet_socket(unsigned long blocks)
{
	struct tpacket_req ring = {
		.tp_block_size = 16 * page,
		.tp_block_nr = blocks,
		.tp_frame_size = page,
		.tp_frame_nr = blocks * 16,
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	int64_t start = now();

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)))
		die("ring of a packet socket");
	took(start, now(), false);
}

/* Up to SKB_MAX_ALLOC, the data of a message is one block of kmalloc(), here of order 2. */
static void send_many(unsigned long count)
{
	static char message[16000];
	int fd[2], all = INT_MAX / 2;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fd) ||
	    setsockopt(fd[0], SOL_SOCKET, SO_SNDBUFFORCE, &all, sizeof(all)))
		die("socketpair");
	for (unsigned long i = 0; i < count; i++) {
		int64_t start = now();

		if (send(fd[0], message, sizeof(message), MSG_DONTWAIT) != sizeof(message))
			die("send");
		took(start, now(), false);
	}
}

/* Giving the pages back takes part in the next round, and is no access. */
static void fault(int64_t until)
{
	volatile char *map = map_memory(MIB, MADV_NOHUGEPAGE);

	while (now() < until) {
		write_each(map, MIB, page);
		if (madvise((char *)map, MIB, MADV_DONTNEED))
			die("madvise");
	}
}

static const struct sched_param before = { .sched_priority = 2 };

/* A task that the OOM killer takes has to run to give its memory back. */
static void stay(const char *what)
{
	if (sched_setscheduler(0, SCHED_FIFO, &before))
		die("sched_setscheduler");
	puts(what);
	fflush(stdout);
	for (;;)
		pause();
}

static void fragment(size_t left, unsigned long sharers)
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
	/* A page that is in many page tables takes its time to move. */
	for (unsigned long i = 0; i < sharers; i++)
		if (!fork())
			for (;;)
				pause();
	stay("fragmented");
}

static void victim(size_t size)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd < 0 || write(fd, "1000", 4) != 4)
		die("oom_score_adj");
	write_each(map_memory(size, MADV_NOHUGEPAGE), size, page);
	stay("victim");
}

/* Each name that is not there stays in memory as a negative dentry. */
static void look_for_names(const char *dir, unsigned long count)
{
	char name[256];

	for (unsigned long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/not-there-%lu", dir, i);
		access(name, F_OK);
	}
}

static void read_files(const char *dir, unsigned long count)
{
	char name[256];

	for (unsigned long i = 0; i < count; i++) {
		int fd;

		snprintf(name, sizeof(name), "%s/%lu", dir, i);
		fd = open(name, O_RDONLY | O_CREAT, 0600);
		if (fd < 0 || read(fd, name, sizeof(name)) < 0)
			die(name);
		close(fd);
	}
}

static void print_felt(void)
{
	struct timespec time;
	int64_t wall;

	clock_gettime(CLOCK_REALTIME, &time);
	wall = time.tv_sec * 1000000000LL + time.tv_nsec - now();
	printf("%d %lu %lld\n", getpid(), felt_count, (long long)felt_ns);
	for (unsigned long i = 0; i < nr_felt; i++)
		printf("%lld %lld%s\n", (long long)(felt[i].start + wall), (long long)felt[i].ns,
		       felt[i].first ? " first" : "");
}

/* These modes feel nothing. They end by themselves or stay. */
static bool prepare(const char *what, char **args)
{
	if (args[1] && !strcmp(what, "fragment"))
		fragment(strtoul(args[0], NULL, 10) * MIB, strtoul(args[1], NULL, 10));
	else if (!strcmp(what, "victim"))
		victim(strtoul(args[0], NULL, 10) * MIB);
	else if (args[1] && !strcmp(what, "names"))
		look_for_names(args[0], strtoul(args[1], NULL, 10));
	else if (args[1] && !strcmp(what, "files"))
		read_files(args[0], strtoul(args[1], NULL, 10));
	else
		return false;
	return true;
}

static bool feel(const char *what, char **args, int nr_args)
{
	unsigned long last = strtoul(args[nr_args - 1], NULL, 10);
	size_t size = strtoul(args[nr_args == 3], NULL, 10) * MIB;
	int64_t until = now() + last * 1000000;

	if (!strcmp(what, "reread"))
		reread(args[0], until);
	else if (!strcmp(what, "grow"))
		grow(size);
	else if (!strcmp(what, "swap"))
		swap(size, until);
	else if (!strcmp(what, "both"))
		both(args[0], size, until);
	else if (!strcmp(what, "huge"))
		write_each(map_memory(size, MADV_HUGEPAGE), size, HUGE_PAGE);
	else if (!strcmp(what, "short"))
		run_short(args[0], size, last * 1000000);
	else if (!strcmp(what, "packet"))
		open_packet_socket(last);
	else if (!strcmp(what, "socket"))
		send_many(last);
	else if (!strcmp(what, "faults"))
		fault(until);
	else
		return false;
	return true;
}

/* Objects are freed by RCU, dirty pages after they are written. */
static void put_frees_first(void)
{
	static const char *const names[] = { "ksoftirqd", "rcu", "kworker" };
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc))) {
		char path[300], name[16] = "";
		FILE *comm;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		comm = fopen(path, "r");
		if (comm && fgets(name, sizeof(name), comm))
			for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
				if (!strncmp(name, names[i], strlen(names[i])))
					sched_setscheduler(atoi(entry->d_name), SCHED_FIFO,
							   &before);
		if (comm)
			fclose(comm);
	}
	closedir(proc);
}

static void come_first(void)
{
	struct sched_param first = { .sched_priority = 1 };

	if (getenv("FREES"))
		put_frees_first();
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("sched_setscheduler");
}

int main(int argc, char **argv)
{
	page = sysconf(_SC_PAGESIZE);
	if (argc < 3)
		return 2;
	if (prepare(argv[1], argv + 2))
		return 0;
	/*
	 * allocfilt believes for a second what it has read of a task, and has no CPU to read more while
	 * this one has it. So there is a pause at both ends.
	 */
	usleep(1200000);
	/* Its own code is in a tmpfs, which can be swapped out. */
	if (mlockall(MCL_CURRENT))
		die("mlockall");
	if (strcmp(argv[1], "faults"))
		come_first();
	if (!feel(argv[1], argv + 2, argc - 2))
		return 2;
	print_felt();
	usleep(500000);
	return 0;
}
