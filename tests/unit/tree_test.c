// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_resolver.h"
#include "output/tree.h"
#include "unit_test.h"
#include "written_text.h"

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	return snprintf(text, size, "scan_%x", (unsigned int)address);
}

static const char *label(void *context, uint64_t shrinker)
{
	return shrinker == 1 ? "vda" : NULL;
}

static struct resolver resolver = { .symbol = symbol, .shrinker = label };

static const struct stall_slice shrinkers[] = {
	{ .shrinker = 1, .callback = 0xa, .group = PHASE_DIRECT_RECLAIM, .ns = 3000000 },
	{ .shrinker = 2, .callback = 0xa, .group = PHASE_DIRECT_RECLAIM, .ns = 1000000 },
	{ .shrinker = 3, .callback = 0xb, .group = PHASE_DIRECT_RECLAIM, .ns = 10 },
	{ .shrinker = 4, .callback = 0xc, .group = PHASE_MEMCG_RECLAIM, .ns = 500000 },
};

static struct stall make_stall(void)
{
	struct stall stall = {
		.tid = 12,
		.start = 1000001000,
		.end = 1010001000,
		.order = 3,
		.gfp_names = "GFP_KERNEL",
		.compaction = "success",
		.outcomes = "partial_skipped x2, success",
		.nodes = "0,2-3",
		.priority = 0,
		.has_priority = true,
		.counts = { .known = 0x1f, .count = { 1200, 91, 40, 12, 3 } },
		.has_reclaimed = true,
		.nr_reclaimed = 32,
		.shrinkers = shrinkers,
		.nr_shrinkers = 4,
	};

	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 5000000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 1000000);
	phases_spend(&stall.phases, PHASE_MEMCG_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 500000);
	phases_spend(&stall.phases, PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 2000000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 1500000);
	return stall;
}

static const struct stall no_facts = {
	.tid = 12,
	.start = 1000001000,
	.end = 1010001000,
	.order = -1,
	.gfp_names = "",
	.compaction = "",
};

/* All of it below a hundredth of the whole. */
static const struct stall_slice small_ones[] = {
	{ .shrinker = 2, .callback = 0xb, .group = PHASE_DIRECT_RECLAIM, .ns = 5000 },
	{ .shrinker = 3, .callback = 0xc, .group = PHASE_DIRECT_RECLAIM, .ns = 4000 },
	{ .shrinker = 1, .callback = 0xa, .group = PHASE_DIRECT_RECLAIM, .ns = 3000 },
	{ .shrinker = 1, .callback = 0xa, .group = PHASE_MEMCG_RECLAIM, .ns = 2000 },
	{ .shrinker = 5, .callback = 0xd, .group = PHASE_DIRECT_RECLAIM, .ns = 2000 },
};

static void stall_is_shown(const struct stall *stall, const struct terminal *terminal,
			   const char *expected)
{
	const struct task_info who = { .pid = 10, .process = "server\033", .cgroup = "/a/é" };
	const struct named_stall named = {
		.stall = stall,
		.name = "worker",
		.task_info = &who,
		.function = "alloc",
		.memcg = "/m",
	};
	struct writer *writer = begin_text();

	tree_stall(writer, terminal, &resolver, &named);
	assert_string_equal(end_text(writer), expected);
}

UNIT_TEST(test_plain)
{
	const struct terminal terminal = { 0 };
	const struct stall stall = make_stall();

	stall_is_shown(
		&stall, &terminal,
		"1.000001 worker-12 of server\\x1b-10 /a/é  10.000 ms  alloc  order 3  GFP_KERNEL"
		"  32 pages reclaimed  from /m\n"
		"   node 0,2-3, 1200 pages scanned, 91 reclaimed, 40 dirty, 12 in writeback,"
		" priority down to 0, compaction: partial_skipped x2, success\n"
		"   cause: direct reclaim 60 %: shrinkers 50 %\n"
		"|- direct reclaim                                  6.000 ms  60%\n"
		"|  |- shrinkers                                    5.000 ms  50%\n"
		"|  |  |- scan_a[vda]                               3.000 ms  30%\n"
		"|  |  |- scan_a[0x2]                               1.000 ms  10%\n"
		"|  |  `- 1 other shrinker                          0.000 ms   0%\n"
		"|  `- reclaim itself                               1.000 ms  10%\n"
		"|- memcg reclaim                                   0.500 ms   5%\n"
		"|  `- shrinkers                                    0.500 ms   5%\n"
		"|     `- scan_c                                    0.500 ms   5%\n"
		"|- compaction                                      2.000 ms  20%\n"
		"`- outside reclaim                                 1.500 ms  15%\n");
}

