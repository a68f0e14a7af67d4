// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/tracing.h"

/* What the kernel counted of a buffer since its last reset: records. */
struct counts {
	uint64_t lost;
	uint64_t dropped; /* of them, in no page's head */
};

struct cpu_buffer {
	int cpu;
	int fd;		      /* -1: not open */
	bool starved;	      /* for want of a descriptor */
	struct counts opened; /* at cpu_buffers_open() */
};

struct cpu_buffers {
	char *dir;
	size_t page_size;
	void *page;
	struct cpu_buffer *buffers;
	int count;
	int first; /* whose turn comes first in the next round */
	uint64_t errors;
};

static int open_buffer(const struct cpu_buffers *buffers, struct cpu_buffer *buffer)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", buffers->dir, buffer->cpu);
	fd = open_files_leave_spare(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	buffer->starved = fd == -EMFILE || fd == -ENFILE;
	buffer->fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

/* The number behind "KEY: " of a stats file. kernel/trace/trace.c: tracing_stats_read(). */
static uint64_t stat_of(const char *text, const char *key)
{
	size_t length = strlen(key);

	while (text) {
		if (!strncmp(text, key, length) && text[length] == ':')
			return strtoull(text + length + 1, NULL, 10);
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return 0;
}

static void read_counts(const struct cpu_buffers *buffers, int cpu, struct counts *counts)
{
	char path[PATH_MAX];
	char text[1024];
	ssize_t length;
	int fd;

	*counts = (struct counts){ 0 };
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/stats", buffers->dir, cpu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	counts->dropped = stat_of(text, "commit overrun") + stat_of(text, "dropped events");
	counts->lost = stat_of(text, "overrun") + counts->dropped;
}

static struct cpu_buffers *new_buffers(const char *dir, size_t page_size, const int *cpus,
				       int count)
{
	struct cpu_buffers *buffers = calloc(1, sizeof(*buffers));

	if (!buffers)
		return NULL;
	buffers->dir = strdup(dir);
	buffers->page_size = page_size;
	buffers->page = malloc(page_size);
	buffers->buffers = calloc(count, sizeof(*buffers->buffers));
	if (!buffers->dir || !buffers->page || !buffers->buffers) {
		cpu_buffers_close(buffers);
		return NULL;
	}
	buffers->count = count;
	for (int i = 0; i < count; i++) {
		buffers->buffers[i] = (struct cpu_buffer){ .cpu = cpus[i], .fd = -1 };
		read_counts(buffers, cpus[i], &buffers->buffers[i].opened);
	}
	return buffers;
}

/* Returns 0 when at least one CPU is open, else the last error. */
static int open_all(struct cpu_buffers *buffers)
{
	int opened = 0;
	int error = 0;

	for (int i = 0; i < buffers->count; i++) {
		int ret = open_buffer(buffers, &buffers->buffers[i]);

		if (ret)
			error = ret;
		else
			opened++;
	}
	return opened ? 0 : error;
}

int cpu_buffers_open(struct cpu_buffers **ret_buffers, const char *dir, size_t page_size,
		     struct failure *failure)
{
	struct cpu_buffers *buffers;
	int *cpus = NULL;
	int count = cpu_directories(dir, &cpus);
	int ret;

	if (count <= 0)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, count ? -count : ENOENT,
				   "%s/per_cpu: no CPU to read: %s", dir,
				   strerror(count ? -count : ENOENT));
	buffers = new_buffers(dir, page_size, cpus, count);
	free(cpus);
	if (!buffers)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	ret = open_all(buffers);
	if (ret) {
		cpu_buffers_close(buffers);
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "%s/per_cpu/cpu*/trace_pipe_raw: %s", dir, strerror(-ret));
	}
	*ret_buffers = buffers;
	return 0;
}

void cpu_buffers_close(struct cpu_buffers *buffers)
{
	if (!buffers)
		return;
	for (int i = 0; i < buffers->count; i++)
		if (buffers->buffers[i].fd >= 0)
			close(buffers->buffers[i].fd);
	free(buffers->buffers);
	free(buffers->page);
	free(buffers->dir);
	free(buffers);
}

int cpu_buffers_reopen(struct cpu_buffers *buffers)
{
	int opened = 0;

	for (int i = 0; i < buffers->count; i++)
		if (buffers->buffers[i].fd < 0 && !open_buffer(buffers, &buffers->buffers[i]))
			opened++;
	return opened;
}

unsigned int cpu_buffers_starved(const struct cpu_buffers *buffers)
{
	unsigned int starved = 0;

	for (int i = 0; i < buffers->count; i++)
		starved += buffers->buffers[i].starved;
	return starved;
}

int cpu_buffers_count(const struct cpu_buffers *buffers)
{
	return buffers->count;
}

int cpu_buffers_fd(const struct cpu_buffers *buffers, int i)
{
	return buffers->buffers[i].fd;
}

int cpu_buffers_cpu(const struct cpu_buffers *buffers, int i)
{
	return buffers->buffers[i].cpu;
}

/* Returns 1 with a page given on, 0 when the CPU has nothing (more), -errno of the sink. */
static int read_page(struct cpu_buffers *buffers, const struct cpu_buffer *buffer,
		     const struct source_sink *sink)
{
	ssize_t length;
	int ret;

	do {
		length = read(buffer->fd, buffers->page, buffers->page_size);
	} while (length < 0 && errno == EINTR);
	if (length <= 0) {
		if (length < 0 && errno != EAGAIN && errno != ENODEV)
			buffers->errors++;
		return 0;
	}
	ret = sink->page(sink->context, buffer->cpu, buffers->page, length, false);
	return ret ? ret : 1;
}

static int read_cpu(struct cpu_buffers *buffers, const struct cpu_buffer *buffer,
		    const struct source_sink *sink)
{
	int pages = 0;

	if (buffer->fd < 0)
		return 0;
	while (pages < SOURCE_QUOTA && sink->ready(sink->context, buffer->cpu)) {
		int ret = read_page(buffers, buffer, sink);

		if (ret < 0)
			return ret;
		if (!ret)
			return pages;
		pages++;
	}
	sink->left_with_data(sink->context, buffer->cpu);
	return pages;
}

int cpu_buffers_round(struct cpu_buffers *buffers, const struct source_sink *sink)
{
	int pages = 0;

	for (int i = 0; i < buffers->count; i++) {
		int turn = (buffers->first + i) % buffers->count;
		int ret = read_cpu(buffers, &buffers->buffers[turn], sink);

		if (ret < 0)
			return ret;
		pages += ret;
	}
	buffers->first = (buffers->first + 1) % buffers->count;
	return pages;
}

uint64_t cpu_buffers_errors(const struct cpu_buffers *buffers)
{
	return buffers->errors;
}

/* A reset by somebody else, as of writing to `trace`, begins at 0 again. */
static uint64_t counted_since(uint64_t before, uint64_t now)
{
	return now < before ? now : now - before;
}

uint64_t cpu_buffers_lost(const struct cpu_buffers *buffers, int i)
{
	struct counts now;

	read_counts(buffers, buffers->buffers[i].cpu, &now);
	return counted_since(buffers->buffers[i].opened.lost, now.lost);
}

uint64_t cpu_buffers_dropped(const struct cpu_buffers *buffers, int i)
{
	struct counts now;

	read_counts(buffers, buffers->buffers[i].cpu, &now);
	return counted_since(buffers->buffers[i].opened.dropped, now.dropped);
}
