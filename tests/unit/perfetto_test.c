// SPDX-License-Identifier: GPL-2.0-or-later
/* The form `perfetto`: which track each slice is on. tests/replay/trace_event.pl checks the format. */
#include "allocfilt/output/form.h"
#include "allocfilt/output/json_writer.h"
#include "fake_resolver.h"
#include "made_entry.h"
#include "made_named.h"
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

static void start(void)
{
	struct output_setup setup = { &options, &plan, NULL, &resolver, NULL };

	options = (struct options){ .format = "perfetto" };
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

static size_t key_length;

static size_t event_with_key(void *context, const struct record *record, char *to, size_t size)
{
	return snprintf(to, size, "event: %0*d=1", (int)key_length, 0);
}

/* A stall of one window that ends at @ts, with an event where @key_length is not 0. */
static void window(int kind, int id, uint64_t ts)
{
	const struct record event = { .ts = ts - 50, .kind = RECORD_EVENT };
	struct made_entry made_event;
	struct record exit = { .ts = ts, .window = { .calltime = ts - 100, .rettime = ts } };
	struct made_entry made_window;
	struct stall stall = {
		.key = { .id = id, .kind = kind },
		.start = ts - 100,
		.end = ts,
		.windows = made_entry(&made_window, LOG_WINDOW, &exit),
	};
	struct made_named made;

	if (key_length)
		log_window(stall.windows)->events = made_entry(&made_event, LOG_EVENT, &event);
	make_named(&made, &stall, "", "")->resolver = &resolver;
	assert_int_equal(output_stall(output, &made.named), 0);
}

static size_t event_of_wait(void *context, const struct record *record, char *to, size_t size)
{
	return snprintf(to, size,
			record->event ? "memory_wait_end:" : "memory_wait_begin: caller=0x%x",
			0xb233a949);
}

/* A memory wait of 100 ns; a side that was not recorded has no raw data. */
static void wait_of(bool has_begin, bool has_end, uint64_t ts, int role)
{
	struct record begin = { .ts = ts - 100, .raw_size = has_begin ? 8 : 0 };
	struct record end_record = { .ts = ts, .event = 1, .raw_size = has_end ? 8 : 0 };
	struct made_entry entries[3];
	struct stall stall = {
		.key = { .id = 812 },
		.start = ts - 100,
		.end = ts,
		.windows = made_pair(entries, &begin, &end_record, NULL),
	};
	struct made_named made;

	stall.windows->role = (int16_t)role;
	log_pair(stall.windows)->start = ts - 100;
	if (!has_begin)
		log_pair(stall.windows)->partner = stall.windows;
	make_named(&made, &stall, "", "")->resolver = &resolver;
	assert_int_equal(output_stall(output, &made.named), 0);
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
	/* A thread with the number of its process is the main one. */
	assert_true(strncmp(thread, "cpu ", 4) || tid > pid);
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

/* After exec, and after the reuse of an id: Perfetto would show the last of several names for all. */
UNIT_TEST(test_first_name_stays)
{
	start();
	window(OWNER_TASK, 812, 1000);
	window(OWNER_TASK, 812, EXEC + 1000);
	window(OWNER_TASK, 815, EXEC + 2000);
	window(OWNER_TASK, 815, REUSE + 1000);
	window(OWNER_TASK, 1 << 22, REUSE + 2000);
	end();
	track_is("0.900", "sh", "sh");
	track_is("5.900", "sh", "sh");
	track_is("6.900", "worker", "sh");
	assert_int_equal(count_in(text, "thread_name"), 3);
	assert_int_equal(id_in_event("\"ts\":9.900", "\"pid\":"), 700);
}

UNIT_TEST(test_cpus)
{
	start();
	window(OWNER_IDLE, 0, 1000);
	window(OWNER_HARDIRQ, 3, 2000);
	window(OWNER_HARDIRQ, 8191, 3000);
	window(OWNER_IDLE, 3, 4000);
	end();
	track_is("0.900", "cpu 0 idle", "CPUs");
	track_is("1.900", "cpu 3 hardirq", "CPUs");
	track_is("2.900", "cpu 8191 hardirq", "CPUs");
	track_is("3.900", "cpu 3 idle", "CPUs");
}

static const struct task_info *task_in_cgroup(void *context, int tid, uint64_t ts)
{
	static struct task_info info;

	info = (struct task_info){ .tid = tid, .pid = tid, .process = "sh" };
	strcpy(info.cgroup, tid == 1 ? "/" : "/system.slice/a.service");
	return &info;
}

/* Perfetto sorts processes by name. */
UNIT_TEST(test_cgroups)
{
	resolver.task_info = task_in_cgroup;
	start();
	window(OWNER_TASK, 1, 1000);
	window(OWNER_TASK, 2, 2000);
	end();
	resolver.task_info = task_info;
	track_is("0.900", "sh", "sh");
	track_is("1.900", "sh", "/system.slice/a.service sh");
}

/* A wait in progress when the run begins or ends has one side. */
UNIT_TEST(test_memory_waits)
{
	resolver.event = event_of_wait;
	plan = (struct plan){
		.events = { { .id = EVENT_WAIT_BEGIN, .rule = RULE_PAIR },
			    { .id = EVENT_WAIT_END, .rule = RULE_PAIR } },
		.nr_events = 2,
	};
	start();
	wait_of(true, true, 1000, ROLE_REFAULT);
	wait_of(true, false, 2000, ROLE_MEMORY_HIGH);
	wait_of(false, true, 3000, ROLE_WAIT);
	end();
	resolver.event = NULL;
	plan = (struct plan){ .nr_events = 0 };
	text_has(text, "\"name\":\"memory wait: refault\"");
	text_has(text, "\"ts\":0.900,\"dur\":0.100");
	text_has(text, "\"args\":{\"cpu\":0,\"begin\":{\"caller\":\"0xb233a949\"},\"end\":{}}");
	text_has(text, "\"name\":\"memory wait: memory.high\"");
	text_has(text, "\"args\":{\"cpu\":0,\"begin\":{\"caller\":\"0xb233a949\"}}");
	text_has(text, "\"name\":\"memory wait: memory wait\"");
	text_has(text, "\"args\":{\"cpu\":0,\"end\":{}}");
	assert_int_equal(count_in(text, "\"name\":\"memory wait: "), 3);
}

/* The format of an event is untrusted, and may have a name that is longer than any key. */
UNIT_TEST(test_long_field_names)
{
	resolver.event = event_with_key;
	for (key_length = JSON_KEY_MAX - 1; key_length <= 1000; key_length++) {
		char member[JSON_KEY_MAX + 8];

		start();
		window(OWNER_TASK, 812, 1000);
		end();
		snprintf(member, sizeof(member), ",\"%0*d\":\"1\"", JSON_KEY_MAX, 0);
		assert_int_equal(count_in(text, member), key_length == JSON_KEY_MAX);
		assert_int_equal(count_in(text, ",\"text\":\"0"), key_length > JSON_KEY_MAX);
	}
	key_length = 0;
}

UNIT_TEST_MAIN(NULL, NULL)
