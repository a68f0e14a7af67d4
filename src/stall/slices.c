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

/* Reclaim whose kind is not known yet is of the kind that is found around it. */
static void tag_reclaim(struct slice *slice, enum phase_group group)
{
	if (slice->group == PHASE_REST || slice->group == PHASE_OTHER_RECLAIM)
		slice->group = group;
}

static void tag_part(struct slice *slice, enum phase_part part)
{
	if (slice->group != PHASE_REST && slice->group != PHASE_OTHER_RECLAIM)
		return;
	slice->group = PHASE_OTHER_RECLAIM;
	if (slice->part == PART_OWN)
		slice->part = part;
}

static void tag_unknown(struct slice *slice, enum phase_group group)
{
	if (slice->group == PHASE_REST)
		slice->group = group;
}

void slices_tag(struct slice *slice, int role)
{
	static const struct {
		void (*tag)(struct slice *slice, enum phase_group group);
		enum phase_group group;
	} groups[ROLE_COUNT] = {
		[ROLE_DIRECT_RECLAIM] = { tag_reclaim, PHASE_DIRECT_RECLAIM },
		[ROLE_MEMCG_RECLAIM] = { tag_reclaim, PHASE_MEMCG_RECLAIM },
		[ROLE_NODE_RECLAIM] = { tag_reclaim, PHASE_NODE_RECLAIM },
		[ROLE_NODE] = { tag_unknown, PHASE_OTHER_RECLAIM },
		[ROLE_LRUVEC] = { tag_unknown, PHASE_OTHER_RECLAIM },
		[ROLE_MEMORY_HIGH] = { tag_unknown, PHASE_MEMORY_HIGH },
		[ROLE_ZONE_COMPACTION] = { tag_unknown, PHASE_COMPACTION },
		[ROLE_DIRECT_COMPACTION] = { tag_unknown, PHASE_COMPACTION },
	};
	static const enum phase_part parts[ROLE_COUNT] = {
		[ROLE_SLAB] = PART_SLAB,
		[ROLE_ACTIVE_LIST] = PART_ACTIVE_LIST,
		[ROLE_INACTIVE_LIST] = PART_INACTIVE_LIST,
		[ROLE_GENERATIONS] = PART_INACTIVE_LIST,
		[ROLE_RECLAIM_THROTTLE] = PART_THROTTLE,
		[ROLE_DIRECT_THROTTLE] = PART_THROTTLE,
		[ROLE_SOFT_LIMIT] = PART_SOFT_LIMIT,
	};

	if (role < 0 || role >= ROLE_COUNT)
		return;
	if (groups[role].tag)
		groups[role].tag(slice, groups[role].group);
	else if (parts[role] != PART_OWN)
		tag_part(slice, parts[role]);
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
