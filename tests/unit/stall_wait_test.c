// SPDX-License-Identifier: GPL-2.0-or-later
#include "made_stall.h"

/* Memory waits, between psi_memstall_enter() and psi_memstall_leave(): see made_stall.h. */

/* The first record of the run is at 50. */
static void start_at_50(enum shown shown)
{
	start(shown);
	play("time 50");
}

static void start_without_functions(enum shown shown)
{
	start(shown);
	run.plan.function_graph = false;
	start_again();
}

UNIT_TEST(test_alone)
{
	CHECK(start_at_50, PHASES,
	      { "a slow one is a stall when no window came around it for a second",
		"wait 100-300 by=refault, time 1000000300", "w7:100-300=refault" },
	      { "a slow one is a stall then", "wait 100-300 by=refault, time 1000000301",
		"w7:100-300=refault | 7:100-300 refault=200" },
	      { "one of the threshold is slow", "wait 100-200 by=high, time 2000000000",
		"w7:100-200=high | 7:100-200 high=100" },
	      { "a fast one is only counted",
		"wait 100-199 by=refault, wait 210-220 by=refault, flush 2000000000",
		"w7:100-199=refault, w7:210-220=refault" },
	      { "a task that goes on waiting has them after a second too",
		"wait 100-300 by=refault, wait 1000000300-1000000310 by=refault, "
		"wait+ 1000000320 by=refault",
		"w7:100-300=refault, w7:1000000300-1000000310=refault | 7:100-300 refault=200" },
	      { "the next one lasts longer than that",
		"wait 100-300 by=high, wait+ 400 by=high, time 1500000000, wait- 1600000000, "
		"flush 1700000000",
		"w7:100-300=high, w7:400-1600000000=high | 7:100-300 high=200 | "
		"7:400-1600000000 high=1599999600" },
	      { "the reason is not known", "wait 100-300, flush 400",
		"w7:100-300=unknown | 7:100-300 reclaim=200" });
}

UNIT_TEST(test_nested)
{
	CHECK(start_at_50, PHASES,
	      { "the outermost one counts, with its reason",
		"wait+ 100 by=memcg, wait+ 120 by=read, wait- 150, wait- 300, flush 400",
		"w7:100-300=memcg | 7:100-300 memcg=200" },
	      { "three deep, and the next one is not deeper",
		"wait+ 100 by=memcg, wait+ 110 by=read, wait+ 120 by=read, wait- 130, wait- 140, "
		"wait- 150, wait 160-170 by=high",
		"w7:100-150=memcg, w7:160-170=high" },
	      { "a pair around a nested one goes on",
		"wait+ 100 by=memcg, slab+ 110 shr=5, wait 120-130 by=read, slab- 230 shr=5, "
		"wait- 300, flush 400",
		"w7:100-300=memcg | 7:100-300 memcg=80 memcg.shrinkers=120 {5=120*1}" },
	      { "tasks do not mix",
		"wait+ 100 by=memcg, 8:wait+ 110 by=high, wait- 150, 8:wait- 160",
		"w7:100-150=memcg, w8:110-160=high" });
}

UNIT_TEST(test_in_windows)
{
	CHECK(start_at_50, PHASES,
	      { "the reason of a part of a stall", "wait 120-290 by=direct, alloc 100-300",
		"w7:120-290=direct | 7:100-300 direct=170 outside=30" },
	      { "a page is waited for by who needs it", "wait 120-290 by=refault, swap 100-300",
		"w7:120-290=refault | 7:100-300 swap=200" },
	      { "a fast one in a slow window", "wait 120-190 by=refault, alloc 100-300",
		"w7:120-190=refault | 7:100-300 outside=200" },
	      { "one in a fast window", "wait 120-190 by=refault, alloc 110-195",
		"w7:120-190=refault" },
	      { "windows in a wait are the stall",
		"wait+ 100 by=memcg, memcg 110-290, wait- 300, flush 400",
		"7:110-290 memcg=180, w7:100-300=memcg" },
	      { "a fast window in a wait is a part of its stall",
		"wait+ 100 by=high, memcg 110-150, wait- 300, flush 400",
		"w7:100-300=high | 7:100-300 memcg=40 high=160" },
	      { "a fast window in a fast wait is none of the next one",
		"wait+ 100 by=high, memcg 110-150, wait- 160, alloc 170-300",
		"w7:100-160=high | 7:170-300 outside=130" },
	      { "windows in a wait in a window",
		"wait+ 120 by=memcg, memcg 130-280@1, wait- 290, swap 100-300",
		"w7:120-290=memcg | 7:100-300 memcg=170 swap=30" },
	      { "a window after waits", "wait 100-300 by=refault, alloc 310-420",
		"w7:100-300=refault | 7:100-300 refault=200 | 7:310-420 outside=110" });
}

