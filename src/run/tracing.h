/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_TRACING_H
#define ALLOCFILT_RUN_TRACING_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/record/source.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/tracing/session.h"
#include "run/pipeline.h"

/*
 * A run on a running kernel, with all that both live runs and accounts need: the plan, the session,
 * the buffers, the loop, the work of each second, and the end. Functions that return int return 0,
 * or -errno with the failure unless they say otherwise. Times are ns, CLOCK_MONOTONIC.
 */

struct tracing {
	const struct run_context *run;
	struct failure *failure; /* of the call that goes on */
	struct kernel *kernel;
	struct plan *plan;
	struct data_source source;
	int *cpu_numbers;	   /* of the source */
	struct pipeline *pipeline; /* made by the caller; NULL with -w */

	/* valid from tracing_set_up() to tracing_end() */
	struct session *session;
	struct cpu_buffers *buffers;
	struct loop *loop;
	uint64_t next_second;
	uint64_t next_mark;
	uint64_t next_interval; /* 0: there are none */
	uint64_t ends;		/* -d; 0: not begun */
};

/**
 * tracing_plan - do the slow and fallible work that needs no change of tracing
 * @files: that each CPU has open, as for cpu_buffers_allow_files()
 */
int tracing_plan(struct tracing *tracing, unsigned int files);

/** tracing_free - free what tracing_plan() made, and the pipeline */
void tracing_free(struct tracing *tracing);

/**
 * tracing_set_up - start the session, and open the buffers for the pipeline
 * @extra: a request with what only this run asks for; the rest is filled in here
 */
int tracing_set_up(struct tracing *tracing, const struct session_request *extra);

/**
 * tracing_make_loop - make the loop; the end of COMMAND stops it
 * @context: of the callbacks
 * @output: the loop also stops when the output's reader goes
 */
int tracing_make_loop(struct tracing *tracing, const struct loop_callbacks *callbacks,
		      void *context, bool output);

/** tracing_set_tick - the interval between ticks, and how full a buffer wakes us */
int tracing_set_tick(struct tracing *tracing, uint64_t interval, int percent);

/** tracing_begin - tracing is on: open the output; the time of -d begins */
int tracing_begin(struct tracing *tracing);

/** tracing_announce - say that tracing is on, and start COMMAND */
void tracing_announce(struct tracing *tracing);

/**
 * tracing_second - the work of each second: CPUs that came online, the mark of the clock once a
 *	minute, memory
 *
 * Fails with EXIT_STATUS_IN_USE where somebody took tracing away.
 */
int tracing_second(struct tracing *tracing, uint64_t now);

/**
 * tracing_interval_ends - has an interval ended? Then the next one begins
 *
 * Marks the clock: an interval without any other record is that long.
 */
bool tracing_interval_ends(struct tracing *tracing, uint64_t now);

/** tracing_signal - pass a signal on to COMMAND; returns 1 where the run is to end, else 0 */
int tracing_signal(struct tracing *tracing, int number);

/** tracing_stop - tracing off, with a last mark if it was still ours; a blocked output gives up */
void tracing_stop(struct tracing *tracing);

/**
 * tracing_rest - pages that the buffers hold at most, or more
 *
 * Once tracing is off, no more than that is read: somebody may have switched it on again.
 */
uint64_t tracing_rest(const struct tracing *tracing);

/**
 * tracing_read_rest - read what is left once tracing is off; not with -w
 * @end: pipeline_flush(), or pipeline_pause()
 *
 * Returns 0, or -errno of the output.
 */
int tracing_read_rest(struct tracing *tracing, int (*end)(struct pipeline *pipeline));

/**
 * tracing_end - close the buffers, restore tracing, free the loop
 * @ret: of the run
 *
 * Returns @ret, unless tracing cannot be restored: then that is the failure, and the run's is logged.
 */
int tracing_end(struct tracing *tracing, int ret);

#endif
