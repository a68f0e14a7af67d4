// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes memory of the kernel in known numbers, for the tests in a virtual machine; linked statically.
 *
 *   takes STEP...      steps, done one after the other, with a number each
 *
 *   orderN BLOCKS      allocate so many blocks of 2^N pages, which a packet socket has as its ring
 *   touch PAGES        fault in so many single pages
 *   huge PAGES         fault in so many huge pages
 *   pipe ROUNDS        kmalloc() 4 * 40 and 8 * 40 bytes, in turns: the slots of a pipe, which are
 *                      struct pipe_buffer, when it is resized
 *   signal ROUNDS      kmem_cache_alloc() a struct sigqueue
 *   child COUNT        fork so many children, which do all the rest; wait for them
 *   thread COUNT       the same, with threads
 *   line COUNT         wait for so many lines of standard input
 *   pause MS           leave it alone so long
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HUGE ((size_t)2 << 20)

static void die(const char *what)
{
	fprintf(stderr, "takes: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* In alloc_pg_vec() each block is of __get_free_pages() with the order of its size. */
static void blocks(unsigned int order, unsigned int count)
{
	struct tpacket_req ring = {
		.tp_block_size = sysconf(_SC_PAGESIZE) << order,
		.tp_block_nr = count,
		.tp_frame_size = sysconf(_SC_PAGESIZE),
		.tp_frame_nr = count << order,
	};
	/* Of no protocol: no packet comes. */
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)))
		die("ring of a packet socket");
	close(fd);
}

static void touch(size_t count, size_t size, int advice)
{
	size_t whole = (count + 1) * size;
	char *map, *aligned;

	map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || madvise(map, whole, advice))
		die("mmap");
	aligned = (char *)(((size_t)map + size - 1) & ~(size - 1));
	for (size_t i = 0; i < count; i++)
		*(volatile char *)(aligned + i * size) = 1;
	munmap(map, whole);
}

static void resize_pipe(unsigned int rounds)
{
	int fd[2];

	if (pipe(fd))
		die("pipe");
	for (unsigned int i = 0; i < rounds; i++)
		if (fcntl(fd[0], F_SETPIPE_SZ, sysconf(_SC_PAGESIZE) * (i % 2 ? 8 : 4)) < 0)
			die("F_SETPIPE_SZ");
	close(fd[0]);
	close(fd[1]);
}

/* To this thread, which has it blocked: it is queued, and taken out of the queue. */
static void queue_signal(unsigned int rounds)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (unsigned int i = 0; i < rounds; i++)
		if (pthread_kill(pthread_self(), SIGRTMIN) || sigwaitinfo(&set, NULL) != SIGRTMIN)
			die("signal");
}

static void wait_for_lines(unsigned int count)
{
	char byte;

	while (count > 0 && read(STDIN_FILENO, &byte, 1) == 1)
		count -= byte == '\n';
}

static void *take(void *steps);

static void children(unsigned int count, char **steps)
{
	for (unsigned int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			take(steps);
			_exit(0);
		}
	}
	for (int status; wait(&status) > 0;)
		if (status)
			exit(1);
}

static void threads(unsigned int count, char **steps)
{
	pthread_t thread[count];

	for (unsigned int i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, take, steps))
			die("pthread_create");
	for (unsigned int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

static void *take(void *steps)
{
	for (char **step = steps; step[0] && step[1]; step += 2) {
		unsigned int order, count = strtoul(step[1], NULL, 10);

		if (sscanf(step[0], "order%u", &order) == 1)
			blocks(order, count);
		else if (!strcmp(step[0], "touch"))
			touch(count, sysconf(_SC_PAGESIZE), MADV_NOHUGEPAGE);
		else if (!strcmp(step[0], "huge"))
			touch(count, HUGE, MADV_HUGEPAGE);
		else if (!strcmp(step[0], "pipe"))
			resize_pipe(count);
		else if (!strcmp(step[0], "signal"))
			queue_signal(count);
		else if (!strcmp(step[0], "line"))
			wait_for_lines(count);
		else if (!strcmp(step[0], "pause"))
			usleep(count * 1000);
		else if (!strcmp(step[0], "child"))
			return children(count, step + 2), NULL;
		else if (!strcmp(step[0], "thread"))
			return threads(count, step + 2), NULL;
		else
			errno = EINVAL, die(step[0]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: takes STEP NUMBER...\n");
		return 2;
	}
	take(argv + 1);
	return 0;
}