/* Nothing but outside reclaim: the head says it all. */
UNIT_TEST(test_outside)
{
	const struct terminal terminal = { 0 };
	struct stall stall = no_facts;

	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 10000000);
	stall_is_shown(&stall, &terminal,
		       "1.000001 worker-12 of server\\x1b-10 /a/é  10.000 ms  alloc  from /m\n");
}

UNIT_TEST(test_terminal)
{
	const struct terminal terminal = { .colour = true, .box = true, .names = TEXT_PRINTABLE };
	const struct stall stall = make_stall();

	stall_is_shown(
		&stall, &terminal,
		"1.000001 \033[1mworker-12\033[0m of server\\x1b-10 \033[2m/a/é\033[0m  "
		"\033[1m10.000 ms\033[0m  alloc  order 3  GFP_KERNEL"
		"  32 pages reclaimed  from /m\n"
		"   node 0,2-3, 1200 pages scanned, 91 reclaimed, 40 dirty, 12 in writeback,"
		" priority down to 0, compaction: partial_skipped x2, success\n"
		"   cause: direct reclaim 60 %: shrinkers 50 %\n"
		"├─ direct reclaim                                  6.000 ms  60%\n"
		"│  ├─ \033[1;31mshrinkers\033[0m                                    5.000 ms  50%\n"
		"│  │  ├─ scan_a[vda]                               3.000 ms  30%\n"
		"│  │  ├─ scan_a[0x2]                               1.000 ms  10%\n"
		"│  │  └─ 1 other shrinker                          0.000 ms   0%\n"
		"│  └─ reclaim itself                               1.000 ms  10%\n"
		"├─ memcg reclaim                                   0.500 ms   5%\n"
		"│  └─ shrinkers                                    0.500 ms   5%\n"
		"│     └─ scan_c                                    0.500 ms   5%\n"
		"├─ compaction                                      2.000 ms  20%\n"
		"└─ outside reclaim                                 1.500 ms  15%\n");
}

/* The largest of each group has a row, and its largest superblock; the others share one. */
UNIT_TEST(test_small_shrinkers)
{
	const struct terminal terminal = { 0 };
	struct stall stall = no_facts;

	stall.incomplete = LACKS_LOST;
	stall.shrinkers = small_ones;
	stall.nr_shrinkers = COUNT(small_ones);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 6000000);
	phases_spend(&stall.phases, PHASE_MEMCG_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 1000000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 3000000);
	stall_is_shown(&stall, &terminal,
		       "1.000001 worker-12 of server\\x1b-10 /a/é  10.000 ms  alloc  from /m"
		       "  (incomplete: records were lost)\n"
		       "   cause: direct reclaim 60 %: shrinkers 60 %\n"
		       "|- direct reclaim                                  6.000 ms  60%\n"
		       "|  `- shrinkers                                    6.000 ms  60%\n"
		       "|     |- scan_b                                    0.005 ms   0%\n"
		       "|     |- scan_a[vda]                               0.003 ms   0%\n"
		       "|     `- 2 other shrinkers                         0.006 ms   0%\n"
		       "|- memcg reclaim                                   1.000 ms  10%\n"
		       "|  `- shrinkers                                    1.000 ms  10%\n"
		       "|     `- scan_a[vda]                               0.002 ms   0%\n"
		       "`- outside reclaim                                 3.000 ms  30%\n");
}

/* What is 0 and nothing to see is not shown; what nobody knows neither. */
UNIT_TEST(test_few_facts)
{
	const struct terminal terminal = { 0 };
	struct stall stall = no_facts;

	stall.counts = (struct stall_counts){ .known = 1u << COUNT_COMPACTIONS,
					      .count = { [COUNT_COMPACTIONS] = 2 } };
	stall_is_shown(&stall, &terminal,
		       "1.000001 worker-12 of server\\x1b-10 /a/é  10.000 ms  alloc  from /m\n"
		       "   compaction attempts: 2\n");
	stall.counts = (struct stall_counts){ .known = 0xf, .count = { 64, 0, 0, 0, 9 } };
	stall_is_shown(&stall, &terminal,
		       "1.000001 worker-12 of server\\x1b-10 /a/é  10.000 ms  alloc  from /m\n"
		       "   64 pages scanned, 0 reclaimed\n");
}

