/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_LIVE_H
#define ALLOCFILT_RUN_LIVE_H

#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/run.h"

/*
 * Tracing a running kernel: what it takes is made once, and may then trace several times, with
 * pauses in which tracing belongs to others.
 */

struct live;
struct pipeline;

/* What the caller wants to know of; each may be NULL. Times are ns, CLOCK_MONOTONIC. */
struct live_hooks {
	void (*tracing)(void *context, uint64_t now);		/* it is on */
	void (*second)(void *context, uint64_t now);		/* about once a second */
	int (*signal)(void *context, int number, uint64_t now); /* 0 to go on, 1 to end */
	void *context;
};

/**
 * live_new - all that takes long or may fail, but for the set-up of tracing; changes nothing
 *
 * @run and what it points to have to outlive it. Returns 0, or -errno with @failure.
 */
int live_new(struct live **live, const struct run_context *run, const struct live_hooks *hooks,
	     struct failure *failure);
void live_free(struct live *live);

/**
 * live_trace - trace until a signal, -d, a hook, or the reader of the output ends it
 *
 * Puts tracing back on every road; what was in the buffers is shown by then. Returns 0, or -errno
 * with @failure, whose status 4 says that tracing is in use by others: it may be tried again.
 */
int live_trace(struct live *live, struct failure *failure);

/** live_end - the summary, and what was lost; the last call before live_free() */
int live_end(struct live *live, struct failure *failure);

/** live_set_run - another one from now on, whose options differ in what needs no new set-up */
void live_set_run(struct live *live, const struct run_context *run);

/** live_tick - about once a second, tracing or not: entries of the journal, metrics */
void live_tick(struct live *live, uint64_t now);

/** live_pipeline - what was seen so far; NULL with -w */
struct pipeline *live_pipeline(struct live *live);

#endif
