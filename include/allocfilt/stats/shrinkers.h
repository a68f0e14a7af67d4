/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_SHRINKERS_H
#define ALLOCFILT_STATS_SHRINKERS_H

#include "allocfilt/stats/ranking.h"

/*
 * Total and maximum latency of each shrinker, over all slab pairs, slow or not: by callback, and by
 * superblock for the callback that all superblocks share. The total of a superblock goes when another one
 * has its place, and is in its callback's alone.
 */

#define SHRINKERS_MAX 256 /* callbacks: several times as many as a kernel has */

struct shrinker_total {
	struct ranked ranked; /* id: the address of the callback, or the number of the superblock */
	uint64_t callback;    /* address of its scan function */
	uint64_t max;	      /* ns */
	uint64_t count;
};

struct shrinkers;

/** shrinkers_new - allocate all that is needed; NULL with errno ENOMEM */
struct shrinkers *shrinkers_new(void);
void shrinkers_free(struct shrinkers *shrinkers);

/** shrinkers_reset - begin again with nothing counted; allocates nothing */
void shrinkers_reset(struct shrinkers *shrinkers);

/**
 * shrinkers_pair - count a slab pair
 * @superblock: its number, of shrinker_names_superblock(); -1: none
 */
void shrinkers_pair(struct shrinkers *shrinkers, uint64_t callback, int superblock, uint64_t ns);

/** shrinkers_at - most total time first, equal times by address; NULL after the last */
const struct shrinker_total *shrinkers_at(const struct shrinkers *shrinkers, size_t rank);

/** shrinkers_superblock - the same for superblocks, equal times by number */
const struct shrinker_total *shrinkers_superblock(const struct shrinkers *shrinkers, size_t rank);

/** shrinkers_overflow - callbacks that the full table evicted */
uint64_t shrinkers_overflow(const struct shrinkers *shrinkers);

#endif
