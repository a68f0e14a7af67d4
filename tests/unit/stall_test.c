// SPDX-License-Identifier: GPL-2.0-or-later
#include "made_stall.h"

/* Which windows, pairs and events are in a stall, and where its time went: see made_stall.h. */

/* ---- phases ---- */

UNIT_TEST(test_phases)
{
	CHECK(start, PHASES, { "alone", "alloc 100-300", "7:100-300 outside=200" },
	      { "unknown function", "other 100-300", "7:100-300 outside=200" },
	      { "the threshold is reached", "alloc 100-199, alloc 300-400",
		"7:300-400 outside=100" },
	      { "nested time counts once",
		"gen 150-250@4, node 140-260@3, node 130-280@2, direct 120-290@1, alloc 100-300",
		"7:100-300 direct=70 direct.inactive=100 outside=30" },
	      { "parts",
		"throttledirect 110-120@2, throttle 132-137@4, inactive 130-150@3, "
		"active 150-180@3, slab 180-220@3, throttle 220-270@3, node 125-275@2, "
		"node 280-290@3, soft 277-292@2, memcg 105-295@1, alloc 100-300",
		"7:100-300 memcg=25 memcg.slab=40 memcg.inactive=15 memcg.active=30 "
		"memcg.throttle=65 memcg.soft=15 outside=10" },
	      { "groups",
		"zone 110-120@2, compact 105-130@1, nodereclaim 130-150@1, direct 150-180@1, "
		"oom 180-183@1, drain 184-186@1, alloc 100-200, memcg 310-350@1, high 300-400",
		"7:100-200 direct=30 node=20 compaction=25 oom=3 drain=2 outside=20 | "
		"7:300-400 memcg=40 high=60" },
	      { "reclaim without a kind",
		"inactive 120-150@1, node 100-200, slab 300-400, zone 500-600",
		"7:100-200 reclaim=70 reclaim.inactive=30 | 7:300-400 reclaim.slab=100 | "
		"7:500-600 compaction=100" },
	      { "one memcg's lists are the inactive list's where that has no function",
		"active 130-150@2, lruvec 120-200@1, lruvecgen 220-280@1, direct 100-300",
		"7:100-300 direct=60 direct.inactive=120 direct.active=20" },
	      { "shrinkers",
		"pair 120-130 shr=1, pair 130-150 shr=2, pair 150-155 shr=1, slab 115-160@3, "
		"pair 170-190 shr=2, node 110-200@2, direct 105-210@1, alloc 100-220",
		"7:100-220 direct=40 direct.shrinkers=55 direct.slab=10 outside=15 {2=40*2} {1=15*2}" },
	      { "their objects: of fast pairs, of one with something inside, of a slow one, and without any",
		"slab+ 120 shr=1 scan=900, slab- 130 shr=1 scan=100 status=700, "
		"slab+ 140 shr=1 scan=30, zone 142-145@3, slab- 150 shr=1 status=5, "
		"slab+ 200 shr=2 scan=4000000000, slab- 310 shr=2 scan=3999999000 status=-1, "
		"slab+ 320 shr=3 scan=8, slab- 330 shr=3 scan=8, direct 100-400",
		"7:100-400 direct=160 direct.shrinkers=137 compaction=3 {2=110*1 0/1000} "
		"{1=17*2 705/830} {3=10*1}" },
	      { "an allocation in a shrinker is the shrinker's, one that compacts is compaction's",
		"slab+ 120 shr=5, alloc 130-140@3, slab- 150 shr=5, zone 165-170@4, "
		"alloc 160-180@3, slab 110-190@2, direct 105-195@1, alloc 100-200",
		"7:100-200 direct=10 direct.shrinkers=30 direct.slab=45 compaction=5 outside=10 "
		"{5=30*1}" },
	      { "fast windows inside tell phases, and alone are no stall",
		"direct 120-150@1, alloc 100-180, slab 320-330@2, direct 310-350@1, alloc 300-400, "
		"direct 420-450@1, flush",
		"7:300-400 direct=30 direct.slab=10 outside=60" },
	      { "a fast pair alone is no stall",
		"pair 100-150 shr=1, alloc 200-300, pair 400-450 shr=1, flush",
		"7:200-300 outside=100" },
	      { "gaps in depth, made by another user of function_graph",
		"zone 120-170@5, inactive 210-290@6, direct 190-300@2, direct 310-370@4, "
		"alloc 100-400",
		"7:100-400 direct=90 direct.inactive=80 compaction=50 outside=80" });
}

UNIT_TEST(test_uncertain_edges)
{
	CHECK(start, PHASES,
	      { "the middle decides",
		"direct 810-1180@1, alloc 1000-2000, direct 2800-3200@1, alloc 3000-4000",
		"7:810-1180 direct=370 | 7:1000-2000 outside=1000 | 7:3000-4000 direct=200 outside=800" },
	      { "what is inside may seem longer than the whole",
		"direct 95-150@1, compact 150-200@1, alloc 100-200",
		"7:100-200 direct=50 compaction=50" },
	      { "a slow run is in no fast one", "node 100-210@2, zone 120-215@1, alloc 50-400",
		"7:50-400 reclaim=20 compaction=95 outside=235" },
	      { "nor in a fast pair", "slab+ 150 shr=1, node 100-210@2, slab- 215 shr=1, flush",
		"7:100-210 reclaim=110" });
}

