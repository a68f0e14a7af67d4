// SPDX-License-Identifier: GPL-2.0-or-later
/* The form `perfetto`: which track each slice is on. tests/replay/trace_event.pl checks the format. */
#include "allocfilt/output.h"
#include "captured_stderr.h"
#include "fake_resolver.h"
#include "unit_test.h"
#include "written_text.h"

#define EXEC  5000 /* ns: sh execs nginx */
#define REUSE 9000 /* ns: nginx has exited, its pid is a thread of java */

static const char *task_name(void *context, int tid, uint64_t ts)
{
	if (tid == 815)
		return "worker";
	return ts < EXEC ? "sh" : ts < REUSE ? "nginx" : "worker";
}

static const struct task_info *task_info(void *context, int tid, uint64_t ts)
{
	static struct task_info info;

	info = (struct task_info){ .tid = tid, .pid = 812 };
	strcpy(info.process, ts < EXEC ? "sh" : "nginx");
	if (ts >= REUSE) {
		info.pid = 700;
		strcpy(info.process, "java");
	}
	return &info;
}

static struct resolver resolver = { .task = task_name, .task_info = task_info };
static struct plan plan;
static struct options options;
static struct output *output;
static struct writer *writer;
static const char *text;

static void start(unsigned int tasks)
{
	struct output_setup setup = { &options, &plan, NULL, &resolver, NULL };

	options = (struct options){ .format = "perfetto", .limits.tasks = tasks };
	writer = begin_text();
	setup.writer = writer;
	output = output_new(&setup);
	assert_non_null(output);
}

static void end(void)
{
	output_free(output);
	text = end_text(writer);
}

/* A slow run that ends at @ts. */
static void window(int kind, int id, uint64_t ts)
{
	struct record exit = { .ts = ts, .window = { .calltime = ts - 100, .rettime = ts } };
	struct task_window task_window = { .key = { .id = id, .kind = kind }, .exit = &exit };

	assert_int_equal(output_window(output, &task_window), 0);
}

/* Reads the number after @key in the event of which @what is a part; -1: no such event. */
static int id_in_event(const char *what, const char *key)
{
	const char *at = strstr(text, what);

	while (at && at > text && at[-1] != '\n')
		at--;
	at = at ? strstr(at, key) : NULL;
	return at ? atoi(at + strlen(key)) : -1;
}

/* The track of the slice that began at @us has a thread and a process of these names. */
static void track_is(const char *us, const char *thread, const char *process)
{
	char slice[64], meta[160];
	int pid, tid;

	snprintf(slice, sizeof(slice), "\"ts\":%s,", us);
	pid = id_in_event(slice, "\"pid\":");
	tid = id_in_event(slice, "\"tid\":");
	snprintf(meta, sizeof(meta),
		 "\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}", pid,
		 tid, thread);
	if (count_in(text, meta) != 1)
		fail_msg("%d of %s in %s", count_in(text, meta), meta, text);
	/* no other name for that thread, as the last one wins in Perfetto */
	snprintf(meta, sizeof(meta), "\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,", pid, tid);
	assert_int_equal(count_in(text, meta), 1);
	snprintf(meta, sizeof(meta), "\"name\":\"process_name\",\"pid\":%d,", pid);
	assert_int_equal(count_in(text, meta), 1);
	snprintf(slice, sizeof(slice), "\"args\":{\"name\":\"%s\"}", process);
	assert_non_null(strstr(strstr(text, meta), slice));
	assert_ptr_equal(strchr(strstr(text, meta), '\n'),
			 strchr(strstr(strstr(text, meta), slice), '\n'));
}

static void test_one_name(void **state)
{
	start(64);
	window(OWNER_TASK, 812, 1000);
	window(OWNER_TASK, 815, 2000);
	window(OWNER_TASK, 812, 3000);
	end();
	track_is("0.900", "sh", "sh");
	track_is("1.900", "worker", "sh");
	track_is("2.900", "sh", "sh");
	assert_int_equal(id_in_event("\"ts\":2.900", "\"tid\":"), 812);
	assert_int_equal(id_in_event("\"ts\":1.900", "\"pid\":"), 812);
	assert_int_equal(count_in(text, "thread_name"), 2);
	assert_int_equal(count_in(text, "process_name"), 1);
}

