// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A run on a tracing directory of plain files that has a fixture's formats and data: what is kept
 * with -w, what is filtered, and that everything is put back on each way out.
 */
#include "fake_tracing.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <tracefs.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/journal/journal.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/run/signals.h"
#include "captured_stderr.h"
#include "command_line.h"
#include "datagrams.h"
#include "run/live.h"
#include "run/service.h"
#include "written_text.h"

#define FIXTURE		 "fixtures/6.1"
#define FIXTURE_OF_CPU_1 "$OLDPWD/fixtures/6.1/per_cpu/cpu1/trace_pipe_raw "

static struct failure failure;
static struct signals *signals;
static const char *errors; /* what the last run said */
static bool
	trace_again; /* the next run does, as a service that waited for another user of tracing */
static int output;   /* what the next run writes to; 0: the file `output` */
static int messages; /* its stderr; 0: captured, see errors */

/* The next run is that of a service whose manager does this; tracing is NULL: it is none. */
static struct hooks {
	void (*tracing)(void *context, uint64_t now);
	void (*second)(void *context, uint64_t now);
	struct run_context *context;
} hooks;

void service_tracing(struct service *service, struct pipeline *pipeline, uint64_t now)
{
	usleep(1000000); /* the next tick is a second's, without a wait for it */
	hooks.tracing(hooks.context, now);
}

void service_second(struct service *service, struct pipeline *pipeline, uint64_t now)
{
	usleep(1000000);
	if (hooks.second)
		hooks.second(hooks.context, now);
}

/* A wait for a reader that does not come moves the clock, and is short. */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	int shorter = timeout > 50 ? 50 : timeout;
	int ready = (int)syscall(SYS_poll, fds, count, shorter);

	if (!ready)
		usleep((timeout - shorter) * 1000);
	return ready;
}

static int ended_by;

int service_signal(struct service *service, int number, uint64_t now)
{
	ended_by = number;
	return 1;
}

static int set_up(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	fake_make(false);
	tracefs_set_tracing_dir(fake.dir);
	shell("cd " FIXTURE " && cp -r --no-preserve=mode events %s/ && "
	      "cp --no-preserve=mode saved_cmdlines %s/ && "
	      "for c in 0 1; do cp --no-preserve=mode per_cpu/cpu$c/trace_pipe_raw "
	      "%s/per_cpu/cpu$c/; done",
	      fake.dir, fake.dir, fake.dir);
	shell("for e in %s/events/*/*/; do [ -e ${e}enable ] || { echo 0 >${e}enable; echo none "
	      ">${e}filter; }; done",
	      fake.dir);
	fake_put("available_filter_functions",
		 "vfs_read\n__alloc_pages\ntry_to_free_pages\nshrink_slab\ncompact_zone\n");
	fake_remember();
	hooks = (struct hooks){ 0 };
	output = 0;
	messages = 0;
	trace_again = false;
	failure = (struct failure){ 0 };
	return signals_block(&signals);
}

static int tear_down(void **state)
{
	munlockall();
	signals_free(signals);
	return fake_teardown(state);
}

static void assert_in_file(const char *name, const char *part)
{
	size_t length;
	char *text;

	assert_int_equal(file_read(fake.root, name, &text, &length), 0);
	if (!strstr(text, part))
		fail_msg("no '%s' in %s", part, name);
	free(text);
}

/*
 * The kernel loses records once tracing is on. The recording describes itself by then, so that one
 * that is killed can be read.
 */
static void lose_records(void *context, uint64_t now)
{
	assert_in_file("capture/capture", "\nthreshold_us 134\n");
	assert_in_file("capture/capture", "\nlost cpu1 0\n");
	fake_put("per_cpu/cpu0/stats", "entries: 0\noverrun: 3\nread events: 50\n");
	fake_put("per_cpu/cpu1/stats", "entries: 0\noverrun: 7\nread events: 900\n");
}

/* Somebody else's directory has the name. */
static void no_room(void *context, uint64_t now)
{
	shell("mkdir %s/capture/.000002", fake.root);
}

static int seconds;
static char mark[64]; /* of the start */

static void see_mark(void *context, uint64_t now)
{
	snprintf(mark, sizeof(mark), "%s", fake_get("trace_marker"));
}

static void ask_for_summary(void *context, uint64_t now)
{
	kill(getpid(), SIGUSR1);
}

/* A seccomp filter without it, as a unit's SystemCallFilter= may be, refuses it. */
static bool refuse_timer;

int setitimer(__itimer_which_t which, const struct itimerval *value, struct itimerval *old)
{
	if (!refuse_timer)
		return (int)syscall(SYS_setitimer, which, value, old);
	errno = EPERM;
	return -1;
}

static int run_live(const struct run_context *context)
{
	struct live *live;
	int ret;

	if (!trace_again)
		return live_run(context, &failure);
	ret = live_new(&live, context, &failure);
	assert_int_equal(ret, 0);
	ret = live_trace(live, &failure);
	assert_int_equal(ret, 0);
	return live_end(live, live_trace(live, &failure), &failure);
}

static int command_status; /* of the last run; -1: it was not started */
static pid_t last_command;

/* Before signals are blocked, as the program does it. */
static struct command *make_command(const struct options *options)
{
	struct command *command;
	sigset_t none, blocked;

	if (!options->command)
		return NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &blocked);
	fake.can_fork = true;
	assert_int_equal(command_new(&command, options->command, &failure), 0);
	fake.can_fork = false;
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	last_command = command_pid(command);
	return command;
}

