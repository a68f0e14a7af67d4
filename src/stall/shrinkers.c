// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "allocfilt/stall.h"

struct shrinkers {
	struct shrinker_total totals[SHRINKERS_MAX];
	size_t nr_totals;
	uint64_t overflow;
	struct shrinker_total superblocks[SHRINKER_NAMES_MAX]; /* by number */
	struct superblock_total sorted[SHRINKER_NAMES_MAX];    /* of one callback */
};

struct shrinkers *shrinkers_new(void)
{
	return calloc(1, sizeof(struct shrinkers));
}

void shrinkers_free(struct shrinkers *shrinkers)
{
	free(shrinkers);
}

static void count_pair(struct shrinker_total *total, const struct task_pair *pair)
{
	total->callback = pair->begin->fields.callback;
	total->count++;
	total->total += pair->duration;
	if (pair->duration > total->max)
		total->max = pair->duration;
}

void shrinkers_pair(struct shrinkers *shrinkers, const struct task_pair *pair, int superblock)
{
	struct shrinker_total *total = shrinkers->totals;
	struct shrinker_total *end = total + shrinkers->nr_totals;

	if (superblock >= 0 && superblock < SHRINKER_NAMES_MAX)
		count_pair(&shrinkers->superblocks[superblock], pair);
	while (total < end && total->callback != pair->begin->fields.callback)
		total++;
	if (total == end && shrinkers->nr_totals == SHRINKERS_MAX) {
		shrinkers->overflow++;
		return;
	}
	if (total == end)
		shrinkers->nr_totals++;
	count_pair(total, pair);
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
	qsort(shrinkers->totals, shrinkers->nr_totals, sizeof(shrinkers->totals[0]), by_total);
	*ret_totals = shrinkers->totals;
	return shrinkers->nr_totals;
}

size_t shrinkers_all(const struct shrinkers *shrinkers, const struct shrinker_total **ret_totals)
{
	*ret_totals = shrinkers->totals;
	return shrinkers->nr_totals;
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

	if (a->total.total != b->total.total)
		return a->total.total < b->total.total ? 1 : -1;
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
			sorted[count++] = (struct superblock_total){ i, shrinkers->superblocks[i] };
	qsort(sorted, count, sizeof(*sorted), superblock_by_total);
	*ret_totals = sorted;
	return count;
}

uint64_t shrinkers_overflow(const struct shrinkers *shrinkers)
{
	return shrinkers->overflow;
}
