/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_FACTS_H
#define ALLOCFILT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan.h"
#include "record.h"

/*
 * What events tell about the run that contains them: order, gfp flags, pages reclaimed, outcome.
 * Names of flags and outcomes differ from kernel to kernel, so they are cut from the event's text,
 * once for each value.
 */

struct facts {
	uint64_t asked_at;		/* ts of the event that order and gfp are of; 0: none */
	int order;
	uint64_t gfp;
	bool has_reclaimed;
	uint64_t nr_reclaimed;		/* pages */
	uint64_t compacted_at;		/* ts of the event that status is of; 0: none */
	int status;
	uint64_t memcg_id;
	uint64_t stack_at;		/* ts of the stack; 0: none */
	uint32_t stack;			/* its number */
	unsigned int nr_events;
};

struct fact_names;

struct fact_names_setup {
	const struct plan *plan;
	/* an event's text, "name: fields"; returns the length */
	size_t (*event)(void *context, const struct record *record, char *text, size_t size);
	void *context;
};

/** fact_names_new - NULL with errno ENOMEM */
struct fact_names *fact_names_new(const struct fact_names_setup *setup);
void fact_names_free(struct fact_names *names);

/** facts_event - note what an event tells */
void facts_event(struct facts *facts, struct fact_names *names, const struct record *record);

/** facts_merge - add what is known of a part of the run; of order and gfp the earliest counts */
void facts_merge(struct facts *facts, const struct facts *part);

/** fact_names_gfp, _status - "" for a value that no event had, or whose name made room */
const char *fact_names_gfp(struct fact_names *names, uint64_t gfp);
const char *fact_names_status(struct fact_names *names, int status);

/** fact_names_missed - times that a name was asked for and had made room */
uint64_t fact_names_missed(const struct fact_names *names);

#endif
