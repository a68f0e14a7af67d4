/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_PAGE_WALK_H
#define ALLOCFILT_RECORD_PAGE_WALK_H

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "allocfilt/record.h"

/* page_next(), inline for whoever calls it for each record. */

/* type_len of a record's first word; what is not one of these is data of that many words. */
enum { TYPE_LONG_DATA = 0, TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

#define WORD	   4  /* records are made of words of 4 bytes */
#define DELTA_BITS 27 /* of the time in the first word; the rest of a long one is in the second */
static const bool HOST_BIG_ENDIAN = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static inline uint32_t page_word(const void *at, bool big_endian)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return big_endian ? be32toh(value) : le32toh(value);
}

/* The first word of a record: bit fields, which begin at the other end in the other byte order. */
static inline void page_split(uint32_t word, bool big_endian, uint32_t *ret_type,
			      uint32_t *ret_delta)
{
	*ret_type = big_endian ? word >> DELTA_BITS : word & 31;
	*ret_delta = big_endian ? word & ((1u << DELTA_BITS) - 1) : word >> 5;
}

/**
 * page_walk_any - page_next() where page_walk() meets anything but a record of up to 28 words in the
 *	order of this machine
 */
int page_walk_any(struct page_cursor *cursor);

/** page_walk - page_next(); times are those of kbuffer in libtraceevent */
static inline int page_walk(struct page_cursor *cursor)
{
	const unsigned char *at = cursor->next;
	size_t rest = (size_t)(cursor->end - at);
	struct page_cursor copy;
	int ret;

	if (rest >= WORD && cursor->native) {
		uint32_t word, type, delta;

		memcpy(&word, at, sizeof(word));
		page_split(word, HOST_BIG_ENDIAN, &type, &delta);
		if (type - 1 < TYPE_PADDING - 1 && type * WORD <= rest - WORD) {
			cursor->ts += delta;
			cursor->data = at + WORD;
			cursor->size = type * WORD;
			cursor->next = at + WORD + type * WORD;
			return 1;
		}
	}
	/* A copy: so a caller's cursor can be in registers. */
	copy = *cursor;
	ret = page_walk_any(&copy);
	*cursor = copy;
	return ret;
}

#endif
