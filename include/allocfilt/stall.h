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
 * Phases: where the time of a stall went. Each nanosecond is counted once, for the innermost run
 * around it that was recorded, so that the phases add up to the duration of the stall.
 */

struct phases {
	unsigned int groups; /* bits: the others have no time, and most stalls have one or two */
	unsigned int states; /* likewise, of all groups: most have STATE_RAN alone */
	uint64_t ns[PHASE_GROUPS][PHASE_PARTS][PHASE_STATES];
};

/** phases_next - the next group that may have time; PHASE_GROUPS: none. @group: -1 for the first */
static inline int phases_next(const struct phases *phases, int group)
{
	unsigned int later = phases->groups >> (group + 1);

	return later ? group + 1 + __builtin_ctz(later) : PHASE_GROUPS;
}

/** PHASES_FOREACH - declares @group and goes through the groups that may have time, in their order */
#define PHASES_FOREACH(group, phases)                                                              \
	for (int group = phases_next(phases, -1); group < PHASE_GROUPS;                            \
	     group = phases_next(phases, group))

/** phases_part - ns of a part of a group, in all states */
static inline uint64_t phases_part(const struct phases *phases, enum phase_group group,
				   enum phase_part part)
{
	const uint64_t *ns = phases->ns[group][part];

	return ns[STATE_RAN] + ns[STATE_WAITED] + ns[STATE_BLOCKED] + ns[STATE_SLEPT];
}

/** phases_state - ns of all groups in a state */
uint64_t phases_state(const struct phases *phases, enum phase_state state);

/** phases_total - ns of all groups */
uint64_t phases_total(const struct phases *phases);

/** phases_add - add @more to @phases */
void phases_add(struct phases *phases, const struct phases *more);

/** phases_is_reclaim - is the group a kind of reclaim? Only these have parts. */
static inline bool phases_is_reclaim(enum phase_group group)
{
	return group < PHASE_COMPACTION;
}

/** phases_parts - how many parts of a group may have time: all, or PART_OWN alone */
static inline int phases_parts(enum phase_group group)
{
	return phases_is_reclaim(group) ? PHASE_PARTS : PART_OWN + 1;
}

/** phases_spend - add time to a state of a part of a group */
static inline void phases_spend(struct phases *phases, enum phase_group group, enum phase_part part,
				enum phase_state state, uint64_t ns)
{
	if ((int)part >= phases_parts(group))
		part = PART_OWN;
	phases->groups |= 1u << group;
	phases->states |= 1u << state;
	phases->ns[group][part][state] += ns;
}

/** phases_group - ns of a group with all its parts */
static inline uint64_t phases_group(const struct phases *phases, enum phase_group group)
{
	uint64_t ns = 0;

	if (!(phases->groups & 1u << group))
		return 0;
	for (int part = 0; part < phases_parts(group); part++)
		ns += phases_part(phases, group, part);
	return ns;
}

/**
 * phases_largest - the group and part with most time; among equals, PHASE_REST comes last
 *
 * Returns its ns; 0, and PHASE_REST, if all are 0.
 */
uint64_t phases_largest(const struct phases *phases, enum phase_group *ret_group,
			enum phase_part *ret_part);

/*
 * The backlog: a window that is faster than the threshold, and an event inside of it, matter only if
 * a slow window ends around them, and most never do. So, as they are in the ring buffer, they wait
 * here. A slow window of their task, a loss of records or an event of another kind passes them on; a
 * fast outermost window drops them, but where a slab pair is open that began before it. The ends of
 * slab pairs are paired here, as all pairs are counted. Only captures have fast windows, at a
 * threshold above their own.
 */

struct backlog;
struct task_pair;

struct backlog_sink {
	void *context;
	/* a record, with its fields, that does not wait any longer, or did not; 0, or -errno */
	int (*record)(void *context, struct record *record);
	/* a fast slab pair inside of a window; its records are passed on with counted set, or dropped */
	void (*pair)(void *context, const struct task_pair *pair);
	/* a fast outermost window that is not passed on; NULL: it is nobody's concern */
	void (*dropped)(void *context, const struct record *exit);
};

