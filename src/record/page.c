// SPDX-License-Identifier: GPL-2.0-or-later

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <kbuffer.h>

#include "allocfilt/record.h"

#define PAGE_SIZE_MIN ((size_t)4 << 10)
#define PAGE_SIZE_MAX ((size_t)64 << 20)

#define COMMIT_OFFSET 8 /* in the header, after the time stamp */

/* The top bits of a commit; kernel/trace/ring_buffer.c: RB_MISSED_EVENTS, RB_MISSED_STORED. */
#define COMMIT_MISSED (1u << 31)
#define COMMIT_STORED (1u << 30)
#define COMMIT_SIZE   (COMMIT_STORED - 1)

/* type_len of a record's first word; what is not one of these is data of that many words. */
enum { TYPE_LONG_DATA = 0, TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

#define WORD 4 /* records are made of words of 4 bytes */

struct page_reader {
	struct page_layout layout;
	struct page_sink sink;
	struct kbuffer *kbuffer;
	unsigned char *copy; /* kbuffer may write to it, and reads our commit from it */
};

static uint32_t read_word(const struct page_layout *layout, const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return layout->big_endian ? be32toh(value) : le32toh(value);
}

static uint64_t read_u64(const struct page_layout *layout, const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return layout->big_endian ? be64toh(value) : le64toh(value);
}

static uint64_t read_long(const struct page_layout *layout, const unsigned char *at)
{
	return layout->long_size == 8 ? read_u64(layout, at) : read_word(layout, at);
}

static void write_long(const struct page_layout *layout, unsigned char *at, uint32_t value)
{
	uint64_t wide = layout->big_endian ? htobe64(value) : htole64(value);
	uint32_t word = layout->big_endian ? htobe32(value) : htole32(value);

	if (layout->long_size == 8)
		memcpy(at, &wide, sizeof(wide));
	else
		memcpy(at, &word, sizeof(word));
}

struct header_field {
	size_t offset;
	size_t size;
};

/* A line of header_page: "field: local_t commit;	offset:8;	size:8;	signed:1;" */
static bool find_field(const char *text, const char *name, struct header_field *field)
{
	char found[32];

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, " field: %*s %31[^;]; offset:%zu; size:%zu;", found,
			   &field->offset, &field->size) == 3 &&
		    !strcmp(found, name))
			return true;
	}
	return false;
}

