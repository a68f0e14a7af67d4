/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_SHRINKERS_H
#define ALLOCFILT_SHRINKERS_H

#include <stddef.h>
#include <stdint.h>

#include "shrinker_names.h"
#include "task.h"

/*
 * Total and maximum latency of each shrinker, over all slab pairs, slow or not: by callback, and
 * by superblock where one callback serves them all.
 */

struct shrinker_total {
	uint64_t callback;	/* address of its scan function */
	uint64_t total;		/* ns */
	uint64_t max;		/* ns */
	uint64_t count;
};

struct shrinkers;

/**
 * shrinkers_new - nothing is allocated later
 * @size: callbacks that have a total of their own, at least 1
 *
 * Returns NULL with errno ENOMEM.
 */
struct shrinkers *shrinkers_new(size_t size);
void shrinkers_free(struct shrinkers *shrinkers);

/** shrinkers_pair - count a slab pair */
void shrinkers_pair(struct shrinkers *shrinkers, const struct task_pair *pair);

/** shrinkers_superblock - count a slab pair of a superblock once more, by its number */
void shrinkers_superblock(struct shrinkers *shrinkers, const struct task_pair *pair,
			  int superblock);

/**
 * shrinkers_sorted - most total time first; equal times by address
 *
 * The array is valid until the next pair. Returns how many.
 */
size_t shrinkers_sorted(struct shrinkers *shrinkers, const struct shrinker_total **ret_totals);

/** shrinkers_all - in no order, for who must not wait for sorting or memory; returns how many */
size_t shrinkers_all(const struct shrinkers *shrinkers, const struct shrinker_total **ret_totals);

/** shrinkers_of_superblock - by its number, below SHRINKER_NAMES_MAX; count 0: nothing ran */
const struct shrinker_total *shrinkers_of_superblock(const struct shrinkers *shrinkers,
						     int superblock);

struct superblock_total {
	int superblock;			/* as shrinker_names_superblock() gave it */
	struct shrinker_total total;
};

/**
 * shrinkers_superblocks - those of one callback, most total time first; equal times by number
 *
 * The array is valid until the next pair. Returns how many.
 */
size_t shrinkers_superblocks(struct shrinkers *shrinkers, uint64_t callback,
			     const struct superblock_total **ret_totals);

/** shrinkers_overflow - pairs of shrinkers that found no place in the table */
uint64_t shrinkers_overflow(const struct shrinkers *shrinkers);

#endif
