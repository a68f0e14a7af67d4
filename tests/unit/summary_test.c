// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall.h"
#include "fake_resolver.h"
#include "unit_test.h"

#define MS 1000000ull

static struct summary *summary;

static int set_up(void **state)
{
	static struct plan plan = {
		.events = { { .id = EVENT_DIRECT_RECLAIM_END }, { .id = EVENT_SLAB_END } },
	};

	summary = summary_new(&plan);
	return !summary;
}

static int tear_down(void **state)
{
	summary_free(summary);
	return 0;
}

/* A stall with @rest of its time in PHASE_REST, and the others in slab. */
struct made {
	int tid;
	const char *name;
	uint64_t ns;
	uint64_t rest;
	const char *cgroup;
	bool background;
	bool interrupt;
	uint64_t function;
	int role;
};

static void stall(struct made made)
{
	struct stall one = {
		.key.kind = made.interrupt ? OWNER_HARDIRQ : OWNER_TASK,
		.tid = made.tid,
		.start = 1000,
		.end = 1000 + made.ns,
		.function = made.function,
		.role = made.role,
		.gfp_names = "G",
		.compaction = "C",
	};
	struct task_info task_info = { .pid = 0 };
	struct named_stall named = {
		.stall = &one,
		.name = made.name ? made.name : "t",
		.task_info = &task_info,
		.background = made.background,
		.function = "f",
		.memcg = "",
	};

	if (made.cgroup)
		snprintf(task_info.cgroup, sizeof(task_info.cgroup), "%s", made.cgroup);
	phases_spend(&one.phases, PHASE_REST, PART_OWN, STATE_RAN, made.rest);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SLAB, STATE_RAN, made.ns - made.rest);
	summary_stall(summary, &named);
}

#define STALL(...) stall((struct made){ __VA_ARGS__ })

static void test_waiters(void **state)
{
	const struct summary_stalls *waiting = summary_stalls(summary, STALLS_WAITING);
	const struct summary_stalls *background = summary_stalls(summary, STALLS_BACKGROUND);
	const struct summary_total *waiters;

	STALL(.tid = 1, .name = "a", .ns = 100, .cgroup = "/x");
	STALL(.tid = 2, .name = "b", .ns = 250, .cgroup = "/y");
	STALL(.tid = 1, .name = "a", .ns = 200, .cgroup = "/x");
	STALL(.tid = 3, .name = "k", .ns = 9000, .background = true);
	STALL(.tid = 4, .name = "i", .ns = 10, .interrupt = true);
	assert_int_equal(summary_totals(summary, SUMMARY_TASKS, &waiters), 2);
	assert_string_equal(waiters[0].name, "a");
	assert_int_equal(waiters[0].latency.total, 300);
	assert_int_equal(waiters[0].latency.count, 2);
	assert_int_equal(waiters[1].id, 2);
	assert_int_equal(summary_totals(summary, SUMMARY_CGROUPS, &waiters), 2);
	assert_string_equal(waiters[0].name, "/x");
	assert_int_equal(summary_totals(summary, SUMMARY_KERNEL_THREADS, &waiters), 1);
	assert_string_equal(waiters[0].name, "k");
	assert_int_equal(waiting->latency.total, 560);
	assert_int_equal(background->latency.total, 9000);
	assert_int_equal(phases_total(&waiting->phases), 560);
	assert_int_equal(phases_total(&background->phases), 9000);
}

static void test_longest(void **state)
{
	const struct named_stall *named;

	assert_null(summary_longest(summary, 0));
	STALL(.name = "idle", .ns = 5000, .rest = 5000);
	assert_null(summary_most_explained(summary));
	STALL(.name = "slow", .ns = 3000, .rest = 1000, .cgroup = "/x");
	STALL(.name = "less", .ns = 2000, .rest = 100);
	STALL(.name = "kswapd0", .ns = 9000, .background = true);
	assert_string_equal(summary_longest(summary, 0)->name, "idle");
	named = summary_most_explained(summary);
	assert_string_equal(named->name, "slow");
	assert_string_equal(named->task_info->cgroup, "/x");
	assert_string_equal(named->stall->gfp_names, "G");
	assert_int_equal(named->stall->end, 4000);
}

/* The ten longest of twelve, and of equal ones the earlier first, which also keeps its place. */
static void test_longest_ten(void **state)
{
	static const unsigned int ns[] = { 30, 70, 10, 70, 50, 90, 20, 60, 40, 80, 25, 30 };
	static const char *const expected[] = { "f", "j", "b", "d", "h", "e", "i", "a", "l", "k" };
	char name[2] = "a";

	for (size_t i = 0; i < COUNT(ns); i++) {
		STALL(.name = name, .ns = ns[i], .cgroup = name);
		if (i < SUMMARY_LONGEST_MAX - 1)
			assert_null(summary_longest(summary, i + 1));
		name[0]++;
	}
	STALL(.name = "late", .ns = 25);
	for (size_t i = 0; i < SUMMARY_LONGEST_MAX; i++) {
		const struct named_stall *named = summary_longest(summary, i);

		assert_string_equal(named->name, expected[i]);
		assert_string_equal(named->task_info->cgroup, expected[i]);
		assert_int_equal(named->stall->end - named->stall->start, ns[*expected[i] - 'a']);
	}
}

