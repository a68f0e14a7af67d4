/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_LIVE_LOOP_H
#define ALLOCFILT_RUN_LIVE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/output/metrics.h"
#include "allocfilt/run/loop.h"
#include "run/guard.h"
#include "run/pipeline.h"
#include "run/recorder.h"

/*
 * What happens between the start and the end of tracing: buffers are read, clocks marked, metrics
 * written, signals answered. live.c sets all up and ends it. Times are ns, CLOCK_MONOTONIC.
 */

struct live {
	const struct run_context *run;
	struct failure *failure;
	struct kernel *kernel;
	struct plan *plan;
	struct data_source source;
	int *cpu_numbers; /* of the source */
	int pressure;	  /* memory_pressure_open() */
	struct probe probe;
	bool has_probe; /* probe is defined; session_has_probe() says whether it is installed */
	struct pipeline *pipeline;    /* NULL with -w */
	struct recorder *recorder;    /* NULL without -w */
	struct metrics_file *metrics; /* NULL: none */
	uint64_t next_metrics;	      /* ns, as are all times here: CLOCK_MONOTONIC */
	bool has_traced;
	bool incomplete; /* the rest of the kernel's list has functions for the plan */
	bool broken;	 /* the output failed: print no summary */

	/* valid during one live_trace() */
	struct session *session;
	struct cpu_buffers *buffers;
	struct loop *loop;
	struct guard guard;
	bool idle;
	int empty_ticks;
	uint64_t set_up_from;
	uint64_t next_second;
	uint64_t next_mark;
	uint64_t next_interval; /* 0: there are none */
	uint64_t next_memory;
	bool locked; /* all memory, as far as that is possible */
};

/**
 * live_loop_new - make live->loop for a session whose buffers are open, and watch them
 *
 * Release with loop_free(), also after a failure. Returns 0 or -errno.
 */
int live_loop_new(struct live *live);

/** live_loop_start_times - tracing is on: intervals, and all that comes now and then, begin */
void live_loop_start_times(struct live *live);

/** live_loop_read_rest - read what is left once tracing is off; not with -w; 0, or -errno of the output */
int live_loop_read_rest(struct live *live);

/** live_loop_write_metrics - @last: the run has ended. A failure is logged and does not end the run. */
void live_loop_write_metrics(struct live *live, uint64_t now, bool last);

#endif
