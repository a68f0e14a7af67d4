/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_H
#define ALLOCFILT_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/names.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "allocfilt/stall/cause.h"
#include "allocfilt/stall/phases.h"
#include "allocfilt/stall/stall.h"
#include "allocfilt/stall/stalls.h"
#include "allocfilt/stall/task_key.h"

/*
 * A distribution of times with the same edges in every run and on every machine, so that histograms
 * can be added. An edge is a power of two of microseconds and belongs to the count below it, as in
 * Prometheus.
 */

#define HISTOGRAM_FIRST 4  /* 2^4 us: 16 us */
#define HISTOGRAM_LAST	26 /* 2^26 us: 67 s */
#define HISTOGRAM_EDGES (HISTOGRAM_LAST - HISTOGRAM_FIRST + 1)

struct histogram {
	uint64_t count;
	uint64_t total;			      /* ns */
	uint64_t counts[HISTOGRAM_EDGES + 1]; /* up to each edge from the one before; above all */
};

/** histogram_add - count a time */
void histogram_add(struct histogram *histogram, uint64_t ns);

/** histogram_merge - add @more to @histogram */
void histogram_merge(struct histogram *histogram, const struct histogram *more);

/** histogram_edge - ns: the longest time in counts[edge] */
uint64_t histogram_edge(unsigned int edge);

/*
 * A distribution of times with percentiles. Each power of two of microseconds has 8 buckets, so that
 * a percentile is at most 1/8 above the true one, and never above the maximum.
 */

#define LATENCY_STEPS	8
#define LATENCY_POWERS	35 /* of microseconds: 2^35 us is 9.5 hours */
#define LATENCY_BUCKETS ((LATENCY_POWERS - 3) * LATENCY_STEPS + LATENCY_STEPS)

struct latency {
	uint64_t count;
	uint64_t total; /* ns */
	uint64_t max;	/* ns */
	uint32_t buckets[LATENCY_BUCKETS];
};

/** latency_bucket - the bucket of a time */
unsigned int latency_bucket(uint64_t ns);

/** latency_count - count a time: of one stall there are several latencies, and one bucket */
static inline void latency_count(struct latency *latency, uint64_t ns, unsigned int bucket)
{
	latency->count++;
	latency->total += ns;
	if (ns > latency->max)
		latency->max = ns;
	latency->buckets[bucket]++;
}

/** latency_add - count a time */
static inline void latency_add(struct latency *latency, uint64_t ns)
{
	latency_count(latency, ns, latency_bucket(ns));
}

/** latency_percentile - ns that @percent of the times do not exceed; 0 without times */
uint64_t latency_percentile(const struct latency *latency, unsigned int percent);

/** latency_power - number of times in [2^power, 2^(power+1)) us; in [0, 2) for 0 */
uint32_t latency_power(const struct latency *latency, unsigned int power);

/*
 * Space-Saving (Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in
 * data streams", 2005): the tables of shrinkers, functions, tasks and cgroups have a limit. In a full
 * table a newcomer evicts the entry of which total and error are least together, and has this sum as
 * its error: at most so much may it have had before. Its own numbers begin at 0. So the true total of
 * an entry is at least `total` and at most `total` + `error`, and whatever has more than 1/N of all
 * time is in a table of N entries.
 *
 * The counters of the metrics must never go back, and a newcomer's would: there the first keep their
 * places, and all others share one.
 */

/*
 * Total and maximum latency of each shrinker, over all slab pairs, slow or not: by callback, and
 * by superblock for the callback that all superblocks share.
 */

#define SHRINKERS_MAX 256 /* callbacks with a total */

struct shrinker_total {
	uint64_t callback; /* address of its scan function */
	uint64_t total;	   /* ns */
	uint64_t error;	   /* ns that may be missing in total; superblocks have none */
	uint64_t max;	   /* ns */
	uint64_t count;
};

struct shrinkers;

/** shrinkers_new - allocate all that is needed; NULL with errno ENOMEM */
struct shrinkers *shrinkers_new(void);
void shrinkers_free(struct shrinkers *shrinkers);

/** shrinkers_reset - begin again with nothing counted; allocates nothing */
void shrinkers_reset(struct shrinkers *shrinkers);

/**
 * shrinkers_pair - count a slab pair
 * @superblock: its number, of shrinker_names_superblock(); -1: none
 */
