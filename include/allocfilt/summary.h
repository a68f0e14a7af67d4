/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_SUMMARY_H
#define ALLOCFILT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "latency.h"
#include "stall.h"
#include "task.h"
#include "told.h"

/* What a run has seen: functions, who waited, the worst stall, where the time went. */

#define SUMMARY_FUNCTIONS_MAX	64
#define SUMMARY_OUTERMOST_MAX	64	/* functions; the stalls of all others are counted as one */
#define SUMMARY_TASKS_MAX	128	/* when full, the one that waited least makes room */
#define SUMMARY_KERNEL_MAX	32
#define SUMMARY_WORST_SHRINKERS	8

struct summary_function {
	uint64_t function;		/* address; 0: pairs of a role without a window */
	int role;			/* enum role, or ROLE_NONE */
	struct latency latency;
};

/* The stalls of which one function was the outermost. */
struct summary_outermost {
	uint64_t function;		/* address; 0: told by a pair of events alone */
	int role;			/* enum role; ROLE_NONE, and no function: all others */
	struct histogram histogram;
};

struct summary_waiter {
	int pid;			/* of a task; 0 for a cgroup */
	char name[WHO_CGROUP_MAX];	/* of a task or a path, any bytes */
	struct latency latency;
};

/* One stall of a task that waited; its pointers point into the summary. */
struct summary_worst {
	bool any;
	struct stall stall;
	struct told_stall told;
	struct stall_shrinker shrinkers[SUMMARY_WORST_SHRINKERS];
	struct who_task who;
	char name[WHO_COMM_MAX];
	char function[TOLD_NAME_MAX];
	char gfp_names[160];
	char compaction[160];
	char memcg[WHO_CGROUP_MAX];
};

struct summary;

/**
 * summary_new - all that it will ever take is allocated here
 * @cgroups: those that are kept, at least 1; when full, the one that waited least makes room
 *
 * Returns NULL with errno ENOMEM.
 */
struct summary *summary_new(const struct plan *plan, size_t cgroups);
void summary_free(struct summary *summary);

/** summary_window, summary_pair, summary_stall - count what goes by */
void summary_window(struct summary *summary, const struct task_window *window);
void summary_pair(struct summary *summary, const struct task_pair *pair);
void summary_stall(struct summary *summary, const struct told_stall *told);

enum summary_who { SUMMARY_TASKS, SUMMARY_CGROUPS, SUMMARY_KERNEL_THREADS, SUMMARY_WHO_COUNT };

/**
 * summary_functions, summary_waiters - most total time first
 *
 * The array is valid until something is counted. Returns how many.
 */
size_t summary_functions(struct summary *summary, const struct summary_function **ret_functions);
size_t summary_waiters(struct summary *summary, enum summary_who who,
		       const struct summary_waiter **ret_waiters);

/**
 * summary_worst - the stall with most time that slow runs explain
 *
 * The longest stall may be one of a task that only waited for a CPU: summary_longest().
 */
const struct summary_worst *summary_worst(const struct summary *summary);
const struct summary_worst *summary_longest(const struct summary *summary);

/** summary_stalls - how long the stalls of tasks that waited were; _background: of the others */
const struct latency *summary_stalls(const struct summary *summary);
const struct latency *summary_background(const struct summary *summary);

/**
 * summary_outermost - the stalls of tasks that waited by function; _background: of the others
 *
 * In the order in which they came; a function keeps its place. Returns how many.
 */
size_t summary_outermost(const struct summary *summary,
			 const struct summary_outermost **ret_outermost);
size_t summary_background_outermost(const struct summary *summary,
				    const struct summary_outermost **ret_outermost);

/** summary_phases - where the time of all stalls went; of tasks that waited, and of the others */
const struct phases *summary_phases(const struct summary *summary);
const struct phases *summary_background_phases(const struct summary *summary);

/** summary_incomplete - stalls during which records were lost */
uint64_t summary_incomplete(const struct summary *summary);

/** summary_overflow - functions and tasks that found no place or lost theirs; _cgroups: cgroups */
uint64_t summary_overflow(const struct summary *summary);
uint64_t summary_cgroups_overflow(const struct summary *summary);

#endif