/**
 * backlog_new - without records; all memory is allocated here, and comes as it is used
 * @limits: at the limit of tasks, the copies of the least recently used one are passed on
 *
 * @decode has to outlive it. For data of a local clock with function_graph, where all tasks are shown.
 * Returns NULL with errno ENOMEM.
 */
struct backlog *backlog_new(const struct plan *plan, const struct limits *limits,
			    struct decode *decode, const struct backlog_sink *sink);
void backlog_free(struct backlog *backlog);

/**
 * backlog_record - accept a window or an event from decode in order of time, its fields not read
 *
 * It waits, is dropped or is passed on behind what the sink received of its task before. Returns 0, or
 * what the sink returned.
 */
int backlog_record(struct backlog *backlog, struct record *record);

/**
 * backlog_pass - pass on what waits of tasks of which the later stages may have something
 *
 * Now and then, as these look how long a task has been silent. Returns 0, or what the sink returned.
 */
int backlog_pass(struct backlog *backlog);

/** backlog_flush - pass on all that waits; 0, or what the sink returned */
int backlog_flush(struct backlog *backlog);

/*
 * Claims: the events of each task wait here for a window that claims them, and begins for their
 * ends. The idle task is one task per CPU. A record of an interrupt belongs to its CPU and its kind
 * of interrupt, never to the interrupted task.
 */

#define TASK_PAIRS_MAX 16 /* begins without their end, per task */

enum owner_kind { OWNER_TASK, OWNER_IDLE, OWNER_SOFTIRQ, OWNER_HARDIRQ, OWNER_NMI };

struct task_key {
	int32_t id;   /* tid, or CPU */
	int32_t kind; /* enum owner_kind */
};

static inline struct task_key task_key_of(const struct record *record)
{
	if (!record_in_interrupt(record) && record->tid)
		return (struct task_key){ record->tid, OWNER_TASK };
	if (record->flags & RECORD_FLAG_NMI)
		return (struct task_key){ record->cpu, OWNER_NMI };
	if (record->flags & RECORD_FLAG_HARDIRQ)
		return (struct task_key){ record->cpu, OWNER_HARDIRQ };
	if (record->flags & RECORD_FLAG_SOFTIRQ)
		return (struct task_key){ record->cpu, OWNER_SOFTIRQ };
	return (struct task_key){ record->cpu, OWNER_IDLE };
}

static inline uint64_t task_key_hash(struct task_key key)
{
	return (uint64_t)key.kind << 32 | (uint32_t)key.id;
}

/** task_key_in_interrupt - is it a CPU's interrupts? The tid of their records is the interrupted task. */
static inline bool task_key_in_interrupt(struct task_key key)
{
	return key.kind != OWNER_TASK && key.kind != OWNER_IDLE;
}

/* A window and the events that it owns, in order of time. A fast one owns none. */
struct task_window {
	struct task_key key;
	const struct record *exit;
	bool slow; /* reaches the threshold */
	const struct record *const *events;
	size_t nr_events;
	bool incomplete; /* an event that it may have owned was dropped for room */
	/*
	 * For sums: the events inside that no window inside had, those of fast runs too, in order
	 * of time.
	 */
	const struct record *const *inside;
	size_t nr_inside;
	bool inside_incomplete; /* one was dropped for room */
};

/* A begin and an end of one task. */
struct task_pair {
	struct task_key key;
	bool within; /* another begin of this task is still open */
	const struct record *begin;
	const struct record *end;
	uint64_t duration;		    /* ns */
	bool slow;			    /* reaches the threshold */
	const struct record *const *events; /* claimed; none with function_graph */
	size_t nr_events;
	bool incomplete;
};

/* Each returns 0, or -errno to stop. The records are valid during the call. */
struct claims_sink {
	void *context;
	/* every window: a capture may have those that are faster than -t, a running kernel has not */
	int (*window)(void *context, const struct task_window *window);
	/* every slab pair, and every other pair that is slow */
	int (*pair)(void *context, const struct task_pair *pair);
};

