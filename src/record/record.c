// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/record.h"
#include "record/record_ring.h"

/* A payload in its ring. Those that were released stay until the ones before them are. */
struct payload {
	struct stored_record *owner; /* NULL: released */
	size_t bytes;		     /* with this structure */
	unsigned char raw[];
};

struct payloads {
	struct record_ring ring;
	_Alignas(RECORD_RING_ALIGN) unsigned char bytes[];
};

struct payloads *payloads_new(size_t size)
{
	struct payloads *payloads;

	size += PAYLOADS_MIN;
	size = size / RECORD_RING_ALIGN * RECORD_RING_ALIGN;
	payloads = calloc(1, sizeof(*payloads) + size);
	if (payloads)
		record_ring_init(&payloads->ring, payloads->bytes, size);
	return payloads;
}

void payloads_free(struct payloads *payloads)
{
	free(payloads);
}

static struct payload *first_of(const struct payloads *payloads)
{
	return (struct payload *)(payloads->ring.bytes + payloads->ring.first);
}

struct stored_record *payloads_oldest(const struct payloads *payloads)
{
	return first_of(payloads)->owner;
}

static unsigned char *store_payload(struct payloads *payloads, struct stored_record *owner,
				    size_t size)
{
	size_t bytes = (sizeof(struct payload) + size + RECORD_RING_ALIGN - 1) / RECORD_RING_ALIGN *
		       RECORD_RING_ALIGN;
	struct payload *payload = record_ring_reserve(&payloads->ring, bytes);

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
		while (payloads->ring.held && !first_of(payloads)->owner)
			record_ring_drop(&payloads->ring, first_of(payloads)->bytes);
	}
	stored->record.raw_size = 0;
	stored->record.raw = NULL;
}
