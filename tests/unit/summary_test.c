// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/stall.h"
#include "fake_resolver.h"

#define CGROUPS 8

static void test_percentiles(void **state)
{
	struct latency *latency = calloc(1, sizeof(*latency));

	(void)state;
	assert_int_equal(latency_percentile(latency, 50), 0);
	for (int i = 1; i <= 1000; i++)
		latency_add(latency, (uint64_t)i * 1000);
	assert_int_equal(latency->count, 1000);
	assert_int_equal(latency->total, 500500000);
	assert_int_equal(latency->max, 1000000);
	assert_in_range(latency_percentile(latency, 50), 500000, 500000 * 9 / 8);
	assert_in_range(latency_percentile(latency, 99), 990000, 1000000);
	assert_int_equal(latency_percentile(latency, 100), 1000000);
	free(latency);
}

/* At every size, at most an eighth above, never below; a microsecond is the least. */
static void test_precision(void **state)
{
	(void)state;
	for (uint64_t ns = 1; ns < (uint64_t)1000 << (LATENCY_POWERS - 1); ns += ns / 7 + 1) {
		struct latency latency = { 0 };

		latency_add(&latency, ns);
		latency_add(&latency, ns * 2);
		assert_true(latency_percentile(&latency, 50) >= ns);
		assert_true(latency_percentile(&latency, 50) <= ns + ns / LATENCY_STEPS + 1000);
		assert_int_equal(latency_percentile(&latency, 99), ns * 2);
	}
}

static void test_extremes(void **state)
{
	struct latency latency = { 0 };

	(void)state;
	latency_add(&latency, 0);
	assert_int_equal(latency_percentile(&latency, 50), 0);
	latency_add(&latency, UINT64_MAX / 2);
	assert_true(latency_percentile(&latency, 99) == UINT64_MAX / 2);
	assert_int_equal(latency_power(&latency, 0), 1);
	assert_int_equal(latency_power(&latency, LATENCY_POWERS - 1), 1);
}

static void test_powers(void **state)
{
	struct latency latency = { 0 };

	(void)state;
	latency_add(&latency, 1999);
	latency_add(&latency, 2000);
	latency_add(&latency, 3999);
	latency_add(&latency, 4000);
	latency_add(&latency, 127999);
	latency_add(&latency, 128000);
	assert_int_equal(latency_power(&latency, 0), 1);
	assert_int_equal(latency_power(&latency, 1), 2);
	assert_int_equal(latency_power(&latency, 2), 1);
	assert_int_equal(latency_power(&latency, 6), 1);
	assert_int_equal(latency_power(&latency, 7), 1);
}

static const struct task_info nobody;

static void stall(struct summary *summary, int pid, const char *name, uint64_t ns, uint64_t rest,
		  bool background, const char *cgroup)
{
	struct stall one = {
		.pid = pid,
		.start = 1000,
		.end = 1000 + ns,
		.gfp_names = "G",
		.compaction = "C",
	};
	struct task_info who = nobody;
	struct named_stall named = {
		.stall = &one,
		.name = name,
		.who = &who,
		.background = background,
		.function = "f",
		.memcg = "",
	};

	snprintf(who.cgroup, sizeof(who.cgroup), "%s", cgroup);
	one.phases.ns[PHASE_REST][PART_OWN] = rest;
	one.phases.ns[PHASE_DIRECT_RECLAIM][PART_SLAB] = ns - rest;
	summary_stall(summary, &named);
}

static void test_who_waited(void **state)
{
	struct summary *summary = summary_new(NULL, CGROUPS);
	const struct summary_waiter *waiters;

	(void)state;
	stall(summary, 1, "a", 100, 0, false, "/x");
	stall(summary, 2, "b", 250, 0, false, "/y");
	stall(summary, 1, "a", 200, 0, false, "/x");
	stall(summary, 3, "kswapd0", 9000, 0, true, "/");
	assert_int_equal(summary_waiters(summary, SUMMARY_TASKS, &waiters), 2);
	assert_string_equal(waiters[0].name, "a");
	assert_int_equal(waiters[0].latency.total, 300);
	assert_int_equal(waiters[0].latency.count, 2);
	assert_int_equal(waiters[1].pid, 2);
	assert_int_equal(summary_waiters(summary, SUMMARY_CGROUPS, &waiters), 2);
	assert_string_equal(waiters[0].name, "/x");
	assert_int_equal(summary_waiters(summary, SUMMARY_KERNEL_THREADS, &waiters), 1);
	assert_string_equal(waiters[0].name, "kswapd0");
	assert_int_equal(summary_stalls(summary)->total, 550);
	assert_int_equal(summary_background(summary)->total, 9000);
	assert_int_equal(phases_total(summary_phases(summary)), 550);
	assert_int_equal(phases_total(summary_background_phases(summary)), 9000);
	summary_free(summary);
}

