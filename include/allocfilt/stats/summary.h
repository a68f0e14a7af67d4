/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_SUMMARY_H
#define ALLOCFILT_STATS_SUMMARY_H

#include "allocfilt/stall/cause.h"
#include "allocfilt/stats/latency.h"
#include "allocfilt/stats/ranking.h"
#include "allocfilt/stats/remedies.h"
#include "allocfilt/stats/waits.h"

/*
 * The statistics of a run: how long functions took, where the time of stalls went, which tasks
 * waited, the shrinkers, and a copy of the longest stall.
 */

#define SUMMARY_FUNCTIONS_MAX 64
#define SUMMARY_TASKS_MAX     128
#define SUMMARY_CGROUPS_MAX   64
#define SUMMARY_KERNEL_MAX    32
#define SUMMARY_RUNNERS_MAX   128
#define SUMMARY_IDLE	      1
#define SUMMARY_RECLAIMED_MAX 256
#define SUMMARY_VICTIMS_MAX   32
#define SUMMARY_LIMITS_MAX    64
#define SHRINKERS_MAX	      256 /* callbacks: several times as many as a kernel has */

/* Each has a table of its own, of struct summary_total where no other one is named. */
enum summary_table {
	SUMMARY_FUNCTIONS,
	SUMMARY_CGROUPS,
	SUMMARY_TASKS,
	SUMMARY_KERNEL_THREADS,
	/*
	 * of struct runner_total: who had the CPU while tasks waited for one. Tasks of one name in one
	 * cgroup are one entry; so are kworkers up to the colon in their names, "kworker/u8". An idle CPU,
	 * which nobody had, is the entry "swapper" with the id SUMMARY_IDLE.
	 */
	SUMMARY_RUNNERS,
	/* of struct ranked alone: see summary_reclaimed() */
	SUMMARY_RECLAIMED,
	SUMMARY_VICTIMS,   /* of struct task_total: of the OOM killer */
	SUMMARY_NOT_ENDED, /* the same: tasks whose memory wait had not ended, by time */
	SUMMARY_LIMITS,	   /* of struct ranked alone; id 0: it may be that of a cgroup above */
	SUMMARY_PURPOSES,  /* "agent in agent.service reclaimed from web.service" */
	/* of struct shrinker_total: all slab pairs, slow or not */
	SUMMARY_SHRINKERS,
	SUMMARY_SUPERBLOCKS, /* of the callback that all of them share */
	SUMMARY_TABLES
};

struct summary_total {
	struct ranked ranked; /* id: the tid of a task; name: of a task or cgroup */
	uint64_t function;    /* address; 0: the pairs of a role, or no function */
	int role;	      /* of a function: enum role, or ROLE_NONE */
	struct latency latency;
	struct waits waits;	  /* from here on not of functions and of work on purpose */
	struct remedies remedies; /* of a cgroup */
	struct cause_sum causes[CAUSES];
};

struct runner_total {
	struct ranked ranked;	      /* id: the hash of the cgroup; name: of the tasks */
	uint64_t reclaiming;	      /* ns: of the total, as of a slice */
	char cgroup[TASK_CGROUP_MAX]; /* "" if unknown */
};

/* Tasks of one name in one cgroup that the OOM killer took for the limit of one cgroup; or one that waits. */
struct task_total {
	struct ranked
		ranked; /* id: a hash of cgroup and limit; name: of the tasks; total: how many, or ns */
	struct task_info last;
	uint64_t since; /* ns, trace clock; of one that waits, as its reason */
	int role;
};

/* The total of a superblock goes when another one has its place, and is in its callback's alone. */
struct shrinker_total {
	struct ranked ranked; /* id: the address of the callback, or the number of the superblock */
	uint64_t callback;    /* address of its scan function */
	uint64_t max;	      /* ns */
	uint64_t count;
	uint64_t number; /* in the order of their first runs */
};

/* Stalls of tasks that waited, of kernel threads for which no task waits, and of work on purpose. */
enum stall_side { STALLS_WAITING, STALLS_BACKGROUND, STALLS_ON_PURPOSE, STALL_SIDES };

struct summary_stalls {
	struct latency latency;
	struct phases phases;
	struct cause_sum causes[CAUSES];
	struct waits waits;
	struct remedies remedies; /* of tasks that waited */
};

struct summary;

/** summary_new - allocate all that is needed; NULL if there is no memory */
struct summary *summary_new(void);
void summary_free(struct summary *summary);

/** summary_reset - begin again with nothing counted; allocates nothing */
void summary_reset(struct summary *summary);

/** summary_window - count a slow window, or a slow pair for its role; shrinkers are counted by summary_shrinker() */
void summary_window(struct summary *summary, const struct stall_window *window);

/**
 * summary_shrinker - count a slab pair
 * @superblock: its number, of shrinker_names_superblock(); -1: none
 */
void summary_shrinker(struct summary *summary, uint64_t callback, int superblock, uint64_t ns);

/** summary_stall - count a stall, and copy it if it is one of the longest so far */
void summary_stall(struct summary *summary, const struct named_stall *named);

/**
 * summary_wait - count a memory wait; one in progress for the run alone, of no task or cgroup
 * @named: as of remedies_wait()
 * @is_long: it reaches the threshold, and its time is in a stall
 */
void summary_wait(struct summary *summary, const struct named_stall *named,
		  const struct memory_wait *wait, bool is_long);

/**
 * summary_at - the entries of a table, most time first; NULL after the last
 *
 * The time of a task or cgroup is that in stalls and short waits. Equal times come by name, or by the
 * address or number of a shrinker or superblock.
 */
const void *summary_at(const struct summary *summary, enum summary_table which, size_t rank);

/** summary_had_cpu_unknown - ns that tasks waited for a CPU, and who had it is not recorded */
uint64_t summary_had_cpu_unknown(const struct summary *summary);

/**
 * summary_reclaimed - the cgroups whose memory the stalls of a cgroup reclaimed, most pages first
 * @cgroup: of SUMMARY_CGROUPS
 * @rank: 0 for the first; moved behind the one that is returned
 *
 * The name of the result is the path of the reclaimed cgroup, its total a number of pages. A stall counts
 * for the one cgroup that it names. Returns NULL after the last.
 */
const struct ranked *summary_reclaimed(const struct summary *summary,
				       const struct summary_total *cgroup, size_t *rank);

/** summary_remedy_cgroup - the cgroup with most of the time that a remedy explains; NULL: none has any */
const struct summary_total *summary_remedy_cgroup(const struct summary *summary,
						  const struct remedy *remedy);

/** summary_count - entries of a table */
size_t summary_count(const struct summary *summary, enum summary_table which);

/** summary_stalls - totals of one side */
const struct summary_stalls *summary_stalls(const struct summary *summary, enum stall_side side);

/** summary_longest - the longest stall of a task that waited, of equal ones the earlier; NULL: none */
const struct named_stall *summary_longest(const struct summary *summary);

/**
 * summary_most_explained - the stall with most time in phases other than PHASE_OUTSIDE; NULL: none
 *
 * The task of the longest stall may only have waited for a CPU.
 */
const struct named_stall *summary_most_explained(const struct summary *summary);

/** summary_incomplete - stalls of both sides that are incomplete for a reason; LACKS_NOTHING: for any */
uint64_t summary_incomplete(const struct summary *summary, enum stall_lack lack);

/** summary_overflow - entries that full tables evicted; superblocks make room, and are not counted */
uint64_t summary_overflow(const struct summary *summary);

#endif
