/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_H
#define ALLOCFILT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"

/*
 * A directory laid out as the tracing directory is, kept by `-w` or made by hand with cp and cat:
 * read only, in the same rounds as a running kernel.
 */

struct capture;

/**
 * capture_open
 *
 * Returns 0, or -errno with @failure (status 2: neither a tracing directory nor a capture, not
 * readable). What is damaged but can be done without is counted in capture_info.
 */
int capture_open(struct capture **capture, const char *dir, struct failure *failure);
void capture_close(struct capture *capture);

/** capture_source - what is known of the data; valid as long as the capture is open */
const struct data_source *capture_source(const struct capture *capture);

struct capture_info {
	uint64_t threshold;   /* ns that it was taken with; 0: not known */
	bool described;	      /* it has the file `capture`, whose threshold is the default */
	uint64_t flaws;	      /* files that were damaged, missing or unreadable so far */
	char first_flaw[768]; /* "" or the first of them */
};

const struct capture_info *capture_info(const struct capture *capture);

/** capture_offer - for plan_make(); valid as long as the capture is open */
void capture_offer(struct capture *capture, struct plan_offer *offer);

/** capture_round - each CPU up to its quota; 0 at the end of all files, 1 before, or -errno */
int capture_round(struct capture *capture, const struct source_sink *sink);

/*
 * Keeps a capture: a directory (0700) laid out as the tracing directory is, files 0600, because
 * they hold kernel addresses. What is needed to read the data is written before the data, so that
 * a capture that was cut short by a full disk can still be read.
 */

struct capture_writer;

/**
 * capture_create - make the directory, or use an empty one
 *
 * Returns 0, or -errno with @failure (status 2: exists and is not empty, cannot be made; 1 where
 * that is not the path's fault, as on a full disk).
 */
int capture_create(struct capture_writer **writer, const char *dir, size_t page_size,
		   struct failure *failure);
void capture_writer_free(struct capture_writer *writer);

/** capture_abandon - remove the directory again, if nothing was written to it */
void capture_abandon(struct capture_writer *writer);

const char *capture_writer_dir(const struct capture_writer *writer);

/**
 * capture_put - write a file of the capture, by way of a new one and rename
 * @name: relative to the directory; folders on its way are made
 *
 * Returns 0 or -errno; an older file of that name is then still whole.
 */
int capture_put(struct capture_writer *writer, const char *name, const char *text, size_t length);

/** capture_copy - capture_put() of a file below another directory; -ENOENT where it has none */
int capture_copy(struct capture_writer *writer, const char *from_dir, const char *name);

/** capture_add_cpu - open per_cpu/cpuN/trace_pipe_raw for data; 0 or -errno */
int capture_add_cpu(struct capture_writer *writer, int cpu);

/**
 * capture_take - move what a CPU's buffer has in whole pages to its file
 * @fd: its trace_pipe_raw, opened without blocking
 *
 * By splice where the kernel and the file system have it, else by read and write. Returns bytes
 * (0: nothing to read), or the -errno of the file (-ENOSPC, …).
 */
int64_t capture_take(struct capture_writer *writer, int cpu, int fd);

/** capture_take_rest - at the end, the page that is not full as well; returns as capture_take() */
int64_t capture_take_rest(struct capture_writer *writer, int cpu, int fd);

/** capture_bytes - bytes of data written so far */
uint64_t capture_bytes(const struct capture_writer *writer);

#endif
