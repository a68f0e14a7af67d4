// SPDX-License-Identifier: GPL-2.0-or-later
/* The form `journal`, from stalls and ticks to what arrives at a socket. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/journal.h"
#include "allocfilt/output.h"
#include "fake_journald.h"
#include "fake_resolver.h"
#include "journal/socket.h"
#include "made_cpus.h"

#define MS     1000000ull
#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define START  (7000 * SECOND) /* where the clock of the ticks stands */

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	(void)context;
	(void)style;
	return snprintf(text, size, "function_%x", (unsigned int)address);
}

static bool no_time(void *context, uint64_t ts, char *text)
{
	(void)context;
	(void)ts;
	*text = '\0';
	return false;
}

static struct resolver resolver = { .symbol = symbol, .time = no_time };

static struct plan plan;
static struct options options;
static struct data_source source;
static struct output *output;
static struct summary_view view;
static int journald;
static struct fake_entry entry;

static void make_output(void)
{
	struct output_setup output_setup = {
		.options = &options,
		.source = &source,
		.plan = &plan,
		.resolver = &resolver,
	};

	output = output_new(&output_setup);
	assert_non_null(output);
}

static int begin(void **state)
{
	struct cpu_list cpus = made_cpus(2);
	static char path[128];
	int ret = make_test_directory(state);

	alarm(30);
	snprintf(path, sizeof(path), "%.127s", fake_path());
	journal_socket_path = path;
	source = (struct data_source){ .proc = "/proc" };
	options = (struct options){
		.journal = true,
		.warning = 100 * MS,
		.error = 1000 * MS,
		.rate = 20,
		.burst = 50,
		.status_interval = 60 * MINUTE,
	};
	view = (struct summary_view){
		.plan = &plan,
		.resolver = &resolver,
		.summary = summary_new(&plan),
		.shrinkers = shrinkers_new(),
		.losses = losses_new(&cpus),
		.cpus = cpus,
		.top = 10,
	};
	journald = fake_listen();
	make_output();
	return ret;
}

static int end(void **state)
{
	output_free(output);
	summary_free(view.summary);
	shrinkers_free(view.shrinkers);
	losses_free((struct losses *)(uintptr_t)view.losses);
	close(journald);
	alarm(0);
	return remove_test_directory(state);
}

static uint64_t last_tick;

static void tick(uint64_t now)
{
	last_tick = now;
	view.has_journal = output_counts(output, &view.journal);
	output_tick(output, now, &view);
}

static struct task_info who;

/* A stall that took so long; both the summary and the output get it, as from the report. */
static void give_stall(int pid, uint64_t ns, bool background)
{
	struct stall stall = {
		.tid = pid,
		.start = 5 * SECOND,
		.end = 5 * SECOND + ns,
		.order = 2,
		.gfp_names = "GFP_KERNEL",
		.compaction = "",
		.role = ROLE_PAGE_ALLOCATION,
	};
	struct named_stall named = {
		.stall = &stall,
		.name = "task",
		.task_info = &who,
		.function = "__alloc_pages",
		.memcg = "",
		.background = background,
	};

	stall.phases.ns[PHASE_DIRECT_RECLAIM][PART_OWN] = ns;
	summary_stall(view.summary, &named);
	assert_int_equal(output_stall(output, &named), 0);
}

static void give_stalls(int count, uint64_t ns)
{
	for (int i = 0; i < count; i++)
		give_stall(1000 + i, ns, false);
}

/* The kernel queues so many datagrams only (net.unix.max_dgram_qlen), so the rest is flushed. */
static int drain(const char *id)
{
	int count = 0;

	for (int again = 0; again < 100; again++) {
		while (fake_receive(journald, &entry)) {
			assert_string_equal(fake_value(&entry, "MESSAGE_ID"), id);
			assert_string_equal(fake_value(&entry, "SYSLOG_IDENTIFIER"), "allocfilt");
			count++;
		}
		output->ops->tick(output, last_tick, &view);
	}
	return count;
}

