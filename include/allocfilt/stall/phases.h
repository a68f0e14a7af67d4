/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_PHASES_H
#define ALLOCFILT_STALL_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/plan/catalog.h"

/*
 * Phases: where the time of a stall went. Each nanosecond is counted once, for the innermost window
 * or pair around it that was recorded, so that the phases add up to the duration of the stall.
 */

struct phases {
	unsigned int groups; /* bits: the others have no time, and most stalls have one or two */
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

	return ns[STATE_RUNNING] + ns[STATE_WAITED] + ns[STATE_BLOCKED] + ns[STATE_SLEPT] +
	       ns[STATE_OFF] + ns[STATE_UNKNOWN];
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

/** phases_parts - how many parts of a group may have time: all, or PART_ITSELF alone */
static inline int phases_parts(enum phase_group group)
{
	return phases_is_reclaim(group) ? PHASE_PARTS : PART_ITSELF + 1;
}

/** phases_spend - add time to a state of a part of a group */
static inline void phases_spend(struct phases *phases, enum phase_group group, enum phase_part part,
				enum phase_state state, uint64_t ns)
{
	if ((int)part >= phases_parts(group))
		part = PART_ITSELF;
	phases->groups |= 1u << group;
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

#endif
