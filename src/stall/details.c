// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stall/details.h"

#define EVENT_TEXT_MAX 1024
#define LAST_NODE      63

/* Valid until the next event. Returns NULL if the name was evicted. */
static const char *value_names_find(struct value_names *names, uint64_t value)
{
	for (size_t i = 0; i < names->count; i++) {
		if (names->names[i].value != value)
			continue;
		names->names[i].last_use = ++names->uses;
		return names->names[i].text;
	}
	return NULL;
}

/* The name is the text after @key up to a space: "… gfp_flags=GFP_KERNEL …". */
static void note_name(struct detail_names *names, struct value_names *values, uint64_t value,
		      const struct record *record, const char *key)
{
	struct value_name *name = values->names;
	char text[EVENT_TEXT_MAX];
	const char *from;
	size_t length;

	if (value_names_find(values, value))
		return;
	if (values->count < DETAIL_NAMES_MAX)
		name = &values->names[values->count++];
	else
		for (size_t i = 1; i < DETAIL_NAMES_MAX; i++)
			if (values->names[i].last_use < name->last_use)
				name = &values->names[i];
	*name = (struct value_name){ .value = value, .last_use = ++values->uses };
	resolver_event(names->resolver, record, text, sizeof(text));
	from = strstr(text, key);
	if (!from)
		return;
	from += strlen(key);
	length = strcspn(from, " ");
	if (length >= sizeof(name->text))
		length = sizeof(name->text) - 1;
	memcpy(name->text, from, length);
}

