/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_TRACE_DAT_H
#define ALLOCFILT_CAPTURE_TRACE_DAT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "allocfilt/base/failure.h"
#include "allocfilt/record/source.h"

/*
 * The file of trace-cmd, versions 6 and 7: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5). Its texts become
 * files as a capture has them; the pages of the ring buffers stay where they are. It is read here and
 * not by libtracecmd, whose API has records, but neither pages nor the texts of formats and symbols.
 */

/* The place of a CPU's pages in the file. */
struct dat_cpu {
	int cpu;
	off_t offset;
	off_t size;
};

/* A ring buffer. */
struct dat_buffer {
	char *name;	  /* of its instance; "" for the top level's */
	char clock[64];	  /* "" where it is not known */
	size_t page_size; /* bytes; 0: not known */
	bool compressed;
	uint64_t places; /* version 6: the offset of those of its CPUs */
	struct dat_cpu *cpus;
	int count;
};

struct codec;

struct trace_dat {
	int fd;
	off_t size;
	bool big_endian;
	int version;
	const struct codec *codec; /* NULL: nothing is compressed */
	struct source_file *files; /* sorted by path */
	size_t nr_files;
	size_t bytes;		    /* of their texts */
	struct dat_buffer *buffers; /* in the order of the file */
	size_t nr_buffers;
	uint64_t date; /* ns, of trace-cmd record --date: see struct data_source; 0: none */
	char host[65], release[65], machine[65];
	off_t data_left;	  /* bytes of pages that may still come */
	unsigned int places_left; /* CPUs, of all buffers */
	bool latency;		  /* it has the text of a latency tracer in place of records */
	int error;		  /* errno of reading the file; 0: none */
	const char *flaw; /* the first thing that is damaged, and not essential; NULL: nothing */
};

/**
 * trace_dat_open - read all but the pages
 *
 * Returns 0, or -errno with @failure (status 2: no trace.dat, of a version or a compression that
 * cannot be read, or its header is damaged).
 */
int trace_dat_open(struct trace_dat **dat, const char *path, struct failure *failure);
void trace_dat_free(struct trace_dat *dat);

#endif
