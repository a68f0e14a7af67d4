/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_H
#define ALLOCFILT_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "phases.h"
#include "plan.h"
#include "task.h"

/*
 * Stalls: the outermost slow window of a task with all that happened inside, and where its time
 * went. Windows arrive when they end, the inner one first. As each run around a slow one is slower
 * still, it is recorded as well: a window of depth 0 ends its stall, and one of another depth waits
 * for the window around it. That one may never come: its record was lost, tracing began in the
 * middle, or another user of function_graph counts in the depth. Then the wait ends with
 * STALL_PATIENCE, or with a window of depth 0 that does not contain it.
 */

#define STALLS_OWNERS_MAX	1024	/* tasks with something that waits */
#define STALLS_SPANS_MAX	2048	/* windows and pairs that wait, over all tasks */
#define STALLS_PIECES_MAX	4096	/* shares of their time, over all tasks */
#define STALL_SHRINKERS_MAX	256	/* named in one stall */
#define STALL_PATIENCE		30000000000ull	/* ns of the trace clock */

/* What a shrinker took in a stall. */
struct stall_shrinker {
	uint64_t shrinker;	/* struct shrinker * */
	uint64_t callback;	/* its scan function */
	enum phase_group group;
	uint64_t ns;
	uint64_t count;		/* pairs */
};

struct stall {
	struct task_key key;	/* an interrupt's stall is of its CPU */
	int pid;		/* of the record that ended it */
	int cpu;
	uint64_t start;		/* ns, trace clock */
	uint64_t end;
	uint64_t function;	/* address; 0: told by a pair of events alone */
	int role;		/* enum role, or ROLE_NONE */
	int depth;		/* more than 0: what was around it is not known */
	bool incomplete;	/* records were lost meanwhile, or a limit dropped something */
	struct phases phases;
	const struct stall_shrinker *shrinkers;	/* most time first */
	size_t nr_shrinkers;
	int order;		/* -1: no event told it */
	bool has_gfp;
	uint64_t gfp;
	const char *gfp_names;	/* "GFP_KERNEL|__GFP_COMP", "" where unknown */
	bool has_reclaimed;
	uint64_t nr_reclaimed;	/* pages, by the end events inside */
	const char *compaction;	/* outcome of the last zone, "" for none */
	uint64_t memcg_id;	/* inode number of the cgroup that was reclaimed; 0: not told */
	uint32_t stack;		/* number of the stack that led into it; 0: none */
	unsigned int nr_windows;
	unsigned int nr_events;
};

struct stalls_setup {
	const struct plan *plan;
	/* an event's text, "name: fields"; returns the length */
	size_t (*event)(void *context, const struct record *record, char *text, size_t size);
	/* takes a stall, whose pointers are valid during the call; 0 or -errno to stop */
	int (*stall)(void *context, const struct stall *stall);
	void *context;
};

struct stalls;

/** stalls_new - all that it will ever take is allocated here; NULL with errno ENOMEM */
struct stalls *stalls_new(const struct stalls_setup *setup);
void stalls_free(struct stalls *stalls);

/** stalls_window, stalls_pair - what the task stage gives, in its order; 0 or the sink's -errno */
int stalls_window(struct stalls *stalls, const struct task_window *window);
int stalls_pair(struct stalls *stalls, const struct task_pair *pair);

/** stalls_lost - records of some CPU were lost just before @ts */
void stalls_lost(struct stalls *stalls, uint64_t ts);

/** stalls_time - time has come to @ts: what has waited for too long goes out */
int stalls_time(struct stalls *stalls, uint64_t ts);

/** stalls_flush - all that waits goes out, at the end of the data */
int stalls_flush(struct stalls *stalls);

/* What a limit dropped. */
struct stalls_drops {
	uint64_t owners;	/* tasks whose windows and pairs went out before their time */
	uint64_t spans;		/* slow windows and pairs that went to make room */
	uint64_t shrinkers;	/* shares that count as slab, but not for their shrinker */
	uint64_t names;		/* times that names of gfp flags or an outcome had gone */
};
void stalls_drops(const struct stalls *stalls, struct stalls_drops *drops);

#endif
