// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocfilt/capture.h"
#include "test_directory.h"

#define PAGE 4096

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
static const char header_page_32[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				     "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
				     "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				     "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
static const char exit_format[] = "name: funcgraph_exit\nID: 10\nformat:\n";

/* A page whose commit is 0x120, which no page has the other way round. */
static void fill_page(unsigned char *page, bool big_endian, int long_size, char letter)
{
	memset(page, letter, PAGE);
	memset(page + 8, 0, long_size);
	page[big_endian ? 8 + long_size - 1 : 8] = 0x20;
	page[big_endian ? 8 + long_size - 2 : 9] = 0x01;
}

static void put_pages(int cpu, int pages, bool big_endian, size_t cut)
{
	unsigned char *bytes = malloc((size_t)pages * PAGE + 1);
	char name[64];

	for (int i = 0; i < pages; i++)
		fill_page(bytes + i * PAGE, big_endian, 8, 'a' + i % 26);
	snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", cpu);
	put_bytes(name, bytes, (size_t)pages * PAGE - cut);
	free(bytes);
}

/* The least that can be read. */
static int make_capture(void **state)
{
	if (make_test_directory(state))
		return -1;
	put_text("events/header_page", header_page);
	put_text("events/ftrace/funcgraph_exit/format", exit_format);
	put_text("set_ftrace_filter", "shrink_slab\n__alloc_pages\n");
	put_pages(0, 2, false, 0);
	return 0;
}

static struct capture *open_it(void)
{
	struct capture *capture = NULL;
	struct failure failure = { .text = "" };

	assert_int_equal(capture_open(&capture, test_directory, &failure), 0);
	assert_string_equal(capture_source(capture)->dir, test_directory);
	return capture;
}

static void check_refused(const char *named)
{
	struct capture *capture = NULL;
	struct failure failure = { .text = "" };

	assert_true(capture_open(&capture, test_directory, &failure) < 0);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_non_null(strstr(failure.text, named));
	assert_non_null(strstr(failure.text, test_directory));
	assert_null(capture);
}

static void check_flaws(const struct capture *capture, uint64_t count, const char *named)
{
	const char *first;

	assert_int_equal(capture_flaws(capture, &first), count);
	if (count)
		assert_non_null(strstr(first, named));
	else
		assert_string_equal(first, "");
}

/* --- what it is --- */

static void test_made_by_hand(void **state)
{
	struct capture *capture;

	(void)state;
	put_text("trace_clock", "[local] global counter\n");
	put_text("current_tracer", "function_graph\n");
	put_text("tracing_thresh", "134\n");
	capture = open_it();
	assert_false(capture_has_description(capture));
	assert_int_equal(capture_threshold(capture), 134000);
	assert_true(capture_source(capture)->local_clock);
	assert_int_equal(capture_source(capture)->cpus.count, 1);
	assert_int_equal(capture_source(capture)->layout.long_size, 8);
	assert_false(capture_source(capture)->layout.big_endian);
	check_flaws(capture, 0, "");
	capture_close(capture);
	capture_close(NULL);
}

static void test_least(void **state)
{
	struct capture *capture = open_it();

	(void)state;
	assert_int_equal(capture_threshold(capture), 0);
	assert_true(capture_source(capture)->local_clock);
	capture_close(capture);
}

static void test_described(void **state)
{
	struct capture *capture;

	(void)state;
	put_text("capture",
		 "byte_order little\nlong_size 8\npage_size 4096\nrelease 6.1\nclock local\n"
		 "tracer function_graph\nthreshold_us 50\n");
	/* the description is what counts */
	put_text("tracing_thresh", "999\n");
	capture = open_it();
	assert_true(capture_has_description(capture));
	assert_int_equal(capture_threshold(capture), 50000);
	assert_true(capture_source(capture)->local_clock);
	capture_close(capture);
}

static void test_whose_run_it_was(void **state)
{
	struct capture *capture = open_it();

	(void)state;
	assert_int_equal(capture_source(capture)->own, 0);
	assert_null(capture_source(capture)->recorded);
	capture_close(capture);
	put_text("capture", "byte_order little\nown 812\npids 1 4194304 77\nlost cpu0 5\n");
	capture = open_it();
	assert_int_equal(capture_source(capture)->own, 812);
	assert_memory_equal(capture_source(capture)->recorded, ((pid_t[]){ 1, 4194304, 77, 0 }),
			    4 * sizeof(pid_t));
	capture_close(capture);
}

static void check_no_pids(const char *description)
{
	struct capture *capture;

	put_text("capture", description);
	capture = open_it();
	assert_null(capture_source(capture)->recorded);
	capture_close(capture);
}

/* Rather all than a wrong choice. */
static void test_pids_that_are_none(void **state)
{
	(void)state;
	check_no_pids("byte_order little\nown 812\n");
	check_no_pids("pids \n812\n");
	check_no_pids("pids 5 x\n");
	check_no_pids("pids 5 0\n");
	check_no_pids("pids -5\n");
	check_no_pids("pids 5 99999999999\n");
	check_no_pids("pids 5\t6,7");
}

static void test_foreign_clock(void **state)
{
	struct capture *capture;

	(void)state;
	put_text("trace_clock", "local global counter [mono] boot\n");
	capture = open_it();
	assert_false(capture_source(capture)->local_clock);
	capture_close(capture);
	put_text("capture", "byte_order little\nclock global\n");
	put_text("trace_clock", "[local] global\n");
	capture = open_it();
	assert_false(capture_source(capture)->local_clock);
	capture_close(capture);
}

static void test_byte_order_from_data(void **state)
{
	struct capture *capture;

	(void)state;
	put_pages(0, 2, true, 0);
	capture = open_it();
	assert_true(capture_source(capture)->layout.big_endian);
	capture_close(capture);
}

/* Empty pages tell no order: the first one that does decides, on whatever CPU. */
static void test_byte_order_behind_empty_pages(void **state)
{
	static unsigned char bytes[3 * PAGE];
	struct capture *capture;

	(void)state;
	put_bytes("per_cpu/cpu0/trace_pipe_raw", bytes, sizeof(bytes));
	fill_page(bytes + 2 * PAGE, true, 8, 'x');
	put_bytes("per_cpu/cpu4/trace_pipe_raw", bytes, sizeof(bytes));
	capture = open_it();
	assert_true(capture_source(capture)->layout.big_endian);
	assert_int_equal(capture_source(capture)->cpus.count, 2);
	assert_int_equal(capture_source(capture)->cpus.numbers[1], 4);
	capture_close(capture);
}

static void test_byte_order_of_32_bits(void **state)
{
	unsigned char page[PAGE];
	struct capture *capture;

	(void)state;
	put_text("events/header_page", header_page_32);
	fill_page(page, true, 4, 'x');
	put_bytes("per_cpu/cpu0/trace_pipe_raw", page, sizeof(page));
	capture = open_it();
	assert_int_equal(capture_source(capture)->layout.long_size, 4);
	assert_true(capture_source(capture)->layout.big_endian);
	capture_close(capture);
}

static void test_described_byte_order_is_not_guessed(void **state)
{
	struct capture *capture;

	(void)state;
	put_pages(0, 1, false, 0);
	put_text("capture", "byte_order big\n");
	capture = open_it();
	assert_true(capture_source(capture)->layout.big_endian);
	capture_close(capture);
}

/* --- what is missing --- */

static void test_not_there(void **state)
{
	struct capture *capture = NULL;
	struct failure failure;

	(void)state;
	assert_int_equal(capture_open(&capture, test_path("nothing"), &failure), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
}

static void test_no_header_page(void **state)
{
	(void)state;
	unlink(test_path("events/header_page"));
	check_refused("neither a tracing directory nor a capture");
	put_text("events/header_page", "something else\n");
	check_refused("events/header_page");
	put_text("events/header_page", "");
	check_refused("events/header_page");
}

static void test_no_cpu_directory(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s/per_cpu'", test_directory);
	assert_int_equal(system(command), 0);
	check_refused("no CPU directory");
	make_test_folders("per_cpu/cpu0/x");
	check_refused("trace_pipe_raw");
}

static void test_cpu_without_data(void **state)
{
	struct capture *capture;

	(void)state;
	make_test_folders("per_cpu/cpu3/x");
	capture = open_it();
	assert_int_equal(capture_source(capture)->cpus.count, 2);
	assert_int_equal(capture_source(capture)->cpus.numbers[1], 3);
	capture_close(capture);
}

/* --- what is offered --- */

static int take_name(void *visitor, const char *name)
{
	char *names = visitor;

	strcat(names, name);
	strcat(names, " ");
	return strcmp(name, "stop") ? 0 : 7;
}

static void check_functions(const char *expected, int ret)
{
	struct capture *capture = open_it();
	struct plan_offer offer;
	char names[1024] = "";

	capture_offer(capture, &offer);
	assert_true(offer.function_graph);
	assert_int_equal(offer.functions(offer.context, take_name, names), ret);
	assert_string_equal(names, expected);
	capture_close(capture);
}

static void test_functions(void **state)
{
	(void)state;
	check_functions("shrink_slab __alloc_pages ", 0);
	put_text("set_ftrace_filter",
		 "shrink_slab\nxfs_alloc [xfs]\nkswapd:traceoff:unlimited\n#### x ####\nlast");
	put_text("available_filter_functions", "other\n");
	check_functions("shrink_slab xfs_alloc last ", 0);
	put_text("set_ftrace_filter", "one\nstop\ntwo\n");
	check_functions("one stop ", 7);
}

static void test_functions_without_a_filter(void **state)
{
	(void)state;
	put_text("available_filter_functions", "all_1\nall_2 [mod]\n");
	put_text("set_ftrace_filter", "#### all functions enabled ####\n");
	check_functions("all_1 all_2 ", 0);
	put_text("set_ftrace_filter", "");
	check_functions("all_1 all_2 ", 0);
	unlink(test_path("set_ftrace_filter"));
	check_functions("all_1 all_2 ", 0);
	unlink(test_path("available_filter_functions"));
	check_functions("", 0);
}

static void check_tracer(bool function_graph)
{
	struct capture *capture = open_it();
	struct plan_offer offer;

	capture_offer(capture, &offer);
	assert_int_equal(offer.function_graph, function_graph);
	capture_close(capture);
}

static void test_tracer(void **state)
{
	(void)state;
	put_text("current_tracer", "nop\n");
	check_tracer(false);
	put_text("current_tracer", "function_graph\n");
	check_tracer(true);
	put_text("capture", "byte_order little\ntracer nop\n");
	check_tracer(false);
}

static void test_no_format_of_windows(void **state)
{
	struct capture *capture;
	struct plan_offer offer;

	(void)state;
	put_text("events/ftrace/funcgraph_exit/format", "");
	capture = open_it();
	capture_offer(capture, &offer);
	assert_false(offer.function_graph);
	assert_true(capture_flaws(capture, &(const char *){ NULL }) > 0);
	capture_close(capture);
}

static void test_events(void **state)
{
	struct capture *capture;
	struct plan_offer offer;

	(void)state;
	put_text("events/vmscan/good/format", "name: good\nID: 300\nformat:\n");
	make_test_folders("events/vmscan/missing/x");
	put_text("events/vmscan/empty/format", "");
	put_text("events/vmscan/noise/format", "\x01\x02\x03");
	capture = open_it();
	capture_offer(capture, &offer);
	assert_true(offer.has_event(offer.context, "vmscan", "good"));
	/* one that this kernel never had is no flaw */
	assert_false(offer.has_event(offer.context, "vmscan", "unknown"));
	assert_false(offer.has_event(offer.context, "nosystem", "good"));
	check_flaws(capture, 0, "");
	assert_false(offer.has_event(offer.context, "vmscan", "empty"));
	assert_false(offer.has_event(offer.context, "vmscan", "missing"));
	assert_false(offer.has_event(offer.context, "vmscan", "noise"));
	check_flaws(capture, 3, "events/vmscan/empty/format");
	capture_close(capture);
}

/* --- rounds --- */

struct run {
	int pages;
	int left;
	int last;      /* pages given as the last of their file */
	size_t length; /* of the last page */
	int refused;
	int fail_at;
};

static bool ready(void *context, int cpu)
{
	return cpu != ((struct run *)context)->refused;
}

static int got_page(void *context, int cpu, const void *page, size_t length, bool last)
{
	struct run *run = context;

	(void)cpu;
	assert_non_null(page);
	if (++run->pages == run->fail_at)
		return -EPIPE;
	run->last += last;
	run->length = length;
	return 0;
}

static void left_with_data(void *context, int cpu)
{
	(void)cpu;
	((struct run *)context)->left++;
}

static void sink_of(struct run *run, struct source_sink *sink)
{
	*run = (struct run){ .refused = -1 };
	*sink = (struct source_sink){ .context = run,
				      .ready = ready,
				      .page = got_page,
				      .left_with_data = left_with_data };
}

static void test_rounds(void **state)
{
	struct capture *capture;
	struct source_sink sink;
	struct run run;

	(void)state;
	put_pages(0, 2 * SOURCE_QUOTA + 1, false, 0);
	put_pages(1, 1, false, 0);
	capture = open_it();
	sink_of(&run, &sink);
	assert_int_equal(capture_round(capture, &sink), 1);
	assert_int_equal(run.pages, SOURCE_QUOTA + 1);
	assert_int_equal(run.left, 1);
	assert_int_equal(capture_round(capture, &sink), 1);
	assert_int_equal(capture_round(capture, &sink), 0);
	assert_int_equal(run.pages, 2 * SOURCE_QUOTA + 2);
	assert_int_equal(run.left, 2);
	assert_int_equal(run.last, 2);
	assert_int_equal(capture_round(capture, &sink), 0);
	capture_close(capture);
}

static void test_cut_last_page(void **state)
{
	struct capture *capture;
	struct source_sink sink;
	struct run run;

	(void)state;
	put_pages(0, 3, false, 100);
	capture = open_it();
	sink_of(&run, &sink);
	assert_int_equal(capture_round(capture, &sink), 0);
	assert_int_equal(run.pages, 3);
	assert_int_equal(run.last, 1);
	assert_int_equal(run.length, PAGE - 100);
	capture_close(capture);
}

static void test_empty_file(void **state)
{
	struct capture *capture;
	struct source_sink sink;
	struct run run;

	(void)state;
	put_text("per_cpu/cpu0/trace_pipe_raw", "");
	capture = open_it();
	sink_of(&run, &sink);
	assert_int_equal(capture_round(capture, &sink), 0);
	assert_int_equal(run.pages + run.left, 0);
	check_flaws(capture, 0, "");
	capture_close(capture);
}

static void test_no_room(void **state)
{
	struct capture *capture = open_it();
	struct source_sink sink;
	struct run run;

	(void)state;
	sink_of(&run, &sink);
	run.refused = 0;
	assert_int_equal(capture_round(capture, &sink), 1);
	assert_int_equal(run.pages, 0);
	assert_int_equal(run.left, 1);
	run.refused = -1;
	assert_int_equal(capture_round(capture, &sink), 0);
	assert_int_equal(run.pages, 2);
	capture_close(capture);
}

static void test_sink_that_fails(void **state)
{
	struct capture *capture = open_it();
	struct source_sink sink;
	struct run run;

	(void)state;
	sink_of(&run, &sink);
	run.fail_at = 2;
	assert_int_equal(capture_round(capture, &sink), -EPIPE);
	capture_close(capture);
}

/* A file that cannot be read is a flaw, and the other CPUs are read. */
static void test_cpu_that_fails_to_read(void **state)
{
	struct capture *capture;
	struct source_sink sink;
	struct run run;

	(void)state;
	make_test_folders("per_cpu/cpu1/trace_pipe_raw/x");
	capture = open_it();
	sink_of(&run, &sink);
	assert_int_equal(capture_round(capture, &sink), 0);
	assert_int_equal(run.pages, 2);
	check_flaws(capture, 1, "trace_pipe_raw");
	capture_close(capture);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, make_capture, remove_test_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(test_made_by_hand),
		RUN(test_least),
		RUN(test_described),
		RUN(test_whose_run_it_was),
		RUN(test_pids_that_are_none),
		RUN(test_foreign_clock),
		RUN(test_byte_order_from_data),
		RUN(test_byte_order_behind_empty_pages),
		RUN(test_byte_order_of_32_bits),
		RUN(test_described_byte_order_is_not_guessed),
		RUN(test_not_there),
		RUN(test_no_header_page),
		RUN(test_no_cpu_directory),
		RUN(test_cpu_without_data),
		RUN(test_functions),
		RUN(test_functions_without_a_filter),
		RUN(test_tracer),
		RUN(test_no_format_of_windows),
		RUN(test_events),
		RUN(test_rounds),
		RUN(test_cut_last_page),
		RUN(test_empty_file),
		RUN(test_no_room),
		RUN(test_sink_that_fails),
		RUN(test_cpu_that_fails_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
