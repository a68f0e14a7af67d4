// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/text.h"
#include "allocfilt/stats/ranking.h"

struct ranking {
	size_t most;
	size_t size;
	size_t name_bytes;
	size_t count;
	uint64_t evicted;
	struct ranked **order; /* by rank */
	char *entries;	       /* in the order of their begin */
	char *names;
};

struct ranking *ranking_new(size_t most, size_t size, size_t name_bytes)
{
	size_t bytes = most * size, order = most * sizeof(struct ranked *);
	struct ranking *ranking = calloc(1, sizeof(*ranking) + bytes + order + most * name_bytes);

	if (!ranking)
		return NULL;
	ranking->most = most;
	ranking->size = size;
	ranking->name_bytes = name_bytes;
	ranking->order = (struct ranked **)(ranking + 1);
	ranking->entries = (char *)(ranking + 1) + order;
	ranking->names = ranking->entries + bytes;
	return ranking;
}

void ranking_free(struct ranking *ranking)
{
	free(ranking);
}

void ranking_reset(struct ranking *ranking)
{
	ranking->count = 0;
	ranking->evicted = 0;
}

static struct ranked *entry_at(const struct ranking *ranking, size_t place)
{
	return (struct ranked *)(ranking->entries + place * ranking->size);
}

static bool is_entry_of(const struct ranked *entry, uint64_t id, const char *name)
{
	return entry->id == id && *entry->name == *name && (!*name || !strcmp(entry->name, name));
}

/* The entry with most time is looked up most often, so the search begins with it. */
static struct ranked *ranking_find(const struct ranking *ranking, uint64_t id, const char *name)
{
	for (size_t rank = 0; rank < ranking->count; rank++)
		if (is_entry_of(ranking->order[rank], id, name))
			return ranking->order[rank];
	return NULL;
}

/* Begins an entry of the lowest rank. */
static struct ranked *begin_ranked(struct ranking *ranking, size_t place, uint64_t id,
				   const char *name)
{
	char *own_name = ranking->names + place * ranking->name_bytes;
	struct ranked *entry = entry_at(ranking, place);

	memset(entry, 0, ranking->size);
	text_append(own_name, ranking->name_bytes, 0, name);
	entry->id = id;
	entry->name = own_name;
	entry->rank = ranking->count;
	ranking->order[ranking->count++] = entry;
	return entry;
}

static uint64_t bound(const struct ranked *entry)
{
	return entry->total + entry->error;
}

void ranking_replace(struct ranking *ranking, void *replaced, uint64_t id, const char *name)
{
	struct ranked *entry = replaced;

	ranking->count--;
	for (size_t rank = entry->rank; rank < ranking->count; rank++) {
		ranking->order[rank] = ranking->order[rank + 1];
		ranking->order[rank]->rank = rank;
	}
	ranking->evicted += entry->total > 0;
	begin_ranked(ranking, ((char *)replaced - ranking->entries) / ranking->size, id, name);
}

static struct ranked *replace_least(struct ranking *ranking, uint64_t id, const char *name)
{
	size_t least = 0;
	struct ranked *entry;
	uint64_t error;

	for (size_t place = 1; place < ranking->count; place++)
		if (bound(entry_at(ranking, place)) < bound(entry_at(ranking, least)))
			least = place;
	entry = entry_at(ranking, least);
	error = bound(entry);
	ranking_replace(ranking, entry, id, name);
	entry->error = error;
	return entry;
}

void *ranking_enter_free(struct ranking *ranking, uint64_t id, const char *name)
{
	return ranking->count < ranking->most || ranking_find(ranking, id, name) ?
		       ranking_enter(ranking, id, name) :
		       NULL;
}

void *ranking_enter(struct ranking *ranking, uint64_t id, const char *name)
{
	struct ranked *entry = ranking_find(ranking, id, name);

	if (entry)
		return entry;
	return ranking->count < ranking->most ? begin_ranked(ranking, ranking->count, id, name) :
						replace_least(ranking, id, name);
}

static bool comes_before(const struct ranked *a, const struct ranked *b)
{
	int names;

	if (a->total != b->total)
		return a->total > b->total;
	names = strcmp(a->name, b->name);
	return names ? names < 0 : a->id < b->id;
}

void ranking_spend(struct ranking *ranking, void *spender, uint64_t ns)
{
	struct ranked *entry = spender;
	size_t rank = entry->rank;

	add_ns(&entry->total, ns);
	for (; rank && comes_before(entry, ranking->order[rank - 1]); rank--) {
		ranking->order[rank] = ranking->order[rank - 1];
		ranking->order[rank]->rank = rank;
	}
	ranking->order[rank] = entry;
	entry->rank = rank;
}

void *ranking_at(const struct ranking *ranking, size_t rank)
{
	return rank < ranking->count ? ranking->order[rank] : NULL;
}

size_t ranking_count(const struct ranking *ranking)
{
	return ranking->count;
}

uint64_t ranking_evicted(const struct ranking *ranking)
{
	return ranking->evicted;
}

static uint64_t time_at(const uint64_t *first, size_t stride, int index)
{
	return *(const uint64_t *)((const char *)first + (size_t)index * stride);
}

int ranking_next(const uint64_t *first, size_t stride, int count, int index)
{
	uint64_t limit = index < 0 ? UINT64_MAX : time_at(first, stride, index);
	int next = -1;

	for (int i = 0; i < count; i++) {
		uint64_t ns = time_at(first, stride, i);

		if (ns > limit || (ns == limit && i <= index))
			continue;
		if (next < 0 || ns > time_at(first, stride, next))
			next = i;
	}
	return next;
}
