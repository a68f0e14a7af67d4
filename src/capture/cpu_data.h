/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_CPU_DATA_H
#define ALLOCFILT_CAPTURE_CPU_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "capture/trace_dat.h"

/*
 * The data of a CPU, which is read in whole pages from its beginning to its end: a file of its own, or a
 * part of a trace.dat, compressed or not.
 */

struct chunks;
struct chunk_limits;

struct cpu_data {
	int fd;	      /* -1: there is none */
	bool shared;  /* it is that of the trace.dat */
	off_t start;  /* in the file */
	off_t offset; /* of the next page, from the start */
	off_t size;   /* when it was opened: a file of its own may be written at the same time */
	off_t data; /* pages of zeros before it are followed by data; see cpu_data_ends_in_zeros() */
	struct chunks *chunks; /* NULL: not compressed */
};

/** cpu_data_open_file - per_cpu/cpuN/trace_pipe_raw; 0, or -errno as file_open() */
int cpu_data_open_file(struct cpu_data *data, const char *dir, int cpu);

/**
 * cpu_data_open_part - a part of a trace.dat, which has to outlive the data
 * @place: a CPU of @buffer
 * @limits: of chunks_open()
 *
 * Returns 0, or -errno as chunks_open(): what is before the damage can be read, unless it is -ENOMEM.
 */
int cpu_data_open_part(struct cpu_data *data, const struct trace_dat *dat,
		       const struct dat_buffer *buffer, const struct dat_cpu *place,
		       struct chunk_limits *limits);

void cpu_data_close(struct cpu_data *data);

/** cpu_data_rewind - read from the beginning again */
void cpu_data_rewind(struct cpu_data *data);

/**
 * cpu_data_read - the next pages
 * @page: bytes of a page
 * @most: pages; there is room for them
 *
 * A hole of any size is one page of zeros. Returns bytes, with a page that is cut at the end only; 0 at
 * the end, or -errno.
 */
ssize_t cpu_data_read(struct cpu_data *data, void *pages, size_t page, size_t most);

/**
 * cpu_data_ends_in_zeros - is there nothing but zeros from @offset on?
 *
 * As a power cut leaves what was not on the disk yet, but counted in the size of a file of its own.
 */
bool cpu_data_ends_in_zeros(struct cpu_data *data, off_t offset);

#endif
