/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PHASES_H
#define ALLOCFILT_PHASES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where the time of a stall went. Each nanosecond stands in one place, that of the innermost slow
 * run around it, so that the places add up to the whole.
 */

/* For whom or why; what is below PHASE_REST is named, the rest is what no slow run explains. */
enum phase_group {
	PHASE_DIRECT_RECLAIM,
	PHASE_MEMCG_RECLAIM,
	PHASE_NODE_RECLAIM,
	PHASE_OTHER_RECLAIM,	/* inside none of these: kswapd, drop_caches, … */
	PHASE_COMPACTION,
	PHASE_MEMORY_HIGH,	/* own time of the function: its sleep, mostly */
	PHASE_REST,
	PHASE_GROUPS,
};

/* What reclaim did; compaction, memory.high and the rest have only their own time. */
enum phase_part {
	PART_OWN,		/* of the group, in none of the following */
	PART_SLAB,
	PART_INACTIVE_LIST,
	PART_ACTIVE_LIST,
	PART_THROTTLE,
	PART_SOFT_LIMIT,	/* own time of soft limit reclaim */
	PHASE_PARTS,
};

struct phases {
	uint64_t ns[PHASE_GROUPS][PHASE_PARTS];
};

/** phases_group - time of a group with all its parts */
uint64_t phases_group(const struct phases *phases, enum phase_group group);

/** phases_total - the whole */
uint64_t phases_total(const struct phases *phases);

/** phases_add - add @more to @phases */
void phases_add(struct phases *phases, const struct phases *more);

/** phases_is_reclaim - has this group parts? */
int phases_is_reclaim(enum phase_group group);

/**
 * phases_largest - the place that took most, the rest counted last among equals
 *
 * Returns its time; 0, and the rest, where all are 0.
 */
uint64_t phases_largest(const struct phases *phases, enum phase_group *ret_group,
			enum phase_part *ret_part);

/* For people ("direct reclaim") and for programs ("direct_reclaim"). */
extern const char *const phase_group_titles[PHASE_GROUPS];
extern const char *const phase_part_titles[PHASE_PARTS];
extern const char *const phase_group_keys[PHASE_GROUPS];
extern const char *const phase_part_keys[PHASE_PARTS];

#endif
