// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "allocfilt/catalog.h"
#include "allocfilt/pieces.h"

struct pieces {
	struct link unused;
	uint64_t overflow;
	struct piece pool[];
};

struct pieces *pieces_new(size_t count)
{
	struct pieces *pieces = calloc(1, sizeof(*pieces) + count * sizeof(pieces->pool[0]));

	if (!pieces)
		return NULL;
	list_init(&pieces->unused);
	for (size_t i = 0; i < count; i++)
		list_append(&pieces->unused, &pieces->pool[i].link);
	return pieces;
}

void pieces_free(struct pieces *pieces)
{
	free(pieces);
}

uint64_t pieces_overflow(const struct pieces *pieces)
{
	return pieces->overflow;
}

/* Reclaim whose kind is not known yet is of the kind that is found around it. */
static void tag_reclaim(struct piece *piece, enum phase_group group)
{
	if (piece->group == PHASE_REST || piece->group == PHASE_OTHER_RECLAIM)
		piece->group = group;
}

static void tag_part(struct piece *piece, enum phase_part part)
{
	if (piece->group != PHASE_REST && piece->group != PHASE_OTHER_RECLAIM)
		return;
	piece->group = PHASE_OTHER_RECLAIM;
	if (piece->part == PART_OWN)
		piece->part = part;
}

static void tag_unknown(struct piece *piece, enum phase_group group)
{
	if (piece->group == PHASE_REST)
		piece->group = group;
}

void pieces_tag(struct piece *piece, int role)
{
	static const struct {
		void (*tag)(struct piece *piece, enum phase_group group);
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
		groups[role].tag(piece, groups[role].group);
	else if (parts[role] != PART_OWN)
		tag_part(piece, parts[role]);
}

static struct piece *find(struct link *list, const struct piece *like, uint64_t shrinker)
{
	for (struct link *link = list->next; link != list; link = link->next) {
		struct piece *piece = list_entry(link, struct piece, link);

		if (piece->group == like->group && piece->part == like->part &&
		    piece->shrinker == shrinker && (!shrinker || piece->callback == like->callback))
			return piece;
	}
	return NULL;
}

static struct piece *take(struct pieces *pieces, struct link *list, const struct piece *like)
{
	struct piece *piece;

	if (list_empty(&pieces->unused)) {
		pieces->overflow++;
		return find(list, like, 0);
	}
	piece = list_entry(pieces->unused.next, struct piece, link);
	list_remove(&piece->link);
	*piece = *like;
	piece->ns = 0;
	piece->count = 0;
	list_append(list, &piece->link);
	return piece;
}

void pieces_put(struct pieces *pieces, struct link *list, const struct piece *like)
{
	struct piece *piece = find(list, like, like->shrinker);

	if (!piece)
		piece = take(pieces, list, like);
	if (!piece)
		return;
	piece->ns += like->ns;
	piece->count += like->count;
}

void pieces_release(struct pieces *pieces, struct link *list)
{
	while (!list_empty(list)) {
		struct link *link = list->next;

		list_remove(link);
		list_append(&pieces->unused, link);
	}
}
