/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_GUARD_H
#define ALLOCFILT_RUN_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/tracing/session.h"
#include "run/pipeline.h"

/*
 * The guard of max-cpu. A minute in which allocfilt took more of a CPU switches off EVENT_REFAULT, which
 * comes once for each page, and a second one all events that plan_can_spare(). Functions are timed as before.
 * Ten quiet minutes, at half of the limit or less, switch the events on again.
 */

#define GUARD_MINUTE (60 * NS_PER_SECOND)
#define GUARD_QUIET  10 /* minutes */

struct guard {
	bool is_off;		   /* events are to be off */
	bool is_all;		   /* not EVENT_REFAULT alone */
	bool off[PLAN_EVENTS_MAX]; /* these events are off, by their place in the plan */
	unsigned int quiet;	   /* minutes in a row */
	unsigned int tenths;	   /* of a percent of a CPU, that the latest minute took */
	uint64_t since;		   /* ns, CLOCK_MONOTONIC: when the present minute began */
	uint64_t cpu;		   /* ns: our CPU time then */
	/* Each is logged once, and that all events are off again. */
	unsigned int reported_off;
	bool reported_on, reported_failure;
};

/** guard_begin - all events are on; what was reported stays reported */
void guard_begin(struct guard *guard, uint64_t now, uint64_t cpu);

/**
 * guard_update - decide whether events are to be off
 * @max: percent of a CPU
 * @now: ns, CLOCK_MONOTONIC
 * @cpu: ns, CLOCK_PROCESS_CPUTIME_ID
 *
 * Returns whether a minute has ended.
 */
bool guard_update(struct guard *guard, uint64_t max, uint64_t now, uint64_t cpu);

/** guard_second - to be called about once a second: update, switch events and report it */
void guard_second(struct guard *guard, const struct plan *plan, uint64_t max, uint64_t now,
		  struct session *session, struct pipeline *pipeline);

#endif
