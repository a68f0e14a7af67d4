// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>

#include "allocfilt/output/metrics.h"
#include "config/keys.h"
#include "fake_resolver.h"
#include "made_named.h"
#include "made_view.h"
#include "test_directory.h"
#include "unit_test.h"
#include "written_text.h"

#define SECOND	    1000000000ull
#define SCAN	    0xb1
#define EXT4_SCAN   0xb2
#define EXT4_SCAN_2 0xb3
#define NAMED_SCAN  0x10000 /* and more */
#define UNKNOWN	    0xffffffff81234567
#define TMPFS_22    "{superblock=\"tmpfs\",device=\"0:22\",mountpoint=\"/a\\\"b\\\\134c\"}"

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	assert_int_equal(style, 's');
	switch (address) {
	case SCAN:
		return snprintf(text, size, "super_cache_scan");
	case EXT4_SCAN:
	case EXT4_SCAN_2:
		return snprintf(text, size, "ext4_es_scan [ext4]");
	default:
		if (address - NAMED_SCAN < SHRINKERS_MAX)
			return snprintf(text, size, "scan_%d", (int)(address - NAMED_SCAN));
		return snprintf(text, size, "0x%llx", (unsigned long long)address);
	}
}

static struct resolver resolver = { .symbol = symbol };

static struct plan plan = { .threshold = 10000 };

static const char *text;

static int set_up(void **state)
{
	static char alloc[] = "__alloc_pages", swap[] = "do_swap_page";
	int ret = make_test_directory(state);

	put_text("mountinfo", "28 1 0:22 / /a\"b\\134c rw - tmpfs tmpfs rw\n");
	plan.functions[0] = (struct plan_function){ alloc, ROLE_PAGE_ALLOCATION };
	plan.functions[1] = (struct plan_function){ swap, ROLE_NONE };
	plan.nr_functions = 2;
	make_view(&plan, &resolver, 2);
	view.shrinker_names = shrinker_names_new(
		file_open(test_directory, "mountinfo", FILE_TEXT_MAX), &resolver);
	return ret;
}

static int tear_down(void **state)
{
	free_view();
	return remove_test_directory(state);
}

static void print(const struct metrics_process *process)
{
	struct writer *writer = begin_text();

	assert_int_equal(metrics_text(writer, &view, process), 0);
	text = end_text(writer);
}

static void shows(const struct metrics_process *process, const char *line)
{
	print(process);
	text_has(text, line);
}

static void stall_in_state(const char *cgroup, int role, uint64_t ns, enum phase_group group,
			   enum phase_state state)
{
	struct stall one = {
		.start = 1000,
		.end = 1000 + ns,
		.role = role,
		.incomplete = role == ROLE_DIRECT_RECLAIM,
	};
	struct made_named made;

	phases_spend(&one.phases, group, PART_SHRINKER_LOOKUP, state, ns);
	make_named(&made, &one, "", cgroup)->background = role == ROLE_NODE;
	summary_stall(view.summary, &made.named);
	if (!made.named.background)
		units_stall(view.units, &made.named);
	if (one.end > view.ts)
		view.ts = one.end;
}

static void stall_of(const char *cgroup, int role, uint64_t ns, enum phase_group group)
{
	stall_in_state(cgroup, role, ns, group, STATE_RUNNING);
}

static void stall(int role, uint64_t ns, enum phase_group group)
{
	stall_of("/system.slice/a.service", role, ns, group);
}

static void wait_of(const char *cgroup, int role, uint64_t end, uint64_t ns)
{
	const struct memory_wait wait = { .start = end - ns, .end = end, .role = role };
	struct made_named made;

	make_named(&made, &(struct stall){ .order = -1 }, "", cgroup);
	units_wait(view.units, &made.named, &wait, ns >= plan.threshold);
}

static void superblock(uint64_t shrinker, const char *name, uint32_t minor)
{
	struct record record = { .kind = RECORD_SUPERBLOCK, .raw = name };

	record.superblock.shrinker = shrinker;
	record.superblock.callback = SCAN;
	record.superblock.device = minor;
	record.superblock.name_length = strlen(name);
	shrinker_names_see(view.shrinker_names, &record);
}

static void slab(uint64_t callback, uint64_t shrinker, uint64_t ns)
{
	struct record record = { .fields = { .shrinker = shrinker, .callback = callback } };

	summary_shrinker(view.summary, callback,
			 shrinker_names_superblock(view.shrinker_names, &record), ns);
}

