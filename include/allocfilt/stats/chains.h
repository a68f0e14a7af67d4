/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_CHAINS_H
#define ALLOCFILT_STATS_CHAINS_H

#include "allocfilt/base/hash.h"
#include "allocfilt/stall/stall.h"

/*
 * The causes of many stalls as one tree, for flame graphs: the callers, the outermost function, the
 * phase, its part, the shrinker, the state. The time of a step contains the time of the steps below it.
 */

#define CHAIN_NAME_MAX 160
#define CHAIN_OTHERS   "[others]" /* tasks with least time */

struct chain_step {
	struct hash_link link;
	uint64_t ns;
	struct chain_step *below; /* the first one */
	struct chain_step *next;  /* its sibling below the same step */
	char name[CHAIN_NAME_MAX];
};

struct chains;

/** chains_new - allocate a table of at most @most steps with the root; NULL if there is no memory */
struct chains *chains_new(size_t most);
void chains_free(struct chains *chains);

/**
 * chains_stall - count a stall
 * @callers: begin with the task and its kernel stack down to the outermost function
 *
 * If the table is full, tasks with least time become one, CHAIN_OTHERS, with their causes. Where that gives
 * no room a chain ends early, and its time is in the steps that it has.
 */
void chains_stall(struct chains *chains, const struct named_stall *named, bool callers);

/**
 * chains_sorted - the root, with most time first below each step and equal times by name
 *
 * Valid until a stall is counted. The root has the time of all stalls, and no name.
 */
const struct chain_step *chains_sorted(struct chains *chains);

/** chains_dropped - tasks that became one, and times that a chain ended early */
uint64_t chains_dropped(const struct chains *chains);

#endif
