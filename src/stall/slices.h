/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_SLICES_H
#define ALLOCFILT_STALL_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"

/*
 * Shares of the time of a span, from a fixed pool. What a share is of is known step by step: slab
 * when shrink_slab() ends, direct reclaim when the window around that ends. Until then its group is
 * PHASE_REST (nothing known) or PHASE_OTHER_RECLAIM (reclaim of some kind).
 */

struct slice {
	struct link link;  /* of a span's list */
	uint64_t shrinker; /* struct shrinker *; 0: none */
	uint64_t callback;
	uint64_t ns;
	uint32_t count; /* pairs of the shrinker */
	uint8_t group;	/* enum phase_group */
	uint8_t part;	/* enum phase_part */
};

struct slices;

/** slices_new - @count slices; NULL with errno ENOMEM */
struct slices *slices_new(size_t count);
void slices_free(struct slices *slices);

/**
 * slices_tag - what a share becomes inside a run of this role (enum role, or ROLE_NONE)
 *
 * A share that is known already stays what it is: the innermost run counts.
 */
void slices_tag(struct slice *slice, int role);

/**
 * slices_put - add a share to a list, to the equal one where there is one
 *
 * Without room it goes to a share of the list that has no shrinker, or is left out (then the sum
 * is less than the whole); slices_overflow() counts that.
 */
void slices_put(struct slices *slices, struct link *list, const struct slice *slice);

/** slices_release - give all of a list back to the pool */
void slices_release(struct slices *slices, struct link *list);

uint64_t slices_overflow(const struct slices *slices);

#endif