/* Each name has its own slices: after exec, after the reuse of a pid, and with the old name again. */
static void test_names_change(void **state)
{
	start(64);
	window(OWNER_TASK, 812, 1000);
	window(OWNER_TASK, 812, EXEC + 1000);
	window(OWNER_TASK, 815, EXEC + 2000);
	window(OWNER_TASK, 812, REUSE + 1000);
	window(OWNER_TASK, 812, 2000);
	end();
	track_is("0.900", "sh", "sh");
	track_is("5.900", "nginx-812", "nginx-812");
	track_is("6.900", "worker", "nginx-812");
	track_is("9.900", "worker-812", "java");
	track_is("1.900", "sh", "sh");
	assert_int_equal(id_in_event("\"ts\":0.900", "\"tid\":"), 812);
	assert_int_equal(id_in_event("\"ts\":6.900", "\"tid\":"), 815);
	assert_int_equal(id_in_event("\"ts\":9.900", "\"pid\":"), 700);
}

/* More names than the table holds: a forgotten one gets a track of its own, never another's. */
static void test_limit(void **state)
{
	start(64);
	for (int i = 1; i <= 200; i++)
		window(OWNER_TASK, 1000 + i, i * 1000);
	window(OWNER_TASK, 812, 1000);
	window(OWNER_TASK, 1001, EXEC + 1001000);
	window(OWNER_IDLE, 3, 2002000);
	window(OWNER_HARDIRQ, 3, 2003000);
	end();
	track_is("1005.900", "worker-1001", "java");
	track_is("2001.900", "cpu 3 idle", "CPUs");
	track_is("2002.900", "cpu 3 hardirq", "CPUs");
}

static const struct task_info *task_in_cgroup(void *context, int tid, uint64_t ts)
{
	static struct task_info info;

	info = (struct task_info){ .tid = tid, .pid = tid, .process = "sh" };
	strcpy(info.cgroup, tid == 1 ? "/" : "/system.slice/a.service");
	return &info;
}

/* Perfetto sorts processes by name. */
static void test_cgroups(void **state)
{
	resolver.task_info = task_in_cgroup;
	start(64);
	window(OWNER_TASK, 1, 1000);
	window(OWNER_TASK, 2, 2000);
	end();
	resolver.task_info = task_info;
	track_is("0.900", "sh", "sh");
	track_is("1.900", "sh", "/system.slice/a.service sh");
}

static void stall(uint64_t from, uint64_t to)
{
	struct stall one = { .start = from,
			     .end = to,
			     .gfp_names = "",
			     .compaction = "",
			     .outcomes = "",
			     .has_reclaimed = true,
			     .nr_reclaimed = 3 };
	const struct task_info info = { .tid = 5 };
	const struct named_stall named = { .stall = &one,
					   .task_info = &info,
					   .name = "t",
					   .function = "f",
					   .memcg = "" };

	assert_int_equal(output_stall(output, &named), 0);
}

#define STALLS 9000 /* more than there is room for */

/* Ends the output, and counts its values of stalls pending, which are in order of time. */
static int pending_values(FILE *file, int *ret_most)
{
	struct summary_view view = { .form = SUMMARY_NONE };
	double ts, last = 0;
	char line[8192];
	int count = 0, value = -1;

	assert_int_equal(output_summary(output, &view), 0);
	output_free(output);
	writer_free(writer);
	rewind(file);
	*ret_most = 0;
	while (fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, "\"ts\":");

		if (!strstr(line, "\"name\":\"stalls\""))
			continue;
		assert_int_equal(sscanf(at, "\"ts\":%lf,\"args\":{\"pending\":%d}", &ts, &value),
				 2);
		assert_true(value >= 0 && ts >= last);
		last = ts;
		count++;
		if (value > *ret_most)
			*ret_most = value;
	}
	assert_int_equal(value, 0);
	fclose(file);
	return count;
}

/* However late a stall is known, it is pending from its start on, as long as there is room. */
static void test_pending(void **state)
{
	for (int i = 0; i < 2; i++) {
		FILE *file = tmpfile();
		int count = i ? STALLS : 8000, most;

		start(64);
		writer_attach(writer, fileno(file));
		for (int stalls = 1; stalls <= count; stalls++)
			stall(stalls * 1000, stalls * 1000 + 10);
		capture_stderr();
		stall(500, count * 1000 + 20);
		assert_int_equal(pending_values(file, &most), 2 * count + 2);
		assert_int_equal(most, 2);
		assert_int_equal(strstr(captured(), "a limit was reached: 1 stalls") != NULL, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_name), cmocka_unit_test(test_names_change),
		cmocka_unit_test(test_limit),	 cmocka_unit_test(test_cgroups),
		cmocka_unit_test(test_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
