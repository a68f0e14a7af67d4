// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stats/ranking.h"
#include "unit_test.h"

#define MOST 4

struct entry {
	struct ranked ranked;
	int count;
};

static struct ranking *ranking;

static int set_up(void **state)
{
	ranking = ranking_new(MOST, sizeof(struct entry), 8);
	return !ranking;
}

static struct entry *enter(uint64_t id, const char *name, uint64_t ns)
{
	struct entry *entry = ranking_enter(ranking, id, name);

	entry->count++;
	ranking_spend(ranking, entry, ns);
	return entry;
}

/* All of it was full, and is reset. */
static int set_up_used(void **state)
{
	if (set_up(state))
		return -1;
	for (int i = 0; i < 3 * MOST; i++)
		enter(i, "used", i);
	ranking_reset(ranking);
	return 0;
}

static int tear_down(void **state)
{
	ranking_free(ranking);
	return 0;
}

#define TEST(name) UNIT_TEST_TWICE(name, set_up, set_up_used, tear_down)

/* @expected: "name total", by rank; with an error "name total+error" */
static void check_ranks(const char *expected)
{
	const struct entry *entry;
	char text[256] = "";

	for (size_t i = 0; (entry = ranking_at(ranking, i)); i++) {
		const struct ranked *ranked = &entry->ranked;
		size_t used = strlen(text);

		assert_int_equal(ranked->rank, i);
		used += snprintf(text + used, sizeof(text) - used, "%s%s %d", i ? ", " : "",
				 ranked->name, (int)ranked->total);
		if (ranked->error)
			snprintf(text + used, sizeof(text) - used, "+%d", (int)ranked->error);
	}
	assert_string_equal(text, expected);
}

TEST(test_order)
{
	check_ranks("");
	enter(1, "b", 5);
	enter(2, "c", 9);
	enter(1, "a", 5);
	check_ranks("c 9, a 5, b 5");
	enter(0, "b", 5); /* equal times by name, then by id */
	assert_int_equal(((struct entry *)ranking_at(ranking, 2))->ranked.id, 0);
	assert_int_equal(enter(1, "b", 4)->count, 2);
	check_ranks("b 9, c 9, a 5, b 5");
	assert_int_equal(ranking_count(ranking), 4);
	assert_int_equal(ranking_evicted(ranking), 0);
	/* The table keeps the begin of a name that is too long for it. */
	ranking_reset(ranking);
	enter(1, "0123456789", 1);
	check_ranks("0123456 1");
}

/* A newcomer may have had before what the evicted one had, and inherits nothing else. */
TEST(test_eviction)
{
	enter(1, "a", 50);
	enter(2, "b", 10);
	enter(3, "c", 40);
	enter(4, "d", 30);
	assert_int_equal(enter(5, "e", 3)->count, 1);
	check_ranks("a 50, c 40, d 30, e 3+10");
	enter(6, "f", 1); /* 3 and 10 are less than 30 */
	check_ranks("a 50, c 40, d 30, f 1+13");
	enter(6, "f", 100);
	enter(7, "g", 1);
	check_ranks("f 101+13, a 50, c 40, g 1+30");
	assert_int_equal(ranking_count(ranking), MOST);
	assert_int_equal(ranking_evicted(ranking), 3);
}

/* The newcomer comes to the same place, and nothing is said to be missing in it. */
TEST(test_replace)
{
	enter(1, "a", 50);
	enter(2, "b", 10);
	enter(3, "c", 40);
	ranking_replace(ranking, ranking_at(ranking, 1), 9, "z");
	check_ranks("a 50, b 10, z 0");
	assert_int_equal(((struct entry *)ranking_at(ranking, 2))->count, 0);
	assert_int_equal(enter(9, "z", 30)->count, 1);
	check_ranks("a 50, z 30, b 10");
	assert_int_equal(ranking_count(ranking), 3);
	assert_int_equal(ranking_evicted(ranking), 1);
}

#define KEYS  1000
#define LARGE 64

/* What Space-Saving promises, against exact sums: few keys have much, and many have little. */
TEST(test_bounds)
{
	struct ranking *large = ranking_new(LARGE, sizeof(struct ranked), 1);
	uint64_t exact[KEYS] = { 0 }, all = 0, last = UINT64_MAX;
	bool listed[KEYS] = { false };
	const struct ranked *entry;
	uint32_t seed = 1;

	for (int i = 0; i < 50000; i++) {
		uint32_t random = (seed = seed * 1664525 + 1013904223) >> 8;
		int key = 1 + random % (1 + (random >> 10) % (KEYS - 1));
		uint64_t ns = 1 + (random >> 4) % 1000;

		exact[key] += ns;
		all += ns;
		ranking_spend(large, ranking_enter(large, key, ""), ns);
	}
	for (size_t i = 0; (entry = ranking_at(large, i)); i++) {
		listed[entry->id] = true;
		assert_true(entry->total <= last);
		assert_true(entry->total <= exact[entry->id]);
		assert_true(exact[entry->id] <= entry->total + entry->error);
		last = entry->total;
	}
	for (int key = 1; key < KEYS; key++)
		assert_true(listed[key] || exact[key] <= all / LARGE);
	ranking_free(large);
}

UNIT_TEST_MAIN(NULL, NULL)