static void note_request(struct details *details, struct detail_names *names,
			 const struct record *record, const char *key)
{
	note_name(names, &names->gfp, record->fields.gfp, record, key);
	if (details->request_at && details->request_at <= record->ts)
		return;
	details->request_at = record->ts;
	details->order = record->fields.order;
	details->gfp = record->fields.gfp;
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

static void note_priority(struct details *details, int priority)
{
	if (priority < 0 || (details->has_priority && details->priority <= priority))
		return;
	details->has_priority = true;
	details->priority = priority;
}

static void note_node(struct details *details, int nid)
{
	if (nid >= 0)
		details->nodes |= 1ull << (nid < LAST_NODE ? nid : LAST_NODE);
}

/*
 * Makes two of a full list one. Neighbours that are equal can be so without loss. Else those before
 * the last one, whose names are lost.
 */
static void fold_outcomes(struct outcomes *outcomes)
{
	size_t at = 1;

	while (at < outcomes->count && outcomes->list[at].status != outcomes->list[at - 1].status)
		at++;
	if (at == outcomes->count) {
		at = outcomes->count - 2;
		outcomes->list[at - 1].status = OUTCOME_FOLDED;
	}
	outcomes->list[at - 1].count += outcomes->list[at].count;
	outcomes->count--;
	memmove(&outcomes->list[at], &outcomes->list[at + 1],
		(outcomes->count - at) * sizeof(outcomes->list[0]));
}

static void add_outcome(struct outcomes *outcomes, const struct outcome *outcome)
{
	size_t at;

	if (outcomes->count == OUTCOMES_MAX)
		fold_outcomes(outcomes);
	for (at = outcomes->count++; at && outcomes->list[at - 1].ts > outcome->ts; at--)
		outcomes->list[at] = outcomes->list[at - 1];
	outcomes->list[at] = *outcome;
}

void details_event(struct details *details, struct outcomes *outcomes, struct detail_names *names,
		   const struct record *record)
{
	if (record->fields.memcg_id)
		details->memcg_id = record->fields.memcg_id;
	if (record->stack.number && !details->stack_at) {
		details->stack_at = record->stack.ts;
		details->stack = record->stack.number;
	}
	switch (names->plan->events[record->event].id) {
	case EVENT_DIRECT_RECLAIM_BEGIN:
	case EVENT_MEMCG_RECLAIM_BEGIN:
		note_request(details, names, record, "gfp_flags=");
		break;
	case EVENT_NODE_RECLAIM_BEGIN:
		note_node(details, record->fields.nid);
		note_request(details, names, record, "gfp_flags=");
		break;
	case EVENT_TRY_TO_COMPACT:
		note_request(details, names, record, "gfp_mask=");
		add_count(&details->counts, COUNT_COMPACTIONS, 1);
		break;
	case EVENT_DIRECT_RECLAIM_END:
	case EVENT_MEMCG_RECLAIM_END:
	case EVENT_NODE_RECLAIM_END:
		details->has_reclaimed = true;
		details->nr_reclaimed += record->fields.nr_reclaimed;
		break;
	case EVENT_SHRINK_INACTIVE:
		note_node(details, record->fields.nid);
		note_priority(details, record->fields.priority);
		add_pages(&details->counts, COUNT_SCANNED, record->fields.nr_scanned);
		if (record->fields.nr_scanned != RECORD_PAGES_UNKNOWN)
			add_count(&details->counts, COUNT_RECLAIMED, record->fields.nr_reclaimed);
		add_pages(&details->counts, COUNT_DIRTY, record->fields.nr_dirty);
		add_pages(&details->counts, COUNT_WRITEBACK, record->fields.nr_writeback);
		break;
	case EVENT_SLAB_START:
		note_node(details, record->fields.nid);
		note_priority(details, record->fields.priority);
		break;
	case EVENT_THROTTLED:
		note_node(details, record->fields.nid);
		break;
	case EVENT_COMPACTION_END:
		add_outcome(outcomes, &(struct outcome){ record->ts, record->fields.status, 1 });
		note_name(names, &names->status, (uint64_t)record->fields.status, record,
			  " status=");
		break;
	default:
		break;
	}
}

void details_merge(struct details *details, const struct details *part)
{
	if (part->request_at && (!details->request_at || part->request_at < details->request_at)) {
		details->request_at = part->request_at;
		details->order = part->order;
		details->gfp = part->gfp;
	}
	if (part->has_reclaimed)
		details->has_reclaimed = true;
	details->nr_reclaimed += part->nr_reclaimed;
	if (part->stack_at && (!details->stack_at || part->stack_at < details->stack_at)) {
		details->stack_at = part->stack_at;
		details->stack = part->stack;
	}
	if (!details->memcg_id)
		details->memcg_id = part->memcg_id;
	details->nodes |= part->nodes;
	if (part->has_priority)
		note_priority(details, part->priority);
	details->incomplete |= part->incomplete;
	for (int which = 0; which < STALL_COUNTS; which++)
		if (part->counts.known & 1u << which)
			add_count(&details->counts, which, part->counts.count[which]);
}

static const char *find_name(struct value_names *names, uint64_t value, unsigned int *evicted)
{
	const char *name = value_names_find(names, value);

	*evicted += !name;
	return name ? name : "";
}

/* "0,2-3", as the kernel lists nodes */
static void print_nodes(uint64_t nodes, char text[STALL_NODES_MAX])
{
	size_t used = 0;

	for (int node = 0; node <= LAST_NODE; node++) {
		int first = node;

		if (!(nodes >> node & 1))
			continue;
		while (node + 1 < LAST_NODE && nodes >> (node + 1) & 1)
			node++;
		used += snprintf(text + used, STALL_NODES_MAX - used, "%s%d", used ? "," : "",
				 first);
		if (node > first)
			used += snprintf(text + used, STALL_NODES_MAX - used, "-%d", node);
		if (node == LAST_NODE)
			snprintf(text + used, STALL_NODES_MAX - used, "+");
	}
}

static void print_outcomes(const struct outcome *list, size_t nr_outcomes,
			   struct value_names *names, char text[STALL_OUTCOMES_MAX],
			   unsigned int *evicted)
{
	size_t used = 0;

	for (size_t i = 0; i < nr_outcomes && used < STALL_OUTCOMES_MAX; i++) {
		const struct outcome *outcome = &list[i];
		uint32_t count = outcome->count;

		while (i + 1 < nr_outcomes && list[i + 1].status == outcome->status)
			count += list[++i].count;
		used += snprintf(text + used, STALL_OUTCOMES_MAX - used, "%s", used ? ", " : "");
		if (used >= STALL_OUTCOMES_MAX)
			return;
		if (outcome->status == OUTCOME_FOLDED) {
			used += snprintf(text + used, STALL_OUTCOMES_MAX - used,
					 "%" PRIu32 " others", count);
			continue;
		}
		used += snprintf(text + used, STALL_OUTCOMES_MAX - used, "%s",
				 find_name(names, (uint64_t)outcome->status, evicted));
		if (used < STALL_OUTCOMES_MAX && count > 1)
			used += snprintf(text + used, STALL_OUTCOMES_MAX - used, " x%" PRIu32,
					 count);
	}
}

unsigned int details_emit(const struct details *details, struct outcomes *outcomes,
			  struct detail_names *names, struct stall *stall)
{
	unsigned int evicted = 0;
	size_t nr_outcomes = 0;

	while (nr_outcomes < outcomes->count && outcomes->list[nr_outcomes].ts <= stall->end)
		nr_outcomes++;
	stall->order = -1;
	stall->gfp_names = "";
	if (details->request_at) {
		stall->order = details->order;
		stall->has_gfp = true;
		stall->gfp = details->gfp;
		stall->gfp_names = find_name(&names->gfp, details->gfp, &evicted);
	}
	stall->compaction = "";
	if (nr_outcomes)
		stall->compaction = find_name(
			&names->status, (uint64_t)outcomes->list[nr_outcomes - 1].status, &evicted);
	stall->memcg_id = details->memcg_id;
	stall->stack = details->stack;
	print_nodes(details->nodes, stall->nodes);
	stall->has_priority = details->has_priority;
	stall->priority = details->priority;
	if (!details->incomplete) {
		stall->has_reclaimed = details->has_reclaimed;
		stall->nr_reclaimed = details->nr_reclaimed;
		stall->counts = details->counts;
		print_outcomes(outcomes->list, nr_outcomes, &names->status, stall->outcomes,
			       &evicted);
	}
	outcomes->count -= nr_outcomes;
	memmove(outcomes->list, outcomes->list + nr_outcomes,
		outcomes->count * sizeof(outcomes->list[0]));
	return evicted;
}
