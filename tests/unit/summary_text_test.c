// SPDX-License-Identifier: GPL-2.0-or-later
/* The summary as text and as JSON. */
#include "fake_resolver.h"
#include "made_view.h"
#include "output/json.h"
#include "unit_test.h"
#include "written_text.h"

#define MS 1000000ull

#define SCAN 0xc0

static int symbol(void *context, uint64_t address, char style, char *to, size_t size)
{
	if (address == SCAN)
		return snprintf(to, size, "super_cache_scan");
	return snprintf(to, size, "0x%llx", (unsigned long long)address);
}

static struct resolver resolver = { .symbol = symbol };
static struct plan plan = { .threshold = 1000 };
static const char *text;

static int set_up(void **state)
{
	plan = (struct plan){ .threshold = 134000 };
	make_view(&plan, &resolver, 1);
	view.shrinker_names = shrinker_names_new(-1, &resolver);
	view.top = 2;
	return 0;
}

static int set_up_with_waits(void **state)
{
	int ret = set_up(state);

	view.has_waits = true;
	return ret;
}

static int tear_down(void **state)
{
	free_view();
	return 0;
}

static void count_stall(struct stall *stall, const char *name, const char *cgroup, bool background)
{
	struct task_info task_info = { .tid = stall->tid };
	struct named_stall named = { stall, name, &task_info, background, "f", "" };

	stall->gfp_names = "";
	stall->compaction = "";
	snprintf(task_info.cgroup, sizeof(task_info.cgroup), "%s", cgroup);
	summary_stall(view.summary, &named);
}

static void stall(int tid, const char *name, uint64_t ns)
{
	struct stall one = { .tid = tid, .end = ns };
	char cgroup[64];

	snprintf(cgroup, sizeof(cgroup), "/%s", name);
	count_stall(&one, name, cgroup, false);
}

static void wait_of(int tid, const char *name, int role, uint64_t ns, bool is_long)
{
	struct task_info task_info = { .tid = tid };
	const struct stall no_stall = { .tid = tid };
	struct named_stall named = { &no_stall, name, &task_info, false, "f", "" };
	const struct memory_wait wait = {
		.tid = tid,
		.start = MS,
		.end = MS + ns,
		.role = role,
		.is_part = role == ROLE_WAIT,
	};

	snprintf(task_info.cgroup, sizeof(task_info.cgroup), "/%s.service", name);
	summary_wait(view.summary, &named, &wait, is_long);
}

static void window(uint64_t function, uint64_t ns)
{
	summary_window(view.summary, &(struct stall_window){
					     .end = ns,
					     .role = ROLE_NONE,
					     .exit.window.function = function,
				     });
}

static void slab(uint64_t callback, uint64_t ns)
{
	summary_shrinker(view.summary, callback, -1, ns);
}

static void print(bool json)
{
	struct writer *writer = begin_text();

	if (json)
		json_summary(writer, &view);
	else
		summary_text(writer, &view);
	text = end_text(writer);
}

/* Each table is filled with 50 ms, and then one comes with twice 40 ms. */
UNIT_TEST_WITH(test_newcomers, set_up, tear_down)
{
	view.form = SUMMARY_FULL;
	for (int i = 1; i <= SUMMARY_TASKS_MAX; i++)
		stall(i, "once", 50 * MS);
	for (int i = 1; i <= SUMMARY_FUNCTIONS_MAX; i++)
		window(i, 50 * MS);
	for (int i = 1; i <= SHRINKERS_MAX; i++)
		slab(i, 50 * MS);
	print(false);
	assert_null(strstr(text, "more)"));
	for (int i = 0; i < 2; i++) {
		stall(1001, "new", 40 * MS);
		window(0xabc, 40 * MS);
		slab(0xdef, 40 * MS);
	}
	print(false);
	text_has(
		text,
		"\ntask (2 of 128)      stalls      total        p99        max   (ms)\n"
		"  new-1001                2         80         40         40 (up to 50.000 ms more)\n"
		"  once-2                  1         50         50         50\n");
	text_has(text,
		 "\n0xabc: count 2, total 80.000 ms, p50 40.000 ms, p99 40.000 ms, max 40.000 ms "
		 "(up to 50.000 ms more)\n");
	text_has(text, "\n0xdef : total time = 80.000000 ms, max latency = 40.000000 ms "
		       "(up to 50.000 ms more)\n");
	print(true);
	text_has(
		text,
		"{\"tid\":1001,\"name\":\"new\",\"count\":2,\"total_ns\":80000000,\"p50_ns\":40000000,"
		"\"p99_ns\":40000000,\"max_ns\":40000000,\"error_ns\":50000000}");
	text_has(
		text,
		"{\"tid\":2,\"name\":\"once\",\"count\":1,\"total_ns\":50000000,\"p50_ns\":50000000,"
		"\"p99_ns\":50000000,\"max_ns\":50000000,\"error_ns\":0}");
	text_has(text, "\"max_ns\":40000000,\"error_ns\":50000000,\"histogram\":[");
	text_has(text,
		 "{\"name\":\"0xdef\",\"callback\":\"0xdef\",\"count\":2,\"total_ns\":80000000,"
		 "\"max_ns\":40000000,\"error_ns\":50000000,\"superblocks\":[]}");
}