/* A newcomer may have had before what the evicted one had. */
static void test_limits(void **state)
{
	const struct summary_total *waiters;
	char name[16];

	for (int i = 1; i <= SUMMARY_TASKS_MAX; i++)
		STALL(.tid = i, .ns = 1000 + i);
	assert_int_equal(summary_overflow(summary), 0);
	STALL(.tid = 99999, .name = "new", .ns = 5);
	assert_int_equal(summary_overflow(summary), 1);
	assert_int_equal(summary_totals(summary, SUMMARY_TASKS, &waiters), SUMMARY_TASKS_MAX);
	assert_int_equal(waiters[0].latency.total, 1000 + SUMMARY_TASKS_MAX);
	assert_int_equal(waiters[0].error, 0);
	assert_string_equal(waiters[SUMMARY_TASKS_MAX - 1].name, "new");
	assert_int_equal(waiters[SUMMARY_TASKS_MAX - 1].latency.total, 5);
	assert_int_equal(waiters[SUMMARY_TASKS_MAX - 1].error, 1001);
	for (int i = 1; i <= SUMMARY_CGROUPS_MAX + 5; i++) {
		snprintf(name, sizeof(name), "/%d", i);
		STALL(.tid = 2, .ns = 10, .cgroup = name);
	}
	assert_int_equal(summary_totals(summary, SUMMARY_CGROUPS, &waiters), SUMMARY_CGROUPS_MAX);
	assert_int_equal(summary_overflow(summary), 6);
}

/*
 * 128 tasks of 50 ms fill the table. The first leader gets the place of one, the second that of
 * another, both with an error of 50 ms; after that each finds its place: 10,000 times 10 ms.
 */
static void test_two_leaders(void **state)
{
	const struct summary_total *waiters;

	for (int i = 1; i <= 128; i++)
		STALL(.tid = i, .name = "once", .ns = 50 * MS);
	for (int i = 0; i < 10000; i++) {
		STALL(.tid = 1001, .name = "a", .ns = 10 * MS);
		STALL(.tid = 1002, .name = "b", .ns = 10 * MS);
	}
	assert_int_equal(summary_totals(summary, SUMMARY_TASKS, &waiters), 128);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waiters[i].id, 1001 + i);
		assert_int_equal(waiters[i].latency.total, 100000 * MS);
		assert_int_equal(waiters[i].latency.count, 10000);
		assert_int_equal(waiters[i].error, 50 * MS);
	}
	for (int i = 2; i < 128; i++) {
		assert_string_equal(waiters[i].name, "once");
		assert_int_equal(waiters[i].latency.total, 50 * MS);
		assert_int_equal(waiters[i].error, 0);
	}
	assert_int_equal(summary_overflow(summary), 2);
}

static void window(uint64_t function, uint64_t ns)
{
	struct record exit = {
		.window = { .function = function, .rettime = ns, .role = ROLE_SLAB },
	};

	summary_window(summary, &(struct task_window){ .exit = &exit });
}

static void pair(int event, uint64_t ns, bool slow)
{
	struct record end = { .event = event };

	summary_pair(summary, &(struct task_pair){ .end = &end, .duration = ns, .slow = slow });
}

static void test_functions(void **state)
{
	const struct summary_total *functions;

	window(0xa, 100);
	window(0xb, 500);
	window(0xa, 150);
	pair(0, 90, false);
	pair(0, 200, true);
	pair(1, 1000, true);
	assert_int_equal(summary_totals(summary, SUMMARY_FUNCTIONS, &functions), 3);
	assert_int_equal(functions[0].id, 0xb);
	assert_int_equal(functions[1].latency.count, 2);
	assert_int_equal(functions[1].latency.max, 150);
	assert_int_equal(functions[2].id, 0);
	assert_int_equal(functions[2].role, ROLE_DIRECT_RECLAIM);
	assert_int_equal(functions[2].latency.total, 200);
	for (int i = 0; i < SUMMARY_FUNCTIONS_MAX; i++)
		window(0x100 + i, 10);
	assert_int_equal(summary_totals(summary, SUMMARY_FUNCTIONS, &functions),
			 SUMMARY_FUNCTIONS_MAX);
	assert_int_equal(summary_overflow(summary), 3);
	window(0x300, 1000);
	assert_int_equal(summary_totals(summary, SUMMARY_FUNCTIONS, &functions),
			 SUMMARY_FUNCTIONS_MAX);
	assert_int_equal(functions[0].id, 0x300);
	assert_int_equal(functions[0].latency.total, 1000);
	/* 61 had 10 each, and three more took 10 with an error of 10 */
	assert_int_equal(functions[0].error, 10);
}

#define KEYS 1000

/* What Space-Saving promises of a table of @max entries; @exact: the true totals, by key */
static void check_entry(const uint64_t *exact, bool *listed, int key, uint64_t total,
			uint64_t error)
{
	listed[key] = true;
	assert_true(total <= exact[key] && exact[key] <= total + error);
}

