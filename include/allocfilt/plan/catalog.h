/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PLAN_CATALOG_H
#define ALLOCFILT_PLAN_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The catalog: functions by role, with their names in all kernels, and events with the roles that own
 * them. The plan has the part that this kernel offers.
 */

enum role {
	ROLE_NONE = -1,
	ROLE_PAGE_ALLOCATION,
	ROLE_DIRECT_RECLAIM,
	ROLE_MEMCG_RECLAIM,
	ROLE_MEMORY_HIGH,
	ROLE_SOFT_LIMIT,
	ROLE_NODE,
	ROLE_NODE_RECLAIM,
	ROLE_DIRECT_THROTTLE,
	ROLE_LRUVEC,
	ROLE_LRUVEC_GENERATIONS, /* try_to_shrink_lruvec: the same in the multi-gen LRU */
	ROLE_SLAB,
	ROLE_ACTIVE_LIST,
	ROLE_INACTIVE_LIST,
	ROLE_GENERATIONS, /* evict_folios: the inactive list's work in the multi-gen LRU */
	ROLE_RECLAIM_THROTTLE,
	ROLE_ZONE_COMPACTION,
	ROLE_DIRECT_COMPACTION,
	ROLE_OOM_KILLER,
	ROLE_DRAIN,
	ROLE_SWAP_IN,
	ROLE_IO, /* sleeps for I/O, for a page that reclaim took or another one: see plan_has_refaults() */
	/* These have no function, and are timed by their pairs of events alone. */
	ROLE_REFAULT,		 /* waits for a page that reclaim took and that is read again */
	ROLE_REFAULT_READ,	 /* begins such a read of a file: counts as a refault */
	ROLE_REFAULT_NOT_IN_PSI, /* waits for a page that was not in use when reclaim took it */
	ROLE_WAIT, /* a memory wait for another reason, or for one that is not known */
	ROLE_SHRINKER,
	ROLE_COUNT,
};

/* Sets of roles are masks of 64 bits. */
#define ROLE_BIT(role) (1ull << (role))
_Static_assert(ROLE_COUNT <= 64, "a mask has a bit for each role");

#define CATALOG_NAMES_MAX 5

#define PROBE_SYSTEM "allocfilt" /* the group of our own dynamic events: see probe.h */

/*
 * The phases of a stall: the kind of reclaim or other work (the group), within reclaim its part, and
 * the state of the task meanwhile. PHASE_OUTSIDE is time outside of all windows of other traced
 * functions.
 */
enum phase_group {
	PHASE_DIRECT_RECLAIM,
	PHASE_MEMCG_RECLAIM,
	PHASE_NODE_RECLAIM,
	PHASE_OTHER_RECLAIM, /* inside none of these: kswapd, drop_caches, … */
	PHASE_COMPACTION,
	PHASE_MEMORY_HIGH, /* its sleep, mostly */
	PHASE_OOM,
	PHASE_DRAIN,
	PHASE_SWAP_IN,
	PHASE_REFAULT,
	PHASE_OUTSIDE,
	PHASE_GROUPS,
};

enum phase_part {
	PART_ITSELF, /* none of the following; the only part of a group other than reclaim */
	PART_SHRINKERS,
	PART_SHRINKER_LOOKUP, /* outside of shrinkers: looking for them, locks */
	PART_INACTIVE_LIST,
	PART_ACTIVE_LIST,
	PART_SHORT_SCANS, /* own time of one memcg's lists: functions inside were fast */
	PART_THROTTLED,
	PART_SOFT_LIMIT, /* own time of soft limit reclaim */
	PHASE_PARTS,
};

enum phase_state {
	STATE_RUNNING,
	STATE_WAITED,  /* for a CPU */
	STATE_BLOCKED, /* asleep, uninterruptible */
	STATE_SLEPT,   /* asleep otherwise */
	STATE_OFF,     /* off the CPU: only one of the two switches was recorded */
	STATE_UNKNOWN, /* as all time is without the scheduler's events; it is no cause */
	PHASE_STATES,
};

struct phase_name {
	const char *title; /* for people: "direct reclaim" */
	const char *key;   /* for programs: "direct_reclaim" */
};

extern const struct phase_name phase_group_names[PHASE_GROUPS];
extern const struct phase_name phase_part_names[PHASE_PARTS];
extern const struct phase_name phase_state_names[PHASE_STATES];

struct catalog_role {
	const char *title; /* "page allocation" */
	const char *key;   /* "page_allocation", for programs; roles of the same work share one */
	/*
	 * The phase of the own time of a window, outside of the windows in it. PHASE_OTHER_RECLAIM takes
	 * the kind of reclaim around it; PHASE_OUTSIDE belongs to no kind.
	 */
	enum phase_group group;
	enum phase_part part; /* see plan_part() */
	enum role
		substitute; /* a role that does the same work where this one has no function, or ROLE_NONE */
	const char *names[CATALOG_NAMES_MAX]; /* the first that exists is traced; NULL ends */
	/* The functions that begin the memory waits of which the role is the reason; NULL ends. */
	const char *waits_in[CATALOG_NAMES_MAX];
};

