/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MADE_PAGE_H
#define MADE_PAGE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "allocfilt/record/page.h"

/* Pages made by hand, byte by byte, in any byte order and with any size of a long. */

#define MADE_PAGE_SIZE 4096
#define MADE_MISSED    (1ull << 31)
#define MADE_STORED    (1ull << 30)

struct made_page {
	struct page_layout layout;
	size_t at; /* end of what was put so far */
	unsigned char bytes[MADE_PAGE_SIZE];
};

/* The four kinds of data that there are. */
static const struct page_layout made_layouts[] = {
	{ MADE_PAGE_SIZE, 16, 8, false },
	{ MADE_PAGE_SIZE, 16, 8, true },
	{ MADE_PAGE_SIZE, 12, 4, false },
	{ MADE_PAGE_SIZE, 12, 4, true },
};

#define MADE_LAYOUTS (sizeof(made_layouts) / sizeof(*made_layouts))

static inline void made_number(const struct page_layout *layout, void *to, uint64_t value,
			       size_t size)
{
	unsigned char *at = to;

	for (size_t i = 0; i < size; i++)
		at[layout->big_endian ? size - 1 - i : i] = (unsigned char)(value >> (8 * i));
}

static inline void made_put(struct made_page *page, uint64_t value, size_t size)
{
	assert(page->at + size <= sizeof(page->bytes));
	made_number(&page->layout, page->bytes + page->at, value, size);
	page->at += size;
}

static inline void made_begin(struct made_page *page, const struct page_layout *layout, uint64_t ts)
{
	memset(page, 0, sizeof(*page));
	page->layout = *layout;
	made_put(page, ts, 8);
	page->at = layout->header;
}

static inline void made_commit(struct made_page *page, uint64_t commit)
{
	made_number(&page->layout, page->bytes + 8, commit, (size_t)page->layout.long_size);
}

/* The commit of what was put; @bits: MADE_MISSED, MADE_STORED. */
static inline void made_end(struct made_page *page, uint64_t bits)
{
	made_commit(page, (page->at - page->layout.header) | bits);
}

/* The first word of a record. */
static inline void made_word(struct made_page *page, uint32_t type, uint32_t delta)
{
	made_put(page, page->layout.big_endian ? type << 27 | delta : delta << 5 | type, 4);
}

static inline void made_bytes(struct made_page *page, const void *data, size_t size)
{
	assert(page->at + size <= sizeof(page->bytes));
	memcpy(page->bytes + page->at, data, size);
	page->at += size;
}

/* A record as the kernel lays it out: up to 112 bytes the length is in the first word. */
static inline void made_record(struct made_page *page, uint32_t delta, const void *data,
			       size_t size)
{
	assert(size && size % 4 == 0);
	if (size <= 112) {
		made_word(page, (uint32_t)size / 4, delta);
	} else {
		made_word(page, 0, delta);
		made_put(page, size + 4, 4);
	}
	made_bytes(page, data, size);
}

/* Time extend (30) or absolute time stamp (31): 27 bits in the first word, the rest behind it. */
static inline void made_time(struct made_page *page, uint32_t type, uint64_t time)
{
	made_word(page, type, (uint32_t)(time & ((1u << 27) - 1)));
	made_put(page, time >> 27, 4);
}

/* A discarded record of @size bytes in all. */
static inline void made_padding(struct made_page *page, uint32_t delta, size_t size)
{
	made_word(page, 29, delta);
	made_put(page, size - 4, 4);
	page->at += size - 8;
}

/* xorshift64 */
static inline uint64_t made_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#endif