static void test_worst(void **state)
{
	struct summary *summary = summary_new(NULL, CGROUPS);
	const struct summary_worst *worst = summary_worst(summary);
	const struct summary_worst *longest = summary_longest(summary);

	(void)state;
	assert_false(worst->any);
	stall(summary, 1, "idle", 5000, 5000, false, "");
	assert_false(worst->any);
	stall(summary, 2, "slow", 3000, 1000, false, "/x");
	stall(summary, 3, "less", 2000, 100, false, "/x");
	stall(summary, 4, "kswapd0", 9000, 0, true, "/");
	assert_string_equal(worst->named.name, "slow");
	assert_string_equal(worst->named.who->cgroup, "/x");
	assert_string_equal(worst->stall.gfp_names, "G");
	assert_ptr_equal(worst->named.stall, &worst->stall);
	assert_string_equal(longest->named.name, "idle");
	summary_free(summary);
}

/* The one that waited least makes room. */
static void test_limits(void **state)
{
	struct summary *summary = summary_new(NULL, CGROUPS);
	const struct summary_waiter *waiters;
	char name[16];

	(void)state;
	for (int i = 1; i <= SUMMARY_TASKS_MAX; i++)
		stall(summary, i, "t", 1000 + i, 0, false, "");
	assert_int_equal(summary_overflow(summary), 0);
	stall(summary, 99999, "new", 5, 0, false, "");
	assert_int_equal(summary_overflow(summary), 1);
	assert_int_equal(summary_waiters(summary, SUMMARY_TASKS, &waiters), SUMMARY_TASKS_MAX);
	assert_int_equal(waiters[0].latency.total, 1000 + SUMMARY_TASKS_MAX);
	assert_string_equal(waiters[SUMMARY_TASKS_MAX - 1].name, "new");
	for (int i = 1; i <= CGROUPS + 5; i++) {
		snprintf(name, sizeof(name), "/%d", i);
		stall(summary, 2, "t", 10, 0, false, name);
		assert_int_equal(summary_waiters(summary, SUMMARY_CGROUPS, &waiters),
				 i < CGROUPS ? i : CGROUPS);
		assert_int_equal(summary_cgroups_overflow(summary), i < CGROUPS ? 0 : i - CGROUPS);
	}
	assert_int_equal(summary_overflow(summary), 1);
	summary_free(summary);
}

static void window(struct summary *summary, uint64_t function, uint64_t ns)
{
	struct record exit = {
		.window = { .function = function,
			    .calltime = 100,
			    .rettime = 100 + ns,
			    .role = ROLE_SLAB },
	};

	summary_window(summary, &(struct task_window){ .exit = &exit });
}

static void test_functions(void **state)
{
	struct summary *summary = summary_new(NULL, CGROUPS);
	const struct summary_function *functions;

	(void)state;
	window(summary, 0xa, 100);
	window(summary, 0xb, 500);
	window(summary, 0xa, 150);
	assert_int_equal(summary_functions(summary, &functions), 2);
	assert_int_equal(functions[0].function, 0xb);
	assert_int_equal(functions[1].latency.count, 2);
	assert_int_equal(functions[1].latency.max, 150);
	for (int i = 0; i < SUMMARY_FUNCTIONS_MAX; i++)
		window(summary, 0x100 + i, 10);
	assert_int_equal(summary_functions(summary, &functions), SUMMARY_FUNCTIONS_MAX);
	assert_int_equal(summary_overflow(summary), 2);
	summary_free(summary);
}

static void outermost_stall(struct summary *summary, uint64_t function, int role, uint64_t ns,
			    bool background)
{
	struct stall one = {
		.start = 1000,
		.end = 1000 + ns,
		.function = function,
		.role = role,
		.gfp_names = "",
		.compaction = "",
	};
	struct named_stall named = {
		.stall = &one,
		.name = "t",
		.who = &nobody,
		.background = background,
		.function = "f",
		.memcg = "",
	};

	summary_stall(summary, &named);
}

