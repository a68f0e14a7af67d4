// SPDX-License-Identifier: GPL-2.0-or-later
/* The summary as text and as JSON: what newcomers to full tables may lack. */
#include "allocfilt/output.h"
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
	make_view(&plan, &resolver, 1);
	view.shrinker_names = shrinker_names_new(NULL, resolver_symbol, &resolver);
	view.top = 2;
	return 0;
}

static int tear_down(void **state)
{
	free_view();
	return 0;
}

static void stall(int tid, const char *name, uint64_t ns)
{
	struct task_info task_info = { .tid = tid };
	struct stall one = { .tid = tid, .end = ns, .gfp_names = "", .compaction = "" };
	struct named_stall named = { &one, name, &task_info, false, "f", "" };

	snprintf(task_info.cgroup, sizeof(task_info.cgroup), "/%s", name);
	summary_stall(view.summary, &named);
}

static void window(uint64_t function, uint64_t ns)
{
	struct record exit = { .window = { .function = function, .rettime = ns } };

	exit.window.role = ROLE_NONE;
	summary_window(view.summary, &(struct task_window){ .exit = &exit });
}

static void slab(uint64_t callback, uint64_t ns)
{
	struct record record = { .fields = { .callback = callback } };

	shrinkers_pair(view.shrinkers,
		       &(struct task_pair){ .begin = &record, .end = &record, .duration = ns }, -1);
}

static void print(bool json)
{
	struct writer *writer = begin_text();

	if (json)
		json_summary(writer, &view, true);
	else
		summary_text(writer, &view);
	text = end_text(writer);
}

/* Each table is filled with 50 ms, and then one comes with twice 40 ms. */
static void test_newcomers(void **state)
{
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
		"\n       2           80.000        40.000        40.000  new-1001 (up to 50.000 ms more)\n"
		"       1           50.000        50.000        50.000  once-2\n");
	text_has(text,
		 "\n0xabc: count 2, total 80.000 ms, p50 40.000 ms, p99 40.000 ms, max 40.000 ms "
		 "(up to 50.000 ms more)\n");
	text_has(text, "\n0xdef : total time = 80.000000 ms, max latency = 40.000000 ms\n"
		       "  (up to 50.000 ms more)\n");
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
		 "\"callback\":\"0xdef\",\"count\":2,\"total_ns\":80000000,\"max_ns\":40000000,"
		 "\"error_ns\":50000000,\"superblocks\":[]}");
}

/* A superblock has all of its time, its callback what came later: no others are made up from that. */
static void test_superblocks_of_newcomer(void **state)
{
	struct record name = { .kind = RECORD_SUPERBLOCK, .raw = "vda" };
	struct record record = { .fields = { .shrinker = 1, .callback = SCAN } };
	struct task_pair pair = { .begin = &record, .end = &record, .duration = 10 * MS };
	int superblock;

	name.superblock.shrinker = 1;
	name.superblock.callback = SCAN;
	name.superblock.name_length = 3;
	shrinker_names_see(view.shrinker_names, &name);
	superblock = shrinker_names_superblock(view.shrinker_names, &record);
	assert_true(superblock >= 0);
	shrinkers_pair(view.shrinkers, &pair, superblock);
	for (int i = 1; i <= SHRINKERS_MAX; i++)
		slab(0x10000 + i, 50 * MS);
	shrinkers_pair(view.shrinkers, &pair, superblock);
	print(false);
	text_has(
		text,
		"\nsuper_cache_scan : total time = 10.000000 ms, max latency = 10.000000 ms\n"
		"  (up to 50.000 ms more)\n"
		"  super_cache_scan[vda] : total time = 20.000000 ms, max latency = 10.000000 ms\n");
	assert_null(strstr(text, "others]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_newcomers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_superblocks_of_newcomer, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