static void check_others(const uint64_t *exact, const bool *listed, size_t max)
{
	uint64_t all = 0;

	for (int key = 1; key < KEYS; key++)
		all += exact[key];
	for (int key = 1; key < KEYS; key++)
		assert_true(listed[key] || exact[key] <= all / max);
}

/* Few keys have much, and many have little. */
static void test_bounds(void **state)
{
	static const size_t max[] = { SUMMARY_FUNCTIONS_MAX, SUMMARY_CGROUPS_MAX,
				      SUMMARY_TASKS_MAX };
	uint64_t exact[KEYS] = { 0 };
	bool listed[KEYS] = { false };
	const struct summary_total *totals;
	uint32_t seed = 1;
	size_t count;

	for (int i = 0; i < 50000; i++) {
		uint32_t random = (seed = seed * 1664525 + 1013904223) >> 8;
		int key = 1 + random % (1 + (random >> 10) % (KEYS - 1));
		uint64_t ns = 1 + (random >> 4) % 1000;
		char name[16];

		snprintf(name, sizeof(name), "/%d", key);
		exact[key] += ns;
		STALL(.tid = key, .ns = ns, .cgroup = name);
		window(key, ns);
	}
	for (int which = SUMMARY_FUNCTIONS; which <= SUMMARY_TASKS; which++) {
		memset(listed, 0, sizeof(listed));
		count = summary_totals(summary, which, &totals);
		for (size_t i = 0; i < count; i++)
			check_entry(exact, listed,
				    totals[i].id ? totals[i].id :
						   (uint64_t)atoi(totals[i].name + 1),
				    totals[i].latency.total, totals[i].error);
		check_others(exact, listed, max[which]);
	}
}

/* Those of kswapd are separate, and those of no role are together. */
static void test_roles(void **state)
{
	const struct histogram *waiting = summary_stalls(summary, STALLS_WAITING)->roles;
	const struct histogram *background = summary_stalls(summary, STALLS_BACKGROUND)->roles;

	STALL(.role = ROLE_DIRECT_RECLAIM, .ns = 30000);
	STALL(.role = ROLE_DRAIN, .ns = 40000);
	STALL(.role = ROLE_DIRECT_RECLAIM, .ns = 50000);
	STALL(.role = ROLE_NONE, .function = 0xa, .ns = 1000);
	STALL(.role = ROLE_NONE, .function = 0xb, .ns = 2000);
	STALL(.role = ROLE_NODE, .ns = 60000, .background = true);
	assert_int_equal(waiting[ROLE_DIRECT_RECLAIM].count, 2);
	assert_int_equal(waiting[ROLE_DIRECT_RECLAIM].total, 80000);
	assert_int_equal(waiting[ROLE_DRAIN].total, 40000);
	assert_int_equal(waiting[ROLE_NODE].count, 0);
	assert_int_equal(waiting[ROLE_COUNT].count, 2);
	assert_int_equal(waiting[ROLE_COUNT].total, 3000);
	assert_int_equal(background[ROLE_NODE].total, 60000);
}

/* Counters of the metrics: each stall has one cause. */
static void test_causes(void **state)
{
	const struct summary_stalls *stalls = summary_stalls(summary, STALLS_WAITING);

	STALL(.ns = 1000, .rest = 400); /* shrinkers: 600 of 1000 */
	STALL(.ns = 1000, .rest = 501);
	STALL(.ns = 70, .rest = 70);
	assert_int_equal(stalls->causes[PHASE_DIRECT_RECLAIM].count, 1);
	assert_int_equal(stalls->causes[PHASE_DIRECT_RECLAIM].total, 1000);
	assert_int_equal(stalls->causes[PHASE_REST].count, 2);
	assert_int_equal(stalls->causes[PHASE_REST].total, 1070);
	for (int cause = 0; cause < CAUSES; cause++)
		if (cause != PHASE_DIRECT_RECLAIM && cause != PHASE_REST)
			assert_int_equal(stalls->causes[cause].count, 0);
}

/* All tables were full, and are reset. */
static int set_up_used(void **state)
{
	if (set_up(state))
		return -1;
	for (unsigned int i = 0; i < 2 * SUMMARY_TASKS_MAX; i++) {
		char name[16], cgroup[16];

		snprintf(name, sizeof(name), "task%u", i);
		snprintf(cgroup, sizeof(cgroup), "/c%u", i);
		STALL(.tid = 1000 + i, .name = name, .ns = i * MS, .rest = i, .cgroup = cgroup,
		      .background = i % 3 == 0, .function = 0x1000 + i);
		window(0x1000 + i, i * MS);
	}
	summary_reset(summary);
	assert_int_equal(summary_overflow(summary), 0);
	return 0;
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down),                                  \
	{                                                                                          \
#name " after a reset", name, set_up_used, tear_down, NULL                         \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_waiters),	TEST(test_longest),	TEST(test_limits),
		TEST(test_two_leaders), TEST(test_functions),	TEST(test_bounds),
		TEST(test_roles),	TEST(test_longest_ten), TEST(test_causes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