static void receive(const char *id)
{
	assert_true(fake_receive(journald, &entry));
	assert_string_equal(fake_value(&entry, "MESSAGE_ID"), id);
}

static void nothing_more(void)
{
	assert_false(fake_take(journald, &entry));
}

static void test_stall(void **state)
{
	(void)state;
	tick(START);
	nothing_more();
	give_stall(812, 99 * MS, false);
	receive(JOURNAL_ID_STALL);
	assert_string_equal(fake_value(&entry, "MESSAGE"),
			    "task[812]: page allocation stalled 99.0 ms: reclaim 99.0 ms; "
			    "order 2 GFP_KERNEL");
	assert_string_equal(fake_value(&entry, "PRIORITY"), "5");
	assert_string_equal(fake_value(&entry, "SYSLOG_FACILITY"), "3");
	assert_string_equal(fake_value(&entry, "SYSLOG_IDENTIFIER"), "allocfilt");
	assert_int_equal(fake_number(&entry, "ALLOCFILT_TID"), 812);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_LATENCY_USEC"), 99000);
	give_stall(812, 100 * MS, false);
	receive(JOURNAL_ID_STALL);
	assert_string_equal(fake_value(&entry, "PRIORITY"), "4");
	give_stall(812, 1000 * MS, false);
	receive(JOURNAL_ID_STALL);
	assert_string_equal(fake_value(&entry, "PRIORITY"), "3");
	nothing_more();
}

/* kswapd at work: nobody waited. It takes no token either. */
static void test_background(void **state)
{
	(void)state;
	tick(START);
	for (int i = 0; i < 100; i++)
		give_stall(50, 5 * SECOND, true);
	nothing_more();
	give_stalls(1, MS);
	receive(JOURNAL_ID_STALL);
	nothing_more();
}

static void give_stall_in(const char *cgroup)
{
	snprintf(who.cgroup, sizeof(who.cgroup), "%s", cgroup);
	give_stall(300, 5 * SECOND, false);
}

/* That of a namespace as systemd 252 has it, with the slice of its template. Counted all the same,
 * and it takes no token. */
static void test_journald(void **state)
{
	(void)state;
	tick(START);
	for (int i = 0; i < 100; i++) {
		give_stall_in("/system.slice/systemd-journald.service");
		give_stall_in(
			"/system.slice/system-systemd\\x2djournald.slice/systemd-journald@a.service");
	}
	nothing_more();
	assert_int_equal(summary_stalls(view.summary, STALLS_WAITING)->latency.count, 200);
	give_stall_in("/system.slice/systemd-journald-dev-log.socket");
	receive(JOURNAL_ID_STALL);
	give_stall_in("/system.slice/systemd-journal-upload.service");
	receive(JOURNAL_ID_STALL);
	give_stall_in("/system.slice/a.service/systemd-journald.service");
	receive(JOURNAL_ID_STALL);
	give_stall_in("");
	receive(JOURNAL_ID_STALL);
	nothing_more();
}

static void test_object(void **state)
{
	(void)state;
	tick(START);
	who = (struct task_info){ .pid = getpid(), .cgroup = "/system.slice/a.service" };
	give_stall(812, MS, false);
	receive(JOURNAL_ID_STALL);
	assert_int_equal(fake_number(&entry, "OBJECT_PID"), getpid());
	assert_null(fake_field(&entry, "OBJECT_SYSTEMD_UNIT"));
	output_free(output);
	source.proc = test_path("proc"); /* nobody is there */
	make_output();
	give_stall(812, MS, false);
	receive(JOURNAL_ID_STALL);
	assert_string_equal(fake_value(&entry, "OBJECT_SYSTEMD_UNIT"), "a.service");
	assert_null(fake_field(&entry, "OBJECT_PID"));
	who = (struct task_info){ .pid = 0 };
}

