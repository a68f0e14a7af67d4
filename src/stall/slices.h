/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_SLICES_H
#define ALLOCFILT_STALL_SLICES_H

#include <stdbool.h>
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
	uint64_t shrinker;	 /* struct shrinker *; 0: none, or one of those without a name */
	uint64_t callback;
	uint64_t function; /* an address in the one that slept; 0: none, or one without a name */
	uint64_t ns;
	uint32_t count; /* pairs of the shrinker */
	uint8_t group;	/* enum phase_group */
	uint8_t part;	/* enum phase_part */
	uint8_t state;	/* enum phase_state */
	bool unnamed;	/* some of it lost the name of a shrinker or function for room */
};

/* No two slices of a list have phase, state, shrinker and function in common. */
TAILQ_HEAD(slice_list, slice);

struct slices {
	struct pool pool;
	size_t nr_unused;
	struct slice slices[STALLS_SLICES_MAX];
};

/** slices_init - all slices are unused */
void slices_init(struct slices *slices);

/**
 * slices_tag - refine the phase of a slice inside a run of this role (enum role, or ROLE_NONE)
 *
 * A phase already known stays: the innermost run counts.
 */
void slices_tag(struct slice *slice, const struct plan *plan, int role);

/** slices_take - an unused slice, in no list; there has to be one */
struct slice *slices_take(struct slices *slices);

/**
 * slices_add - put a slice that is in no list into one, or its time into the equal slice there
 *
 * Of more shrinkers and functions than STALL_SHRINKERS_MAX, or than three quarters of the pool have
 * room for, the one with least time loses its name: its time is in a slice without one.
 */
void slices_add(struct slices *slices, struct slice_list *list, struct slice *slice);

/** slices_pop - remove a slice from a list; NULL: the list is empty */
struct slice *slices_pop(struct slice_list *list);

/** slices_release - return all slices of a list to the pool */
void slices_release(struct slices *slices, struct slice_list *list);

#endif
