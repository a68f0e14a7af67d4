// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/names/shrinkers.h"
#include "allocfilt/stats/summary.h"
#include "unit_test.h"

#define DAY (86400ull * 1000000000) /* ns */

static int set_up(void **state)
{
	*state = summary_new();
	return !*state;
}

/* All of it was full, and is reset. */
static int set_up_used(void **state)
{
	if (set_up(state))
		return -1;
	for (int i = 0; i <= SHRINKERS_MAX + 1; i++)
		summary_shrinker(*state, 0x100 * i, i % SHRINKER_NAMES_MAX, 10);
	summary_reset(*state);
	return 0;
}

static int tear_down(void **state)
{
	summary_free(*state);
	return 0;
}

#define TEST(name) UNIT_TEST_TWICE(name, set_up, set_up_used, tear_down)

static void check(const struct shrinker_total *total, uint64_t callback, uint64_t sum, uint64_t max,
		  uint64_t count)
{
	assert_non_null(total);
	assert_int_equal(total->callback, callback);
	assert_int_equal(total->ranked.total, sum);
	assert_int_equal(total->max, max);
	assert_int_equal(total->count, count);
}

TEST(test_totals)
{
	struct summary *summary = *state;

	assert_null(summary_at(summary, SUMMARY_SHRINKERS, 0));
	summary_shrinker(summary, 0xffffffff80000300, -1, 5);
	summary_shrinker(summary, 0x100, -1, 7);
	summary_shrinker(summary, 0x200, -1, 4);
	check(summary_at(summary, SUMMARY_SHRINKERS, 0), 0x100, 7, 7, 1);
	summary_shrinker(summary, 0x100, -1, 100 * DAY);
	summary_shrinker(summary, 0x200, -1, 1);
	summary_shrinker(summary, 0x100, -1, 8);
	check(summary_at(summary, SUMMARY_SHRINKERS, 0), 0x100, 100 * DAY + 15, 100 * DAY, 3);
	/* equal times by address */
	check(summary_at(summary, SUMMARY_SHRINKERS, 1), 0x200, 5, 4, 2);
	check(summary_at(summary, SUMMARY_SHRINKERS, 2), 0xffffffff80000300, 5, 5, 1);
	assert_null(summary_at(summary, SUMMARY_SHRINKERS, 3));
}

/* Modules come and go: the newest callback has a total, and what took most keeps its own. */
TEST(test_churn)
{
	struct summary *summary = *state;

	summary_shrinker(summary, 1, -1, 1000);
	for (int i = 2; i < 100 * SHRINKERS_MAX; i++) {
		const struct shrinker_total *total;
		size_t place = 0;

		summary_shrinker(summary, i, -1, 1);
		do {
			total = summary_at(summary, SUMMARY_SHRINKERS, place++);
			assert_non_null(total);
		} while (total->callback != (uint64_t)i);
		check(total, i, 1, 1, 1);
		assert_int_equal(total->ranked.error, (i - 2) / (SHRINKERS_MAX - 1));
	}
	check(summary_at(summary, SUMMARY_SHRINKERS, 0), 1, 1000, 1000, 1);
	assert_null(summary_at(summary, SUMMARY_SHRINKERS, SHRINKERS_MAX));
	assert_int_equal(summary_overflow(summary), 99 * SHRINKERS_MAX - 1);
}

TEST(test_superblocks)
{
	/* equal times by number */
	static const uint64_t expected[] = { SHRINKER_NAMES_MAX - 1, 2, 5, 7 };
	struct summary *summary = *state;
	const struct shrinker_total *total;

	summary_shrinker(summary, 0x100, 7, 30);
	summary_shrinker(summary, 0x100, 7, 50);
	summary_shrinker(summary, 0x100, SHRINKER_NAMES_MAX - 1, 90);
	summary_shrinker(summary, 0x100, 5, 80);
	summary_shrinker(summary, 0x200, 2, 85);
	for (size_t i = 0; i < COUNT(expected); i++) {
		total = summary_at(summary, SUMMARY_SUPERBLOCKS, i);
		assert_int_equal(total->ranked.id, expected[i]);
	}
	check(summary_at(summary, SUMMARY_SUPERBLOCKS, 1), 0x200, 85, 85, 1);
	check(summary_at(summary, SUMMARY_SUPERBLOCKS, 3), 0x100, 80, 50, 2);
	assert_null(summary_at(summary, SUMMARY_SUPERBLOCKS, 4));
	/* The next one in the place of 7 inherits nothing; the callback keeps the time of both. */
	summary_shrinker(summary, 0x100, 7 + SHRINKER_NAMES_MAX, 3);
	total = summary_at(summary, SUMMARY_SUPERBLOCKS, 3);
	assert_int_equal(total->ranked.id, 7 + SHRINKER_NAMES_MAX);
	check(total, 0x100, 3, 3, 1);
	check(summary_at(summary, SUMMARY_SHRINKERS, 0), 0x100, 253, 90, 5);
	assert_non_null(summary_at(summary, SUMMARY_SUPERBLOCKS, 3));
	assert_null(summary_at(summary, SUMMARY_SUPERBLOCKS, 4));
}

UNIT_TEST_MAIN(NULL, NULL)