int page_layout_parse(struct page_layout *layout, const char *text, size_t length, bool big_endian)
{
	struct header_field timestamp, commit, data;
	char *copy = strndup(text, length);
	bool found;

	if (!copy)
		return -ENOMEM;
	found = find_field(copy, "timestamp", &timestamp) && find_field(copy, "commit", &commit) &&
		find_field(copy, "data", &data);
	free(copy);
	/* kbuffer supports only this header: a time stamp of 8 bytes and a long. */
	if (!found || timestamp.offset != 0 || timestamp.size != 8 || commit.offset != 8 ||
	    (commit.size != 4 && commit.size != 8) || data.offset != 8 + commit.size)
		return -EINVAL;
	if (data.size > PAGE_SIZE_MAX || data.offset + data.size < PAGE_SIZE_MIN ||
	    data.offset + data.size > PAGE_SIZE_MAX)
		return -EINVAL;
	*layout = (struct page_layout){
		.size = data.offset + data.size,
		.header = data.offset,
		.long_size = (int)commit.size,
		.big_endian = big_endian,
	};
	return 0;
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

struct page_reader *page_reader_new(const struct page_layout *layout, const struct page_sink *sink)
{
	struct page_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->layout = *layout;
	reader->sink = *sink;
	reader->copy = malloc(layout->size);
	reader->kbuffer =
		kbuffer_alloc(layout->long_size == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
			      layout->big_endian ? KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
	if (!reader->copy || !reader->kbuffer) {
		page_reader_free(reader);
		errno = ENOMEM;
		return NULL;
	}
	return reader;
}

void page_reader_free(struct page_reader *reader)
{
	if (!reader)
		return;
	kbuffer_free(reader->kbuffer);
	free(reader->copy);
	free(reader);
}

/* Bytes of the record at @at, of which @rest are left in the page; 0 where it does not fit. */
static size_t record_length(const struct page_layout *layout, const unsigned char *at, size_t rest,
			    unsigned int type)
{
	size_t length = WORD + type * WORD;

	if (type == TYPE_TIME_EXTEND || type == TYPE_TIME_STAMP)
		length = 2 * WORD;
	if (type == TYPE_LONG_DATA || type == TYPE_PADDING) {
		/* array[0] has the length, which counts itself but not the word before it */
		length = rest < 2 * WORD ? 0 : read_word(layout, at + WORD);
		if (length < WORD || length % WORD)
			return 0;
		length += WORD;
	}
	return length <= rest ? length : 0;
}

/* Bytes of whole records, or -EBADMSG: every record has to lie inside the @size bytes. */
static ssize_t check_records(const struct page_layout *layout, const unsigned char *data,
			     size_t size)
{
	size_t at = 0;

	while (at < size) {
		uint32_t word, delta;
		unsigned int type;
		size_t length;

		if (size - at < WORD)
			return -EBADMSG;
		word = read_word(layout, data + at);
		type = layout->big_endian ? word >> 27 : word & 31;
		delta = layout->big_endian ? word & ((1u << 27) - 1) : word >> 5;
		/* Padding without a time delta has no length and ends the page. */
		if (type == TYPE_PADDING && !delta)
			break;
		length = record_length(layout, data + at, size - at, type);
		if (!length)
			return -EBADMSG;
		at += length;
	}
	return (ssize_t)at;
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
		return read_u64(layout, page) ? PAGE_EMPTY : PAGE_ZEROS;
	if (length > layout->size || !commit_plausible(layout, commit))
		return PAGE_DAMAGED;
	if (layout->header + (commit & COMMIT_SIZE) > length)
		return PAGE_CUT;
	if (!rest_is_zero(layout, page, length, (uint32_t)commit))
		return PAGE_DAMAGED;
	*ret_commit = (uint32_t)commit;
	return commit & COMMIT_SIZE ? PAGE_GOOD : PAGE_EMPTY;
}

/* The records lost before the page; their count follows the data if it had room. */
static int emit_lost(struct page_reader *reader, int cpu, const unsigned char *page, size_t length,
		     uint32_t commit)
{
	const struct page_layout *layout = &reader->layout;
	size_t at = layout->header + (commit & COMMIT_SIZE);
	int64_t count = 0;

	if (!(commit & COMMIT_MISSED))
		return 0;
	if ((commit & COMMIT_STORED) && at + (size_t)layout->long_size <= length)
		count = (int64_t)read_long(layout, page + at);
	return reader->sink.lost(reader->sink.context, cpu, read_u64(layout, page),
				 count > 0 ? count : RECORD_LOST_UNKNOWN);
}

static int emit_records(struct page_reader *reader, int cpu)
{
	struct kbuffer *kbuffer = reader->kbuffer;
	unsigned long long ts;
	void *data;
	int ret;

	kbuffer_load_subbuffer(kbuffer, reader->copy);
	for (data = kbuffer_read_event(kbuffer, &ts); data;
	     data = kbuffer_next_event(kbuffer, &ts)) {
		ret = reader->sink.record(reader->sink.context, cpu, ts, data,
					  (size_t)kbuffer_event_size(kbuffer));
		if (ret)
			return ret;
	}
	return 0;
}

int page_read(struct page_reader *reader, int cpu, const void *page, size_t length,
	      enum page_state *state)
{
	const struct page_layout *layout = &reader->layout;
	const unsigned char *bytes = page;
	uint32_t commit = 0;
	ssize_t size = 0;
	int ret;

	*state = check_header(layout, bytes, length, &commit);
	if (*state == PAGE_GOOD)
		size = check_records(layout, bytes + layout->header, commit & COMMIT_SIZE);
	if (size < 0)
		*state = PAGE_DAMAGED;
	if (*state != PAGE_GOOD && *state != PAGE_EMPTY)
		return 0;
	ret = emit_lost(reader, cpu, bytes, length, commit);
	if (ret || !size)
		return ret;
	memcpy(reader->copy, bytes, layout->header + (size_t)size);
	write_long(layout, reader->copy + COMMIT_OFFSET, (uint32_t)size);
	return emit_records(reader, cpu);
}
