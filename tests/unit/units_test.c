// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base/base.h"
#include "allocfilt/stats/units.h"
#include "unit_test.h"

#define MS     1000000ull
#define MINUTE (60 * NS_PER_SECOND)
#define DAY    (24 * 60 * MINUTE)
#define START  (1000 * DAY)

static struct units *units;

static int set_up(void **state)
{
	units = units_new(2);
	return !units;
}

static int tear_down(void **state)
{
	units_free(units);
	return 0;
}

static void set_places(unsigned int places)
{
	units_free(units);
	units = units_new(places);
	assert_non_null(units);
}

static void stall_of(enum owner_kind kind, const char *cgroup, uint64_t end, uint64_t ns,
		     enum phase_group group)
{
	struct stall one = { .key.kind = kind, .start = end - ns, .end = end, .gfp_names = "" };
	struct task_info task_info = { .pid = 1 };
	struct named_stall named = { .stall = &one,
				     .name = "t",
				     .task_info = &task_info,
				     .memcg = "",
				     .limit = "" };

	snprintf(task_info.cgroup, sizeof(task_info.cgroup), "%s", cgroup);
	phases_spend(&one.phases, group, PART_ITSELF, STATE_RUNNING, ns);
	units_stall(units, &named);
}

static void stall(const char *cgroup, uint64_t end, uint64_t ns)
{
	stall_of(OWNER_TASK, cgroup, end, ns, PHASE_OUTSIDE);
}

static void wait_of(const char *cgroup, uint64_t end, uint64_t ns, int role, bool is_long)
{
	const struct memory_wait wait = { .start = end - ns, .end = end, .role = role };
	const struct stall no_stall = { .key.kind = OWNER_TASK };
	struct task_info task_info = { .pid = 1 };
	struct named_stall named = { .stall = &no_stall,
				     .name = "t",
				     .task_info = &task_info,
				     .memcg = "",
				     .limit = "" };

	snprintf(task_info.cgroup, sizeof(task_info.cgroup), "%s", cgroup);
	units_wait(units, &named, &wait, is_long);
}

static uint64_t count_of(const struct unit_series *unit)
{
	uint64_t count = 0;

	for (int cause = 0; cause < CAUSES; cause++)
		count += unit->causes[cause].count;
	return count;
}

static void check_series(size_t place, const char *name, uint64_t count)
{
	const struct unit_series *unit = units_series(units, place);

	assert_non_null(unit);
	assert_string_equal(unit->name, name);
	assert_int_equal(count_of(unit), count);
}

static void assert_recent_max(size_t place, uint64_t ts, uint64_t ns)
{
	assert_int_equal(units_recent_max(units_series(units, place), ts), ns);
}

static const struct unit_total *period(size_t place, size_t expected)
{
	assert_non_null(units_period(units, expected - 1));
	assert_null(units_period(units, expected));
	return units_period(units, place);
}

#define TEST(name) UNIT_TEST_WITH(name, set_up, tear_down)

TEST(test_names)
{
	set_places(4);
	stall("/system.slice/a.service/worker", START, MS);
	stall("/docker/0af1", START, MS);
	stall("/system.slice/a.service", START, MS);
	stall("/", START, MS);
	stall("", START, MS);
	stall_of(OWNER_SOFTIRQ, "/system.slice/a.service", START, MS, PHASE_OUTSIDE);
	check_series(0, "a.service", 2);
	check_series(1, "/docker/0af1", 1);
	check_series(2, "/", 1);
	check_series(3, UNIT_NONE, 2);
	check_series(4, "other", 0);
	assert_null(units_series(units, 5));
	/* without places */
	set_places(0);
	stall("/a.service", START, MS);
	check_series(0, "", 1);
	assert_int_equal(units_refused(units), 0);
	assert_null(units_series(units, 1));
	assert_string_equal(period(0, 1)->ranked.name, "a.service");
}

/* Prometheus refuses a text in which two series have the same labels. */
TEST(test_names_that_are_shown_alike)
{
	set_places(4);
	stall("/a\xff", START, MS);
	stall("/a\\xff", START, 2 * MS);
	stall("/a\\\\xff", START, MS);
	check_series(0, "/a\\xff", 2);
	check_series(1, "/a\\\\xff", 1);
	check_series(2, "other", 0);
	assert_int_equal(period(0, 2)->count, 2);
}

