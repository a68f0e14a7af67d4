// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall.h"
#include "unit_test.h"

#define DAY (86400ull * 1000000000) /* ns */

static int set_up(void **state)
{
	*state = shrinkers_new();
	return !*state;
}

static void pair(struct shrinkers *shrinkers, uint64_t callback, uint64_t duration, int superblock);

/* All of it was full, and is reset. */
static int set_up_used(void **state)
{
	if (set_up(state))
		return -1;
	for (int i = 0; i <= SHRINKERS_MAX + 1; i++)
		pair(*state, 0x100 * i, 10, i % SHRINKER_NAMES_MAX);
	shrinkers_reset(*state);
	return 0;
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
	/* in their places */
	check(shrinkers_series(shrinkers, 0), 0xffffffff80000300, 5, 5, 1);
	check(shrinkers_series(shrinkers, 1), 0x100, 100 * DAY + 15, 100 * DAY, 3);
	assert_null(shrinkers_series(shrinkers, 3));
}

/*
 * A full table of 10 each: the first newcomer evicts one of these; the second, and the first two when
 * they come again, find nothing less than 10.
 */
static void test_limit(void **state)
{
	struct shrinkers *shrinkers = *state;
	const struct shrinker_total *totals;
	uint64_t count = 0, sum = 0;

	for (int i = 1; i <= SHRINKERS_MAX; i++)
		pair(shrinkers, i, 10, -1);
	assert_int_equal(shrinkers_overflow(shrinkers), 0);
	assert_null(shrinkers_series(shrinkers, SHRINKERS_MAX));
	pair(shrinkers, SHRINKERS_MAX + 1, 1000, -1);
	pair(shrinkers, SHRINKERS_MAX + 2, 1100, -1);
	pair(shrinkers, SHRINKERS_MAX, 10, -1);
	pair(shrinkers, SHRINKERS_MAX + 1, 500, -1);
	assert_int_equal(shrinkers_overflow(shrinkers), 2);
	assert_int_equal(shrinkers_sorted(shrinkers, &totals), SHRINKERS_MAX);
	check(&totals[0], SHRINKERS_MAX + 1, 1500, 1000, 2);
	assert_int_equal(totals[0].error, 10);
	check(&totals[1], SHRINKERS_MAX + 2, 1100, 1100, 1);
	assert_int_equal(totals[1].error, 10);
	check(&totals[2], SHRINKERS_MAX, 20, 10, 2);
	assert_int_equal(totals[2].error, 0);
	/* The counters of the first ones do not go back, and nothing is missing. */
	for (int i = 1; i < SHRINKERS_MAX; i++)
		check(shrinkers_series(shrinkers, i - 1), i, 10, 10, 1);
	check(shrinkers_series(shrinkers, SHRINKERS_MAX), 0, 2600, 1100, 3);
	for (size_t i = 0; shrinkers_series(shrinkers, i); i++) {
		count += shrinkers_series(shrinkers, i)->count;
		sum += shrinkers_series(shrinkers, i)->total;
	}
	assert_int_equal(count, SHRINKERS_MAX + 4);
	assert_int_equal(sum, 10 * SHRINKERS_MAX + 1000 + 1100 + 10 + 500);
}

#define KEYS 4000

/* What Space-Saving promises, against exact sums. */
static void test_bounds(void **state)
{
	uint64_t exact[KEYS] = { 0 }, all = 0;
	struct shrinkers *shrinkers = *state;
	const struct shrinker_total *totals;
	bool listed[KEYS] = { false };
	uint32_t seed = 1;
	size_t count;

	for (int i = 0; i < 100000; i++) {
		uint32_t random = (seed = seed * 1664525 + 1013904223) >> 8;
		int key = 1 + random % (1 + (random >> 9) % (KEYS - 1));
		uint64_t ns = 1 + (random >> 4) % 1000;

		exact[key] += ns;
		all += ns;
		pair(shrinkers, key, ns, -1);
	}
	count = shrinkers_sorted(shrinkers, &totals);
	for (size_t i = 0; i < count; i++) {
		listed[totals[i].callback] = true;
		assert_true(totals[i].total <= exact[totals[i].callback]);
		assert_true(exact[totals[i].callback] <= totals[i].total + totals[i].error);
	}
	for (int key = 1; key < KEYS; key++)
		assert_true(listed[key] || exact[key] <= all / SHRINKERS_MAX);
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
	check(totals[2].total, 0x100, 80, 50, 2);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down),                                  \
	{                                                                                          \
#name " after a reset", name, set_up_used, tear_down, NULL                         \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_totals),
		TEST(test_limit),
		TEST(test_bounds),
		TEST(test_superblocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
