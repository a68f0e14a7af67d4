/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CATALOG_H
#define ALLOCFILT_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The tables of what is traced: functions by role with the names that they have had, events with
 * the roles that own them. Facts only; what this kernel has of it is the plan.
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
	ROLE_SLAB,
	ROLE_ACTIVE_LIST,
	ROLE_INACTIVE_LIST,
	ROLE_GENERATIONS,	/* evict_folios: the inactive list's work in the multi-gen LRU */
	ROLE_RECLAIM_THROTTLE,
	ROLE_ZONE_COMPACTION,
	ROLE_DIRECT_COMPACTION,
	ROLE_COUNT,
};

#define ROLE_BIT(role) (1u << (role))

#define CATALOG_NAMES_MAX 5

struct catalog_role {
	const char *title;				/* "page allocation" */
	const char *names[CATALOG_NAMES_MAX];		/* first that exists; NULL ends */
	enum role stands_in;	/* not missed where that role has a function; ROLE_NONE: missed */
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
	EVENT_COUNT,
	EVENT_USER = EVENT_COUNT,	/* asked for with -e */
};

enum event_side { EVENT_SINGLE, EVENT_BEGIN, EVENT_END };

struct catalog_event {
	const char *system;
	const char *name;
	enum event_side side;
	enum event_id partner;	/* of a begin its end and the other way round */
	uint32_t owners;	/* ROLE_BIT()s; 0: a pair, or any window */
	uint32_t owners_without;/* of these too where no function of needs can be traced */
	enum role needs;
	bool repeats;		/* the owner may write it several times in one call */
	bool any_window;	/* without an owner that can be traced: the innermost window */
};

extern const struct catalog_role catalog_roles[ROLE_COUNT];
extern const struct catalog_event catalog_events[EVENT_COUNT];

/**
 * catalog_role_of - role of a function by name, compiler suffix (.isra.0, .part.0, …) or not
 *
 * Returns ROLE_NONE for a name that no table knows.
 */
enum role catalog_role_of(const char *function);

/** catalog_name_matches - is @function @name, or @name with a compiler suffix? */
bool catalog_name_matches(const char *function, const char *name);

#endif
