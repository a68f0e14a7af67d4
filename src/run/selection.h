/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_SELECTION_H
#define ALLOCFILT_RUN_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/config/options.h"
#include "allocfilt/names/resolver.h"
#include "allocfilt/plan/plan.h"
#include "allocfilt/record/record.h"
#include "allocfilt/stall/stall.h"

/* The choice of the tasks whose records count, and of the stalls that are shown. */

struct selection {
	const struct options *options;
	const struct data_source *source;
	struct resolver *resolver;
	const struct plan *plan;
	/*
	 * A bit for each number of a task, set for COMMAND's own and those that it and its children
	 * fork: only these are shown. The kernel records events of these only (set_event_pid with
	 * event-fork), but some kernels record functions of all tasks. NULL: all are shown.
	 */
	uint64_t *command;
	bool lost;	   /* records, among which a fork of COMMAND may be */
	bool by_pid;	   /* only processes of options->pids are shown */
	bool any;	   /* not all tasks are shown */
	uint64_t from, to; /* ns since the epoch: --from, --to */
};

/**
 * selection_init - COMMAND's tasks are allocated here
 *
 * Returns 0, or -errno with @failure: no memory, or status 2 for --cause, --from or --to.
 */
int selection_init(struct selection *selection, const struct options *options,
		   const struct plan *plan, const struct data_source *source,
		   struct failure *failure);
void selection_destroy(struct selection *selection);

/** selection_pids - only these processes are shown, 0 ends; NULL: all */
const pid_t *selection_pids(const struct selection *selection);

/** selection_has_record - is the record of a task that is shown? In order of time; forks with their fields. */
bool selection_has_record(struct selection *selection, const struct record *record);

/** selection_set_background - set both members of @named that say that nobody waited for the stall */
void selection_set_background(const struct selection *selection, struct named_stall *named);

/** selection_in_range - the same where one of them is given */
bool selection_in_range(const struct selection *selection, uint64_t ts);

/** selection_has_time - does what began at @ts, of the trace clock, count by --from and --to? */
static inline bool selection_has_time(const struct selection *selection, uint64_t ts)
{
	return (!selection->from && !selection->to) || selection_in_range(selection, ts);
}

/** selection_has_stall - is the stall shown by --comm, --cgroup, --min-order, --cause? */
bool selection_has_stall(const struct selection *selection, const struct named_stall *named);

#endif
