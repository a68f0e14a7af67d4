/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_DETAILS_H
#define ALLOCFILT_STALL_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/stall/stall.h"

#define DETAILS_OUTCOMES     8
#define DETAILS_OUTCOME_NAME 32

/* Compactions of a zone that ended in the same way one after the other. */
struct outcome {
	int32_t status;
	uint32_t count;
	char name[DETAILS_OUTCOME_NAME];
};

/*
 * Details of a stall from the events inside: order, gfp flags, pages reclaimed, outcomes. Events come
 * the latest first. The names of flags and outcomes differ between kernels: each event's format has
 * them. Starts with all zeros but for the stall, whose members events set.
 */
struct details {
	struct stall *stall;
	char gfp_names[STALL_GFP_MAX];
	uint64_t nodes; /* a bit each; the last one is of all from 63 on */
	struct outcome outcomes[DETAILS_OUTCOMES]; /* the latest first */
	unsigned int nr_outcomes;
	uint32_t more_outcomes; /* before these, of any kind */
};

/** details_event - note the details of an event that is earlier than those noted before */
void details_event(struct details *details, const struct plan *plan, struct resolver *resolver,
		   const struct record *record);

/** details_slab - the same of a run of a shrinker, by the fields of its begin; negative: unknown */
void details_slab(struct details *details, int nid, int priority);

/**
 * details_end - after the last event
 * @whole: no event is missing, so that sums are right
 *
 * The stall points into @details from then on.
 */
void details_end(const struct details *details, bool whole);

#endif
