// SPDX-License-Identifier: GPL-2.0-or-later
/* A capture filtered in this process: exit status, messages, and what is printed. */
#include <fcntl.h>

#include "allocfilt/base/log.h"
#include "allocfilt/output/form.h"
#include "allocfilt/run/signals.h"
#include "made_event.h"
#include "test_directory.h"
#include "unit_test.h"

#define HAND_MADE "fixtures/6.1" /* without a file `capture` */
#define KEPT	  "fixtures/kept"

static struct failure failure;
static struct signals *signals;
static char *output;

/* Runs a command line, split at blanks; its stdout is in output. */
static int replay(const char *command)
{
	char *words = strdup(command), *argv[16], *rest;
	struct options options;
	struct run_context run = { .options = &options, .argv = argv, .signals = signals };
	const char *path = test_path("output");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t length;
	int ret;

	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[run.argc++] = word;
	argv[run.argc] = NULL;
	failure = (struct failure){ 0 };
	assert_int_equal(options_parse(&options, run.argc, argv, output_form_names(), &failure), 0);
	if (options.config)
		assert_int_equal(config_load(&options, &failure), 0);
	run.output = writer_new(fd, -1);
	ret = replay_run(&run, &failure);
	writer_free(run.output);
	close(fd);
	free(output);
	assert_int_equal(file_read(test_directory, "output", &output, &length), 0);
	options_free(&options);
	free(words);
	return ret;
}

static int set_up(void **state)
{
	log_set_level(LOG_LEVEL_ERROR);
	return make_test_directory(state) || signals_block(&signals);
}

static int tear_down(void **state)
{
	signals_free(signals);
	free(output);
	return remove_test_directory(state);
}

static void copy_capture(const char *from)
{
	shell("rm -rf %s/c && cp -r %s %s/c && chmod -R u+w %s/c", test_directory, from,
	      test_directory, test_directory);
}

static int replay_copy(const char *options)
{
	char command[512];

	snprintf(command, sizeof(command), "allocfilt -s %s/c %s", test_directory, options);
	return replay(command);
}

static int count_lines(const char *with)
{
	int count = 0;

	for (const char *at = output; (at = strstr(at, with)); at++)
		count++;
	return count;
}

/* A capture has nothing shorter than its own threshold, or the tracing_thresh that is found in it. */
UNIT_TEST(test_threshold_of_the_capture)
{
	int all;

	assert_int_equal(replay("allocfilt -s " KEPT), 0);
	all = count_lines("__alloc_frozen_pages_noprof */");
	assert_true(all > 0);
	assert_int_equal(replay("allocfilt -s " KEPT " -t 1"), 0);
	assert_int_equal(count_lines("__alloc_frozen_pages_noprof */"), all);
	/* Its functions were traced from 50 us on: headings say so. Without them, pairs have any time. */
	assert_int_equal(replay("allocfilt -s " KEPT " -t 10 -f json"), 0);
	assert_int_equal(count_lines("\"threshold_ns\":50000,"), 2);
	assert_int_equal(replay("allocfilt -s " KEPT " -t 10 -f json --function-graph=no"), 0);
	assert_int_equal(count_lines("\"threshold_ns\":10000,"), 2);
	assert_int_equal(replay("allocfilt -s " KEPT " -t 10 --report=20"), -EINVAL);
	assert_non_null(strstr(failure.text, "--report 20 us is below the threshold of 50 us"));
	assert_int_equal(replay("allocfilt -s " HAND_MADE), 0);
	all = count_lines(" us ");
	copy_capture(HAND_MADE);
	put_text("c/tracing_thresh", "5000\n");
	assert_int_equal(replay_copy(""), 0);
	assert_in_range(count_lines(" us "), 1, all - 1);
}