UNIT_TEST(test_siblings)
{
	start(PHASES);
	for (int i = 0; i < 1000; i++)
		playf("node %d-%d@2", 1000 + i * 10, 1005 + i * 10);
	play("memcg 900-12000@1");
	assert_string_equal(notes.text, "");
	play("alloc 800-12100");
	assert_string_equal(notes.text, "7:800-12100 memcg=11100 outside=200");
}

/* ---- owners ---- */

UNIT_TEST(test_owners)
{
	CHECK(start, LINES,
	      { "edges are inside", "direct+ 100, direct- 300, direct 100-300",
		"7:100-300 W100-300(100 300)" },
	      { "another role does not own",
		"direct+ 150, node 120-280@3, other 110-290@2, direct 100-300@1, alloc 90-310",
		"7:90-310 W120-280() W110-290() W100-300(150) W90-310()" },
	      { "nor another task", "direct+ 150, 8:direct 100-300", "8:100-300 W100-300()" },
	      { "a task may migrate", "direct+ 110, direct- 220 cpu=3, direct 100-300 cpu=2",
		"7:100-300 W100-300(110 220)" },
	      { "an event before the window", "list 99, list 101, lruvec 100-300",
		"7:100-300 W100-300(101)" },
	      { "between return and exit record",
		"list 150, list 301, gen 100-300@1 wrote=302, lruvec 50-400",
		"7:50-400 W100-300(150) W50-400(301)" },
	      { "after the stall's end", "user 150, user 301, node 100-300 wrote=302",
		"7:100-300 W100-300(150)" },
	      { "the innermost owner",
		"list 110, list 250, gen 200-300@1, list 350, lruvec 100-400",
		"7:100-400 W200-300(250) W100-400(110 350)" },
	      { "an owner around one that is none",
		"list 150, node 110-300@2, direct- 350, lruvec 105-400@1, other 100-500",
		"7:100-500 W110-300() W105-400(150) W100-500()" },
	      { "several windows, each its own",
		"compact+ 1010, compact- 1190, zone 1000-1200@1, compact+ 2010, compact- 2190, "
		"zone 2000-2200@1, compact 900-5000",
		"7:900-5000 W1000-1200(1010 1190) W2000-2200(2010 2190) W900-5000()" },
	      { "a fast window owns nothing", "list 150, gen 140-239@2, gen 140-240@1, flush",
		"7:140-240 W140-240(150)" },
	      { "the innermost slow window of any role",
		"throttled 150, user 160, other 120-280@1, user 285, node 284-286@1, node 110-290",
		"7:110-290 W120-280(150 160) W110-290(285)" },
	      { "the rule never", "never 150, compact 100-300", "7:100-300 W100-300()" },
	      { "a fast call before a slow one",
		"compact+ 110, compact- 120, compact+ 210, compact- 390, zone 200-400@1, "
		"compact 100-500",
		"7:100-500 W200-400(210 390) W100-500()" },
	      { "an owner may write an event several times",
		"list 110, list 120, list 120, list 140, gen 100-300",
		"7:100-300 W100-300(110 120 120 140)" },
	      { "what a fast outermost window left is gone", "user 110, other 90-120, node 80-300",
		"7:80-300 W80-300()" },
	      { "a pid that is used again inherits nothing",
		"list 110, throttled 120, list 1100, lruvec 1000-1300",
		"7:1000-1300 W1000-1300(1100)" });
}

UNIT_TEST(test_foreign_clock)
{
	CHECK(start_foreign_clock, LINES,
	      { "the edge", "list 949, list 950, lruvec 50950-200000",
		"7:50950-200000 W50950-200000(950)" },
	      { "an edge before time 0", "list 1, lruvec 10-200", "7:10-200 W10-200(1)" },
	      { "of a window inside, too", "list 949, list 950, gen 50950-200000@1, node 1-300000",
		"7:1-300000 W50950-200000(950) W1-300000()" },
	      { "a begin in the edge", "slab+ 960, alloc 1000-1200, slab- 1300, flush",
		"7:1000-1200 W1000-1200() | 7:960-1300 P960-1300()" });
}

/* A task migrates between two returns, and the clock of its new CPU is behind that of the old one. */
UNIT_TEST(test_clocks_of_two_cpus)
{
	CHECK(start, PHASES,
	      { "what is inside ends last", "alloc 1000-2000 cpu=1, compact 1100-2001@1",
		"7:1000-2001 compaction=901 outside=100" },
	      { "several, a fast one, and records of other tasks between",
		"alloc 1000-2000 cpu=1, 8:user 2001, 8:alloc 1500-2001@1 cpu=2, "
		"zone 1200-1980@2 wrote=2002, drain 1990-2003@2, compact 1100-2005@1, 8:alloc 1400-2006",
		"7:1000-2005 compaction=892 drain=13 outside=100 | 8:1400-2006 outside=606" },
	      { "the ends of a pair and of a memory wait",
		"wait+ 1050 by=direct, slab+ 1200 shr=1, alloc 1000-2000 cpu=1, slab- 2001 shr=1, "
		"direct 1100-2002@1, wait- 2003",
		"w7:1050-2003=direct | 7:1000-2003 direct=152 direct.shrinkers=801 outside=50 "
		"{1=801*1}" },
	      { "50 us at the most",
		"alloc 100000-200000 cpu=1, compact 110000-249999@1, alloc 300000-400000 cpu=1, "
		"compact 310000-450000@1, flush",
		"7:100000-249999 compaction=139999 outside=10000 | 7:300000-400000 outside=100000 | "
		"7:310000-450000 compaction=140000" },
	      { "of the same CPU, of another task, or that began later",
		"alloc 1000-2000, compact 1100-2001@1, flush 2001, alloc 3000-4000, "
		"8:compact 3100-4001@1 cpu=1, flush 4001, alloc 5000-6000, "
		"compact 6000-6100@1 cpu=1, alloc 5999-6200 cpu=1",
		"7:1000-2000 outside=1000 | 7:1100-2001 compaction=901 | 7:3000-4000 outside=1000 | "
		"8:3100-4001 compaction=901 | 7:5000-6000 outside=1000 | "
		"7:5999-6200 compaction=100 outside=101" },
	      { "behind a loss, a stall is complete without it",
		"alloc 1000-2000 cpu=1, lost 2001-3000, compact 1100-3001@1, flush 3001",
		"7:1000-2000 outside=1000 | 7:1100-3001? compaction=1901" });
	CHECK(start, LINES,
	      { "what is inside is shown inside", "alloc 1000-2000 cpu=1, compact 1100-2001@1",
		"7:1000-2001 W1100-2001() W1000-2001()" },
	      { "an event of the next window is not",
		"alloc 1000-2000, direct+ 2010 cpu=1, direct 2005-2300 cpu=1",
		"7:1000-2000 W1000-2000() | 7:2005-2300 W2005-2300(2010)" });
}

