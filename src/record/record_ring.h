/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_RECORD_RING_H
#define ALLOCFILT_RECORD_RECORD_RING_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/record.h"

/*
 * A FIFO of one CPU's records in a ring of bytes. A record uses only the bytes it needs, with a
 * payload of any size.
 */

#define RECORD_RING_ALIGN 8 /* bytes: the size of a ring is a multiple */

/*
 * A ring of this many times the size of a page has room for all records of a page. A record of n
 * bytes, of which 8 are the common fields, has n + 4 bytes in a page. Here it has 24, at most twice
 * the n - 8 of its own fields (a signed field of 4 bytes becomes one of 8), n, and up to 4 of
 * padding: 3 n + 12.
 */
#define RECORD_RING_PAGE_FACTOR 3

struct record_ring {
	unsigned char *bytes;
	size_t size;
	size_t first;	   /* where the earliest record is */
	size_t end;	   /* where the next one goes; not above first: it has wrapped */
	size_t wrapped_at; /* where the records before the wrap end */
	size_t held;	   /* records */
};

/** record_ring_init - an empty ring; @bytes stay the caller's, @size of them */
void record_ring_init(struct record_ring *ring, void *bytes, size_t size);

/** record_ring_room - total bytes of records that are certain to fit */
size_t record_ring_room(const struct record_ring *ring);

/**
 * record_ring_reserve - room for @bytes, a multiple of RECORD_RING_ALIGN, behind all others; or NULL
 *
 * With record_ring_drop() the ring holds anything that knows its own size.
 */
void *record_ring_reserve(struct record_ring *ring, size_t bytes);

/** record_ring_drop - remove the earliest, which has @bytes */
void record_ring_drop(struct record_ring *ring, size_t bytes);

/**
 * record_ring_put - copy a record, all but its cpu, with its payload
 *
 * Returns 0, -ENOSPC if the ring is full, -EMSGSIZE if the record can never fit.
 */
int record_ring_put(struct record_ring *ring, const struct record *record);

/** record_ring_time - ts of the earliest record of a ring that is not empty */
uint64_t record_ring_time(const struct record_ring *ring);

/** record_ring_pop - remove the earliest record, cpu 0; its payload is valid until the next put */
void record_ring_pop(struct record_ring *ring, struct record *record);

#endif
