// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocfilt/stall.h"

static void pair(struct shrinkers *shrinkers, uint64_t callback, uint64_t duration)
{
	struct record begin = { .fields = { .shrinker = callback * 16, .callback = callback } };
	struct task_pair task_pair = { .begin = &begin, .end = &begin, .duration = duration };

	shrinkers_pair(shrinkers, &task_pair);
}

static void check(const struct shrinker_total *total, uint64_t callback, uint64_t sum, uint64_t max,
		  uint64_t count)
{
	assert_int_equal(total->callback, callback);
	assert_int_equal(total->total, sum);
	assert_int_equal(total->max, max);
	assert_int_equal(total->count, count);
}

static void test_none(void **state)
{
	struct shrinkers *shrinkers = shrinkers_new();
	const struct shrinker_total *totals;

	(void)state;
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), 0);
	assert_int_equal(shrinkers_overflow(shrinkers), 0);
	shrinkers_free(shrinkers);
	shrinkers_free(NULL);
}

static void test_totals_most_first_equal_by_address(void **state)
{
	struct shrinkers *shrinkers = shrinkers_new();
	const struct shrinker_total *totals;

	(void)state;
	pair(shrinkers, 0xffffffff80000300, 5);
	pair(shrinkers, 0x100, 7);
	pair(shrinkers, 0x200, 4);
	pair(shrinkers, 0x100, 30);
	pair(shrinkers, 0x200, 1);
	pair(shrinkers, 0x100, 8);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), 3);
	check(&totals[0], 0x100, 45, 30, 3);
	check(&totals[1], 0x200, 5, 4, 2);
	check(&totals[2], 0xffffffff80000300, 5, 5, 1);
	shrinkers_free(shrinkers);
}

/* Sorting moves the totals about; what comes later finds them all the same. */
static void test_goes_on_after_sorting(void **state)
{
	struct shrinkers *shrinkers = shrinkers_new();
	const struct shrinker_total *totals;

	(void)state;
	pair(shrinkers, 0x100, 1);
	pair(shrinkers, 0x200, 2);
	shrinkers_sorted(shrinkers, &totals);
	pair(shrinkers, 0x100, 3);
	pair(shrinkers, 0x200, 0);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), 2);
	check(&totals[0], 0x100, 4, 3, 2);
	check(&totals[1], 0x200, 2, 2, 2);
	shrinkers_free(shrinkers);
}

static void test_limit(void **state)
{
	struct shrinkers *shrinkers = shrinkers_new();
	const struct shrinker_total *totals;

	(void)state;
	for (int i = 1; i < SHRINKERS_MAX; i++)
		pair(shrinkers, i, 10);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), SHRINKERS_MAX - 1);
	pair(shrinkers, SHRINKERS_MAX, 10);
	assert_int_equal(shrinkers_overflow(shrinkers), 0);
	pair(shrinkers, SHRINKERS_MAX + 1, 1000);
	pair(shrinkers, SHRINKERS_MAX + 2, 1000);
	pair(shrinkers, SHRINKERS_MAX, 10);
	assert_int_equal(shrinkers_overflow(shrinkers), 2);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), SHRINKERS_MAX);
	check(&totals[0], SHRINKERS_MAX, 20, 10, 2);
	check(&totals[1], 1, 10, 10, 1);
	shrinkers_free(shrinkers);
}

/* More than 32 bits of nanoseconds: a hundred days of reclaim. */
static void test_long_times(void **state)
{
	struct shrinkers *shrinkers = shrinkers_new();
	const struct shrinker_total *totals;
	uint64_t day = 86400ull * 1000000000;

	(void)state;
	for (int i = 0; i < 100; i++)
		pair(shrinkers, 0x100, day);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), 1);
	check(&totals[0], 0x100, 100 * day, day, 100);
	shrinkers_free(shrinkers);
}

static void superblock(struct shrinkers *shrinkers, int number, uint64_t duration)
{
	struct record begin = { .fields = { .callback = 0x100 } };
	struct task_pair task_pair = { .begin = &begin, .end = &begin, .duration = duration };

	shrinkers_superblock(shrinkers, &task_pair, number);
}

static void test_one_by_one(void **state)
{
	struct shrinkers *shrinkers = shrinkers_new();
	const struct shrinker_total *totals;

	(void)state;
	pair(shrinkers, 0x100, 1);
	pair(shrinkers, 0x200, 20);
	pair(shrinkers, 0x100, 3);
	superblock(shrinkers, 7, 30);
	superblock(shrinkers, 7, 50);
	superblock(shrinkers, -1, 1000);
	superblock(shrinkers, SHRINKER_NAMES_MAX - 1, 5);
	superblock(shrinkers, SHRINKER_NAMES_MAX, 1000);
	assert_int_equal(shrinkers_all(shrinkers, &totals), 2);
	check(&totals[0], 0x100, 4, 3, 2);
	check(&totals[1], 0x200, 20, 20, 1);
	check(shrinkers_of_superblock(shrinkers, 7), 0x100, 80, 50, 2);
	check(shrinkers_of_superblock(shrinkers, SHRINKER_NAMES_MAX - 1), 0x100, 5, 5, 1);
	assert_int_equal(shrinkers_of_superblock(shrinkers, 0)->count, 0);
	shrinkers_free(shrinkers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_totals_most_first_equal_by_address),
		cmocka_unit_test(test_goes_on_after_sorting),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_long_times),
		cmocka_unit_test(test_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