TEST(test_causes)
{
	const struct unit_series *unit;

	stall_of(OWNER_TASK, "/a.service", START, 3 * MS, PHASE_DIRECT_RECLAIM);
	stall_of(OWNER_TASK, "/a.service", START + 1, 4 * MS, PHASE_DIRECT_RECLAIM);
	stall_of(OWNER_TASK, "/a.service", START + 2, 5 * MS, PHASE_COMPACTION);
	unit = units_series(units, 0);
	assert_int_equal(unit->causes[PHASE_DIRECT_RECLAIM].count, 2);
	assert_int_equal(unit->causes[PHASE_DIRECT_RECLAIM].total, 7 * MS);
	assert_true(unit->since[PHASE_DIRECT_RECLAIM] == START);
	assert_int_equal(unit->causes[PHASE_COMPACTION].total, 5 * MS);
	assert_int_equal(count_of(unit), 3);
	assert_int_equal(period(0, 1)->cause_totals[PHASE_DIRECT_RECLAIM], 7 * MS);
	assert_int_equal(period(0, 1)->cause_totals[PHASE_COMPACTION], 5 * MS);
}

/* Who has a place keeps it until it was silent for a day. */
TEST(test_places)
{
	stall("/a.service", START, MS);
	stall("/b.service", START + MINUTE, MS);
	stall("/c.service", START + 2 * MINUTE, MS);
	stall("/b.service", START + DAY, MS);
	stall("/c.service", START + DAY - 1, MS);
	check_series(0, "a.service", 1);
	check_series(1, "b.service", 2);
	check_series(2, "other", 2);
	assert_null(units_series(units, 3));
	assert_int_equal(units_refused(units), 2);
	/* a is silent for a day, and c begins anew in its place */
	stall("/c.service", START + DAY, 3 * MS);
	stall("/a.service", START + DAY + 1, MS);
	check_series(0, "c.service", 1);
	check_series(1, "b.service", 2);
	check_series(2, "other", 3);
	assert_int_equal(units_series(units, 0)->causes[PHASE_OUTSIDE].total, 3 * MS);
	assert_true(units_series(units, 0)->since[PHASE_OUTSIDE] == START + DAY);
	assert_recent_max(0, START + DAY, 3 * MS);
	assert_int_equal(units_refused(units), 3);
}

/*
 * A year of units with three hours each, one after the other, beside one that stays: the newest has
 * its own series, and so has the one that stays, from its first stall to its last.
 */
TEST(test_churn)
{
	uint64_t end = START;
	int number = 0;

	set_places(20);
	stall("/postgresql.service", START, MS);
	for (; end < START + 365 * DAY; end += 180 * MINUTE) {
		char cgroup[32];
		size_t place = 0;

		snprintf(cgroup, sizeof(cgroup), "/run-%d.scope", ++number);
		stall(cgroup, end, MS);
		while (strcmp(units_series(units, place)->name, cgroup + 1))
			place++;
		check_series(place, cgroup + 1, 1);
		stall("/postgresql.service", end, MS);
	}
	assert_int_equal(number, 2920);
	check_series(0, "postgresql.service", 2921);
	check_series(20, "other", 0);
	assert_null(units_series(units, 21));
	assert_int_equal(units_refused(units), 0);
}

/* All units, whether they have a place or not. */
TEST(test_period)
{
	stall("/a.service", START, MS);
	stall("/b.service", START, 2 * MS);
	stall("/c.service", START, 5 * MS);
	stall("/c.service", START, MS);
	stall("/a.service", START, MS);
	assert_string_equal(period(0, 3)->ranked.name, "c.service");
	assert_int_equal(period(0, 3)->ranked.total, 6 * MS);
	assert_int_equal(period(0, 3)->max, 5 * MS);
	assert_int_equal(period(0, 3)->count, 2);
	/* equal times by name */
	assert_string_equal(period(1, 3)->ranked.name, "a.service");
	assert_string_equal(period(2, 3)->ranked.name, "b.service");
	units_end_period(units);
	stall("/b.service", START, MS);
	assert_int_equal(period(0, 1)->count, 1);
	assert_int_equal(period(0, 1)->ranked.total, MS);
	assert_int_equal(period(0, 1)->max, MS);
	assert_int_equal(period(0, 1)->cause_totals[PHASE_OUTSIDE], MS);
	/* counters know no period */
	check_series(0, "a.service", 2);
	check_series(1, "b.service", 2);
}

