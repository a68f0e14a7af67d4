// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/slices.h"

void slices_init(struct slices *slices)
{
	TAILQ_INIT(&slices->unused);
	for (size_t i = 0; i < STALLS_SLICES_MAX; i++)
		TAILQ_INSERT_TAIL(&slices->unused, &slices->pool[i], link);
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