/*
 * One of tmpfs 0:22 goes, and comes back elsewhere: the same series. Shrinker 3 has no name. Two
 * callbacks have the same.
 */
static void fill_shrinkers(void)
{
	superblock(1, "tmpfs", 22);
	slab(SCAN, 1, 1500);
	superblock(1, "tmpfs", 23);
	slab(SCAN, 1, 800);
	superblock(2, "tmpfs", 22);
	slab(SCAN, 2, 1000);
	slab(SCAN, 3, 300);
	slab(EXT4_SCAN, 4, 250);
	slab(EXT4_SCAN_2, 5, 100);
}

/* A text in which each family has samples. */
static void print_all(void)
{
	static const struct overflow overflows[] = { { "tasks", "", 5 }, { "summary", "", 0 } };
	const struct metrics_process process = {
		.tracing = true,
		.uptime = 86400 * SECOND + SECOND / 2,
		.resident = 16 << 20,
		.cpu = SECOND + SECOND / 4,
	};
	struct made_named made;

	make_named(&made, &(struct stall){ .end = 5000 }, "sh", "/agent")->background = true;
	made.named.on_purpose = true;
	summary_stall(view.summary, &made.named);
	memcpy(view.overflows, overflows, sizeof(overflows));
	view.nr_overflows = 2;
	view.journal.held_back = 31;
	view.cost.records = 77;
	view.cost.events_off = 3;
	view.journal.dropped = 2;
	stall(ROLE_PAGE_ALLOCATION, 16000, PHASE_DIRECT_RECLAIM);
	stall(ROLE_PAGE_ALLOCATION, 16001, PHASE_DIRECT_RECLAIM);
	stall(ROLE_DIRECT_RECLAIM, 100 * SECOND, PHASE_DIRECT_RECLAIM);
	stall_of("/b\"c", ROLE_PAGE_ALLOCATION, 2 * SECOND, PHASE_OUTSIDE);
	stall(ROLE_NODE, 1024000, PHASE_DIRECT_RECLAIM);
	/* two roles of one key, and none */
	stall_of("", ROLE_INACTIVE_LIST, 20000, PHASE_DIRECT_RECLAIM);
	stall_of("", ROLE_GENERATIONS, 30000, PHASE_DIRECT_RECLAIM);
	stall_of("", ROLE_NONE, 40000, PHASE_OUTSIDE);
	wait_of("/system.slice/a.service", ROLE_REFAULT, SECOND, 1500);
	wait_of("/system.slice/a.service", ROLE_REFAULT, 2 * SECOND, SECOND);
	wait_of("/system.slice/a.service", ROLE_SWAP_IN, SECOND, 250);
	wait_of("", ROLE_WAIT, SECOND, 40);
	wait_of("/system.slice/a.service", ROLE_OOM_KILLER, SECOND, 0);
	wait_of("/system.slice/a.service", ROLE_OOM_KILLER, 2 * SECOND, 0);
	wait_of("", ROLE_OOM_KILLER, SECOND, 0);
	view.ts = 1000 + 100 * SECOND + 60 * SECOND;
	fill_shrinkers();
	lose(1, 12);
	lose(0, RECORD_LOST_UNKNOWN);
	lose(0, RECORD_LOST_UNKNOWN);
	print(&process);
}

#define TEST(name) UNIT_TEST_WITH(name, set_up, tear_down)

