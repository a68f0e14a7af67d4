// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/names/shrinkers.h"
#include "allocfilt/stats/shrinkers.h"

struct shrinkers {
	struct ranking *callbacks;
	struct ranking *superblocks;
	struct shrinker_total *by_number[SHRINKER_NAMES_MAX]; /* of superblocks */
	struct shrinker_total others;			      /* callbacks without an entry */
};

struct shrinkers *shrinkers_new(void)
{
	struct shrinkers *shrinkers = calloc(1, sizeof(*shrinkers));

	if (!shrinkers)
		return NULL;
	shrinkers->callbacks = ranking_new(SHRINKERS_MAX, sizeof(struct shrinker_total), 1);
	shrinkers->superblocks = ranking_new(SHRINKER_NAMES_MAX, sizeof(struct shrinker_total), 1);
	if (shrinkers->callbacks && shrinkers->superblocks)
		return shrinkers;
	shrinkers_free(shrinkers);
	errno = ENOMEM;
	return NULL;
}

void shrinkers_free(struct shrinkers *shrinkers)
{
	if (!shrinkers)
		return;
	ranking_free(shrinkers->callbacks);
	ranking_free(shrinkers->superblocks);
	free(shrinkers);
}

void shrinkers_reset(struct shrinkers *shrinkers)
{
	ranking_reset(shrinkers->callbacks);
	ranking_reset(shrinkers->superblocks);
	memset(shrinkers->by_number, 0, sizeof(shrinkers->by_number));
	shrinkers->others = (struct shrinker_total){ .count = 0 };
}

static void count_run(struct shrinker_total *total, uint64_t ns)
{
	total->count++;
	if (ns > total->max)
		total->max = ns;
}

static void count_ranked(struct ranking *ranking, struct shrinker_total *total, uint64_t callback,
			 uint64_t ns)
{
	total->callback = callback;
	count_run(total, ns);
	ranking_spend(ranking, total, ns);
}

void shrinkers_pair(struct shrinkers *shrinkers, uint64_t callback, int superblock, uint64_t ns)
{
	struct shrinker_total *total =
		ranking_join(shrinkers->callbacks, callback, "", SHRINKERS_MAX);

	if (superblock >= 0 && superblock < SHRINKER_NAMES_MAX) {
		struct shrinker_total **of = &shrinkers->by_number[superblock];

		if (!*of)
			*of = ranking_enter(shrinkers->superblocks, (uint64_t)superblock, "");
		count_ranked(shrinkers->superblocks, *of, callback, ns);
	}
	if (total) {
		count_ranked(shrinkers->callbacks, total, callback, ns);
	} else {
		count_run(&shrinkers->others, ns);
		shrinkers->others.ranked.total += ns;
	}
}

/* The total of the others comes after the last entry. */
static const struct shrinker_total *or_others(const struct shrinkers *shrinkers,
					      const struct shrinker_total *total, size_t place)
{
	if (total || place != ranking_count(shrinkers->callbacks) || !shrinkers->others.count)
		return total;
	return &shrinkers->others;
}

const struct shrinker_total *shrinkers_at(const struct shrinkers *shrinkers, size_t rank)
{
	return or_others(shrinkers, ranking_at(shrinkers->callbacks, rank), rank);
}

const struct shrinker_total *shrinkers_series(const struct shrinkers *shrinkers, size_t place)
{
	return or_others(shrinkers, ranking_joined(shrinkers->callbacks, place), place);
}

const struct shrinker_total *shrinkers_of_superblock(const struct shrinkers *shrinkers,
						     int superblock)
{
	return shrinkers->by_number[superblock];
}

const struct shrinker_total *shrinkers_next_superblock(const struct shrinkers *shrinkers,
						       uint64_t callback, size_t *rank)
{
	const struct shrinker_total *total;

	do {
		total = ranking_at(shrinkers->superblocks, (*rank)++);
	} while (total && total->callback != callback);
	return total;
}

uint64_t shrinkers_overflow(const struct shrinkers *shrinkers)
{
	return shrinkers->others.count;
}