static void shrink_superblock(int number, uint64_t ns)
{
	struct record record = { .kind = RECORD_SUPERBLOCK, .fields.callback = SCAN };
	char name[16];

	snprintf(name, sizeof(name), "d%d", number);
	record.raw = name;
	record.superblock.shrinker = record.fields.shrinker = 64 * (uint64_t)number;
	record.superblock.callback = SCAN;
	record.superblock.device = number;
	record.superblock.name_length = (uint16_t)strlen(name);
	shrinker_names_see(view.shrinker_names, &record);
	summary_shrinker(view.summary, SCAN,
			 shrinker_names_superblock(view.shrinker_names, &record), ns);
}

/* The two of 22 with least time share a line with their own maximum. Another callback has none. */
UNIT_TEST_WITH(test_other_superblocks, set_up, tear_down)
{
	for (int i = 1; i <= 22; i++)
		shrink_superblock(i, (100 - i) * MS);
	slab(0xdef, 30000 * MS);
	print(true);
	text_has(text, "\"total_ns\":30000000000,\"max_ns\":30000000000,\"superblocks\":[]}");
	print(false);
	text_has(text, "\n0xdef : total time = 30000.000000 ms, max latency = 30000.000000 ms\n"
		       "super_cache_scan : ");
	text_has(text, "\n  super_cache_scan[2 others] : total time = 157.000000 ms, max latency = "
		       "79.000000 ms\n");
}

/*
 * There are 10 more than have room. The first one took 150 ms of 151.132 ms and made room, the last
 * one with 100 us is named. Nobody knows which of the others had the longest run.
 */
UNIT_TEST_WITH(test_superblocks_that_made_room, set_up, tear_down)
{
	shrink_superblock(1, 150 * MS);
	for (int i = 2; i < SHRINKER_NAMES_MAX + 10; i++)
		shrink_superblock(i, 1000);
	shrink_superblock(SHRINKER_NAMES_MAX + 10, 100000);
	print(false);
	/* 150 ms and 1032 times 1 us and 100 us; listed are 100 us and 19 times 1 us */
	text_has(text,
		 "\nsuper_cache_scan : total time = 151.132000 ms, max latency = 150.000000 ms\n"
		 "  super_cache_scan[d1034] : total time = 0.100000 ms, max latency = 0.100000 "
		 "ms\n");
	text_has(text, "\n  super_cache_scan[others] : total time = 151.013000 ms, max latency = "
		       "150.000000 ms\n");
	assert_null(strstr(text, "[d1]"));
	/* The longest run is that of one with a line. */
	shrink_superblock(SHRINKER_NAMES_MAX + 10, 2000 * MS);
	print(false);
	text_has(text, "\n  super_cache_scan[others] : total time = 151.013000 ms, max latency = "
		       "151.013000 ms\n");
	print(true);
	text_has(text,
		 "{\"name\":\"super_cache_scan[d1034]\",\"count\":2,\"total_ns\":2000100000,");
	assert_null(strstr(text, "\"super_cache_scan[d1]\""));
}