/* Numbers added up by hand. tests/replay/metrics.pl checks the format and every family. */
TEST(test_numbers)
{
	static const char *const samples[] = {
		/* an edge belongs to its bucket, and what is over the last edge is in +Inf alone */
		"stall_duration_seconds_bucket{le=\"0.000016\"} 1",
		"stall_duration_seconds_bucket{le=\"0.000032\"} 4",
		"stall_duration_seconds_bucket{le=\"1.048576\"} 5",
		"stall_duration_seconds_bucket{le=\"2.097152\"} 6",
		"stall_duration_seconds_bucket{le=\"67.108864\"} 6",
		"stall_duration_seconds_bucket{le=\"+Inf\"} 7",
		"stall_duration_seconds_sum 102.000122001",
		"stall_duration_seconds_count 7",
		"background_duration_seconds_bucket{le=\"0.000512\"} 0",
		"background_duration_seconds_bucket{le=\"0.001024\"} 1",
		"background_duration_seconds_count 1",
		"on_purpose_seconds_total 0.000005",
		"function_info{role=\"page_allocation\",function=\"__alloc_pages\"} 1",
		"function_info{role=\"other\",function=\"do_swap_page\"} 1",
		"stalls_total{unit=\"a.service\"} 3",
		"stall_seconds_total{unit=\"a.service\",cause=\"direct_reclaim\"} 100.000032001",
		"stalls_total{unit=\"/b\\\"c\"} 1",
		"stall_seconds_total{unit=\"/b\\\"c\",cause=\"outside\"} 2",
		"stalls_total{unit=\"none\"} 3",
		"stall_seconds_total{unit=\"none\",cause=\"outside\"} 0.00004",
		"stall_recent_max_seconds{unit=\"a.service\"} 100",
		"stall_recent_max_seconds{unit=\"/b\\\"c\"} 2",
		"memory_waits_total{unit=\"a.service\"} 3",
		"memory_wait_seconds_total{unit=\"a.service\",reason=\"refault\"} 1.0000015",
		"memory_wait_seconds_total{unit=\"a.service\",reason=\"swap_in\"} 0.00000025",
		"memory_waits_total{unit=\"none\"} 1",
		"memory_wait_seconds_total{unit=\"none\",reason=\"memory_wait\"} 0.00000004",
		"oom_kills_total{unit=\"a.service\"} 2",
		"oom_kills_total{unit=\"none\"} 1",
		"incomplete_stalls_total 1",
		"phase_seconds_total{group=\"direct_reclaim\",part=\"itself\"} 0",
		"phase_seconds_total{group=\"direct_reclaim\",part=\"shrinker_lookup\"} 100.000082001",
		"phase_seconds_total{group=\"outside\",part=\"itself\"} 2.00004",
		"background_phase_seconds_total{group=\"direct_reclaim\"} 0.001024",
		"shrinker_seconds_total{shrinker=\"super_cache_scan\"} 0.0000036",
		"shrinker_seconds_total{shrinker=\"ext4_es_scan [ext4]\"} 0.00000035",
		"shrinker_runs_total{shrinker=\"ext4_es_scan [ext4]\"} 2",
		"shrinker_max_seconds{shrinker=\"ext4_es_scan [ext4]\"} 0.00000025",
		"superblock_shrink_seconds_total" TMPFS_22 " 0.0000025",
		"superblock_shrink_max_seconds" TMPFS_22 " 0.0000015",
		"superblock_shrink_runs_total{superblock=\"tmpfs\",device=\"0:23\"} 1",
		"lost_records_total 12",
		"unknown_losses_total 2",
		"table_overflows_total{table=\"tasks\"} 5",
		"table_overflows_total{table=\"summary\"} 0",
		"journal_entries_held_back_total 31",
		"journal_entries_dropped_total 2",
		"tracing_active 1",
		"uptime_seconds 86400.5",
		"process_cpu_seconds_total 1.25",
		"records_total 77",
		"events_switched_off 3",
		"process_resident_memory_bytes 16777216",
	};
	char line[256];

	print_all();
	for (size_t i = 0; i < COUNT(samples); i++) {
		snprintf(line, sizeof(line), "\nallocfilt_%s\n", samples[i]);
		text_has(text, line);
	}
	/* what has no stall has no series */
	assert_null(strstr(text, "unit=\"other\""));
	assert_null(strstr(text, "cause=\"compaction\""));
	assert_int_equal(count_in(text, "_memory_waits_total{"), 2);
	assert_int_equal(count_in(text, "_memory_wait_seconds_total{"), 3);
	assert_int_equal(count_in(text, "_runs_total{shrinker=\"ext4_es_scan [ext4]\"}"), 1);
}

/* All without a symbol are one series. */
TEST(test_unknown_shrinkers)
{
	slab(UNKNOWN, 1, 500);
	slab(UNKNOWN + 1, 2, 700);
	slab(SCAN, 0xffff888012345678, 500);
	print(NULL);
	/* everybody may read the file, so it has no address */
	assert_null(strstr(text, "0x"));
	assert_null(strstr(text, "ffff"));
	assert_int_equal(count_in(text, "\nallocfilt_superblock_shrink_runs_total{"), 0);
	text_has(text, "\nallocfilt_shrinker_runs_total{shrinker=\"unknown\"} 2\n");
	assert_int_equal(count_in(text, "_runs_total{shrinker=\"unknown\"}"), 1);
	text_has(text, "\nallocfilt_shrinker_seconds_total{shrinker=\"unknown\"} 0.0000012\n");
	text_has(text, "\nallocfilt_shrinker_max_seconds{shrinker=\"unknown\"} 0.0000007\n");
}

