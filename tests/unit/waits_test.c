// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stats/waits.h"
#include "notes.h"
#include "unit_test.h"

static struct waits waits;

static int set_up(void **state)
{
	waits = (struct waits){ .parts = 0 };
	clear_notes();
	return 0;
}

static void add(int role, uint64_t end, uint64_t ns, bool is_long)
{
	waits_add(&waits, &(struct memory_wait){ .start = end - ns, .end = end, .role = role },
		  is_long);
}

/* The reasons from the first to the last, which have to end. */
static const char *order(void)
{
	int count = 0;

	clear_notes();
	for (int role = waits_next(&waits, -1); role >= 0; role = waits_next(&waits, role)) {
		assert_true(count++ < ROLE_COUNT);
		note("%s ", catalog_role_key(role));
	}
	return notes.text;
}

#define TEST(name) UNIT_TEST_WITH(name, set_up, NULL)

static void assert_sum(struct wait_sum sum, uint64_t count, uint64_t total, uint64_t long_count,
		       uint64_t long_total)
{
	assert_int_equal(sum.count, count);
	assert_int_equal(sum.total, total);
	assert_int_equal(sum.long_count, long_count);
	assert_int_equal(sum.long_total, long_total);
}

TEST(test_sums)
{
	const struct memory_wait part = { .end = 5, .role = ROLE_REFAULT, .is_part = true };
	const struct memory_wait open = { .end = 70, .role = ROLE_REFAULT, .in_progress = true };

	assert_sum(waits_all(&waits), 0, 0, 0, 0);
	assert_string_equal(order(), "");
	add(ROLE_REFAULT, 1000, 30, false);
	add(ROLE_REFAULT, 2000, 200, true);
	add(ROLE_REFAULT, 1500, 50, false);
	add(ROLE_MEMORY_HIGH, 3000, 700, true);
	assert_sum(waits.of[ROLE_REFAULT], 3, 280, 1, 200);
	/* the end of the first */
	assert_int_equal(waits.of[ROLE_REFAULT].since, 1000);
	assert_int_equal(waits.of[ROLE_MEMORY_HIGH].since, 3000);
	assert_sum(waits_all(&waits), 4, 980, 2, 900);
	assert_int_equal(waits.parts, 0);
	waits_add(&waits, &open, true);
	waits_add(&waits, &open, false);
	assert_sum(waits_all(&waits), 4, 980, 2, 900);
	assert_int_equal(waits.in_progress, 2);
	assert_int_equal(waits.in_progress_ns, 140);
	waits_add(&waits, &part, false);
	assert_int_equal(waits.parts, 1);
	assert_int_equal(waits.of[ROLE_REFAULT].count, 4);
}

/* Most time first, and of equal ones the first in the catalog; each once, those of no time as well. */
TEST(test_order)
{
	add(ROLE_SWAP_IN, 1000, 50, false);
	assert_string_equal(order(), "swap_in ");
	add(ROLE_DIRECT_RECLAIM, 1000, 20, false);
	add(ROLE_WAIT, 1000, 90, false);
	assert_string_equal(order(), "memory_wait swap_in direct_reclaim ");
	add(ROLE_DIRECT_RECLAIM, 1000, 30, false);
	add(ROLE_REFAULT, 1000, 50, false);
	add(ROLE_MEMCG_RECLAIM, 1000, 50, false);
	assert_string_equal(order(), "memory_wait direct_reclaim memcg_reclaim swap_in refault ");
	add(ROLE_NODE_RECLAIM, 1000, 0, false);
	add(ROLE_MEMORY_HIGH, 1000, 0, false);
	assert_string_equal(order(), "memory_wait direct_reclaim memcg_reclaim swap_in refault "
				     "memory_high node_reclaim ");
}

/* Sums stop at 2^64 ns. */
TEST(test_sums_of_years)
{
	for (int i = 0; i < 3; i++) {
		add(ROLE_REFAULT, UINT64_MAX, 1ull << 63, true);
		add(ROLE_SWAP_IN, UINT64_MAX, 1ull << 63, true);
	}
	assert_true(waits.of[ROLE_REFAULT].total == UINT64_MAX);
	assert_true(waits.of[ROLE_REFAULT].long_total == UINT64_MAX);
	assert_true(waits_all(&waits).total == UINT64_MAX);
	assert_true(waits_all(&waits).long_total == UINT64_MAX);
	assert_string_equal(order(), "swap_in refault ");
}

UNIT_TEST_MAIN(NULL, NULL)
