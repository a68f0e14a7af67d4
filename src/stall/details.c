// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "stall/details.h"

#define EVENT_TEXT_MAX 1024

const char *value_names_find(struct value_names *names, uint64_t value)
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
	names->event(names->context, record, text, sizeof(text));
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

void details_event(struct details *details, struct detail_names *names, const struct record *record)
{
	details->nr_events++;
	if (record->fields.memcg_id)
		details->memcg_id = record->fields.memcg_id;
	if (record->stack.number && !details->stack_at) {
		details->stack_at = record->stack.ts;
		details->stack = record->stack.number;
	}
	switch (names->plan->events[record->event].id) {
	case EVENT_DIRECT_RECLAIM_BEGIN:
	case EVENT_MEMCG_RECLAIM_BEGIN:
	case EVENT_NODE_RECLAIM_BEGIN:
		note_request(details, names, record, "gfp_flags=");
		break;
	case EVENT_TRY_TO_COMPACT:
		note_request(details, names, record, "gfp_mask=");
		break;
	case EVENT_DIRECT_RECLAIM_END:
	case EVENT_MEMCG_RECLAIM_END:
	case EVENT_NODE_RECLAIM_END:
		details->has_reclaimed = true;
		details->nr_reclaimed += record->fields.nr_reclaimed;
		break;
	case EVENT_COMPACTION_END:
		note_name(names, &names->status, (uint64_t)record->fields.status, record,
			  " status=");
		if (details->compacted_at > record->ts)
			break;
		details->compacted_at = record->ts;
		details->status = record->fields.status;
		break;
	default:
		break;
	}
}

void details_merge(struct details *details, const struct details *part)
{
	details->nr_events += part->nr_events;
	if (part->request_at && (!details->request_at || part->request_at < details->request_at)) {
		details->request_at = part->request_at;
		details->order = part->order;
		details->gfp = part->gfp;
	}
	if (part->has_reclaimed)
		details->has_reclaimed = true;
	details->nr_reclaimed += part->nr_reclaimed;
	if (part->compacted_at > details->compacted_at) {
		details->compacted_at = part->compacted_at;
		details->status = part->status;
	}
	if (part->stack_at && (!details->stack_at || part->stack_at < details->stack_at)) {
		details->stack_at = part->stack_at;
		details->stack = part->stack;
	}
	if (!details->memcg_id)
		details->memcg_id = part->memcg_id;
}