/* A capture that was tampered with: no others are made up where a superblock has more than its callback. */
UNIT_TEST_WITH(test_superblock_of_two_callbacks, set_up, tear_down)
{
	struct record name = { .kind = RECORD_SUPERBLOCK, .raw = "vda" };
	struct record record = { .fields = { .shrinker = 1, .callback = SCAN } };
	int superblock;

	name.superblock.shrinker = 1;
	name.superblock.callback = SCAN;
	name.superblock.name_length = 3;
	shrinker_names_see(view.shrinker_names, &name);
	superblock = shrinker_names_superblock(view.shrinker_names, &record);
	assert_true(superblock >= 0);
	summary_shrinker(view.summary, 0x10000, superblock, 10 * MS);
	summary_shrinker(view.summary, SCAN, superblock, 10 * MS);
	print(false);
	text_has(
		text,
		"\nsuper_cache_scan : total time = 10.000000 ms, max latency = 10.000000 ms\n"
		"  super_cache_scan[vda] : total time = 20.000000 ms, max latency = 10.000000 ms\n");
	assert_null(strstr(text, "others]"));
}

/*
 * Of five stalls, by hand: 1, 2, 3, 4 and 90 ms; the median is 3 ms, and a percentile is at most an
 * eighth above, in buckets of 2048, 2304, 2560, 2816, 3072 us: the third one ends at 3.072 ms.
 */
UNIT_TEST_WITH(test_short, set_up, tear_down)
{
	struct stall one = { .tid = 7, .start = 2000001000, .end = 2090001000, .order = 3 };
	static const uint64_t times[] = { 4, 1, 3, 2 };

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 59 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 25400000);
	phases_spend(&one.phases, PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 78000);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 5522000);
	count_stall(&one, "big", "/system.slice/a.service", false);
	for (size_t i = 0; i < 4; i++) {
		struct stall small = { .tid = 8, .start = MS, .end = MS + times[i] * MS };

		phases_spend(&small.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING,
			     times[i] * MS);
		count_stall(&small, "small", i % 2 ? "/b/c" : "/d/c", false);
	}
	for (int i = 0; i < 2; i++) {
		struct stall work = { .tid = 9,
				      .end = 5 * MS,
				      .incomplete = i ? LACKS_DROPPED : LACKS_SWITCH };

		count_stall(&work, "kswapd0", "/", true);
	}
	view.top = 10;
	view.since = MS;
	view.ts = 3701 * MS;
	print(false);
	assert_string_equal(
		text,
		"\n"
		"5 stalls of 134 us or more in 3.7 s; waited 100 ms; p50 3.1 ms, p99 90 ms, max 90 ms\n"
		"nothing lost, 2 stalls are incomplete (1: a switch of the task was not recorded, "
		"1: older records were dropped)\n"
		"\n"
		"where it went            ms    %\n"
		"  direct reclaim         84   84   reclaim itself 59, shrinkers 25\n"
		"  outside reclaim        16   16   not explained; record with --off-cpu to split it\n"
		"  compaction           0.08    0\n"
		"\n"
		"cgroup               stalls      total        p99        max   (ms)\n"
		"  a.service               1         90         90         90\n"
		"  /d/c                    2        7.0        4.0        4.0\n"
		"  /b/c                    2        3.0        2.0        2.0\n"
		"task                 stalls      total        p99        max   (ms)\n"
		"  big-7                   1         90         90         90\n"
		"  small-8                 4         10        4.0        4.0\n"
		"\n"
		"worst: 2.000001 big-7 in a.service, 90 ms, order 3\n"
		"  direct reclaim 94 %: reclaim itself 66 %\n"
		"\n"
		"no shrinker ran\n"
		"background: kswapd0 2 runs, 10 ms\n"
		"\n"
		"next: (84 %) Free memory ran out faster than kswapd could free more, so tasks had to "
		"free some.\n"
		"      Raise vm.watermark_scale_factor, limit who uses most memory (MemoryHigh=), or add "
		"memory.\n"
		"next: (16 %) The task ran: it cleared pages, spun on a lock, took interrupts, or its "
		"host was busy.\n"
		"      Use fewer huge pages (transparent_hugepage/enabled), or give the VM more CPU of "
		"its host.\n");
}