/* Sixty at once: fifty have entries; the others one, a minute later, with the longest whole. */
static void test_held_back(void **state)
{
	struct journal_counts counts;

	(void)state;
	tick(START);
	give_stalls(50, 10 * MS);
	who = (struct task_info){ .pid = 7777777, .cgroup = "/system.slice/slow.service" };
	give_stall(1, 20 * MS, false);
	give_stall(2, 1500 * MS, false);
	who = (struct task_info){ .pid = 0 };
	give_stall(3, 1500 * MS, false);
	give_stalls(7, 30 * MS);
	assert_int_equal(drain(JOURNAL_ID_STALL), 50);
	assert_true(output_counts(output, &counts));
	assert_int_equal(counts.entries, 50);
	assert_int_equal(counts.held_back, 10);
	tick(START + MINUTE - 1);
	nothing_more();
	tick(START + MINUTE);
	receive(JOURNAL_ID_HELD_BACK);
	assert_string_equal(
		fake_value(&entry, "MESSAGE"),
		"10 more stalls in the last 60 s, of 3.2 s in all, held back; the worst: "
		"task[2]: page allocation stalled 1.5 s: reclaim 1.5 s; "
		"order 2 GFP_KERNEL");
	assert_string_equal(fake_value(&entry, "PRIORITY"), "3");
	assert_int_equal(fake_number(&entry, "ALLOCFILT_HELD_BACK"), 10);
	/* 20 + 2 * 1500 + 7 * 30 ms */
	assert_int_equal(fake_number(&entry, "ALLOCFILT_HELD_BACK_USEC"), 3230000);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_TID"), 2);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_LATENCY_USEC"), 1500000);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_DIRECT_RECLAIM_USEC"), 1500000);
	assert_string_equal(fake_value(&entry, "ALLOCFILT_CGROUP"), "/system.slice/slow.service");
	assert_string_equal(fake_value(&entry, "OBJECT_SYSTEMD_UNIT"), "slow.service");
	tick(START + 3 * MINUTE);
	nothing_more();
}

/* 20 a minute are one in three seconds; 50 at once, and never more. */
static void test_rate(void **state)
{
	struct journal_counts counts;

	(void)state;
	options.burst = 5;
	output_free(output);
	make_output();
	give_stalls(3, MS);
	tick(START);
	give_stalls(3, MS);
	assert_int_equal(drain(JOURNAL_ID_STALL), 5);
	tick(START + 3 * SECOND - 1);
	give_stalls(1, MS);
	assert_int_equal(drain(JOURNAL_ID_STALL), 0);
	tick(START + 3 * SECOND);
	give_stalls(2, MS);
	receive(JOURNAL_ID_STALL);
	nothing_more();
	options.status_interval = 0;
	tick(START + 100 * MINUTE);
	receive(JOURNAL_ID_HELD_BACK);
	give_stalls(7, MS);
	output_counts(output, &counts);
	assert_int_equal(counts.entries, 5 + 1 + 1 + 5);
	assert_int_equal(counts.held_back, 1 + 1 + 1 + 2);
}

/* What is held back after that is told anew, and of itself alone. */
static void test_held_back_again(void **state)
{
	struct journal_counts counts;

	(void)state;
	options.burst = 1;
	output_free(output);
	make_output();
	tick(START);
	give_stalls(1, MS);
	give_stall(2, 900 * MS, false);
	receive(JOURNAL_ID_STALL);
	tick(START + MINUTE);
	receive(JOURNAL_ID_HELD_BACK);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_TID"), 2);
	give_stall(3, MS, false); /* a token of that minute */
	receive(JOURNAL_ID_STALL);
	tick(START + MINUTE + SECOND);
	give_stall(4, 2 * MS, false);
	tick(START + 2 * MINUTE);
	nothing_more();
	tick(START + 2 * MINUTE + SECOND);
	receive(JOURNAL_ID_HELD_BACK);
	assert_string_equal(fake_value(&entry, "PRIORITY"), "5");
	assert_int_equal(fake_number(&entry, "ALLOCFILT_TID"), 4);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_HELD_BACK"), 1);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_HELD_BACK_USEC"), 2000);
	assert_non_null(strstr(fake_value(&entry, "MESSAGE"), "1 more stall in the last 60 s"));
	output_counts(output, &counts);
	assert_int_equal(counts.held_back, 2);
	nothing_more();
}

