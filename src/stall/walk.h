/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_WALK_H
#define ALLOCFILT_STALL_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/record/decode.h"
#include "stall/details.h"
#include "stall/runs.h"
#include "stall/task_log.h"

/*
 * The walk goes over a task's log from the end of a stall back to its start. So it knows the
 * windows around a record when it meets the record, and with them its phase and its owner.
 */

#define WALK_LEVELS 128 /* windows around each other; traced functions nest about ten deep */

/* The kind of work that a window does. */
struct work {
	enum phase_group group;
	enum phase_part part;
	uint64_t shrinker; /* of PART_SHRINKERS */
	uint64_t callback;
};

/* A window or a pair around the present place of the walk. */
struct level {
	struct log_entry *entry;
	uint64_t start; /* ns */
	uint64_t end;
	int role;	     /* enum role, or ROLE_NONE */
	struct work work;    /* of time that no window inside has */
	struct work reclaim; /* of the innermost reclaim around and including it */
};

struct walk {
	const struct plan *plan;
	struct decode *decode;
	struct resolver *resolver;
	struct runs runs;
	struct stall *stall;	/* whose members it sets */
	uint64_t edge;		/* ns by which a window may have begun before its calltime */
	uint64_t off_cpu_from;	/* ns: switches are known since; UINT64_MAX: there was none */
	bool gap;		/* a window of a depth in between was missing */
	enum phase_state state; /* up to walk.at, from the nearest record before it */
	uint64_t at;		/* ns: all time from here on is in a phase */
	size_t nr_levels;
	struct level levels[WALK_LEVELS + 1]; /* level 0 is around the stall, and has no work */
	struct details details;
	bool cut;	/* a shrinker or function has no name, for room */
	bool no_switch; /* of the task, where there was one */
	struct stall_slice shrinkers[STALL_SLICES_MAX];
	struct stall_slice sleeps[STALL_SLICES_MAX];
	struct stall_slice runners[STALL_SLICES_MAX];
};

/**
 * walk_stall - find out what happened in a window or pair of a task
 * @end: its entry, the last one of the stall
 * @start: ns: of the stall; that of the window, or later
 *
 * Sets the members of @stall that come from the log alone, and leaves details_end() to the caller; its pointers
 * are valid until the next walk.
 */
void walk_stall(struct walk *walk, struct log_cursor end, uint64_t start, struct stall *stall);

#endif