static bool pressure_of_a(void *context, const char *cgroup, uint64_t *ret_ns)
{
	*ret_ns = 4321 * MS;
	return !strcmp(cgroup, "/a");
}

/* The kernel's own account stands in the run's table where it is known. */
UNIT_TEST_WITH(test_pressure_of_cgroups, set_up, tear_down)
{
	stall(1, "a", 3 * MS);
	stall(2, "b", 5 * MS);
	print(false);
	assert_null(strstr(text, "PSI"));
	print(true);
	assert_null(strstr(text, "pressure"));
	resolver.pressure = pressure_of_a;
	print(false);
	text_has(
		text,
		"\ncgroup               stalls      total        p99        max        PSI   (ms)\n"
		"  b                       1        5.0        5.0        5.0          -\n"
		"  a                       1        3.0        3.0        3.0       4321\n"
		"task                 stalls      total        p99        max   (ms)\n");
	print(true);
	text_has(text, "\"cgroup\":\"/a\",\"count\":1,\"total_ns\":3000000,\"p50_ns\":3000000,"
		       "\"p99_ns\":3000000,\"max_ns\":3000000,\"error_ns\":0,"
		       "\"pressure_some_ns\":4321000000}");
	text_has(text, "\"cgroup\":\"/b\",\"count\":1,\"total_ns\":5000000,\"p50_ns\":5000000,"
		       "\"p99_ns\":5000000,\"max_ns\":5000000,\"error_ns\":0}");
	text_has(text, "\"name\":\"a\",\"count\":1,\"total_ns\":3000000,\"p50_ns\":3000000,"
		       "\"p99_ns\":3000000,\"max_ns\":3000000,\"error_ns\":0}");
	view.is_interval = true;
	print(false);
	assert_null(strstr(text, "PSI"));
	resolver.pressure = NULL;
}

/* A third each: one of them has the 1 % that is left. */
UNIT_TEST_WITH(test_percentages, set_up, tear_down)
{
	struct stall one = { .tid = 1, .end = 3 * MS };

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, MS);
	phases_spend(&one.phases, PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, MS);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, MS);
	count_stall(&one, "a", "", false);
	print(false);
	text_has(
		text,
		"\n  direct reclaim        1.0   34   reclaim itself 1.0\n"
		"  compaction            1.0   33\n"
		"  outside reclaim       1.0   33   not explained; record with --off-cpu to split it\n");
	/* The columns keep apart from the longest title. */
	phases_spend(&one.phases, PHASE_DRAIN, PART_ITSELF, STATE_RUNNING, MS);
	one.end = 4 * MS;
	one.tid = -1; /* a capture that was tampered with */
	count_stall(&one, "a", "", false);
	print(true);
	text_has(text, "{\"tid\":-1,\"name\":\"a\",");
	print(false);
	text_has(text, "\n  a--1 ");
	text_has(text, "\nwhere it went                  ms    %\n"
		       "  direct reclaim              2.0   29   reclaim itself 2.0\n");
	text_has(text, "\n  draining per-CPU lists      1.0   14\n");
}

/* Stalls before the first switch, or after the last that was recorded, have unknown states. */
UNIT_TEST_WITH(test_states, set_up, tear_down)
{
	struct stall seen = { .tid = 1, .end = 4 * MS, .off_cpu = true };
	struct stall unseen = { .tid = 2, .end = 6 * MS };

	view.has_sched = true;
	view.sched = (struct sched_counts){ 3, 4 };
	phases_spend(&seen.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, MS);
	phases_spend(&seen.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_OFF, 3 * MS);
	phases_spend(&unseen.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_UNKNOWN, 6 * MS);
	count_stall(&seen, "a", "", false);
	count_stall(&unseen, "b", "", false);
	print(false);
	text_has(
		text,
		"\n  outside reclaim        10  100   unknown 6.0, off the CPU 3.0, running 1.0\n");
}