TEST(test_recent_max)
{
	uint64_t minute = START;

	stall("/a.service", minute + 1, 7 * MS);
	stall("/a.service", minute + 2, 5 * MS);
	assert_recent_max(0, minute + 3, 7 * MS);
	assert_recent_max(0, minute + 3 * MINUTE - 1, 7 * MS);
	assert_recent_max(0, minute + 3 * MINUTE, 0);
	stall("/a.service", minute + MINUTE, 3 * MS);
	assert_recent_max(0, minute + 2 * MINUTE, 7 * MS);
	assert_recent_max(0, minute + 3 * MINUTE, 3 * MS);
	/* emitted late */
	stall("/a.service", minute + MINUTE - 1, 9 * MS);
	assert_recent_max(0, minute + 2 * MINUTE, 9 * MS);
	assert_recent_max(0, minute + 3 * MINUTE, 3 * MS);
	stall("/a.service", minute - 2 * MINUTE, 20 * MS);
	assert_recent_max(0, minute + MINUTE, 9 * MS);
	stall("/a.service", minute + 9 * MINUTE, MS);
	assert_recent_max(0, minute + 9 * MINUTE, MS);
	/* those without a place */
	stall("/b.service", minute + 9 * MINUTE, MS);
	stall("/c.service", minute + 9 * MINUTE, 2 * MS);
	assert_recent_max(2, minute + 9 * MINUTE, 2 * MS);
	/* Memory waits do not count, and make it old as stalls do. */
	minute += 20 * MINUTE;
	stall("/a.service", minute + 1, 7 * MS);
	wait_of("/a.service", minute + MINUTE, 9 * MS, ROLE_REFAULT, false);
	assert_recent_max(0, minute + MINUTE, 7 * MS);
	wait_of("/a.service", minute + 3 * MINUTE, 9 * MS, ROLE_REFAULT, false);
	assert_recent_max(0, minute + 3 * MINUTE, 0);
	stall("/a.service", minute + 2 * MINUTE, 3 * MS);
	assert_recent_max(0, minute + 3 * MINUTE, 3 * MS);
}

static const struct wait_sum *refaults_of(size_t place, const char *name)
{
	check_series(place, name, count_of(units_series(units, place)));
	return &units_series(units, place)->waits.of[ROLE_REFAULT];
}

/* In the period and in the counters; the time of a long one ranks by its stall. */
TEST(test_waits)
{
	const struct unit_total *total;

	stall("/a.service", START, 5 * MS);
	wait_of("/a.service/worker", START, 5 * MS, ROLE_REFAULT, true);
	wait_of("/a.service", START + 1, MS, ROLE_REFAULT, false);
	wait_of("/b.service", START + 2, 4 * MS, ROLE_MEMORY_HIGH, false);
	wait_of("/b.service", START + 3, 3 * MS, ROLE_MEMORY_HIGH, false);
	total = period(0, 2);
	assert_string_equal(total->ranked.name, "b.service");
	assert_int_equal(total->ranked.total, 7 * MS);
	assert_int_equal(total->count, 0);
	assert_int_equal(total->total, 0);
	assert_int_equal(total->max, 0);
	assert_int_equal(total->waits.of[ROLE_MEMORY_HIGH].count, 2);
	total = period(1, 2);
	assert_int_equal(total->ranked.total, 6 * MS);
	assert_int_equal(total->total, 5 * MS);
	assert_int_equal(total->count, 1);
	assert_int_equal(total->waits.of[ROLE_REFAULT].count, 2);
	assert_int_equal(total->waits.of[ROLE_REFAULT].long_total, 5 * MS);
	assert_int_equal(refaults_of(0, "a.service")->total, 6 * MS);
	assert_int_equal(refaults_of(0, "a.service")->since, START);
	assert_int_equal(count_of(units_series(units, 1)), 0);
	units_end_period(units);
	wait_of("/a.service", START + 4, MS, ROLE_REFAULT, false);
	assert_int_equal(period(0, 1)->ranked.total, MS);
	assert_int_equal(period(0, 1)->waits.of[ROLE_REFAULT].count, 1);
	/* counters know no period */
	assert_int_equal(refaults_of(0, "a.service")->count, 3);
	assert_int_equal(refaults_of(0, "a.service")->total, 7 * MS);
}

