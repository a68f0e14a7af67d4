// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <tracefs.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/text.h"
#include "allocfilt/tracing/cpu_buffers.h"

struct cpu_buffer {
	int cpu;
	int fd;			     /* -1: not open */
	struct tracefs_cpu *reader;  /* of fd */
	bool starved;		     /* not open for want of a descriptor */
	void *page;		     /* that was read last */
	uint64_t before[CPU_COUNTS]; /* cpu_buffers_open() */
};

/* Lines of stats; NULL ends. */
static const char *const count_keys[CPU_COUNTS][4] = {
	[CPU_LOST] = { "\ncommit overrun:", "\ndropped events:", "\noverrun:" },
	[CPU_DROPPED] = { "\ncommit overrun:", "\ndropped events:" },
	[CPU_READ] = { "\nread events:" },
};

struct cpu_buffers {
	struct tracefs_instance *instance;
	int dir; /* its descriptor */
	size_t page_size;
	char *pages; /* one of each CPU */
	struct cpu_buffer *buffers;
	int count;
	uint64_t errors;
};

static int open_buffer(const struct cpu_buffers *buffers, struct cpu_buffer *buffer)
{
	struct rlimit limit;
	char path[64];
	int error = 0;

	snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", buffer->cpu);
	/* tracefs_cpu_open() hides the error, and parses the page header again for each CPU. */
	buffer->fd = tracefs_instance_file_open(buffers->instance, path,
						O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (buffer->fd < 0) {
		error = errno;
	} else if (!getrlimit(RLIMIT_NOFILE, &limit) &&
		   (rlim_t)buffer->fd + CPU_BUFFERS_FILES_SPARE >= limit.rlim_cur) {
		/* open(2) returns the lowest free descriptor: a high one is among the last. */
		error = EMFILE;
	} else {
		buffer->reader = tracefs_cpu_alloc_fd(buffer->fd, (int)buffers->page_size, true);
		error = buffer->reader ? 0 : ENOMEM;
	}
	if (error && buffer->fd >= 0) {
		close(buffer->fd);
		buffer->fd = -1;
	}
	buffer->starved = error == EMFILE || error == ENFILE;
	return -error;
}

/*
 * Returns the sum of those lines of a CPU's stats file: records since its buffer was reset. A line
 * that is not there counts 0. kernel/trace/trace.c: tracing_stats_read(). libtracefs would allocate memory
 * each time.
 */
static uint64_t count_records(const struct cpu_buffers *buffers, int cpu, enum cpu_count which)
{
	const char *const *keys = count_keys[which];
	char path[64], text[512];
	uint64_t sum = 0;

	snprintf(path, sizeof(path), "per_cpu/cpu%d/stats", cpu);
	file_read_start(openat(buffers->dir, path, O_RDONLY | O_CLOEXEC), text, sizeof(text));
	for (; *keys; keys++)
		sum += text_number(text, *keys);
	return sum;
}

int cpu_buffers_open(struct cpu_buffers **ret_buffers, const char *dir, const struct cpu_list *cpus,
		     size_t page_size, struct failure *failure)
{
	struct cpu_buffers *buffers = calloc(1, sizeof(*buffers));
	int opened = 0, error = 0;

	if (buffers) {
		buffers->instance = tracefs_instance_alloc(dir, NULL);
		buffers->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		buffers->page_size = page_size;
		buffers->pages = calloc(cpus->count, page_size);
		buffers->buffers = calloc(cpus->count, sizeof(*buffers->buffers));
	}
	if (!buffers || !buffers->instance || !buffers->pages || !buffers->buffers) {
		cpu_buffers_close(buffers);
		return failure_no_memory(failure);
	}
	buffers->count = cpus->count;
	for (int i = 0; i < cpus->count; i++) {
		struct cpu_buffer *buffer = &buffers->buffers[i];
		int ret;

		buffer->cpu = cpus->numbers[i];
		buffer->page = buffers->pages + i * page_size;
		for (int which = 0; which < CPU_COUNTS; which++)
			buffer->before[which] = count_records(buffers, buffer->cpu, which);
		ret = open_buffer(buffers, buffer);
		if (ret)
			error = ret;
		else
			opened++;
	}
	if (!opened) {
		cpu_buffers_close(buffers);
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -error,
				   "%s/per_cpu/cpu*/trace_pipe_raw: %m", dir);
	}
	*ret_buffers = buffers;
	return 0;
}

void cpu_buffers_close(struct cpu_buffers *buffers)
{
	if (!buffers)
		return;
	for (int i = 0; i < buffers->count; i++)
		tracefs_cpu_close(buffers->buffers[i].reader);
	tracefs_instance_free(buffers->instance);
	file_close(buffers->dir);
	free(buffers->buffers);
	free(buffers->pages);
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

size_t cpu_buffers_read(struct cpu_buffers *buffers, int i, const void **ret_page)
{
	const struct cpu_buffer *buffer = &buffers->buffers[i];
	int length;

	if (buffer->fd < 0)
		return 0;
	length = (int)TEMP_FAILURE_RETRY(tracefs_cpu_read(buffer->reader, buffer->page, true));
	if (length < 0 && errno != ENODEV)
		buffers->errors++;
	*ret_page = buffer->page;
	return length > 0 ? (size_t)length : 0;
}

uint64_t cpu_buffers_errors(const struct cpu_buffers *buffers)
{
	return buffers->errors;
}

uint64_t cpu_buffers_records(const struct cpu_buffers *buffers, int i, enum cpu_count which)
{
	const struct cpu_buffer *buffer = &buffers->buffers[i];
	uint64_t now = count_records(buffers, buffer->cpu, which);

	/* A reset by somebody else, as by a write to `trace`, starts again at 0. */
	return now < buffer->before[which] ? now : now - buffer->before[which];
}

void cpu_buffers_allow_files(const char *dir, unsigned int each)
{
	struct rlimit limit;
	int *cpus = NULL;
	int count = cpu_directories(dir, &cpus);
	rlim_t needed = (rlim_t)(count < 0 ? 0 : count) * each + CPU_BUFFERS_FILES_OTHERS;

	free(cpus);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
		return;
	if (limit.rlim_max < needed)
		log_warning("all CPUs take %llu open files, the hard limit allows %llu; raise it "
			    "with LimitNOFILE= in the unit, or 'ulimit -Hn' in a shell",
			    (unsigned long long)needed, (unsigned long long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
	setrlimit(RLIMIT_NOFILE, &limit);
}
