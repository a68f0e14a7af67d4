/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PIECES_H
#define ALLOCFILT_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "phases.h"

/*
 * Shares of the time of a span, from a fixed pool. What a share is of is known step by step: slab
 * when shrink_slab() ends, direct reclaim when the window around that ends. Until then its group is
 * PHASE_REST (nothing known) or PHASE_OTHER_RECLAIM (reclaim of some kind).
 */

struct piece {
	struct link link;	/* of a span's list */
	uint64_t shrinker;	/* struct shrinker *; 0: none */
	uint64_t callback;
	uint64_t ns;
	uint32_t count;		/* pairs of the shrinker */
	uint8_t group;		/* enum phase_group */
	uint8_t part;		/* enum phase_part */
};

struct pieces;

/** pieces_new - @count pieces; NULL with errno ENOMEM */
struct pieces *pieces_new(size_t count);
void pieces_free(struct pieces *pieces);

/**
 * pieces_tag - what a share becomes inside a run of this role (enum role, or ROLE_NONE)
 *
 * A share that is known already stays what it is: the innermost run counts.
 */
void pieces_tag(struct piece *piece, int role);

/**
 * pieces_put - add a share to a list, to the equal one where there is one
 *
 * Without room it goes to a share of the list that has no shrinker, or is left out (then the sum
 * is less than the whole); pieces_overflow() counts that.
 */
void pieces_put(struct pieces *pieces, struct link *list, const struct piece *piece);

/** pieces_release - give all of a list back to the pool */
void pieces_release(struct pieces *pieces, struct link *list);

uint64_t pieces_overflow(const struct pieces *pieces);

#endif