/* What the task did, most time first, and where it slept, below each part that it explains. */
UNIT_TEST(test_off_cpu)
{
	static const struct stall_slice sleeps[] = {
		{ .function = 0x1,
		  .group = PHASE_DIRECT_RECLAIM,
		  .state = STATE_BLOCKED,
		  .ns = 300000 },
		{ .function = 0x2, .group = PHASE_OUTSIDE, .state = STATE_SLEPT, .ns = 200000 },
		{ .function = 0x3,
		  .group = PHASE_DIRECT_RECLAIM,
		  .state = STATE_BLOCKED,
		  .ns = 100000 },
		{ .function = 0x4,
		  .group = PHASE_DIRECT_RECLAIM,
		  .state = STATE_BLOCKED,
		  .ns = 10 },
	};
	static const struct stall_slice runners[] = {
		{ .name = "nginx", .tid = 812, .ns = 4000000 },
		{ .name = "swapper/1", .ns = 2000000 },
		{ .name = "kworker/u8:3", .tid = 266, .ns = 500000 },
		{ .name = "a\x1b", .tid = 13, .ns = 200000 },
		{ .name = "b", .tid = 14, .ns = 80000 },
		{ .name = "c", .tid = 15, .ns = 20000 },
	};
	const struct terminal terminal = { .names = TEXT_PRINTABLE };
	struct stall stall = make_stall();

	stall.runners = runners;
	stall.nr_runners = COUNT(runners);
	stall.no_runner = 200000;
	stall.off_cpu = true;
	stall.sleeps = sleeps;
	stall.nr_sleeps = COUNT(sleeps);
	stall.nr_shrinkers = 0;
	memset(&stall.phases, 0, sizeof(stall.phases));
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ACTIVE_LIST, STATE_RUNNING, 1000000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 1000000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_WAITED, 7000000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_BLOCKED, 500000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 300000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_SLEPT, 200000);
	stall_is_shown(
		&stall, &terminal,
		"1.000001 worker-12 of server\\x1b-10 /a/é  10.000 ms  alloc  order 3  GFP_KERNEL"
		"  32 pages reclaimed  from /m\n"
		"   node 0,2-3, 1200 pages scanned, 91 reclaimed, 40 dirty, 12 in writeback,"
		" priority down to 0, compaction: partial_skipped x2, success\n"
		"   cause: direct reclaim 95 %: reclaim itself 85 %: waiting for a CPU 70 %\n"
		"   had the CPU meanwhile: nginx-812 4.000 ms, nobody (idle) 2.000 ms,"
		" kworker/u8:3-266 0.500 ms, a\\x1b-13 0.200 ms, 2 others 0.100 ms,"
		" not recorded 0.200 ms\n"
		"|- direct reclaim                                  9.500 ms  95%\n"
		"|  |- active list                                  1.000 ms  10%\n"
		"|  `- reclaim itself                               8.500 ms  85%\n"
		"|     |- waiting for a CPU                         7.000 ms  70%\n"
		"|     |- running                                   1.000 ms  10%\n"
		"|     `- asleep, uninterruptible                   0.500 ms   5%\n"
		"|        |- in scan_1                              0.300 ms   3%\n"
		"|        `- in scan_3                              0.100 ms   1%\n"
		"`- outside reclaim                                 0.500 ms   5%\n"
		"   |- running                                      0.300 ms   3%\n"
		"   `- asleep                                       0.200 ms   2%\n"
		"      `- in scan_2                                 0.200 ms   2%\n");
}

UNIT_TEST(test_nothing)
{
	const struct terminal terminal = { 0 };
	const struct phases phases = { 0 };
	struct writer *writer = begin_text();

	tree_phases(writer, &terminal, &resolver, &phases, NULL);
	assert_string_equal(end_text(writer), "");
}

UNIT_TEST_MAIN(NULL, NULL)