/* Runs with these options. */
__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
	char command[1024], *argv[ARGUMENTS_MAX + 1], path[PATH_MAX];
	struct options options;
	struct run_context context = {
		.options = &options,
		.argv = argv,
		.started = loop_now(),
		.signals = signals,
		.run_dir = fake.run_dir,
	};
	va_list arguments;
	int length, fd, stop, ret;

	length = snprintf(command, sizeof(command), "allocfilt -s%s ", fake.dir);
	va_start(arguments, format);
	vsnprintf(command + length, sizeof(command) - length, format, arguments);
	va_end(arguments);
	context.argc = split_words(command, argv);
	assert_int_equal(options_parse(&options, context.argc, argv, output_form_names(), &failure),
			 0);
	snprintf(path, sizeof(path), "%s/output", fake.root);
	fd = output ? output : open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	context.command = make_command(&options);
	stop = context.command ? command_watch(context.command, signals) : signals_fd(signals);
	context.output = writer_new(fd, stop);
	writer_on_stop(context.output, context.command ? command_stop_asked : signals_stop_asked,
		       context.command ? (void *)context.command : signals);
	context.service = hooks.tracing ? (struct service *)&hooks : NULL;
	hooks.context = &context;
	capture_stderr();
	if (messages)
		dup2(messages, STDERR_FILENO);
	log_set_level(messages ? LOG_LEVEL_ERROR : LOG_LEVEL_NOTICE);
	ret = run_live(&context);
	errors = captured();
	command_status = -1;
	if (context.command && command_started(context.command))
		command_status = command_wait(context.command, signals);
	command_free(context.command);
	writer_free(context.output);
	close(fd);
	options_free(&options);
	return ret;
}

/* A run that ends well leaves nothing behind. */
#define runs(...)                                                                                  \
	do {                                                                                       \
		assert_int_equal(run(__VA_ARGS__), 0);                                             \
		assert_as_found();                                                                 \
	} while (0)

/* Returns the output of the last run; free() it. */
static char *printed(void)
{
	static char *text;

	assert_int_equal(file_read(fake.root, "output", &text, NULL), 0);
	return text;
}

static void assert_data_recorded(void)
{
	shell("for c in 0 1; do cmp " FIXTURE "/per_cpu/cpu$c/trace_pipe_raw "
	      "%s/capture/per_cpu/cpu$c/trace_pipe_raw || exit; done",
	      fake.root);
}

#define RUN(test) UNIT_TEST_WITH(test, set_up, tear_down)

RUN(test_write)
{
	char own[64];

	runs("-t134 -d300ms -w%s/capture", fake.root);
	assert_data_recorded();
	shell("for f in header_event header_page ftrace/funcgraph_exit/format; do "
	      "cmp " FIXTURE "/events/$f %s/capture/events/$f || exit; done",
	      fake.root);
	snprintf(own, sizeof(own), "\nown %d\n", getpid());
	assert_in_file("capture/capture", own);
	assert_in_file("capture/capture", "\nthreshold_us 134\n");
	assert_in_file("capture/capture", "\ntracer function_graph\n");
	if (!access("/proc/pressure/memory", R_OK)) {
		assert_in_file("capture/capture", "\npressure_before some avg10=");
		assert_in_file("capture/capture", "\npressure_after some avg10=");
		assert_in_file("capture/capture", " workingset_refault ");
	}
	/* an ended task's name comes from the kernel's saved_cmdlines, a running one's from /proc */
	assert_in_file("capture/saved_cmdlines", " pressure");
	shell("grep -q '^%d %d - live_test ' %s/capture/tasks", getpid(), getpid(), fake.root);
	shell("cmp " FAKE_KALLSYMS " %s/capture/kallsyms", fake.root);
	assert_in_file("capture/available_filter_functions", "try_to_free_pages\n");
	shell("cd %s/capture && [ -e per_cpu/cpu1/stats ] && [ -e cgroups ]", fake.root);
	/* the mounts of the start and of the end */
	shell("[ $(grep -c ' /proc ' %s/capture/mountinfo) -ge 2 ]", fake.root);
}

/* More data than what is read at once: 6 MiB a CPU. */
static void put_much_data(void)
{
	shell("for c in 0 1; do f=per_cpu/cpu$c/trace_pipe_raw && "
	      "for i in $(seq 180); do echo " FIXTURE "/$f; done | xargs cat >%s/$f && "
	      "truncate -s 6M %s/$f || exit; done",
	      fake.dir, fake.dir);
	fake_remember();
}

/* While tracing is on again, reading has no end: what the buffers can hold is read, in one turn. */
RUN(test_rest_without_an_end)
{
	put_much_data();
	kill(getpid(), SIGINT);
	runs("-t134 -b8K -w%s/capture", fake.root);
	shell("cd %s/capture && for c in 0 1; do s=$(stat -c %%s per_cpu/cpu$c/trace_pipe_raw) && "
	      "[ $s -ge 8192 ] && [ $s -lt 6291456 ] || exit; done",
	      fake.root);
	kill(getpid(), SIGINT);
	assert_int_equal(run("-t134 -b6M -w%s/whole", fake.root), 0);
	shell("cmp %s/per_cpu/cpu1/trace_pipe_raw %s/whole/per_cpu/cpu1/trace_pipe_raw", fake.dir,
	      fake.root);
}

/* By the message to who reads it as one capture. */
static bool is_in_segments(const char *dir, unsigned int *ret_first, unsigned int *ret_last)
{
	struct capture *capture;
	char *name;

	if (!capture_open(&capture, dir, &failure) ||
	    sscanf(failure.text + strlen(dir), " is no capture; below it are: %u", ret_first) != 1)
		return false;
	name = strrchr(failure.text, '(') - strlen("000001 ");
	return sscanf(name, "%u (name one)", ret_last) == 1;
}