/* Which lines of what size: the payload of an event is kept as it was. */
UNIT_TEST(test_payloads)
{
	static const long sizes[] = { 64, 65, 128, 1001, 3900 };
	struct stall_window window = { 0 };

	start(LINES);
	for (size_t i = 0; i < COUNT(sizes); i++)
		playf("user %zu size=%ld, direct+ %zu order=3", 150 + 2 * i, sizes[i], 151 + 2 * i);
	play("direct 100-300");
	assert_string_equal(notes.text, "7:100-300 W100-300(150 151 152 153 154 155 156 157 158 "
					"159)");
	assert_int_equal(stalls_limited(run.stalls), 0);
	/* No chunk has room for one: whoever lacks it says so. */
	clear_notes();
	play("user 450 size=5000, user 460, slab+ 465 size=5000, slab- 470, node 400-600");
	assert_string_equal(notes.text, "7:400-600? W400-600(460)");
	assert_int_equal(stalls_limited(run.stalls), 2); /* and the run of the shrinker */
	clear_notes();
	play("user 650, node 640-800");
	assert_string_equal(notes.text, "7:640-800 W640-800(650)");
	assert_false(stall_next_window(&(struct stall){ 0 }, &window));
}

/* A stack is of its task's newest event, on the same CPU; a second one is of none. */
UNIT_TEST(test_stacks)
{
	stacks = stacks_new();
	CHECK(start, LINES,
	      { "of events and pairs",
		"direct+ 110, stack 111 in=5, slab+ 120, stack 120 in=6, slab- 230, stack 230 in=5, "
		"direct- 240, direct 100-300",
		"7:100-300 P120-230() W100-300(110#1 240)" },
	      { "a second one", "user 110, stack 111 in=6, stack 112 in=5, node 100-300",
		"7:100-300 W100-300(110#2)" },
	      { "of another task, CPU or interrupt",
		"user 110, 8:stack 111 in=5, stack 112 in=5 cpu=1, h:stack 113 in=5, node 100-300",
		"7:100-300 W100-300(110)" },
	      { "of an event that was lost", "user 110, lost 111, stack 112 in=5, node 100-300",
		"7:100-300? W100-300(110)" },
	      { "before an event, and after a window",
		"stack 105 in=5, user 110, node 105-120@1, stack 121 in=5, node 100-300",
		"7:100-300 W100-300(110)" });
	CHECK(start, DETAILS,
	      { "the first inside",
		"user 90, stack 90 in=5, user 110, user 120, stack 120 in=6, "
		"user 130, stack 130 in=5, node 100-300",
		"7:100-300 order -1 stack 2 lines 1+3" });
	stacks_free(stacks);
	stacks = NULL;
}

/* ---- pairs ---- */

static void start_counting(enum shown shown)
{
	start(shown);
	run.pairs = true;
}

static void start_counting_pairs_only(enum shown shown)
{
	start_pairs_only(shown);
	run.pairs = true;
}