void shrinkers_pair(struct shrinkers *shrinkers, uint64_t callback, int superblock, uint64_t ns);

/**
 * shrinkers_sorted - most total time first; equal times by address
 *
 * The array is valid until the next call. Returns how many.
 */
size_t shrinkers_sorted(struct shrinkers *shrinkers, const struct shrinker_total **ret_totals);

/**
 * shrinkers_series - the totals for counters, each in its place for the whole run
 *
 * The first SHRINKERS_MAX callbacks in order of their first pairs; at place SHRINKERS_MAX all others,
 * as callback 0. Returns NULL after the last.
 */
const struct shrinker_total *shrinkers_series(const struct shrinkers *shrinkers, size_t place);

/** shrinkers_of_superblock - total of a superblock by number (below SHRINKER_NAMES_MAX) */
const struct shrinker_total *shrinkers_of_superblock(const struct shrinkers *shrinkers,
						     int superblock);

struct superblock_total {
	int superblock; /* as shrinker_names_superblock() returned it */
	const struct shrinker_total *total;
};

/**
 * shrinkers_superblocks - totals of one callback, most time first; equal times by number
 *
 * The array is valid until the next pair. Returns how many.
 */
size_t shrinkers_superblocks(struct shrinkers *shrinkers, uint64_t callback,
			     const struct superblock_total **ret_totals);

/** shrinkers_overflow - callbacks evicted from the full table */
uint64_t shrinkers_overflow(const struct shrinkers *shrinkers);

/*
 * The statistics of a run: how long functions took, where the time of stalls went, which tasks
 * waited, and copies of the longest stalls.
 */

#define SUMMARY_FUNCTIONS_MAX 64
#define SUMMARY_TASKS_MAX     128
#define SUMMARY_CGROUPS_MAX   64
#define SUMMARY_KERNEL_MAX    32
#define SUMMARY_LONGEST_MAX   10

/* Functions, and who waited: each in a table of its own. */
enum summary_table {
	SUMMARY_FUNCTIONS,
	SUMMARY_CGROUPS,
	SUMMARY_TASKS,
	SUMMARY_KERNEL_THREADS,
	SUMMARY_TABLES
};

struct summary_total {
	uint64_t id; /* address of a function, 0: pairs of a role without a window; tid of a task */
	int role;    /* of a function: enum role, or ROLE_NONE */
	char *name;  /* task name or cgroup path, any bytes; "" for a function */
	struct latency latency;
	uint64_t error; /* ns that may be missing in latency.total */
};

/* Stalls of tasks that waited, and those of kswapd and kcompactd, for which no task waits. */
enum stall_side { STALLS_WAITING, STALLS_BACKGROUND, STALL_SIDES };

struct summary_stalls {
	struct latency latency;
	struct phases phases;
	struct cause_sum causes[CAUSES];
	/* by role of the outermost function; ROLE_COUNT: of none */
	struct histogram roles[ROLE_COUNT + 1];
};

struct summary;

/** summary_new - allocate all that is needed; NULL with errno ENOMEM */
struct summary *summary_new(const struct plan *plan);
void summary_free(struct summary *summary);

/** summary_reset - begin again with nothing counted; allocates nothing */
void summary_reset(struct summary *summary);

/** summary_window - count a slow run of a function */
void summary_window(struct summary *summary, const struct stall_window *window);

/** summary_stall - count a stall, and copy it if it is one of the longest so far */
void summary_stall(struct summary *summary, const struct named_stall *named);

/**
 * summary_totals - what is in a table, most total time first
 *
 * The array is valid until something is counted. Returns how many.
 */
size_t summary_totals(struct summary *summary, enum summary_table which,
		      const struct summary_total **ret_totals);

/** summary_stalls - totals of one side */
const struct summary_stalls *summary_stalls(const struct summary *summary, enum stall_side side);

/**
 * summary_longest - the longest stalls of tasks that waited
 * @place: 0 for the longest, up to SUMMARY_LONGEST_MAX - 1; of equal ones the earlier comes first
 *
 * Returns NULL where there are not as many. Valid until a stall is counted.
 */
const struct named_stall *summary_longest(const struct summary *summary, unsigned int place);

