// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "made_cpus.h"
#include "made_page.h"
#include "notes.h"
#include "unit_test.h"

static const struct page_layout *const layout = &made_layouts[0];

/* A record is noted as "TIME/CPU" or, where it has a number, "TIME/CPU#NUMBER"; a loss as "TIME/CPU?". */
static struct {
	struct merge *merge;
	uint64_t last;
	uint64_t count;
	bool sorted;
	int fail;
} run;

static int passed_on(uint64_t ts)
{
	run.count++;
	if (ts < run.last)
		run.sorted = false;
	run.last = ts;
	note_separator(" ");
	return run.fail;
}

static int got(void *context, int cpu, uint64_t ts, const void *data, size_t size)
{
	uint32_t number;
	int ret = passed_on(ts);

	assert_in_range(size, sizeof(number), MADE_PAGE_SIZE);
	memcpy(&number, data, sizeof(number));
	for (size_t i = 0; i < size; i++)
		assert_int_equal(((const unsigned char *)data)[i],
				 ((const unsigned char *)&number)[i % 4]);
	note(number ? "%" PRIu64 "/%d#%u" : "%" PRIu64 "/%d", ts, cpu, number);
	return ret;
}

static int got_lost(void *context, int cpu, uint64_t ts, int64_t count)
{
	int ret = passed_on(ts);

	assert_int_equal(count, 5);
	note("%" PRIu64 "/%d?", ts, cpu);
	return ret;
}

static const struct merge_sink sink = { .record = got, .lost = got_lost };

static void start_with(const struct cpu_list *cpus, size_t share)
{
	clear_notes();
	merge_free(run.merge);
	memset(&run, 0, sizeof(run));
	run.sorted = true;
	run.merge = merge_new(cpus, layout, share, &sink);
	assert_non_null(run.merge);
}

static void start(int count, size_t share)
{
	struct cpu_list cpus = made_cpus(count);

	start_with(&cpus, share);
}

static int tear_down(void **state)
{
	merge_free(run.merge);
	run.merge = NULL;
	return 0;
}

static int put_page(int cpu, const struct made_page *page)
{
	struct page_content content;

	assert_in_range(page_check(layout, page->bytes, MADE_PAGE_SIZE, &content), PAGE_GOOD,
			PAGE_EMPTY);
	return merge_put(run.merge, cpu, &content);
}

static void add_record(struct made_page *page, uint64_t delta, uint32_t number, size_t size)
{
	uint32_t words[64];

	for (size_t i = 0; i < size / 4; i++)
		words[i] = number;
	made_time(page, 30, delta);
	made_record(page, 0, words, size);
}

/* A page of one record. */
static int put_numbered(int cpu, uint64_t ts, int number)
{
	struct made_page page;

	made_begin(&page, layout, ts);
	add_record(&page, 0, (uint32_t)number, 8);
	made_end(&page, 0);
	return put_page(cpu, &page);
}

static void put(int cpu, uint64_t ts)
{
	assert_int_equal(put_numbered(cpu, ts, 0), 0);
}

static void end_round(void)
{
	assert_int_equal(merge_end_round(run.merge), 0);
}

static void test_bad_sizes(void **state)
{
	struct cpu_list cpus = made_cpus(0);

	assert_null(merge_new(&cpus, layout, 1, &sink));
	assert_int_equal(errno, EINVAL);
	cpus.count = 1;
	assert_null(merge_new(&cpus, layout, 0, &sink));
	assert_int_equal(errno, EINVAL);
	merge_free(NULL);
}

/*
 * A run as text: "CPU:TIME" or "CPU:TIME#NUMBER" puts a page of a record, "CPU:TIME+DELTA+DELTA" one
 * of several, "CPU?TIME" a loss, "CPU!" leaves a CPU with data, "|" ends a round, "." flushes. What
 * comes out has the "|" of its rounds.
 */