struct claims;

/**
 * claims_new - allocate all that is needed
 * @limits: at the limit of tasks, the one without a record for longest is evicted; at that of
 *	events, the oldest is dropped, but first those of a task with more than a sixteenth of all
 *
 * @plan and the CPU list of @source have to outlive it; @sink is copied. Returns NULL with errno
 * ENOMEM.
 */
struct claims *claims_new(const struct plan *plan, const struct data_source *source,
			  const struct limits *limits, const struct claims_sink *sink);
/** claims_free - release it with the records that wait; NULL is allowed */
void claims_free(struct claims *claims);

/**
 * claims_record - accept the next record in order of time
 *
 * Returns 0, -EINVAL for a CPU that is not in the list, or what the sink returned.
 */
int claims_record(struct claims *claims, const struct record *record);

/** claims_payload_bytes - for payloads_new(): the payloads of limits->events records */
size_t claims_payload_bytes(const struct plan *plan, const struct limits *limits);

/* Losses at the limits. */
struct claims_drops {
	uint64_t tasks;	  /* tasks evicted while their events waited */
	uint64_t windows; /* slow windows and pairs passed on as incomplete */
};

/** claims_drops - the losses so far */
const struct claims_drops *claims_drops(const struct claims *claims);

/*
 * Stalls: the outermost slow window of a task with everything inside, and where its time went.
 * Windows arrive when they end, the inner one first. A run around a slow one is slower still, so it
 * is recorded as well: a window of depth 0 ends its stall, and one of another depth waits for the
 * window around it, however long that takes. What waits for the same window can be added up, so a
 * task needs the same room for any stall.
 *
 * The window around may never arrive: its record was lost, tracing began in the middle, or another
 * user of function_graph adds to the depth. Then a window is a stall of its own, with its depth: when
 * one of depth 0 ends that does not contain it, when its task was silent for STALL_PATIENCE, at that
 * age as well if losses show that nothing will arrive, or gaps in depth seen in this run, or at the
 * end. In interrupts it is one when a window ends that does not contain it. Of several that were added
 * up, that stall is as long as they are together, without the time between them, ends with the last,
 * and is incomplete.
 */

#define STALLS_OWNERS_MAX      1024 /* tasks with what waits */
#define STALLS_SPANS_MAX       4096 /* sums of windows and pairs that wait, over all tasks */
#define STALLS_SLICES_MAX      6144 /* slices of their time, over all tasks */
#define STALLS_COMPACTIONS_MAX 1024 /* outcomes of compactions in them, over all tasks */
#define STALL_SHRINKERS_MAX    256  /* and functions that slept, named in one stall */
#define STALL_PATIENCE	       (600 * NS_PER_SECOND) /* of the trace clock */

/* Time of a shrinker in a stall, or of a function that slept in it. */
struct stall_slice {
	uint64_t shrinker; /* struct shrinker * */
	uint64_t callback; /* its scan function */
	enum phase_group group;
	uint64_t ns;
	uint64_t count;	   /* pairs of the shrinker */
	uint64_t function; /* that slept: its address; 0: a shrinker's time, in all states */
	enum phase_part part;
	enum phase_state state; /* of a function that slept: STATE_BLOCKED or STATE_SLEPT */
};

/* What is counted inside a stall, over all events of a kind, those of fast runs too. */
enum stall_count {
	COUNT_SCANNED,	 /* pages of inactive lists, from mm_vmscan_lru_shrink_inactive */
	COUNT_RECLAIMED, /* of these */
	COUNT_DIRTY,
	COUNT_WRITEBACK,
	COUNT_COMPACTIONS, /* calls of try_to_compact_pages() */
	STALL_COUNTS
};

/* 0 says so only where the bit in known is set: an event had that field. */
struct stall_counts {
	unsigned int known; /* 1 << enum stall_count */
	uint64_t count[STALL_COUNTS];
};

#define STALL_NODES_MAX	   128
#define STALL_OUTCOMES_MAX 192

