// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/guard.h"
#include "unit_test.h"

#define MINUTE GUARD_MINUTE
#define START  (5000 * NS_PER_SECOND)

/* One event of each rank that has any, in an order of its own. */
static struct plan plan = {
	.function_graph = true,
	.events = { { .id = EVENT_DIRECT_RECLAIM_BEGIN },
		    { .id = EVENT_SHRINK_INACTIVE },
		    { .id = EVENT_FORK, .rule = RULE_CHILDREN },
		    { .id = EVENT_SLAB_START, .rule = RULE_PAIR } },
	.nr_events = 4,
	.roles = ROLE_BIT(ROLE_SLAB),
};

static struct guard guard;
static uint64_t now, cpu;

static int set_up(void **state)
{
	guard = (struct guard){ 0 };
	now = START;
	cpu = 77 * NS_PER_SECOND;
	guard_begin(&guard, now, cpu);
	return 0;
}

/* A minute in which we take so many thousandths of a CPU, with @max percent allowed. */
static void minute(uint64_t thousandths, uint64_t max, unsigned int rank)
{
	cpu += MINUTE * thousandths / 1000;
	now += MINUTE;
	assert_true(guard_update(&guard, &plan, max, now, cpu));
	assert_int_equal(guard.rank, rank);
}

static void test_one_after_the_other(void **state)
{
	minute(20, 2, 0);
	minute(21, 2, 3);
	assert_int_equal(guard.tenths, 21);
	minute(500, 2, 4);
	minute(30, 2, 5);
	/* A second later the minute is still known. */
	assert_false(guard_update(&guard, &plan, 2, now + NS_PER_SECOND, cpu));
	assert_false(guard.is_helpless);
	/* what is left is no event */
	minute(30, 2, 5);
	assert_true(guard.is_helpless);
	minute(20, 2, 5);
	assert_false(guard.is_helpless);
}

/* It is the average of a minute: a moment counts for what it is of that. */
static void test_average(void **state)
{
	now += MINUTE - 1;
	cpu += MINUTE;
	assert_false(guard_update(&guard, &plan, 2, now, cpu));
	now += 1;
	assert_true(guard_update(&guard, &plan, 2, now, cpu));
	assert_int_equal(guard.rank, 3);
	/* late, and so of a longer time */
	now += 3 * MINUTE;
	cpu += 3 * MINUTE / 50;
	assert_true(guard_update(&guard, &plan, 2, now, cpu));
	assert_int_equal(guard.tenths, 20);
	assert_int_equal(guard.rank, 3);
}

static void test_ten_quiet_minutes(void **state)
{
	minute(100, 2, 3);
	minute(100, 2, 4);
	for (int i = 1; i < GUARD_QUIET; i++)
		minute(10, 2, 4);
	/* not quiet, and begins again */
	minute(11, 2, 4);
	for (int i = 1; i < GUARD_QUIET; i++)
		minute(10, 2, 4);
	minute(10, 2, 0);
	/* again, in the same order */
	minute(100, 2, 3);
	minute(10, 2, 3);
	minute(100, 2, 4);
}

/* A reload may change the limit. */
static void test_other_limit(void **state)
{
	minute(100, 0, 0);
	minute(100, 10, 0);
	minute(101, 10, 3);
	minute(50, 0, 0);
	minute(50, 2, 3);
}

static void test_new_tracing(void **state)
{
	minute(100, 2, 3);
	for (int i = 1; i < GUARD_QUIET; i++)
		minute(10, 2, 3);
	guard.off[3] = true;
	guard_begin(&guard, now, cpu);
	assert_int_equal(guard.rank, 0);
	assert_false(guard.off[3]);
	minute(100, 2, 3);
	minute(10, 2, 3);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_after_the_other), TEST(test_average),
		TEST(test_ten_quiet_minutes),	TEST(test_other_limit),
		TEST(test_new_tracing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