/* Tasks may wait for years together. Sums stop at 2^64 ns, and nothing is divided by 0. */
UNIT_TEST_WITH(test_sums_of_years, set_up, tear_down)
{
	const uint64_t year = 365ull * 86400 * 1000 * MS;
	struct stall one = { .tid = 1, .end = 8 * year };

	phases_spend(&one.phases, PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 6 * year);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 2 * year);
	count_stall(&one, "a", "", false);
	print(false);
	text_has(text, "\n  compaction      189216000000   75\n"
		       "  outside reclaim 63072000000   25 ");
	one = (struct stall){ .tid = 1, .end = 1ull << 63 };
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 1ull << 63);
	for (int i = 0; i < 3; i++)
		count_stall(&one, "a", "", false);
	print(false);
	text_has(text, "waited 18446744073710 ms;");
	text_has(text, "\n  outside reclaim 18446744073710  100 ");
	text_has(text, "\n  compaction      189216000000    1\n");
}

static void fill_view(void)
{
	for (int i = 1; i <= 128; i++) {
		struct stall one = {
			.tid = i,
			.end = PHASE_GROUPS * MS,
			.incomplete = i % STALL_LACKS,
		};
		char name[16], cgroup[64];

		for (int group = 0; group < PHASE_GROUPS; group++)
			phases_spend(&one.phases, group, PART_ITSELF, STATE_RUNNING, MS);
		snprintf(name, sizeof(name), "task%d", i);
		snprintf(cgroup, sizeof(cgroup), "/cgroup%d.service", i);
		count_stall(&one, name, cgroup, i > 96);
	}
	for (int role = 0; role < ROLE_COUNT; role++)
		if ((catalog_roles[role].waits_in[0] || role == ROLE_WAIT) &&
		    role != ROLE_REFAULT_READ)
			wait_of(1, "task1", role, MS, false);
	view.top = 128;
	view.pressure_before.known = view.pressure_after.known = true;
	view.has_sched = true;
	view.sched.switches = 1;
}

/* With all that there can be but shrinkers, whatever --top says. */
UNIT_TEST_WITH(test_forty_lines, set_up_with_waits, tear_down)
{
	int lines = 0;

	fill_view();
	print(false);
	text_has(text, "\ncgroup (5 of 64) ");
	text_has(text, "\ntask (5 of 96) ");
	text_has(text, "; 27 more\n");
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	/* beside those of the shrinkers */
	text_has(text, "\n\nno shrinker ran\n");
	assert_in_range(lines - 2, 35, 40);
	view.form = SUMMARY_FULL;
	print(false);
	text_has(text, "\ntask                 stalls ");
	text_has(text, "\nkernel thread        stalls ");
	text_has(text, "\n  task96-96 ");
	text_has(text, "\n  task128-128 ");
	text_has(text, "\nmost explained stall:\n");
	text_has(text, "\nwhere the time of kernel threads went: ");
	view.form = SUMMARY_NONE;
	print(false);
	assert_string_equal(text, "");
}

static void second_line_is(const char *expected)
{
	char line[256];

	print(false);
	assert_int_equal(sscanf(strchr(text + 1, '\n'), "\n%255[^\n]", line), 1);
	assert_string_equal(line, expected);
}

UNIT_TEST_WITH(test_losses, set_up, tear_down)
{
	struct stall one = { .tid = 1, .end = MS, .incomplete = LACKS_LOST };
	const struct overflow overflows[] = {
		{ .text = "tasks were left out", .count = 0 },
		{ .text = "stalls lack details", .count = 3 },
	};

	second_line_is("nothing lost, 0 incomplete");
	lose(0, 1);
	second_line_is("1 event was lost, 0 incomplete");
	count_stall(&one, "a", "", false);
	second_line_is("1 stall is incomplete: 1 event was lost");
	lose(0, RECORD_LOST_UNKNOWN);
	lose(0, 11);
	count_stall(&one, "a", "", true);
	second_line_is("2 stalls are incomplete: at least 12 events were lost");
	memcpy(view.overflows, overflows, sizeof(overflows));
	view.nr_overflows = COUNT(overflows);
	view.journal.held_back = 5;
	second_line_is("2 stalls are incomplete: at least 12 events were lost; "
		       "3 stalls lack details; 5 stalls have no entry of their own in the journal");
	view.lost = 0;
	view.nr_overflows = 0;
	view.journal.held_back = 0;
	second_line_is("2 stalls are incomplete: events were lost");
}

