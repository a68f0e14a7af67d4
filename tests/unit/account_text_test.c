// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/account/account.h"
#include "fake_resolver.h"
#include "unit_test.h"
#include "written_text.h"

#define MS 1000000ull

static struct account_tables made;
static const struct plan plan = { .threshold = MS };
static struct options options;
static struct resolver resolver;
static struct summary_view view;

static struct account_site sites[] = {
	{ 0xffffffff81000010, "alloc_pipe_info+0x5c", NULL, 10, 1000, 2048 },
	{ 0xffffffff81000020, "f+0x1 [a\"b;c]", "odd;\n\"cache", 2, 300, 400 },
	{ 0xffffffff81000030, "g+0x1", "", 1, 64, 64 },
};

static struct account_process processes[] = {
	{ .pid = 7, .name = "a\n\"b\x1b[m", .count = 3, .pages = 12, .orders = { 0, 2, 1 } },
	{ .pid = 8, .name = "quiet", .count = 5, .pages = 5, .orders = { 5 }, .fallbacks = 1 },
	{ .pid = 9, .name = "waits", .count = 1, .pages = 1, .stalls = 2, .waited = 9 * MS },
	{ .pid = 10, .name = "waits-less", .stalls = 1, .waited = 2 * MS },
	{ .pid = 11, .name = "", .refilled = 3, .drained = 4 },
};

static int set_up(void **state)
{
	options.sort = SORT_WASTED;
	view = (struct summary_view){ .options = &options,
				      .plan = &plan,
				      .resolver = &resolver,
				      .top = 10,
				      .since = 1000,
				      .ts = 1000 + 2000 * MS };
	made = (struct account_tables){
		.sites = sites,
		.nr_sites = COUNT(sites),
		.processes = processes,
		.nr_processes = COUNT(processes),
		.all_sites = { .count = 13, .requested = 1364, .allocated = 2512 },
		.all_processes = { .count = 9,
				   .pages = 18,
				   .orders = { 5, 2, 1 },
				   .fallbacks = 1,
				   .refilled = 3,
				   .drained = 4,
				   .stalls = 3,
				   .waited = 11 * MS },
	};
	return 0;
}

static const char *shown(const char *form)
{
	struct writer *writer = begin_text();

	assert_int_equal(account_print(writer, form, &view, &made), 0);
	return end_text(writer);
}

static void text_lacks(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("there is: %s in %s", what, text);
}

#define TEST(test) UNIT_TEST_WITH(test, set_up, NULL)

/* 2048 bytes allocated for 1000: 1048 wasted, 51.2 %. */
TEST(test_text)
{
	const char *text = shown("text");

	text_has(text, "slab: 13 allocations in ");
	text_has(text, "1.3 KiB asked for, 2.5 KiB allocated, 1.1 KiB wasted (45.7 %)\n");
	text_has(text, "(kmalloc)                10        1.0         2.0         1.0  51.2\n");
	text_has(text, "\ng+0x1                              ?  ");
	text_has(text,
		 "pages: 18 in 9 allocations; 1 fallback, 3 refilled, 4 drained; 3 stalls of ");
	text_has(text, "waited 11.000 ms\n");
	text_has(text, "  1:2 2:1\n");
	text_lacks(text, "\x1b");
	text_lacks(text, "a\n\"b");
	text_lacks(text, "odd;\n");
	text_has(text, "odd;\\x0a");
	text_lacks(text, "incomplete");
	text_lacks(text, "(--top)");
	/* a blank line, a head, a head, 3 rows, and the same with 5 rows */
	assert_int_equal(count_in(text, "\n"), 6 + 8);
}

/* Who takes most and who waits longest: with --top=1 these are two. */
TEST(test_top)
{
	const char *text;

	view.top = 1;
	text = shown("text");
	text_has(text, "alloc_pipe_info+0x5c");
	text_lacks(text, "g+0x1");
	text_has(text, "  2 more call sites (--top)\n");
	text_has(text, "-7 ");
	text_has(text, "waits-9 ");
	text_lacks(text, "quiet");
	text_lacks(text, "waits-less");
	text_has(text, "  3 more processes (--top)\n");
	view.top = 2;
	text = shown("text");
	text_has(text, "quiet-8");
	text_has(text, "waits-9");
	text_has(text, "waits-less-10");
	text_has(text, "  1 more processes (--top)\n");
}

