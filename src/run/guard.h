/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_GUARD_H
#define ALLOCFILT_RUN_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/plan.h"
#include "allocfilt/tracing.h"
#include "run/pipeline.h"

/*
 * The guard of max-cpu: a minute in which we took more of a CPU switches off the events of one rank,
 * see plan_cost_rank(). Ten quiet minutes, with at most half of what is allowed, switch all of them on
 * again.
 */

#define GUARD_MINUTE (60 * NS_PER_SECOND)
#define GUARD_QUIET  10 /* minutes */

struct guard {
	unsigned int rank;   /* events up to this rank are to be off; 0: none */
	unsigned int quiet;  /* minutes */
	unsigned int tenths; /* of a percent: what the latest minute took */
	bool is_helpless;    /* it took more than is allowed, and no event is left to switch off */
	uint64_t since;	     /* ns, CLOCK_MONOTONIC: of the present minute */
	uint64_t cpu;	     /* ns: our CPU time then */
	bool off[PLAN_EVENTS_MAX]; /* these events are off, by their place in the plan */
	/* What was reported is not reported again. */
	unsigned int reported; /* ranks up to this one */
	bool reported_on, reported_last, reported_failure;
};

/** guard_begin - all events are on; what was reported stays reported */
void guard_begin(struct guard *guard, uint64_t now, uint64_t cpu);

/**
 * guard_update - decide which events are to be off
 * @max: percent of a CPU; 0: no limit
 * @now: ns, CLOCK_MONOTONIC
 * @cpu: ns, loop_cpu_time()
 *
 * Returns whether a minute has ended.
 */
bool guard_update(struct guard *guard, const struct plan *plan, uint64_t max, uint64_t now,
		  uint64_t cpu);

/** guard_second - to be called about once a second: update, switch events and report it */
void guard_second(struct guard *guard, const struct plan *plan, uint64_t max, uint64_t now,
		  struct session *session, struct pipeline *pipeline);

#endif