/* The waits end as stalls after a second, and a window around what came next does not lack it. */
UNIT_TEST(test_open_window)
{
	CHECK(start_at_50, LINES,
	      { "an event in a window that began after the wait",
		"wait 100-300 by=refault, compact+ 500, time 1000000501, compact- 2000000000, "
		"zone 480-2000000100",
		"w7:100-300=refault | 7:100-300 P100-300() | "
		"7:480-2000000100 W480-2000000100(500 2000000000)" },
	      { "the next wait is in such a window",
		"wait 100-300 by=refault, compact+ 500, wait 1000000600-1000000610 by=refault, "
		"compact- 2000000000, zone 480-2000000100",
		"w7:100-300=refault | 7:100-300 P100-300(), w7:1000000600-1000000610=refault | "
		"7:480-2000000100 W480-2000000100(500 2000000000)" });
	/* A window around a wait that is a stall already lacks it. */
	start_at_50(LINES);
	play("wait 100-300 by=refault, wait 1000000600-1000000610 by=refault, alloc 50-1000000700");
	assert_string_equal(
		notes.text,
		"w7:100-300=refault | 7:100-300 P100-300(), "
		"w7:1000000600-1000000610=refault | 7:300-1000000700? W50-1000000700()");
	assert_int_equal(stalls_limited(run.stalls), 0);
}

UNIT_TEST(test_reads)
{
	CHECK(start_at_50, PHASES,
	      { "a page of swap, then one of a file",
		"wait 100-110 by=swap, wait 120-130 by=refault, wait 140-150 by=read, "
		"wait 160-170 by=refault",
		"w7:100-110=swap, w7:120-130=swap, w7:140-150=refault, w7:160-170=refault" },
	      { "another task's page is another one",
		"wait 100-110 by=swap, 8:wait 120-130 by=refault, wait 140-150 by=memcg, "
		"wait 160-170 by=refault",
		"w7:100-110=swap, w8:120-130=refault, w7:140-150=memcg, w7:160-170=swap" });
}

/* The kernel counts a read of a page that reclaim took only where the page was in use. */
UNIT_TEST(test_refaults)
{
	CHECK(start_at_50, PHASES,
	      { "from the page on that reclaim took", "taken 90, io 100-300, flush 400",
		"w7:90-300=cold | 7:90-300 refault=210" },
	      { "one that it did not take", "io 100-300, flush 400", "w7:100-300=io" },
	      { "each once", "taken 60, taken 90, io 100-300, io 310-500, flush 600",
		"w7:90-300=cold | 7:90-300 refault=210, w7:310-500=io" },
	      { "a millisecond before", "taken 100, io 1000100-1000300, flush 2000000",
		"w7:100-1000300=cold | 7:100-1000300 refault=1000200" },
	      { "longer before, and no more",
		"taken 100, io 1000101-1000300, io 1000310-1000500, flush 2000000",
		"w7:1000101-1000300=io, w7:1000310-1000500=io" },
	      { "another task's", "8:taken 90, io 100-300, flush 400", "w7:100-300=io" },
	      { "one that the kernel counts",
		"taken 90, wait+ 95 by=refault, io 100-300, wait- 310, flush 400",
		"7:90-300 refault=210, w7:95-310=refault" },
	      { "the page was read in the wait", "taken 90, wait 95-110 by=refault, io 120-300",
		"w7:95-110=refault, w7:120-300=io" },
	      { "reclaim meanwhile", "taken 90, wait 95-110 by=memcg, io 120-300",
		"w7:95-110=memcg, w7:110-300=cold | 7:90-300 refault=210" },
	      { "slow reclaim meanwhile", "taken 90, wait 100-300 by=memcg, io 310-500",
		"w7:100-300=memcg, w7:300-500=cold | 7:90-500 memcg=200 refault=210" },
	      { "long after the start",
		"taken 700000000000, time 700000000200, io 700000000010-700000000300",
		"w7:700000000000-700000000300=cold | 7:700000000000-700000000300 refault=300" },
	      { "begun in one wait, and read in the next",
		"taken 90, wait 95-110 by=read, wait+ 120 by=refault, io 125-300, wait- 310, flush 400",
		"w7:95-110=refault | 7:90-300 refault=210, w7:120-310=refault" },
	      { "it sleeps twice in a wait, and then for another page",
		"taken 90, wait+ 95 by=refault, io 100-300, io 310-500, wait- 510, io 520-700, flush 800",
		"7:90-300 refault=210 | 7:300-500 refault=200, w7:95-510=refault, w7:520-700=io" },
	      { "a first read that it does not count, within a wait",
		"wait+ 95 by=refault, io 100-300, wait- 310, flush 400",
		"w7:95-310=refault | 7:95-310 refault=215" },
	      { "of swap", "taken 90, io 100-300@1, swap 80-310, flush 400", "7:80-310 swap=230" },
	      { "a first read in another function", "io 100-300@1, swap 80-310, flush 400",
		"7:80-310 swap=230" },
	      { "a fast one", "taken 90, io 100-150, flush 400", "" });
	/* Nobody knows which pages reclaim took. */
	start_at_50(PHASES);
	plan_drop_event(&run.plan, EVENT_REFAULT);
	play("io 100-300, flush 400");
	assert_string_equal(notes.text, "");
}

