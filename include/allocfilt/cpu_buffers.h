/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CPU_BUFFERS_H
#define ALLOCFILT_CPU_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "source.h"

/*
 * The raw buffers of all CPUs of a running kernel: per_cpu/cpuN/trace_pipe_raw, read without
 * blocking. CPUs are those of the directory, whatever their numbers; one that cannot be opened
 * (offline) does not stop the rest.
 */

struct cpu_buffers;

/**
 * cpu_buffers_open
 * @dir: tracing directory or instance
 * @page_size: bytes of a page (sub-buffer)
 *
 * Returns 0, or -errno with @failure (status 1) when there is no CPU at all or none opens.
 */
int cpu_buffers_open(struct cpu_buffers **buffers, const char *dir, size_t page_size,
		     struct failure *failure);
void cpu_buffers_close(struct cpu_buffers *buffers);

/**
 * cpu_buffers_reopen - try again those CPUs that could not be opened, once a second is plenty
 *
 * Returns how many opened now.
 */
int cpu_buffers_reopen(struct cpu_buffers *buffers);

/** cpu_buffers_starved - CPUs that are not open for want of a descriptor (RLIMIT_NOFILE) */
unsigned int cpu_buffers_starved(const struct cpu_buffers *buffers);

/** cpu_buffers_count, _fd - for epoll: descriptor of the i-th CPU, -1 for one that is not open */
int cpu_buffers_count(const struct cpu_buffers *buffers);
int cpu_buffers_fd(const struct cpu_buffers *buffers, int i);
int cpu_buffers_cpu(const struct cpu_buffers *buffers, int i);

/**
 * cpu_buffers_round - read each CPU up to its quota
 *
 * Returns how many pages were read, or the -errno of the sink. Errors of a single CPU (an offline
 * one, short memory) end its turn and nothing else; cpu_buffers_errors() counts those that were
 * neither EAGAIN nor ENODEV, which is that of a CPU that was not online since the buffers were made
 * (kernel/trace/ring_buffer.c: ring_buffer_alloc_read_page()).
 */
int cpu_buffers_round(struct cpu_buffers *buffers, const struct source_sink *sink);
uint64_t cpu_buffers_errors(const struct cpu_buffers *buffers);

/**
 * cpu_buffers_lost - records that the i-th CPU lost since cpu_buffers_open(), by its stats file
 * cpu_buffers_dropped - of them, those of which no page tells
 *
 * 0 where there is no such file. The kernel overwrites the oldest page, and the next page that is
 * read tells how many records that were; it drops new ones where options/overwrite is off, or where
 * one interrupt fills the whole buffer.
 */
uint64_t cpu_buffers_lost(const struct cpu_buffers *buffers, int i);
uint64_t cpu_buffers_dropped(const struct cpu_buffers *buffers, int i);

/**
 * cpu_directories - numbers of the cpuN directories below @dir/per_cpu, ascending
 *
 * Returns how many, or -errno; free() the array.
 */
int cpu_directories(const char *dir, int **ret_cpus);

#endif
