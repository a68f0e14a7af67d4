// SPDX-License-Identifier: GPL-2.0-or-later
#include "account/histogram.h"
#include "allocfilt/base/file.h"
#include "unit_test.h"

/* What a whole histogram holds. */
struct sums {
	uint64_t rows;
	uint64_t hits;
	uint64_t requested;
	uint64_t allocated;
	uint64_t dropped;
	uint64_t unreadable;
};

static bool sum(struct sums *sums, char *text, const char *name)
{
	struct histogram_text histogram;
	struct histogram_row row;
	uint64_t number;

	*sums = (struct sums){ 0 };
	if (!histogram_begin(&histogram, text, name))
		return false;
	while (histogram_next(&histogram, &row)) {
		sums->rows++;
		sums->hits += row.count;
		if (histogram_number(row.values, "bytes_req", &number))
			sums->requested += number;
		if (histogram_number(row.values, "bytes_alloc", &number))
			sums->allocated += number;
	}
	assert_false(histogram_next(&histogram, &row));
	sums->dropped = histogram.dropped;
	sums->unreadable = histogram.unreadable;
	return true;
}

static bool sum_of(struct sums *sums, const char *text, const char *name)
{
	char *copy = strdup(text);
	bool found = sum(sums, copy, name);

	free(copy);
	return found;
}

static char *fixture(const char *kernel, const char *event)
{
	char name[64], *text;

	snprintf(name, sizeof(name), "histograms/%s/%s", kernel, event);
	assert_int_equal(file_read("fixtures", name, &text, NULL), 0);
	return text;
}

/* The sums of bytes are those of awk, over the numbers after bytes_req: and bytes_alloc:. */
static const struct {
	const char *kernel, *event;
	uint64_t requested, allocated, unreadable;
} kept[] = {
	{ "6.1", "kmalloc", 2245146, 2384072, 0 },
	{ "6.1", "kmem_cache_alloc", 2575336, 2596584, 0 },
	{ "6.1", "sched_process_exit", 0, 0, 2 },
	{ "7.3", "kmalloc", 3001889, 3167408, 0 },
	{ "7.3", "kmem_cache_alloc", 2803464, 2826000, 0 },
	{ "7.3", "sched_process_exit", 0, 0, 2 },
};

/* The kernel's own totals are in the text; a name with a newline leaves two lines. */
UNIT_TEST(test_kernels)
{
	for (size_t i = 0; i < COUNT(kept); i++) {
		char *text = fixture(kept[i].kernel, kept[i].event), name[64];
		/* ours is the last one */
		char *totals = text, *next;
		unsigned long long hits, entries, dropped;
		struct sums sums;

		while ((next = strstr(totals + 1, "Totals:\n    Hits:")))
			totals = next;
		assert_int_equal(sscanf(totals, "Totals: Hits: %llu Entries: %llu Dropped: %llu",
					&hits, &entries, &dropped),
				 3);
		snprintf(name, sizeof(name), "allocfilt_%s", kept[i].event);
		assert_true(sum(&sums, text, name));
		free(text);
		assert_int_equal(sums.unreadable, kept[i].unreadable);
		assert_int_equal(sums.rows, entries - kept[i].unreadable / 2);
		/* the other row counts one exit */
		assert_int_equal(sums.hits, hits - kept[i].unreadable / 2);
		assert_int_equal(sums.requested, kept[i].requested);
		assert_int_equal(sums.allocated, kept[i].allocated);
		assert_int_equal(sums.dropped, dropped);
	}
}

/* What the capture's script called its tasks. */
UNIT_TEST(test_odd_names)
{
	static const char *const expected[] = { "a } hitcount: 7", "b, order: 3",
						"Totals:", "[x]" };

	for (size_t i = 0; i < 2; i++) {
		char *text = fixture(i ? "7.3" : "6.1", "sched_process_exit");
		struct histogram_text histogram;
		struct histogram_row row;
		unsigned int found = 0;

		assert_true(histogram_begin(&histogram, text, "allocfilt_sched_process_exit"));
		while (histogram_next(&histogram, &row)) {
			const char *name = histogram_string(row.keys, "comm");

			assert_non_null(name);
			assert_int_equal(row.count, 1);
			for (size_t j = 0; j < COUNT(expected); j++)
				if (!strcmp(name, expected[j]))
					found |= 1u << j;
		}
		assert_int_equal(found, 15);
		free(text);
	}
}

