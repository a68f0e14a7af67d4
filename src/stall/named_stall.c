// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/plan.h"
#include "allocfilt/stall.h"

size_t stall_frames(struct resolver *resolver, const struct stall *stall,
		    const uint64_t **ret_frames)
{
	return stall->stack ? resolver_stack(resolver, stall->stack, ret_frames) : 0;
}

static const struct stall_shrinker *largest_of(const struct stall_shrinker *shrinkers,
					       size_t nr_shrinkers, enum phase_group group)
{
	for (size_t i = 0; i < nr_shrinkers; i++)
		if (shrinkers[i].group == group)
			return &shrinkers[i];
	return NULL;
}

void stall_source(struct resolver *resolver, const struct phases *phases,
		  const struct stall_shrinker *shrinkers, size_t nr_shrinkers, char *text,
		  size_t size)
{
	enum phase_group group;
	enum phase_part part;
	const struct stall_shrinker *shrinker;
	char name[STALL_FUNCTION_MAX + 64];

	phases_largest(phases, &group, &part);
	shrinker = part == PART_SLAB ? largest_of(shrinkers, nr_shrinkers, group) : NULL;
	if (shrinker) {
		resolver_shrinker(resolver, shrinker->shrinker, shrinker->callback, name,
				  sizeof(name));
		snprintf(text, size, "%s: slab: %s", phase_group_names[group].title, name);
	} else if (group == PHASE_REST) {
		snprintf(
			text, size,
			"no slow reclaim or compaction: most likely other tasks on the CPU, or many short runs");
	} else if (part == PART_OWN) {
		snprintf(text, size, "%s", phase_group_names[group].title);
	} else {
		snprintf(text, size, "%s: %s", phase_group_names[group].title,
			 phase_part_names[part].title);
	}
}