/* A machine without time gets there later. */
static void end_at_third_segment(void *context, uint64_t now)
{
	unsigned int first, last;
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/capture", fake.root);
	if (is_in_segments(dir, &first, &last) && last >= 3)
		kill(getpid(), SIGINT);
}

/* Three segments and more, in the directory that it returns. */
static const char *record_segments(void (*tracing)(void *context, uint64_t now), const char *keep,
				   unsigned int *ret_first, unsigned int *ret_last)
{
	static char dir[PATH_MAX];

	put_much_data();
	hooks = (struct hooks){ .tracing = tracing, .second = end_at_third_segment };
	runs("-t134 -d1m -w%s/capture --max-size=1M%s", fake.root, keep);
	snprintf(dir, sizeof(dir), "%s/capture", fake.root);
	assert_true(is_in_segments(dir, ret_first, ret_last));
	return dir;
}

/* Each can be read by itself, and together they have all that there was. */
RUN(test_segments)
{
	unsigned int first, last;
	const char *dir = record_segments(see_mark, "", &first, &last);
	struct capture *capture;

	assert_int_equal(first, 1);
	assert_in_range(last, 3, 6);
	shell("[ $(ls -A %s | wc -l) = %u ]", dir, last);
	shell("cd %s && for c in 0 1; do f=per_cpu/cpu$c/trace_pipe_raw; "
	      "cat */$f | cmp - %s/$f || exit; done",
	      dir, fake.dir);
	shell("cd %s/000002 && diff -r events ../000001/events && "
	      "cmp set_ftrace_filter ../000001/set_ftrace_filter && "
	      "[ $(stat -c %%h kallsyms) = %u ]",
	      dir, last);
	for (unsigned int i = 1; i <= last; i++) {
		char segment[PATH_MAX + 16];

		snprintf(segment, sizeof(segment), "%s/%06u", dir, i);
		assert_int_equal(capture_open(&capture, segment, &failure), 0);
		assert_int_equal(capture_info(capture)->threshold, 134000);
		assert_int_equal(capture_info(capture)->flaws, 0);
		assert_true(capture_source(capture)->pressure_after.known ||
			    access("/proc/pressure/memory", R_OK));
		capture_close(capture);
		shell("cd %s && grep -q ' pressure' saved_cmdlines && [ -e tasks ] && "
		      "[ -e cgroups ] && [ -e mountinfo ] && [ -e per_cpu/cpu1/stats ] && "
		      "[ $(stat -c %%a .) = 700 ] && ! find . ! -type d ! -perm 600 | grep .",
		      segment);
	}
}

static void load_module(void *context, uint64_t now)
{
	shell("echo 'm 4096 0 - Live 0xffffffffc0000000' >%s", fake.modules);
}

/* Symbols and formats are those of the modules that there are when a segment begins. */
RUN(test_segments_after_a_module_came)
{
	unsigned int first, last;
	const char *dir = record_segments(load_module, "", &first, &last);

	assert_in_range(last, 3, 6);
	shell("cd %s && for f in kallsyms events/header_page; do "
	      "[ \"$(stat -c %%h 000001/$f 000002/$f | xargs)\" = '1 %u' ] || exit; done",
	      dir, last - 1);
}

RUN(test_segments_that_are_kept)
{
	unsigned int first, last;
	const char *dir = record_segments(see_mark, " --keep=2", &first, &last);

	assert_in_range(first, 2, 5);
	assert_int_equal(last, first + 1);
	shell("[ $(ls -A %s | wc -l) = 2 ]", dir);
}

/* A trace-cmd that puts together what it gets. */
static void put_trace_cmd(const char *last)
{
	static const char *const script =
		"#!/bin/sh\n"
		"while [ \"$1\" != -o ]; do shift; done\n"
		"out=$2\nshift 2\necho \"CPU0 data recorded\nout of files\" >&2\n"
		"cat kallsyms \"$@\" >$out\n";
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/trace-cmd", fake.root);
	file = fopen(path, "w");
	fprintf(file, "%s%s\n", script, last);
	fclose(file);
	chmod(path, 0755);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", fake.root);
	setenv("PATH", path, 1);
}

