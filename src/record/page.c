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
	unsigned char *copy; /* kbuffer wants to be able to write, and our commit in it */
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

/* One line of header_page: "field: local_t commit;	offset:8;	size:8;	signed:1;" */
static bool parse_field(const char *line, const char *name, struct header_field *field)
{
	char found[32];

	return sscanf(line, " field: %*s %31[^;]; offset:%zu; size:%zu;", found, &field->offset,
		      &field->size) == 3 &&
	       !strcmp(found, name);
}

static int find_field(const char *text, const char *name, struct header_field *field)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (parse_field(line, name, field))
			return 0;
	}
	return -EINVAL;
}

static int layout_from_fields(struct page_layout *layout, const struct header_field *commit,
			      const struct header_field *data, bool big_endian)
{
	struct page_layout found = {
		.size = data->offset + data->size,
		.header = data->offset,
		.long_size = (int)commit->size,
		.big_endian = big_endian,
	};

	/* kbuffer knows no other header than a time stamp of 8 bytes and a long. */
	if (commit->offset != 8 || (commit->size != 4 && commit->size != 8) ||
	    data->offset != 8 + commit->size || data->size > PAGE_SIZE_MAX ||
	    found.size < PAGE_SIZE_MIN || found.size > PAGE_SIZE_MAX)
		return -EINVAL;
	*layout = found;
	return 0;
}

int page_layout_parse(struct page_layout *layout, const char *text, size_t length, bool big_endian)
{
	struct header_field timestamp, commit, data;
	char *copy = strndup(text, length);
	int ret;

	if (!copy)
		return -ENOMEM;
	ret = find_field(copy, "timestamp", &timestamp);
	if (!ret)
		ret = find_field(copy, "commit", &commit);
	if (!ret)
		ret = find_field(copy, "data", &data);
	if (!ret && (timestamp.offset != 0 || timestamp.size != 8))
		ret = -EINVAL;
	free(copy);
	return ret ? ret : layout_from_fields(layout, &commit, &data, big_endian);
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
	struct page_layout little = *layout, big = *layout;
	uint64_t commit;
	bool is_little, is_big;

	if (length < layout->header)
		return -ENODATA;
	little.big_endian = false;
	big.big_endian = true;
	commit = read_long(&little, (const unsigned char *)page + 8);
	is_little = commit_plausible(&little, commit);
	is_big = commit_plausible(&big, read_long(&big, (const unsigned char *)page + 8));
	if (!is_little && !is_big)
		return -EBADMSG;
	if (is_little && is_big)
		return -ENODATA;
	layout->big_endian = is_big;
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

static unsigned int record_type(const struct page_layout *layout, uint32_t word)
{
	return layout->big_endian ? word >> 27 : word & 31;
}

static uint32_t record_delta(const struct page_layout *layout, uint32_t word)
{
	return layout->big_endian ? word & ((1u << 27) - 1) : word >> 5;
}

/* A length in array[0], which counts itself but not the word before it; 0: no such record. */
static size_t stored_length(const struct page_layout *layout, const unsigned char *at, size_t rest)
{
	uint32_t length;

	if (rest < 2 * WORD)
		return 0;
	length = read_word(layout, at + WORD);
	if (length < WORD || length % WORD || length > rest - WORD)
		return 0;
	return WORD + length;
}

/* Bytes of the record at @at, of which @rest are left in the page; 0 where it does not fit. */
static size_t record_length(const struct page_layout *layout, const unsigned char *at, size_t rest)
{
	unsigned int type = record_type(layout, read_word(layout, at));
	size_t length;

	switch (type) {
	case TYPE_LONG_DATA:
	case TYPE_PADDING:
		return stored_length(layout, at, rest);
	case TYPE_TIME_EXTEND:
	case TYPE_TIME_STAMP:
		length = 2 * WORD;
		break;
	default:
		length = WORD + type * WORD;
	}
	return length <= rest ? length : 0;
}

/* Padding without a time delta has no length: nothing follows it in the page. */
static bool ends_page(const struct page_layout *layout, const unsigned char *at)
{
	uint32_t word = read_word(layout, at);

	return record_type(layout, word) == TYPE_PADDING && !record_delta(layout, word);
}

/* Bytes of whole records, or -EBADMSG: every record has to lie inside the @size bytes. */
static ssize_t check_records(const struct page_layout *layout, const unsigned char *data,
			     size_t size)
{
	size_t at = 0, length;

	while (at < size) {
		if (size - at < WORD)
			return -EBADMSG;
		if (ends_page(layout, data + at))
			break;
		length = record_length(layout, data + at, size - at);
		if (!length)
			return -EBADMSG;
		at += length;
	}
	return (ssize_t)at;
}

static enum page_state check_header(const struct page_layout *layout, const unsigned char *page,
				    size_t length, uint32_t *ret_commit)
{
	uint64_t commit;

	if (length < layout->header)
		return PAGE_CUT;
	commit = read_long(layout, page + 8);
	if (!commit)
		return read_u64(layout, page) ? PAGE_EMPTY : PAGE_ZEROS;
	if (length > layout->size || !commit_plausible(layout, commit))
		return PAGE_DAMAGED;
	if (layout->header + (commit & COMMIT_SIZE) > length)
		return PAGE_CUT;
	*ret_commit = (uint32_t)commit;
	return commit & COMMIT_SIZE ? PAGE_GOOD : PAGE_EMPTY;
}

/* How many records are missing before the page; the count lies behind the data if it had room. */
static int64_t lost_count(const struct page_layout *layout, const unsigned char *page,
			  size_t length, uint32_t commit)
{
	size_t at = layout->header + (commit & COMMIT_SIZE);
	int64_t count;

	if (!(commit & COMMIT_STORED) || at + (size_t)layout->long_size > length)
		return RECORD_LOST_UNKNOWN;
	count = (int64_t)read_long(layout, page + at);
	return count > 0 ? count : RECORD_LOST_UNKNOWN;
}

static int give_lost(struct page_reader *reader, int cpu, const unsigned char *page, size_t length,
		     uint32_t commit)
{
	if (!(commit & COMMIT_MISSED))
		return 0;
	return reader->sink.lost(reader->sink.context, cpu, read_u64(&reader->layout, page),
				 lost_count(&reader->layout, page, length, commit));
}

static int give_records(struct page_reader *reader, int cpu)
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
	ret = give_lost(reader, cpu, bytes, length, commit);
	if (ret || !size)
		return ret;
	memcpy(reader->copy, bytes, layout->header + (size_t)size);
	write_long(layout, reader->copy + 8, (uint32_t)size);
	return give_records(reader, cpu);
}
