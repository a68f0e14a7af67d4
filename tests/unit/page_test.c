// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <glob.h>
#include <kbuffer.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "made_page.h"
#include "unit_test.h"

#define SEEN_MAX 512

static const unsigned char payload[4080] = { 0x11 };

/* The page that is read, and what came out of it. */
static struct made_page page;
static struct {
	size_t records;
	uint64_t ts[SEEN_MAX];
	size_t size[SEEN_MAX];
	unsigned char first[SEEN_MAX]; /* first byte of each payload */
	size_t losses;
	uint64_t lost_ts;
	int64_t lost;
} seen;

/*
 * Does what kbuffer does: same times, places and sizes. Our walker alone knows padding without a time
 * delta, which ends the page: kbuffer gets what is before that.
 */
static void compare_with_kbuffer(const struct page_layout *layout, const void *bytes,
				 const struct page_content *content)
{
	struct kbuffer *kbuffer =
		kbuffer_alloc(layout->long_size == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
			      layout->big_endian ? KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
	struct page_cursor cursor;
	unsigned char *copy = malloc(layout->size);
	unsigned long long ts;
	const unsigned char *data;

	assert_non_null(kbuffer);
	assert_non_null(copy);
	memcpy(copy, bytes, layout->header + content->size);
	made_number(layout, copy + 8, content->size, (size_t)layout->long_size);
	page_begin(&cursor, layout, content->data, content->size, content->ts);
	kbuffer_load_subbuffer(kbuffer, copy);
	data = content->size ? kbuffer_read_event(kbuffer, &ts) : NULL;
	for (; data; data = kbuffer_next_event(kbuffer, &ts)) {
		assert_int_equal(page_next(&cursor), 1);
		assert_int_equal(cursor.ts, ts);
		assert_int_equal((const unsigned char *)cursor.data - (const unsigned char *)bytes,
				 data - copy);
		assert_int_equal(cursor.size, kbuffer_event_size(kbuffer));
	}
	assert_int_equal(page_next(&cursor), 0);
	free(copy);
	kbuffer_free(kbuffer);
}

/* The bytes end with their allocation, so that ASan sees a read past them. */
static enum page_state read_bytes(const void *bytes, size_t length)
{
	struct page_content content = { .lost = 77 };
	struct page_fault fault;
	unsigned char *copy = malloc(length ? length : 1);
	struct page_cursor cursor;
	enum page_state found;
	uint64_t newest;

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	found = page_check(&page.layout, copy, length, &content);
	if (found != PAGE_GOOD && found != PAGE_EMPTY) {
		assert_int_equal(content.lost, 77);
		page_explain(&page.layout, copy, length, &fault);
		assert_in_range(fault.offset, 0, length > 8 ? length : 8);
		assert_in_range(strlen(fault.text), 1, sizeof(fault.text) - 1);
		free(copy);
		return found;
	}
	newest = content.ts;
	page_begin(&cursor, &page.layout, content.data, content.size, content.ts);
	while (page_next(&cursor) > 0) {
		assert_in_range(seen.records, 0, SEEN_MAX - 1);
		seen.ts[seen.records] = cursor.ts;
		seen.size[seen.records] = cursor.size;
		seen.first[seen.records] = cursor.size ? *(const unsigned char *)cursor.data : 0;
		seen.records++;
		newest = cursor.ts > newest ? cursor.ts : newest;
	}
	assert_int_equal(content.newest, newest);
	if (content.lost) {
		seen.losses++;
		seen.lost = content.lost;
		seen.lost_ts = content.ts;
	}
	compare_with_kbuffer(&page.layout, copy, &content);
	free(copy);
	return found;
}

static enum page_state read_part(size_t length)
{
	memset(&seen, 0, sizeof(seen));
	return read_bytes(page.bytes, length);
}

static enum page_state read_page(void)
{
	return read_part(sizeof(page.bytes));
}

/* The order is found out also of a layout with the other one. */
static void assert_order(const struct page_layout *layout, size_t length)
{
	struct page_layout guessed = *layout;

	guessed.big_endian = !guessed.big_endian;
	assert_int_equal(page_layout_guess_order(&guessed, page.bytes, length), 0);
	assert_int_equal(guessed.big_endian, layout->big_endian);
}

#define EACH_LAYOUT(name)                                                                          \
	static void name##_of(const struct page_layout *layout);                                   \
	UNIT_TEST(name)                                                                            \
	{                                                                                          \
		for (size_t at = 0; at < MADE_LAYOUTS; at++)                                       \
			name##_of(&made_layouts[at]);                                              \
	}                                                                                          \
	static void name##_of(const struct page_layout *layout)

static void assert_damaged(void)
{
	assert_int_equal(read_page(), PAGE_DAMAGED);
	assert_int_equal(seen.records, 0);
	assert_int_equal(seen.losses, 0);
}

/* ---- header_page ---- */

#define FIELD(name, offset, size)                                                                  \
	"\tfield: type " name ";\toffset:" offset ";\tsize:" size ";\tsigned:0;\n"

static const char header_64[] = FIELD("timestamp", "0", "8") FIELD("commit", "8", "8")
	FIELD("overwrite", "8", "1") FIELD("data", "16", "4080");

static void assert_layout(const char *header, bool big_endian, size_t start, int long_size)
{
	struct page_layout layout;

	assert_int_equal(page_layout_parse(&layout, header, strlen(header), big_endian), 0);
	assert_int_equal(layout.size, 4096);
	assert_int_equal(layout.header, start);
	assert_int_equal(layout.long_size, long_size);
	assert_int_equal(layout.big_endian, big_endian);
}

UNIT_TEST(layouts_of_both_widths)
{
	assert_layout(header_64, true, 16, 8);
	assert_layout(FIELD("timestamp", "0", "8") FIELD("commit", "8", "4")
			      FIELD("overwrite", "8", "1") FIELD("data", "12", "4084"),
		      false, 12, 4);
}

UNIT_TEST(layout_is_refused)
{
	static const char *const texts[] = {
		"",
		"\n",
		FIELD("timestamp", "0", "8"),
		/* no data */
		FIELD("timestamp", "0", "8") FIELD("commit", "8", "8"),
		/* a long of two bytes */
		FIELD("timestamp", "0", "8") FIELD("commit", "8", "2") FIELD("data", "10", "4086"),
		/* a page of 1 KiB, and one of more than 64 MiB */
		FIELD("timestamp", "0", "8") FIELD("commit", "8", "8") FIELD("data", "16", "1008"),
		FIELD("timestamp", "0", "8") FIELD("commit", "8", "8")
			FIELD("data", "16", "67108864"),
		/* sizes that overflow */
		FIELD("timestamp", "0", "8") FIELD("commit", "8", "8")
			FIELD("data", "16", "18446744073709551615"),
		/* no time stamp, and one of four bytes */
		FIELD("commit", "8", "8") FIELD("data", "16", "4080"),
		FIELD("timestamp", "0", "4") FIELD("commit", "8", "8") FIELD("data", "16", "4080"),
		/* not a field */
		FIELD("timestamp", "0", "8") FIELD("commit", "8", "8")
			FIELD("data", "16", "4080") "x\n",
	};
	struct page_layout layout = { .size = 1 };

	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(page_layout_parse(&layout, texts[i], strlen(texts[i]), false),
				 -EINVAL);
	assert_int_equal(layout.size, 1);
	/* nothing is read past the length */
	assert_int_equal(page_layout_parse(&layout, header_64, strlen(header_64) - 30, false),
			 -EINVAL);
}

EACH_LAYOUT(order_is_found_out)
{
	static const uint64_t commits[] = { 8, 0xff0, 0x100, 8 | MADE_MISSED,
					    0xf00 | MADE_MISSED | MADE_STORED };

	for (size_t i = 0; i < COUNT(commits); i++) {
		made_begin(&page, layout, 0x0102030405060708);
		made_commit(&page, commits[i]);
		assert_order(layout, layout->header);
	}
}

UNIT_TEST(order_stays_unknown)
{
	struct page_layout layout = made_layouts[0];

	made_begin(&page, &layout, 1000);
	assert_int_equal(page_layout_guess_order(&layout, page.bytes, 4096), -ENODATA);
	assert_int_equal(page_layout_guess_order(&layout, page.bytes, 15), -ENODATA);
	memset(page.bytes, 0x5a, sizeof(page.bytes));
	assert_int_equal(page_layout_guess_order(&layout, page.bytes, 4096), -EBADMSG);
	assert_false(layout.big_endian);
}

/* ---- good pages ---- */

/* Expects records at these times. */
static void assert_times(size_t count, const uint64_t *times)
{
	assert_int_equal(read_page(), PAGE_GOOD);
	assert_int_equal(seen.records, count);
	assert_int_equal(seen.losses, 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(seen.ts[i], times[i]);
		assert_int_equal(seen.first[i], payload[0]);
	}
}

EACH_LAYOUT(records_with_times_and_sizes)
{
	static const uint64_t times[] = { 1000000, 1000005, 1000012, 1000012 + 134217727 };
	static const size_t sizes[] = { 4, 112, 116, 200 };

	made_begin(&page, layout, times[0]);
	for (size_t j = 0; j < 4; j++)
		made_record(&page, (uint32_t)(times[j] - times[j ? j - 1 : 0]), payload, sizes[j]);
	made_end(&page, 0);
	assert_times(4, times);
	read_page();
	for (size_t j = 0; j < 4; j++)
		assert_int_equal(seen.size[j], sizes[j]);
}

/*
 * An extend adds to the time. A stamp is absolute and has 59 bits; the top five come from the page
 * (trace_clock tai needs them).
 */
EACH_LAYOUT(times_of_their_own)
{
	const uint64_t tai = 1763733305000000000;
	const uint64_t extended[] = { 10000000503, 10000000503 + 1099511627776 };
	const uint64_t stamped[] = { tai + 900000000000, tai + 900000000002 };

	made_begin(&page, layout, 500);
	made_time(&page, 30, 10000000000);
	made_record(&page, 3, payload, 8);
	made_time(&page, 30, 1ull << 40);
	made_record(&page, 0, payload, 8);
	made_end(&page, 0);
	assert_times(2, extended);

	made_begin(&page, layout, tai);
	made_time(&page, 31, stamped[0] & ((1ull << 59) - 1));
	made_record(&page, 0, payload, 8);
	made_record(&page, 2, payload, 8);
	made_end(&page, 0);
	assert_times(2, stamped);
}

EACH_LAYOUT(padding_is_stepped_over)
{
	static const uint64_t times[] = { 102, 113 };

	made_begin(&page, layout, 100);
	made_padding(&page, 1, 8);
	made_record(&page, 1, payload, 8);
	made_padding(&page, 10, 64);
	made_record(&page, 1, payload, 8);
	made_padding(&page, 1, MADE_PAGE_SIZE - page.at);
	made_end(&page, 0);
	assert_times(2, times);
}

/* Padding without a delta has no length; the last four bytes of a page can be such. */
EACH_LAYOUT(null_padding_ends_the_page)
{
	static const uint64_t times[] = { 101 };

	made_begin(&page, layout, 100);
	made_record(&page, 1, payload, 8);
	made_word(&page, 29, 0);
	made_record(&page, 1, payload, 8);
	made_end(&page, 0);
	assert_times(1, times);

	made_begin(&page, layout, 100);
	while (page.at + 24 <= MADE_PAGE_SIZE)
		made_record(&page, 1, payload, 8);
	made_record(&page, 1, payload, MADE_PAGE_SIZE - page.at - 8);
	made_word(&page, 29, 0);
	assert_int_equal(page.at, MADE_PAGE_SIZE);
	made_end(&page, 0);
	assert_int_equal(read_page(), PAGE_GOOD);
	assert_in_range(seen.records, 300, SEEN_MAX);
	assert_int_equal(seen.ts[seen.records - 1], 100 + seen.records);
}

/* ---- lost records ---- */

/* Up to 6.1 the bits are added as negative ints to a long of 8 bytes: its upper half is ones. */
#define MADE_NEGATIVE 0xffffffff00000000

UNIT_TEST(losses)
{
	static const struct {
		uint64_t bits;
		uint64_t stored;
		size_t size;   /* of the record */
		size_t beyond; /* bytes of the page past its data; 0: all */
		int64_t expected;
		bool of_64_bit;
	} cases[] = {
		{ MADE_MISSED | MADE_STORED, 123456, 8, 0, 123456, false },
		{ MADE_MISSED, 0, 8, 0, RECORD_LOST_UNKNOWN, false },
		{ MADE_NEGATIVE | MADE_MISSED | MADE_STORED, 5, 8, 0, 5, true },
		/* the last bytes of the page */
		{ MADE_MISSED | MADE_STORED, 7, 4064, 0, 7, true },
		/* impossible counts */
		{ MADE_MISSED | MADE_STORED, 0, 8, 0, RECORD_LOST_UNKNOWN, false },
		{ MADE_MISSED | MADE_STORED, 1ull << 63, 8, 0, RECORD_LOST_UNKNOWN, true },
		/* no room for a count, and a count that is cut off */
		{ MADE_MISSED | MADE_STORED, 0, 4072, 0, RECORD_LOST_UNKNOWN, true },
		{ MADE_MISSED | MADE_STORED, 5, 8, 3, RECORD_LOST_UNKNOWN, false },
	};

	for (size_t i = 0; i < MADE_LAYOUTS * (COUNT(cases)); i++) {
		const struct page_layout *layout = &made_layouts[i % MADE_LAYOUTS];
		size_t c = i / MADE_LAYOUTS, end;

		if (cases[c].of_64_bit && layout->long_size == 4)
			continue;
		made_begin(&page, layout, 7000);
		made_record(&page, 1, payload, cases[c].size);
		made_end(&page, cases[c].bits);
		end = cases[c].beyond ? page.at + cases[c].beyond : sizeof(page.bytes);
		if (page.at < sizeof(page.bytes))
			made_put(&page, cases[c].stored, (size_t)layout->long_size);
		assert_int_equal(read_part(end), PAGE_GOOD);
		assert_int_equal(seen.losses, 1);
		assert_int_equal(seen.lost, cases[c].expected);
		assert_int_equal(seen.lost_ts, 7000);
		assert_int_equal(seen.records, 1);
		assert_order(layout, 4096);
	}
	made_begin(&page, &made_layouts[0], 7000);
	made_commit(&page, MADE_MISSED);
	assert_int_equal(read_page(), PAGE_EMPTY);
	assert_int_equal(seen.losses, 1);
	assert_int_equal(seen.lost, RECORD_LOST_UNKNOWN);
}

/* ---- pages that are not good ---- */

EACH_LAYOUT(empty_and_zeros)
{
	made_begin(&page, layout, 1);
	assert_int_equal(read_page(), PAGE_EMPTY);
	made_begin(&page, layout, 0);
	assert_int_equal(read_page(), PAGE_ZEROS);
	assert_int_equal(seen.records + seen.losses, 0);
}

/* The kernel fills up a page with zeros, behind the count of what was lost. */
EACH_LAYOUT(rest_that_is_not_zero)
{
	for (int missed = 0; missed < 2; missed++) {
		size_t end;

		made_begin(&page, layout, 1000);
		made_record(&page, 5, payload, 8);
		made_end(&page, missed ? MADE_MISSED | MADE_STORED : 0);
		if (missed)
			made_put(&page, 7, (size_t)layout->long_size);
		end = page.at;
		assert_int_equal(read_page(), PAGE_GOOD);
		assert_int_equal(seen.records, 1);
		for (size_t at = end; at < sizeof(page.bytes); at++) {
			page.bytes[at] = 1;
			assert_damaged();
			page.bytes[at] = 0;
		}
		/* a page that is shorter than the layout says, as a smaller one is */
		page.bytes[end + 8] = 1;
		assert_int_equal(read_part(end + 8), PAGE_GOOD);
		assert_int_equal(read_part(end + 9), PAGE_DAMAGED);
	}
}

EACH_LAYOUT(cut_pages)
{
	made_begin(&page, layout, 100);
	made_record(&page, 1, payload, 64);
	made_record(&page, 1, payload, 64);
	made_end(&page, MADE_MISSED);
	for (size_t length = 0; length < page.at; length++) {
		assert_int_equal(read_part(length), PAGE_CUT);
		assert_int_equal(seen.records + seen.losses, 0);
	}
	assert_int_equal(read_part(page.at), PAGE_GOOD);
	assert_int_equal(seen.records, 2);
}

EACH_LAYOUT(commit_over_the_page)
{
	const uint64_t commits[] = { 4096 - layout->header + 1, 0xffff0, 0x3fffffff };
	static const uint64_t bits[] = { 0, MADE_MISSED, MADE_MISSED | MADE_STORED };

	made_begin(&page, layout, 100);
	for (size_t i = 0; i < COUNT(commits) * COUNT(bits); i++) {
		made_commit(&page, commits[i / COUNT(bits)] | bits[i % COUNT(bits)]);
		assert_damaged();
	}
	/* a long of 8 bytes whose upper half is not a sign extension */
	made_begin(&page, &made_layouts[0], 100);
	made_commit(&page, 0x100000008);
	assert_damaged();
	made_commit(&page, 0xffffffff00000008);
	assert_damaged();
}

/* One good record, then one that does not fit. */
static void begin_with_good_record(const struct page_layout *layout)
{
	made_begin(&page, layout, 100);
	made_record(&page, 1, payload, 8);
}

/* @length: the word after the first, -1: none; then @rest bytes of zeros */
static void assert_bad_record(const struct page_layout *layout, uint32_t type, int64_t length,
			      size_t rest)
{
	begin_with_good_record(layout);
	made_word(&page, type, 1);
	if (length >= 0)
		made_put(&page, (uint64_t)length, 4);
	page.at += rest;
	made_end(&page, 0);
	assert_damaged();
}

EACH_LAYOUT(records_over_the_commit)
{
	/* 27 of 28 words of data */
	assert_bad_record(layout, 28, -1, 27 * 4);
	/* a stored length that is one word too long */
	assert_bad_record(layout, 0, 24, 16);
	/* time extend, time stamp, and long data without their second word */
	for (uint32_t type = 30; type <= 32; type++)
		assert_bad_record(layout, type % 32, -1, 0);
	/* half a word */
	begin_with_good_record(layout);
	made_put(&page, 0, 2);
	made_end(&page, 0);
	assert_damaged();
}

/* The padding at the end of the second page would make it valid if the length were accepted. */
EACH_LAYOUT(impossible_stored_lengths)
{
	static const uint32_t lengths[] = { 0, 1, 3, 5, 0x7fffffff, 0xfffffffc, 0xffffffff };

	for (uint32_t type = 0; type <= 29; type += 29) {
		for (size_t l = 0; l < COUNT(lengths); l++)
			assert_bad_record(layout, type, lengths[l], 32);
		begin_with_good_record(layout);
		made_word(&page, type, 1);
		made_put(&page, 6, 4);
		made_put(&page, 0, 2);
		made_word(&page, 29, 0);
		made_put(&page, 0, 2);
		made_end(&page, 0);
		assert_damaged();
	}
}

UNIT_TEST(more_than_a_page)
{
	unsigned char bytes[MADE_PAGE_SIZE + 1] = { 0 };

	begin_with_good_record(&made_layouts[0]);
	made_end(&page, 0);
	memset(&seen, 0, sizeof(seen));
	memcpy(bytes, page.bytes, MADE_PAGE_SIZE);
	assert_int_equal(read_bytes(bytes, sizeof(bytes)), PAGE_DAMAGED);
	assert_int_equal(seen.records, 0);
}

static void assert_fault(size_t length, size_t offset, const char *text)
{
	struct page_fault fault;

	assert_in_range(read_part(length), PAGE_CUT, PAGE_DAMAGED);
	page_explain(&page.layout, page.bytes, length, &fault);
	assert_string_equal(fault.text, text);
	assert_int_equal(fault.offset, offset);
}

EACH_LAYOUT(what_is_wrong)
{
	size_t second = layout->header + 12;
	char cut[32];

	made_begin(&page, layout, 0);
	assert_fault(MADE_PAGE_SIZE, 0, "of zeros");
	begin_with_good_record(layout);
	made_end(&page, MADE_MISSED);
	assert_fault(7, 7, "cut after 7 bytes");
	snprintf(cut, sizeof(cut), "cut after %zu bytes", second - 1);
	assert_fault(second - 1, second - 1, cut);
	page.bytes[3000] = 1;
	assert_fault(MADE_PAGE_SIZE, second, "data after its commit of 12 bytes");
	made_commit(&page, 0xffff0);
	assert_fault(MADE_PAGE_SIZE, 8, "a commit of 1048560 bytes in a page of 4096");
	for (size_t i = 0; i < 4; i++) {
		static const int64_t words[][2] = { { 28, -1 }, { 0, 300 }, { 29, 2 }, { 30, -1 } };

		assert_bad_record(layout, (uint32_t)words[i][0], words[i][1], i < 3 ? 12 : 0);
		assert_fault(MADE_PAGE_SIZE, second, "a record that does not end in the data");
	}
}

/* ---- its time among other pages ---- */

UNIT_TEST(pages_in_order)
{
	static const struct {
		uint64_t newest, ts, last, next;
		bool empty, expected;
	} cases[] = {
		{ 0, 10, 20, 30, false, true },
		{ 10, 10, 20, 20, false, true },
		{ 11, 10, 20, 30, false, false }, /* went back */
		{ 10, 10, 20, UINT64_MAX, false, true },
		{ 10, 10, 20, 19, false, false }, /* jumped ahead: the next one fits without it */
		{ 10, 1ull << 60, 1ull << 60, 10, false, false },
		{ 10, 15, 20, 9, false, true }, /* the next one goes back */
		{ 11, 10, 10, 30, true, true }, /* without a record there is no time */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct page_content content = { .ts = cases[i].ts,
						      .newest = cases[i].last,
						      .size = !cases[i].empty };
		uint64_t newest = cases[i].newest;

		assert_int_equal(page_in_order(&content, cases[i].next, &newest),
				 cases[i].expected);
		assert_int_equal(newest, cases[i].expected && !cases[i].empty ? cases[i].last :
										cases[i].newest);
	}
}

EACH_LAYOUT(times_of_pages)
{
	begin_with_good_record(layout);
	made_end(&page, 0);
	assert_int_equal(page_time(layout, page.bytes, 20), UINT64_MAX); /* cut */
	made_begin(&page, layout, 0x1234567800);
	made_end(&page, 0);
	assert_int_equal(page_time(layout, page.bytes, MADE_PAGE_SIZE), UINT64_MAX);
	made_begin(&page, layout, 0x1234567800);
	made_record(&page, 5, "abcd", 4);
	made_end(&page, 0);
	assert_int_equal(page_time(layout, page.bytes, MADE_PAGE_SIZE), 0x1234567800);
	assert_int_equal(page_time(layout, page.bytes, 2 * MADE_PAGE_SIZE), 0x1234567800);
}

/* ---- noise ---- */

/* With any bytes, records come only from a good page and lie inside it. */
UNIT_TEST(noise_never_leaves_the_page)
{
	struct page_layout layout;
	uint64_t seed = 88172645463325252;
	size_t given = 0;
	enum page_state found;

	for (int round = 0; round < 20000; round++) {
		layout = made_layouts[round % MADE_LAYOUTS];
		made_begin(&page, &layout, made_random(&seed));
		page.at = layout.header + made_random(&seed) % 128 * 4;
		for (size_t at = layout.header; at < page.at; at++)
			page.bytes[at] = (unsigned char)made_random(&seed);
		made_end(&page, made_random(&seed) & (MADE_MISSED | MADE_STORED));
		found = read_page();
		if (found != PAGE_GOOD)
			assert_int_equal(seen.records, 0);
		for (size_t i = 0; i < seen.records; i++)
			assert_in_range(seen.size[i], 0, page.at - layout.header - 4);
		given += seen.records;
	}
	assert_in_range(given, 100, 2000000);
}

/* ---- real pages ---- */

static void read_layout(const char *path, struct page_layout *layout)
{
	char name[256], *text;
	size_t length;

	snprintf(name, sizeof(name), "%.*s", (int)(strstr(path, "/per_cpu") - path), path);
	assert_int_equal(file_read(name, "events/header_page", &text, &length), 0);
	assert_int_equal(page_layout_parse(layout, text, length, false), 0);
	free(text);
}

/* Each page of each kernel, then with a byte changed, as often as it is accepted. */
UNIT_TEST(fixtures_as_kbuffer_reads_them)
{
	static unsigned char bytes[65536];
	struct page_content content;
	size_t pages = 0, records = 0, accepted = 0, sizes = 0;
	uint64_t seed = 20261123;
	glob_t files;

	assert_int_equal(glob("fixtures/*/per_cpu/cpu*/trace_pipe_raw", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct page_layout layout;
		int fd = open(files.gl_pathv[i], O_RDONLY);

		assert_true(fd >= 0);
		read_layout(files.gl_pathv[i], &layout);
		assert_in_range(layout.size, 4096, sizeof(bytes));
		sizes |= layout.size;
		while (read(fd, bytes, layout.size) == (ssize_t)layout.size) {
			struct page_cursor cursor;

			pages++;
			page_layout_guess_order(&layout, bytes, layout.size);
			assert_int_equal(page_check(&layout, bytes, layout.size, &content),
					 PAGE_GOOD);
			compare_with_kbuffer(&layout, bytes, &content);
			page_begin(&cursor, &layout, content.data, content.size, content.ts);
			while (page_next(&cursor) > 0)
				records++;
			for (int change = 0; change < 16; change++) {
				size_t at = layout.header + made_random(&seed) % content.size;
				unsigned char byte = bytes[at];

				bytes[at] = (unsigned char)made_random(&seed);
				if (page_check(&layout, bytes, layout.size, &content) ==
				    PAGE_GOOD) {
					compare_with_kbuffer(&layout, bytes, &content);
					accepted++;
				}
				bytes[at] = byte;
				assert_int_equal(page_check(&layout, bytes, layout.size, &content),
						 PAGE_GOOD);
			}
		}
		close(fd);
	}
	globfree(&files);
	assert_int_equal(sizes, 4096 | 16384 | 65536);
	assert_in_range(pages, 300, 900);
	assert_in_range(records, 20000, 80000);
	assert_in_range(accepted, pages, 16 * pages - 1);
}

UNIT_TEST_MAIN(NULL, NULL)
