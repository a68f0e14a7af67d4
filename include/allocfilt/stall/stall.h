/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_STALL_H
#define ALLOCFILT_STALL_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/names/resolver.h"
#include "allocfilt/stall/phases.h"
#include "allocfilt/stall/task_key.h"

/*
 * Time of a shrinker in a stall, of a function that slept in it (in a shrinker, if that is not 0), or of a
 * task that had its CPU.
 */
struct stall_slice {
	union {
		struct {
			uint64_t shrinker; /* struct shrinker * */
			uint64_t callback; /* its scan function */
		};
		char name[RECORD_COMM_SIZE]; /* of a task: any bytes, all zeros after its end */
	};
	enum phase_group group;
	int32_t tid; /* of a task, 0 if the CPU was idle; else 0 */
	uint64_t ns;
	uint64_t count;		   /* pairs of the shrinker */
	uint64_t scanned;	   /* objects, by the shrinker */
	uint64_t freed;		   /* of these */
	uint64_t in[PHASE_STATES]; /* ns: of the shrinker, by state */
	uint64_t reclaiming; /* ns: of a task, in reclaim, compaction or a memory wait of its own */
	uint64_t function;   /* address, of a function that slept; else 0 */
	enum phase_part part;
	/* of a function: STATE_BLOCKED or STATE_SLEPT; of a task: STATE_WAITED */
	enum phase_state state;
};

#define STALL_SLICES_MAX 256 /* shrinkers, functions that slept, and runners, of one stall */

/* Counts over all events of a kind inside a stall, fast windows included. */
enum stall_count {
	COUNT_SCANNED,	 /* pages of inactive lists, from mm_vmscan_lru_shrink_inactive */
	COUNT_RECLAIMED, /* of these */
	COUNT_DIRTY,
	COUNT_WRITEBACK,
	COUNT_COMPACTIONS, /* calls of try_to_compact_pages() */
	STALL_COUNTS
};

/* A count is valid only if its bit in known is set: then an event had that field. */
struct stall_counts {
	unsigned int known; /* 1 << enum stall_count */
	uint64_t count[STALL_COUNTS];
};

#define STALL_GFP_MAX	   512
#define STALL_NODES_MAX	   128
#define STALL_OUTCOMES_MAX 400

/* The reason for which a stall is incomplete; where there are several, the last of them. */
enum stall_lack {
	LACKS_NOTHING,
	LACKS_SWITCH,	 /* of its task, see STATE_OFF */
	LACKS_FUNCTIONS, /* the plan has some, which are not traced at the time */
	LACKS_PART,	 /* the memory wait was in progress when the run began, or began again */
	LACKS_DROPPED,	 /* records, or names, at a limit of ours */
	LACKS_LOST,	 /* records that the kernel lost */
	STALL_LACKS,
};

extern const struct phase_name stall_lack_names[STALL_LACKS];

struct log_entry;
struct runs;

struct stall {
	struct task_key key; /* an interrupt's stall is of its CPU */
	int tid;	     /* of the record that ended it */
	int cpu;
	uint64_t start; /* ns, trace clock */
	uint64_t end;
	uint64_t function; /* address; 0: known only from a pair of events */
	int role;	   /* enum role, or ROLE_NONE */
	int depth;	   /* more than 0: the record of the window around it may be lost */
	enum stall_lack incomplete;
	bool waited; /* perhaps: a memory wait of its task was in it or around it */
	const struct stall_slice *shrinkers; /* most time first */
	size_t nr_shrinkers;
	bool off_cpu; /* the states in phases are known; else all time is STATE_UNKNOWN's */
	const struct stall_slice *sleeps; /* most time first; none without --stack */
	size_t nr_sleeps;
	/* Tasks that had the CPU while it waited, most time first. */
	const struct stall_slice *runners;
	size_t nr_runners;
	uint64_t no_runner; /* ns that it waited for a CPU, and who had it is not recorded */
	int order;	    /* -1: unknown */
	bool has_gfp;
	uint64_t gfp;
	const char *gfp_names; /* "GFP_KERNEL|__GFP_COMP", "" if unknown */
	bool has_reclaimed;
	uint64_t nr_reclaimed;	/* pages, from the end events inside */
	const char *compaction; /* outcome of the last zone, "" for none */
	int priority;		/* the lowest priority that reclaim reached, if has_priority */
	bool has_priority;
	struct stall_counts counts;
	uint64_t memcg_id; /* inode number of the cgroup that was reclaimed; 0: unknown */
	uint32_t stack;	   /* number of the first stack inside; 0: none */
	unsigned int nr_windows;
	unsigned int nr_events;
	struct log_entry *windows;   /* see stall_next_window() */
	struct log_entry *off_times; /* see stall_next_off_cpu() */
	const struct runs *runs;
	struct phases phases;
	/* outcomes of all zones in order, "" for none: "partial_skipped x2, success" */
	char outcomes[STALL_OUTCOMES_MAX];
	char nodes[STALL_NODES_MAX]; /* nodes that reclaim took pages from, "" for none: "0,2-3" */
};