/* Each slab pair is told once, whatever becomes of it. */
UNIT_TEST(test_pairs)
{
	CHECK(start_counting, LINES,
	      { "fast and slow", "pair 1000-1099 shr=1, pair 2000-2100 shr=1, flush",
		"1099=99 2100=100 | 7:2000-2100 P2000-2100()" },
	      { "with function_graph only windows own",
		"slab+ 1000, user 1100, slab- 1200, "
		"slab 900-1300",
		"1200=200 | 7:900-1300 P1000-1200() W900-1300(1100)" },
	      { "pairs nest",
		"slab+ 1000 shr=1, slab+ 1010 shr=2, slab+ 1020 shr=1, slab- 1030 shr=1, "
		"slab- 1040 shr=2, slab- 1050 shr=1",
		"1030=10 1040=30 1050=50" },
	      { "an end without a begin",
		"slab- 1000 shr=1, slab+ 1010 shr=2, slab- 1020 shr=1, slab- 1030 shr=2, "
		"slab- 1040 shr=2",
		"1030=20" },
	      { "of another callback",
		"slab+ 10 shr=1 call=1, slab- 20 shr=1 call=2, "
		"slab- 21 shr=1 call=1",
		"21=11" },
	      { "a begin without its end goes with the outer pair",
		"slab+ 1000 shr=1, slab+ 1010 shr=2, slab- 1020 shr=1, slab- 5000 shr=2",
		"1020=20" },
	      { "of two begins the newer one", "slab+ 1000, slab+ 9000, slab- 9010", "9010=10" },
	      { "over two CPUs", "slab+ 1000, slab- 1050 cpu=3", "1050=50" },
	      { "of one task", "slab+ 1000, 8:slab+ 1010, slab- 1020, 8:slab- 1040",
		"1020=20 1040=30" },
	      { "records were lost in between", "slab+ 1000, lost 1500, slab- 2000, pair 2010-2020",
		"2020=10" },
	      { "lost on either CPU of the pair",
		"slab+ 1000, lost 1500 cpu=1, slab- 2000 cpu=1, slab+ 3000 cpu=2, lost 3500 cpu=2, "
		"slab- 4000 cpu=3",
		"" },
	      { "on every CPU", "slab+ 1000, lostall 1500, slab- 2000 cpu=3", "" },
	      { "before the begin, or where the task never was",
		"lost 1000, slab+ 1000, lost 1100 cpu=2, slab- 1200", "1200=200" },
	      { "of a CPU that nobody knows",
		"slab+ 1000 cpu=9, lost 1100 cpu=9, slab- 1150 cpu=-1", "1150=150" },
	      { "a window ends begins inside",
		"slab+ 1000 shr=1, slab+ 1200 shr=2, alloc 1100-1400, slab- 1500 shr=2, "
		"slab- 1600 shr=1",
		"7:1100-1400 W1100-1400() 1600=600" },
	      { "so does a fast one", "slab+ 10, node 8-20@1, slab- 30", "" },
	      { "so does a fast outermost one", "slab+ 10, node 5-20, slab- 30", "" },
	      { "a pair stays open across outermost windows inside",
		"slab+ 10, user 11, node 12-20, user 21, node 22-125, user 126, slab- 130, flush",
		"7:22-125 W22-125() 130=120 | 7:10-130 P10-130()" });
}

/* Sixteen begins wait for their end; the oldest makes room. */
UNIT_TEST(test_many_begins)
{
	start_counting(LINES);
	for (int i = 1; i <= 17; i++)
		playf("slab+ %d shr=%d", 1000 + i, i);
	play("slab- 1110 shr=17, slab- 1120 shr=2, slab- 1130 shr=1");
	assert_string_equal(notes.text, "1110=93 1120=118");
}

/* Without function_graph, pairs are what windows are. */
UNIT_TEST(test_pairs_only)
{
	CHECK(start_counting_pairs_only, LINES,
	      { "a pair's own time decides",
		"direct+ 1000, direct- 1099, direct+ 2000, direct- 2100",
		"7:2000-2100 P2000-2100()" },
	      { "slab pairs are told", "direct+ 1000, pair 1010-1020, direct- 1300",
		"1020=10 | 7:1000-1300 P1000-1300()" },
	      { "a slow pair owns",
		"user 990, direct+ 1000, user 1010, compact+ 1050, user 1060, compact- 1200, "
		"list 1210, user 1250, direct- 1300, user 1310",
		"7:1000-1300 P1050-1200(1060) P1000-1300(1010 1250)" },
	      { "one that another was around", "direct+ 1000, compact+ 1050, compact- 1200, flush",
		"7:1050-1200 P1050-1200()" });
	CHECK(start_pairs_only, PHASES,
	      { "phases",
		"direct+ 100, pair 120-140 shr=1, pair 150-170 shr=2, direct- 300, "
		"pair 400-420 shr=1, compact+ 430, compact- 630",
		"7:100-300 direct=160 direct.shrinkers=40 {1=20*1} {2=20*1} | "
		"7:430-630 compaction=200" });
}

/* ---- interrupts and the idle task ---- */

UNIT_TEST(test_interrupts_and_idle_task)
{
	CHECK(start_counting, LINES,
	      { "an event of an interrupt is not of the interrupted task",
		"h:user 150, s:user 150, n:user 150, user 160, alloc 100-300",
		"7:100-300 W100-300(160)" },
	      { "need-resched, irqs-off and the like are of the task",
		"user 150 flags=0xa5, "
		"node 100-300",
		"7:100-300 W100-300(150)" },
	      { "an interrupt in an interrupt is of the inner one",
		"user 150 flags=0x18, "
		"h:node 100-300, s:node 100-301, "
		"flush",
		"0h:100-300 W100-300(150) | 0s:100-301 W100-301()" },
	      { "a window of an interrupt owns its own",
		"user 150, s:user 160, n:user 170, s:alloc 155-280, alloc 100-300",
		"0s:155-280 W155-280(160) | 7:100-300 W100-300(150)" },
	      { "an interrupt does not pair with the interrupted task",
		"slab+ 1000, h:slab- 1100, s:slab- 1100, n:slab- 1100, slab- 1200", "1200=200" },
	      { "an interrupt is of its CPU, whatever it interrupts",
		"s:user 150, s:user 160 cpu=1, 8:node 100-300 flags=0x10 cpu=1, flush",
		"1s:100-300 W100-300(160)" },
	      { "a window of an interrupt ends nothing of the task",
		"user 110, h:node 105-120, node 100-300", "7:100-300 W100-300(110)" },
	      { "the idle task is one per CPU",
		"0:user 150, 0:user 160 cpu=1, 0:node 100-300 cpu=1, 0:node 100-310, 0:slab+ 1000, "
		"0:slab- 1100 cpu=1",
		"1i:100-300 W100-300(160) | 0i:100-310 W100-310(150)" },
	      { "a pid that equals a CPU's number",
		"0:user 150 cpu=1, h:user 160 cpu=1, 1:node 100-300", "1:100-300 W100-300()" });
	CHECK(start, PHASES,
	      { "tasks and interrupts are apart",
		"s:alloc 125-235@1, direct 120-250@1, 8:direct 130-260@1, 8:alloc 110-370, "
		"alloc 100-400, flush",
		"8:110-370 direct=130 outside=130 | 7:100-400 direct=130 outside=170 | "
		"0s:125-235 outside=110" },
	      /* Depth counts the interrupted functions too. */
	      { "two interrupts have no window around both",
		"s:alloc 1000-1200@2, s:alloc 2000-2300@2, s:node 3100-3200@3, s:alloc 3000-3400@2, "
		"flush",
		"0s:1000-1200 outside=200 | 0s:2000-2300 outside=300 | 0s:3000-3400 reclaim=100 outside=300" },
	      { "so the first is told when the second comes",
		"s:alloc 1000-1200@2, s:alloc 1200-1400@2", "0s:1000-1200 outside=200" },
	      { "a fast window in interrupts ends no stall",
		"s:node 310-410@3, s:node 420-430@3, s:node 440-450@0, s:alloc 300-500@2, flush",
		"0s:300-500 reclaim=100 outside=100" });
}

