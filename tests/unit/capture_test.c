// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/capture/read.h"
#include "cpu_files.h"
#include "notes.h"
#include "unit_test.h"

#define FIELD(name, offset, size)                                                                  \
	"\tfield: type " name ";\toffset:" offset ";\tsize:" size ";\tsigned:0;\n"

static const char header_page[] =
	FIELD("timestamp", "0", "8") FIELD("commit", "8", "8") FIELD("data", "16", "4080");
static const char header_page_32[] =
	FIELD("timestamp", "0", "8") FIELD("commit", "8", "4") FIELD("data", "12", "4084");
static const char exit_format[] = "name: funcgraph_exit\nID: 10\nformat:\n";

/* The smallest readable capture. */
static int make_capture(void **state)
{
	if (make_test_directory(state))
		return -1;
	forget_pages();
	put_text("events/header_page", header_page);
	put_text("events/ftrace/funcgraph_exit/format", exit_format);
	put_text("set_ftrace_filter", "shrink_slab\n__alloc_pages\n");
	put_cpu(0, 2);
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

#define RUN(test) UNIT_TEST_WITH(test, make_capture, remove_test_directory)

static void note_pressure(const char *name, const struct memory_pressure *pressure)
{
	if (pressure->known)
		note("%s %u/%u %" PRIu64 "/%" PRIu64 " ", name, pressure->some_avg10,
		     pressure->full_avg10, pressure->some, pressure->full);
	if (pressure->oom_kills)
		note("kills %" PRIu64 " ", pressure->oom_kills);
	if (pressure->refaults)
		note("refaults %" PRIu64 " ", pressure->refaults);
}

static void note_source(const struct data_source *source)
{
	clear_notes();
	if (*source->host)
		note("host '%s' ", source->host);
	if (*source->release)
		note("release '%s' ", source->release);
	if (*source->machine)
		note("machine '%s' ", source->machine);
	if (source->started)
		note("started %" PRIu64 " ", source->started);
	if (source->own)
		note("own %d ", source->own);
	for (const pid_t *pid = source->recorded; pid && *pid; pid++)
		note("pid %d ", *pid);
	note_pressure("before", &source->pressure_before);
	note_pressure("after", &source->pressure_after);
}

/*
 * What a capture does not say of its machine is not known. With invalid pids all processes are shown
 * rather than the wrong ones. A recording has no pressure after it until it ends.
 */
RUN(test_source)
{
	static const struct {
		const char *description, *expected;
	} cases[] = {
		{ "host a\\040b\\377\nmachine s390x\nrelease 6.1\ndate 2026-11-21T16:19:41Z\n",
		  "host 'a b\377' release '6.1' machine 's390x' started 1795277981000000000 " },
		{ "clock local\n", "" },
		{ "host -\ndate 2026-11-21\n", "" },
		{ "host\ndate 2026-13-21T16:19:41Z\n", "" },
		{ "date 2026-11-21T16:19:41Zulu\n", "" },
		{ "date 1969-12-31T23:59:59Z\n", "" },
		{ "date 9999-12-31T23:59:59Z\n", "" },
		{ NULL, "" },
		{ "byte_order little\nown 812\npids 1 4194304 77\nlost cpu0 5\n",
		  "own 812 pid 1 pid 4194304 pid 77 " },
		{ "byte_order little\nown 812\n", "own 812 " },
		{ "pids \n812\n", "" },
		{ "pids 5 x\n", "" },
		{ "pids 5 0\n", "" },
		{ "pids -5\n", "" },
		{ "pids 5 99999999999\n", "" },
		{ "pids 5\t6,7", "" },
		{ "pressure_before some avg10=0.50 total=7 full avg10=0.00 total=3\n"
		  "pressure_after some avg10=99.99 total=70 full avg10=1.00 total=30\n",
		  "before 50/0 7/3 after 9999/100 70/30 " },
		{ "pressure_before some avg10=0.50 total=7 full avg10=0.00 total=3\n",
		  "before 50/0 7/3 " },
		{ "pressure_after some avg10=0.50 total=7 full avg10=0.00 total=3 oom_kill 4\n",
		  "after 50/0 7/3 kills 4 " },
		{ "pressure_before some avg10=0.50 total=7 full avg10=0.00 total=3 oom_kill 0 "
		  "workingset_refault 8\n",
		  "before 50/0 7/3 refaults 8 " },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct capture *capture;

		put_or_remove("capture", cases[i].description);
		capture = open_it();
		note_source(capture_source(capture));
		assert_string_equal(notes.text, cases[i].expected);
		capture_close(capture);
	}
}

/* One damaged file is one flaw; the description is empty after a power cut. */
RUN(test_empty_files)
{
	static const char *const files[][2] = {
		{ "events/ftrace/funcgraph_exit/format", "funcgraph_exit/format: empty" },
		{ "capture", "capture: no byte order in it" },
	};

	for (size_t i = 0; i < COUNT(files); i++) {
		struct capture *capture;

		put_text(files[i][0], "");
		capture = open_it();
		check_flaws(capture, 1, files[i][1]);
		capture_close(capture);
		put_text(files[i][0], i ? "byte_order little\n" : exit_format);
	}
}

/* The file `capture` overrides the copied files of the tracing directory. */
RUN(test_description)
{
	static const struct {
		const char *description, *clock, *tracer, *threshold;
		uint64_t ns;
		const char *clock_name;
		bool local_clock;
		bool function_graph;
	} cases[] = {
		{ NULL, NULL, NULL, NULL, 0, "", true, true },
		{ NULL, "[local] global counter\n", "function_graph\n", "134\n", 134000, "local",
		  true, true },
		{ NULL, "local global counter [mono] boot\n", "nop\n", "0\n", 0, "mono", false,
		  false },
		{ "byte_order little\nlong_size 8\npage_size 4096\nrelease 6.1\nclock local\n"
		  "tracer function_graph\nthreshold_us 50\n",
		  "local [global]\n", "nop\n", "999\n", 50000, "local", true, true },
		{ "byte_order little\nclock global\ntracer nop\n", "[local] global\n",
		  "function_graph\n", "999\n", 0, "global", false, false },
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
		assert_string_equal(capture_source(capture)->clock, cases[i].clock_name);
		assert_int_equal(capture_source(capture)->local_clock, cases[i].local_clock);
		assert_int_equal(offer.function_graph, cases[i].function_graph);
		assert_int_equal(capture_source(capture)->cpus.count, 1);
		check_flaws(capture, 0, "");
		capture_close(capture);
	}
	capture_close(NULL);
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
RUN(test_byte_order)
{
	static char bytes[3 * PAGE];

	check_order(false, 8, 1);
	put_pages(0, 2, true, 0);
	check_order(true, 8, 1);
	put_bytes(cpu_file(0), bytes, sizeof(bytes));
	fill_page(bytes + 2 * PAGE, true, 8, 'x');
	put_bytes(cpu_file(4), bytes, sizeof(bytes));
	check_order(true, 8, 2);
	put_text("capture", "byte_order little\n");
	check_order(false, 8, 2);
	unlink(test_path("capture"));
	put_text("events/header_page", header_page_32);
	fill_page(bytes, true, 4, 'x');
	put_bytes(cpu_file(0), bytes, PAGE);
	check_order(true, 4, 2);
}

/* --- what is offered --- */

static void check_functions(const char *expected)
{
	struct capture *capture = open_it();
	struct plan_offer offer;
	char names[1024] = "";

	capture_offer(capture, &offer);
	assert_true(offer.function_graph);
	for (char *const *name = offer.functions; name && *name; name++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s ", *name);
	assert_string_equal(names, expected);
	capture_close(capture);
}

RUN(test_functions)
{
	check_functions("shrink_slab __alloc_pages ");
	put_text("set_ftrace_filter",
		 "shrink_slab\nxfs_alloc [xfs]\nkswapd:traceoff:unlimited\n#### x ####\nlast");
	put_text("available_filter_functions", "all_1\nall_2 [mod]\n");
	check_functions("shrink_slab xfs_alloc last ");
	/* without a filter */
	put_text("set_ftrace_filter", "#### all functions enabled ####\n");
	check_functions("all_1 all_2 ");
	put_text("set_ftrace_filter", "");
	check_functions("all_1 all_2 ");
	unlink(test_path("set_ftrace_filter"));
	check_functions("all_1 all_2 ");
	unlink(test_path("available_filter_functions"));
	check_functions("");
}

/* --- pages --- */

static uint64_t offsets[8]; /* of the first pages */

static void read_all(struct capture *capture)
{
	const struct cpu_list *cpus = &capture_source(capture)->cpus;
	struct capture_page page;

	for (int place = 0; place < cpus->count; place++)
		while (capture_read(capture, place, &page)) {
			if (came.pages < (int)COUNT(offsets))
				offsets[came.pages] = page.offset;
			note_page(cpus->numbers[place], page.data, page.length, page.last);
		}
}

/* Reads all pages, of which one is the last of its file and has @length bytes. */
static void check_pages(struct capture *capture, int pages, size_t length)
{
	forget_pages();
	read_all(capture);
	assert_int_equal(came.pages, pages);
	assert_int_equal(came.last, 1);
	assert_int_equal(came.length, length);
	check_flaws(capture, 0, "");
	capture_close(capture);
}

/* Pages of a CPU are read some at a time, and stay as they are while other CPUs are read. */
RUN(test_pages)
{
	struct capture *capture;
	struct capture_page first, page;

	put_pages(0, 101, false, 100);
	put_cpu(1, 1);
	put_text("per_cpu/cpu2/trace_pipe_raw", "");
	capture = open_it();
	assert_int_equal(capture_read(capture, 1, &first), 1);
	assert_true(first.last);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(capture_read(capture, 0, &page), 1);
		assert_int_equal(*(const char *)page.data, 'a' + i % 26);
		assert_int_equal(page.offset, i * PAGE);
		assert_int_equal(page.length, PAGE);
		assert_false(page.last);
	}
	assert_int_equal(capture_read(capture, 0, &page), 1);
	assert_int_equal(page.length, PAGE - 100); /* the file ends in a page */
	assert_true(page.last);
	assert_int_equal(*(const char *)first.data, 'a');
	for (int i = 0; i < 2; i++)
		for (int place = 0; place < 3; place++)
			assert_int_equal(capture_read(capture, place, &page), 0);
	check_flaws(capture, 0, "");
	capture_close(capture);
}

/* Each page comes with the time of the next one, also of one that is read later. */
RUN(test_times_of_next_pages)
{
	static char bytes[70 * PAGE];
	struct capture *capture;
	struct capture_page page;

	for (int i = 0; i < 70; i++) {
		bytes[i * PAGE] = (char)(i + 1);
		bytes[i * PAGE + 8] = 4; /* commit */
	}
	put_bytes(cpu_file(0), bytes, sizeof(bytes));
	capture = open_it();
	for (int i = 0; i < 69; i++) {
		assert_int_equal(capture_read(capture, 0, &page), 1);
		assert_int_equal(*(const char *)page.data, i + 1);
		assert_int_equal(page.next_ts, i + 2);
	}
	assert_int_equal(capture_read(capture, 0, &page), 1);
	assert_int_equal(page.next_ts, UINT64_MAX);
	capture_close(capture);
}

static void check_flaw_of_cpu1(const char *flaw)
{
	struct capture *capture = open_it();

	read_all(capture);
	assert_string_equal(came.out, "0:a 0:b ");
	check_flaws(capture, 1, flaw);
	capture_close(capture);
}

/* A file that cannot be read is a flaw, and the other CPUs are read. */
RUN(test_cpu_that_fails_to_read)
{
	make_test_folders("per_cpu/cpu1/trace_pipe_raw/x");
	check_flaw_of_cpu1("trace_pipe_raw");
}

static void put_fifo(const char *name)
{
	make_test_folders(name);
	unlink(test_path(name));
	assert_int_equal(mkfifo(test_path(name), 0600), 0);
}

static void check_flaw_of_file(const char *name, const char *flaw)
{
	struct capture *capture = open_it();
	char expected[128];

	snprintf(expected, sizeof(expected), "%s: %s", name, flaw);
	check_flaws(capture, 1, expected);
	capture_close(capture);
	unlink(test_path(name));
}

/* A FIFO would wait for a writer; a link may lead out of the capture. */
RUN(test_files_that_are_not_regular)
{
	static const char *const names[] = { "kallsyms", "mountinfo", "saved_cmdlines",	  "tasks",
					     "cgroups",	 "capture",   "set_ftrace_filter" };
	struct failure failure = { .text = "" };
	struct capture *capture;

	put_fifo("per_cpu/cpu1/trace_pipe_raw");
	check_flaw_of_cpu1("per_cpu/cpu1/trace_pipe_raw: not a regular file");
	unlink(test_path("per_cpu/cpu1/trace_pipe_raw"));
	for (size_t i = 0; i < COUNT(names); i++) {
		put_fifo(names[i]);
		check_flaw_of_file(names[i], "not a regular file");
		assert_int_equal(symlink("/etc/passwd", test_path(names[i])), 0);
		check_flaw_of_file(names[i], "a symbolic link");
	}
	put_fifo("events/header_page");
	assert_int_equal(capture_open(&capture, test_directory, &failure), -EMEDIUMTYPE);
	assert_non_null(strstr(failure.text, "events/header_page: not a regular file"));
}

/* FILE:BUFFER names a file: a directory before a colon is part of the name. */
RUN(test_colon_after_a_directory)
{
	struct failure failure = { 0 };
	struct capture *capture;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s:x", test_directory);
	assert_int_equal(capture_open(&capture, path, &failure), -ENOENT);
	assert_non_null(strstr(failure.text, path));
}

/* Only the name that the kernel gives to a CPU is one; it may have no data. */
RUN(test_names_of_cpus)
{
	static const char *const others[] = { "cpu00",
					      "cpu01",
					      "cpu+1",
					      "cpu 1",
					      "cpu-1",
					      "cpu1x",
					      "cpu",
					      "cpu0x1",
					      "cpu65536",
					      "cpu4294967296",
					      "cpu18446744073709551617" };
	struct capture *capture;
	char name[64];

	put_cpu(1, 3);
	put_cpu(65535, 1);
	make_test_folders("per_cpu/cpu3/x");
	for (size_t i = 0; i < COUNT(others); i++) {
		snprintf(name, sizeof(name), "per_cpu/%s/trace_pipe_raw", others[i]);
		put_text(name, "x");
	}
	capture = open_it();
	assert_int_equal(capture_source(capture)->cpus.count, 4);
	assert_int_equal(capture_source(capture)->cpus.numbers[2], 3);
	read_all(capture);
	assert_string_equal(came.out, "0:a 0:b 1:a 1:b 1:c 65535:a ");
	for (int i = 0; i < 6; i++)
		assert_int_equal(offsets[i], (i < 2 ? i : i < 5 ? i - 2 : 0) * PAGE);
	check_flaws(capture, 0, "");
	capture_close(capture);
}

/* A hole costs nothing however large it is: it counts as one page of zeros. */
RUN(test_holes)
{
	static char zeros[PAGE];
	struct capture *capture;
	char page[PAGE];
	int fd;

	fill_page(page, true, 8, 'x');
	put_bytes(cpu_file(0), zeros, PAGE);
	fd = open(test_path(cpu_file(0)), O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, page, PAGE, 1ll << 42), PAGE);
	assert_int_equal(ftruncate(fd, (1ll << 43) + 100), 0);
	close(fd);
	capture = open_it();
	assert_true(capture_source(capture)->layout.big_endian);
	/* the page of zeros, the first hole, the page, the second hole, which ends in a page's part */
	check_pages(capture, 4, 100);
	assert_int_equal(offsets[0], 0);
	assert_int_equal(offsets[1], (1ll << 42) - PAGE);
	assert_int_equal(offsets[2], 1ll << 42);
	assert_int_equal(offsets[3], 1ll << 43);
}

static void append(const void *bytes, size_t length)
{
	int fd = open(test_path(cpu_file(0)), O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

/* What a power cut leaves of data that was not on the disk yet; before data it is damage. */
RUN(test_end_of_zeros)
{
	static char zeros[100 * PAGE + 100];

	append(zeros, sizeof(zeros));
	check_pages(open_it(), 3, PAGE);
	append("x", 1);
	check_pages(open_it(), 103, 101);
}

/* One that is being written is read as far as it was when it was opened. */
RUN(test_file_that_grows)
{
	char page[PAGE + 100];
	struct capture *capture;

	memset(page, 'x', sizeof(page));
	append(page, 100);
	capture = open_it();
	append(page, sizeof(page));
	check_pages(capture, 3, 100);
}

UNIT_TEST_MAIN(NULL, NULL)