RUN(test_file)
{
	fake.can_fork = true;
	put_trace_cmd("exit 0");
	shell("cd %s/per_cpu && cp -r cpu1 cpu3 && rm -r cpu0", fake.dir);
	fake_remember();
	runs("-t134 -d300ms -w%s/capture.dat", fake.root);
	shell("cd %s && (cat $OLDPWD/" FAKE_KALLSYMS " " FIXTURE_OF_CPU_1 FIXTURE_OF_CPU_1 ") | "
	      "cmp - capture.dat && [ $(stat -c %%a capture.dat) = 600 ] && "
	      "[ ! -e capture.dat.parts ]",
	      fake.root);
	failure = (struct failure){ 0 };
	assert_int_equal(run("-t134 -d300ms -w%s/capture.dat", fake.root), -EEXIST);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_int_equal(run("-t134 -w%s/other.dat --max-size=1M", fake.root), -EINVAL);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(run("-t134 -d300ms -w%s/other.dat", fake.root), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	text_has(failure.text, "apt-get install trace-cmd");
	setenv("PATH", "/usr/bin:/bin", 1);
	shell("[ ! -e %s/other.dat.parts ]", fake.root);
	assert_as_found();
}

/* The directory stays, as a capture, whatever trace-cmd does. */
RUN(test_file_that_cannot_be_made)
{
	static const struct {
		const char *last, *said;
	} cases[] = {
		{ "exit 3", "out of files" },
		{ "kill -9 $$", "Killed" },
		{ "truncate -s 5000 $out", "too short" },
		{ "rm -f $out", "No such file" },
		{ ": >../capture.dat", "File exists" },
		{ "ln -sfn /tmp ../capture.dat", "File exists" },
		{ "kill -TERM $(ps -o ppid= $PPID) && sleep 100", "out of files" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		failure = (struct failure){ 0 };
		fake.can_fork = true;
		put_trace_cmd(cases[i].last);
		assert_int_not_equal(run("-t134 -d300ms -w%s/capture.dat", fake.root), 0);
		assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
		if (!strstr(failure.text, "capture.dat.parts/trace-cmd.log; what was recorded is"))
			fail_msg("%s: %s", cases[i].last, failure.text);
		signals_next(signals);
		assert_as_found();
		shell("cd %s/capture.dat.parts && ! [ -f ../capture.dat -a -s ../capture.dat ] && "
		      "grep -q '%s' trace-cmd.log && "
		      "rm -f ../capture.dat && [ ! -e head.dat ] && [ ! -e trace.dat ] && "
		      "cmp " FIXTURE_OF_CPU_1 "per_cpu/cpu1/trace_pipe_raw && "
		      "rm -r ../capture.dat.parts",
		      fake.root, cases[i].said);
	}
	setenv("PATH", "/usr/bin:/bin", 1);
}

/* The first stall that is long enough ends it, with all that is in the buffers. */
RUN(test_until)
{
	runs("-t134 -w%s/capture --until=100ms", fake.root);
	assert_data_recorded();
	text_has(errors, "--until: sh-221 stalled for 675 ms at 10.119756, 20");
	assert_int_equal(run("-t134 -d300ms -w%s/other --until=1s", fake.root), 0);
	assert_null(strstr(errors, "stalled"));
	shell("for c in 0 1; do f=per_cpu/cpu$c/trace_pipe_raw && cmp %s/capture/$f %s/other/$f || "
	      "exit; done",
	      fake.root, fake.root);
}

/* Losses are those of the segment. */
static void lose_in_a_segment(void *context, uint64_t now)
{
	/* system() discards a SIGINT that is pending. */
	shell("cat %s/per_cpu/cpu1/trace_pipe_raw >>%s/per_cpu/cpu0/trace_pipe_raw", fake.dir,
	      fake.dir);
	if (!seconds++)
		fake_put("per_cpu/cpu1/stats", "entries: 0\noverrun: 7\nread events: 900\n");
	else
		kill(getpid(), SIGINT);
}

RUN(test_losses_of_segments)
{
	put_much_data();
	seconds = 0;
	hooks = (struct hooks){ .tracing = see_mark, .second = lose_in_a_segment };
	assert_int_equal(run("-t134 -w%s/capture --max-size=1M", fake.root), 0);
	shell("cd %s/capture && [ $(grep -h '^lost cpu1' */capture | sort | uniq -c | "
	      "grep -c ' 1 lost cpu1 7$') = 1 ]",
	      fake.root);
	shell("cd %s/capture && [ $(sed -n 's/^read cpu1 //p' */capture | sort -n | tail -n 1) = 900 ] && "
	      "[ $(grep -h '^read cpu1 900$' */capture | wc -l) = 1 ]",
	      fake.root);
}

/* The segment before stays whole, and has the rest. */
RUN(test_no_room_for_a_segment)
{
	struct capture *capture;
	char dir[PATH_MAX];

	put_much_data();
	shell("mkdir %s/capture && chmod 700 %s/capture", fake.root, fake.root);
	hooks.tracing = no_room;
	assert_int_equal(run("-t134 -d1m -w%s/capture --max-size=1M", fake.root), -EEXIST);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	assert_as_found();
	snprintf(dir, sizeof(dir), "%s/capture/000001", fake.root);
	assert_int_equal(capture_open(&capture, dir, &failure), 0);
	assert_int_equal(capture_info(capture)->flaws, 0);
	capture_close(capture);
	shell("cd %s && [ -s tasks ] && [ -s per_cpu/cpu1/trace_pipe_raw ]", dir);
}

/* Sub-buffers have a size of their own in an instance, whatever it is at the top level. */
RUN(test_pages_of_an_instance)
{
	char *lines;

	assert_int_equal(run("-t134 -d300ms --summary=none"), 0);
	lines = printed();
	snprintf(fake.instance_from, sizeof(fake.instance_from), "%s/instance", fake.root);
	shell("mkdir %s && cp -r %s/events %s/per_cpu %s && "
	      "sed -i 's/size:4080;/size:65520;/' %s/events/header_page",
	      fake.instance_from, fake.dir, fake.dir, fake.instance_from, fake.dir);
	fake.instance_graph = true;
	fake_put("buffer_subbuf_size_kb", "64\n");
	fake_remember();
	assert_int_equal(run("-t134 -d300ms --summary=none"), 0);
	assert_in_file("output", lines);
	free(lines);
	runs("-t134 -d300ms -w%s/capture", fake.root);
	assert_data_recorded();
	shell("cmp " FIXTURE "/events/header_page %s/capture/events/header_page", fake.root);
	assert_in_file("capture/capture", "\npage_size 4096\n");
}

static void see_command(void *context, uint64_t now)
{
	const struct run_context *run_context = context;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d\n", command_pid(run_context->command));
	assert_string_equal(fake_get("set_event_pid"), pid);
	assert_string_equal(fake_get("set_ftrace_pid"), pid);
	assert_string_equal(fake_get("options/event-fork"), "1\n");
	assert_string_equal(fake_get("events/sched/sched_process_fork/enable"), "1\n");
	assert_string_equal(fake_get("events/sched/sched_process_exit/enable"), "1\n");
	assert_false(command_started(run_context->command));
}

/* It starts when tracing is on, and the run ends with it; the capture says what its children are. */
RUN(test_command)
{
	char line[32];

	shell("for e in fork exit; do d=%s/events/sched/sched_process_$e && mkdir -p $d && "
	      "echo 0 >$d/enable && echo none >$d/filter && cp " FIXTURE
	      "/events/vmscan/mm_vmscan_throttled/format $d && "
	      "sed -i \"s/mm_vmscan_throttled/sched_process_$e/; s/int nid/int child_pid/\" "
	      "$d/format; done",
	      fake.dir);
	fake_remember();
	hooks.tracing = see_command;
	assert_int_equal(run("-t134 -- cp %s/tracing_on %s/ran", fake.dir, fake.root), 0);
	assert_int_equal(command_status, 0);
	assert_as_found();
	assert_in_file("ran", "1\n");
	assert_int_equal(run("-t134 -w%s/capture -- sh -c %s", fake.root, "exit\t7"), 0);
	assert_int_equal(command_status, 7);
	assert_as_found();
	snprintf(line, sizeof(line), "\ncommand %d\n", last_command);
	assert_in_file("capture/capture", line);
	assert_in_file("capture/events/sched/sched_process_fork/format", "child_pid");
	assert_in_file("capture/events/sched/sched_process_exit/format", "sched_process_exit");
}

/* There is no summary of what never ran; one that ends as if it had not has its own. */
RUN(test_command_cannot_be_executed)
{
	assert_int_equal(run("-t134 -f summary -- %s/none", fake.root), 0);
	assert_int_equal(command_status, 127);
	shell("[ ! -s %s/output ]", fake.root);
	assert_int_equal(run("-t134 -f summary -- sh -c %s", "exit\t127"), 0);
	assert_int_equal(command_status, 127);
	assert_in_file("output", " of 134 us or more");
}

/* One that cannot be traced does not run. */
RUN(test_command_is_not_started)
{
	fake_put("tracing_thresh", "5\n");
	assert_int_equal(run("-t134 -- touch %s/ran", fake.root), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	assert_int_equal(command_status, -1);
	shell("[ ! -e %s/ran ]", fake.root);
}

/* After -d it gets SIGTERM. */
RUN(test_command_with_a_duration)
{
	assert_int_equal(run("-t134 -d300ms -- sleep 1000"), 0);
	assert_int_equal(command_status, 128 + SIGTERM);
	assert_as_found();
}

/* The machine and the start, in the output and in a capture. */
RUN(test_run_is_described)
{
	char expected[1024], before[TEXT_TIME_MAX], after[TEXT_TIME_MAX], *text;
	struct timespec now;
	struct utsname system;
	const char *time;

	assert_int_equal(uname(&system), 0);
	clock_gettime(CLOCK_REALTIME, &now);
	text_time(before, now.tv_sec * 1000000000ull + now.tv_nsec, false);
	assert_int_equal(run("-t134 -d300ms -fjson -p%d", getpid()), 0);
	clock_gettime(CLOCK_REALTIME, &now);
	text_time(after, now.tv_sec * 1000000000ull + now.tv_nsec, false);
	text = printed();
	snprintf(expected, sizeof(expected),
		 "{\"type\":\"run\",\"schema\":4,\"version\":\"" ALLOCFILT_VERSION
		 "\",\"source\":\"live\",\"host\":\"%s\",\"release\":\"%s\",\"machine\":\"%s\","
		 "\"time\":\"",
		 system.nodename, system.release, system.machine);
	assert_memory_equal(text, expected, strlen(expected));
	time = text + strlen(expected);
	assert_true(strncmp(before, time, strlen(before)) <= 0);
	assert_true(strncmp(time, after, strlen(after)) <= 0);
	snprintf(expected, sizeof(expected),
		 "\",\"clock\":\"local\",\"threshold_ns\":134000,\"report_ns\":134000,"
		 "\"directory\":\"%s\",\"cpus\":[0,1],\"options\":{\"pid\":[%d],"
		 "\"duration\":300000000,\"format\":\"json\"}}\n",
		 fake.dir, getpid());
	assert_memory_equal(time + strlen(before), expected, strlen(expected));
	free(text);
	assert_int_equal(run("-t134 -d300ms -w%s/capture", fake.root), 0);
	snprintf(expected, sizeof(expected), "\nrelease %s\nhost %s\nmachine %s\n", system.release,
		 system.nodename, system.machine);
	assert_in_file("capture/capture", expected);
}

static void see_names(void *context, uint64_t now)
{
	assert_in_file("capture/saved_cmdlines", " pressure");
	shell("cd %s/capture && [ -e tasks ] && [ -e cgroups ]", fake.root);
	seconds++;
	kill(getpid(), SIGINT);
}

/* One that is killed has names. */
RUN(test_names_meanwhile)
{
	seconds = 0;
	hooks = (struct hooks){ .tracing = see_mark, .second = see_names };
	assert_int_equal(run("-t134 -w%s/capture", fake.root), 0);
	assert_int_equal(seconds, 1);
	assert_as_found();
}

/* They are counted at the end, even if no tick came before it. */
RUN(test_losses)
{
	hooks.tracing = lose_records;
	kill(getpid(), SIGINT);
	assert_int_equal(run("-t134 -w%s/capture", fake.root), 0);
	assert_in_file("capture/capture",
		       "\nlost cpu0 3\nread cpu0 50\nlost cpu1 7\nread cpu1 900\n");
}

static void drop_records(void *context, uint64_t now)
{
	fake_put("per_cpu/cpu1/stats", "entries: 0\noverrun: 0\ndropped events: 5\n");
	kill(getpid(), SIGINT);
}

/* No page tells of these. */
RUN(test_dropped_records)
{
	hooks.tracing = drop_records;
	assert_int_equal(run("-t134"), 0);
	assert_in_file("output", "\n5 records were lost");
}

static void take_records(void *context, uint64_t now)
{
	fake_put("per_cpu/cpu1/stats", "entries: 0\noverrun: 0\nread events: 7000\n");
	kill(getpid(), SIGINT);
}

/* The kernel counts more records that were read than we did read. */
RUN(test_records_that_another_reader_takes)
{
	hooks.tracing = take_records;
	assert_int_equal(run("-t134"), 0);
	assert_in_file("output", " lost records were taken by another reader of the buffer");
}

#define SPARED_EVENT "events/vmscan/mm_vmscan_direct_reclaim_begin/enable"

static void allow_two_percent(void *context, uint64_t now)
{
	const struct run_context *run = context;

	*(uint64_t *)(uintptr_t)&run->options->max_cpu = 2;
	assert_string_equal(fake_get(SPARED_EVENT), "1\n");
}

/* A minute with 2 % of a CPU, and one with more. */
static void work_for_a_minute(void *context, uint64_t now)
{
	assert_string_equal(fake_get(SPARED_EVENT), seconds < 2 ? "1\n" : "0\n");
	usleep(60000000);
	fake_worked_s += seconds ? 2 : 1;
	if (seconds++ == 2)
		kill(getpid(), SIGINT);
}

RUN(test_events_that_cost_too_much)
{
	seconds = 0;
	hooks = (struct hooks){ .tracing = allow_two_percent, .second = work_for_a_minute };
	assert_int_equal(run("-t134"), 0);
	assert_in_file("output", "; events were switched off for some time");
	assert_as_found();
}

static void wait_an_hour(void *context, uint64_t now)
{
	usleep(3600000000u);
	if (seconds++ == 2)
		kill(getpid(), SIGINT);
}

/* Entries would be dropped: nothing is traced. */
RUN(test_no_journald)
{
	journal_socket_path = "/none/socket";
	assert_int_equal(run("-t134 --journal"), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	text_has(failure.text,
		 "--journal: /none/socket: No such file or directory: no systemd-journald here");
	assert_as_found();
}

/* The journal gets the status of a run each hour, before the summary at its end. */
RUN(test_status_in_the_journal)
{
	static char path[108];
	char entry[65536];
	int fd, status = 0, ends = 0;
	ssize_t length;

	snprintf(path, sizeof(path), "%s/journal", fake.root);
	fd = listen_at(path);
	journal_socket_path = path;
	seconds = 0;
	hooks = (struct hooks){ .tracing = see_mark, .second = wait_an_hour };
	assert_int_equal(run("-t1s --journal --function-graph=yes"), 0);
	while ((length = recv(fd, entry, sizeof(entry), 0)) > 0) {
		status += !ends && memmem(entry, length, JOURNAL_ID_STATUS, 32);
		ends += memmem(entry, length, JOURNAL_ID_SUMMARY, 32) != NULL;
	}
	assert_int_equal(status, 2);
	assert_int_equal(ends, 1);
	close(fd);
	assert_as_found();
}

/* It begins with tracing, and its signal is one of the service's. */
RUN(test_duration_of_a_service)
{
	hooks.tracing = see_mark;
	assert_int_equal(run("-t134 -d1ms"), 0);
	assert_int_equal(ended_by, SIGALRM);
	assert_as_found();
}

/* Rather than run without an end; nothing is shown of a run that did not begin. */
RUN(test_duration_is_refused)
{
	char *text;

	kill(getpid(), SIGTERM); /* ends the one that begins */
	refuse_timer = true;
	assert_int_equal(run("-t134 -d1h"), -EPERM);
	refuse_timer = false;
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	assert_string_equal(failure.text,
			    "-d: cannot set a timer: Operation not permitted; leave it out, or "
			    "permit setitimer(2) (SystemCallFilter= of a unit)");
	assert_as_found();
	text = printed();
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(signals_next(signals), SIGTERM);
}

/* After a signal before the first tick, the data in the buffers is still shown or recorded. */
RUN(test_signal)
{
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGINT);
	runs("-t134");
	assert_int_equal(signals_next(signals), 0);
	assert_in_file("output", "pressur-143 ");
	assert_in_file("output", "\n\n");
	text_has(errors, "no shrinker ran\n"); /* the summary so far */
	kill(getpid(), SIGINT);
	runs("-t134 -w%s/capture", fake.root);
	assert_data_recorded();
}

/* Returns a full pipe that nobody reads, though it has a reader. */
static int output_blocks(void)
{
	static int fds[2] = { -1, -1 };
	char bytes[PIPE_BUF] = { 0 };

	close(fds[0]); /* of the run before */
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(fds[1], bytes, sizeof(bytes)) > 0)
		;
	fcntl(fds[1], F_SETFL, 0);
	return fds[1];
}

/*
 * Nobody reads the output: tracing is restored all the same, when -d ends during the wait for room
 * (data is read after 110 ms), before it, and after a signal before it. Nobody reads stderr: the summary so
 * far, of a SIGUSR1 that comes with the signal that ends the run, or that waits for its reader when COMMAND
 * ends, holds the run no longer than the output does.
 */
RUN(test_end_while_nobody_reads)
{
	static const struct {
		const char *options;
		int signals[2];
		bool is_stderr;
	} cases[] = {
		{ "-t134 -d300ms" },
		{ "-t134 -d1ms" },
		{ "-t134", { SIGINT } },
		{ "-t134", { SIGUSR1, SIGINT }, true },
		{ "-t134 -- sleep 0.1", { 0 }, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int full = output_blocks();

		output = cases[i].is_stderr ? 0 : full;
		messages = cases[i].is_stderr ? full : 0;
		hooks.tracing = strstr(cases[i].options, "--") ? ask_for_summary : NULL;
		for (int j = 0; j < 2 && cases[i].signals[j]; j++)
			kill(getpid(), cases[i].signals[j]);
		failure = (struct failure){ 0 };
		if (cases[i].is_stderr)
			alarm(60); /* a stop, too; -d has the same timer */
		assert_int_equal(run("%s", cases[i].options), cases[i].is_stderr ? 0 : -ETIMEDOUT);
		assert_int_equal(alarm(0) > 0, cases[i].is_stderr);
		assert_int_equal(!strstr(failure.text, "not read"), cases[i].is_stderr);
		assert_as_found();
		if (cases[i].is_stderr)
			close(full);
	}
}

/* What was refused in a set-up that went on, here an instance, is not why the run ends. */
RUN(test_reader_is_gone_after_a_refusal)
{
	int fds[2];

	fake_put("buffer_subbuf_size_kb", "4\n");
	shell("rm -r %s/instances", fake.dir);
	fake_remember();
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	close(fds[0]);
	output = fds[1];
	runs("-t134 -d1m");
}

/* The clock is marked at the end too: a run without records shows how long it was. */
RUN(test_mark_of_the_end)
{
	hooks.tracing = see_mark;
	assert_int_equal(run("-t134 -d10ms"), 0);
	assert_int_equal(strncmp(mark, "allocfilt: realtime ", 20), 0);
	assert_int_equal(strncmp(fake_get("trace_marker"), mark, 20), 0);
	assert_string_not_equal(fake_get("trace_marker"), mark);
}

/* The data has no mark: its first record, by trace.txt, is as old as the run. */
RUN(test_times_before_the_first_mark)
{
	char before[TEXT_TIME_MAX], after[TEXT_TIME_MAX];
	int64_t later = (10119756 - 4967177) * 1000ll; /* the longest stall, see test_until */
	struct timespec now;
	const char *time;
	char *text;

	clock_gettime(CLOCK_REALTIME, &now);
	text_time(before, now.tv_sec * 1000000000ll + now.tv_nsec + later - 1000, false);
	assert_int_equal(run("-t134 -d100ms -fjson"), 0);
	clock_gettime(CLOCK_REALTIME, &now);
	text_time(after, now.tv_sec * 1000000000ll + now.tv_nsec + later + 1000, false);
	text = printed();
	time = strstr(text, "\"ts_ns\":10119756");
	assert_non_null(time);
	while (strncmp(time, "\"time\":\"", 8) && *time != '{')
		time--;
	time += 8;
	assert_true(strncmp(before, time, strlen(before)) <= 0);
	assert_true(strncmp(time, after, strlen(after)) <= 0);
	free(text);
}

/* Its events are missing: that is said when tracing is on, and at the end. */
RUN(test_formats_that_cannot_be_read)
{
	static const char said[] = "events/vmscan/mm_shrink_slab_start/format";

	fake_put(said, "name: mm_shrink_slab_start\nID: x\n");
	fake_remember();
	assert_int_equal(run("-t134 -d1ms"), 0);
	assert_as_found();
	text_has(errors, said);
	assert_non_null(strstr(strstr(errors, said) + 1, said));
}

static void run_without_waits(const char *said)
{
	char *text;

	fake_remember();
	assert_int_equal(run("-t134 -d1ms -fjson"), 0);
	assert_as_found();
	text_has(errors, said);
	assert_int_equal(count_in(errors, "memory waits are not told"), 1);
	text = printed();
	text_has(text, "{\"type\":\"summary\",");
	assert_null(strstr(text, "memory_waits"));
	free(text);
}

/* Where there are none, or the kernel refuses them, that is said once, and all else goes on. */
RUN(test_memory_waits)
{
	run_without_waits("memory waits are not told: this kernel has no kprobe events");
	fake_put("kprobe_events", "");
	fake.refuse_probe = "memory_wait_end";
	run_without_waits("memory waits are not told: cannot make events/allocfilt/"
			  "memory_wait_end: Invalid argument");
	fake.refuse_probe = NULL;
	runs("-t134 -d1ms -fjson");
	assert_in_file("output", ",\"memory_waits\":{\"count\":0,");
}

/* Pages that header_page does not fit, and records with fewer bytes than their format. */
RUN(test_damaged_records)
{
	shell("f=%s/per_cpu/cpu1/trace_pipe_raw && dd if=/dev/zero bs=1 count=4080 conv=notrunc "
	      "seek=16 of=$f status=none && "
	      "sed -i '/total_scan/s/size:8/size:80/' %s/events/vmscan/mm_shrink_slab_end/format",
	      fake.dir, fake.dir);
	fake_remember();
	assert_int_equal(run("-t134 -d100ms"), 0);
	assert_as_found();
	text_has(errors, "1 damaged page (the first of CPU 1, ");
	text_has(errors, " records shorter than their format or ");
}

/* All events are on when tracing begins again: the mark of that comes after the switch. */
static void see_mark_of_switch(void *context, uint64_t now)
{
	unsigned long long seconds_of_mark, ns_of_mark;

	assert_int_equal(sscanf(fake_get("trace_marker"), "allocfilt: realtime %llu.%9llu",
				&seconds_of_mark, &ns_of_mark),
			 2);
	assert_true(seconds_of_mark * NS_PER_SECOND + ns_of_mark >= fake_last_realtime);
	seconds++;
}

RUN(test_mark_of_another_start)
{
	seconds = 0;
	trace_again = true;
	hooks.tracing = see_mark_of_switch;
	assert_int_equal(run("-t134 -d1ms"), 0);
	assert_int_equal(seconds, 2);
}

/* What is in the buffers counts in the summary so far. */
RUN(test_summary_so_far)
{
	hooks.tracing = ask_for_summary;
	assert_int_equal(run("-t134 -d300ms"), 0);
	text_has(errors, " : total time = ");
	text_has(errors, "\nwhy   ");
}

static bool shown_meanwhile;

/* After a second an interval has been shown, and not as the last one, at the end. */
static void see_interval(void *context, uint64_t now)
{
	char *text;

	text = printed();
	shown_meanwhile = strstr(text, " stalls   waited ") && !strstr(text, " stalls of ");
	free(text);
	if (shown_meanwhile)
		kill(getpid(), SIGINT);
}

static int found_in_output(const char *pattern)
{
	char command[256];

	snprintf(command, sizeof(command), "grep -qE '%s' %s/output", pattern, fake.root);
	return system(command) == 0;
}

/* Summaries alone without -f, else events as well. */
RUN(test_intervals)
{
	static const char *const options[] = { "-t134 --interval=100ms",
					       "-t134 --interval=100ms -ftrace" };

	for (int i = 0; i < 2; i++) {
		fake_put("per_cpu/cpu1/stats", "entries: 0\noverrun: 0\n");
		hooks = (struct hooks){ .tracing = see_mark, .second = see_interval };
		shown_meanwhile = false;
		assert_int_equal(run("%s", options[i]), 0);
		assert_true(shown_meanwhile);
		assert_as_found();
		assert_true(found_in_output("^[0-9:.]{12} +[1-9][0-9]* "));
		assert_int_equal(found_in_output("pressur-143 .* us "), i);
	}
	hooks.tracing = NULL;
	kill(getpid(), SIGINT);
	assert_int_equal(run("-t134 --interval=100ms"), 0);
	assert_true(found_in_output("^[0-9:.]{12} +[1-9][0-9]* "));
}

/* Records of 8 s are read at once, as after a long set-up: an interval is as long as it was asked for. */
RUN(test_intervals_that_are_read_late)
{
	unsigned int minute, second, ms, ends[16], lines = 0;
	char *text, *line, *rest;

	kill(getpid(), SIGINT);
	assert_int_equal(run("-t134 --interval=1"), 0);
	rest = text = printed();
	while ((line = strsep(&rest, "\n")) && lines < COUNT(ends))
		if (sscanf(line, "%*2u:%2u:%2u.%3u ", &minute, &second, &ms) == 3)
			ends[lines++] = (minute * 60 + second) * 1000 + ms;
	free(text);
	/* The last one is shorter. */
	assert_int_equal(lines, 9);
	for (unsigned int i = 1; i < 8; i++)
		assert_int_equal((ends[i] + 3600000 - ends[i - 1]) % 3600000, 1000);
}

/* Before the first change, in the middle of the set-up, and where others have tracing. */
RUN(test_what_fails)
{
	static const struct {
		const char *name;
		const char *text; /* NULL: removed */
		enum exit_status status;
		const char *message;
	} cases[] = {
		{ "events/header_page", NULL, EXIT_STATUS_RUN_TIME, "header_page" },
		{ "events/header_page", "nothing\n", EXIT_STATUS_RUN_TIME, "header_page" },
		{ "events/ftrace/funcgraph_exit/format", "x\n", EXIT_STATUS_RUN_TIME,
		  "funcgraph_exit" },
		{ "per_cpu", NULL, EXIT_STATUS_RUN_TIME, "no CPU" },
		{ "per_cpu/cpu*/trace_pipe_raw", NULL, EXIT_STATUS_RUN_TIME, "trace_pipe_raw" },
		{ "current_tracer", "function\n", EXIT_STATUS_IN_USE, "function" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		tear_down(state);
		set_up(state);
		if (cases[i].text)
			fake_put(cases[i].name, cases[i].text);
		else
			shell("rm -r %s/%s", fake.dir, cases[i].name);
		fake_remember();
		assert_true(run("-t134") < 0);
		if (failure.status != cases[i].status || !strstr(failure.text, cases[i].message))
			fail_msg("%s: %d: %s", cases[i].name, failure.status, failure.text);
		assert_as_found();
	}
}

RUN(test_no_scheduler_events)
{
	assert_int_equal(run("-t134 --off-cpu"), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
	assert_as_found();
}

/* A directory of -w that cannot be used is refused before anything is changed. */
RUN(test_bad_directory)
{
	assert_int_equal(run("-t134 -w%s", fake.dir), -EEXIST);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_as_found();
}

/* No process has the pid 4194304: kernel/pid.c and linux/threads.h, PID_MAX_LIMIT. */
RUN(test_processes_that_do_not_exist)
{
	pid_t child;

	assert_int_equal(run("-t134 -d10ms -p4194304"), -ESRCH);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_string_equal(failure.text, "-p 4194304: no such process");
	assert_as_found();
	child = _Fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(run("-t134 -d10ms -p4194304,%d", child), -ESRCH);
	assert_string_equal(failure.text, "-p 4194304 and 1 more: no such process");
	assert_int_equal(run("-t134 -d10ms -p4194304,%d", getpid()), 0);
	text_has(errors, "-p 4194304: no such process\n");
	/* a service waits for them */
	journal_socket_path = fake.root;
	assert_int_equal(run("-t134 -d10ms -p4194304 --journal --function-graph=yes"), 0);
	text_has(errors, "-p 4194304: no such process\n");
	assert_as_found();
}

UNIT_TEST_MAIN(NULL, NULL)
