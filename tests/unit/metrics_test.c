// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>

#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "fake_resolver.h"
#include "made_view.h"
#include "test_directory.h"
#include "unit_test.h"
#include "written_text.h"

#define SECOND	    1000000000ull
#define ALLOC	    0xa1
#define SHRINK_NODE 0xa2
#define ALLOC_2	    0xa3 /* of the same name as ALLOC */
#define SCAN	    0xb1
#define EXT4_SCAN   0xb2
#define EXT4_SCAN_2 0xb3
#define UNKNOWN	    0xffffffff81234567
#define TMPFS_22    "{superblock=\"tmpfs\",device=\"0:22\",mountpoint=\"/a\\\"b\\\\134c\"}"

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	assert_int_equal(style, 's');
	switch (address) {
	case ALLOC:
	case ALLOC_2:
		return snprintf(text, size, "__alloc_pages");
	case SHRINK_NODE:
		return snprintf(text, size, "shrink_node");
	case SCAN:
		return snprintf(text, size, "super_cache_scan");
	case EXT4_SCAN:
	case EXT4_SCAN_2:
		return snprintf(text, size, "ext4_es_scan [ext4]");
	default:
		return snprintf(text, size, "0x%llx", (unsigned long long)address);
	}
}

static struct resolver resolver = { .symbol = symbol };

static struct plan plan = { .threshold = 10000 };

static const char *text;

