// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/guard.h"
#include "unit_test.h"

#define MINUTE GUARD_MINUTE

static struct guard guard;
static uint64_t now, cpu;

static int set_up(void **state)
{
	guard = (struct guard){ 0 };
	now = 5000 * NS_PER_SECOND;
	cpu = 77 * NS_PER_SECOND;
	guard_begin(&guard, now, cpu);
	return 0;
}

/* So many minutes in which we take so many thousandths of a CPU, with 2 percent allowed. */
static void minutes(int count, uint64_t thousandths, bool is_off)
{
	while (count--) {
		cpu += MINUTE * thousandths / 1000;
		now += MINUTE;
		assert_true(guard_update(&guard, 2, now, cpu));
		assert_int_equal(guard.tenths, thousandths);
		assert_int_equal(guard.is_off, is_off);
	}
}

#define TEST(name) UNIT_TEST_WITH(name, set_up, NULL)

/* One step off, and one step on after ten quiet minutes in a row. */
TEST(test_steps)
{
	minutes(12, 20, false);
	minutes(1, 21, true);
	assert_false(guard.is_all); /* the one that comes most often first */
	minutes(2, 500, true);
	assert_true(guard.is_all);
	/* A second later the minute is still known. */
	assert_false(guard_update(&guard, 2, now + NS_PER_SECOND, cpu));
	minutes(12, 20, true);
	minutes(9, 10, true);
	/* not quiet, and counted anew */
	minutes(1, 11, true);
	minutes(9, 10, true);
	minutes(3, 10, false);
	assert_false(guard.is_all);
	/* Quiet minutes before it do not count. */
	minutes(1, 21, true);
	minutes(9, 10, true);
	minutes(1, 10, false);
}

/* It is the average of a minute: a moment counts for what it is of that. */
TEST(test_average)
{
	now += MINUTE - 1;
	cpu += MINUTE;
	assert_false(guard_update(&guard, 2, now, cpu));
	now += 1;
	assert_true(guard_update(&guard, 2, now, cpu));
	assert_true(guard.is_off);
	/* late, and so of a longer time */
	now += 3 * MINUTE;
	cpu += 3 * MINUTE / 50;
	assert_true(guard_update(&guard, 2, now, cpu));
	assert_int_equal(guard.tenths, 20);
}

TEST(test_new_tracing)
{
	minutes(1, 100, true);
	minutes(9, 10, true);
	guard.off[3] = true;
	guard_begin(&guard, now, cpu);
	assert_false(guard.is_off);
	assert_false(guard.off[3]);
	minutes(1, 100, true);
	minutes(1, 10, true);
}

UNIT_TEST_MAIN(NULL, NULL)
