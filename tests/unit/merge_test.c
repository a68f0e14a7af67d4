// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/record/merge.h"
#include "made_cpus.h"
#include "made_page.h"
#include "notes.h"
#include "unit_test.h"

#define CPUS_MAX  256
#define PAGES_MAX 16 /* of a CPU */

static const struct page_layout *const layout = &made_layouts[0];

/* A page that waits to be read. */
struct waiting_page {
	struct made_page made;
	int64_t lost;
	int after; /* so many pages have to be read before it is there */
};

static struct {
	struct merge *merge;
	bool grows;
	struct waiting_page pages[4][PAGES_MAX];
	int count[4], next[4];
	bool ended[4];
	struct made_page given[4]; /* by CPU: what is valid until the next read */
	int reads;		   /* that gave a page */
	int fail;		   /* the next read fails so */
	uint64_t last;
	bool sorted;
} run;

/* A damaged page has no content, and is a loss. */
static int read_waiting(void *context, int place, uint64_t *newest, struct page_content *content)
{
	struct waiting_page *page = &run.pages[place][run.next[place]];
	int ret = run.fail;

	run.fail = 0;
	memset(&run.given[place], 0xee, sizeof(run.given[place]));
	if (ret)
		return ret;
	assert_false(run.ended[place]);
	if (run.next[place] == run.count[place] || run.reads < page->after) {
		run.ended[place] = !run.grows;
		return 0;
	}
	run.reads++;
	run.next[place]++;
	run.given[place] = page->made;
	*content = (struct page_content){ .ts = UINT64_MAX, .lost = RECORD_LOST_UNKNOWN };
	if (page->made.at)
		assert_in_range(page_check(layout, run.given[place].bytes, MADE_PAGE_SIZE, content),
				PAGE_GOOD, PAGE_EMPTY);
	if (page->lost)
		content->lost = page->lost;
	return 1;
}

static void start(const struct cpu_list *cpus, const struct page_source *source)
{
	clear_notes();
	merge_free(run.merge);
	memset(&run, 0, sizeof(run));
	run.sorted = true;
	run.grows = source->grows;
	run.merge = merge_new(cpus, layout, source);
	assert_non_null(run.merge);
}

static int tear_down(void **state)
{
	merge_free(run.merge);
	run.merge = NULL;
	return 0;
}

/* "TIME/CPU", or "TIME/CPU#NUMBER" with a number in it, or "TIME/CPU?UNTIL" for a loss. All bytes are looked at. */
static void note_record(const struct raw_record *raw)
{
	uint32_t number;

	run.sorted &= raw->ts >= run.last;
	run.last = raw->ts;
	note_separator(" ");
	note("%" PRIu64 "/%d", raw->ts, raw->cpu);
	if (!raw->data) {
		note("?%s", raw->lost == 5 ? "" : "?");
		if (raw->until != UINT64_MAX)
			note("%" PRIu64, raw->until);
		return;
	}
	assert_int_equal(raw->lost, 0);
	assert_in_range(raw->size, sizeof(number), MADE_PAGE_SIZE);
	memcpy(&number, raw->data, sizeof(number));
	for (size_t i = 0; i < raw->size; i++)
		assert_int_equal(((const unsigned char *)raw->data)[i],
				 ((const unsigned char *)&number)[i % 4]);
	if (number)
		note("#%u", number);
}

static int pass_all(void)
{
	struct raw_record raw;
	int ret;

	while ((ret = merge_next(run.merge, &raw)) > 0)
		note_record(&raw);
	return ret;
}

static void add_record(struct made_page *page, uint64_t delta, uint32_t number, size_t size)
{
	uint32_t words[64];

	for (size_t i = 0; i < size / 4; i++)
		words[i] = number;
	made_time(page, 30, delta);
	made_record(page, 0, words, size);
}

static struct waiting_page *add_page(int place)
{
	assert_in_range(run.count[place], 0, PAGES_MAX - 1);
	return &run.pages[place][run.count[place]++];
}

/*
 * A run as text: "CPU:TIME" or "CPU:TIME#NUMBER" is a page of a record, "CPU:TIME+DELTA+DELTA" one of
 * several, "CPU?TIME+DELTA" one with a loss before it, "CPU!" one that is damaged, "CPU-TIME" one of
 * padding; "%N" behind a page: it is there when N pages were read. "|" reads until there is nothing.
 */
