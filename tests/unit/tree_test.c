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
	{ .shrinker = 1,
	  .callback = 0xa,
	  .group = PHASE_DIRECT_RECLAIM,
	  .ns = 3000000,
	  .scanned = 1024,
	  .freed = 900 },
	{ .shrinker = 2,
	  .callback = 0xa,
	  .group = PHASE_DIRECT_RECLAIM,
	  .ns = 1000000,
	  .scanned = 20 },
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

static void stall_is_shown(const struct stall *stall, const struct terminal *terminal,
			   const char *expected)
{
	const struct task_info who = { .pid = 10, .process = "server\033", .cgroup = "/a/é" };
	const struct named_stall named = {
		.stall = stall,
		.name = "worker",
		.task_info = &who,
		.function = "alloc",
		.memcg = "/system.slice/m.service",
		.limit = "",
		.asked_by = "write(2)",
	};
	struct writer *writer = begin_text();

	tree_stall(writer, terminal, &resolver, &named);
	assert_string_equal(end_text(writer), expected);
}

/* The time of a head is seconds of the trace clock, as these have no wall-clock time. */
#define HEAD_TEXT "1.000001 worker-12 of server\\x1b-10 in /a/é, 10.000 ms, in write(2)\n"
#define FACTS_TEXT                                                                                 \
	"   alloc, order 3, GFP_KERNEL, 32 pages reclaimed, from m.service, node 0,2-3,\n"         \
	"   1200 pages scanned, 91 reclaimed, 40 dirty, 12 in writeback,\n"                        \
	"   priority down to 0, compaction: partial_skipped x2, success\n"

UNIT_TEST(test_terminal)
{
	const struct terminal terminal = { .colour = true, .box = true, .names = TEXT_PRINTABLE };
	const struct stall stall = make_stall();

	stall_is_shown(
		&stall, &terminal,
		"1.000001 \033[1mworker-12\033[0m of server\\x1b-10 in \033[2m/a/é\033[0m, "
		"\033[1m10.000 ms\033[0m, in write(2)\n"
		"   cause: direct reclaim 60 %: shrinkers 50 %\n" FACTS_TEXT
		"├─ direct reclaim                                        6.000 ms  60 %\n"
		"│  ├─ \033[1;31mshrinkers\033[0m                                          5.000 ms  50 %\n"
		"│  │  ├─ scan_a[vda] (freed 900 of 1024)                 3.000 ms  30 %\n"
		"│  │  ├─ scan_a[0x2] (freed 0 of 20)                     1.000 ms  10 %\n"
		"│  │  └─ 1 other shrinker                                0.000 ms  <1 %\n"
		"│  └─ reclaim itself                                     1.000 ms  10 %\n"
		"├─ compaction                                            2.000 ms  20 %\n"
		"├─ outside reclaim                                       1.500 ms  15 %\n"
		"└─ memcg reclaim                                         0.500 ms   5 %\n"
		"   └─ shrinkers                                          0.500 ms   5 %\n"
		"      └─ scan_c (freed 0)                                0.500 ms   5 %\n");
}

/* A fact that is 0 with nothing to see is not shown, nor one that nobody knows. */
UNIT_TEST(test_few_facts)
{
	const struct terminal terminal = { 0 };
	struct stall stall = no_facts;

	stall.depth = 2;
	stall.counts = (struct stall_counts){ .known = 1u << COUNT_COMPACTIONS,
					      .count = { [COUNT_COMPACTIONS] = 1 } };
	stall_is_shown(&stall, &terminal,
		       HEAD_TEXT "   cause: not known\n"
				 "   alloc, from m.service, 1 compaction attempt,\n"
				 "   part of something longer that was not recorded\n");
	stall.depth = 0;
	stall.counts = (struct stall_counts){ .known = 0xf, .count = { 1, 0, 0, 0, 9 } };
	stall_is_shown(&stall, &terminal,
		       HEAD_TEXT "   cause: not known\n"
				 "   alloc, from m.service, 1 page scanned, 0 reclaimed\n");
}

