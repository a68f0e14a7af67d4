// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "allocfilt/plan.h"
#include "stall/slices.h"

struct slices {
	struct link unused;
	uint64_t overflow;
	struct slice pool[];
};

struct slices *slices_new(size_t count)
{
	struct slices *slices = calloc(1, sizeof(*slices) + count * sizeof(slices->pool[0]));

	if (!slices)
		return NULL;
	list_init(&slices->unused);
	for (size_t i = 0; i < count; i++)
		list_append(&slices->unused, &slices->pool[i].link);
	return slices;
}

void slices_free(struct slices *slices)
{
	free(slices);
}

uint64_t slices_overflow(const struct slices *slices)
{
	return slices->overflow;
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

static struct slice *find(struct link *list, const struct slice *like, uint64_t shrinker)
{
	for (struct link *link = list->next; link != list; link = link->next) {
		struct slice *slice = list_entry(link, struct slice, link);

		if (slice->group == like->group && slice->part == like->part &&
		    slice->shrinker == shrinker && (!shrinker || slice->callback == like->callback))
			return slice;
	}
	return NULL;
}

static struct slice *take(struct slices *slices, struct link *list, const struct slice *like)
{
	struct slice *slice;

	if (list_empty(&slices->unused)) {
		slices->overflow++;
		return find(list, like, 0);
	}
	slice = list_entry(slices->unused.next, struct slice, link);
	list_remove(&slice->link);
	*slice = *like;
	slice->ns = 0;
	slice->count = 0;
	list_append(list, &slice->link);
	return slice;
}

void slices_put(struct slices *slices, struct link *list, const struct slice *like)
{
	struct slice *slice = find(list, like, like->shrinker);

	if (!slice)
		slice = take(slices, list, like);
	if (!slice)
		return;
	slice->ns += like->ns;
	slice->count += like->count;
}

void slices_release(struct slices *slices, struct link *list)
{
	while (!list_empty(list)) {
		struct link *link = list->next;

		list_remove(link);
		list_append(&slices->unused, link);
	}
}
