/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_PAGE_H
#define ALLOCFILT_RECORD_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The kernel knows that records were lost, but not how many. */
#define RECORD_LOST_UNKNOWN (-1)

/*
 * One page (sub-buffer) of a CPU's ring buffer, as read from trace_pipe_raw: a header with time
 * stamp and commit, then records. kernel/trace/ring_buffer.c;
 * Documentation/trace/ring-buffer-*
 */

#define PAGE_SIZE_MIN (4 << 10) /* bytes */
#define PAGE_SIZE_MAX (64 << 20)

struct page_layout {
	size_t size;   /* bytes of a whole page, header and data */
	size_t header; /* bytes before the data: 16, or 12 where a long has 4 bytes */
	int long_size; /* 4 or 8 */
	bool big_endian;
};

/**
 * page_layout_parse - read the text of events/header_page
 * @big_endian: the text does not have it; the caller knows (own host) or finds out
 *
 * Returns 0 or -EINVAL where a field is missing or a size is out of bounds.
 */
int page_layout_parse(struct page_layout *layout, const char *text, size_t length, bool big_endian);

/**
 * page_layout_guess_order - find out the byte order from a page of the data
 *
 * The commit is never larger than a page, so it is plausible in one order only. Sets
 * layout->big_endian. Returns 0, -ENODATA where both orders are plausible (an empty page) or the
 * page is cut, -EBADMSG where none is.
 */
int page_layout_guess_order(struct page_layout *layout, const void *page, size_t length);

/* The state of a page, found by page_check(). */
enum page_state {
	PAGE_GOOD,
	PAGE_EMPTY,   /* commit 0: nothing in it */
	PAGE_CUT,     /* shorter than its header or its commit */
	PAGE_ZEROS,   /* time stamp and commit are both 0 */
	PAGE_DAMAGED, /* commit over the page, a record over the commit, time that goes back, … */
};

/* The content of a page: records, all of which are inside of it. */
struct page_content {
	const void *data; /* the first record; in the page */
	size_t size;	  /* bytes of whole records */
	uint64_t ts; /* ns, trace clock: the page's own, which its first record is relative to */
	uint64_t newest; /* ns: the highest time of a record; that of the page without any */
	int64_t lost;	 /* records just before the page, or RECORD_LOST_UNKNOWN; 0: none */
	uint64_t nr;	 /* records in it */
};

/**
 * page_check - find out what a page is and what is in it
 * @page: @length bytes
 *
 * The whole page is checked: commit against the page, every record's length against the commit,
 * every step forward, in time as well. kbuffer of libtraceevent does not check what it reads.
 * @content is set where the page is PAGE_GOOD or PAGE_EMPTY.
 */
enum page_state page_check(const struct page_layout *layout, const void *page, size_t length,
			   struct page_content *content);

/** page_time - ns: of a page with records and a good header, in @length bytes; else UINT64_MAX */
uint64_t page_time(const struct page_layout *layout, const void *page, size_t length);

/**
 * page_in_order - is the time of a page between those of the pages around it?
 * @next: page_time() of the next one of its CPU; UINT64_MAX: not known
 * @newest: ns: of the CPU's pages so far; set for the next call if the page is in order
 *
 * The kernel writes the records of a CPU in order. Where the next page goes back, but not to before
 * @newest, this one had jumped ahead. A page that is not in order is damaged.
 */
bool page_in_order(const struct page_content *content, uint64_t next, uint64_t *newest);

#define PAGE_FAULT_MAX 96

/* The reason for which page_check() or page_in_order() refuses a page, for people. */
struct page_fault {
	size_t offset; /* bytes from the start of the page */
	char text[PAGE_FAULT_MAX];
};

/** page_explain - say what is wrong with such a page */
void page_explain(const struct page_layout *layout, const void *page, size_t length,
		  struct page_fault *ret_fault);

/* A place in the records of a page. */
struct page_cursor {
	const unsigned char *next; /* where page_next() goes on */
	const unsigned char *end;
	uint64_t ts;	  /* ns, the trace clock; this and the rest are of the present record */
	const void *data; /* as the event's format describes it */
	size_t size;
	bool big_endian;
};

/**
 * page_begin - start before the first record of a page
 * @data: @size bytes that page_check() described, or a copy of them
 * @ts: of the page
 */
void page_begin(struct page_cursor *cursor, const struct page_layout *layout, const void *data,
		size_t size, uint64_t ts);

/* type_len of a record's first word; any other value is data of that many words. */
enum {
	PAGE_TYPE_LONG_DATA = 0,
	PAGE_TYPE_PADDING = 29,
	PAGE_TYPE_TIME_EXTEND = 30,
	PAGE_TYPE_TIME_STAMP = 31,
};

#define PAGE_WORD	4  /* records are made of words of 4 bytes */
#define PAGE_DELTA_BITS 27 /* of the time in the first word; the second one has the rest */

static const bool PAGE_HOST_BIG_ENDIAN = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/**
 * page_split_word - the bit fields of a record's first word
 *
 * They begin at the other end in the other byte order.
 */
static inline void page_split_word(uint32_t word, bool big_endian, uint32_t *ret_type,
				   uint32_t *ret_delta)
{
	*ret_type = big_endian ? word >> PAGE_DELTA_BITS : word & 31;
	*ret_delta = big_endian ? word & ((1u << PAGE_DELTA_BITS) - 1) : word >> 5;
}

/** page_next_any - page_next() for all records and both byte orders */
int page_next_any(struct page_cursor *cursor);

/**
 * page_next - go to the next record
 *
 * Times are those of kbuffer in libtraceevent. A record of up to 28 words in the order of this
 * machine takes the short way. Returns 1, 0 at the end, or -EBADMSG where the next one is not as a
 * whole inside the data.
 */
static inline int page_next(struct page_cursor *cursor)
{
	const unsigned char *at = cursor->next;
	size_t rest = (size_t)(cursor->end - at);
	struct page_cursor copy;
	int ret;

	if (rest >= PAGE_WORD && cursor->big_endian == PAGE_HOST_BIG_ENDIAN) {
		uint32_t word, type, delta;

		memcpy(&word, at, sizeof(word));
		page_split_word(word, PAGE_HOST_BIG_ENDIAN, &type, &delta);
		if (type - 1 < PAGE_TYPE_PADDING - 1 && type * PAGE_WORD <= rest - PAGE_WORD) {
			cursor->ts += delta;
			cursor->data = at + PAGE_WORD;
			cursor->size = type * PAGE_WORD;
			cursor->next = at + PAGE_WORD + type * PAGE_WORD;
			return 1;
		}
	}
	/* The cursor is copied, so that a caller's one can be in registers. */
	copy = *cursor;
	ret = page_next_any(&copy);
	*cursor = copy;
	return ret;
}

#endif