static void add_pages(const char *script)
{
	for (; *script; script += strspn(script, " ")) {
		struct waiting_page *page;
		uint64_t ts;
		char *end, kind;

		if (*script == '|') {
			assert_int_equal(pass_all(), 0);
			note_separator(" ");
			note("|");
			script++;
			continue;
		}
		page = add_page((int)strtol(script, &end, 10));
		kind = *end++;
		ts = kind == '!' ? 0 : strtoull(end, &end, 10);
		if (kind != '!')
			made_begin(&page->made, layout, ts);
		if (kind == '?')
			page->lost = 5;
		if (kind == '-')
			made_padding(&page->made, 90, 64);
		if (kind == ':')
			add_record(&page->made, 0,
				   *end == '#' ? (uint32_t)strtoul(end + 1, &end, 10) : 0, 8);
		while (*end == '+')
			add_record(&page->made, strtoull(end + 1, &end, 10), 0, 4);
		if (kind != '!')
			made_end(&page->made, 0);
		if (*end == '%')
			page->after = (int)strtol(end + 1, &end, 10);
		script = end;
	}
}

/* Reads at the end, too. */
static void play(const char *script)
{
	add_pages(script);
	assert_int_equal(pass_all(), 0);
}

#define TEST(name) UNIT_TEST_WITH(name, NULL, tear_down)

TEST(test_order)
{
	static const struct {
		const char *script;
		const char *expected;
	} cases[] = {
		{ "", "" },
		{ "2:10 2:40 0:20 1:30 1:50", "10/2 20/0 30/1 40/2 50/1" },
		/* equal times: the lower place first, each CPU's in their order */
		{ "2:10#1 2:10#2 1:10#1 1:10#2 0:10#1 0:10#2",
		  "10/0#1 10/0#2 10/1#1 10/1#2 10/2#1 10/2#2" },
		/* runs of a page, up to the others' next */
		{ "1:10+10+30 0:25+5+40 2:20+80", "10/1 20/1 20/2 25/0 30/0 50/1 70/0 100/2" },
		{ "1:10+20 0:30", "10/1 30/0 30/1" },
		{ "0:10+20+0 1:30+0+5", "10/0 30/0 30/0 30/1 30/1 35/1" },
		/* a loss is right behind the record before it, and lasts up to the time of its page */
		{ "0:10+10 1:15 0?30+0", "10/0 15/1 20/0 20/0?30 30/0" },
		{ "1:15 0:10+10 1:25 0?30+0", "10/0 15/1 20/0 20/0?30 25/1 30/0" },
		{ "0?10+20+5 1:25", "0/0?10 25/1 30/0 35/0" },
		{ "0?7", "0/0?7" },
		/* a damaged page has no time */
		{ "0:10+10 0! 1:15", "10/0 15/1 20/0 20/0??" },
		{ "0! 0! 0:10", "0/0?? 0/0?? 10/0" },
		/* padding has no record, and its time does not matter */
		{ "0-10 0:20 1:30", "20/0 30/1" },
		{ "0-10 0-11 1-12", "" },
	};
	const struct cpu_list cpus = made_cpus(3);

	for (size_t i = 0; i < COUNT(cases); i++)
		for (int grows = 0; grows < 2; grows++) {
			start(&cpus, &(struct page_source){ read_waiting, NULL, grows });
			play(cases[i].script);
			assert_string_equal(notes.text, cases[i].expected);
		}
}

/* A CPU that had nothing is read again before a record goes that is newer than all that was seen then. */
TEST(test_order_of_buffers_that_grow)
{
	static const struct {
		const char *script;
		const char *expected;
	} cases[] = {
		{ "0:10 | 1:20 | 0:30 |", "10/0 | 20/1 | 30/0 |" },
		{ "| | 2:5 |", "| | 5/2 |" },
		/* CPU 1 wrote 20 after it was read, and before CPU 0 wrote 30 */
		{ "0:10 0:30 1:20%2", "10/0 20/1 30/0" },
		{ "2:10 2:30 2:50 0:20%2 0:40%4 1:45%5", "10/2 20/0 30/2 40/0 45/1 50/2" },
		{ "0:10+40 0:50+50 1:70%2", "10/0 50/0 50/0 70/1 100/0" },
		/* within a page too */
		{ "0:10+20 1:20%1", "10/0 20/1 30/0" },
		/* a loss is not older than what went while there was no page */
		{ "0:10 | 1:40 | 0?60+5 |", "10/0 | 40/1 | 40/0?60 65/0 |" },
		/* an older one than what has gone: the clocks of the CPUs differ */
		{ "0:10 0:30 | 1:20 |", "10/0 30/0 | 20/1 |" },
	};
	const struct cpu_list cpus = made_cpus(3);

	for (size_t i = 0; i < COUNT(cases); i++) {
		start(&cpus, &(struct page_source){ read_waiting, NULL, true });
		play(cases[i].script);
		assert_string_equal(notes.text, cases[i].expected);
	}
}

