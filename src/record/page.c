// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "allocfilt/record/page.h"
#include "record/load.h"

#define COMMIT_OFFSET 8 /* in the header, after the time stamp */

/* The top bits of a commit; kernel/trace/ring_buffer.c: RB_MISSED_EVENTS, RB_MISSED_STORED. */
#define COMMIT_MISSED (1u << 31)
#define COMMIT_STORED (1u << 30)
#define COMMIT_SIZE   (COMMIT_STORED - 1)

#define SKIPPED 2 /* padding or a time: go on */

#define STAMP_MASK ((1ull << (32 + PAGE_DELTA_BITS)) - 1)

static uint64_t read_long(const struct page_layout *layout, const unsigned char *at)
{
	return layout->long_size == 8 ? load_64(at, layout->big_endian) :
					load_32(at, layout->big_endian);
}

/*
 * Can this be a commit? The kernel adds the missed bits to a long as ints, the top one negative,
 * so that the upper half of a long of 8 bytes may be all ones with it.
 */
static bool commit_plausible(const struct page_layout *layout, uint64_t commit)
{
	uint32_t high = commit >> 32, low = (uint32_t)commit;

	if (high && !(high == UINT32_MAX && (low & COMMIT_MISSED)))
		return false;
	return (low & COMMIT_SIZE) <= layout->size - layout->header;
}

int page_layout_guess_order(struct page_layout *layout, const void *page, size_t length)
{
	bool plausible[2];

	if (length < layout->header)
		return -ENODATA;
	for (int big = 0; big < 2; big++) {
		struct page_layout guess = *layout;

		guess.big_endian = big;
		plausible[big] = commit_plausible(
			&guess, read_long(&guess, (const unsigned char *)page + COMMIT_OFFSET));
	}
	if (plausible[0] == plausible[1])
		return plausible[0] ? -ENODATA : -EBADMSG;
	layout->big_endian = plausible[1];
	return 0;
}

void page_begin(struct page_cursor *cursor, const struct page_layout *layout, const void *data,
		size_t size, uint64_t ts)
{
	*cursor = (struct page_cursor){
		.next = data,
		/* A loss has no data. */
		.end = size ? (const unsigned char *)data + size : data,
		.ts = ts,
		.big_endian = layout->big_endian,
	};
}

/* Goes over what is not up to 28 words of data. Returns as page_next(), or SKIPPED. */
static int walk_special(struct page_cursor *cursor, uint32_t type, uint32_t delta)
{
	const unsigned char *at = cursor->next;
	size_t rest = (size_t)(cursor->end - at), size;
	uint64_t second;

	/* Padding without a time delta has no length and ends the page. */
	if (type == PAGE_TYPE_PADDING && !delta)
		return 0;
	if (rest < 2 * PAGE_WORD)
		return -EBADMSG;
	second = load_32(at + PAGE_WORD, cursor->big_endian);
	if (type == PAGE_TYPE_TIME_STAMP) /* Its upper bits are those of the time before it. */
		cursor->ts = (cursor->ts & ~STAMP_MASK) | second << PAGE_DELTA_BITS | delta;
	else
		cursor->ts += delta;
	if (type == PAGE_TYPE_TIME_EXTEND)
		cursor->ts += second << PAGE_DELTA_BITS;
	/* The other two have their length there, which counts itself. */
	size = type >= PAGE_TYPE_TIME_EXTEND ? PAGE_WORD : second;
	if (size < PAGE_WORD || size % PAGE_WORD || size > rest - PAGE_WORD)
		return -EBADMSG;
	cursor->next = at + PAGE_WORD + size;
	if (type != PAGE_TYPE_LONG_DATA)
		return SKIPPED;
	cursor->data = at + 2 * PAGE_WORD;
	cursor->size = size - PAGE_WORD;
	return 1;
}

int page_next_any(struct page_cursor *cursor)
{
	int ret = SKIPPED;

	while (ret == SKIPPED && cursor->next < cursor->end) {
		const unsigned char *at = cursor->next;
		size_t rest = (size_t)(cursor->end - at);
		uint32_t type, delta;

		if (rest < PAGE_WORD)
			return -EBADMSG;
		page_split_word(load_32(at, cursor->big_endian), cursor->big_endian, &type, &delta);
		if (type - 1 >= PAGE_TYPE_PADDING - 1) {
			ret = walk_special(cursor, type, delta);
			continue;
		}
		if (type * PAGE_WORD > rest - PAGE_WORD)
			return -EBADMSG;
		cursor->ts += delta;
		cursor->data = at + PAGE_WORD;
		cursor->size = type * PAGE_WORD;
		cursor->next = at + PAGE_WORD + cursor->size;
		return 1;
	}
	return ret == SKIPPED ? 0 : ret;
}

/*
 * The kernel fills up a page with zeros: ring_buffer_read_page(). Anything else is a header where
 * none can be, that of a page of another size.
 */
