// SPDX-License-Identifier: GPL-2.0-or-later
#include "made_stall.h"

/*
 * What tasks did instead of running, from the scheduler's events: see made_stall.h. prev_state as in
 * include/linux/sched.h: 0x01 asleep, 0x02 uninterruptible, 0x100 preempted.
 */

#define MS 1000000ull

/* The first switch was seen. */
static void start_seen(enum shown shown)
{
	start(shown);
	play("3:leave 1");
}

UNIT_TEST(test_states)
{
	static const struct {
		const char *off, *expected;
	} cases[] = {
		{ "100-200 state=0", "~wait=100" },
		{ "100-200 state=0x100", "~wait=100" },
		/* A wake-up before it had left. */
		{ "100-200 state=0x100 woken=130", "~wait=100" },
		{ "100-200 state=0x01 woken=170", "~wait=30 outside~S=70" },
		{ "100-200 state=0x02 woken=170", "~wait=30 outside~D=70" },
		{ "100-200 state=0x04 woken=170", "~wait=30 outside~S=70" },
		{ "100-200 state=0x80 woken=170", "~wait=30 outside~S=70" },
		/* Uninterruptible, then preempted before it was asleep. */
		{ "100-200 state=0x102 woken=170", "~wait=30 outside~D=70" },
		{ "100-200 state=0x02 woken=200", "~D=100" },
		{ "100-200 state=0x02 woken=100", "~wait=100" },
		/* The wake-up was lost; the waker's clock is behind or ahead. */
		{ "100-200 state=0x02", "~D=100" },
		{ "100-200 state=0x02 woken=90", "~wait=100" },
		{ "100-200 state=0x02 woken=210", "~D=100" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char expected[64];

		start_seen(PHASES);
		playf("off %s, alloc 50-300", cases[i].off);
		snprintf(expected, sizeof(expected), "7:50-300 outside=150 outside%s",
			 cases[i].expected);
		assert_string_equal(notes.text, expected);
		assert_true(run.last.off_cpu);
	}
}

UNIT_TEST(test_phases)
{
	CHECK(start_seen, PHASES,
	      { "a span belongs to the innermost run around it",
		"off 1100-1120, off 1200-1235 state=2 woken=1230, throttle 1190-1300@2, off 1400-1410, "
		"direct 1050-1500@1, off 1600-1650, alloc 1000-2000",
		"7:1000-2000 direct=310 direct~wait=30 direct.throttle=75 direct.throttle~wait=5 "
		"direct.throttle~D=30 outside=500 outside~wait=50" },
	      { "of a fast outermost run nothing is known; of other tasks and interrupts neither",
		"off 500-900, alloc 950-1000, off 1010-1030, alloc 1005-1105, leave 1160, "
		"8:alloc 1050-1200, s:alloc 1050-1201, come 1210, alloc 1150-1300",
		"7:1005-1105 outside=80 outside~wait=20 | 8:1050-1200 outside=150 | 0s:1050-1201 outside=151 | "
		"7:1150-1300 outside=100 outside~wait=50" },
	      { "shrinkers",
		"slab+ 1005 shr=5, off 1010-1020, slab- 1030 shr=5, slab+ 1100 shr=5, "
		"off 1110-1150 state=2 woken=1150, slab- 1250 shr=5, off 1300-1330, slab 1000-1400@1, "
		"alloc 990-1410",
		"7:990-1410 reclaim.shrinkers=125 reclaim.shrinkers~wait=10 reclaim.shrinkers~D=40 "
		"reclaim.slab=195 reclaim.slab~wait=30 outside=20 {5=175*2 ~wait=10 ~D=40}" },
	      { "where two of them slept",
		"slab+ 1005 shr=5, off 1010-1020 state=2 woken=1020 in=0x20, slab- 1030 shr=5, "
		"slab+ 1100 shr=6, off 1110-1150 state=2 woken=1150 in=0x20, slab- 1250 shr=6, "
		"off 1300-1330 state=2 woken=1330 in=0x20, slab 1000-1400@1, alloc 990-1410",
		"7:990-1410 reclaim.shrinkers=125 reclaim.shrinkers~D=50 reclaim.slab=195 "
		"reclaim.slab~D=30 outside=20 {6=150*1 ~D=40} {5=25*1 ~D=10} "
		"[reclaim~D@32=40 in a shrinker] [reclaim~D@32=30] [reclaim~D@32=10 in a shrinker]" },
	      { "two addresses of a function are one; most time first",
		"off 1100-1110 state=2 in=0x28, off 1200-1240 state=2 woken=1230 in=0x38, "
		"off 1300-1325 state=2 in=0x2c, zone 1050-1400@1, off 1500-1550 state=2 in=0x38, "
		"alloc 1000-1600",
		"7:1000-1600 compaction=275 compaction~wait=10 compaction~D=65 outside=200 outside~D=50 "
		"[outside~D@48=50] [compaction~D@32=35] [compaction~D@48=30]" },
	      { "of a task that can run there is no function, nor of one that runs",
		"off 1100-1110 in=0x28, stack 1111 in=0x28, off 1120-1140 state=1 in=0x40, "
		"alloc 1000-1600",
		"7:1000-1600 outside=570 outside~wait=10 outside~S=20 [outside~S@64=20]" },
	      { "a stack after a loss is of a lost record",
		"leave 1100 state=1, stack 1100 in=0x40, lost 1110, stack 1120 in=0x28, come 1130, "
		"alloc 1000-1600",
		"7:1000-1600? outside=570 outside~S=30 [outside~S@64=30]" });
}

/*
 * Between a switch whose other one is lost and its nearest record a task was off the CPU, and why is
 * not known.
 */
UNIT_TEST(test_lost_switches)
{
	CHECK(start_seen, PHASES,
	      { "in", "leave 1100 state=2, alloc 1000-1200",
		"7:1000-1200? outside=100 outside~off=100" },
	      { "in, before the stall", "leave 900, alloc 1000-1200", "7:1000-1200 outside=200" },
	      { "in, before it leaves once more", "leave 1100, off 1150-1160, alloc 1000-1200",
		"7:1000-1200? outside=140 outside~wait=10 outside~off=50" },
	      { "in, before a call",
		"leave 1100000, direct 1300000-1350000@1, alloc 1000000-1400000",
		"7:1000000-1400000? direct=50000 outside=150000 outside~off=200000" },
	      { "out, at its edge", "come 1100, 8:come 1110, alloc 1000-1200",
		"7:1000-1200 outside=200" },
	      { "out", "come 1100000, alloc 1000000-1200000",
		"7:1000000-1200000? outside=100000 outside~off=100000" },
	      { "out, after a call",
		"direct 1010000-1030000@1, come 1100000, alloc 1000000-1200000",
		"7:1000000-1200000? direct=20000 outside=110000 outside~off=70000" },
	      { "out, after an event", "user 1040000, come 1100000, alloc 1000000-1200000",
		"7:1000000-1200000? outside=140000 outside~off=60000" },
	      { "out, after it came", "off 1020000-1040000, come 1100000, alloc 1000000-1200000",
		"7:1000000-1200000? outside=120000 outside~wait=20000 outside~off=60000" },
	      { "out, inside a call",
		"come 1100000, direct 1010000-1150000@1, alloc 1000000-1200000",
		"7:1000000-1200000? direct=50000 direct~off=90000 outside=60000" },
	      { "the first one of a new task", "come 1100000, alloc 1100010-1200000",
		"7:1100010-1200000 outside=99990" },
	      { "after the stall", "leave 1200010 state=2, come 1300000, alloc 1000000-1200000",
		"7:1000000-1200000 outside=200000" },
	      { "the wake-up of nobody", "wake 1100, 8:wake 1100, 0:wake 1100, alloc 1000-1200",
		"7:1000-1200 outside=200" },
	      { "the first wake-up counts",
		"leave 1100 state=2, wake 1130, wake 1150, come 1200, alloc 1000-1300",
		"7:1000-1300 outside=200 outside~wait=70 outside~D=30" },
	      { "time goes back between two CPUs", "leave 1100 state=2, come 1090, alloc 1000-1200",
		"7:1000-1200 outside=200" });
}

/* A stall lacks nothing that was lost on a CPU where its task was not. */
UNIT_TEST(test_losses_of_other_cpus)
{
	CHECK(start_seen, PHASES,
	      { "it was on its own", "lost 1110-1190 cpu=1, alloc 1000-1200",
		"7:1000-1200 outside=200" },
	      { "of its own CPU", "lost 1110-1190, alloc 1000-1200", "7:1000-1200? outside=200" },
	      { "it came from that CPU",
		"leave 1100 cpu=1, come 1120, lost 1090-1095 cpu=1, alloc 1000-1200",
		"7:1000-1200? outside=180 outside~wait=20" },
	      { "after it had left that CPU",
		"leave 1100 cpu=1, come 1120, lost 1130-1195 cpu=1, alloc 1000-1200",
		"7:1000-1200 outside=180 outside~wait=20" },
	      { "off the CPU it may have been there",
		"lost 1105-1110 cpu=1, leave 1100, come 1120, alloc 1000-1200",
		"7:1000-1200? outside=180 outside~wait=20" },
	      { "before a switch whose other one is not recorded",
		"lost 1040-1050 cpu=1, come 1120, alloc 1000-1200", "7:1000-1200? outside=200" },
	      { "its records change the CPU without a switch",
		"lost 1040-1050 cpu=3, user 1020 cpu=1, user 1100 cpu=2, alloc 1000-1200 cpu=2",
		"7:1000-1200? outside=200" },
	      { "of two losses of a CPU the first one counts in any case",
		"lost 1010-1020 cpu=1, lost 1100-1120 cpu=1, alloc 1000-1200, alloc 1030-1230",
		"7:1000-1200? outside=200 | 7:1030-1230 outside=200" });
}

/* The edges of windows may come from another clock than the switches. */
UNIT_TEST(test_edges)
{
	CHECK(start_seen, PHASES,
	      { "almost outside at its start",
		"off 1000000-4000000 state=2 woken=3000000, "
		"alloc 3980000-6000000",
		"7:3980000-6000000 outside=2020000" },
	      { "almost inside at its start",
		"off 1000000-4000000 state=2 woken=3000000, "
		"alloc 1040000-6000000",
		"7:1040000-6000000 outside=2000000 outside~wait=1000000 outside~D=1960000" },
	      { "almost inside at its end",
		"off 1000000-4000000 state=2 woken=3000000, "
		"alloc 10000-3960000",
		"7:10000-3960000 outside=990000 outside~wait=960000 outside~D=2000000" },
	      /* At its edges a window runs. */
	      { "across the start", "off 1000000-4000000 state=2, alloc 2000000-5000000",
		"7:2000000-5000000? outside=1000000 outside~off=2000000" },
	      { "across the end", "off 1000000-4000000 state=2, alloc 10000-3000000",
		"7:10000-3000000? outside=990000 outside~off=2000000" },
	      { "across the start of a call",
		"off 1000000-4000000 state=2, direct 2000000-4500000@1, alloc 10000-5000000",
		"7:10000-5000000? direct=500000 direct~off=2000000 outside=1490000 outside~off=1000000" });
}

/* Before the first switch nothing is known, and without one, and after they were stopped. */
UNIT_TEST(test_unknown)
{
	start(PHASES);
	play("alloc 1000-1200");
	assert_false(run.last.off_cpu);
	/* Then it does not lack a switch either. */
	play("off 1250-1260 state=1 in=0x40, off 1270-1280, leave 1290, alloc 1210-1400");
	assert_false(run.last.off_cpu);
	play("off 1450-1460, alloc 1410-1600");
	assert_true(run.last.off_cpu);
	assert_string_equal(notes.text, "7:1000-1200 outside=200 | 7:1210-1400 outside=190 | "
					"7:1410-1600 outside=180 outside~wait=10");
	clear_notes();
	play("off 2010-2020 state=2, leave 2030 state=2, stop 2050, come 2060, alloc 2000-2200");
	assert_false(run.last.off_cpu);
	assert_string_equal(notes.text, "7:2000-2200 outside=200");
	clear_notes();
	play("off 2310-2320 state=1, alloc 2305-2500, alloc 2500-2600");
	assert_true(run.last.off_cpu);
	assert_string_equal(notes.text,
			    "7:2305-2500 outside=185 outside~S=10 | 7:2500-2600 outside=100");
}

/* A stall may begin before the first switch of the run, which is recorded from its first record on. */
UNIT_TEST(test_start_of_the_run)
{
	CHECK(start, PHASES,
	      { "a window", "time 1000, off 1100-1150, alloc 1050-1300",
		"7:1050-1300 outside=200 outside~wait=50" },
	      { "a wait that was in progress, of a task that had no CPU",
		"time 1000, 3:leave 1100, come 1150000, wait- 1200000, flush 1300000",
		"w7:1000-1200000=unknown? | 7:1000-1200000? reclaim=50000 reclaim~off=1149000" },
	      { "a window that is older than the run", "time 1000, off 1100-1150, alloc 950-1300",
		"7:950-1300 outside=350" });
	start(PHASES);
	play("time 1000, 3:leave 1100, stop 1200, off 1310-1320, alloc 1250-1400");
	assert_string_equal(notes.text, "7:1250-1400 outside=150");
}

/* Their numbers may be used again. */
UNIT_TEST(test_idle_and_dead)
{
	CHECK(start_seen, PHASES,
	      { "the idle task leaves no CPU", "0:leave 110, 0:come 200, 0:alloc 50-300",
		"0i:50-300 outside=250" },
	      { "a zombie", "leave 110 state=0x20, come 150, alloc 50-300",
		"7:50-300 outside=250" },
	      { "a dead task",
		"user 60, off 110-120, leave 130 state=0x10, come 150, user 160, "
		"alloc 50-300",
		"7:50-300 outside=250" });
}

/* In so many functions that not all can be named: the times stay, and names lack. */
UNIT_TEST(test_many_functions)
{
	for (int more = 0; more <= 1; more++) {
		uint64_t now = 1010;

		start_seen(NOTHING);
		for (int i = 0; i < 256 + more; i++, now += 10)
			playf("off %" PRIu64 "-%" PRIu64 " state=2 in=%d", now, now + 5 + !i,
			      (i + 2) * 16);
		playf("alloc 1000-%" PRIu64, now);
		assert_int_equal(run.last.phases.ns[PHASE_OUTSIDE][PART_ITSELF][STATE_BLOCKED],
				 5 * (256 + more) + 1);
		assert_int_equal(run.last.nr_sleeps, 256);
		assert_int_equal(stalls_limited(run.stalls), more);
		assert_int_equal(run.last.incomplete, more ? LACKS_DROPPED : LACKS_NOTHING);
	}
}

/* ---- who had the CPU ---- */

UNIT_TEST(test_runners)
{
	CHECK(start_seen, RUNNERS,
	      { "nobody while it runs or sleeps",
		"leave 1100 state=2 next=8, come 1150 from=8, alloc 1000-1200", "7:1000-1200" },
	      { "preempted", "leave 1100 next=8, come 1150 from=8, alloc 1000-1200",
		"7:1000-1200 8=50" },
	      { "two, most time first",
		"leave 1100 next=8, 8:leave 1120 next=9, come 1150 from=9, alloc 1000-1200",
		"7:1000-1200 9=30 8=20" },
	      { "one of them twice, in two waits",
		"leave 1100 next=8, 8:leave 1120 next=9, come 1150 from=9, leave 1160 next=8, "
		"come 1185 from=8, alloc 1000-1200",
		"7:1000-1200 8=45 9=30" },
	      { "from the wake-up on",
		"leave 1100 state=2 next=8, wake 1130, come 1150 from=8, alloc 1000-1200",
		"7:1000-1200 8=20" },
	      { "on the CPU that it was woken for",
		"3:leave 1010 next=9 cpu=2, leave 1100 state=2 next=8, wake 1130 on=2, "
		"9:leave 1141 next=10 cpu=2, come 1150 from=10 cpu=2, alloc 1000-1200",
		"7:1000-1200 9=11 10=9" },
	      { "a wake-up of one that can run does not move it",
		"3:leave 1010 next=9 cpu=2, leave 1100 next=8, wake 1130 on=2, come 1150 from=8, "
		"alloc 1000-1200",
		"7:1000-1200 8=50" },
	      { "moved to another CPU: those of the one that it waited for",
		"3:leave 1010 next=9 cpu=2, leave 1100 next=8, 8:leave 1110 next=10, "
		"come 1150 from=9 cpu=2, 10:leave 1160 next=8, alloc 1000-1200",
		"7:1000-1200 10=40 8=10" },
	      { "idle: until the wake-up gets there",
		"leave 1100 state=2 next=0, wake 1130, come 1150 from=0, alloc 1000-1200",
		"7:1000-1200 swapper=20" });
	/* The text of these examples has edges of 50 us: a wait may lie across one of the stall. */
	CHECK(start_seen, RUNNERS,
	      { "before the start of the stall",
		"leave 1000000 next=8, 8:leave 1030000 next=9, 9:leave 1050000 next=8, "
		"come 1060000 from=8, alloc 1021000-6000000",
		"7:1021000-6000000 9=20000 8=19000" },
	      { "after its end",
		"leave 1000000 next=8, 8:leave 1930000 next=9, 9:leave 1950000 next=10, "
		"come 1960000 from=10, alloc 900000-1940000",
		"7:900000-1940000 8=930000 9=10000" });
}

UNIT_TEST(test_reclaiming_runners)
{
	CHECK(start_seen, RUNNERS,
	      { "in reclaim, compaction and a memory wait, one in the other",
		"leave 1100 next=8, 8:direct+ 1105, 8:compact+ 1110, 8:compact- 1115, 8:direct- 1120, "
		"8:wait+ 1130 by=swap, 8:wait+ 1133 by=swap, 8:wait- 1135, 8:wait- 1140, "
		"come 1150 from=8, alloc 1000-1200",
		"w8:1130-1140=swap | 7:1000-1200 8=50/25" },
	      { "since before it had the CPU, and until after that",
		"8:direct+ 1050, leave 1100 next=8, 8:leave 1120 next=9, 9:direct- 1125, "
		"9:direct+ 1130, come 1150 from=9, 9:direct- 1160, alloc 1000-1200",
		"7:1000-1200 9=30/20 8=20/20" },
	      { "not by what was lost, nor in an interrupt",
		"8:direct+ 1050, lost 1060 cpu=2, leave 1100 next=8, h:compact+ 1110, h:compact- 1120, "
		"8:direct- 1125, 8:direct+ 1130, 8:direct- 1140, come 1150 from=8, alloc 1070-1200",
		"7:1070-1200 8=50/10" },
	      { "of another CPU it is not",
		"leave 1100 next=8, 9:direct+ 1110 cpu=2, come 1150 from=8, alloc 1000-1200",
		"7:1000-1200 8=50" });
}

UNIT_TEST(test_no_runner)
{
	CHECK(start_seen, RUNNERS,
	      { "a switch to who runs at the end was lost",
		"leave 1100 next=8, 8:leave 1120 next=9, come 1150 from=10, alloc 1000-1200",
		"7:1000-1200 8=20 none=30" },
	      { "a switch in the middle was lost",
		"leave 1100 next=8, 9:leave 1120 next=10, come 1150 from=10, alloc 1000-1200",
		"7:1000-1200 10=30 none=20" },
	      { "records of the CPU were lost, and the same task is there after that",
		"leave 1100 next=8, 8:leave 1120 next=9, lost 1130, come 1150 from=9, "
		"alloc 1000-1200",
		"7:1000-1200? 8=20 none=30" },
	      { "records of another CPU were lost",
		"leave 1100 next=8, lost 1130 cpu=2, come 1150 from=8, alloc 1000-1200",
		"7:1000-1200? 8=50" },
	      { "the CPU had no switch yet",
		"leave 1100 state=2 next=8, wake 1130 on=2, come 1150 from=9 cpu=2, "
		"alloc 1000-1200",
		"7:1000-1200 none=20" },
	      { "nor since the switches were off for a while",
		"3:leave 990 next=9 cpu=2, stop 995, 3:leave 996, leave 1100 state=2 next=8, "
		"wake 1130 on=2, come 1150 from=9 cpu=2, leave 1160 next=8, come 1170 from=8, "
		"alloc 1000-1200",
		"7:1000-1200 8=10 none=20" },
	      { "a CPU that no list has",
		"leave 1100 state=2 next=8, wake 1130 on=99, come 1150 from=8 cpu=99, "
		"leave 1160 next=8 cpu=99, come 1170 from=8 cpu=99, alloc 1000-1200",
		"7:1000-1200 none=30" },
	      { "a switch that does not name who comes",
		"leave 1100 next=98, 98:leave 1120 next=9, come 1150 from=9, alloc 1000-1200",
		"7:1000-1200 9=30 none=20" },
	      { "the states are not known", "stop 900, come 1050, alloc 1000-1200",
		"7:1000-1200" });
}

/*
 * 64 KiB of logs have room for 512 runs, the last of which are that of CPU 2 and of the task itself. The
 * first one of CPU 2 is no more, and another CPU's run is where it was.
 */
UNIT_TEST(test_more_switches_than_runs)
{
	static const int tids[] = { 8, 90, 700 };

	start_with(64 << 10, RUNNERS);
	play("3:leave 1, 3:leave 1090 next=9 cpu=2, leave 1100 next=8");
	for (int i = 1; i <= 600; i++)
		playf("%d:leave %d next=%d", tids[(i - 1) % 3], 1100 + i + i / 3, tids[i % 3]);
	/* 510 runs, three in 4 ns, from 1221 on; the last one from 1900 on. */
	play("10:leave 1905 next=9 cpu=2, come 1950 from=8, alloc 1000-2000");
	assert_string_equal(notes.text, "7:1000-2000 700=340 8=219 90=170 none=121");
}

/* A log drops what is older than ten minutes, unless its task is in a wait, a pair or a stall. */
UNIT_TEST(test_switches_of_half_an_hour)
{
	static const struct {
		const char *first, *end;
		int from, to; /* s */
		enum stall_lack lacks;
	} cases[] = {
		{ "user 100", "user 1800000000500", 1201, 1800, LACKS_NOTHING },
		{ "user 100", "user 1800000000500", 1001, 1800, LACKS_DROPPED },
		{ "slab+ 100", "slab- 1800000000500", 1, 1800, LACKS_NOTHING },
		{ "wait+ 100 by=high", "wait- 1800000000500", 1, 1800, LACKS_NOTHING },
		{ "node 100-300@1", "user 1800000000500", 1, 1800, LACKS_NOTHING },
		{ "user 100", "lost 1800000000400, slab- 1800000000500", 1201, 1800, LACKS_LOST },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		start_seen(NOTHING);
		play(cases[i].first);
		for (int s = 1; s <= 1800; s++)
			playf("off %d000000100-%d000000200", s, s);
		playf("%s, alloc %d000000000-%d000000900", cases[i].end, cases[i].from,
		      cases[i].to);
		assert_int_equal(run.last.end - run.last.start,
				 (cases[i].to - cases[i].from) * SECOND + 900);
		assert_int_equal(run.last.incomplete, cases[i].lacks);
		if (cases[i].lacks != LACKS_DROPPED)
			assert_int_equal(phases_state(&run.last.phases, STATE_WAITED),
					 (cases[i].to - cases[i].from + 1) * 100);
		/* No limit of memory did that. */
		assert_int_equal(stalls_limited(run.stalls), 0);
	}
}

/* So many that not all can be named: those with most time are, and the stall lacks nothing else. */
UNIT_TEST(test_many_runners)
{
	start_seen(NOTHING);
	play("leave 1000 next=101");
	for (int i = 1; i <= 256; i++)
		playf("%d:leave %d next=%d", 100 + i, 1000 + 10 * i + (i == 256), 101 + i);
	play("come 3570 from=357, alloc 900-4000");
	assert_int_equal(run.last.nr_runners, 256);
	/* The last one has 9 ns. */
	assert_int_equal(run.last.no_runner, 9);
	assert_int_equal(run.last.incomplete, LACKS_NOTHING);
	assert_int_equal(stalls_limited(run.stalls), 0);
}

/* ---- random calls that sleep, against what each level of them did ---- */

static uint64_t model[3][PHASE_STATES];
static uint64_t seed;

static uint64_t below(uint64_t limit)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % limit;
}

