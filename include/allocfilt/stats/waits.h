/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_WAITS_H
#define ALLOCFILT_STATS_WAITS_H

#include "allocfilt/stall/stall.h"

/*
 * Memory waits by their reason. No record is kept of one that is too short to be a stall, but most of
 * the time that a shortage of memory costs may be in them.
 */

struct wait_sum {
	uint64_t count;
	uint64_t total;	     /* ns */
	uint64_t long_count; /* of these those that reach the threshold */
	uint64_t long_total; /* ns */
	uint64_t since;	     /* ns, trace clock: end of the first one */
};

struct waits {
	struct wait_sum of
		[ROLE_COUNT]; /* by reason; ROLE_OOM_KILLER: OOM kills, ROLE_IO: no memory waits */
	uint64_t parts;	      /* of these those that were in progress when the run began */
	uint64_t in_progress; /* and not among these: when it ended, as their ends did not come */
	uint64_t in_progress_ns; /* since their begins */
};

/** waits_add - count a wait; @is_long: it reaches the threshold */
void waits_add(struct waits *waits, const struct memory_wait *wait, bool is_long);

/** waits_all - the sum over all reasons, without OOM kills and other I/O; since is not set */
struct wait_sum waits_all(const struct waits *waits);

/** waits_next - the reason with most time after @role in this order; -1: first, and no more */
int waits_next(const struct waits *waits, int role);

#endif
