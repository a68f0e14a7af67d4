// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stats/latency.h"
#include "unit_test.h"

UNIT_TEST(test_percentiles)
{
	static const uint64_t times[] = { 2000, 2001, 4000, 4001, 128000, 128001 };
	static const uint64_t expected[] = { 1, 2, 1, 0, 0, 0, 1, 1 };
	struct latency latency = { 0 }, powers = { 0 };

	assert_int_equal(latency_percentile(&latency, 50), 0);
	for (int i = 1; i <= 1000; i++)
		latency_add(&latency, (uint64_t)i * 1000);
	assert_int_equal(latency.count, 1000);
	assert_int_equal(latency.total, 500500000);
	assert_int_equal(latency.max, 1000000);
	assert_in_range(latency_percentile(&latency, 50), 500000, 500000 * 9 / 8);
	assert_in_range(latency_percentile(&latency, 99), 990000, 1000000);
	assert_int_equal(latency_percentile(&latency, 100), 1000000);
	for (size_t i = 0; i < COUNT(times); i++)
		latency_add(&powers, times[i]);
	for (unsigned int i = 0; i < COUNT(expected); i++)
		assert_int_equal(latency_power(&powers, i), expected[i]);
}

/* At every size, at most an eighth above, never below; a microsecond is the least. */
UNIT_TEST(test_precision)
{
	for (uint64_t ns = 1; ns < (uint64_t)1000 << (LATENCY_POWERS - 1); ns += ns / 7 + 1) {
		struct latency latency = { 0 };

		latency_add(&latency, ns);
		latency_add(&latency, ns * 2);
		assert_in_range(latency_percentile(&latency, 50), ns,
				ns + ns / LATENCY_STEPS + 1000);
		assert_int_equal(latency_percentile(&latency, 99), ns * 2);
	}
}

UNIT_TEST(test_extremes)
{
	struct latency latency = { 0 };

	latency_add(&latency, 0);
	assert_int_equal(latency_percentile(&latency, 50), 0);
	latency_add(&latency, UINT64_MAX / 2);
	assert_true(latency_percentile(&latency, 99) == UINT64_MAX / 2);
	assert_int_equal(latency_power(&latency, 0), 1);
	assert_int_equal(latency_power(&latency, LATENCY_POWERS - 1), 1);
	assert_int_equal(latency_below(&latency, 0), 1);
	assert_int_equal(latency_below(&latency, LATENCY_EDGES), 1);
}

/* An edge is the longest time that is counted below it, from 16 us to 67 s. */
UNIT_TEST(test_edges)
{
	assert_int_equal(latency_edge(LATENCY_EDGES - 1), 67108864000);
	for (unsigned int edge = 0; edge < LATENCY_EDGES; edge++) {
		uint64_t ns = (uint64_t)16000 << edge;
		struct latency latency = { 0 };

		assert_int_equal(latency_edge(edge), ns);
		latency_add(&latency, ns);
		assert_int_equal(latency_percentile(&latency, 50), ns);
		latency_add(&latency, ns + 1);
		assert_int_equal(latency_below(&latency, edge), 1);
		assert_int_equal(latency_below(&latency, edge + 1), 1);
	}
}

UNIT_TEST(test_merge)
{
	struct latency a = { 0 };
	struct latency b = { 0 };

	latency_add(&a, 17000);
	latency_add(&b, 18000);
	latency_add(&b, 100000000000);
	latency_merge(&a, &b);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.total, 100000035000);
	assert_int_equal(a.max, 100000000000);
	assert_int_equal(latency_below(&a, 1), 2);
	assert_int_equal(latency_below(&a, LATENCY_EDGES), 1);
}

UNIT_TEST_MAIN(NULL, NULL)