/* Each prefix has an end, and no more than the whole. */
UNIT_TEST(test_cut)
{
	for (size_t i = 0; i < COUNT(kept); i++) {
		char *text = fixture(kept[i].kernel, kept[i].event), name[64];
		size_t length = strlen(text);
		struct sums whole, part;

		snprintf(name, sizeof(name), "allocfilt_%s", kept[i].event);
		assert_true(sum_of(&whole, text, name));
		for (size_t cut = 0; cut < length; cut += cut < 1000 ? 1 : 37) {
			char *copy = strndup(text, cut);

			if (sum(&part, copy, name)) {
				assert_true(part.rows <= whole.rows);
				assert_true(part.unreadable <= whole.unreadable + 1);
			}
			free(copy);
		}
		free(text);
	}
}

#define HEAD(name)                                                                                 \
	"# event histogram\n#\n# trigger info: hist:" name                                         \
	":vals=hitcount:sort=hitcount:size=128 "                                                   \
	"[active]\n#\n\n"
#define TOTALS(dropped) "\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: " #dropped "\n"
#define ROW(pid, count) "{ common_pid:          " #pid " } hitcount:          " #count "\n"

UNIT_TEST(test_which_histogram)
{
	static const char other[] = HEAD("name=theirs:keys=common_pid") ROW(1, 100) TOTALS(5);
	static const char ours[] = HEAD("name=allocfilt_x:keys=common_pid") ROW(1, 3) TOTALS(7);
	static const char longer[] = HEAD("name=allocfilt_xy:keys=common_pid") ROW(1, 50) TOTALS(9);
	char text[2048];
	struct sums sums;

	for (int order = 0; order < 3; order++) {
		snprintf(text, sizeof(text), "%s\n\n%s\n\n%s", order ? other : ours,
			 order == 1 ? ours : longer, order == 2 ? ours : other);
		assert_true(sum_of(&sums, text, "allocfilt_x"));
		assert_int_equal(sums.rows, 1);
		assert_int_equal(sums.hits, 3);
		assert_int_equal(sums.dropped, 7);
		assert_int_equal(sums.unreadable, 0);
	}
	assert_false(sum_of(&sums, other, "allocfilt_x"));
	assert_false(sum_of(&sums, longer, "allocfilt_x"));
	assert_false(sum_of(&sums, HEAD("keys=allocfilt_x"), "allocfilt_x"));
	assert_false(sum_of(&sums, "", "allocfilt_x"));
	assert_false(sum_of(&sums, "\n\n", "allocfilt_x"));
	/* a head alone */
	assert_true(sum_of(&sums, "# trigger info: hist:name=allocfilt_x:keys", "allocfilt_x"));
	assert_int_equal(sums.rows, 0);
}

