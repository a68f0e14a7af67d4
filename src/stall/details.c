// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/details.h"

#include <inttypes.h>
#include <stdio.h>

#define LAST_NODE 63

static void note_request(struct details *details, struct resolver *resolver,
			 const struct record *record, const char *field)
{
	struct stall *stall = details->stall;

	resolver_event(resolver, record, field, details->gfp_names, sizeof(details->gfp_names));
	stall->has_gfp = true;
	stall->order = record->fields.order;
	stall->gfp = record->fields.gfp;
	if (record->fields.memcg_id)
		stall->memcg_id = record->fields.memcg_id;
}

static void add_count(struct stall_counts *counts, enum stall_count which, uint64_t count)
{
	counts->known |= 1u << which;
	counts->count[which] += count;
}

static void add_pages(struct stall_counts *counts, enum stall_count which, uint32_t pages)
{
	if (pages != RECORD_PAGES_UNKNOWN)
		add_count(counts, which, pages);
}

static void note_priority(struct stall *stall, int priority)
{
	if (priority < 0 || (stall->has_priority && stall->priority <= priority))
		return;
	stall->has_priority = true;
	stall->priority = priority;
}

static void note_node(struct details *details, int nid)
{
	if (nid >= 0)
		details->nodes |= 1ull << (nid < LAST_NODE ? nid : LAST_NODE);
}

static struct outcome *add_outcome(struct details *details, int32_t status)
{
	struct outcome *outcome = &details->outcomes[details->nr_outcomes];

	if (details->nr_outcomes && !details->more_outcomes && outcome[-1].status == status) {
		outcome[-1].count++;
		return NULL;
	}
	if (details->nr_outcomes == DETAILS_OUTCOMES) {
		details->more_outcomes++;
		return NULL;
	}
	details->nr_outcomes++;
	*outcome = (struct outcome){ .status = status, .count = 1 };
	return outcome;
}

static void note_inactive_list(struct details *details, const struct record_fields *fields)
{
	struct stall_counts *counts = &details->stall->counts;

	note_node(details, fields->nid);
	note_priority(details->stall, fields->priority);
	add_pages(counts, COUNT_SCANNED, fields->nr_scanned);
	if (fields->nr_scanned != RECORD_PAGES_UNKNOWN)
		add_count(counts, COUNT_RECLAIMED, fields->nr_reclaimed);
	add_pages(counts, COUNT_DIRTY, fields->nr_dirty);
	add_pages(counts, COUNT_WRITEBACK, fields->nr_writeback);
}

void details_event(struct details *details, const struct plan *plan, struct resolver *resolver,
		   const struct record *record)
{
	struct stall *stall = details->stall;
	struct outcome *outcome;

	if (record->stack.number)
		stall->stack = record->stack.number;
	switch (plan->events[record->event].id) {
	case EVENT_DIRECT_RECLAIM_BEGIN:
	case EVENT_MEMCG_RECLAIM_BEGIN:
		note_request(details, resolver, record, "gfp_flags");
		break;
	case EVENT_NODE_RECLAIM_BEGIN:
		note_node(details, record->fields.nid);
		note_request(details, resolver, record, "gfp_flags");
		break;
	case EVENT_TRY_TO_COMPACT:
		note_request(details, resolver, record, "gfp_mask");
		add_count(&stall->counts, COUNT_COMPACTIONS, 1);
		break;
	case EVENT_DIRECT_RECLAIM_END:
	case EVENT_MEMCG_RECLAIM_END:
	case EVENT_NODE_RECLAIM_END:
		stall->has_reclaimed = true;
		stall->nr_reclaimed += record->fields.nr_reclaimed;
		break;
	case EVENT_SHRINK_INACTIVE:
		note_inactive_list(details, &record->fields);
		break;
	case EVENT_THROTTLED:
		note_node(details, record->fields.nid);
		break;
	case EVENT_COMPACTION_END:
		outcome = add_outcome(details, record->fields.status);
		if (outcome)
			resolver_event(resolver, record, "status", outcome->name,
				       sizeof(outcome->name));
		break;
	default:
		break;
	}
}

void details_slab(struct details *details, int nid, int priority)
{
	note_node(details, nid);
	note_priority(details->stall, priority);
}

/* "0,2-3", as the kernel lists nodes; pairs make the longest text, which has room */
static void print_nodes(uint64_t nodes, char text[STALL_NODES_MAX])
{
	char *at = text;

	for (int node = 0; node <= LAST_NODE && nodes >> node; node++) {
		int first = node;

		if (!(nodes >> node & 1))
			continue;
		while (node + 1 < LAST_NODE && nodes >> (node + 1) & 1)
			node++;
		if (at > text)
			*at++ = ',';
		at = text_signed(at, first);
		if (node > first) {
			*at++ = '-';
			at = text_signed(at, node);
		}
		if (node == LAST_NODE)
			*at++ = '+';
	}
	*at = '\0';
}

/* "12 others, partial_skipped x2, success" */
static void print_outcomes(const struct details *details, char text[STALL_OUTCOMES_MAX])
{
	size_t used = 0;

	if (details->more_outcomes)
		used = snprintf(text, STALL_OUTCOMES_MAX, "%" PRIu32 " others",
				details->more_outcomes);
	for (unsigned int i = details->nr_outcomes; i-- && used < STALL_OUTCOMES_MAX;) {
		const struct outcome *outcome = &details->outcomes[i];

		used += snprintf(text + used, STALL_OUTCOMES_MAX - used, "%s%s", used ? ", " : "",
				 outcome->name);
		if (used < STALL_OUTCOMES_MAX && outcome->count > 1)
			used += snprintf(text + used, STALL_OUTCOMES_MAX - used, " x%" PRIu32,
					 outcome->count);
	}
}

void details_end(const struct details *details, bool whole)
{
	struct stall *stall = details->stall;

	stall->gfp_names = details->gfp_names;
	stall->compaction = details->nr_outcomes ? details->outcomes[0].name : "";
	print_nodes(details->nodes, stall->nodes);
	if (whole) {
		print_outcomes(details, stall->outcomes);
		return;
	}
	stall->has_reclaimed = false;
	stall->nr_reclaimed = 0;
	stall->counts = (struct stall_counts){ 0 };
}
