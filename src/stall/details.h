/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_DETAILS_H
#define ALLOCFILT_STALL_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "allocfilt/stall.h"

#define OUTCOMES_MAX   8	 /* of more in a span, those before the last two are folded */
#define OUTCOME_FOLDED INT32_MIN /* some, of any kind */

/* Compactions of a zone that ended in the same way one after the other. */
struct outcome {
	SLIST_ENTRY(outcome) link; /* in details.outcomes */
	uint64_t ts;		   /* ns: of the first */
	int32_t status;
	uint32_t count;
};

SLIST_HEAD(outcome_list, outcome);

/*
 * Details of a span from the events inside: order, gfp flags, pages reclaimed, outcomes. The names of
 * flags and outcomes differ between kernels, so they are cut from the event's text, once for each
 * value. Starts with all zeros.
 *
 * @outcomes: a pool of struct outcome for all spans: few have any, and there are many spans.
 */

struct details {
	uint64_t request_at;   /* ts of the event with order and gfp; 0: none */
	uint64_t nr_reclaimed; /* pages */
	uint64_t memcg_id;
	uint64_t stack_at; /* ts of the stack; 0: none */
	uint64_t nodes;	   /* a bit each; the last one is of all from 63 on */
	uint32_t stack;	   /* number of the stack */
	uint32_t gfp;
	int order;
	int priority; /* the lowest */
	bool has_reclaimed;
	bool has_priority;
	bool incomplete;     /* events are missing: nothing can be counted */
	bool lacks_outcomes; /* there was no room for some */
	struct stall_counts counts;
	struct outcome_list outcomes; /* in order of time */
};

#define DETAIL_NAMES_MAX 64

struct value_name {
	uint64_t value;
	uint64_t last_use; /* of value_names.uses */
	char text[160];
};

/* Starts with all zeros; the least recently used name makes room. */
struct value_names {
	struct value_name names[DETAIL_NAMES_MAX];
	size_t count;
	uint64_t uses;
};

struct detail_names {
	const struct plan *plan;
	struct resolver *resolver; /* prints an event's text */
	struct value_names gfp;
	struct value_names status;
};

/** details_event - note the details that an event carries */
void details_event(struct details *details, struct pool *outcomes, struct detail_names *names,
		   const struct record *record);

/**
 * details_merge - add the details of a part; of order, gfp and stack the earliest counts
 *
 * Takes the outcomes of the part.
 */
void details_merge(struct details *details, struct pool *outcomes, struct details *part);

/** details_release - return all outcomes of a span to the pool */
void details_release(struct details *details, struct pool *outcomes);

/**
 * details_emit - set the members of a stall that come from events, as far as they are known
 *
 * Returns how many details a limit dropped: names of values that were evicted, and the outcomes.
 */
unsigned int details_emit(const struct details *details, struct detail_names *names,
			  struct stall *stall);

#endif
