// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "allocfilt/stall.h"

size_t stall_frames(struct resolver *resolver, const struct stall *stall,
		    const uint64_t **ret_frames)
{
	return stall->stack ? resolver_stack(resolver, stall->stack, ret_frames) : 0;
}

void stall_source(struct resolver *resolver, const struct phases *phases,
		  const struct stall_shrinker *shrinkers, size_t nr_shrinkers, char *text,
		  size_t size)
{
	const char *group_title, *part_title;
	enum phase_group group;
	enum phase_part part;
	char name[STALL_FUNCTION_MAX + 64];

	phases_largest(phases, &group, &part);
	group_title = phase_group_names[group].title;
	part_title = phase_part_names[part].title;
	if (group == PHASE_REST) {
		snprintf(
			text, size,
			"no slow reclaim or compaction: most likely other tasks on the CPU, or many short runs");
		return;
	}
	/* The first shrinker of a group is the one that took most. */
	for (size_t i = 0; part == PART_SLAB && i < nr_shrinkers; i++) {
		if (shrinkers[i].group != group)
			continue;
		resolver_shrinker(resolver, shrinkers[i].shrinker, shrinkers[i].callback, name,
				  sizeof(name));
		snprintf(text, size, "%s: slab: %s", group_title, name);
		return;
	}
	if (part == PART_OWN)
		snprintf(text, size, "%s", group_title);
	else
		snprintf(text, size, "%s: %s", group_title, part_title);
}