UNIT_TEST(test_nothing_to_show)
{
	copy_capture(HAND_MADE);
	put_text("c/current_tracer", "nop\n");
	shell("rm -r %s/c/events/vmscan %s/c/events/compaction", test_directory, test_directory);
	assert_int_equal(replay_copy("-t 50"), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_non_null(strstr(failure.text, "/c: it has neither function_graph nor"));
}

/* The recording process (own) and processes not in pids of the capture are not shown. */
UNIT_TEST(test_processes_of_the_capture)
{
	char *text;
	size_t length;
	char described[2048];

	copy_capture(KEPT);
	assert_int_equal(replay_copy(""), 0);
	assert_true(count_lines("kswapd0-51 ") > 0);
	assert_true(count_lines("kcompac-40 ") > 0);
	assert_int_equal(file_read(KEPT, "capture", &text, &length), 0);
	snprintf(described, sizeof(described), "%sown 51\n", text);
	put_text("c/capture", described);
	assert_int_equal(replay_copy(""), 0);
	assert_int_equal(count_lines("kswapd0-51 "), 0);
	assert_true(count_lines("kcompac-40 ") > 0);
	snprintf(described, sizeof(described), "%spids 51\n", text);
	put_text("c/capture", described);
	assert_int_equal(replay_copy(""), 0);
	assert_true(count_lines("kswapd0-51 ") > 0);
	assert_int_equal(count_lines("kcompac-40 "), 0);
	/* -p on the command line overrides pids of the capture */
	assert_int_equal(replay_copy("-p 40"), 0);
	assert_int_equal(count_lines("kswapd0-51 "), 0);
	assert_true(count_lines("kcompac-40 ") > 0);
	free(text);
}

/* The tasks of stalls that are shown: "239 249". */
static const char *shown_tasks(const char *option)
{
	static const int tids[] = { 40, 51, 219, 221, 239, 249 };
	static char text[64];
	char stall[64];
	int used = 0;

	assert_int_equal(replay_copy(option), 0);
	*strstr(output, "{\"type\":\"summary\"") = '\0';
	*text = '\0';
	for (size_t i = 0; i < COUNT(tids); i++) {
		snprintf(stall, sizeof(stall), "\"task\":{\"tid\":%d,", tids[i]);
		if (strstr(output, stall))
			used += snprintf(text + used, sizeof(text) - used, "%s%d", used ? " " : "",
					 tids[i]);
	}
	return text;
}

/* Of the tasks one has no cgroup, one has one below a unit, and a name with a backslash. */
UNIT_TEST(test_filters)
{
	static const char *const cases[][2] = {
		{ "--comm=*", "40 51 219 221 239 249" },
		{ "--comm=pressure", "219 221 239 249" },
		{ "--comm=press", "" },
		{ "--comm=k*d[0-9]", "40 51" },
		{ "--comm=p?[a-f]s*", "219 221 239 249" },
		{ "--cgroup=*", "40 51 219 239 249" },
		{ "--cgroup=/", "40 51 219 239 249" },
		{ "--cgroup=/system.slice/batch.service", "239" },
		{ "--cgroup=batch.service", "239" },
		{ "--cgroup=batch", "" },
		{ "--cgroup=*.service", "219 239 249" },
		{ "--cgroup=/system.slice", "219 239 249" },
		{ "--cgroup=system.slice", "219 239 249" },
		{ "--cgroup=system.slice/batch.service", "" },
		{ "--cgroup=other\\x2da.service", "249" },
		{ "--cgroup=sub", "249" },
		{ "--cgroup=/*/sub", "249" },
		{ "--cgroup=[!/]*.service --comm=k*", "" },
		{ "--min-order=63", "" },
	};

	copy_capture(KEPT);
	put_text("c/tasks", "40 40 k kcompactd0 /\n"
			    "51 51 k kswapd0 /\n"
			    "219 219 - pressure /system.slice/web.service\n"
			    "221 221 - pressure \n"
			    "239 239 - pressure /system.slice/batch.service\n"
			    "249 249 - pressure /system.slice/other\\x2da.service/sub\n");
	for (size_t i = 0; i < COUNT(cases); i++) {
		char option[128];

		snprintf(option, sizeof(option), "-f json %s", cases[i][0]);
		if (strcmp(shown_tasks(option), cases[i][1]))
			fail_msg("%s: '%s' and not '%s'", cases[i][0], shown_tasks(option),
				 cases[i][1]);
	}
}

/* The stall of a task in JSON, up to its CPU; NULL: there is none. */
static const char *first_task(int tid)
{
	static char text[256];
	char stall[64];
	const char *at;

	assert_int_equal(replay_copy("-f json"), 0);
	snprintf(stall, sizeof(stall), "\"task\":{\"tid\":%d,", tid);
	at = strstr(output, stall);
	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "}"), at);
	return text;
}

/*
 * The name kswapd0 counts where no process is known, as in a recording made by hand. Where others are
 * known, this task had ended, which kswapd does not.
 */