/* include/linux/trace_events.h: TRACE_FLAG_HARDIRQ, _SOFTIRQ, _NMI; not _IRQS_OFF, _BH_OFF */
UNIT_TEST(test_interrupt_by_its_flags)
{
	static const struct {
		uint8_t flags;
		enum owner_kind kind;
	} cases[] = {
		{ 0x00, OWNER_TASK },	 { 0x01, OWNER_TASK }, { 0x04, OWNER_TASK },
		{ 0x80, OWNER_TASK },	 { 0x27, OWNER_TASK }, { 0x08, OWNER_HARDIRQ },
		{ 0x10, OWNER_SOFTIRQ }, { 0x40, OWNER_NMI },  { 0x19, OWNER_HARDIRQ },
		{ 0x58, OWNER_NMI },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct record record = { .tid = 5, .cpu = 2, .flags = cases[i].flags };
		struct task_key key = task_key_of(&record);

		assert_int_equal(key.kind, cases[i].kind);
		assert_int_equal(key.id, key.kind == OWNER_TASK ? 5 : 2);
		assert_int_equal(task_key_in_interrupt(key), key.kind != OWNER_TASK);
	}
}

/* ---- what is around never comes ---- */

UNIT_TEST(test_orphans)
{
	CHECK(start, PHASES,
	      { "a window of depth 0 that does not contain it", "node 100-200@2, alloc 300-400",
		"7:100-200 reclaim=100 | 7:300-400 outside=100" },
	      { "a fast one", "node 100-200@2, alloc 300-350", "7:100-200 reclaim=100" },
	      { "the end", "node 100-200@2, 8:node 110-210@2, flush, flush",
		"7:100-200 reclaim=100 | 8:110-210 reclaim=100" },
	      { "a pair", "pair 100-250 shr=1, flush",
		"7:100-250 reclaim.shrinkers=150 {1=150*1}" },
	      { "they wait", "pair 100-250 shr=1, node 300-500@1", "" },
	      { "in the order in which they ended",
		"node 100-250@2, inactive 300-410@5, node 290-420@3, node 500-600@2, flush",
		"7:100-250 reclaim=150 | 7:290-420 reclaim=20 reclaim.inactive=110 | "
		"7:500-600 reclaim=100" });
}

/* However many there are, each is a stall of its own. */
UNIT_TEST(test_many_orphans)
{
	start(NOTHING);
	for (int i = 0; i < 1000; i++)
		playf("node %d-%d@2", 1000 + i * 200, 1100 + i * 200);
	play("alloc 300000-300100");
	assert_int_equal(run.count, 1001);
	assert_int_equal(run.incomplete, 0);
	assert_int_equal(stalls_limited(run.stalls), 0);
}

UNIT_TEST(test_losses)
{
	CHECK(start, PHASES,
	      { "of any CPU", "alloc 100-200, lost 250 cpu=3, alloc 240-340, 8:alloc 260-360",
		"7:100-200 outside=100 | 7:240-340? outside=100 | 8:260-360 outside=100" },
	      { "of all", "lostall 250, alloc 240-340, 8:alloc 250-360",
		"7:240-340? outside=100 | 8:250-360 outside=110" },
	      { "on another CPU, up to a time after the stall", "lost 110-900 cpu=3, alloc 100-200",
		"7:100-200? outside=100" },
	      { "a shorter one of the same CPU ends none",
		"lost 50-300 cpu=1, lost 60-80 cpu=1, alloc 150-250", "7:150-250? outside=100" },
	      { "up to its begin", "lost 50-100 cpu=3, alloc 100-200", "7:100-200 outside=100" },
	      { "the last one ended before another", "lost 50-150 cpu=1, lost 80-90, alloc 100-200",
		"7:100-200? outside=100" },
	      { "the end of one is told later",
		"lost 50-18446744073709551615, alloc 100-200, lost 50-150, alloc 140-240, alloc 150-250",
		"7:100-200? outside=100 | 7:140-240? outside=100 | 7:150-250 outside=100" },
	      { "a CPU's interrupts and idle task are on no other one",
		"lost 150 cpu=1, s:alloc 100-200, 0:alloc 110-210, s:alloc 100-210 cpu=1",
		"0s:100-200 outside=100 | 0i:110-210 outside=100 | 1s:100-210? outside=110" },
	      { "a lost window of depth 1",
		"node 100-200@2, lost 250, node 300-400@2, direct 280-500@1, alloc 260-600",
		"7:100-200/2? reclaim=100 | 7:260-600 direct=220 outside=120" });
}