TEST(test_incomplete)
{
	const char *text;

	made.dropped =
		(struct account_dropped){ .sites = 13, .pages = 17, .tasks = 5, .processes = 3 };
	made.unreadable = 4;
	text = shown("text");
	text_has(text, "no row has another 13 allocations (50.0 % of all)\n");
	/* 9 + 1 + 3 + 4 are counted */
	text_has(text, "no row has another 17 allocations, fallbacks, refills or drains "
		       "(50.0 % of all)\n");
	text_has(text, "no row has another 3 stalls (50.0 % of all)\n");
	text_has(text, "incomplete: 5 forks and exits were not counted");
	text_has(text, "incomplete: 4 rows of the kernel's text cannot be read\n");
	text = shown("json");
	text_has(text, "\"bytes_wasted\":1148,\"dropped\":13,");
	text_has(text, "\"dropped\":17,\"dropped_stalls\":3,\"dropped_tasks\":5,");
	text_has(text, "\"lost_records\":0,\"unreadable_rows\":4}\n");
}

TEST(test_lost_records)
{
	text_lacks(shown("text"), "incomplete");
	view.lost = 7;
	text_has(shown("text"), "incomplete: records were lost, and so may be stalls\n");
	text_has(shown("json"), "\"lost_records\":7,");
	view.lost = 0;
	view.lost_times = 1;
	text_has(shown("text"), "incomplete: records were lost, and so may be stalls\n");
	assert_null(strstr(shown("json"), "lost_records"));
}

TEST(test_nothing)
{
	made = (struct account_tables){ .nr_sites = 0 };
	assert_int_equal(count_in(shown("text"), "\n"), 4);
	text_has(shown("json"), "\"call_sites\":[]}");
	text_has(shown("json"), "\"processes\":[]}");
	assert_string_equal(shown("folded"), "");
}

TEST(test_json)
{
	const char *text;

	options.sort = SORT_COUNT;
	view.top = 1; /* is not of JSON */
	text = shown("json");
	assert_int_equal(count_in(text, "\n"), 1);
	assert_int_equal(strncmp(text, "{\"type\":\"account\",", 18), 0);
	text_has(text,
		 "\"interval\":false,\"ts_ns\":2000001000,\"duration_ns\":2000000000,"
		 "\"threshold_ns\":1000000,\"slab\":{\"count\":13,\"bytes_requested\":1364,"
		 "\"bytes_allocated\":2512,\"bytes_wasted\":1148,\"dropped\":0,\"call_sites\":[{"
		 "\"call_site\":\"alloc_pipe_info+0x5c\",\"address\":\"0xffffffff81000010\","
		 "\"event\":\"kmalloc\",\"count\":10,\"bytes_requested\":1000,"
		 "\"bytes_allocated\":2048,\"bytes_wasted\":1048},");
	text_has(text, "{\"call_site\":\"f+0x1 [a\\\"b;c]\",\"address\":\"0xffffffff81000020\","
		       "\"event\":\"kmem_cache_alloc\",\"cache\":\"odd;\\u000a\\\"cache\",");
	text_has(text, "\"event\":\"kmem_cache_alloc\",\"count\":1,");
	text_has(text,
		 "{\"pid\":7,\"process\":\"a\\u000a\\\"b\\u001b[m\",\"count\":3,\"pages\":12,"
		 "\"orders\":[0,2,1],\"fallbacks\":0,\"refilled\":0,\"drained\":0,\"stalls\":0,"
		 "\"waited_ns\":0");
	text_has(text, "{\"pid\":11,\"process\":\"\",\"count\":0,\"pages\":0,\"orders\":[],");
	assert_int_equal(count_in(text, "\"call_site\":"), 3);
	assert_int_equal(count_in(text, "\"pid\":"), 5);
	view.is_interval = true;
	text_has(shown("json"), "\"interval\":true,");
}

TEST(test_folded)
{
	assert_string_equal(account_form_names()[2], "folded");
	assert_null(account_form_names()[3]);
	options.sort = SORT_WASTED;
	/* g wastes nothing; a semicolon would end a frame */
	assert_string_equal(shown("folded"),
			    "kmalloc;alloc_pipe_info+0x5c 1048\n"
			    "kmem_cache_alloc;odd:\\x0a\"cache;f+0x1 [a\"b:c] 100\n");
	options.sort = SORT_ALLOCATED;
	text_has(shown("folded"), "kmalloc;alloc_pipe_info+0x5c 2048\n");
	text_has(shown("folded"), "\nkmem_cache_alloc;g+0x1 64\n");
	options.sort = SORT_COUNT;
	text_has(shown("folded"), "kmalloc;alloc_pipe_info+0x5c 10\n");
	text_has(shown("folded"), "\nkmem_cache_alloc;g+0x1 1\n");
}

UNIT_TEST_MAIN(NULL, NULL)