static void play(const char *script)
{
	for (; *script; script += strspn(script, " ")) {
		struct made_page page;
		uint64_t ts;
		char *end, kind;
		int cpu;

		if (*script == '|') {
			end_round();
			note_separator(" ");
			note("|");
			script++;
			continue;
		}
		if (*script == '.') {
			assert_int_equal(merge_flush(run.merge), 0);
			script++;
			continue;
		}
		cpu = (int)strtol(script, &end, 10);
		script = end + 1;
		if (*end == '!') {
			merge_left_with_data(run.merge, cpu);
			continue;
		}
		kind = *end;
		ts = strtoull(script, &end, 10);
		script = end;
		made_begin(&page, layout, ts);
		if (kind == '?') {
			const struct page_content loss = { .ts = ts, .newest = ts, .lost = 5 };

			assert_int_equal(merge_put(run.merge, cpu, &loss), 0);
			continue;
		}
		assert_int_equal(kind, ':');
		add_record(&page, 0, *script == '#' ? strtoul(script + 1, &end, 10) : 0, 8);
		for (; *end == '+'; add_record(&page, ts, 0, 4))
			ts = strtoull(end + 1, &end, 10);
		script = end;
		made_end(&page, 0);
		assert_int_equal(put_page(cpu, &page), 0);
	}
}