static void test_no_limit(void **state)
{
	struct journal_counts counts;

	(void)state;
	options.rate = 0;
	output_free(output);
	make_output();
	for (int i = 0; i < 500; i++) {
		give_stalls(1, MS);
		receive(JOURNAL_ID_STALL);
	}
	output_counts(output, &counts);
	assert_int_equal(counts.entries, 500);
	assert_int_equal(counts.held_back, 0);
}

/* journald is gone for a while: a stall never fails, 64 wait, ticks bring them. */
static void test_journald_is_gone(void **state)
{
	struct journal_counts counts;

	(void)state;
	options.burst = 100;
	output_free(output);
	make_output();
	close(journald);
	unlink(fake_path());
	tick(START);
	give_stalls(70, MS);
	output_counts(output, &counts);
	assert_int_equal(counts.entries, 0);
	assert_int_equal(counts.dropped, 6);
	journald = fake_listen();
	tick(START + 1);
	assert_true(fake_receive(journald, &entry));
	assert_int_equal(fake_number(&entry, "ALLOCFILT_TID"), 1000);
	assert_int_equal(1 + drain(JOURNAL_ID_STALL), 64);
	output_counts(output, &counts);
	assert_int_equal(counts.entries, 64);
}

static void test_status(void **state)
{
	(void)state;
	tick(START);
	tick(START + 60 * MINUTE - 1);
	nothing_more();
	give_stalls(3, 1200 * MS);
	drain(JOURNAL_ID_STALL);
	losses_add((struct losses *)(uintptr_t)view.losses, 1, 5);
	tick(START + 60 * MINUTE);
	receive(JOURNAL_ID_STATUS);
	assert_string_equal(fake_value(&entry, "MESSAGE"),
			    "3 stalls, worst 1.2 s (task[1000]), 5 records lost, "
			    "0 stalls held back from the journal, 0 entries dropped");
	assert_string_equal(fake_value(&entry, "PRIORITY"), "6");
	assert_int_equal(fake_number(&entry, "ALLOCFILT_STALLS"), 3);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_WORST_USEC"), 1200000);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_LOST"), 5);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_LOST_TIMES_UNKNOWN"), 0);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_HELD_BACK"), 0);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_DROPPED"), 0);
	tick(START + 120 * MINUTE - 1);
	nothing_more();
	tick(START + 120 * MINUTE);
	receive(JOURNAL_ID_STATUS);
	nothing_more();
}

static void test_no_status(void **state)
{
	(void)state;
	options.status_interval = 0;
	output_free(output);
	make_output();
	for (int hour = 0; hour < 5; hour++)
		tick(START + hour * 60 * MINUTE);
	nothing_more();
}

static void line_is(const char *expected)
{
	char text[512];

	assert_int_equal(status_line(text, sizeof(text), &view), strlen(expected));
	assert_string_equal(text, expected);
}

static void test_status_line(void **state)
{
	struct losses *losses = (struct losses *)(uintptr_t)view.losses;

	(void)state;
	line_is("0 stalls, 0 records lost");
	give_stall(9, 3 * MS, false);
	give_stall(8, 7 * SECOND, true);
	losses_add(losses, 0, 1);
	line_is("1 stall, worst 3.0 ms (task[9]), 1 record lost");
	losses_add(losses, 1, 9);
	losses_add(losses, 1, RECORD_LOST_UNKNOWN);
	line_is("1 stall, worst 3.0 ms (task[9]), 10 records lost and 1 time nobody knows how many");
}

