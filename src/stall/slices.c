// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "stall/slices.h"

struct slices {
	struct slice_list unused;
	struct slice pool[];
};

struct slices *slices_new(size_t count)
{
	struct slices *slices = calloc(1, sizeof(*slices) + count * sizeof(slices->pool[0]));

	if (!slices)
		return NULL;
	TAILQ_INIT(&slices->unused);
	for (size_t i = 0; i < count; i++)
		TAILQ_INSERT_TAIL(&slices->unused, &slices->pool[i], link);
	return slices;
}

void slices_free(struct slices *slices)
{
	free(slices);
}

void slices_tag(struct slice *slice, int role)
{
	const struct catalog_role *around;

	if (role < 0 || role >= ROLE_COUNT)
		return;
	around = &catalog_roles[role];
	if (slice->group == PHASE_REST) {
		slice->group = around->group;
		slice->part = around->part;
	} else if (slice->group == PHASE_OTHER_RECLAIM && phases_is_reclaim(around->group)) {
		slice->group = around->group;
		if (slice->part == PART_OWN)
			slice->part = around->part;
	}
}

static struct slice *find(struct slice_list *list, const struct slice *like, uint64_t shrinker)
{
	struct slice *slice;

	TAILQ_FOREACH(slice, list, link)
		if (slice->group == like->group && slice->part == like->part &&
		    slice->shrinker == shrinker && (!shrinker || slice->callback == like->callback))
			break;
	return slice;
}

bool slices_put(struct slices *slices, struct slice_list *list, const struct slice *like)
{
	struct slice *slice = find(list, like, like->shrinker);
	bool full = !slice && TAILQ_EMPTY(&slices->unused);

	if (full)
		slice = find(list, like, 0);
	if (slice) {
		slice->ns += like->ns;
		slice->count += like->count;
	} else if (!full) {
		slice = TAILQ_FIRST(&slices->unused);
		TAILQ_REMOVE(&slices->unused, slice, link);
		*slice = *like;
		TAILQ_INSERT_TAIL(list, slice, link);
	}
	return !full;
}

void slices_release(struct slices *slices, struct slice_list *list)
{
	TAILQ_CONCAT(&slices->unused, list, link);
}
