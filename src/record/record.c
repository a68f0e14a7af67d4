// SPDX-License-Identifier: GPL-2.0-or-later

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/record.h"

#define ALIGN 8 /* bytes */

/* A payload in its ring. Those that were released stay until the ones before them are. */
struct payload {
	struct stored_record *owner; /* NULL: released */
	size_t bytes;		     /* with this structure */
	unsigned char raw[];
};

/* A ring of bytes. What does not fit before its end goes to its start. */
struct payloads {
	size_t size;
	size_t first;	   /* where the oldest is */
	size_t end;	   /* where the next one goes; not above first: it has wrapped */
	size_t wrapped_at; /* where those before the wrap end */
	size_t held;	   /* payloads */
	_Alignas(ALIGN) unsigned char bytes[];
};

static bool has_wrapped(const struct payloads *payloads)
{
	return payloads->held && payloads->end <= payloads->first;
}

static struct payload *reserve(struct payloads *payloads, size_t bytes)
{
	struct payload *place;

	if (!payloads->held)
		payloads->first = payloads->end = 0;
	if (!has_wrapped(payloads) && payloads->size - payloads->end < bytes) {
		if (payloads->first < bytes)
			return NULL;
		payloads->wrapped_at = payloads->end;
		payloads->end = 0;
	} else if (has_wrapped(payloads) && payloads->first - payloads->end < bytes) {
		return NULL;
	}
	place = (struct payload *)(payloads->bytes + payloads->end);
	payloads->end += bytes;
	payloads->held++;
	return place;
}

struct payloads *payloads_new(size_t size)
{
	struct payloads *payloads;

	size += PAYLOADS_MIN;
	size = size / ALIGN * ALIGN;
	payloads = calloc(1, sizeof(*payloads) + size);
	if (payloads)
		payloads->size = size;
	return payloads;
}

void payloads_free(struct payloads *payloads)
{
	free(payloads);
}

static struct payload *first_of(struct payloads *payloads)
{
	return (struct payload *)(payloads->bytes + payloads->first);
}

struct stored_record *payloads_oldest(struct payloads *payloads)
{
	return first_of(payloads)->owner;
}

static void drop_oldest(struct payloads *payloads)
{
	bool wrapped = has_wrapped(payloads);

	payloads->first += first_of(payloads)->bytes;
	if (wrapped && payloads->first == payloads->wrapped_at)
		payloads->first = 0;
	payloads->held--;
}

static unsigned char *store_payload(struct payloads *payloads, struct stored_record *owner,
				    size_t size)
{
	size_t bytes = (sizeof(struct payload) + size + ALIGN - 1) / ALIGN * ALIGN;
	struct payload *payload = reserve(payloads, bytes);

	if (!payload)
		return NULL;
	payload->owner = owner;
	payload->bytes = bytes;
	return payload->raw;
}

int record_store(struct stored_record *stored, const struct record *record,
		 struct payloads *payloads)
{
	unsigned char *raw = stored->raw;

	if (record->raw_size > sizeof(stored->raw))
		raw = store_payload(payloads, stored, record->raw_size);
	if (!raw)
		return -ENOSPC;
	if (record->raw_size)
		memcpy(raw, record->raw, record->raw_size);
	stored->record = *record;
	stored->record.raw = raw;
	return 0;
}

void record_store_release(struct stored_record *stored, struct payloads *payloads)
{
	unsigned char *raw = (unsigned char *)(uintptr_t)stored->record.raw;

	if (stored->record.raw_size > sizeof(stored->raw)) {
		container_of(raw, struct payload, raw)->owner = NULL;
		while (payloads->held && !first_of(payloads)->owner)
			drop_oldest(payloads);
	}
	stored->record.raw_size = 0;
	stored->record.raw = NULL;
}

uint64_t event_number(const void *at, size_t size, bool big_endian)
{
	uint64_t value = 0;
	uint32_t word;

	/* Nearly all fields have the one size or the other, and are loaded without a call. */
	switch (size) {
	case sizeof(word):
		memcpy(&word, at, sizeof(word));
		return big_endian ? be32toh(word) : le32toh(word);
	case sizeof(value):
		memcpy(&value, at, sizeof(value));
		break;
	default:
		memcpy((char *)&value + (big_endian ? sizeof(value) - size : 0), at, size);
	}
	return big_endian ? be64toh(value) : le64toh(value);
}