/* An interval has the counts since it began. */
UNIT_TEST_WITH(test_since, set_up, tear_down)
{
	struct summary_view before;

	view.report = MS;
	view.since = MS;
	view.ts = 2 * MS;
	view.nr_overflows = 1;
	view.overflows[0] = (struct overflow){ "names", "names are missing", 7 };
	view.not_shown.shorter = view.not_shown.others = 4;
	view.has_sched = true;
	view.sched = (struct sched_counts){ .switches = 100, .wakeups = 50 };
	lose(0, 5);
	lose(0, RECORD_LOST_UNKNOWN);
	before = view;
	summary_view_since(&view, &before);
	second_line_is(
		"nothing lost, 0 incomplete; --off-cpu recorded 0 switches and 0 wake-ups of tasks");
	view = before;
	lose(0, 11);
	view.ts = 9 * MS;
	view.overflows[0].count = 9;
	view.not_shown.others = 5;
	view.sched.switches = 101;
	summary_view_since(&view, &before);
	second_line_is(
		"11 events were lost, 0 incomplete; 2 names are missing; 1 other stall is not shown; "
		"--off-cpu recorded 1 switch and 0 wake-ups of tasks");
	text_has(text, "no stall of 1 ms or more in 7.0 ms\n");
}

UNIT_TEST_WITH(test_psi, set_up, tear_down)
{
	view.since = MS;
	view.ts = 10001 * MS;
	view.pressure_before = (struct memory_pressure){ true, 1205, 0, 5000000, 700000 };
	view.pressure_after = (struct memory_pressure){ true, 4010, 3009, 6234567, 700999 };
	print(false);
	/* 1,234,567 us of 10 s */
	text_has(text,
		 "\nnothing lost, 0 incomplete\n"
		 "memory pressure by the kernel's own count (PSI): 1.2 s of 10.0 s, 12 %\n\n");
	print(true);
	text_has(text, ",\"pressure\":{\"before\":{\"some_avg10\":12.05,\"full_avg10\":0.00,"
		       "\"some_total_ns\":5000000000,\"full_total_ns\":700000000},"
		       "\"after\":{\"some_avg10\":40.10,\"full_avg10\":30.09,"
		       "\"some_total_ns\":6234567000,\"full_total_ns\":700999000}},");
	view.pressure_after.known = false;
	print(false);
	assert_null(strstr(text, "PSI"));
	print(true);
	assert_null(strstr(text, "\"pressure\""));
	/* of a capture that somebody made up */
	view.pressure_after.known = true;
	view.pressure_after.some = 4999999;
	print(false);
	assert_null(strstr(text, "PSI"));
}

/*
 * By hand: 3 refaults of 2.5 ms in all, of which one of 1.5 ms is long; 1 wait of 4 ms; 6.5 ms in all,
 * 5.5 of them in 2 long ones.
 */
UNIT_TEST_WITH(test_pressure, set_up_with_waits, tear_down)
{
	struct stall one = { .tid = 7, .end = 6 * MS };

	view.report = 1500000;
	print(false);
	text_has(text, "\nnothing lost, 0 incomplete\nno memory wait\n\nno shrinker ran\n");
	count_stall(&one, "a", "/a.service", false);
	wait_of(7, "a", ROLE_REFAULT, 1500000, true);
	wait_of(8, "b", ROLE_REFAULT, 400000, false);
	wait_of(8, "b", ROLE_REFAULT, 600000, false);
	wait_of(7, "a", ROLE_MEMORY_HIGH, 4000000, true);
	view.since = MS;
	view.ts = 10001 * MS;
	view.pressure_before = (struct memory_pressure){ true, 0, 0, 5000000, 700000 };
	view.pressure_after = (struct memory_pressure){ true, 0, 0, 5007000, 700000 };
	print(false);
	text_has(
		text,
		"\nmemory pressure by the kernel's own count (PSI): 7.0 ms of 10.0 s, 0 %; 5.5 ms in 2 "
		"memory waits of 1500 us or more, 1.0 ms in 2 shorter ones\n\n"
		"memory waits             ms   number   short (ms)   number\n"
		"  memory.high           4.0        1            0        0\n"
		"  refault               2.5        3          1.0        2\n"
		"\n"
		"cgroup               stalls      total        p99        max      waits   (ms)\n"
		"  a.service               1        6.0        6.0        6.0        5.5\n"
		"  b.service               0          0          0          0        1.0\n"
		"task                 stalls      total        p99        max      waits   (ms)\n"
		"  a-7                     1        6.0        6.0        6.0        5.5\n"
		"  b-8                     0          0          0          0        1.0\n");
	view.pressure_after.known = false;
	print(false);
	text_has(text, "\n5.5 ms in 2 memory waits of 1500 us or more, 1.0 ms in 2 shorter ones\n");
}

