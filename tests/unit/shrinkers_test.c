// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall.h"
#include "unit_test.h"

#define DAY (86400ull * 1000000000) /* ns */

static int set_up(void **state)
{
	*state = shrinkers_new();
	return !*state;
}

static int tear_down(void **state)
{
	shrinkers_free(*state);
	return 0;
}

/* @superblock: -1 for none */
static void pair(struct shrinkers *shrinkers, uint64_t callback, uint64_t duration, int superblock)
{
	struct record begin = { .fields = { .callback = callback } };
	struct task_pair task_pair = { .begin = &begin, .end = &begin, .duration = duration };

	shrinkers_pair(shrinkers, &task_pair, superblock);
}

static void check(const struct shrinker_total *total, uint64_t callback, uint64_t sum, uint64_t max,
		  uint64_t count)
{
	assert_int_equal(total->callback, callback);
	assert_int_equal(total->total, sum);
	assert_int_equal(total->max, max);
	assert_int_equal(total->count, count);
}

/* Sorting moves the totals about; what comes later finds them all the same. */
static void test_totals(void **state)
{
	struct shrinkers *shrinkers = *state;
	const struct shrinker_total *totals;

	assert_int_equal(shrinkers_sorted(shrinkers, &totals), 0);
	pair(shrinkers, 0xffffffff80000300, 5, -1);
	pair(shrinkers, 0x100, 7, -1);
	pair(shrinkers, 0x200, 4, -1);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), 3);
	check(&totals[0], 0x100, 7, 7, 1);
	pair(shrinkers, 0x100, 100 * DAY, -1);
	pair(shrinkers, 0x200, 1, -1);
	pair(shrinkers, 0x100, 8, -1);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), 3);
	check(&totals[0], 0x100, 100 * DAY + 15, 100 * DAY, 3);
	/* equal times by address */
	check(&totals[1], 0x200, 5, 4, 2);
	check(&totals[2], 0xffffffff80000300, 5, 5, 1);
	assert_int_equal(shrinkers_all(shrinkers, &totals), 3);
}

static void test_limit(void **state)
{
	struct shrinkers *shrinkers = *state;
	const struct shrinker_total *totals;

	for (int i = 1; i <= SHRINKERS_MAX; i++)
		pair(shrinkers, i, 10, -1);
	assert_int_equal(shrinkers_overflow(shrinkers), 0);
	pair(shrinkers, SHRINKERS_MAX + 1, 1000, -1);
	pair(shrinkers, SHRINKERS_MAX + 2, 1000, -1);
	pair(shrinkers, SHRINKERS_MAX, 10, -1);
	assert_int_equal(shrinkers_overflow(shrinkers), 2);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), SHRINKERS_MAX);
	check(&totals[0], SHRINKERS_MAX, 20, 10, 2);
	check(&totals[1], 1, 10, 10, 1);
}

static void test_superblocks(void **state)
{
	struct shrinkers *shrinkers = *state;
	const struct superblock_total *totals;

	pair(shrinkers, 0x100, 30, 7);
	pair(shrinkers, 0x100, 50, 7);
	pair(shrinkers, 0x100, 90, SHRINKER_NAMES_MAX - 1);
	pair(shrinkers, 0x100, 1000, SHRINKER_NAMES_MAX);
	pair(shrinkers, 0x100, 80, 5);
	pair(shrinkers, 0x200, 1, 2);
	check(shrinkers_of_superblock(shrinkers, 7), 0x100, 80, 50, 2);
	assert_int_equal(shrinkers_of_superblock(shrinkers, 0)->count, 0);
	assert_int_equal(shrinkers_superblocks(shrinkers, 0x100, &totals), 3);
	assert_int_equal(totals[0].superblock, SHRINKER_NAMES_MAX - 1);
	/* equal times by number */
	assert_int_equal(totals[1].superblock, 5);
	assert_int_equal(totals[2].superblock, 7);
	check(&totals[2].total, 0x100, 80, 50, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_totals),
		TEST(test_limit),
		TEST(test_superblocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