static void test_order(void **state)
{
	static const struct {
		const char *script;
		const char *expected;
	} cases[] = {
		/* a flush passes all on */
		{ "2:10 2:40 0:20 1:30 1:50 .", "10/2 20/0 30/1 40/2 50/1" },
		/* equal times: the lower CPU first, each CPU's in their order */
		{ "2:10#1 2:10#2 1:10#1 1:10#2 0:10#1 0:10#2 .",
		  "10/0#1 10/0#2 10/1#1 10/1#2 10/2#1 10/2#2" },
		/* runs of a page, up to the others' next */
		{ "1:10+10+30 0:25+5+40 2:20+80 .", "10/1 20/1 20/2 25/0 30/0 50/1 70/0 100/2" },
		{ "0:10+20+0 1:30+0+5 .", "10/0 30/0 30/0 30/1 30/1 35/1" },
		/* up to the line */
		{ "0:10+10+30 1:25+5 | 0:60 | .", "| 10/0 20/0 25/1 30/1 50/0 | 60/0" },
		/* what one round saw can go when the next one has ended, not before */
		{ "0:10 0:30 | 1:20 1:40 | |", "| 10/0 20/1 30/0 | 40/1 |" },
		/* all up to 100 was seen, but CPU 1 was read up to 20 only */
		{ "0:100 1:10 1! | 1:20 1! | 1:90 |", "| 10/1 20/1 | 90/1 100/0 |" },
		/* a CPU that was never read holds everything; the mark is of one round */
		{ "0:100 | 1! | |", "| | 100/0 |" },
		/* time that goes back is put at the newest of its CPU */
		{ "0:100#1 0:50#2 0:110#3 1:60#4 .", "60/1#4 100/0#1 100/0#2 110/0#3" },
		{ "0:100 | | 0:50+55 .", "| 100/0 | 100/0 105/0" },
		/* a loss stands before the records of its page, at the newest time of its CPU */
		{ "0:10+10 1:15 0?30 0:30 .", "10/0 15/1 20/0 30/0? 30/0" },
		{ "0:10+10 0?0 1:15 .", "10/0 15/1 20/0 20/0?" },
		{ "0?7 .", "7/0?" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		start(3, 10);
		play(cases[i].script);
		assert_string_equal(notes.text, cases[i].expected);
	}
}

/* A loss stands at the time of its page; the records after it have their own. */
static void test_records_after_a_loss(void **state)
{
	struct page_content content;
	struct made_page page;

	start(2, 10);
	made_begin(&page, layout, 10);
	add_record(&page, 20, 0, 8);
	add_record(&page, 5, 0, 8);
	made_end(&page, 0);
	assert_int_equal(page_check(layout, page.bytes, MADE_PAGE_SIZE, &content), PAGE_GOOD);
	content.lost = 5;
	assert_int_equal(merge_put(run.merge, 0, &content), 0);
	play("1:25 .");
	assert_string_equal(notes.text, "10/0? 25/1 30/0 35/0");
}

/* Of what no record follows the time does not matter, as in page_check(). */
static void test_time_behind_the_last_record(void **state)
{
	struct made_page page;

	start(2, 10);
	made_begin(&page, layout, 10);
	add_record(&page, 0, 0, 8);
	made_padding(&page, 90, 64);
	made_end(&page, 0);
	assert_int_equal(put_page(0, &page), 0);
	play("0:20 1:30 .");
	assert_string_equal(notes.text, "10/0 20/0 30/1");
}

static void test_room_is_shared(void **state)
{
	struct made_page padding;

	start(2, 3);
	put(0, 10);
	put(0, 11);
	assert_true(merge_room(run.merge, 0));
	put(0, 12);
	assert_false(merge_room(run.merge, 0));
	assert_int_equal(put_numbered(0, 13, 0), -ENOSPC);
	assert_true(merge_room(run.merge, 1));
	assert_int_equal(merge_flush(run.merge), 0);
	assert_true(merge_room(run.merge, 0));
	/* what has nothing to pass on takes no room */
	made_begin(&padding, layout, 50);
	made_end(&padding, 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(put_page(0, &padding), 0);
	made_padding(&padding, 1, 64);
	made_end(&padding, 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(put_page(0, &padding), 0);
	put(0, 60);
	assert_int_equal(merge_flush(run.merge), 0);
	assert_string_equal(notes.text, "10/0 11/0 12/0 60/0");
}

/* What the sink refused is not passed on again; all others are. */
static void test_failing_sink(void **state)
{
	start(1, 4);
	play("0:10+5 0:20 0:30 0?40");
	run.fail = -EPIPE;
	end_round();
	assert_int_equal(merge_end_round(run.merge), -EPIPE);
	assert_int_equal(merge_flush(run.merge), -EPIPE);
	assert_int_equal(merge_flush(run.merge), -EPIPE);
	run.fail = 0;
	assert_string_equal(notes.text, "10/0 15/0 20/0");
	assert_int_equal(merge_flush(run.merge), 0);
	assert_string_equal(notes.text, "10/0 15/0 20/0 30/0 40/0?");
}

/* What has to wait for whom is the same, whatever the CPUs are called. */
static void test_numbers_with_gaps(void **state)
{
	static const int numbers[] = { 7, 6000, 65535 };
	const struct cpu_list cpus = { numbers, 3 };

	start_with(&cpus, 10);
	play("65535:20 7:100 6000:10 6000:20 6000! | 6000! | |");
	assert_string_equal(notes.text, "| 10/6000 20/6000 20/65535 | 100/7 |");
	assert_int_equal(put_numbered(-1, 10, 0), -EINVAL);
	assert_int_equal(put_numbered(0, 10, 0), -EINVAL);
	assert_int_equal(put_numbered(5999, 10, 0), -EINVAL);
	assert_int_equal(put_numbered(65536, 10, 0), -EINVAL);
	assert_false(merge_room(run.merge, 0));
	assert_true(merge_room(run.merge, 65535));
	merge_left_with_data(run.merge, 0);
}

/* got() looks at all bytes. */
static void test_records_outlive_their_page(void **state)
{
	struct made_page page;

	start(1, 2);
	for (uint32_t number = 1; number < 3; number++) {
		made_begin(&page, layout, 10 * number);
		add_record(&page, 0, number, 128);
		made_end(&page, 0);
		assert_int_equal(put_page(0, &page), 0);
		memset(page.bytes, 'x', sizeof(page.bytes));
	}
	assert_int_equal(merge_flush(run.merge), 0);
	assert_string_equal(notes.text, "10/0#1 20/0#2");
}

static void test_page_above_the_layout(void **state)
{
	static const unsigned char bytes[MADE_PAGE_SIZE];
	const struct page_content content = { bytes, MADE_PAGE_SIZE - 16 + 4, 10, 10, 0 };

	start(1, 4);
	assert_int_equal(merge_put(run.merge, 0, &content), -EINVAL);
	assert_int_equal(merge_flush(run.merge), 0);
	assert_int_equal(run.count, 0);
}

/*
 * A machine that writes all the time, read under a quota: each record's time is when it was
 * written, and reading goes on while it is written.
 */
static void test_order_under_load(void **state)
{
	enum { SIM_CPUS = 5, ROUNDS = 2000, QUOTA = 7 };
	uint64_t read_to[SIM_CPUS] = { 0 };
	uint64_t now = 0;
	uint64_t given = 0;

	start(SIM_CPUS, 20);
	notes.quiet = true;
	srandom(1);
	for (int round = 0; round < ROUNDS; round++) {
		for (int cpu = 0; cpu < SIM_CPUS; cpu++) {
			int n = 0;

			now += random() % 8; /* while we read */
			/* a CPU writes when time % its own number is 0 */
			while (n < QUOTA && merge_room(run.merge, cpu) &&
			       read_to[cpu] + cpu + 2 <= now) {
				read_to[cpu] += cpu + 2;
				put(cpu, read_to[cpu]);
				given++;
				n++;
			}
			if (read_to[cpu] + cpu + 2 <= now)
				merge_left_with_data(run.merge, cpu);
		}
		end_round();
	}
	assert_int_equal(merge_flush(run.merge), 0);
	assert_true(run.sorted);
	assert_int_equal(run.count, given);
	for (int cpu = 0; cpu < SIM_CPUS; cpu++)
		assert_true(read_to[cpu] > now / 2);
}

/* The shares of many CPUs are small, yet a page for each; their pages go far ahead in turn. */
static void test_many_cpus(void **state)
{
	enum { MANY = 256, RECORDS = 200, PAGES = 8 };
	uint64_t ts[MANY] = { 0 };
	int pages[MANY] = { 0 };
	int left = MANY * PAGES;

	start(MANY, 1);
	notes.quiet = true;
	srandom(1);
	for (int round = 0; left && round < 2 * MANY * PAGES; round++) {
		for (int cpu = 0; cpu < MANY; cpu++) {
			if (pages[cpu] == PAGES)
				continue;
			if (merge_room(run.merge, cpu)) {
				struct made_page page;

				made_begin(&page, layout, ts[cpu]);
				for (int i = 0; i < RECORDS; i++) {
					uint64_t delta = 1 + random() % (cpu + 1);

					add_record(&page, delta, 0, 4);
					ts[cpu] += delta;
				}
				made_end(&page, 0);
				assert_int_equal(put_page(cpu, &page), 0);
				pages[cpu]++;
				left--;
			}
			if (pages[cpu] < PAGES)
				merge_left_with_data(run.merge, cpu);
		}
		end_round();
	}
	assert_int_equal(left, 0);
	assert_int_equal(merge_flush(run.merge), 0);
	assert_true(run.sorted);
	assert_int_equal(run.count, MANY * PAGES * RECORDS);
}

static void test_shares(void **state)
{
	assert_int_equal(merge_share(1, 4096), 64);
	assert_int_equal(merge_share(16, 4096), 64);
	assert_int_equal(merge_share(17, 4096), 60);
	/* however many, and however large a page, one is held */
	assert_int_equal(merge_share(8192, 4096), 1);
	assert_int_equal(merge_share(1, 1 << 20), 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bad_sizes),
		TEST(test_order),
		TEST(test_records_after_a_loss),
		TEST(test_time_behind_the_last_record),
		TEST(test_room_is_shared),
		TEST(test_failing_sink),
		TEST(test_numbers_with_gaps),
		TEST(test_records_outlive_their_page),
		TEST(test_page_above_the_layout),
		TEST(test_order_under_load),
		TEST(test_many_cpus),
		TEST(test_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