UNIT_TEST(test_name_of_kswapd)
{
	copy_capture(KEPT);
	assert_non_null(strstr(first_task(51), ",\"cgroup\":\"/\",\"background\":true"));
	put_text("c/tasks", "40 40 k kcompactd0 /\n");
	assert_string_equal(first_task(51),
			    "\"task\":{\"tid\":51,\"name\":\"kswapd0\",\"ended\":true");
	put_text("c/tasks", "");
	assert_string_equal(first_task(51),
			    "\"task\":{\"tid\":51,\"name\":\"kswapd0\",\"background\":true");
}

/* ---- COMMAND ---- */

static const struct made_event exit_event = { "funcgraph_exit", 10,
					      "func 8, int depth 4, unsigned int overrun 4, "
					      "calltime 8, rettime 8",
					      "\"\"" };
/* as of 6.1, as are the next two */
static const struct made_event exec_event = { "sched_process_exec", 19, "pid_t pid 4s",
					      "\"pid=%d\", REC->pid" };
static const struct made_event fork_event = { "sched_process_fork", 20,
					      "char parent_comm[16] 16, pid_t parent_pid 4s, "
					      "char child_comm[16] 16, pid_t child_pid 4s",
					      "\"child_pid=%d\", REC->child_pid" };
static const struct made_event end_event = { "sched_process_exit", 21,
					     "char comm[16] 16, pid_t pid 4s, int prio 4s",
					     "\"pid=%d\", REC->pid" };
static const struct made_event throttled_event = { "mm_vmscan_throttled", 22,
						   "int nid 4s, int usec_timeout 4s, "
						   "int usec_delayed 4s, int reason 4s",
						   "\"nid=%d\", REC->nid" };

static struct made_page data;

static void put_record(const struct made_event *event, int tid, int flags,
		       const struct made_value *values)
{
	struct made_page payload;

	make_payload(&payload, &made_layouts[0], event, values);
	payload.bytes[2] = (unsigned char)flags;
	made_number(&made_layouts[0], payload.bytes + 4, (uint64_t)tid, 4);
	made_record(&data, 1000000, payload.bytes, (payload.at + 3) / 4 * 4);
}

/* Ends 1 ms after the record before it, which it contains. */
static void put_window(int tid, int flags)
{
	static uint64_t number;
	uint64_t end = ++number * 1000000;

	put_record(&exit_event, tid, flags,
		   VALUES({ "func", 0x1000 }, { "depth", 0 }, { "overrun", 0 },
			  { "calltime", end - 999999 }, { "rettime", end }));
}

static void put_fork(int tid, int child)
{
	put_record(&fork_event, tid, 0,
		   VALUES({ "parent_pid", (uint64_t)tid }, { "child_pid", (uint64_t)child }));
}

static void put_format(const char *group, const struct made_event *event)
{
	char path[256];

	snprintf(path, sizeof(path), "c/events/%s/%s/format", group, event->name);
	put_text(path, format_of(event));
}

#define DESCRIBED                                                                                  \
	"capture 1\nbyte_order little\nlong_size 8\npage_size 4096\nclock local\n"                 \
	"tracer function_graph\nthreshold_us 100\n"

static void make_capture(void)
{
	shell("rm -rf %s/c && mkdir -p %s/c/events %s/c/per_cpu/cpu0 && "
	      "cp --no-preserve=mode fixtures/6.1/events/header_page %s/c/events/",
	      test_directory, test_directory, test_directory, test_directory);
	put_format("ftrace", &exit_event);
	put_text("c/set_ftrace_filter", "__alloc_pages\nreclaim_throttle\n");
	put_text("c/kallsyms", "0000000000001000 T __alloc_pages\n");
	put_text("c/capture", DESCRIBED);
}

/*
 * It and what it forks are shown, also when who forked it is gone; a number that is free is
 * another's. After a loss an event, which the kernel writes of them only, tells a child.
 */
