// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/held.h"

#include <errno.h>
#include <stdlib.h>

struct held_record {
	TAILQ_ENTRY(held_record) link; /* in a list */
	TAILQ_ENTRY(held_record) age;  /* in held.oldest */
	struct held_list *list;
	uint64_t number; /* of its window or pair, whose records stand together */
	struct stored_record stored;
};

struct held {
	struct held_record *records;
	struct payloads *payloads; /* of records */
	size_t nr_records;
	struct pool pool;	      /* of records */
	struct held_list oldest;      /* of all lists */
	const struct record **passed; /* the records of a window or pair */
};

struct held *held_new(const struct plan *plan, const struct limits *limits)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held)
		return NULL;
	/* The two sides of a pair are not in the limit. */
	held->nr_records = limits->events + 2;
	held->records = calloc(held->nr_records, sizeof(*held->records));
	held->payloads = payloads_new(claims_payload_bytes(plan, limits));
	held->passed = calloc(held->nr_records, sizeof(const struct record *));
	pool_init(&held->pool, held->records, sizeof(*held->records), held->nr_records);
	TAILQ_INIT(&held->oldest);
	if (held->records && held->payloads && held->passed)
		return held;
	held_free(held);
	errno = ENOMEM;
	return NULL;
}

void held_free(struct held *held)
{
	if (!held)
		return;
	free(held->passed);
	payloads_free(held->payloads);
	free(held->records);
	free(held);
}

static void drop_record(struct held *held, struct held_record *record)
{
	TAILQ_REMOVE(record->list, record, link);
	TAILQ_REMOVE(&held->oldest, record, age);
	record_store_release(&record->stored, held->payloads);
	pool_put(&held->pool, record);
}

void held_drop(struct held *held, struct held_list *list, uint64_t first, uint64_t last)
{
	struct held_record *record = TAILQ_FIRST(list), *next;

	for (; record && record->number <= last; record = next) {
		next = TAILQ_NEXT(record, link);
		if (record->number >= first)
			drop_record(held, record);
	}
}

/* Drops the window or pair of a record. Returns false if that is the one that needs the room. */
static bool make_room(struct held *held, struct held_record *victim, uint64_t number)
{
	uint64_t dropped = victim->number;

	held_drop(held, victim->list, dropped, dropped);
	return dropped != number;
}

/* Returns false where not even the whole room is enough: then nothing is held of this number. */
static bool hold(struct held *held, struct held_list *list, uint64_t number,
		 const struct record *const *records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct held_record *record;

		while (!(record = pool_take(&held->pool)))
			if (!make_room(held, TAILQ_FIRST(&held->oldest), number))
				return false;
		record->list = list;
		record->number = number;
		TAILQ_INSERT_TAIL(list, record, link);
		TAILQ_INSERT_TAIL(&held->oldest, record, age);
		while (record_store(&record->stored, records[i], held->payloads))
			if (!make_room(held,
				       container_of(payloads_oldest(held->payloads),
						    struct held_record, stored),
				       number))
				return false;
	}
	return true;
}

void held_window(struct held *held, struct held_list *list, uint64_t number,
		 const struct task_window *window)
{
	if (hold(held, list, number, window->events, window->nr_events))
		hold(held, list, number, &window->exit, 1);
}

void held_pair(struct held *held, struct held_list *list, uint64_t number,
	       const struct task_pair *pair)
{
	if (hold(held, list, number, &pair->begin, 1) &&
	    hold(held, list, number, pair->events, pair->nr_events))
		hold(held, list, number, &pair->end, 1);
}

static int pass_one(const struct record *const *records, size_t count, struct task_key key,
		    const struct claims_sink *sink)
{
	const struct record *last = records[count - 1];
	struct task_window window = {
		.key = key,
		.exit = last,
		.slow = true,
		.events = records,
		.nr_events = count - 1,
	};
	struct task_pair pair = {
		.key = key,
		.begin = records[0],
		.end = last,
		.duration = last->ts - records[0]->ts,
		.slow = true,
		.events = records + 1,
		.nr_events = count - 2,
	};

	return last->kind == RECORD_WINDOW ? sink->window(sink->context, &window) :
					     sink->pair(sink->context, &pair);
}

int held_pass_on(struct held *held, const struct held_list *list, struct task_key key,
		 uint64_t first, uint64_t last, const struct claims_sink *sink, size_t *passed)
{
	const struct held_record *record = TAILQ_FIRST(list);
	int ret = 0;

	while (record && record->number < first)
		record = TAILQ_NEXT(record, link);
	while (!ret && record && record->number <= last) {
		uint64_t number = record->number;
		size_t count = 0;

		for (; record && record->number == number; record = TAILQ_NEXT(record, link))
			held->passed[count++] = &record->stored.record;
		ret = pass_one(held->passed, count, key, sink);
		(*passed)++;
	}
	return ret;
}