/* A line has 80 columns; a name with more of them is whole. */
UNIT_TEST(test_wrapped)
{
#define NAME_20 "0123456789 123456789"
#define FACTS_20                                                                                   \
	"   cause: not known\n"                                                                    \
	"   f, order 1, " NAME_20 "|" NAME_20 "|" NAME_20 "|\n"                                    \
	"   " NAME_20
	const struct terminal terminal = { .colour = true };
	const struct task_info who = { .pid = 10, .process = "p", .cgroup = "/" NAME_20 NAME_20 };
	const struct stall stall = {
		.tid = 12,
		.start = 1000001000,
		.end = 1010001000,
		.order = 1,
		.gfp_names = NAME_20 "|" NAME_20 "|" NAME_20 "|" NAME_20,
		.compaction = "",
	};
	struct named_stall named = {
		.stall = &stall,
		.name = "é",
		.task_info = &who,
		.function = "f",
		.memcg = "/" NAME_20 NAME_20 NAME_20 NAME_20,
		.limit = "",
		.asked_by = "page fault",
	};
	struct writer *writer = begin_text();

	tree_stall(writer, &terminal, &resolver, &named);
	named.background = true;
	tree_stall(writer, &terminal, &resolver, &named);
	/* 80 columns, and 81 */
	named.memcg = "";
	named.asked_by = "xxxxxxxxxxxxxxxxxxxxxxxxxxx(2)";
	tree_stall(writer, &terminal, &resolver, &named);
	named.asked_by = "xxxxxxxxxxxxxxxxxxxxxxxxxxxy(2)";
	tree_stall(writer, &terminal, &resolver, &named);
	named.on_purpose = true;
	tree_stall(writer, &terminal, &resolver, &named);
	assert_string_equal(
		end_text(writer),
		"1.000001 \033[1mé-12\033[0m of p-10 in \033[2m/" NAME_20 NAME_20 "\033[0m, "
		"\033[1m10.000 ms\033[0m,\n"
		"   in page fault\n" FACTS_20 ",\n"
		"   from /" NAME_20 NAME_20 NAME_20 NAME_20 "\n"
		"1.000001 \033[1mé-12\033[0m of p-10 (background), \033[1m10.000 ms\033[0m, "
		"in page fault\n" FACTS_20 ",\n"
		"   from /" NAME_20 NAME_20 NAME_20 NAME_20 "\n"
		"1.000001 \033[1mé-12\033[0m of p-10 (background), \033[1m10.000 ms\033[0m, in xxxxxxxxxxxxxxxxxxxxxxxxxxx(2)\n" FACTS_20
		"\n"
		"1.000001 \033[1mé-12\033[0m of p-10 (background), \033[1m10.000 ms\033[0m,\n   in xxxxxxxxxxxxxxxxxxxxxxxxxxxy(2)\n" FACTS_20
		"\n"
		"1.000001 \033[1mé-12\033[0m of p-10 in \033[2m/" NAME_20 NAME_20
		"\033[0m (on purpose),\n"
		"   \033[1m10.000 ms\033[0m, in xxxxxxxxxxxxxxxxxxxxxxxxxxxy(2)\n" FACTS_20 "\n");
}

/* The second line breaks after 80 columns, too. */
UNIT_TEST(test_wrapped_again)
{
#define HEAD_40	 HEAD_TEXT "   cause: not known\n   alloc, order 1, " NAME_20 "|" NAME_20 "|\n   "
#define NAMES_60 NAME_20 "|" NAME_20 "|" NAME_20 "|"
	const struct terminal terminal = { 0 };
	struct stall stall = no_facts;

	stall.order = 1;
	stall.gfp_names = NAME_20 "|" NAME_20 "|" NAMES_60 "1234567890123";
	stall_is_shown(&stall, &terminal, HEAD_40 NAMES_60 "1234567890123,\n   from m.service\n");
	stall.gfp_names = NAME_20 "|" NAME_20 "|" NAMES_60 "12345678901234";
	stall_is_shown(&stall, &terminal, HEAD_40 NAMES_60 "\n   12345678901234, from m.service\n");
}

