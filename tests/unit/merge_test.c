// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/record.h"
#include "made_cpus.h"
#include "notes.h"
#include "record/record_ring.h"
#include "unit_test.h"

#define HELD 32 /* bytes of a record of this test: 24, and its one word of fields */

/* A record is noted as "TIME/CPU" or, where it has a tid to tell it by, "TIME/CPU#TID". */
static struct {
	struct merge *merge;
	uint64_t last;
	uint64_t count;
	bool sorted;
	int fail;
} run;

static int got(void *context, const struct record *record)
{
	run.count++;
	if (record->ts < run.last)
		run.sorted = false;
	run.last = record->ts;
	note_separator(" ");
	note(record->tid ? "%" PRIu64 "/%d#%d" : "%" PRIu64 "/%d", record->ts, record->cpu,
	     record->tid);
	return run.fail;
}

static void start_with(const struct cpu_list *cpus, size_t share)
{
	clear_notes();
	merge_free(run.merge);
	memset(&run, 0, sizeof(run));
	run.sorted = true;
	run.merge = merge_new(cpus, share * HELD, got, NULL);
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

static int put_numbered(int cpu, uint64_t ts, int number)
{
	struct record record = { .kind = RECORD_EVENT,
				 .cpu = cpu,
				 .ts = ts,
				 .tid = number,
				 .fields.order = 1 };

	return merge_put(run.merge, &record);
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

	assert_null(merge_new(&cpus, 1024, got, NULL));
	assert_int_equal(errno, EINVAL);
	cpus.count = 1;
	assert_null(merge_new(&cpus, 0, got, NULL));
	assert_int_equal(errno, EINVAL);
	merge_free(NULL);
}

/*
 * A run as text: "CPU:TIME" or "CPU:TIME#TID" puts a record, "CPU!" leaves a CPU with data, "|"
 * ends a round, "." flushes. What comes out has the "|" of its rounds.
 */
static void play(const char *script)
{
	int cpu, number, length;
	uint64_t ts;

	for (; *script; script += strcspn(script, " "), script += strspn(script, " ")) {
		number = 0;
		length = 0;
		if (*script == '|') {
			end_round();
			note_separator(" ");
			note("|");
		} else if (*script == '.') {
			assert_int_equal(merge_flush(run.merge), 0);
		} else if (sscanf(script, "%d:%" SCNu64 "#%d", &cpu, &ts, &number) >= 2) {
			assert_int_equal(put_numbered(cpu, ts, number), 0);
		} else {
			assert_int_equal(sscanf(script, "%d!%n", &cpu, &length), 1);
			assert_true(length > 0);
			merge_left_with_data(run.merge, cpu);
		}
	}
}

static void test_order(void **state)
{
	static const struct {
		const char *script;
		const char *expected;
		size_t share;
		uint64_t forced;
	} cases[] = {
		/* a flush passes all on */
		{ "2:10 2:40 0:20 1:30 1:50 .", "10/2 20/0 30/1 40/2 50/1", 10, 0 },
		/* equal times: the lower CPU first, each CPU's in their order */
		{ "2:10#1 2:10#2 1:10#1 1:10#2 0:10#1 0:10#2 .",
		  "10/0#1 10/0#2 10/1#1 10/1#2 10/2#1 10/2#2", 10, 0 },
		/* what one round saw can go when the next one has ended, not before */
		{ "0:10 0:30 | 1:20 1:40 | |", "| 10/0 20/1 30/0 | 40/1 |", 10, 0 },
		/* all up to 100 was seen, but CPU 1 was read up to 20 only */
		{ "0:100 1:10 1! | 1:20 1! | 1:90 |", "| 10/1 20/1 | 90/1 100/0 |", 10, 0 },
		/* a CPU that was never read holds everything; the mark is of one round */
		{ "0:100 | 1! | |", "| | 100/0 |", 10, 0 },
		/* time that goes back is put at the newest of its CPU */
		{ "0:100#1 0:50#2 0:110#3 1:60#4 .", "60/1#4 100/0#1 100/0#2 110/0#3", 10, 0 },
		/* full: the earliest go, of the other CPU too though it does not make room */
		{ "0:10 0:30 1:20 1:40 0:50 | 0:60 | .", "10/0 | 20/1 30/0 40/1 50/0 | 60/0", 2,
		  3 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		start(3, cases[i].share);
		play(cases[i].script);
		assert_string_equal(notes.text, cases[i].expected);
		assert_int_equal(merge_forced(run.merge), cases[i].forced);
	}
}

static void test_room_is_shared(void **state)
{
	start(2, 10);
	assert_true(merge_has_room(run.merge, 0, 10 * HELD));
	assert_false(merge_has_room(run.merge, 0, 11 * HELD));
	for (int i = 0; i < 4; i++)
		put(0, 10 + i);
	assert_true(merge_has_room(run.merge, 0, 6 * HELD));
	assert_false(merge_has_room(run.merge, 0, 7 * HELD));
	assert_true(merge_has_room(run.merge, 1, 10 * HELD));
	assert_int_equal(merge_flush(run.merge), 0);
	assert_true(merge_has_room(run.merge, 0, 10 * HELD));
}

static void test_failing_sink(void **state)
{
	start(1, 2);
	put(0, 10);
	put(0, 20);
	run.fail = -EPIPE;
	assert_int_equal(put_numbered(0, 30, 0), -EPIPE);
	put(0, 30);
	end_round();
	assert_int_equal(merge_end_round(run.merge), -EPIPE);
	put(0, 40);
	assert_int_equal(merge_flush(run.merge), -EPIPE);
	run.fail = 0;
	assert_int_equal(merge_flush(run.merge), 0);
	assert_string_equal(notes.text, "10/0 20/0 30/0 40/0");
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
	assert_false(merge_has_room(run.merge, 0, HELD));
	assert_true(merge_has_room(run.merge, 65535, 10 * HELD));
	merge_left_with_data(run.merge, 0);
}

static int got_payload(void *context, const struct record *record)
{
	assert_int_equal(record->raw_size, RECORD_RAW_MAX + 8);
	for (int i = 0; i < record->raw_size; i++)
		assert_int_equal(((const char *)record->raw)[i], 'p');
	return 0;
}

static void test_payload_outlives_its_page(void **state)
{
	char payload[RECORD_RAW_MAX + 8];
	struct record record = { .cpu = 0, .ts = 10, .raw = payload, .raw_size = sizeof(payload) };
	struct cpu_list cpus = made_cpus(1);
	struct merge *merge = merge_new(&cpus, 1024, got_payload, NULL);

	memset(payload, 'p', sizeof(payload));
	assert_int_equal(merge_put(merge, &record), 0);
	memset(payload, 'x', sizeof(payload));
	assert_int_equal(merge_flush(merge), 0);
	memset(payload, 'p', sizeof(payload));
	assert_int_equal(merge_put(merge, &record), 0);
	merge_free(merge);
}

static void test_record_above_the_share(void **state)
{
	static const char payload[4 * HELD];
	struct record record = { .ts = 10, .raw = payload, .raw_size = sizeof(payload) };

	start(1, 4);
	assert_int_equal(merge_put(run.merge, &record), -EMSGSIZE);
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
			while (n < QUOTA && merge_has_room(run.merge, cpu, HELD) &&
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
	assert_int_equal(merge_forced(run.merge), 0);
	for (int cpu = 0; cpu < SIM_CPUS; cpu++)
		assert_true(read_to[cpu] > now / 2);
}

/* The shares of many CPUs are small, yet a page for each; their pages go far ahead in turn. */
static void test_many_cpus(void **state)
{
	enum { MANY = 256, PAGE = 4096, RECORDS = (PAGE - 16) / 12, PAGES = 8 };
	size_t share = merge_share(MANY, PAGE);
	uint64_t ts[MANY] = { 0 };
	int pages[MANY] = { 0 };
	int left = MANY * PAGES;

	assert_in_range(MANY * share, MANY * merge_page_bytes(PAGE), 4 << 20);
	start(MANY, share / HELD);
	notes.quiet = true;
	srandom(1);
	for (int round = 0; left && round < 2 * MANY * PAGES; round++) {
		for (int cpu = 0; cpu < MANY; cpu++) {
			if (pages[cpu] == PAGES)
				continue;
			if (merge_has_room(run.merge, cpu, merge_page_bytes(PAGE))) {
				for (int i = 0; i < RECORDS; i++)
					put(cpu, ts[cpu] += 1 + random() % (cpu + 1));
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
	assert_int_equal(merge_forced(run.merge), 0);
}

static void test_shares(void **state)
{
	assert_int_equal(merge_share(1, 4096), 256 << 10);
	assert_int_equal(merge_share(16, 4096), 256 << 10);
	assert_int_equal(merge_share(17, 4096), (4 << 20) / 17 / 8 * 8);
	/* however many, and however large a page, it has room for one */
	assert_int_equal(merge_share(8192, 4096), 3 * 4096);
	assert_int_equal(merge_share(1, 1 << 20), 3 << 20);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bad_sizes),
		TEST(test_order),
		TEST(test_room_is_shared),
		TEST(test_failing_sink),
		TEST(test_numbers_with_gaps),
		TEST(test_payload_outlives_its_page),
		TEST(test_record_above_the_share),
		TEST(test_order_under_load),
		TEST(test_many_cpus),
		TEST(test_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