struct stall {
	struct task_key key; /* an interrupt's stall is of its CPU */
	int tid;	     /* of the record that ended it */
	int cpu;
	uint64_t start; /* ns, trace clock */
	uint64_t end;
	uint64_t function; /* address; 0: known only from a pair of events */
	int role;	   /* enum role, or ROLE_NONE */
	int depth;	   /* more than 0: the window around it is unknown; 0 in an interrupt */
	bool alone;	   /* nothing is known but one window, and its time is in one phase */
	bool incomplete;   /* records were lost meanwhile or dropped at a limit, or it is a sum */
	const struct stall_slice *shrinkers; /* most time first */
	size_t nr_shrinkers;
	bool off_cpu; /* the states in phases are known; else some of STATE_RAN may be another */
	const struct stall_slice *sleeps; /* most time first; none without --stack */
	size_t nr_sleeps;
	int order; /* -1: unknown */
	bool has_gfp;
	uint64_t gfp;
	const char *gfp_names; /* "GFP_KERNEL|__GFP_COMP", "" if unknown */
	bool has_reclaimed;
	uint64_t nr_reclaimed;	/* pages, from the end events inside */
	const char *compaction; /* outcome of the last zone, "" for none */
	int priority;		/* the lowest that reclaim came down to, if has_priority */
	bool has_priority;
	struct stall_counts counts;
	uint64_t memcg_id; /* inode number of the cgroup that was reclaimed; 0: unknown */
	uint32_t stack;	   /* number of the first stack inside; 0: none */
	unsigned int nr_windows;
	unsigned int nr_events;
	struct phases phases;
	/* outcomes of all zones in order, "" for none: "partial_skipped x2, success" */
	char outcomes[STALL_OUTCOMES_MAX];
	char nodes[STALL_NODES_MAX]; /* that were reclaimed from, "" for none: "0,2-3" */
};

struct stalls;

/**
 * stalls_new - allocate all that is needed
 * @limits: of copies of the records of windows and slow pairs, for stalls_pass_on(); NULL: keep none
 * @ended: called with a stall, whose pointers are valid until it returns; 0, or -errno to stop
 *
 * At limits->events the window that ended first makes room. Returns NULL with errno ENOMEM.
 */
struct stalls *stalls_new(const struct plan *plan, const struct limits *limits,
			  struct resolver *resolver,
			  int (*ended)(void *context, const struct stall *stall), void *context);
void stalls_free(struct stalls *stalls);

/** stalls_window - accept a window from a claims_sink; 0, or the callback's -errno */
int stalls_window(struct stalls *stalls, const struct task_window *window);

/** stalls_pair - accept a pair from a claims_sink; 0, or the callback's -errno */
int stalls_pair(struct stalls *stalls, const struct task_pair *pair);

/**
 * stalls_pass_on - pass on the windows and slow pairs of a stall, as they were accepted
 *
 * For the stall callback, about its own stall. A pair is passed on as not within another. Returns 0,
 * or what the sink returned.
 */
int stalls_pass_on(struct stalls *stalls, const struct claims_sink *sink);

/**
 * stalls_sched - note what a record tells of the scheduler: sched_switch, sched_wakeup
 *
 * In order of time with the windows and pairs. All other records are ignored.
 */
void stalls_sched(struct stalls *stalls, const struct record *record);

/** stalls_sleep - note where a task sleeps that has just left its CPU: an address, 0 if not known */
void stalls_sleep(struct stalls *stalls, int tid, uint64_t function);

/** stalls_sched_stop - the scheduler's events are off until the next one: states are not known */
void stalls_sched_stop(struct stalls *stalls);

/* What --off-cpu recorded, of all tasks. */
struct sched_counts {
	uint64_t switches;
	uint64_t wakeups;
};

/** stalls_sched_counts - the scheduler's events so far; NULL: the plan has none */
const struct sched_counts *stalls_sched_counts(const struct stalls *stalls);

/** stalls_drop - a fast outermost window of a task ended at @ts, which had nothing else here */
void stalls_drop(struct stalls *stalls, int32_t tid, uint64_t ts);

