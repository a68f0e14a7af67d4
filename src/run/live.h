/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_LIVE_H
#define ALLOCFILT_RUN_LIVE_H

#include <stdint.h>

#include "allocfilt/run/run.h"

/*
 * Tracing a running kernel. live_new() allocates all that reading records needs; live_trace() may
 * then run several times, with pauses in which another user traces, and opens the kernel's buffers
 * each time.
 */

struct live;
struct pipeline;

/**
 * live_new - do all slow or fallible work that needs no change of tracing
 *
 * @run and what it points to must outlive it. Returns 0, or -errno with @failure.
 */
int live_new(struct live **live, const struct run_context *run, struct failure *failure);

/**
 * live_trace - trace until a signal, -d, or the reader of the output ends it
 *
 * Restores tracing on every path. Shows the rest of the buffers before it returns. Returns 0, or
 * -errno with @failure; with EXIT_STATUS_IN_USE another user traces and a retry makes sense.
 */
int live_trace(struct live *live, struct failure *failure);

/**
 * live_end - print the summary, log the losses and release it; the last call
 * @error: -errno of live_trace(), with @failure; 0: none
 *
 * Returns @error, or -errno with @failure.
 */
int live_end(struct live *live, int error, struct failure *failure);

/** live_tick - about once a second, tracing or not: write journal entries and metrics */
void live_tick(struct live *live, uint64_t now);

/** live_pipeline - the pipeline that filters; NULL with -w */
struct pipeline *live_pipeline(struct live *live);

#endif
