/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_DETAILS_H
#define ALLOCFILT_STALL_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/plan.h"
#include "allocfilt/record.h"

/*
 * What events say about the run that contains them: order, gfp flags, pages reclaimed, outcome.
 * Names of flags and outcomes differ from kernel to kernel, so they are cut from the event's text,
 * once for each value.
 */

struct details {
	uint64_t asked_at; /* ts of the event that order and gfp are of; 0: none */
	int order;
	uint64_t gfp;
	bool has_reclaimed;
	uint64_t nr_reclaimed; /* pages */
	uint64_t compacted_at; /* ts of the event that status is of; 0: none */
	int status;
	uint64_t memcg_id;
	uint64_t stack_at; /* ts of the stack; 0: none */
	uint32_t stack;	   /* its number */
	unsigned int nr_events;
};

struct detail_names;

/**
 * detail_names_new - NULL with errno ENOMEM
 * @event: an event's text, "name: fields"; returns the length
 */
struct detail_names *detail_names_new(const struct plan *plan,
				      size_t (*event)(void *context, const struct record *record,
						      char *text, size_t size),
				      void *context);
void detail_names_free(struct detail_names *names);

/** details_event - note what an event says */
void details_event(struct details *details, struct detail_names *names,
		   const struct record *record);

/** details_merge - add those of a part of the run; of order, gfp and stack the earliest counts */
void details_merge(struct details *details, const struct details *part);

/**
 * detail_names_gfp, detail_names_status - the name of a value that an event had
 *
 * Valid until the next event; NULL where the name has made room for others.
 */
const char *detail_names_gfp(struct detail_names *names, uint64_t gfp);
const char *detail_names_status(struct detail_names *names, int status);

#endif