/* Over a capture there is no process to speak of. */
TEST(test_what_is_left_out)
{
	struct metrics_process process = { .uptime = 1 };

	print(NULL);
	assert_null(strstr(text, "_process_"));
	assert_null(strstr(text, "uptime"));
	assert_null(strstr(text, "superblock="));
	print(&process);
	assert_null(strstr(text, "resident"));
	text_has(text, "\nallocfilt_tracing_active 0\n");
}

static void set_places(unsigned int places)
{
	units_free(view.units);
	view.units = units_new(places);
	assert_non_null(view.units);
}

/* Units without a place: nothing is missing from the sums. */
TEST(test_other_units)
{
	set_places(1);
	stall_of("/a.service", ROLE_DRAIN, 20000, PHASE_DRAIN);
	stall_of("/b.service", ROLE_DRAIN, 30000, PHASE_DRAIN);
	stall_of("/c.service", ROLE_DRAIN, 50000, PHASE_DRAIN);
	print(NULL);
	text_has(text, "_stalls_total{unit=\"a.service\"} 1\n");
	text_has(text, "_stalls_total{unit=\"other\"} 2\n");
	text_has(text, "_stall_seconds_total{unit=\"other\",cause=\"drain\"} 0.00008\n");
	text_has(text, "_stall_recent_max_seconds{unit=\"other\"} 0.00005\n");
}

/* The first minute of a series, so that its increase tells of its first stalls, too. */
TEST(test_first_minute)
{
	struct metrics_process process = { .tracing = true };

	stall_of("/a.service", ROLE_DRAIN, 20000, PHASE_DRAIN);
	print(&process);
	text_has(text, "_stalls_total{unit=\"a.service\"} 0\n");
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"drain\"} 0\n");
	text_has(text, "_stall_recent_max_seconds{unit=\"a.service\"} 0.00002\n");
	view.ts += 60 * SECOND - 1;
	stall_of("/a.service", ROLE_DRAIN, 20000, PHASE_DRAIN);
	stall_of("/a.service", ROLE_DRAIN, 20000, PHASE_OUTSIDE);
	print(&process);
	text_has(text, "_stalls_total{unit=\"a.service\"} 0\n");
	view.ts++;
	print(&process);
	text_has(text, "_stalls_total{unit=\"a.service\"} 3\n");
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"drain\"} 0.00004\n");
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"outside\"} 0\n");
	/* it is not 0 again while somebody else is tracing, and a new one still is */
	process.tracing = false;
	print(&process);
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"drain\"} 0.00004\n");
	stall_of("/b.service", ROLE_DRAIN, 20000, PHASE_DRAIN);
	view.ts = 21000;
	print(&process);
	text_has(text, "_stalls_total{unit=\"b.service\"} 0\n");
	/* the last text of a run, and that of a capture, have all */
	process.last = true;
	print(&process);
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"outside\"} 0.00002\n");
	print(NULL);
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"outside\"} 0.00002\n");
}

/* The same for memory waits; what is short for a stall is no stall of its unit. */
TEST(test_first_minute_of_waits)
{
	struct metrics_process process = { .tracing = true };

	wait_of("/a.service", ROLE_REFAULT, SECOND, 3000);
	wait_of("/a.service", ROLE_MEMORY_HIGH, 31 * SECOND, 4000);
	wait_of("/a.service", ROLE_OOM_KILLER, SECOND, 0);
	view.ts = 61 * SECOND - 1;
	print(&process);
	text_has(text, "_memory_waits_total{unit=\"a.service\"} 0\n");
	text_has(text, "_oom_kills_total{unit=\"a.service\"} 0\n");
	text_has(text, "_memory_wait_seconds_total{unit=\"a.service\",reason=\"refault\"} 0\n");
	assert_null(strstr(text, "_stalls_total{unit="));
	assert_null(strstr(text, "_stall_recent_max_seconds{"));
	view.ts++;
	print(&process);
	text_has(text, "_memory_waits_total{unit=\"a.service\"} 2\n");
	text_has(text, "_oom_kills_total{unit=\"a.service\"} 1\n");
	text_has(text,
		 "_memory_wait_seconds_total{unit=\"a.service\",reason=\"refault\"} 0.000003\n");
	text_has(text, "_memory_wait_seconds_total{unit=\"a.service\",reason=\"memory_high\"} 0\n");
	process.last = true;
	print(&process);
	text_has(
		text,
		"_memory_wait_seconds_total{unit=\"a.service\",reason=\"memory_high\"} 0.000004\n");
	set_places(0);
	wait_of("/a.service", ROLE_REFAULT, SECOND, 3000);
	wait_of("/b.service", ROLE_REFAULT, SECOND, 5000);
	print(NULL);
	text_has(text, "\nallocfilt_memory_waits_total 2\n");
	text_has(text, "\nallocfilt_memory_wait_seconds_total{reason=\"refault\"} 0.000008\n");
}