/*
 * A memory wait that ended, whatever its time: psi_memstall_enter() to psi_memstall_leave(). Or, at the end
 * of the run, one whose end was not recorded, although nothing was lost and no record of its task tells that
 * it is over: no stall is made of that, and its time is no more than a bound. One of no time whose reason is
 * ROLE_OOM_KILLER is an OOM kill of the task. One of ROLE_REFAULT_NOT_IN_PSI, which the kernel does not count, is
 * a stall or within one, and one of ROLE_IO neither that nor a memory wait.
 */
struct memory_wait {
	struct task_key key;
	int tid;
	const char *name; /* of the task; NULL: to be looked up */
	uint64_t start;	  /* ns, trace clock */
	uint64_t end;
	int role;	  /* enum role: the reason */
	bool is_part;	  /* it was in progress when the run began */
	bool in_progress; /* when the run ended, which is its end here */
};

/* A slow window of a stall, or a slow pair; starts with all zeros. */
struct stall_window {
	uint64_t start; /* ns, trace clock */
	uint64_t end;
	int role; /* enum role, or ROLE_NONE */
	bool is_pair;
	/*
	 * begin and end of a pair; fields of events are not set, here and below. Without raw data
	 * for one that was not recorded: LACKS_PART.
	 */
	struct record begin;
	struct record exit; /* of a window or pair */
	uint64_t shrinker;  /* of a slab pair */
	uint64_t callback;  /* the same; of a memory wait its caller */
	struct log_entry *entry;
	struct log_entry *next_event;
};

/**
 * stall_next_window - the next slow window or pair of a stall, in the order in which they ended
 *
 * Returns false after the last one. Valid as long as the stall is.
 */
bool stall_next_window(const struct stall *stall, struct stall_window *window);

/* A time off the CPU inside a stall. */
struct stall_off_cpu {
	struct log_entry *entry; /* NULL before the first one */
	uint64_t left;		 /* ns */
	uint64_t woken;		 /* from here on it waited for a CPU */
	uint64_t came;
	enum phase_state state; /* until it was woken */
	size_t nr_runners;
	struct stall_slice runners[STALL_SLICES_MAX]; /* while it waited, most time first */
};

/** stall_next_off_cpu - the next one that has both its switches, in order of time; false after the last */
bool stall_next_off_cpu(const struct stall *stall, struct stall_off_cpu *off_cpu);

/** stall_next_event - the next event that the window owns, in order of time; false: no more */
bool stall_next_event(struct stall_window *window, struct record *event);

/* A stall with its names, as the outputs and the summary show it. */

#define STALL_FUNCTION_MAX 96

struct named_stall {
	const struct stall *stall;
	const char *name; /* of the task: any bytes */
	const struct task_info *task_info;
	bool background;      /* no task waited for it: of a kernel thread, or work on purpose */
	bool on_purpose;      /* somebody asked for the reclaim or the compaction */
	const char *function; /* if it was looked up already; see stall_function() */
	const char *memcg;    /* path of the cgroup that was reclaimed, "" if unknown */
	const char *limit;    /* path of the cgroup whose limit it was, "" if unknown or none */
	const char *asked_by; /* "write(2)", "page fault"; NULL if unknown */
	struct resolver *resolver; /* for the function where that is NULL, and shrinkers */
};

/**
 * stall_function - "__alloc_pages", or the role's title for a pair
 * @text: room for a name that has to be looked up
 */
const char *stall_function(const struct named_stall *named, char text[STALL_FUNCTION_MAX]);

#endif