/* The merge goes on with the same CPU, and nothing is lost. */
TEST(test_source_that_fails)
{
	const struct cpu_list cpus = made_cpus(2);

	for (int at = 0; at < 8; at++) {
		struct raw_record raw;

		start(&cpus, &(struct page_source){ read_waiting, NULL, true });
		add_pages("0:0 1:10 0:20 1:30");
		for (int i = 0; i < at; i++)
			if (merge_next(run.merge, &raw) > 0)
				note_record(&raw);
		run.fail = -EIO;
		assert_int_equal(pass_all(), -EIO);
		assert_int_equal(pass_all(), 0);
		assert_string_equal(notes.text, "0/0 10/1 20/0 30/1");
	}
}

TEST(test_reset)
{
	const struct cpu_list cpus = made_cpus(2);
	struct raw_record raw;

	start(&cpus, &(struct page_source){ read_waiting, NULL, true });
	add_pages("0:10 1:10");
	assert_int_equal(merge_next(run.merge, &raw), 1);
	merge_reset(run.merge);
	/* earlier: it is another buffer */
	play("1:5");
	assert_string_equal(notes.text, "5/1");
}

TEST(test_sizes_and_numbers)
{
	static const int numbers[] = { 7, 6000, 65535 };
	const struct cpu_list none = made_cpus(0);
	const struct page_source source = { read_waiting };

	assert_null(merge_new(&none, layout, &source));
	assert_int_equal(errno, EINVAL);
	merge_free(NULL);
	/* with gaps */
	start(&(struct cpu_list){ numbers, 3 }, &source);
	play("2:20 0:100 1:10 1:20");
	assert_string_equal(notes.text, "10/6000 20/6000 20/65535 100/7");
}

/* ---- a machine that writes all the time ---- */

static struct {
	int cpus;
	uint64_t now;
	uint64_t read_to[CPUS_MAX];
	struct made_page pages[CPUS_MAX];
} load;

/* Each record's time is when it was written; a CPU writes at multiples of its own number. */
static int read_load(void *context, int place, uint64_t *newest, struct page_content *content)
{
	uint64_t step = (uint64_t)place + 2, next = load.read_to[place] + step;
	struct made_page *page = &load.pages[place];
	int records = 1 + (int)(random() % 20);

	load.now += random() % 8; /* while we read */
	if (next > load.now)
		return 0;
	made_begin(page, layout, load.read_to[place]);
	for (; next <= load.now && records--; next += step)
		add_record(page, step, 0, 4);
	load.read_to[place] = next - step;
	made_end(page, 0);
	assert_int_equal(page_check(layout, page->bytes, MADE_PAGE_SIZE, content), PAGE_GOOD);
	return 1;
}

/* All that was written before the newest record has come, of each CPU. */
static void check_load(int count, int turns)
{
	const struct cpu_list cpus = made_cpus(count);
	uint64_t passed = 0, before = 0, with = 0;
	struct raw_record raw;

	memset(&load, 0, sizeof(load));
	start(&cpus, &(struct page_source){ read_load, NULL, true });
	notes.quiet = true;
	srandom(1);
	for (int turn = 0; turn < turns; turn++) {
		int most = 1 + (int)(random() % 100);

		/* Between turns there are timers and signals. */
		load.now += random() % 50;
		while (most-- && merge_next(run.merge, &raw) > 0) {
			note_record(&raw);
			passed++;
		}
	}
	for (int place = 0; place < count; place++) {
		before += (run.last - 1) / (uint64_t)(place + 2);
		with += run.last / (uint64_t)(place + 2);
	}
	assert_in_range(passed, before, with);
	assert_true(run.sorted);
	assert_true(passed > (uint64_t)turns);
}

TEST(test_order_under_load)
{
	check_load(1, 100);
	check_load(5, 2000);
	check_load(CPUS_MAX, 2000);
}

UNIT_TEST_MAIN(NULL, NULL)
