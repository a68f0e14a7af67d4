/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_KEEP_H
#define ALLOCFILT_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpu_buffers.h"
#include "failure.h"
#include "kernel.h"
#include "page.h"
#include "plan.h"
#include "probes.h"

/* -w: keep the raw data of a run and all that it takes to read it, instead of filtering. */

struct keep;

struct keep_setup {
	const char *dir;		/* of the capture */
	const struct kernel *kernel;
	const struct plan *plan;
	const struct page_layout *layout;
	const struct probe *probe;	/* no definition: none */
	bool full;			/* all formats, symbols and functions */
	unsigned int names;		/* of tasks that are kept: names_new() */
	const pid_t *pids;		/* -p, 0 ends; NULL: all */
	pid_t own;			/* our process */
};

/**
 * keep_new - make the directory, before anything of tracing is changed
 *
 * Returns 0, or -errno with @failure (as capture_create()). The setup is copied; what it points to
 * has to live as long.
 */
int keep_new(struct keep **keep, const struct keep_setup *setup, struct failure *failure);

/** keep_free - a directory in which nothing has been kept yet is removed again */
void keep_free(struct keep *keep);

/**
 * keep_describe - once tracing is set up: formats, filters, clock, symbols, `capture`
 * @dir: session_dir()
 *
 * Returns 0, or -errno with @failure (status 1).
 */
int keep_describe(struct keep *keep, const char *dir, const struct cpu_buffers *buffers,
		  struct failure *failure);

/** keep_drain - move whole pages to the files; returns bytes, or -errno of a file */
int64_t keep_drain(struct keep *keep, const struct cpu_buffers *buffers);

/** keep_drain_rest - at the end: pages that are not full as well; 0, or -errno of a file */
int keep_drain_rest(struct keep *keep, const struct cpu_buffers *buffers);

/** keep_names - note names of tasks before they are gone; @now: ns, once a second is plenty */
void keep_names(struct keep *keep, uint64_t now);

/**
 * keep_say_losses - what each CPU lost since the last call, on stderr but not within a second of it
 * @now: ns, about once a second
 */
void keep_say_losses(struct keep *keep, const struct cpu_buffers *buffers, uint64_t now);

/**
 * keep_finish - write what only the end knows: names, symbols that the data refers to, losses
 *
 * Tracing need not be ours any more, but @dir has to be there (stats). Returns 0 or -errno with
 * @failure (status 1). Says bytes and losses on stderr, the losses of each CPU as well.
 */
int keep_finish(struct keep *keep, const char *dir, const struct cpu_buffers *buffers,
		struct failure *failure);

#endif