TEST(test_no_units)
{
	set_places(0);
	stall_of("/a.service", ROLE_DRAIN, 20000, PHASE_DRAIN);
	stall_of("/b.service", ROLE_DRAIN, 30000, PHASE_DRAIN);
	print(NULL);
	assert_null(strstr(text, "unit="));
	text_has(text, "\nallocfilt_stalls_total 2\n");
	text_has(text, "\nallocfilt_stall_seconds_total{cause=\"drain\"} 0.00005\n");
	text_has(text, "\nallocfilt_stall_recent_max_seconds 0.00003\n");
}

/* More shrinkers than the table holds: that with least time has no series. */
TEST(test_more_shrinkers)
{
	slab(SCAN, 0, 100);
	for (int i = 1; i < SHRINKERS_MAX; i++)
		slab(0x1000 + i, 0, 200);
	slab(EXT4_SCAN, 0, 5000);
	shows(NULL, "_runs_total{shrinker=\"ext4_es_scan [ext4]\"} 1\n");
	text_has(text, "_runs_total{shrinker=\"unknown\"} 255\n");
	assert_null(strstr(text, "_runs_total{shrinker=\"super_cache_scan\"}"));
	assert_int_equal(summary_overflow(view.summary), 1);
}

/* The first that ran keep their series, whatever takes most time later; one of a known name joins it. */
TEST(test_many_shrinkers)
{
	slab(SCAN, 0, 100);
	slab(EXT4_SCAN, 0, 100);
	for (int i = 0; i < 20; i++)
		slab(NAMED_SCAN + i, 0, 200 + i);
	slab(EXT4_SCAN_2, 0, 5000);
	print(NULL);
	text_has(text, "_runs_total{shrinker=\"super_cache_scan\"} 1\n");
	text_has(text, "_seconds_total{shrinker=\"ext4_es_scan [ext4]\"} 0.0000051\n");
	text_has(text, "_runs_total{shrinker=\"scan_9\"} 1\n");
	text_has(text, "_runs_total{shrinker=\"other\"} 10\n");
	text_has(text, "_seconds_total{shrinker=\"other\"} 0.000002145\n");
	text_has(text, "_max_seconds{shrinker=\"other\"} 0.000000219\n");
	assert_int_equal(count_in(text, "_runs_total{shrinker="), 13);
}

/* The superblocks with most time; the others are in the series of their shrinker. */
TEST(test_many_superblocks)
{
	char line[64];

	for (int i = 0; i < 20; i++) {
		superblock(i, "loop", 100 + i);
		slab(SCAN, i, 1000 + i);
	}
	print(NULL);
	for (int i = 0; i < 20; i++) {
		snprintf(line, sizeof(line), "_runs_total{superblock=\"loop\",device=\"0:%d\"} 1\n",
			 100 + i);
		assert_int_equal(count_in(text, line), i >= 14);
	}
	text_has(text, "_runs_total{shrinker=\"super_cache_scan\"} 20\n");
}