UNIT_TEST(test_command)
{
	static const int shown[][2] = {
		{ 100, 1 }, { 101, 1 }, { 102, 1 }, { 103, 1 }, { 104, 0 }, { 200, 0 },
	};
	unsigned char pages[2][MADE_PAGE_SIZE];

	make_capture();
	put_format("sched", &fork_event);
	put_format("sched", &end_event);
	put_format("vmscan", &throttled_event);
	put_text("c/capture", DESCRIBED "command 100\n");
	made_begin(&data, &made_layouts[0], 0);
	put_window(200, 0);
	put_window(100, 0);
	put_window(100, MADE_FLAGS); /* in an interrupt */
	put_window(101, 0);	     /* another's */
	put_fork(100, 101);
	put_window(101, 0);
	put_fork(101, 102);
	put_record(&end_event, 101, 0, NULL);
	put_window(101, 0); /* another's again */
	put_window(102, 0);
	put_window(103, 0);
	made_end(&data, 0);
	memcpy(pages[0], data.bytes, MADE_PAGE_SIZE);
	made_begin(&data, &made_layouts[0], 100000000);
	put_record(&throttled_event, 103, 0, NULL);
	put_window(103, 0);
	put_window(104, 0);
	made_end(&data, MADE_MISSED);
	memcpy(pages[1], data.bytes, MADE_PAGE_SIZE);
	put_bytes("c/per_cpu/cpu0/trace_pipe_raw", (const char *)pages, sizeof(pages));
	assert_int_equal(replay_copy(""), 0);
	for (size_t i = 0; i < COUNT(shown); i++) {
		char task[32];

		snprintf(task, sizeof(task), "<...>-%d    | !", shown[i][0]);
		if (count_lines(task) != shown[i][1])
			fail_msg("%d: %d lines\n%s", shown[i][0], count_lines(task), output);
	}
	/* all rather than the wrong ones */
	put_text("c/capture", DESCRIBED "command 4194304\n");
	assert_int_equal(replay_copy(""), 0);
	assert_int_equal(count_lines("<...>-200    | !"), 1);
}

/* Before its exec the child is ours, and no longer than that. */
UNIT_TEST(test_command_before_exec)
{
	make_capture();
	put_format("sched", &exec_event);
	put_format("sched", &fork_event);
	put_text("c/capture", DESCRIBED "command 100\n");
	made_begin(&data, &made_layouts[0], 0);
	put_window(100, 0);
	put_window(100, 0);
	put_record(&exec_event, 100, 0, NULL);
	put_window(100, 0);
	put_fork(100, 101);
	put_window(101, 0);
	made_end(&data, 0);
	put_bytes("c/per_cpu/cpu0/trace_pipe_raw", (const char *)data.bytes, MADE_PAGE_SIZE);
	assert_int_equal(replay_copy(""), 0);
	assert_int_equal(count_lines("<...>-100    | !"), 1);
	assert_int_equal(count_lines("<...>-101    | !"), 1);
}

/* ---- the OOM killer ---- */

/* as of 5.4: later ones tell the name as well */
static const struct made_event victim_event = { "mark_victim", 23, "int pid 4s",
						"\"pid=%d\", REC->pid" };

/*
 * Each victim is told, whoever called the killer: a task without a stall, a kworker, and allocfilt itself, which
 * is not shown. Its cgroup and limit are the recording's. A choice of stalls leaves out none; --from does.
 */
UNIT_TEST(test_oom_victims)
{
	static const struct {
		const char *options, *shown;
	} cases[] = {
		{ "", "\nOOM kills: 3\n"
		      "  2 of dd in web.service, at the limit of s; the last: 302\n"
		      "  1 of java in /, at no cgroup's limit; the last: 303\n" },
		{ "-p 9 --comm=none", "\nOOM kills: 3\n" },
		{ "-e oom:mark_victim", "\nOOM kills: 3\n" },
		{ "--from=16:19:42", "no records lost\n\nno shrinker" },
	};

	make_capture();
	put_format("oom", &victim_event);
	put_text("c/capture", DESCRIBED "own 7\ndate 2026-11-21T16:19:41Z\n");
	put_text("c/saved_cmdlines", "301 dd\n302 dd\n303 java\n");
	put_text("c/tasks", "301 301 - dd /s/web.service 2\n302 302 - dd /s/web.service 2\n"
			    "303 303 - java / 1\n");
	made_begin(&data, &made_layouts[0], NS_PER_SECOND);
	put_window(300, 0);
	for (int i = 0; i < 3; i++)
		put_record(&victim_event, (int[]){ 300, 7, 5 }[i], 0, VALUES({ "pid", 301 + i }));
	made_end(&data, 0);
	put_bytes("c/per_cpu/cpu0/trace_pipe_raw", (const char *)data.bytes, MADE_PAGE_SIZE);
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(replay_copy(cases[i].options), 0);
		if (!strstr(output, cases[i].shown))
			fail_msg("'%s': no '%s' in:\n%s", cases[i].options, cases[i].shown, output);
	}
}