UNIT_TEST(test_lines)
{
	static const struct {
		const char *text;
		struct sums sums;
	} cases[] = {
		/* no totals */
		{ ROW(1, 3) ROW(2, 4), { .rows = 2, .hits = 7 } },
		{ ROW(1, 18446744073709551615), { .rows = 1, .hits = UINT64_MAX } },
		/* more than any counter: the largest one */
		{ ROW(1, 99999999999999999999), { .rows = 1, .hits = UINT64_MAX } },
		{ ROW(1, -3) ROW(1, x), { .unreadable = 2 } },
		{ "{ common_pid: 1 }\n", { .unreadable = 1 } },
		{ "common_pid: 1 } hitcount: 1\n", { .unreadable = 1 } },
		{ "{ } hitcount: 1\n", { .unreadable = 1 } },
		{ "{  } hitcount: 1\n", { .rows = 1, .hits = 1 } },
		{ "} hitcount: 1\n", { .unreadable = 1 } },
		{ " } hitcount: 1\n", { .unreadable = 0 } },
		{ "{ comm: a\nb } hitcount: 1\n" ROW(1, 2) TOTALS(3),
		  { .rows = 1, .hits = 2, .dropped = 3, .unreadable = 2 } },
		{ "{ comm: a\n } hitcount: 1\n" ROW(1, 2),
		  { .rows = 1, .hits = 2, .unreadable = 1 } },
		{ "{ comm: Totals: } hitcount: 1\n" ROW(1, 2), { .rows = 2, .hits = 3 } },
		{ "{ comm: \nTotals:\n } hitcount: 1\n" ROW(1, 2),
		  { .rows = 1, .hits = 2, .unreadable = 1 } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[1024];
		struct sums sums;

		snprintf(text, sizeof(text), HEAD("name=allocfilt_x:keys=k") "%s", cases[i].text);
		assert_true(sum_of(&sums, text, "allocfilt_x"));
		if (memcmp(&sums, &cases[i].sums, sizeof(sums)))
			fail_msg("%zu: rows %d, hits %llu, dropped %d, unreadable %d", i,
				 (int)sums.rows, (unsigned long long)sums.hits, (int)sums.dropped,
				 (int)sums.unreadable);
	}
}

UNIT_TEST(test_values)
{
	static const char *const none[] = { "", "x:", "x:    ", "x" };
	static const char keys[] =
		"common_pid:        126, pid:  7, order:          0, name: pid: 9";
	char blanks[] = "comm:      ", last[] = "comm: a, comm: b   ",
	     inner[] = "common_pid: 7, comm:  a  b  ";
	char without[] = "common_pid: 1";
	uint64_t number = 5;

	assert_true(histogram_number(keys, "pid", &number));
	assert_int_equal(number, 7);
	assert_true(histogram_number(keys, "common_pid", &number));
	assert_int_equal(number, 126);
	assert_true(histogram_number(keys, "order", &number));
	assert_int_equal(number, 0);
	assert_false(histogram_number(keys, "name", &number));
	assert_false(histogram_number(keys, "d", &number));
	assert_false(histogram_number(keys, "common", &number));
	for (size_t i = 0; i < COUNT(none); i++)
		assert_false(histogram_number(none[i], "x", &number));
	assert_int_equal(number, 0);
	assert_string_equal(histogram_string(blanks, "comm"), "");
	assert_string_equal(histogram_string(last, "comm"), "a, comm: b");
	/* a blank that a name begins with cannot be told from the kernel's */
	assert_string_equal(histogram_string(inner, "comm"), "a  b");
	assert_null(histogram_string(without, "comm"));
}

UNIT_TEST(test_symbols)
{
	static const struct {
		const char *keys, *name;
		uint64_t address;
	} cases[] = {
		{ "call_site: [ffffffff81a5e33d] seq_read_iter+0x38d/0x480      ",
		  "seq_read_iter+0x38d", 0xffffffff81a5e33d },
		{ "common_pid: 7, call_site: [ffffffffc0123456] foo+0x1/0x2 [ext4]     , name: x",
		  "foo+0x1 [ext4]", 0xffffffffc0123456 },
		{ "call_site: [ffffffff9b3f7be9] a.constprop.0+0x3c/0x100   , name: filp  ",
		  "a.constprop.0+0x3c", 0xffffffff9b3f7be9 },
		{ "call_site: [ffffffffc0123456] 0xffffffffc0123456     ", "0xffffffffc0123456",
		  0xffffffffc0123456 },
		{ "call_site: [c0123456] f+0x0/0x10", "f+0x0", 0xc0123456 },
		{ "call_site: [ffffffff81a5e33d]     ", NULL, 0 },
		{ "call_site: [ffffffff81a5e33d", NULL, 0 },
		{ "call_site: [", NULL, 0 },
		{ "call_site: []", NULL, 0 },
		{ "call_site: ffffffff81a5e33d", NULL, 0 },
		{ "call_site: [x] f+0x1/0x2", NULL, 0 },
		{ "call_site:", NULL, 0 },
		{ "name: [1] f+0x1/0x2", NULL, 0 },
		{ "call_site: [1] /", NULL, 1 },
		{ "call_site: [1] [x]", "[x]", 1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char *keys = strdup(cases[i].keys);
		uint64_t address = 0;
		const char *name = histogram_symbol(keys, "call_site", &address);

		if (!name != !cases[i].name)
			fail_msg("%s: %s", cases[i].keys, name ? name : "none");
		if (name) {
			assert_string_equal(name, cases[i].name);
			assert_int_equal(address, cases[i].address);
		}
		free(keys);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
