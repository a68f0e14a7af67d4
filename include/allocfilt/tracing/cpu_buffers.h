/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_CPU_BUFFERS_H
#define ALLOCFILT_TRACING_CPU_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base/failure.h"
#include "allocfilt/base/trace_dir.h"

/*
 * The raw buffers of all CPUs of a running kernel: per_cpu/cpuN/trace_pipe_raw, read without
 * blocking. One that cannot be opened (offline) does not stop the rest. Nothing here calls select(2), which ends at descriptor 1023.
 */

struct cpu_buffers;

#define CPU_BUFFERS_FILES_SPARE	 16 /* for files that are opened for a moment */
#define CPU_BUFFERS_FILES_OTHERS (CPU_BUFFERS_FILES_SPARE + 32) /* besides those of CPUs */

/**
 * cpu_buffers_allow_files - raise the soft limit of open files (RLIMIT_NOFILE) to what CPUs need
 * @dir: a tracing directory or a capture, whose CPUs are counted
 * @each: files that each of them has open for as long as the run lasts
 *
 * As far as the hard limit goes, with a log_warning() where that is too low: then some CPUs are not
 * read.
 */
void cpu_buffers_allow_files(const char *dir, unsigned int each);

/**
 * cpu_buffers_open - open the raw buffer of each CPU
 * @dir: tracing directory or instance
 * @cpus: the i-th is that at place i of this list
 * @page_size: bytes of a page (sub-buffer)
 *
 * Returns 0, or -errno with @failure (status 1) when none opens.
 */
int cpu_buffers_open(struct cpu_buffers **buffers, const char *dir, const struct cpu_list *cpus,
		     size_t page_size, struct failure *failure);
void cpu_buffers_close(struct cpu_buffers *buffers);

/**
 * cpu_buffers_reopen - try again those CPUs that could not be opened; once a second is plenty
 *
 * Returns how many opened now.
 */
int cpu_buffers_reopen(struct cpu_buffers *buffers);

/** cpu_buffers_starved - CPUs that are not open for want of a descriptor (RLIMIT_NOFILE) */
unsigned int cpu_buffers_starved(const struct cpu_buffers *buffers);

/** cpu_buffers_count, _fd, _cpu - the i-th CPU's descriptor (for epoll; -1: not open), number */
int cpu_buffers_count(const struct cpu_buffers *buffers);
int cpu_buffers_fd(const struct cpu_buffers *buffers, int i);
int cpu_buffers_cpu(const struct cpu_buffers *buffers, int i);

/**
 * cpu_buffers_read - read the next page of the i-th CPU
 *
 * Returns its bytes, with @ret_page valid until this CPU is read again; 0: there is none now, or
 * the read failed.
 */
size_t cpu_buffers_read(struct cpu_buffers *buffers, int i, const void **ret_page);

/**
 * cpu_buffers_errors - reads that failed, but for EAGAIN and ENODEV
 *
 * ENODEV is that of a CPU that was not online since the buffers were made
 * (kernel/trace/ring_buffer.c: ring_buffer_alloc_read_page()).
 */
uint64_t cpu_buffers_errors(const struct cpu_buffers *buffers);

enum cpu_count {
	CPU_LOST,
	CPU_DROPPED, /* those lost that no page mentions */
	CPU_READ,    /* by anybody */
	CPU_COUNTS,
};

/**
 * cpu_buffers_records - records of the i-th CPU since cpu_buffers_open(), by its stats file
 *
 * 0 if there is no such file. The kernel overwrites the oldest page, and the next page that is read
 * says how many records that were; it drops new ones while options/overwrite is off, or when one
 * interrupt fills the whole buffer.
 */
uint64_t cpu_buffers_records(const struct cpu_buffers *buffers, int i, enum cpu_count which);

#endif