/* States, most time first, and where the task slept, below each part that they explain. */
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
		{ .shrinker = 1,
		  .function = 0x1,
		  .group = PHASE_DIRECT_RECLAIM,
		  .part = PART_SHRINKERS,
		  .state = STATE_SLEPT,
		  .ns = 150000 },
		{ .shrinker = 2,
		  .function = 0x2,
		  .group = PHASE_DIRECT_RECLAIM,
		  .part = PART_SHRINKERS,
		  .state = STATE_SLEPT,
		  .ns = 50000 },
	};
	static const struct stall_slice slept_in[] = {
		{ .shrinker = 1,
		  .callback = 0xa,
		  .group = PHASE_DIRECT_RECLAIM,
		  .ns = 1200000,
		  .in = { [STATE_RUNNING] = 550000,
			  [STATE_WAITED] = 500000,
			  [STATE_SLEPT] = 150000 } },
		{ .shrinker = 2,
		  .callback = 0xb,
		  .group = PHASE_DIRECT_RECLAIM,
		  .ns = 200000,
		  .freed = 3,
		  .scanned = 3,
		  .in = { [STATE_RUNNING] = 150000, [STATE_SLEPT] = 50000 } },
		{ .shrinker = 3,
		  .callback = 0xc,
		  .group = PHASE_DIRECT_RECLAIM,
		  .ns = 100000,
		  .in = { [STATE_RUNNING] = 100000 } },
	};
	static const struct stall_slice runners[] = {
		{ .name = "nginx", .tid = 812, .ns = 4000000 },
		{ .name = "swapper/1", .ns = 2000000 },
		{ .name = "kworker/u8:3", .tid = 266, .ns = 500000 },
		{ .name = "a\x1b", .tid = 13, .ns = 200000 },
		{ .name = "b", .tid = 14, .ns = 80000 },
		{ .name = "c", .tid = 15, .ns = 20001 },
	};
	const struct terminal terminal = { .names = TEXT_PRINTABLE, .colour = true };
	const struct terminal no_colour = { .names = TEXT_PRINTABLE };
	struct stall stall = no_facts;

	stall.runners = runners;
	stall.nr_runners = COUNT(runners);
	stall.no_runner = 300000;
	stall.off_cpu = true;
	stall.shrinkers = slept_in;
	stall.nr_shrinkers = COUNT(slept_in);
	stall.sleeps = sleeps;
	stall.nr_sleeps = COUNT(sleeps);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ACTIVE_LIST, STATE_RUNNING, 1000000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_WAITED, 500000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_SLEPT, 200000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 800000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 99999);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_WAITED, 5900001);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_BLOCKED, 500000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 100000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, 700000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_SLEPT, 200000);
	/* The cause is the wait for a CPU: 71 % in all. */
	stall_is_shown(
		&stall, &terminal,
		"1.000001 \033[1mworker-12\033[0m of server\\x1b-10 in \033[2m/a/é\033[0m, "
		"\033[1m10.000 ms\033[0m, in write(2)\n"
		"   cause: direct reclaim; waiting for a CPU 71 %\n"
		"   had the CPU meanwhile: nginx-812 4.000 ms, nobody (waking up) 2.000 ms,\n"
		"      kworker/u8:3-266 0.500 ms, a\\x1b-13 0.200 ms, 2 others 0.100 ms,\n"
		"      not recorded 0.300 ms\n"
		"   alloc, from m.service\n"
		"|- direct reclaim                                        9.000 ms  90 %\n"
		"|  |- reclaim itself                                     6.500 ms  65 %\n"
		"|  |  |- \033[1;31mwaiting for a CPU\033[0m                               5.900 ms  59 %\n"
		"|  |  |- asleep, uninterruptible                         0.500 ms   5 %\n"
		"|  |  |  |- in scan_1                                    0.300 ms   3 %\n"
		"|  |  |  |- in scan_3                                    0.100 ms   1 %\n"
		"|  |  |  `- 1 other function                             0.000 ms  <1 %\n"
		"|  |  `- running                                         0.099 ms   1 %\n"
		"|  |- shrinkers                                          1.500 ms  15 %\n"
		"|  |  |- scan_a[vda] (freed 0)                           1.200 ms  12 %\n"
		"|  |  |  |- running                                      0.550 ms   6 %\n"
		"|  |  |  |- \033[1;31mwaiting for a CPU\033[0m                            0.500 ms   5 %\n"
		"|  |  |  `- asleep                                       0.150 ms   2 %\n"
		"|  |  |     `- in scan_1                                 0.150 ms   2 %\n"
		"|  |  |- scan_b (freed 3 of 3)                           0.200 ms   2 %\n"
		"|  |  |  |- running                                      0.150 ms   2 %\n"
		"|  |  |  `- asleep                                       0.050 ms   1 %\n"
		"|  |  `- scan_c (freed 0)                                0.100 ms   1 %\n"
		"|  `- active list                                        1.000 ms  10 %\n"
		"`- outside reclaim                                       1.000 ms  10 %\n"
		"   |- \033[1;31mwaiting for a CPU\033[0m                                  0.700 ms   7 %\n"
		"   |- asleep                                             0.200 ms   2 %\n"
		"   |  `- in scan_2                                       0.200 ms   2 %\n"
		"   `- running                                            0.100 ms   1 %\n");
	/* It waited for less than 1 %. */
	stall.nr_shrinkers = 0;
	memset(&stall.phases, 0, sizeof(stall.phases));
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, 99999);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 9900001);
	stall_is_shown(&stall, &no_colour,
		       HEAD_TEXT
		       "   cause: outside reclaim 100 %; running 99 %\n"
		       "   alloc, from m.service\n"
		       "`- outside reclaim                                      10.000 ms 100 %\n"
		       "   |- running                                            9.900 ms  99 %\n"
		       "   `- waiting for a CPU                                  0.099 ms   1 %\n");
	/* Without a wait the cause is a part; that it ran all the time is told of "itself" alone. */
	memset(&stall.phases, 0, sizeof(stall.phases));
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 7000000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_THROTTLED, STATE_SLEPT, 3000000);
	stall_is_shown(&stall, &no_colour,
		       HEAD_TEXT
		       "   cause: direct reclaim 100 %: reclaim itself 70 %\n"
		       "   alloc, from m.service\n"
		       "`- direct reclaim                                       10.000 ms 100 %\n"
		       "   |- reclaim itself                                     7.000 ms  70 %\n"
		       "   |  `- running                                         7.000 ms  70 %\n"
		       "   `- throttled                                          3.000 ms  30 %\n"
		       "      `- asleep                                          3.000 ms  30 %\n");
}

UNIT_TEST_MAIN(NULL, NULL)
