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

#define WORD	     4	/* records are made of words of 4 bytes */
#define DELTA_BITS   27 /* of the time in the first word; the rest of a long one is in the second */
#define PAGE_SKIPPED 2	/* padding or a time: go on */

static inline uint32_t page_word(const void *at, bool big_endian)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return big_endian ? be32toh(value) : le32toh(value);
}

/**
 * page_walk_special - go over what is not up to 28 words of data
 * @type, @delta: of its first word
 *
 * Returns as page_next(), or PAGE_SKIPPED.
 */
int page_walk_special(struct page_cursor *cursor, uint32_t type, uint32_t delta);

/** page_walk - page_next(); times are those of kbuffer in libtraceevent */
static inline int page_walk(struct page_cursor *cursor)
{
	struct page_cursor copy;
	int ret = PAGE_SKIPPED;

	while (ret == PAGE_SKIPPED && cursor->next < cursor->end) {
		const unsigned char *at = cursor->next;
		size_t rest = (size_t)(cursor->end - at);
		uint32_t word, type, delta;

		if (rest < WORD)
			return -EBADMSG;
		word = page_word(at, cursor->big_endian);
		type = cursor->big_endian ? word >> DELTA_BITS : word & 31;
		delta = cursor->big_endian ? word & ((1u << DELTA_BITS) - 1) : word >> 5;
		if (type - 1 < TYPE_PADDING - 1) {
			size_t size = type * WORD;

			if (size > rest - WORD)
				return -EBADMSG;
			cursor->ts += delta;
			cursor->data = at + WORD;
			cursor->size = size;
			cursor->next = at + WORD + size;
			return 1;
		}
		/* A copy: so a caller's cursor can be in registers. */
		copy = *cursor;
		ret = page_walk_special(&copy, type, delta);
		*cursor = copy;
	}
	return ret == PAGE_SKIPPED ? 0 : ret;
}

#endif