/* By address; without one, by role. Those of kswapd are apart. */
static void test_outermost(void **state)
{
	struct summary *summary = summary_new(NULL, CGROUPS);
	const struct summary_outermost *outermost;

	(void)state;
	assert_int_equal(summary_outermost(summary, &outermost), 0);
	outermost_stall(summary, 0xa, ROLE_PAGE_ALLOCATION, 20000, false);
	outermost_stall(summary, 0, ROLE_DIRECT_RECLAIM, 30000, false);
	outermost_stall(summary, 0, ROLE_MEMCG_RECLAIM, 40000, false);
	outermost_stall(summary, 0xa, ROLE_PAGE_ALLOCATION, 50000, false);
	outermost_stall(summary, 0xa, ROLE_PAGE_ALLOCATION, 60000, true);
	assert_int_equal(summary_outermost(summary, &outermost), 3);
	assert_int_equal(outermost[0].function, 0xa);
	assert_int_equal(outermost[0].histogram.count, 2);
	assert_int_equal(outermost[0].histogram.total, 70000);
	assert_int_equal(outermost[1].role, ROLE_DIRECT_RECLAIM);
	assert_int_equal(outermost[2].role, ROLE_MEMCG_RECLAIM);
	assert_int_equal(outermost[2].histogram.total, 40000);
	assert_int_equal(summary_background_outermost(summary, &outermost), 1);
	assert_int_equal(outermost[0].histogram.total, 60000);
	summary_free(summary);
}

/* The sums stay those of all stalls, and each without a place is counted. */
static void test_outermost_limit(void **state)
{
	struct summary *summary = summary_new(NULL, CGROUPS);
	const struct summary_outermost *outermost;
	uint64_t count = 0, total = 0;
	size_t entries;

	(void)state;
	for (int i = 1; i <= SUMMARY_OUTERMOST_MAX + 10; i++)
		outermost_stall(summary, i, ROLE_SLAB, 1000 * i, false);
	outermost_stall(summary, 1, ROLE_SLAB, 1000, false);
	entries = summary_outermost(summary, &outermost);
	assert_int_equal(entries, SUMMARY_OUTERMOST_MAX + 1);
	assert_int_equal(outermost[SUMMARY_OUTERMOST_MAX].function, 0);
	assert_int_equal(outermost[SUMMARY_OUTERMOST_MAX].role, ROLE_NONE);
	assert_int_equal(outermost[SUMMARY_OUTERMOST_MAX].histogram.count, 10);
	assert_int_equal(outermost[0].histogram.count, 2);
	for (size_t i = 0; i < entries; i++) {
		count += outermost[i].histogram.count;
		total += outermost[i].histogram.total;
	}
	assert_int_equal(count, summary_stalls(summary)->count);
	assert_int_equal(total, summary_stalls(summary)->total);
	assert_int_equal(summary_overflow(summary), 10);
	summary_free(summary);
}

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	(void)context;
	(void)style;
	return snprintf(text, size, "scan_%x", (unsigned int)address);
}

static const char *label(void *context, uint64_t shrinker)
{
	(void)context;
	return shrinker == 1 ? "vda" : NULL;
}

static void source_is(const struct phases *phases, const struct stall_shrinker *shrinkers,
		      size_t nr_shrinkers, const char *expected)
{
	struct resolver resolver = { .symbol = symbol, .shrinker = label };
	char text[256];

	stall_source(&resolver, phases, shrinkers, nr_shrinkers, text, sizeof(text));
	assert_non_null(strstr(text, expected));
}

static void test_source(void **state)
{
	const struct stall_shrinker shrinkers[] = {
		{ .shrinker = 2, .callback = 0xb, .group = PHASE_MEMCG_RECLAIM, .ns = 90 },
		{ .shrinker = 1, .callback = 0xa, .group = PHASE_DIRECT_RECLAIM, .ns = 80 },
	};
	struct phases phases = { 0 };

	(void)state;
	source_is(&phases, NULL, 0, "no slow reclaim or compaction");
	phases.ns[PHASE_REST][PART_OWN] = 10;
	source_is(&phases, NULL, 0, "no slow reclaim or compaction");
	phases.ns[PHASE_COMPACTION][PART_OWN] = 20;
	source_is(&phases, NULL, 0, "compaction");
	phases.ns[PHASE_MEMCG_RECLAIM][PART_INACTIVE_LIST] = 30;
	source_is(&phases, NULL, 0, "memcg reclaim: inactive lists");
	phases.ns[PHASE_DIRECT_RECLAIM][PART_SLAB] = 100;
	source_is(&phases, shrinkers, 2, "direct reclaim: slab: scan_a[vda]");
	source_is(&phases, shrinkers, 1, "direct reclaim: slab");
	phases.ns[PHASE_MEMCG_RECLAIM][PART_SLAB] = 110;
	source_is(&phases, shrinkers, 2, "memcg reclaim: slab: scan_b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percentiles), cmocka_unit_test(test_precision),
		cmocka_unit_test(test_extremes),    cmocka_unit_test(test_powers),
		cmocka_unit_test(test_who_waited),  cmocka_unit_test(test_worst),
		cmocka_unit_test(test_limits),	    cmocka_unit_test(test_functions),
		cmocka_unit_test(test_outermost),   cmocka_unit_test(test_outermost_limit),
		cmocka_unit_test(test_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
