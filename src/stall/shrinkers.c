// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stall.h"

struct entry {
	struct hash_link link; /* by callback */
	struct shrinker_total total;
};

struct table {
	struct hash hash;
	struct entry entries[SHRINKERS_MAX];
	size_t count;
};

struct shrinkers {
	struct table longest;	      /* by Space-Saving */
	struct table series;	      /* the first ones */
	struct shrinker_total others; /* than those of series */
	uint64_t overflow;
	struct shrinker_total superblocks[SHRINKER_NAMES_MAX]; /* by number */
	struct superblock_total sorted[SHRINKER_NAMES_MAX];    /* of one callback */
	struct shrinker_total totals[SHRINKERS_MAX];	       /* of longest, sorted */
};

static int table_init(struct table *table)
{
	return hash_init(&table->hash, &table->entries[0].link, sizeof(table->entries[0]),
			 SHRINKERS_MAX);
}

struct shrinkers *shrinkers_new(void)
{
	struct shrinkers *shrinkers = calloc(1, sizeof(*shrinkers));

	if (shrinkers && !table_init(&shrinkers->longest) && !table_init(&shrinkers->series))
		return shrinkers;
	shrinkers_free(shrinkers);
	errno = ENOMEM;
	return NULL;
}

void shrinkers_free(struct shrinkers *shrinkers)
{
	if (!shrinkers)
		return;
	hash_destroy(&shrinkers->longest.hash);
	hash_destroy(&shrinkers->series.hash);
	free(shrinkers);
}

static void table_reset(struct table *table)
{
	memset(table->entries, 0, table->count * sizeof(table->entries[0]));
	table->count = 0;
	hash_clear(&table->hash, &table->entries[0].link, SHRINKERS_MAX);
}

void shrinkers_reset(struct shrinkers *shrinkers)
{
	table_reset(&shrinkers->longest);
	table_reset(&shrinkers->series);
	shrinkers->others = (struct shrinker_total){ 0 };
	shrinkers->overflow = 0;
	memset(shrinkers->superblocks, 0, sizeof(shrinkers->superblocks));
}

static void count_run(struct shrinker_total *total, uint64_t callback, uint64_t ns)
{
	total->callback = callback;
	total->count++;
	total->total += ns;
	if (ns > total->max)
		total->max = ns;
}

/* Returns NULL in a full table without the callback. Entries are taken in the order of the array. */
static struct shrinker_total *find_or_add(struct table *table, uint64_t callback)
{
	struct hash_link *link = hash_peek(&table->hash, callback);

	if (!link && hash_is_full(&table->hash))
		return NULL;
	if (!link) {
		link = hash_insert(&table->hash, callback);
		table->count++;
	}
	return &container_of(link, struct entry, link)->total;
}

static struct shrinker_total *replace_least(struct table *table, uint64_t callback)
{
	struct entry *least = table->entries;
	uint64_t error;

	for (struct entry *entry = least; entry < table->entries + SHRINKERS_MAX; entry++)
		if (entry->total.total + entry->total.error <
		    least->total.total + least->total.error)
			least = entry;
	error = least->total.total + least->total.error;
	hash_remove(&table->hash, &least->link);
	least = container_of(hash_insert(&table->hash, callback), struct entry, link);
	least->total = (struct shrinker_total){ .error = error };
	return &least->total;
}

void shrinkers_pair(struct shrinkers *shrinkers, uint64_t callback, int superblock, uint64_t ns)
{
	struct shrinker_total *series = find_or_add(&shrinkers->series, callback);
	struct shrinker_total *total = find_or_add(&shrinkers->longest, callback);

	if (superblock >= 0 && superblock < SHRINKER_NAMES_MAX)
		count_run(&shrinkers->superblocks[superblock], callback, ns);
	if (!total) {
		total = replace_least(&shrinkers->longest, callback);
		shrinkers->overflow++;
	}
	count_run(total, callback, ns);
	if (series)
		count_run(series, callback, ns);
	else
		count_run(&shrinkers->others, 0, ns);
}

static int by_total(const void *left, const void *right)
{
	const struct shrinker_total *a = left;
	const struct shrinker_total *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return (a->callback > b->callback) - (a->callback < b->callback);
}

size_t shrinkers_sorted(struct shrinkers *shrinkers, const struct shrinker_total **ret_totals)
{
	const struct table *table = &shrinkers->longest;

	for (size_t i = 0; i < table->count; i++)
		shrinkers->totals[i] = table->entries[i].total;
	qsort(shrinkers->totals, table->count, sizeof(shrinkers->totals[0]), by_total);
	*ret_totals = shrinkers->totals;
	return table->count;
}

const struct shrinker_total *shrinkers_series(const struct shrinkers *shrinkers, size_t place)
{
	if (place < shrinkers->series.count)
		return &shrinkers->series.entries[place].total;
	return place == SHRINKERS_MAX && shrinkers->others.count ? &shrinkers->others : NULL;
}

const struct shrinker_total *shrinkers_of_superblock(const struct shrinkers *shrinkers,
						     int superblock)
{
	return &shrinkers->superblocks[superblock];
}

static int superblock_by_total(const void *left, const void *right)
{
	const struct superblock_total *a = left;
	const struct superblock_total *b = right;

	if (a->total->total != b->total->total)
		return a->total->total < b->total->total ? 1 : -1;
	return a->superblock - b->superblock;
}

size_t shrinkers_superblocks(struct shrinkers *shrinkers, uint64_t callback,
			     const struct superblock_total **ret_totals)
{
	struct superblock_total *sorted = shrinkers->sorted;
	size_t count = 0;

	for (int i = 0; i < SHRINKER_NAMES_MAX; i++)
		if (shrinkers->superblocks[i].count &&
		    shrinkers->superblocks[i].callback == callback)
			sorted[count++] =
				(struct superblock_total){ i, &shrinkers->superblocks[i] };
	qsort(sorted, count, sizeof(*sorted), superblock_by_total);
	*ret_totals = sorted;
	return count;
}

uint64_t shrinkers_overflow(const struct shrinkers *shrinkers)
{
	return shrinkers->overflow;
}