/* The caller is the same where the compiler has inlined one of them. */
UNIT_TEST(test_compaction)
{
	CHECK(start_at_50, PHASES,
	      { "reclaim",
		"try 90 order=9, wait+ 100 by=direct, direct+ 105, direct- 140, wait- 150",
		"w7:100-150=direct" },
	      { "compaction",
		"direct- 90, wait+ 100 by=direct, try 105 order=9, compact- 140, wait- 150",
		"w7:100-150=compact" },
	      { "a slow one",
		"wait+ 100 by=direct, try 105 order=9, zone 110-240@2, compact 102-245@1, wait- 250, "
		"alloc 60-300",
		"w7:100-250=compact | 7:60-300 compaction=150 outside=90" },
	      { "a slow one that ends in the wait, and the next wait",
		"wait+ 100 by=direct, try 105 order=9, compact 102-245, wait- 250, "
		"wait 260-280 by=direct, flush 300",
		"7:102-245 compaction=143, w7:100-250=compact, w7:260-280=direct" });
}

UNIT_TEST(test_parts)
{
	CHECK(start_at_50, PHASES,
	      { "in progress when the run ends", "wait+ 100 by=high, flush 350",
		"w7:100-350=high..." },
	      { "a nested one too", "wait+ 100 by=high, wait+ 110 by=read, flush 350",
		"w7:100-350=high..." },
	      { "a slow window in it is a stall", "wait+ 100 by=high, memcg 120-300@1, flush 350",
		"w7:100-350=high... | 7:120-300 memcg=180" },
	      { "a function around it has returned", "wait+ 100 by=high, alloc 40-150, flush 350",
		"7:40-150 outside=110" },
	      { "a fast one, and one inside of others",
		"wait+ 100 by=high, alloc 90-110, 8:wait+ 100 by=high, 8:zone 90-110@2, flush 350",
		"" },
	      { "one that began later may be in it", "wait+ 100 by=high, alloc 110-150, flush 350",
		"w7:100-350=high..." },
	      { "a pair around it has ended",
		"slab+ 90 shr=5, wait+ 100 by=high, slab- 150 shr=5, flush 350", "" },
	      { "a loss since, on any CPU", "wait+ 100 by=high, lost 90-150 cpu=3, flush 350", "" },
	      { "a loss before", "lost 90 cpu=3, wait+ 100 by=high, flush 350",
		"w7:100-350=high..." },
	      { "its task has ended",
		"leave 80, come 90, wait+ 100 by=high, leave 110 state=16, flush 350", "" },
	      { "silent for long", "wait+ 100 by=high, time 700000000000, flush 800000000000",
		"w7:100-800000000000=high..." },
	      { "for an OOM kill that does not come, since the task's last record",
		"99:wait 100-120 by=memcg, 99:memcg 110-290, flush 400",
		"w99:100-120=memcg | 99:110-290 memcg=180, w99:290-400=oom..." },
	      { "in progress when the run begins", "wait- 200, flush 300",
		"w7:50-200=unknown? | 7:50-200? reclaim=150" },
	      { "a short part", "wait- 120, flush 300", "w7:50-120=unknown?" },
	      { "nested ones in progress when the run begins", "wait- 120, wait- 140, flush 300",
		"w7:50-120=unknown?, w7:120-140=unknown?" },
	      { "after a loss nobody knows", "lost 60 cpu=1, wait- 200, flush 300", "" },
	      { "a window that it ended in began after the run, and has its switches",
		"3:leave 51, off 210-230 state=2 woken=220, wait- 300, alloc 200-600",
		"w7:50-300=unknown? | 7:200-600 reclaim=80 reclaim~wait=10 reclaim~D=10 outside=300" });
	CHECK(start_at_50, LINES,
	      { "a window in it began before the run", "memcg 20-180@1, wait- 200, swap 10-300",
		"w7:50-200=unknown? | 7:10-300 W20-180() W10-300()" });
	start_at_50(PHASES);
	play("wait- 200, flush 350");
	assert_int_equal(run.last.incomplete, LACKS_PART);
}

