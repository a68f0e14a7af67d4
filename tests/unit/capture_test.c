// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/capture.h"
#include "test_directory.h"
#include "unit_test.h"

#define PAGE 4096

#define FIELD(name, offset, size) "\tfield: type " name ";\toffset:" offset ";\tsize:" size ";\n"

static const char header_page[] =
	FIELD("timestamp", "0", "8") FIELD("commit", "8", "8") FIELD("data", "16", "4080");
static const char header_page_32[] =
	FIELD("timestamp", "0", "8") FIELD("commit", "8", "4") FIELD("data", "12", "4084");
static const char exit_format[] = "name: funcgraph_exit\nID: 10\nformat:\n";

/* A page whose commit is 0x120, impossible in the other byte order. */
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

/* The smallest readable capture. */
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

static int check_refused(const char *named)
{
	struct capture *capture = NULL;
	struct failure failure = { .text = "" };
	int ret = capture_open(&capture, test_directory, &failure);

	assert_true(ret < 0);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_non_null(strstr(failure.text, named));
	assert_non_null(strstr(failure.text, test_directory));
	assert_null(capture);
	return ret;
}

static void check_flaws(const struct capture *capture, uint64_t count, const char *named)
{
	const struct capture_info *info = capture_info(capture);

	assert_int_equal(info->flaws, count);
	assert_non_null(strstr(info->first_flaw, named));
	assert_int_equal(*info->first_flaw != '\0', count != 0);
}

/* --- what it is --- */

static void put_or_remove(const char *name, const char *text)
{
	if (text)
		put_text(name, text);
	else
		unlink(test_path(name));
}

/* The file `capture` overrides the copied files of the tracing directory. */
static void test_description(void **state)
{
	static const struct {
		const char *description, *clock, *tracer, *threshold;
		uint64_t ns;
		bool local_clock;
		bool function_graph;
	} cases[] = {
		{ NULL, NULL, NULL, NULL, 0, true, true },
		{ NULL, "[local] global counter\n", "function_graph\n", "134\n", 134000, true,
		  true },
		{ NULL, "local global counter [mono] boot\n", "nop\n", "0\n", 0, false, false },
		{ "byte_order little\nlong_size 8\npage_size 4096\nrelease 6.1\nclock local\n"
		  "tracer function_graph\nthreshold_us 50\n",
		  "local [global]\n", "nop\n", "999\n", 50000, true, true },
		{ "byte_order little\nclock global\ntracer nop\n", "[local] global\n",
		  "function_graph\n", "999\n", 0, false, false },
	};
	struct plan_offer offer;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct capture *capture;

		put_or_remove("capture", cases[i].description);
		put_or_remove("trace_clock", cases[i].clock);
		put_or_remove("current_tracer", cases[i].tracer);
		put_or_remove("tracing_thresh", cases[i].threshold);
		capture = open_it();
		capture_offer(capture, &offer);
		assert_int_equal(capture_info(capture)->described, cases[i].description != NULL);
		assert_int_equal(capture_info(capture)->threshold, cases[i].ns);
		assert_int_equal(capture_source(capture)->local_clock, cases[i].local_clock);
		assert_int_equal(offer.function_graph, cases[i].function_graph);
		assert_int_equal(capture_source(capture)->cpus.count, 1);
		check_flaws(capture, 0, "");
		capture_close(capture);
	}
	capture_close(NULL);
}

/* Invalid pids: all processes are shown rather than the wrong ones. */
static void test_processes(void **state)
{
	static const struct {
		const char *description;
		pid_t own;
		pid_t pids[4];
	} cases[] = {
		{ "byte_order little\nown 812\npids 1 4194304 77\nlost cpu0 5\n",
		  812,
		  { 1, 4194304, 77 } },
		{ "byte_order little\nown 812\n", 812, { 0 } },
		{ "pids \n812\n", 0, { 0 } },
		{ "pids 5 x\n", 0, { 0 } },
		{ "pids 5 0\n", 0, { 0 } },
		{ "pids -5\n", 0, { 0 } },
		{ "pids 5 99999999999\n", 0, { 0 } },
		{ "pids 5\t6,7", 0, { 0 } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct data_source *source;
		struct capture *capture;

		put_text("capture", cases[i].description);
		capture = open_it();
		source = capture_source(capture);
		assert_int_equal(source->own, cases[i].own);
		assert_int_equal(source->recorded != NULL, cases[i].pids[0] != 0);
		if (source->recorded)
			assert_memory_equal(source->recorded, cases[i].pids, sizeof(cases[i].pids));
		capture_close(capture);
	}
}

static void check_order(bool big_endian, int long_size, int cpus)
{
	struct capture *capture = open_it();
	const struct data_source *source = capture_source(capture);

	assert_int_equal(source->layout.big_endian, big_endian);
	assert_int_equal(source->layout.long_size, long_size);
	assert_int_equal(source->cpus.count, cpus);
	capture_close(capture);
}

/* The first page that shows its order decides, on any CPU, unless the description has it. */
static void test_byte_order(void **state)
{
	static unsigned char bytes[3 * PAGE];

	check_order(false, 8, 1);
	put_pages(0, 2, true, 0);
	check_order(true, 8, 1);
	put_bytes("per_cpu/cpu0/trace_pipe_raw", bytes, sizeof(bytes));
	fill_page(bytes + 2 * PAGE, true, 8, 'x');
	put_bytes("per_cpu/cpu4/trace_pipe_raw", bytes, sizeof(bytes));
	check_order(true, 8, 2);
	put_text("capture", "byte_order little\n");
	check_order(false, 8, 2);
	unlink(test_path("capture"));
	put_text("events/header_page", header_page_32);
	fill_page(bytes, true, 4, 'x');
	put_bytes("per_cpu/cpu0/trace_pipe_raw", bytes, PAGE);
	check_order(true, 4, 2);
}

/* --- what is missing --- */

static void test_no_header_page(void **state)
{
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

	snprintf(command, sizeof(command), "rm -r '%s/per_cpu'", test_directory);
	assert_int_equal(system(command), 0);
	check_refused("no CPU directory");
	make_test_folders("per_cpu/cpu0/x");
	check_refused("trace_pipe_raw");
	remove_test_directory(state);
	assert_int_equal(check_refused(""), -ENOENT);
	make_test_directory(state);
}

static void test_cpu_without_data(void **state)
{
	struct capture *capture;

	make_test_folders("per_cpu/cpu3/x");
	capture = open_it();
	assert_int_equal(capture_source(capture)->cpus.count, 2);
	assert_int_equal(capture_source(capture)->cpus.numbers[1], 3);
	capture_close(capture);
}

/* --- what is offered --- */

static int append_name(void *visitor, const char *name)
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
	assert_int_equal(offer.functions(offer.context, append_name, names), ret);
	assert_string_equal(names, expected);
	capture_close(capture);
}