/* A second of silence, and not a nanosecond less, of each task. */
UNIT_TEST(test_patience)
{
	const uint64_t late = 200 + SECOND;

	start(PHASES);
	play("node 100-200@2, 8:node 100-300@2");
	playf("time %" PRIu64, late);
	assert_string_equal(notes.text, "");
	playf("time %" PRIu64 ", time %" PRIu64, late + 1, late + 100);
	assert_string_equal(notes.text, "7:100-200 reclaim=100");
	playf("time %" PRIu64, late + 101);
	assert_string_equal(notes.text, "7:100-200 reclaim=100 | 8:100-300 reclaim=200");
	/* A window around it that ends after all has the time that is left, and says so. */
	clear_notes();
	playf("compact 500-%" PRIu64 "@1, alloc 90-%" PRIu64, late + 200, late + 300);
	assert_string_equal(notes.text, "7:200-1000000500? compaction=999999900 outside=400");
	clear_notes();
	playf("alloc 301-%" PRIu64, late + 401);
	assert_string_equal(notes.text, "7:301-1000000601 outside=1000000300");
}

/* Without memory waits nobody knows whether a silent task is still in a slow function. */
UNIT_TEST(test_patience_without_waits)
{
	start(PHASES);
	run.plan.nr_events = WAIT_BEGIN;
	start_again();
	playf("node 100-200@2, time %" PRIu64, 200 + 600 * SECOND);
	assert_string_equal(notes.text, "");
	playf("time %" PRIu64, 201 + 600 * SECOND);
	assert_string_equal(notes.text, "7:100-200 reclaim=100");
}

/* Whether a window that ended long ago is told by then: a second is 1000000000. */
UNIT_TEST(test_who_is_silent)
{
	CHECK(start, PHASES,
	      { "a task that waits is still inside",
		"direct 100-200@1, wait+ 300 by=high, time 3000000000, wait- 3000000001, "
		"high 50-3000000100",
		"w7:300-3000000001=high | 7:50-3000000100 direct=100 high=2999999950" },
	      { "so is one in a pair",
		"slab+ 50 shr=1, node 100-200@2, time 3000000000, slab- 3000000001 shr=1, "
		"slab 40-3000000100",
		"7:40-3000000100 reclaim.shrinkers=2999999951 reclaim.slab=109 {1=2999999951*1}" },
	      { "a record of any kind is a sign of life",
		"node 100-200@2, user 900000000, time 1800000000", "" },
	      { "several stalls of a task", "node 100-200@2, node 300-400@1, time 1000000401",
		"7:100-200 reclaim=100 | 7:300-400 reclaim=100" },
	      { "what is around them has the rest",
		"node 100-200@2, node 300-400@1, time 1500000000, alloc 50-1600000000",
		"7:100-200 reclaim=100 | 7:300-400 reclaim=100 | "
		"7:400-1600000000? outside=1599999600" });
}

/* A function that calls slow ones all the time still runs, however long it does. */
UNIT_TEST(test_a_busy_task_waits)
{
	start(PHASES);
	play("compact 100-200@1, wait+ 250 by=direct");
	for (uint64_t s = 1; s <= 3600; s++)
		playf("node %" PRIu64 "-%" PRIu64 "@2, time %" PRIu64, s * SECOND,
		      s * SECOND + 1000, s * SECOND + 1001);
	playf("time %" PRIu64 ", wait- %" PRIu64 ", direct 300-%" PRIu64 "@1", 4200 * SECOND,
	      4200 * SECOND, 4200 * SECOND);
	assert_string_equal(notes.text, "w7:250-4200000000000=direct");
	clear_notes();
	playf("alloc 0-%" PRIu64, 4200 * SECOND + 50);
	assert_string_equal(notes.text, "7:0-4200000000050 direct=4199999999750 compaction=100 "
					"outside=200");
}

/* Where the record around it may be lost, a busy task waits for ten minutes. */
UNIT_TEST(test_patience_after_a_loss)
{
	const uint64_t late = 200 + 600 * SECOND;

	start(PHASES);
	playf("node 100-200@3, lost 250, node %" PRIu64 "-%" PRIu64 "@3", late - 100, late);
	assert_string_equal(notes.text, "");
	playf("node %" PRIu64 "-%" PRIu64 "@3", late - 99, late + 1);
	assert_memory_equal(notes.text, "7:100-200/3? reclaim=100", 24);
	clear_notes();
	playf("alloc 199-%" PRIu64, late + 100);
	assert_non_null(strstr(notes.text, "? reclaim="));
}

/*
 * Where somebody else's function is around each allocation, none of depth 0 ever comes. As soon as a
 * gap in depth shows that there is somebody else, a second is enough for a task that is never silent.
 */