static bool rest_is_zero(const struct page_layout *layout, const unsigned char *page, size_t length,
			 uint32_t commit)
{
	size_t at = layout->header + (commit & COMMIT_SIZE);

	if (commit & COMMIT_STORED)
		at += (size_t)layout->long_size;
	/* Each byte is equal to the one before it. */
	return at >= length || (!page[at] && !memcmp(page + at, page + at + 1, length - at - 1));
}

static enum page_state check_header(const struct page_layout *layout, const unsigned char *page,
				    size_t length, uint32_t *ret_commit)
{
	uint64_t commit;

	if (length < layout->header)
		return PAGE_CUT;
	commit = read_long(layout, page + COMMIT_OFFSET);
	if (!commit)
		return load_64(page, layout->big_endian) ? PAGE_EMPTY : PAGE_ZEROS;
	if (length > layout->size || !commit_plausible(layout, commit))
		return PAGE_DAMAGED;
	if (layout->header + (commit & COMMIT_SIZE) > length)
		return PAGE_CUT;
	if (!rest_is_zero(layout, page, length, (uint32_t)commit))
		return PAGE_DAMAGED;
	*ret_commit = (uint32_t)commit;
	return commit & COMMIT_SIZE ? PAGE_GOOD : PAGE_EMPTY;
}

/* Their count follows the data if it had room. */
static int64_t count_lost(const struct page_layout *layout, const unsigned char *page,
			  size_t length, uint32_t commit)
{
	size_t at = layout->header + (commit & COMMIT_SIZE);
	int64_t count = 0;

	if (!(commit & COMMIT_MISSED))
		return 0;
	if ((commit & COMMIT_STORED) && at + (size_t)layout->long_size <= length)
		count = (int64_t)read_long(layout, page + at);
	return count > 0 ? count : RECORD_LOST_UNKNOWN;
}

enum page_state page_check(const struct page_layout *layout, const void *page, size_t length,
			   struct page_content *content)
{
	struct page_content found = { .data = (const unsigned char *)page + layout->header };
	struct page_cursor cursor;
	uint32_t commit = 0;
	enum page_state state = check_header(layout, page, length, &commit);
	int ret;

	if (state != PAGE_GOOD && state != PAGE_EMPTY)
		return state;
	found.ts = found.newest = load_64(page, layout->big_endian);
	found.lost = count_lost(layout, page, length, commit);
	page_begin(&cursor, layout, found.data, commit & COMMIT_SIZE, found.ts);
	for (; (ret = page_next(&cursor)) > 0 && cursor.ts >= found.newest; found.nr++)
		found.newest = cursor.ts;
	if (ret)
		return PAGE_DAMAGED;
	found.size = (size_t)(cursor.next - (const unsigned char *)found.data);
	*content = found;
	return state;
}

uint64_t page_time(const struct page_layout *layout, const void *page, size_t length)
{
	uint32_t commit;

	if (length > layout->size)
		length = layout->size;
	return check_header(layout, page, length, &commit) == PAGE_GOOD ?
		       load_64(page, layout->big_endian) :
		       UINT64_MAX;
}

bool page_in_order(const struct page_content *content, uint64_t next, uint64_t *newest)
{
	if (!content->size)
		return true;
	if (content->ts < *newest || (next < content->newest && next >= *newest))
		return false;
	*newest = content->newest;
	return true;
}

void page_explain(const struct page_layout *layout, const void *page, size_t length,
		  struct page_fault *fault)
{
	const unsigned char *bytes = page;
	struct page_cursor cursor;
	uint32_t commit = 0;
	enum page_state state = check_header(layout, page, length, &commit);
	uint64_t read = length < layout->header ? 0 : read_long(layout, bytes + COMMIT_OFFSET);
	uint32_t size = (uint32_t)read & COMMIT_SIZE;

	*fault = (struct page_fault){ .offset = COMMIT_OFFSET };
	if (state == PAGE_ZEROS) {
		snprintf(fault->text, sizeof(fault->text), "of zeros");
		fault->offset = 0;
	} else if (state == PAGE_CUT) {
		snprintf(fault->text, sizeof(fault->text), "cut after %zu bytes", length);
		fault->offset = length;
	} else if (!commit_plausible(layout, read)) {
		snprintf(fault->text, sizeof(fault->text),
			 "a commit of %" PRIu64 " bytes in a page of %zu", read >> 32 ? read : size,
			 layout->size);
	} else if (state == PAGE_DAMAGED) {
		snprintf(fault->text, sizeof(fault->text), "data after its commit of %u bytes",
			 size);
		fault->offset = layout->header + size;
	} else {
		uint64_t newest = load_64(bytes, layout->big_endian);
		int ret;

		page_begin(&cursor, layout, bytes + layout->header, size, newest);
		while ((ret = page_next(&cursor)) > 0 && cursor.ts >= newest)
			newest = cursor.ts;
		fault->offset = ret ? (size_t)(cursor.next - bytes) : 0;
		snprintf(fault->text, sizeof(fault->text), "%s",
			 ret < 0 ? "a record that does not end in the data" :
			 ret	 ? "a time that is not after that of the record before" :
				   "a time that is not between those of the pages around it");
	}
}