/* ---- long stalls ---- */

#define LONG_PAGES    600
#define CALLS_OF_PAGE 50
#define LONG_CALLS    (LONG_PAGES * CALLS_OF_PAGE)
#define TIME_OF_PAGE  (2 * CALLS_OF_PAGE * NS_PER_MS) /* a record each millisecond */

static void put_call(uint64_t function, uint64_t depth, uint64_t calltime, uint64_t rettime)
{
	put_record(&exit_event, 100, 0,
		   VALUES({ "func", function }, { "depth", depth }, { "overrun", 0 },
			  { "calltime", calltime }, { "rettime", rettime }));
}

/* One call with 60,000 records inside: more than 4 MiB of a log hold. */
static void make_long_stall(void)
{
	FILE *file;

	make_capture();
	put_format("vmscan", &throttled_event);
	put_text("c/kallsyms", "0000000000001000 T __alloc_pages\n"
			       "0000000000002000 t reclaim_throttle\n");
	put_text("c/per_cpu/cpu0/trace_pipe_raw", "");
	file = fopen(test_path("c/per_cpu/cpu0/trace_pipe_raw"), "w");
	assert_non_null(file);
	for (uint64_t now = TIME_OF_PAGE; now <= LONG_PAGES * TIME_OF_PAGE;) {
		made_begin(&data, &made_layouts[0], now);
		for (int i = 0; i < CALLS_OF_PAGE; i++, now += 2 * NS_PER_MS) {
			put_record(&throttled_event, 100, 0, NULL);
			put_call(0x2000, 1, now + NS_PER_MS / 2, now + 2 * NS_PER_MS);
		}
		if (now > LONG_PAGES * TIME_OF_PAGE)
			put_call(0x1000, 0, TIME_OF_PAGE, now + NS_PER_MS);
		made_end(&data, 0);
		assert_int_equal(fwrite(data.bytes, MADE_PAGE_SIZE, 1, file), 1);
	}
	fclose(file);
}

/* A replay has room for what its capture holds; where there is a limit, it says what that costs. */
UNIT_TEST(test_room_for_a_long_stall)
{
	char options[256];

	make_long_stall();
	assert_int_equal(replay_copy("-f trace"), 0);
	assert_int_equal(count_lines("/* mm_vmscan_throttled: "), LONG_CALLS);
	assert_int_equal(count_lines("/* reclaim_throttle */"), LONG_CALLS);
	assert_int_equal(count_lines("/* __alloc_pages */"), 1);
	assert_int_equal(count_lines("no records lost, all stalls complete"), 1);
	put_text("conf", "limit-memory = 1M\n");
	snprintf(options, sizeof(options), "-f trace -c %.200s", test_path("conf"));
	assert_int_equal(replay_copy(options), 0);
	assert_in_range(count_lines("/* reclaim_throttle */"), 1000, LONG_CALLS / 2);
	assert_int_equal(count_lines("/* __alloc_pages */"), 1);
	assert_int_equal(count_lines("; 1 stall is incomplete (older records were dropped); 1 "
				     "stall or run of shrinkers lacks records or names"),
			 1);
	snprintf(options, sizeof(options), "-f json -c %.200s", test_path("conf"));
	assert_int_equal(replay_copy(options), 0);
	assert_true(count_lines("\"incomplete_reason\":\"dropped\"") > 0);
	assert_int_equal(count_lines("\"overflows\":{\"cpus\":0,\"names\":0,\"stalls\":1,"), 1);
}

/* ---- intervals ---- */

