// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "allocfilt/stall.h"

uint64_t phases_group(const struct phases *phases, enum phase_group group)
{
	uint64_t ns = 0;

	for (int part = 0; part < PHASE_PARTS; part++)
		ns += phases->ns[group][part];
	return ns;
}

uint64_t phases_total(const struct phases *phases)
{
	uint64_t ns = 0;

	for (int group = 0; group < PHASE_GROUPS; group++)
		ns += phases_group(phases, group);
	return ns;
}

void phases_add(struct phases *phases, const struct phases *more)
{
	for (int group = 0; group < PHASE_GROUPS; group++)
		for (int part = 0; part < PHASE_PARTS; part++)
			phases->ns[group][part] += more->ns[group][part];
}

bool phases_is_reclaim(enum phase_group group)
{
	return group < PHASE_COMPACTION;
}

uint64_t phases_largest(const struct phases *phases, enum phase_group *ret_group,
			enum phase_part *ret_part)
{
	uint64_t largest = 0;

	*ret_group = PHASE_REST;
	*ret_part = PART_OWN;
	for (int group = 0; group < PHASE_GROUPS; group++) {
		for (int part = 0; part < PHASE_PARTS; part++) {
			if (phases->ns[group][part] <= largest)
				continue;
			largest = phases->ns[group][part];
			*ret_group = group;
			*ret_part = part;
		}
	}
	return largest;
}

const struct stall_shrinker *stall_top_shrinker(const struct stall *stall, enum phase_group group)
{
	for (size_t i = 0; i < stall->nr_shrinkers; i++)
		if (stall->shrinkers[i].group == group)
			return &stall->shrinkers[i];
	return NULL;
}

void stall_source(struct resolver *resolver, const struct stall *stall, char text[STALL_SOURCE_MAX])
{
	const struct stall_shrinker *shrinker;
	const char *group_title, *part_title;
	enum phase_group group;
	enum phase_part part;
	char name[STALL_FUNCTION_MAX + 64];

	phases_largest(&stall->phases, &group, &part);
	group_title = phase_group_names[group].title;
	part_title = phase_part_names[part].title;
	shrinker = part == PART_SLAB ? stall_top_shrinker(stall, group) : NULL;
	if (group == PHASE_REST) {
		snprintf(
			text, STALL_SOURCE_MAX,
			"no slow reclaim or compaction: most likely other tasks on the CPU, or many short runs");
	} else if (shrinker) {
		resolver_shrinker(resolver, shrinker->shrinker, shrinker->callback, name,
				  sizeof(name));
		snprintf(text, STALL_SOURCE_MAX, "%s: slab: %s", group_title, name);
	} else if (part == PART_OWN) {
		snprintf(text, STALL_SOURCE_MAX, "%s", group_title);
	} else {
		snprintf(text, STALL_SOURCE_MAX, "%s: %s", group_title, part_title);
	}
}
