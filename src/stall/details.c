// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "stall/details.h"

#define NAMES_MAX      64
#define NAME_MAX_BYTES 160
#define EVENT_TEXT_MAX 1024

struct value_name {
	uint64_t value;
	uint64_t last_use; /* of value_names.uses */
	char text[NAME_MAX_BYTES];
};

struct value_names {
	struct value_name names[NAMES_MAX];
	size_t count;
	uint64_t uses;
};

struct detail_names {
	const struct plan *plan;
	size_t (*event)(void *context, const struct record *record, char *text, size_t size);
	void *context;
	struct value_names gfp;
	struct value_names status;
};

struct detail_names *detail_names_new(const struct plan *plan,
				      size_t (*event)(void *context, const struct record *record,
						      char *text, size_t size),
				      void *context)
{
	struct detail_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->plan = plan;
	names->event = event;
	names->context = context;
	return names;
}

void detail_names_free(struct detail_names *names)
{
	free(names);
}

static const char *name_of(struct value_names *names, uint64_t value)
{
	for (size_t i = 0; i < names->count; i++) {
		if (names->names[i].value != value)
			continue;
		names->names[i].last_use = ++names->uses;
		return names->names[i].text;
	}
	return NULL;
}

const char *detail_names_gfp(struct detail_names *names, uint64_t gfp)
{
	return name_of(&names->gfp, gfp);
}

const char *detail_names_status(struct detail_names *names, int status)
{
	return name_of(&names->status, (uint64_t)status);
}

/* The name is the text after @key up to a blank: "… gfp_flags=GFP_KERNEL …". */
static void note_name(struct detail_names *names, struct value_names *values, uint64_t value,
		      const struct record *record, const char *key)
{
	struct value_name *name = values->names;
	char text[EVENT_TEXT_MAX];
	const char *from;
	size_t length;

	if (name_of(values, value))
		return;
	if (values->count < NAMES_MAX)
		name = &values->names[values->count++];
	else
		for (size_t i = 1; i < NAMES_MAX; i++)
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
	if (details->asked_at && details->asked_at <= record->ts)
		return;
	details->asked_at = record->ts;
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
	if (part->asked_at && (!details->asked_at || part->asked_at < details->asked_at)) {
		details->asked_at = part->asked_at;
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