/* Calls a function at @from, which sleeps, waits and calls others. Returns when it returns. */
static uint64_t call(int depth, uint64_t from)
{
	static const char *const roles[] = { "alloc", "direct", "throttle" };
	uint64_t now = from;

	for (uint64_t i = below(8) + 1; i--;) {
		uint64_t ran = 1 + below(100), slept = 1 + below(200000), waited = 1 + below(50000);

		now += ran;
		model[depth][STATE_RUNNING] += ran;
		switch (below(3)) {
		case 0:
			if (depth < 2)
				now = call(depth + 1, now);
			break;
		case 1:
			playf("off %" PRIu64 "-%" PRIu64 " state=2 woken=%" PRIu64 " in=%" PRIu64,
			      now, now + slept + waited, now + slept, 16 * below(3));
			model[depth][STATE_BLOCKED] += slept;
			model[depth][STATE_WAITED] += waited;
			now += slept + waited;
			break;
		default:
			playf("off %" PRIu64 "-%" PRIu64, now, now + waited);
			model[depth][STATE_WAITED] += waited;
			now += waited;
		}
	}
	now += 100;
	model[depth][STATE_RUNNING] += 100;
	playf("%s %" PRIu64 "-%" PRIu64 "@%d", roles[depth], from, now, depth);
	return now;
}

UNIT_TEST(test_random_calls)
{
	uint64_t now = 10;

	start_seen(NOTHING);
	seed = 1;
	for (uint64_t i = 0; i < 1000; i++) {
		const struct phases *phases = &run.last.phases;

		memset(model, 0, sizeof(model));
		now = call(0, now + 1000);
		assert_int_equal(run.count, i + 1);
		assert_memory_equal(phases->ns[PHASE_OUTSIDE][PART_ITSELF], model[0],
				    sizeof(model[0]));
		assert_memory_equal(phases->ns[PHASE_DIRECT_RECLAIM][PART_ITSELF], model[1],
				    sizeof(model[1]));
		assert_memory_equal(phases->ns[PHASE_DIRECT_RECLAIM][PART_THROTTLED], model[2],
				    sizeof(model[2]));
	}
	assert_int_equal(run.incomplete, 0);
}

UNIT_TEST_MAIN(NULL, end_run)
