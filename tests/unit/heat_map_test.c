// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/heat_map.h"
#include "unit_test.h"

static struct heat_map map;

static int set_up(void **state)
{
	map = (struct heat_map){ .width = 0 };
	return 0;
}

static void add(uint64_t ts, uint64_t ns)
{
	latency_add(heat_map_reach(&map, ts), ns);
}

static uint64_t in_column(uint64_t ts)
{
	uint64_t number = ts / map.width;

	assert_in_range(number, map.first, map.last);
	return map.columns[number - map.first].count;
}

UNIT_TEST_WITH(test_one, set_up, NULL)
{
	unsigned int lowest, highest;

	assert_false(heat_map_range(&map, &lowest, &highest));
	add(7999999, 16000); /* the first edge belongs below it */
	add(7000000, 16001);
	add(8000000, 1);
	assert_int_equal(map.width, 1000000);
	assert_int_equal(map.first, 7);
	assert_int_equal(map.last, 8);
	assert_int_equal(in_column(7000000), 2);
	assert_int_equal(in_column(8000000), 1);
	assert_true(heat_map_range(&map, &lowest, &highest));
	assert_int_equal(lowest, 0);
	assert_int_equal(highest, 1);
	add(7000000, UINT64_MAX);
	assert_true(heat_map_range(&map, &lowest, &highest));
	assert_int_equal(highest, LATENCY_EDGES);
}

/* The 129th column, on either side of those from an odd or even one, makes all twice as wide. */
UNIT_TEST_WITH(test_wider, set_up, NULL)
{
	for (uint64_t from = 1000; from < 1002; from++) {
		for (int side = 0; side < 2; side++) {
			uint64_t further = side ? from - 1 : from + HEAT_COLUMNS;

			set_up(state);
			for (uint64_t i = 0; i < HEAT_COLUMNS; i++)
				add((from + i) * HEAT_WIDTH, 1);
			assert_int_equal(map.width, HEAT_WIDTH);
			assert_int_equal(in_column(from * HEAT_WIDTH), 1);
			add(further * HEAT_WIDTH, 1);
			assert_int_equal(map.width, 2 * HEAT_WIDTH);
			for (uint64_t ts = 1002; ts < 1126; ts++)
				assert_int_equal(in_column(ts * HEAT_WIDTH), 2);
			/* with the one beside it, if there is one */
			assert_int_equal(in_column(further * HEAT_WIDTH), from % 2 == 1 ? 2 : 1);
		}
	}
}

/* Whatever comes in whatever order: each stall is in the column of its time, and none is lost. */
UNIT_TEST_WITH(test_any_order, set_up, NULL)
{
	static uint64_t ts[2000];
	uint64_t total = 0, span = 10 * HEAT_WIDTH;
	unsigned long long random = 1;

	for (int round = 0; round < 40; round++, span = span * 3 / 2) {
		set_up(state);
		total = 0;
		for (size_t i = 0; i < COUNT(ts); i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			ts[i] = 5000000000000ull + (random >> 11) % span;
			add(ts[i], i);
			total += i;
		}
		for (size_t i = 0; i < HEAT_COLUMNS; i++) {
			uint64_t from = (map.first + i) * map.width, count = 0, ns = 0;

			for (size_t j = 0; j < COUNT(ts); j++) {
				if (ts[j] < from || ts[j] - from >= map.width)
					continue;
				count++;
				ns += j;
			}
			assert_int_equal(map.columns[i].count, count);
			assert_int_equal(map.columns[i].total, ns);
			total -= ns;
		}
		assert_int_equal(total, 0);
		assert_true(map.last - map.first < HEAT_COLUMNS);
		/* no wider than it takes */
		assert_true(map.width == HEAT_WIDTH ||
			    map.last - map.first >= HEAT_COLUMNS / 2 - 1);
	}
}

UNIT_TEST_WITH(test_any_time, set_up, NULL)
{
	add(0, 1);
	add(UINT64_MAX, 1);
	assert_int_equal(in_column(0), 1);
	assert_int_equal(in_column(UINT64_MAX), 1);
	set_up(state);
	add(UINT64_MAX, 1);
	add(UINT64_MAX - 127 * HEAT_WIDTH, 1);
	assert_int_equal(map.width, HEAT_WIDTH);
	add(0, 1);
	assert_int_equal(in_column(UINT64_MAX), 2);
}

UNIT_TEST_MAIN(NULL, NULL)
