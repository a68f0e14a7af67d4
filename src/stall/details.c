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
 * Puts an outcome in its place. Of too many, two become one: neighbours that are equal, without loss.
 * Else those before the last two, whose names are lost. The last one always has a name.
 */
static void add_outcome(struct details *details, struct pool *outcomes, struct outcome *outcome)
{
	struct outcome *at, *next, *before = NULL, *fold = NULL;
	unsigned int count = 1;

	SLIST_FOREACH(at, &details->outcomes, link) {
		if (at->ts <= outcome->ts)
			before = at;
		count++;
	}
	if (before)
		SLIST_INSERT_AFTER(before, outcome, link);
	else
		SLIST_INSERT_HEAD(&details->outcomes, outcome, link);
	if (count <= OUTCOMES_MAX)
		return;
	at = SLIST_FIRST(&details->outcomes);
	for (; (next = SLIST_NEXT(at, link)) && next->status != at->status; at = next)
		if (--count == 3)
			fold = at;
	if (!next) {
		at = fold;
		at->status = OUTCOME_FOLDED;
		next = SLIST_NEXT(at, link);
	}
	at->count += next->count;
	SLIST_REMOVE(&details->outcomes, next, outcome, link);
	pool_put(outcomes, next);
}

static void note_outcome(struct details *details, struct pool *outcomes,
			 const struct record *record)
{
	struct outcome *outcome = pool_take(outcomes);

	if (!outcome) {
		details->lacks_outcomes = true;
		return;
	}
	outcome->ts = record->ts;
	outcome->status = record->fields.status;
	outcome->count = 1;
	add_outcome(details, outcomes, outcome);
}

void details_event(struct details *details, struct pool *outcomes, struct detail_names *names,
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
		note_outcome(details, outcomes, record);
		note_name(names, &names->status, (uint64_t)record->fields.status, record,
			  " status=");
		break;
	default:
		break;
	}
}

void details_merge(struct details *details, struct pool *outcomes, struct details *part)
{
	struct outcome *outcome;

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
	details->lacks_outcomes |= part->lacks_outcomes;
	for (int which = 0; which < STALL_COUNTS; which++)
		if (part->counts.known & 1u << which)
			add_count(&details->counts, which, part->counts.count[which]);
	while ((outcome = SLIST_FIRST(&part->outcomes))) {
		SLIST_REMOVE_HEAD(&part->outcomes, link);
		add_outcome(details, outcomes, outcome);
	}
}

void details_release(struct details *details, struct pool *outcomes)
{
	struct outcome *outcome;

	while ((outcome = SLIST_FIRST(&details->outcomes))) {
		SLIST_REMOVE_HEAD(&details->outcomes, link);
		pool_put(outcomes, outcome);
	}
}

static const char *find_name(struct value_names *names, uint64_t value, unsigned int *evicted)
{
	const char *name = value_names_find(names, value);

	*evicted += !name;
	return name ? name : "";
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

static void print_outcomes(const struct outcome_list *list, struct value_names *names,
			   char text[STALL_OUTCOMES_MAX], unsigned int *evicted)
{
	const struct outcome *outcome, *next;
	size_t used = 0;

	for (outcome = SLIST_FIRST(list); outcome && used < STALL_OUTCOMES_MAX; outcome = next) {
		uint32_t count = outcome->count;

		while ((next = SLIST_NEXT(outcome, link)) && next->status == outcome->status) {
			outcome = next;
			count += outcome->count;
		}
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

unsigned int details_emit(const struct details *details, struct detail_names *names,
			  struct stall *stall)
{
	const struct outcome *outcome, *last = NULL;
	unsigned int dropped = details->lacks_outcomes;

	if (!details->lacks_outcomes)
		SLIST_FOREACH(outcome, &details->outcomes, link)
			last = outcome;
	if (details->request_at) {
		stall->order = details->order;
		stall->has_gfp = true;
		stall->gfp = details->gfp;
		stall->gfp_names = find_name(&names->gfp, details->gfp, &dropped);
	}
	if (last)
		stall->compaction = find_name(&names->status, (uint64_t)last->status, &dropped);
	stall->memcg_id = details->memcg_id;
	stall->stack = details->stack;
	print_nodes(details->nodes, stall->nodes);
	stall->has_priority = details->has_priority;
	stall->priority = details->priority;
	if (!details->incomplete) {
		stall->has_reclaimed = details->has_reclaimed;
		stall->nr_reclaimed = details->nr_reclaimed;
		stall->counts = details->counts;
		if (last)
			print_outcomes(&details->outcomes, &names->status, stall->outcomes,
				       &dropped);
	}
	return dropped;
}
