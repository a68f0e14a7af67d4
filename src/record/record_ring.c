// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "record/record_ring.h"

/* A record in a ring, followed by the words of its union that are not 0, its stack, its payload. */
struct held_record {
	uint64_t ts;
	int32_t tid;
	uint16_t words; /* bit n: the n-th is not 0 */
	uint16_t raw_size;
	uint16_t event;
	int16_t indent;
	uint8_t kind;
	uint8_t flags;
	bool has_stack;
};

#define UNION_OFFSET offsetof(struct record, window)
#define WORD	     sizeof(uint32_t)
#define WORDS_MAX    (sizeof(struct record_fields) / WORD)

_Static_assert(WORDS_MAX <= 16, "a bit for each word");
_Static_assert(sizeof(struct held_record) == 24, "or RECORD_RING_PAGE_FACTOR is too little");

/* Words of the union that a kind has; those after them may hold anything. */
static size_t words_of(const struct record *record)
{
	switch (record->kind) {
	case RECORD_WINDOW:
		return sizeof(record->window) / WORD;
	case RECORD_EVENT:
		return sizeof(record->fields) / WORD;
	case RECORD_LOST:
		return sizeof(record->lost) / WORD;
	case RECORD_CLOCK:
		return sizeof(record->realtime) / WORD;
	case RECORD_SUPERBLOCK:
		return sizeof(record->superblock) / WORD;
	case RECORD_SLEEP:
		return sizeof(record->sched) / WORD;
	default:
		return 0;
	}
}

static void describe(struct held_record *held, const struct record *record)
{
	uint32_t words[WORDS_MAX] = { 0 };
	size_t count = words_of(record);

	*held = (struct held_record){
		.ts = record->ts,
		.tid = record->tid,
		.raw_size = record->raw_size,
		.event = record->event,
		.indent = record->indent,
		.kind = record->kind,
		.flags = record->flags,
		.has_stack = record->stack.number || record->kind == RECORD_STACK,
	};
	memcpy(words, (const unsigned char *)record + UNION_OFFSET, count * WORD);
	for (size_t i = 0; i < count; i++)
		if (words[i])
			held->words |= (uint16_t)(1u << i);
}

static size_t held_bytes(const struct held_record *held)
{
	size_t bytes = sizeof(*held) + __builtin_popcount(held->words) * WORD;

	if (held->has_stack)
		bytes += sizeof(struct record_stack);
	bytes += held->raw_size;
	return (bytes + RECORD_RING_ALIGN - 1) / RECORD_RING_ALIGN * RECORD_RING_ALIGN;
}

static void hold(unsigned char *at, const struct held_record *held, const struct record *record)
{
	const unsigned char *words = (const unsigned char *)record + UNION_OFFSET;

	memcpy(at, held, sizeof(*held));
	at += sizeof(*held);
	for (size_t i = 0; i < WORDS_MAX; i++) {
		if (!(held->words & 1u << i))
			continue;
		memcpy(at, words + i * WORD, WORD);
		at += WORD;
	}
	if (held->has_stack) {
		memcpy(at, &record->stack, sizeof(record->stack));
		at += sizeof(record->stack);
	}
	if (held->raw_size)
		memcpy(at, record->raw, held->raw_size);
}

/* The payload stays where it is. */
static void restore(struct record *record, const unsigned char *at)
{
	unsigned char *words = (unsigned char *)record + UNION_OFFSET;
	struct held_record held;

	memcpy(&held, at, sizeof(held));
	at += sizeof(held);
	memset(record, 0, sizeof(*record));
	for (size_t i = 0; i < WORDS_MAX; i++) {
		if (!(held.words & 1u << i))
			continue;
		memcpy(words + i * WORD, at, WORD);
		at += WORD;
	}
	if (held.has_stack) {
		memcpy(&record->stack, at, sizeof(record->stack));
		at += sizeof(record->stack);
	}
	record->ts = held.ts;
	record->tid = held.tid;
	record->kind = held.kind;
	record->flags = held.flags;
	record->event = held.event;
	record->indent = held.indent;
	record->raw_size = held.raw_size;
	record->raw = at;
}

static bool has_wrapped(const struct record_ring *ring)
{
	return ring->held && ring->end <= ring->first;
}

/* What does not fit before the end of the ring goes to its start. */
size_t record_ring_room(const struct record_ring *ring)
{
	size_t at_end = ring->size - ring->end;

	if (!ring->held)
		return ring->size;
	if (has_wrapped(ring))
		return ring->first - ring->end;
	return at_end > ring->first ? at_end : ring->first;
}

void *record_ring_reserve(struct record_ring *ring, size_t bytes)
{
	void *place;

	if (!ring->held) {
		ring->first = 0;
		ring->end = 0;
	}
	if (record_ring_room(ring) < bytes)
		return NULL;
	if (!has_wrapped(ring) && ring->size - ring->end < bytes) {
		ring->wrapped_at = ring->end;
		ring->end = 0;
	}
	place = ring->bytes + ring->end;
	ring->end += bytes;
	ring->held++;
	return place;
}

void record_ring_drop(struct record_ring *ring, size_t bytes)
{
	bool wrapped = has_wrapped(ring);

	ring->first += bytes;
	if (wrapped && ring->first == ring->wrapped_at)
		ring->first = 0;
	ring->held--;
}

void record_ring_init(struct record_ring *ring, void *bytes, size_t size)
{
	*ring = (struct record_ring){ .bytes = bytes, .size = size };
}

int record_ring_put(struct record_ring *ring, const struct record *record)
{
	struct held_record held;
	unsigned char *place;
	size_t bytes;

	describe(&held, record);
	bytes = held_bytes(&held);
	if (bytes > ring->size)
		return -EMSGSIZE;
	place = record_ring_reserve(ring, bytes);
	if (!place)
		return -ENOSPC;
	hold(place, &held, record);
	return 0;
}

uint64_t record_ring_time(const struct record_ring *ring)
{
	struct held_record held;

	memcpy(&held, ring->bytes + ring->first, sizeof(held));
	return held.ts;
}

void record_ring_pop(struct record_ring *ring, struct record *record)
{
	struct held_record held;

	memcpy(&held, ring->bytes + ring->first, sizeof(held));
	restore(record, ring->bytes + ring->first);
	record_ring_drop(ring, held_bytes(&held));
}