/* As test_pressure, with 1 wait of 100 us that was in progress; none of the 5 sums is another one's. */
UNIT_TEST_WITH(test_waits_in_json, set_up_with_waits, tear_down)
{
	static const char of_a[] =
		"\"memory_waits\":{\"count\":3,\"total_ns\":5600000,\"long_count\":2,\"long_ns\":5500000,"
		"\"in_progress\":1,\"reasons\":["
		"{\"reason\":\"memory_high\",\"count\":1,\"total_ns\":4000000,\"long_count\":1,"
		"\"long_ns\":4000000},"
		"{\"reason\":\"refault\",\"count\":1,\"total_ns\":1500000,\"long_count\":1,"
		"\"long_ns\":1500000},"
		"{\"reason\":\"memory_wait\",\"count\":1,\"total_ns\":100000,\"long_count\":0,"
		"\"long_ns\":0}]}}";
	static const char of_b[] =
		"\"memory_waits\":{\"count\":2,\"total_ns\":1000000,\"long_count\":0,\"long_ns\":0,"
		"\"reasons\":[{\"reason\":\"refault\",\"count\":2,\"total_ns\":1000000,"
		"\"long_count\":0,\"long_ns\":0}]}}";
	static const char none[] = "\"phases\":{},\"memory_waits\":{\"count\":0,\"total_ns\":0,"
				   "\"long_count\":0,\"long_ns\":0,\"reasons\":[]}}";
	char expected[2048];

	wait_of(7, "a", ROLE_REFAULT, 1500000, true);
	wait_of(8, "b", ROLE_REFAULT, 400000, false);
	wait_of(8, "b", ROLE_REFAULT, 600000, false);
	wait_of(7, "a", ROLE_MEMORY_HIGH, 4000000, true);
	wait_of(7, "a", ROLE_WAIT, 100000, false);
	print(true);
	text_has(text, ",\"memory_waits\":{\"count\":5,\"total_ns\":6600000,\"long_count\":2,"
		       "\"long_ns\":5500000,\"in_progress\":1,\"reasons\":[");
	text_has(text, "{\"reason\":\"refault\",\"count\":3,\"total_ns\":2500000,\"long_count\":1,"
		       "\"long_ns\":1500000}");
	snprintf(expected, sizeof(expected), "\"background\":{%s",
		 "\"count\":0,\"total_ns\":0,\"p50_ns\":0,\"p99_ns\":0,\"max_ns\":0,");
	text_has(text, expected);
	text_has(strstr(text, expected), none);
	for (int which = 0; which < 2; which++) {
		const char *kind = which ? "\"cgroups\":[" : "\"tasks\":[";
		const char *at = strstr(text, kind);

		assert_non_null(at);
		snprintf(expected, sizeof(expected), "\"error_ns\":0,%s,{", of_b);
		text_has(at, expected);
		snprintf(expected, sizeof(expected), "\"error_ns\":0,%s]", of_a);
		text_has(at, expected);
	}
	print(false);
	text_has(text, "; of 1 only a part is in the run\n");
	/* They were not recorded. */
	view.has_waits = false;
	print(true);
	assert_null(strstr(text, "memory_waits"));
	print(false);
	assert_null(strstr(text, "memory waits  "));
}