/* Held back first, then the summary in one entry. */
static void test_summary(void **state)
{
	struct writer *writer = writer_new(-1, -1);
	const char *message, *text;
	size_t length;

	(void)state;
	options.burst = 2;
	output_free(output);
	make_output();
	tick(START);
	give_stalls(3, 5 * MS);
	receive(JOURNAL_ID_STALL);
	receive(JOURNAL_ID_STALL);
	view.has_journal = output_counts(output, &view.journal);
	assert_int_equal(output_summary(output, &view), 0);
	receive(JOURNAL_ID_HELD_BACK);
	assert_non_null(strstr(fake_value(&entry, "MESSAGE"), "1 more stall in the last 1 s"));
	receive(JOURNAL_ID_SUMMARY);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_STALLS"), 3);
	assert_int_equal(fake_number(&entry, "ALLOCFILT_HELD_BACK"), 1);
	message = fake_value(&entry, "MESSAGE");
	assert_int_equal(strncmp(message,
				 "3 stalls, worst 5.0 ms (task[1000]), 0 records lost, "
				 "1 stall held back from the journal, 0 entries dropped\n",
				 106),
			 0);
	assert_int_equal(summary_text(writer, &view), 0);
	text = writer_queued(writer, &length);
	assert_int_equal(strlen(strchr(message, '\n')), length - 1);
	assert_memory_equal(strchr(message, '\n'), text, length - 1);
	writer_free(writer);
	nothing_more();
}

/* One that is longer than an entry is cut, and says so. */
static void test_long_summary(void **state)
{
	const char *message;

	(void)state;
	view.top = 128;
	for (int pid = 1; pid <= 128; pid++) {
		give_stall(100000 + pid, MS, true);
		output_free(output);
		make_output();
		give_stall(200000 + pid, MS, false);
		receive(JOURNAL_ID_STALL);
	}
	tick(START);
	assert_int_equal(output_summary(output, &view), 0);
	receive(JOURNAL_ID_SUMMARY);
	assert_int_equal(entry.length, JOURNAL_ENTRY_MAX);
	message = fake_value(&entry, "MESSAGE");
	assert_string_equal(message + strlen(message) - strlen(JOURNAL_CUT), JOURNAL_CUT);
}

/* Without a journald the end comes all the same, soon, and all is counted. */
static void test_summary_for_nobody(void **state)
{
	struct journal_counts counts;

	(void)state;
	close(journald);
	tick(START);
	give_stalls(3, MS);
	alarm(3);
	assert_int_equal(output_summary(output, &view), 0);
	output_counts(output, &counts);
	assert_int_equal(counts.entries, 0);
	assert_int_equal(counts.dropped, 4);
	journald = fake_listen();
}

/* Another form has no counts, and a tick is nothing to it. */
static void test_other_forms(void **state)
{
	const struct options json_options = { .format = "json" };
	struct output_setup other = { .options = &json_options, .resolver = &resolver };
	struct output *json = output_new(&other);
	struct journal_counts counts = { .entries = 1 };

	(void)state;
	assert_false(output_counts(json, &counts));
	assert_int_equal(counts.entries, 0);
	output_tick(json, START, &view);
	output_free(json);
}

static void test_bad_path(void **state)
{
	struct output_setup bad = { .options = &options, .source = &source };
	char path[300];

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	journal_socket_path = path;
	errno = 0;
	assert_null(output_new(&bad));
	assert_int_equal(errno, ENAMETOOLONG);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stall),	    TEST(test_background),   TEST(test_journald),
		TEST(test_object),	    TEST(test_held_back),    TEST(test_rate),
		TEST(test_held_back_again), TEST(test_no_limit),     TEST(test_journald_is_gone),
		TEST(test_status),	    TEST(test_no_status),    TEST(test_status_line),
		TEST(test_summary),	    TEST(test_long_summary), TEST(test_summary_for_nobody),
		TEST(test_other_forms),	    TEST(test_bad_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