enum event_id {
	EVENT_DIRECT_RECLAIM_BEGIN,
	EVENT_DIRECT_RECLAIM_END,
	EVENT_MEMCG_RECLAIM_BEGIN,
	EVENT_MEMCG_RECLAIM_END,
	EVENT_SOFT_LIMIT_BEGIN,
	EVENT_SOFT_LIMIT_END,
	EVENT_NODE_RECLAIM_BEGIN,
	EVENT_NODE_RECLAIM_END,
	EVENT_COMPACTION_BEGIN,
	EVENT_COMPACTION_END,
	EVENT_TRY_TO_COMPACT,
	EVENT_THROTTLED,
	EVENT_SHRINK_INACTIVE,
	EVENT_SLAB_START,
	EVENT_SLAB_END,
	EVENT_WAIT_BEGIN, /* this and the next two events are probes of ours: probe.h */
	EVENT_WAIT_END,
	EVENT_REFAULT,
	EVENT_EXEC, /* this and the next two events tell which tasks are COMMAND's */
	EVENT_FORK,
	EVENT_EXIT,
	EVENT_SCHED_SWITCH,
	EVENT_SCHED_WAKEUP,
	EVENT_OOM_VICTIM,
	EVENT_COUNT,
	EVENT_USER = EVENT_COUNT, /* of -e */
};

/* Begin or end of a pair, or an event by itself. */
enum event_side { EVENT_SINGLE, EVENT_BEGIN, EVENT_END };

struct catalog_event {
	const char *system;
	const char *name;
	enum event_side side;
	enum event_id partner; /* of a begin its end and the other way round */
	uint64_t owners;       /* ROLE_BIT()s; 0: a pair, or any window */
	/*
	 * If no function of this role can be traced, owners_without are owners, too. ROLE_NONE:
	 * there is no such role.
	 */
	enum role needs;
	uint64_t owners_without;
	bool repeats;	 /* the owner may write it several times in one call */
	bool any_window; /* without an owner that can be traced: the innermost window */
	bool children;	 /* RULE_CHILDREN; but for EVENT_OOM_VICTIM only with COMMAND */
	bool off_cpu;	 /* of --off-cpu alone */
};

/*
 * The counts of an account. The kernel keeps each in a histogram trigger on an event
 * (Documentation/trace/histogram.rst), set in this order.
 */
enum histogram_id {
	HISTOGRAM_FORKS, /* this and the next tell the process and the name of a task that has ended */
	HISTOGRAM_EXITS,
	HISTOGRAM_KMALLOC,
	HISTOGRAM_KMALLOC_NODE, /* kmalloc() has two events before 6.1, and so has the next */
	HISTOGRAM_CACHE,
	HISTOGRAM_CACHE_NODE,
	HISTOGRAM_PAGES,
	HISTOGRAM_FALLBACKS, /* from pages of another migrate type */
	HISTOGRAM_REFILLS,   /* blocks of pages that a CPU's list gets from its zone */
	HISTOGRAM_DRAINS,    /* blocks of pages that the list gives back */
	HISTOGRAM_COUNT,
};

#define HISTOGRAM_BIT(id) (1u << (id))
#define HISTOGRAM_SITES                                                                            \
	(HISTOGRAM_BIT(HISTOGRAM_KMALLOC) | HISTOGRAM_BIT(HISTOGRAM_KMALLOC_NODE) |                \
	 HISTOGRAM_BIT(HISTOGRAM_CACHE) | HISTOGRAM_BIT(HISTOGRAM_CACHE_NODE))

#define HISTOGRAM_PREFIX "allocfilt_" /* of a trigger's name, the event's name follows */

struct catalog_histogram {
	const char *system;
	const char *event;
	const char *keys;
	const char *values; /* besides the count; NULL: none */
	const char *filter; /* NULL: none */
};

extern const struct catalog_role catalog_roles[ROLE_COUNT];
extern const struct catalog_event catalog_events[EVENT_COUNT];
extern const struct catalog_histogram catalog_histograms[HISTOGRAM_COUNT];

/**
 * catalog_role_of - role of a function by name, compiler suffix (.isra.0, .part.0, …) or not
 *
 * Returns ROLE_NONE for a name that no table knows.
 */
enum role catalog_role_of(const char *function);

/** catalog_wait_role - the reason of the memory waits that a function begins; ROLE_WAIT: it is not known */
enum role catalog_wait_role(const char *function);

/** catalog_role_title - "page allocation"; NULL for ROLE_NONE */
const char *catalog_role_title(enum role role);

/** catalog_role_key - "page_allocation"; "other" for ROLE_NONE */
const char *catalog_role_key(enum role role);

/**
 * catalog_pair_role - the role whose time a pair of events tells
 * @id: of its begin or its end
 *
 * Returns ROLE_NONE for any other event.
 */
enum role catalog_pair_role(enum event_id id);

/** catalog_name_matches - is @function @name, or @name with a compiler suffix? */
bool catalog_name_matches(const char *function, const char *name);

#endif