/* Each stall is in one interval, also at an edge that is the end of the data, or of all time. */
UNIT_TEST(test_edges_of_intervals)
{
	static const struct {
		uint64_t ts[3]; /* us after the first page */
		const char *shown;
	} cases[] = {
		{ { 0, 500000, 1000000 }, "2 1 3 stalls " },
		{ { 0, 1000000, 1002000 }, "1 2 3 stalls " },
		{ { 0, 999999, 2500000 }, "2 0 1 3 stalls " },
	};
	unsigned char pages[3][MADE_PAGE_SIZE];

	make_capture();
	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		uint64_t from = i % 2 ? UINT64_MAX - 2600 * NS_PER_MS : 7 * NS_PER_SECOND;
		char shown[256] = "", *line; /* the last one is the whole */

		for (int at = 0; at < 3; at++) {
			uint64_t ts = from + cases[i / 2].ts[at] * 1000;

			/* The record is 1 ms behind its page. */
			made_begin(&data, &made_layouts[0], ts - 1000000);
			put_record(&exit_event, 100 + at, 0,
				   VALUES({ "func", 0x1000 }, { "depth", 0 }, { "overrun", 0 },
					  { "calltime", ts - 300000 }, { "rettime", ts }));
			made_end(&data, 0);
			memcpy(pages[at], data.bytes, MADE_PAGE_SIZE);
		}
		put_bytes("c/per_cpu/cpu0/trace_pipe_raw", (const char *)pages, sizeof(pages));
		assert_int_equal(replay_copy("--interval=1"), 0);
		for (line = strtok(output, "\n"); line; line = strtok(NULL, "\n")) {
			char *end = strstr(line, " of 100 us or more"), count[32] = "";

			/* an interval's line begins with its end */
			if (end)
				snprintf(count, sizeof(count), "%.*s", (int)(end - line), line);
			else if (sscanf(line, "%*[0-9.] %31[0-9]", count) < 1)
				continue;
			snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%s ",
				 count);
		}
		assert_string_equal(shown, cases[i / 2].shown);
	}
}

/* The fourth page of CPU 1 lacks the records before it, at 00:24:51.452; bit 31 is RB_MISSED_EVENTS. */
UNIT_TEST(test_losses_of_a_range)
{
	static const struct {
		const char *options;
		int lost;
	} cases[] = {
		{ "-f summary", 1 },
		{ "-f summary --to=00:24:51.44", 0 },
		{ "-f summary --from=00:24:51.44 --to=00:24:51.46", 1 },
		{ "-f summary --from=00:24:51.46", 0 },
	};
	char *bytes;
	size_t length;

	copy_capture("fixtures/off-cpu");
	assert_int_equal(
		file_read(test_directory, "c/per_cpu/cpu1/trace_pipe_raw", &bytes, &length), 0);
	bytes[3 * 4096 + 11] |= (char)0x80;
	put_bytes("c/per_cpu/cpu1/trace_pipe_raw", bytes, length);
	free(bytes);
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(replay_copy(cases[i].options), 0);
		assert_int_equal(count_lines("\nrecords were lost"), cases[i].lost);
		assert_int_equal(count_lines("\nno records lost"), !cases[i].lost);
	}
}

/* A stop ends it between two rounds, with a summary of what was read, and stays pending; a full disk is told. */
UNIT_TEST(test_early_end)
{
	rlim_t limit;
	int all;

	assert_int_equal(replay("allocfilt -s " HAND_MADE " -t 134"), 0);
	all = count_lines("*/\n");
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGTERM);
	assert_int_equal(replay("allocfilt -s " HAND_MADE " -t 134"), 0);
	assert_in_range(count_lines("*/\n"), 1, all - 1);
	assert_int_equal(signals_next(signals), SIGTERM);
	limit = set_soft_limit(RLIMIT_FSIZE, 1 << 10);
	assert_int_equal(replay("allocfilt -s " HAND_MADE " -t 134"), -EFBIG);
	set_soft_limit(RLIMIT_FSIZE, limit);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
}

/* No metrics of a process, and no file that only the configuration file names. */
UNIT_TEST(test_metrics)
{
	char command[256], *text;
	size_t length;

	snprintf(command, sizeof(command), "allocfilt -s " KEPT " --metrics %s/m.prom",
		 test_directory);
	assert_int_equal(replay(command), 0);
	assert_int_equal(file_read(test_directory, "m.prom", &text, &length), 0);
	assert_non_null(strstr(text, "\nallocfilt_table_overflows_total{table=\"stalls\"} 0\n"));
	assert_null(strstr(text, "allocfilt_uptime_seconds"));
	free(text);
	snprintf(command, sizeof(command), "metrics = %s/service.prom\n", test_directory);
	put_text("conf", command);
	snprintf(command, sizeof(command), "allocfilt -s " KEPT " -c %s/conf", test_directory);
	assert_int_equal(replay(command), 0);
	assert_int_equal(access(test_path("service.prom"), F_OK), -1);
}

UNIT_TEST_MAIN(set_up, tear_down)