UNIT_TEST(test_losses)
{
	CHECK(start_at_50, PHASES,
	      { "the end and the next begin may be lost",
		"wait+ 100 by=high, lost 150, wait- 300, flush 400", "" },
	      { "not on another CPU", "wait+ 100 by=high, lost 150 cpu=1, wait- 180, flush 400",
		"w7:100-180=high" },
	      { "the end was lost",
		"wait+ 100 by=high, lost 150, wait+ 200 by=refault, wait- 250, flush 400",
		"w7:200-250=refault" });
}

/* Tracing begins again at 200, and its first record is of 250. */
UNIT_TEST(test_pause)
{
	CHECK(start, PHASES,
	      { "one in progress has two parts",
		"wait+ 100 by=high, pause 200, time 250, wait- 600, flush 700",
		"w7:100-200=high?, w7:250-600=unknown? | 7:250-600? reclaim=350" },
	      { "whatever was lost before",
		"lost 90 cpu=3, wait+ 100 by=high, pause 200, time 250, wait- 600, flush 700",
		"w7:100-200=high?, w7:250-600=unknown? | 7:250-600? reclaim=350" },
	      { "a pair in progress is not told",
		"slab+ 100 shr=5, pause 200, time 250, slab- 600 shr=5, flush 700", "" },
	      { "a kill in progress is told once", "99:memcg 110-290, pause 300",
		"99:110-290 memcg=180" });
}

UNIT_TEST(test_without_functions)
{
	CHECK(start_without_functions, PHASES,
	      { "one is a stall at once", "wait 100-300 by=refault",
		"w7:100-300=refault | 7:100-300 refault=200" },
	      { "compaction",
		"wait+ 100 by=direct, compact+ 110, compact- 150, wait- 190, "
		"wait+ 200 by=direct, direct+ 205, direct- 240, wait- 250",
		"w7:100-190=compact, w7:200-250=direct" },
	      { "pairs in it are parts of it",
		"wait+ 100 by=memcg, slab+ 110 shr=5, slab- 230 shr=5, wait- 300",
		"w7:100-300=memcg | 7:100-300 memcg=80 memcg.shrinkers=120 {5=120*1}" },
	      { "one in a pair", "slab+ 100 shr=5, wait 110-230 by=refault, slab- 300 shr=5",
		"w7:110-230=refault | 7:100-300 reclaim.shrinkers=200 {5=200*1}" });
}

/* In a wait, around one, after a loss and before the run there may have been one; of another task it is none. */
UNIT_TEST_WITH(test_whether_it_waited, NULL, end_run)
{
	static const struct {
		bool waited;
		const char *log;
	} rows[] = {
		{ false, "memcg 1000-1200" },
		{ true, "wait+ 990 by=memcg, memcg 1000-1200" },
		{ true, "wait+ 990 by=memcg, wait 1005-1010 by=read, memcg 1000-1200" },
		{ true, "wait 1010-1190 by=memcg, memcg 1005-1195@1, alloc 1000-1200" },
		{ true, "wait 1010-1020 by=memcg, memcg 1005-1195@1, alloc 1000-1200" },
		{ false, "wait 950-999 by=memcg, memcg 1000-1200" },
		{ true, "taken 990, io 1000-1200" },
		{ false, "8:wait+ 990 by=memcg, memcg 1000-1200" },
		{ true, "time 1100, memcg 1000-1200" },
		{ false, "time 1000, memcg 1000-1200" },
		{ true, "lost 900 cpu=1, memcg 1000-1200" },
		{ false, "lost 900 cpu=1, memcg 2000000000-2000001000" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		start(PHASES);
		assert_int_equal(play(rows[i].log), 0);
		assert_int_equal(run.count, 1);
		if (run.last.waited != rows[i].waited)
			fail_msg("%s: waited %d", rows[i].log, run.last.waited);
	}
}

UNIT_TEST_MAIN(NULL, end_run)