/* Other I/O is a figure of a unit that waited for memory: it makes neither a counter nor an entry. */
TEST(test_other_io)
{
	wait_of("/io.service", START, 5 * MS, ROLE_IO, true);
	stall("/a.service", START, MS);
	wait_of("/a.service", START, 5 * MS, ROLE_IO, true);
	assert_int_equal(period(0, 2)->waits.of[ROLE_IO].total, 5 * MS);
	assert_string_equal(period(0, 2)->ranked.name, "a.service");
	assert_int_equal(period(1, 2)->ranked.total, 0);
	assert_string_equal(units_series(units, 0)->name, "a.service");
	assert_string_equal(units_series(units, 1)->name, "other");
	assert_int_equal(units_overflow(units), 0);
}

/* A unit that only has short waits keeps its place, until it was silent for a day. */
TEST(test_places_of_waits)
{
	wait_of("/a.service", START, MS, ROLE_REFAULT, false);
	stall("/b.service", START + MINUTE, MS);
	wait_of("/c.service", START + 2 * MINUTE, MS, ROLE_REFAULT, false);
	stall("/c.service", START + 2 * MINUTE, MS);
	assert_int_equal(units_refused(units), 2);
	assert_int_equal(refaults_of(2, "other")->count, 1);
	wait_of("/b.service", START + 2 * MINUTE, MS, ROLE_REFAULT, false);
	wait_of("/a.service", START + DAY - 1, MS, ROLE_REFAULT, false);
	wait_of("/c.service", START + DAY + 2 * MINUTE - 1, MS, ROLE_REFAULT, false);
	assert_int_equal(refaults_of(2, "other")->count, 2);
	/* b is silent for a day, and its waits go with it */
	wait_of("/c.service", START + DAY + 2 * MINUTE, 3 * MS, ROLE_REFAULT, false);
	assert_int_equal(refaults_of(0, "a.service")->count, 2);
	assert_int_equal(refaults_of(1, "c.service")->count, 1);
	assert_int_equal(refaults_of(1, "c.service")->total, 3 * MS);
	assert_int_equal(refaults_of(1, "c.service")->since, START + DAY + 2 * MINUTE);
	/* a, too: a day since the minute of its last wait */
	stall("/d.service", START + 2 * DAY - MINUTE - 1, MS);
	check_series(0, "a.service", 0);
	stall("/d.service", START + 2 * DAY - MINUTE, MS);
	check_series(0, "d.service", 1);
	assert_int_equal(refaults_of(0, "d.service")->count, 0);
}

static void stall_in_many(int from, int to, uint64_t end)
{
	char cgroup[32];

	for (int i = from; i < to; i++) {
		snprintf(cgroup, sizeof(cgroup), "/%d.service", i);
		stall(cgroup, end + i, MS);
	}
}

/* Those that waited most are in the period. */
TEST(test_limit)
{
	stall_in_many(0, UNITS_MAX, START);
	stall("/2.service", START + UNITS_MAX, 9 * MS);
	stall_in_many(UNITS_MAX, UNITS_MAX + 10, START + UNITS_MAX + 1);
	assert_int_equal(units_overflow(units), 10);
	check_series(0, "0.service", 1);
	check_series(1, "1.service", 1);
	check_series(2, "other", UNITS_MAX + 9);
	assert_string_equal(period(0, UNITS_MAX)->ranked.name, "2.service");
	assert_int_equal(period(0, UNITS_MAX)->count, 2);
	/* who comes in the place of another one inherits nothing */
	for (size_t i = 1; i < UNITS_MAX; i++) {
		assert_int_equal(period(i, UNITS_MAX)->count, 1);
		assert_int_equal(period(i, UNITS_MAX)->ranked.total, MS);
		assert_int_equal(period(i, UNITS_MAX)->max, MS);
		assert_int_equal(period(i, UNITS_MAX)->cause_totals[PHASE_OUTSIDE], MS);
	}
	/* A counter does not go back. */
	units_end_period(units);
	assert_int_equal(units_overflow(units), 10);
}

UNIT_TEST_MAIN(NULL, NULL)