static int set_up(void **state)
{
	int ret = make_test_directory(state);

	put_text("mountinfo", "28 1 0:22 / /a\"b\\134c rw - tmpfs tmpfs rw\n");
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

static void stall(uint64_t function, uint64_t ns, enum phase_group group, enum phase_part part)
{
	static const struct task_info nobody;
	struct stall one = {
		.start = 1000,
		.end = 1000 + ns,
		.function = function,
		.role = function ? ROLE_PAGE_ALLOCATION : ROLE_DIRECT_RECLAIM,
		.incomplete = !function,
		.gfp_names = "",
		.compaction = "",
	};
	struct named_stall named = {
		.stall = &one,
		.name = "",
		.task_info = &nobody,
		.function = "",
		.memcg = "",
		.background = function == SHRINK_NODE,
	};

	phases_spend(&one.phases, group, part, STATE_RAN, ns);
	summary_stall(view.summary, &named);
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
	struct task_pair pair = { .begin = &record, .end = &record, .duration = ns };

	shrinkers_pair(view.shrinkers, &pair,
		       shrinker_names_superblock(view.shrinker_names, &record));
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

	view.overflows = overflows;
	view.nr_overflows = 2;
	view.journal.held_back = 31;
	view.journal.dropped = 2;
	stall(ALLOC, 16000, PHASE_DIRECT_RECLAIM, PART_SLAB);
	stall(ALLOC_2, 16001, PHASE_DIRECT_RECLAIM, PART_SLAB);
	stall(0, 100 * SECOND, PHASE_DIRECT_RECLAIM, PART_SLAB);
	stall(ALLOC, 2 * SECOND, PHASE_REST, PART_OWN);
	stall(SHRINK_NODE, 1024000, PHASE_DIRECT_RECLAIM, PART_SLAB);
	fill_shrinkers();
	losses_add(losses, 1, 12);
	losses_add(losses, 0, RECORD_LOST_UNKNOWN);
	losses_add(losses, 0, RECORD_LOST_UNKNOWN);
	print(&process);
}

/* Numbers added up by hand. tests/replay/metrics.pl checks the format and every family. */
static void test_numbers(void **state)
{
	static const char *const samples[] = {
		"build_info{version=\"" ALLOCFILT_VERSION "\"} 1",
		"threshold_seconds 0.00001",
		/* an edge belongs to its bucket, and what is over the last edge is in +Inf alone */
		"stall_duration_seconds_bucket{function=\"__alloc_pages\",le=\"0.000016\"} 1",
		"stall_duration_seconds_bucket{function=\"__alloc_pages\",le=\"0.000032\"} 2",
		"stall_duration_seconds_bucket{function=\"__alloc_pages\",le=\"1.048576\"} 2",
		"stall_duration_seconds_bucket{function=\"__alloc_pages\",le=\"2.097152\"} 3",
		"stall_duration_seconds_sum{function=\"__alloc_pages\"} 2.000032001",
		"stall_duration_seconds_bucket{function=\"direct reclaim\",le=\"67.108864\"} 0",
		"stall_duration_seconds_bucket{function=\"direct reclaim\",le=\"+Inf\"} 1",
		"stall_duration_seconds_sum{function=\"direct reclaim\"} 100",
		"background_duration_seconds_bucket{function=\"shrink_node\",le=\"0.000512\"} 0",
		"background_duration_seconds_bucket{function=\"shrink_node\",le=\"0.001024\"} 1",
		"background_duration_seconds_count{function=\"shrink_node\"} 1",
		"incomplete_stalls_total 1",
		"phase_seconds_total{group=\"direct_reclaim\",part=\"own\"} 0",
		"phase_seconds_total{group=\"direct_reclaim\",part=\"slab\"} 100.000032001",
		"phase_seconds_total{group=\"rest\",part=\"own\"} 2",
		"background_phase_seconds_total{group=\"direct_reclaim\",part=\"slab\"} 0.001024",
		"shrinker_seconds_total{shrinker=\"super_cache_scan\"} 0.0000036",
		"shrinker_runs_total{shrinker=\"super_cache_scan\"} 4",
		"shrinker_seconds_total{shrinker=\"ext4_es_scan [ext4]\"} 0.00000035",
		"shrinker_runs_total{shrinker=\"ext4_es_scan [ext4]\"} 2",
		"shrinker_max_seconds{shrinker=\"ext4_es_scan [ext4]\"} 0.00000025",
		"superblock_shrink_seconds_total" TMPFS_22 " 0.0000025",
		"superblock_shrink_runs_total" TMPFS_22 " 2",
		"superblock_shrink_max_seconds" TMPFS_22 " 0.0000015",
		"superblock_shrink_runs_total{superblock=\"tmpfs\",device=\"0:23\"} 1",
		"lost_records_total{cpu=\"1\"} 12",
		"unknown_losses_total{cpu=\"0\"} 2",
		"table_overflows_total{table=\"tasks\"} 5",
		"table_overflows_total{table=\"summary\"} 0",
		"journal_entries_held_back_total 31",
		"journal_entries_dropped_total 2",
		"tracing_active 1",
		"uptime_seconds 86400.5",
		"process_cpu_seconds_total 1.25",
		"process_resident_memory_bytes 16777216",
	};
	char line[256];

	print_all();
	for (size_t i = 0; i < COUNT(samples); i++) {
		snprintf(line, sizeof(line), "\nallocfilt_%s\n", samples[i]);
		text_has(text, line);
	}
	/* Prometheus refuses all when two series have the same labels. */
	assert_int_equal(count_in(text, "_duration_seconds_count{function=\"__alloc_pages\"}"), 1);
	assert_int_equal(count_in(text, "_runs_total{shrinker=\"ext4_es_scan [ext4]\"}"), 1);
}

/* All without a symbol are one series. */
static void test_unknown_functions(void **state)
{
	stall(UNKNOWN, 20000, PHASE_REST, PART_OWN);
	stall(UNKNOWN + 1, 40000, PHASE_REST, PART_OWN);
	slab(UNKNOWN, 1, 500);
	slab(UNKNOWN + 1, 2, 700);
	slab(SCAN, 0xffff888012345678, 500);
	print(NULL);
	/* everybody may read the file, so it has no address */
	assert_null(strstr(text, "0x"));
	assert_null(strstr(text, "ffff"));
	assert_int_equal(count_in(text, "\nallocfilt_superblock_shrink_runs_total{"), 0);
	assert_int_equal(count_in(text, "_count{function=\"unknown\"}"), 1);
	text_has(text, "\nallocfilt_stall_duration_seconds_count{function=\"unknown\"} 2\n");
	text_has(text, "\nallocfilt_stall_duration_seconds_sum{function=\"unknown\"} 0.00006\n");
	text_has(text, "{function=\"unknown\",le=\"0.000032\"} 1\n");
	text_has(text, "{function=\"unknown\",le=\"0.000064\"} 2\n");
	text_has(text, "\nallocfilt_shrinker_runs_total{shrinker=\"unknown\"} 2\n");
	assert_int_equal(count_in(text, "_runs_total{shrinker=\"unknown\"}"), 1);
	text_has(text, "\nallocfilt_shrinker_seconds_total{shrinker=\"unknown\"} 0.0000012\n");
	text_has(text, "\nallocfilt_shrinker_max_seconds{shrinker=\"unknown\"} 0.0000007\n");
}

/* A series keeps its labels when another superblock of that name comes. */
static void test_labels_stay(void **state)
{
	const char *line = "_runs_total{superblock=\"tmpfs\",device=\"0:23\"} 1\n";

	superblock(1, "tmpfs", 23);
	slab(SCAN, 1, 500);
	print(NULL);
	text_has(text, line);
	superblock(2, "tmpfs", 22);
	slab(SCAN, 2, 500);
	print(NULL);
	text_has(text, line);
}

/* Over a capture there is no process to speak of. */
static void test_what_is_left_out(void **state)
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

/* What found no place of its own: nothing is missing from the sums. */
static void test_other_functions(void **state)
{
	for (int i = 0; i < SUMMARY_OUTERMOST_MAX; i++)
		stall(ALLOC, 20000, PHASE_REST, PART_OWN);
	for (int i = 1; i < SUMMARY_OUTERMOST_MAX; i++)
		stall(0x1000 + i, 20000, PHASE_REST, PART_OWN);
	assert_int_equal(summary_overflow(view.summary), 0);
	stall(0x2000, 30000, PHASE_REST, PART_OWN);
	stall(0x2001, 50000, PHASE_REST, PART_OWN);
	stall(ALLOC, 20000, PHASE_REST, PART_OWN);
	assert_int_equal(summary_overflow(view.summary), 2);
	print(NULL);
	text_has(text, "_stall_duration_seconds_count{function=\"other\"} 2\n");
	text_has(text, "_stall_duration_seconds_sum{function=\"other\"} 0.00008\n");
	text_has(text, "_stall_duration_seconds_count{function=\"__alloc_pages\"} 65\n");
	text_has(text, "_stall_duration_seconds_count{function=\"unknown\"} 63\n");
}

/* More shrinkers than the table holds: the counters of the first do not go back. */
static void test_other_shrinkers(void **state)
{
	slab(SCAN, 0, 100);
	for (int i = 1; i < SHRINKERS_MAX; i++)
		slab(0x1000 + i, 0, 200);
	slab(EXT4_SCAN, 0, 5000);
	print(NULL);
	text_has(text, "_runs_total{shrinker=\"super_cache_scan\"} 1\n");
	text_has(text, "_runs_total{shrinker=\"unknown\"} 255\n");
	text_has(text, "_runs_total{shrinker=\"other\"} 1\n");
	text_has(text, "_max_seconds{shrinker=\"other\"} 0.000005\n");
	assert_int_equal(shrinkers_overflow(view.shrinkers), 1);
}

static void test_writer_fails(void **state)
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* With an argument it prints the text with samples of each family, for tests/replay/metrics.test. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_numbers),	    TEST(test_unknown_functions),
		TEST(test_labels_stay),	    TEST(test_what_is_left_out),
		TEST(test_other_functions), TEST(test_other_shrinkers),
		TEST(test_writer_fails),
	};

	if (argc > 1) {
		if (set_up(NULL))
			return 1;
		print_all();
		fputs(text, stdout);
		return tear_down(NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
