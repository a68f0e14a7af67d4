// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocfilt/stall.h"

static void test_edges(void **state)
{
	(void)state;
	assert_int_equal(HISTOGRAM_EDGES, 23);
	assert_int_equal(histogram_edge(0), 16000);
	assert_int_equal(histogram_edge(3), 128000);
	assert_int_equal(histogram_edge(16), 1048576000);
	assert_int_equal(histogram_edge(22), 67108864000);
}

/* An edge is the last that is in, the ns behind it the first that is not. */
static void test_edge_is_inside(void **state)
{
	(void)state;
	for (unsigned int edge = 0; edge < HISTOGRAM_EDGES; edge++) {
		struct histogram histogram = { 0 };

		histogram_add(&histogram, (uint64_t)16000 << edge);
		assert_int_equal(histogram.counts[edge], 1);
		histogram_add(&histogram, ((uint64_t)16000 << edge) + 1);
		assert_int_equal(histogram.counts[edge], 1);
		assert_int_equal(histogram.counts[edge + 1], 1);
		assert_int_equal(histogram.count, 2);
		assert_int_equal(histogram.total, ((uint64_t)32000 << edge) + 1);
	}
}

static void test_extremes(void **state)
{
	struct histogram histogram = { 0 };

	(void)state;
	histogram_add(&histogram, 0);
	histogram_add(&histogram, UINT64_MAX / 2);
	assert_int_equal(histogram.counts[0], 1);
	assert_int_equal(histogram.counts[HISTOGRAM_EDGES], 1);
}

static void test_merge(void **state)
{
	struct histogram a = { 0 };
	struct histogram b = { 0 };

	(void)state;
	histogram_add(&a, 17000);
	histogram_add(&b, 18000);
	histogram_add(&b, 100000000000);
	histogram_merge(&a, &b);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.total, 100000035000);
	assert_int_equal(a.counts[1], 2);
	assert_int_equal(a.counts[HISTOGRAM_EDGES], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_edge_is_inside),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