/**
 * summary_most_explained - the stall with most time in phases other than PHASE_REST; NULL: none
 *
 * The task of the longest stall may only have waited for a CPU.
 */
const struct named_stall *summary_most_explained(const struct summary *summary);

/** summary_incomplete - stalls of both sides that are incomplete */
uint64_t summary_incomplete(const struct summary *summary);

/** summary_overflow - functions, tasks and cgroups evicted */
uint64_t summary_overflow(const struct summary *summary);

/*
 * Units: which of them waited, how long and why. A unit is a system unit of systemd; of a task in none
 * it is the path of its cgroup, and UNIT_NONE where that is unknown, and for interrupts.
 *
 * Each is counted twice. For counters, which never go back, a fixed number of units have a place, and
 * all others share one. The places go to the units that wait first, and a unit that did not wait for a
 * day gives its own to the next one. Its counters stay until the end, and go on from there if it gets
 * another; so only so many units ever get one. For reports of a period every unit is counted.
 */

#define UNITS_MAX	   192
#define UNITS_COUNTERS_MAX 160 /* that ever have a place */
#define UNITS_PLACES_MAX   128 /* at a time */
#define UNIT_NONE	   "none"

struct unit_total {
	char name[UNIT_NAME_BYTES]; /* any bytes */
	/* while it had a place */
	struct cause_sum causes[CAUSES];
	uint64_t since[CAUSES]; /* ns, trace clock: end of the first stall of a cause */
	/* of the period */
	uint64_t count;
	uint64_t total;		       /* ns */
	uint64_t max;		       /* ns */
	uint64_t cause_totals[CAUSES]; /* ns */
};

struct units;

/**
 * units_new - allocate all that is needed; NULL with errno ENOMEM
 * @places: how many units have counters of their own, UNITS_PLACES_MAX at most
 */
struct units *units_new(unsigned int places);
void units_free(struct units *units);

/** units_set_places - from now on; the units in places beyond lose them */
void units_set_places(struct units *units, unsigned int places);

/** units_stall - count a stall of a task that waited */
void units_stall(struct units *units, const struct named_stall *named);

/**
 * units_series - the units for counters, each in its place as long as it has one
 *
 * The last one is that of all others; its name is "other". Returns NULL after it.
 */
const struct unit_total *units_series(const struct units *units, size_t place);

/** units_have_places - may units have counters of their own? */
bool units_have_places(const struct units *units);

/**
 * units_recent_max - ns: the longest stall of the unit at a place that ended in the minute of @ts or
 * one of the two before
 * @ts: ns, trace clock
 */
uint64_t units_recent_max(const struct units *units, size_t place, uint64_t ts);

/**
 * units_period - units that waited in this period, most time first; equal times by name
 *
 * The array is valid until a stall is counted. Returns how many.
 */
size_t units_period(struct units *units, const struct unit_total *const **ret_totals);

/** units_end_period - begin the next period */
void units_end_period(struct units *units);

/** units_overflow - units evicted from the full table: those silent longest that never had a place */
uint64_t units_overflow(const struct units *units);

/*
 * The causes of many stalls as one tree, for flame graphs: outermost function, phase, its part,
 * shrinker, and above them who called it. The time of a step contains that of the steps below it.
 */

#define CHAIN_NAME_MAX 160

struct chain_step {
	uint64_t ns;
	struct chain_step *below; /* the first one */
	struct chain_step *next;  /* below the same step */
	char name[CHAIN_NAME_MAX];
};

struct chains;

/** chains_new - allocate a table of at most @most steps with the root; NULL with errno ENOMEM */
struct chains *chains_new(size_t most);
void chains_free(struct chains *chains);

/**
 * chains_stall - count a stall
 * @callers: begin with the task and its kernel stack down to the outermost function
 *
 * Where the table is full a chain ends early: its time is in the steps that it has.
 */
void chains_stall(struct chains *chains, struct resolver *resolver, const struct named_stall *named,
		  bool callers);

/**
 * chains_sorted - the root, with most time first below each step and equal times by name
 *
 * Valid until a stall is counted. Its time is that of all stalls, and it has no name.
 */
const struct chain_step *chains_sorted(struct chains *chains);

/** chains_dropped - times that a full table ended a chain early */
uint64_t chains_dropped(const struct chains *chains);

#endif
