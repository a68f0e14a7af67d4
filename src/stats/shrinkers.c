// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/names/shrinkers.h"
#include "allocfilt/stats/shrinkers.h"

struct shrinkers {
	struct ranking *callbacks;
	struct ranking *superblocks;
	struct shrinker_total *by_number[SHRINKER_NAMES_MAX]; /* of superblocks, modulo that */
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
}

static void count_run(struct ranking *ranking, struct shrinker_total *total, uint64_t callback,
		      uint64_t ns)
{
	total->callback = callback;
	total->count++;
	if (ns > total->max)
		total->max = ns;
	ranking_spend(ranking, total, ns);
}

void shrinkers_pair(struct shrinkers *shrinkers, uint64_t callback, int superblock, uint64_t ns)
{
	count_run(shrinkers->callbacks, ranking_enter(shrinkers->callbacks, callback, ""), callback,
		  ns);
	if (superblock >= 0) {
		struct shrinker_total **of = &shrinkers->by_number[superblock % SHRINKER_NAMES_MAX];

		if (!*of)
			*of = ranking_enter(shrinkers->superblocks, (uint64_t)superblock, "");
		else if ((*of)->ranked.id != (uint64_t)superblock)
			ranking_replace(shrinkers->superblocks, *of, (uint64_t)superblock, "");
		count_run(shrinkers->superblocks, *of, callback, ns);
	}
}

const struct shrinker_total *shrinkers_at(const struct shrinkers *shrinkers, size_t rank)
{
	return ranking_at(shrinkers->callbacks, rank);
}

const struct shrinker_total *shrinkers_superblock(const struct shrinkers *shrinkers, size_t rank)
{
	return ranking_at(shrinkers->superblocks, rank);
}

uint64_t shrinkers_overflow(const struct shrinkers *shrinkers)
{
	return ranking_evicted(shrinkers->callbacks);
}
