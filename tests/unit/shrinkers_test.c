// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/names/shrinkers.h"
#include "allocfilt/stats/shrinkers.h"
#include "unit_test.h"

#define DAY (86400ull * 1000000000) /* ns */

static int set_up(void **state)
{
	*state = shrinkers_new();
	return !*state;
}

/* All of it was full, and is reset. */
static int set_up_used(void **state)
{
	if (set_up(state))
		return -1;
	for (int i = 0; i <= SHRINKERS_MAX + 1; i++)
		shrinkers_pair(*state, 0x100 * i, i % SHRINKER_NAMES_MAX, 10);
	shrinkers_reset(*state);
	return 0;
}

static int tear_down(void **state)
{
	shrinkers_free(*state);
	return 0;
}

static void check(const struct shrinker_total *total, uint64_t callback, uint64_t sum, uint64_t max,
		  uint64_t count)
{
	assert_non_null(total);
	assert_int_equal(total->callback, callback);
	assert_int_equal(total->ranked.total, sum);
	assert_int_equal(total->max, max);
	assert_int_equal(total->count, count);
}

static void test_totals(void **state)
{
	struct shrinkers *shrinkers = *state;

	assert_null(shrinkers_at(shrinkers, 0));
	shrinkers_pair(shrinkers, 0xffffffff80000300, -1, 5);
	shrinkers_pair(shrinkers, 0x100, -1, 7);
	shrinkers_pair(shrinkers, 0x200, -1, 4);
	check(shrinkers_at(shrinkers, 0), 0x100, 7, 7, 1);
	shrinkers_pair(shrinkers, 0x100, -1, 100 * DAY);
	shrinkers_pair(shrinkers, 0x200, -1, 1);
	shrinkers_pair(shrinkers, 0x100, -1, 8);
	check(shrinkers_at(shrinkers, 0), 0x100, 100 * DAY + 15, 100 * DAY, 3);
	/* equal times by address */
	check(shrinkers_at(shrinkers, 1), 0x200, 5, 4, 2);
	check(shrinkers_at(shrinkers, 2), 0xffffffff80000300, 5, 5, 1);
	assert_null(shrinkers_at(shrinkers, 3));
	/* in their places */
	check(shrinkers_series(shrinkers, 0), 0xffffffff80000300, 5, 5, 1);
	check(shrinkers_series(shrinkers, 1), 0x100, 100 * DAY + 15, 100 * DAY, 3);
	assert_null(shrinkers_series(shrinkers, 3));
}

/* The first ones keep their counters, all others are one, and nothing is missing. */
static void test_limit(void **state)
{
	struct shrinkers *shrinkers = *state;

	for (int i = 1; i <= SHRINKERS_MAX; i++)
		shrinkers_pair(shrinkers, i, -1, 10);
	assert_int_equal(shrinkers_overflow(shrinkers), 0);
	assert_null(shrinkers_series(shrinkers, SHRINKERS_MAX));
	shrinkers_pair(shrinkers, SHRINKERS_MAX + 1, -1, 1000);
	shrinkers_pair(shrinkers, SHRINKERS_MAX + 2, -1, 1100);
	shrinkers_pair(shrinkers, SHRINKERS_MAX, -1, 10);
	assert_int_equal(shrinkers_overflow(shrinkers), 2);
	check(shrinkers_at(shrinkers, 0), SHRINKERS_MAX, 20, 10, 2);
	for (int i = 1; i < SHRINKERS_MAX; i++)
		check(shrinkers_series(shrinkers, i - 1), i, 10, 10, 1);
	check(shrinkers_at(shrinkers, SHRINKERS_MAX), 0, 2100, 1100, 2);
	check(shrinkers_series(shrinkers, SHRINKERS_MAX), 0, 2100, 1100, 2);
	assert_null(shrinkers_at(shrinkers, SHRINKERS_MAX + 1));
	assert_null(shrinkers_series(shrinkers, SHRINKERS_MAX + 1));
}

static void test_superblocks(void **state)
{
	static const uint64_t expected[] = { SHRINKER_NAMES_MAX - 1, 5,
					     7 }; /* equal times by number */
	struct shrinkers *shrinkers = *state;
	size_t rank = 0;

	shrinkers_pair(shrinkers, 0x100, 7, 30);
	shrinkers_pair(shrinkers, 0x100, 7, 50);
	shrinkers_pair(shrinkers, 0x100, SHRINKER_NAMES_MAX - 1, 90);
	shrinkers_pair(shrinkers, 0x100, SHRINKER_NAMES_MAX, 1000);
	shrinkers_pair(shrinkers, 0x100, 5, 80);
	shrinkers_pair(shrinkers, 0x200, 2, 85);
	check(shrinkers_of_superblock(shrinkers, 7), 0x100, 80, 50, 2);
	assert_null(shrinkers_of_superblock(shrinkers, 0));
	for (size_t i = 0; i < COUNT(expected); i++)
		assert_int_equal(shrinkers_next_superblock(shrinkers, 0x100, &rank)->ranked.id,
				 expected[i]);
	assert_null(shrinkers_next_superblock(shrinkers, 0x100, &rank));
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
		TEST(test_superblocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
