// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/catalog.h"
#include "allocfilt/told.h"

const char *told_role(const struct namer *namer, int role)
{
	if (role < 0)
		return NULL;
	if (role < ROLE_COUNT)
		return catalog_roles[role].title;
	return namer->role ? namer->role(namer->context, role) : NULL;
}

void told_shrinker(const struct namer *namer, uint64_t shrinker, uint64_t callback, char *text,
		   size_t size)
{
	const char *label = namer->shrinker ? namer->shrinker(namer->context, shrinker) : NULL;
	size_t used;

	namer->symbol(namer->context, callback, 's', text, size);
	used = strlen(text);
	if (label)
		snprintf(text + used, size - used, "[%s]", label);
}

size_t told_frames(const struct namer *namer, const struct stall *stall,
		   const uint64_t **ret_frames)
{
	if (!stall->stack || !namer->stack)
		return 0;
	return namer->stack(namer->context, stall->stack, ret_frames);
}

static const struct stall_shrinker *largest_of(const struct stall_shrinker *shrinkers,
					       size_t nr_shrinkers, enum phase_group group)
{
	for (size_t i = 0; i < nr_shrinkers; i++)
		if (shrinkers[i].group == group)
			return &shrinkers[i];
	return NULL;
}

void told_source(const struct namer *namer, const struct phases *phases,
		 const struct stall_shrinker *shrinkers, size_t nr_shrinkers, char *text,
		 size_t size)
{
	enum phase_group group;
	enum phase_part part;
	const struct stall_shrinker *shrinker;
	char name[TOLD_NAME_MAX + 64];

	phases_largest(phases, &group, &part);
	shrinker = part == PART_SLAB ? largest_of(shrinkers, nr_shrinkers, group) : NULL;
	if (shrinker) {
		told_shrinker(namer, shrinker->shrinker, shrinker->callback, name, sizeof(name));
		snprintf(text, size, "%s: slab: %s", phase_group_titles[group], name);
	} else if (group == PHASE_REST) {
		snprintf(text, size, "no slow reclaim or compaction: most likely other tasks on the CPU, or many short runs");
	} else if (part == PART_OWN) {
		snprintf(text, size, "%s", phase_group_titles[group]);
	} else {
		snprintf(text, size, "%s: %s", phase_group_titles[group], phase_part_titles[part]);
	}
}