/** stalls_lost - records of some CPU were lost just before @ts: stalls around it are incomplete */
void stalls_lost(struct stalls *stalls, uint64_t ts);

/**
 * stalls_time - emit what waits, of tasks that at @ts were silent for STALL_PATIENCE
 *
 * For now and then: a second more or less does not matter.
 */
int stalls_time(struct stalls *stalls, uint64_t ts);

/** stalls_flush - at the end of the data, emit all stalls that wait */
int stalls_flush(struct stalls *stalls);

/** stalls_dropped - times that a limit ended a stall early or dropped one of its details */
uint64_t stalls_dropped(const struct stalls *stalls);

/* A stall with its names, as the outputs and the summary show it. */

#define STALL_FUNCTION_MAX 96

struct named_stall {
	const struct stall *stall;
	const char *name; /* of the task: any bytes */
	const struct task_info *task_info;
	bool background;	   /* of kswapd or kcompactd: no task waited */
	const char *function;	   /* if it was looked up already; see stall_function() */
	const char *memcg;	   /* path of the cgroup that was reclaimed, "" if unknown */
	struct resolver *resolver; /* where that is NULL */
};

/**
 * stall_function - "__alloc_pages", or the role's title for a pair
 * @text: room for a name that has to be looked up
 */
const char *stall_function(const struct named_stall *named, char text[STALL_FUNCTION_MAX]);

/*
 * Why a stall took so long: a chain from the whole downwards. Each step is a part of the one before it
 * and at least half of the stall, so the chain is never a guess. Where nothing is half, the two kinds
 * of work with most time are all that is known.
 */

struct cause_step {
	const char *title;
	const struct stall_slice *shrinker; /* in place of the title; NULL: none */
	uint64_t ns;
};

#define CAUSE_STEPS_MAX 4

/*
 * A cause is one of a fixed set: a group of phases; of the rest, or where no group is half, what the
 * task did instead of running; or CAUSE_MIXED.
 */
#define CAUSE_OF_STATE(state) (PHASE_GROUPS + (state))
#define CAUSE_MIXED	      CAUSE_OF_STATE(STATE_RAN)
#define CAUSES		      CAUSE_OF_STATE(PHASE_STATES)

struct stall_cause {
	int which;	/* below CAUSES */
	uint64_t whole; /* ns */
	size_t nr_steps;
	/* of CAUSE_MIXED the groups with most time, two at most */
	struct cause_step steps[CAUSE_STEPS_MAX];
};

/* Stalls with the same cause. */
struct cause_sum {
	uint64_t count;
	uint64_t total; /* ns */
};

/** cause_name - title and key of a cause below CAUSES */
const struct phase_name *cause_name(int cause);

/** stall_cause - the cause of a stall; valid as long as its shrinkers are */
void stall_cause(const struct stall *stall, struct stall_cause *cause);

/** cause_which - stall_cause.which alone, at less cost */
int cause_which(const struct stall *stall);

/** cause_share - hundredths of a percent of the stall that the cause has, rounded down; of CAUSE_MIXED the largest */
unsigned int cause_share(const struct stall_cause *cause);

/** cause_percent - the same in percent, rounded as cause_text() has it */
unsigned int cause_percent(const struct stall_cause *cause);

#define STALL_CAUSE_MAX 512

/** cause_text - print the chain: "direct reclaim 100 %: inactive list 95 %"; any bytes */
void cause_text(struct resolver *resolver, const struct stall_cause *cause,
		char text[STALL_CAUSE_MAX]);

/** cause_detail - as cause_text(), after what cause_name() says; "": no more is known */
void cause_detail(struct resolver *resolver, const struct stall_cause *cause,
		  char text[STALL_CAUSE_MAX]);

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
void shrinkers_pair(struct shrinkers *shrinkers, const struct task_pair *pair, int superblock);

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
void summary_window(struct summary *summary, const struct task_window *window);

/** summary_pair - count a slow pair for its role; slab pairs are counted by shrinkers_pair() */
void summary_pair(struct summary *summary, const struct task_pair *pair);

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
