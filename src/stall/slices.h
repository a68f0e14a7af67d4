/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_SLICES_H
#define ALLOCFILT_STALL_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/stall.h"

/*
 * Slices of the time of a span, from a fixed pool. The phase of a slice becomes known step by step:
 * the part when shrink_slab() ends, the group when the direct reclaim around it ends. Until then the
 * group is PHASE_REST (nothing known) or PHASE_OTHER_RECLAIM (reclaim of some kind).
 */

struct slice {
	TAILQ_ENTRY(slice) link; /* in a span's list */
	uint64_t shrinker;	 /* struct shrinker *; 0: none */
	uint64_t callback;
	uint64_t ns;
	uint32_t count; /* pairs of the shrinker */
	enum phase_group group;
	enum phase_part part;
};

TAILQ_HEAD(slice_list, slice);

struct slices {
	struct slice_list unused;
	struct slice pool[STALLS_SLICES_MAX];
};

/** slices_init - all slices are unused */
void slices_init(struct slices *slices);

/**
 * slices_tag - refine the phase of a slice inside a run of this role (enum role, or ROLE_NONE)
 *
 * A phase already known stays: the innermost run counts.
 */
void slices_tag(struct slice *slice, int role);

/**
 * slices_put - add a copy of a slice to a list, or its time to the equal slice of the list
 *
 * If the pool is used up, the time is added to a slice of the list without a shrinker, or is left
 * out, so that the list sums up to less than the span. Returns false in both cases.
 */
bool slices_put(struct slices *slices, struct slice_list *list, const struct slice *slice);

/** slices_release - return all slices of a list to the pool */
void slices_release(struct slices *slices, struct slice_list *list);

#endif