/* The first six causes and reasons of a unit; its sums have all. */
TEST(test_many_causes)
{
	const struct metrics_process process = { .tracing = true };
	static const enum phase_group groups[] = {
		PHASE_SWAP_IN,	      PHASE_DRAIN,	   PHASE_OOM,
		PHASE_COMPACTION,     PHASE_MEMCG_RECLAIM, PHASE_MEMORY_HIGH,
		PHASE_DIRECT_RECLAIM, /* ended first */
		PHASE_NODE_RECLAIM,
	};
	static const int reasons[] = {
		ROLE_WAIT,	    ROLE_SWAP_IN,	  ROLE_REFAULT,	       ROLE_MEMORY_HIGH,
		ROLE_MEMCG_RECLAIM, ROLE_ZONE_COMPACTION, ROLE_DIRECT_RECLAIM, ROLE_NODE_RECLAIM,
	};

	for (size_t i = 0; i < COUNT(groups); i++)
		stall_of("/a.service", ROLE_DRAIN, i == 6 ? 10000 : 20000 + i * 10000, groups[i]);
	for (size_t i = 0; i < COUNT(reasons); i++)
		wait_of("/a.service", reasons[i], (i + 1) * SECOND, 1000 * (i + 1));
	view.ts = 81 * SECOND;
	print(&process);
	text_has(text, "_stalls_total{unit=\"a.service\"} 8\n");
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"swap_in\"} 0.00002\n");
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"oom_killer\"} 0.00004\n");
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"memory_high\"} 0.00007\n");
	text_has(text, "_stall_seconds_total{unit=\"a.service\",cause=\"other\"} 0.0001\n");
	assert_int_equal(count_in(text, "_stall_seconds_total{"), 7);
	text_has(text, "_memory_waits_total{unit=\"a.service\"} 8\n");
	text_has(text,
		 "_memory_wait_seconds_total{unit=\"a.service\",reason=\"refault\"} 0.000003\n");
	text_has(text,
		 "_memory_wait_seconds_total{unit=\"a.service\",reason=\"other\"} 0.000015\n");
	assert_int_equal(count_in(text, "_memory_wait_seconds_total{"), 7);
}

/* Every cause, every reason, more of everything than has a series: the default has at most 400. */
TEST(test_worst_case)
{
	const struct metrics_process process = { .resident = 1, .last = true };
	static char function[] = "f";
	struct plan all = { .threshold = 1000000 };
	char name[64];

	for (int role = 0; role < ROLE_COUNT; role++)
		if (catalog_roles[role].names[0])
			all.functions[all.nr_functions++] =
				(struct plan_function){ function, role };
	view.plan = &all;
	view.nr_overflows = SUMMARY_OVERFLOWS;
	for (size_t i = 0; i < SUMMARY_OVERFLOWS; i++)
		view.overflows[i] = (struct overflow){ "table", "", 1 };
	set_places((unsigned int)strtoul(key_find("metrics-cgroups")->default_value, NULL, 10));
	for (int unit = 0; unit < UNITS_MAX; unit++) {
		snprintf(name, sizeof(name), "/unit-%d.service", unit);
		for (int i = 0; i < ROLE_COUNT * PHASE_GROUPS * PHASE_STATES; i++)
			stall_in_state(name, i % ROLE_COUNT, 1000000, i / ROLE_COUNT % PHASE_GROUPS,
				       i / ROLE_COUNT / PHASE_GROUPS);
		for (int role = 0; role < ROLE_COUNT; role++)
			wait_of(name, role, SECOND, 1000);
		wait_of(name, ROLE_OOM_KILLER, SECOND, 0);
	}
	for (int i = 0; i < SHRINKER_NAMES_MAX; i++) {
		superblock(i, "loop", 100 + i);
		slab(SCAN, i, 1000);
	}
	for (int i = 1; i < SHRINKERS_MAX; i++)
		slab(NAMED_SCAN + i, 0, 1000);
	print(&process);
	assert_in_range(count_in(text, "\n") - count_in(text, "# HELP") - count_in(text, "# TYPE"),
			380, 400);
	/* nothing is missing from the sums; stalls of ROLE_NODE are in the background */
	snprintf(name, sizeof(name), "_stalls_total{unit=\"other\"} %d\n",
		 (UNITS_MAX - 10) * (ROLE_COUNT - 1) * PHASE_GROUPS * PHASE_STATES);
	text_has(text, name);
}

TEST(test_writer_fails)
{
	int fd = open("/dev/full", O_WRONLY);
	struct writer *writer = writer_new(fd, -1);
	int ret = 0;

	for (int i = 0; i < 40 && !ret; i++)
		ret = metrics_text(writer, &view, NULL);
	assert_int_equal(ret, -ENOSPC);
	writer_free(writer);
	close(fd);
}

/* With an argument it prints the text with samples of each family, for tests/replay/metrics.test. */
int main(int argc, char **argv)
{
	if (argc > 1) {
		if (set_up(NULL))
			return 1;
		print_all();
		fputs(text, stdout);
		return tear_down(NULL);
	}
	return unit_tests_run(NULL, NULL);
}