/* Before the first record nothing is known of the time. */
UNIT_TEST_WITH(test_no_stall, set_up, tear_down)
{
	static const pid_t one[] = { 812, 0 }, two[] = { 812, 977, 0 };
	static char comm[] = "a\033*", cgroup[] = "/b";
	static const struct {
		uint64_t report;
		const pid_t *pids;
		uint64_t since, ts;
		const char *text;
		struct options options;
	} cases[] = {
		{ 134000, NULL, 0, 0, "no stall of 134 us or more" },
		{ 10 * MS, NULL, 5 * MS, 5 * MS, "no stall of 10 ms or more" },
		{ 1500000, NULL, 1000 * MS, 4700 * MS, "no stall of 1500 us or more in 3.7 s" },
		{ 2000 * MS, one, MS, 3 * MS, "no stall of process 812 of 2 s or more in 2.0 ms" },
		{ 5000, two, 0, 0, "no stall of these 2 processes of 5 us or more" },
		{ 5000,
		  NULL,
		  0,
		  0,
		  "no stall of threads named 'a\\x1b*', of cgroup '/b', of order 3 or more, of 5 us or more",
		  { .comm = comm, .cgroup = cgroup, .min_order = 3 } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char expected[256];

		view.report = cases[i].report;
		view.pids = cases[i].pids;
		view.options = &cases[i].options;
		view.since = cases[i].since;
		view.ts = cases[i].ts;
		snprintf(expected, sizeof(expected),
			 "\n%s\nnothing lost, 0 incomplete\n\nno shrinker ran\n", cases[i].text);
		print(false);
		assert_string_equal(text, expected);
	}
}

/* By hand, of 1000 ms: one part of 1 %, one below, and largest ones that would be 140 columns wide. */
UNIT_TEST_WITH(test_parts, set_up, tear_down)
{
	struct stall one = { .tid = 1, .end = 1000 * MS };

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKER_LOOKUP, STATE_RUNNING,
		     302 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHORT_SCANS, STATE_RUNNING, 201 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_THROTTLED, STATE_RUNNING, 120 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_INACTIVE_LIST, STATE_RUNNING,
		     110 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ACTIVE_LIST, STATE_RUNNING, 100 * MS);
	phases_spend(&one.phases, PHASE_MEMCG_RECLAIM, PART_ITSELF, STATE_RUNNING, 10 * MS);
	phases_spend(&one.phases, PHASE_MEMCG_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 9999999);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, 140 * MS);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 7000001);
	count_stall(&one, "a", "", false);
	view.has_sched = true;
	view.sched = (struct sched_counts){ .switches = 7, .wakeups = 3 };
	print(false);
	text_has(text, "\n  direct reclaim        833   83   shrinker lookup and locks 302, "
		       "short list scans 201\n"
		       "  outside reclaim       147   15   waiting for a CPU 140\n"
		       "  memcg reclaim          20    2   reclaim itself 10\n");
	second_line_is("nothing lost, 0 incomplete; "
		       "--off-cpu recorded 7 switches and 3 wake-ups of tasks");
}

UNIT_TEST_WITH(test_not_shown, set_up, tear_down)
{
	view.not_shown.shorter = 1;
	second_line_is("nothing lost, 0 incomplete; 1 shorter stall is not shown");
	view.not_shown.shorter = 120;
	second_line_is("nothing lost, 0 incomplete; 120 shorter stalls are not shown");
	view.not_shown.others = 7;
	second_line_is("nothing lost, 0 incomplete; 120 shorter stalls are not shown; "
		       "7 other stalls are not shown");
	view.report = 10 * MS;
	print(true);
	text_has(text, ",\"report_ns\":10000000,\"not_shown\":{\"shorter\":120,\"others\":7},");
}

/* With an argument it prints a summary with each phase, reason and lack, for tests/replay/summary.test. */
int main(int argc, char **argv)
{
	static const char *const tables[] = { "cpus",	     "names", "stalls", "stacks",
					      "superblocks", "units", "summary" };

	if (argc == 1)
		return unit_tests_run(NULL, NULL);
	if (set_up_with_waits(NULL))
		return 1;
	fill_view();
	for (; view.nr_overflows < COUNT(tables); view.nr_overflows++)
		view.overflows[view.nr_overflows].key = tables[view.nr_overflows];
	view.so_far = true;
	print(true);
	fputs(text, stdout);
	return tear_down(NULL);
}