UNIT_TEST(test_patience_beside_another_user)
{
	static const struct {
		const char *log;
		bool gap;
	} cases[] = {
		{ "alloc 10-200", false },
		{ "s:alloc 10-140@2, s:alloc 150-290, s:alloc 300-400", false },
		{ "8:node 100-200@2, lost 220, 8:alloc 50-300", false },
		{ "8:node 100-200@2, 8:alloc 50-300", true },
		{ "8:node 10-140@1, 8:alloc 150-300", true },
		{ "8:node 100-200@1, time 2000000000, 8:node 3000000000-3000001000@1, "
		  "time 5000000000",
		  true },
		{ "8:node 100-200@1, time 2000000000, lost 2500000000, "
		  "8:node 3000000000-3000001000@1, time 5000000000",
		  false },
		{ "8:wait 100-300 by=high, time 2000000000, "
		  "8:wait 3000000000-3000001000 by=high, time 5000000000",
		  false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		start(NOTHING);
		play(cases[i].log);
		run.count = run.incomplete = 0;
		for (unsigned int now = 11; now <= 100; now++) {
			playf("time %" PRIu64 ", alloc %" PRIu64 "-%" PRIu64 "@1", now * SECOND / 2,
			      now * SECOND / 2 + 1000, now * SECOND / 2 + 2000);
			assert_int_equal(run.count, cases[i].gap && now > 13 ? now - 13 : 0);
		}
		assert_int_equal(run.incomplete, 0);
	}
}

/* Nor is a window told that is in the next one, or in a wait that goes on. */
UNIT_TEST(test_a_busy_task_beside_another_user)
{
	CHECK(start, PHASES,
	      { "inside the next one",
		"8:node 10-140@1, 8:alloc 150-300, node 1000-2000@2, direct 900-2000000000@1, "
		"alloc 2500000000-2500001000@1",
		"8:10-140 reclaim=130 | 8:150-300 outside=150" },
	      { "before it",
		"8:node 10-140@1, 8:alloc 150-300, node 1000-2000@2, node 5000-2000000000@2",
		"8:10-140 reclaim=130 | 8:150-300 outside=150 | 7:1000-2000 reclaim=1000" },
	      { "in a wait",
		"8:node 10-140@1, 8:alloc 150-300, wait+ 500 by=direct, node 1000-2000@2, "
		"node 5000-2000000000@2, time 4000000000",
		"8:10-140 reclaim=130 | 8:150-300 outside=150" },
	      { "before a wait",
		"8:node 10-140@1, 8:alloc 150-300, node 1000-2000@2, wait+ 3000 by=direct, "
		"time 4000000000",
		"8:10-140 reclaim=130 | 8:150-300 outside=150 | 7:1000-2000 reclaim=1000" });
}

/* That one task was silent inside a slow function is no gap in depth: others are not split. */
UNIT_TEST(test_silence_is_no_gap)
{
	start(PHASES);
	playf("node 100-400@3, time %" PRIu64, 601 * SECOND);
	clear_notes();
	for (uint64_t i = 0; i < 14; i++)
		playf("8:node %" PRIu64 "-%" PRIu64 "@2", (700 + i * 60) * SECOND,
		      (701 + i * 60) * SECOND);
	playf("8:direct %" PRIu64 "-%" PRIu64 "@1", 699 * SECOND, 1600 * SECOND);
	assert_string_equal(notes.text, "");
	playf("8:alloc %" PRIu64 "-%" PRIu64, 698 * SECOND, 1601 * SECOND);
	assert_string_equal(notes.text,
			    "8:698000000000-1601000000000 direct=901000000000 outside=2000000000");
}

UNIT_TEST(test_callback_that_fails)
{
	start(NOTHING);
	run.fail = -EPIPE;
	assert_int_equal(play("alloc 100-200"), -EPIPE);
	assert_int_equal(play("8:node 100-200@1, flush"), -EPIPE);
	assert_int_equal(play("8:node 100-200@1, s:node 100-200, s:node 200-300"), -EPIPE);
	assert_int_equal(play("9:node 100-200@1, time 700000000000"), -EPIPE);
	run.plan.function_graph = false;
	assert_int_equal(play("10:slab+ 100, 10:slab- 200"), -EPIPE);
}

/* ---- random calls, against a walk over the tree of them ---- */

#define CALLS_MAX 8000

struct call {
	struct call *around;
	int tid, depth, role;
	uint64_t start, end, inside; /* ns; inside: of the calls in it */
	uint64_t shrinker;	     /* a pair of events */
	struct phases phases;	     /* of an outermost call, as the next two */
	uint64_t shrinkers;	     /* ns */
	unsigned int nr_windows;
};

/* A record of a call: the begin of a pair, or its end. */
struct made_record {
	uint64_t ts;
	const struct call *call;
	bool end;
};

static struct {
	struct call calls[CALLS_MAX];
	struct made_record records[2 * CALLS_MAX];
	int count, nr_records;
	uint64_t seed;
	bool gaps;
} made;

static unsigned int below(unsigned int limit)
{
	made.seed = made.seed * 6364136223846793005u + 1442695040888963407u;
	return (made.seed >> 33) % limit;
}

static uint64_t make_call(int tid, struct call *around, uint64_t now)
{
	static const int roles[] = { ROLE_PAGE_ALLOCATION,
				     ROLE_DIRECT_RECLAIM,
				     ROLE_MEMCG_RECLAIM,
				     ROLE_NODE,
				     ROLE_NODE,
				     ROLE_SLAB,
				     ROLE_INACTIVE_LIST,
				     ROLE_ACTIVE_LIST,
				     ROLE_SOFT_LIMIT,
				     ROLE_DIRECT_COMPACTION,
				     ROLE_NONE,
				     ROLE_RECLAIM_THROTTLE };
	struct call *this = &made.calls[made.count++];
	unsigned int nr_calls = below(4);

	*this = (struct call){ .around = around, .tid = tid, .start = now };
	this->role = roles[below(COUNT(roles))];
	if (around)
		this->depth = around->depth + 1 + (made.gaps ? (int)below(3) : 0);
	/* The runs of shrinkers, and only these, are in shrink_slab(), which is not in one. */
	if (around && around->role == ROLE_SLAB && !around->shrinker) {
		this->role = ROLE_SLAB;
		this->shrinker = 1 + below(9);
		this->depth = around->depth;
	}
	for (const struct call *at = around; at && !this->shrinker; at = at->around)
		if (at->shrinker && this->role == ROLE_SLAB)
			this->role = ROLE_NODE;
	if (!below(50) && !made.gaps)
		nr_calls = 300;
	if (this->shrinker)
		made.records[made.nr_records++] = (struct made_record){ now, this, false };
	now += 1 + below(100);
	for (; nr_calls && this->depth < 9 && made.count < CALLS_MAX - 1000; nr_calls--)
		now = make_call(tid, this, now) + below(100);
	this->end = now + 1;
	if (around)
		around->inside += this->end - this->start;
	made.records[made.nr_records++] = (struct made_record){ this->end, this, true };
	return this->end + 1;
}

/* The phase by the rules of the catalog: the kind of reclaim is that of the first around it. */
static void add_to_root(struct call *call)
{
	enum phase_group group = PHASE_OUTSIDE;
	enum phase_part part = PART_ITSELF;
	uint64_t own = call->end - call->start - call->inside;
	struct call *root = call;
	bool shrinker = false;

	for (struct call *at = call; at; root = at, at = at->around) {
		const struct catalog_role *role;

		if (at->role == ROLE_NONE)
			continue;
		role = &catalog_roles[at->role];
		if (group == PHASE_OUTSIDE ||
		    (group == PHASE_OTHER_RECLAIM && part == PART_ITSELF &&
		     phases_is_reclaim(role->group))) {
			part = at->shrinker ? PART_SHRINKERS : role->part;
			shrinker = at->shrinker;
		}
		if (group == PHASE_OUTSIDE ||
		    (group == PHASE_OTHER_RECLAIM && phases_is_reclaim(role->group)))
			group = role->group;
	}
	phases_spend(&root->phases, group, part, STATE_UNKNOWN, own);
	root->shrinkers += shrinker && part == PART_SHRINKERS ? own : 0;
	root->nr_windows += !call->shrinker && call->end - call->start >= THRESHOLD;
}

static int check_stall(void *context, const struct stall *stall)
{
	const struct call *root = made.calls;
	uint64_t shrinkers = 0;

	while (root->around || root->start != stall->start || root->tid != stall->tid)
		assert_true(++root < made.calls + made.count);
	assert_int_equal(stall->end, root->end);
	assert_int_equal(stall->nr_windows, root->nr_windows);
	assert_false(stall->incomplete);
	assert_int_equal(stall->role, root->role);
	for (int group = 0; group < PHASE_GROUPS; group++)
		assert_memory_equal(&stall->phases.ns[group], &root->phases.ns[group],
				    sizeof(root->phases.ns[group]));
	for (size_t i = 0; i < stall->nr_shrinkers; i++)
		shrinkers += stall->shrinkers[i].ns;
	assert_int_equal(shrinkers, root->shrinkers);
	run.count++;
	return 0;
}

static int compare_records(const void *a, const void *b)
{
	const struct made_record *x = a, *y = b;

	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

static void put_record(const struct made_record *record)
{
	const struct call *call = record->call;
	struct item item = { .to = call->end, .fields = { .shrinker = call->shrinker } };

	item.record.tid = call->tid;
	item.record.ts = call->shrinker ? record->ts : call->start;
	if (call->shrinker)
		assert_int_equal(put_event(&item, record->end ? SLAB_END : SLAB_START), 0);
	else
		assert_int_equal(put_window(&item, call->role, (uint64_t)call->depth), 0);
}

UNIT_TEST(test_random_calls)
{
	start(NOTHING);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t roots = 0;

		made.count = made.nr_records = 0;
		made.seed = seed;
		made.gaps = seed % 2;
		run.count = 0;
		for (int tid = 1; tid <= 4; tid++)
			for (uint64_t now = (uint64_t)tid; made.count < tid * 1500;)
				now = make_call(tid, NULL, now + 10);
		for (int i = 0; i < made.count; i++) {
			const struct call *call = &made.calls[i];

			add_to_root(&made.calls[i]);
			roots += !call->around && call->end - call->start >= THRESHOLD;
		}
		qsort(made.records, (size_t)made.nr_records, sizeof(made.records[0]),
		      compare_records);
		stalls_free(run.stalls);
		run.stalls = stalls_new(&run.plan, &run.source, 4 << 20, NULL, NULL, check_stall,
					got_wait, NULL);
		for (int i = 0; i < made.nr_records; i++)
			put_record(&made.records[i]);
		assert_int_equal(stalls_time(run.stalls, 0), 0);
		assert_int_equal(run.count, roots);
		assert_int_equal(stalls_limited(run.stalls), 0);
	}
}

UNIT_TEST_MAIN(NULL, end_run)