static void test_functions(void **state)
{
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

static void test_no_format_of_windows(void **state)
{
	struct capture *capture;
	struct plan_offer offer;

	put_text("events/ftrace/funcgraph_exit/format", "");
	capture = open_it();
	capture_offer(capture, &offer);
	assert_false(offer.function_graph);
	assert_true(capture_info(capture)->flaws > 0);
	capture_close(capture);
}

static void test_events(void **state)
{
	struct capture *capture;
	struct plan_offer offer;

	put_text("events/vmscan/good/format", "name: good\nID: 300\nformat:\n");
	make_test_folders("events/vmscan/missing/x");
	put_text("events/vmscan/empty/format", "");
	put_text("events/vmscan/noise/format", "\x01\x02\x03");
	capture = open_it();
	capture_offer(capture, &offer);
	assert_true(offer.has_event(offer.context, "vmscan", "good"));
	/* an event that the kernel lacked is no flaw */
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
	struct capture *capture;
	int pages;
	int left;
	int last;      /* pages passed on as the last of their file */
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

	assert_non_null(page);
	if (++run->pages == run->fail_at)
		return -EPIPE;
	run->last += last;
	run->length = length;
	return 0;
}

static void left_with_data(void *context, int cpu)
{
	((struct run *)context)->left++;
}

static void start(struct run *run)
{
	*run = (struct run){ .capture = open_it(), .refused = -1 };
}

static int next_round(struct run *run)
{
	const struct source_sink sink = { run, ready, got_page, left_with_data };

	return capture_round(run->capture, &sink);
}

static void test_rounds(void **state)
{
	struct run run;

	put_pages(0, 2 * SOURCE_QUOTA + 1, false, 100);
	put_pages(1, 1, false, 0);
	put_text("per_cpu/cpu2/trace_pipe_raw", "");
	start(&run);
	assert_int_equal(next_round(&run), 1);
	assert_int_equal(run.pages, SOURCE_QUOTA + 1);
	assert_int_equal(run.left, 1);
	assert_int_equal(next_round(&run), 1);
	assert_int_equal(next_round(&run), 0);
	assert_int_equal(run.pages, 2 * SOURCE_QUOTA + 2);
	assert_int_equal(run.left, 2);
	assert_int_equal(run.last, 2);
	assert_int_equal(run.length, PAGE - 100); /* the file ends in a page */
	assert_int_equal(next_round(&run), 0);
	check_flaws(run.capture, 0, "");
	capture_close(run.capture);
}

static void test_no_room_and_a_sink_that_fails(void **state)
{
	struct run run;

	start(&run);
	run.refused = 0;
	assert_int_equal(next_round(&run), 1);
	assert_int_equal(run.pages, 0);
	assert_int_equal(run.left, 1);
	run.refused = -1;
	assert_int_equal(next_round(&run), 0);
	assert_int_equal(run.pages, 2);
	capture_close(run.capture);
	start(&run);
	run.fail_at = 2;
	assert_int_equal(next_round(&run), -EPIPE);
	capture_close(run.capture);
}

/* A file that cannot be read is a flaw, and the other CPUs are read. */
static void test_cpu_that_fails_to_read(void **state)
{
	struct run run;

	make_test_folders("per_cpu/cpu1/trace_pipe_raw/x");
	start(&run);
	assert_int_equal(next_round(&run), 0);
	assert_int_equal(run.pages, 2);
	check_flaws(run.capture, 1, "trace_pipe_raw");
	capture_close(run.capture);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, make_capture, remove_test_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(test_description),
		RUN(test_processes),
		RUN(test_byte_order),
		RUN(test_no_header_page),
		RUN(test_no_cpu_directory),
		RUN(test_cpu_without_data),
		RUN(test_functions),
		RUN(test_functions_without_a_filter),
		RUN(test_no_format_of_windows),
		RUN(test_events),
		RUN(test_rounds),
		RUN(test_no_room_and_a_sink_that_fails),
		RUN(test_cpu_that_fails_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
