// SPDX-License-Identifier: GPL-2.0-or-later
/* The form `journal`, from stalls and ticks to what arrives at a socket. */
#include "allocfilt/journal/journal.h"
#include "allocfilt/journal/notify.h"
#include "fake_journald.h"
#include "fake_resolver.h"
#include "made_named.h"
#include "made_view.h"
#include "unit_test.h"

#define MS     1000000ull
#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define START  (7000 * SECOND) /* time of the first tick */

static struct resolver resolver;
static struct plan plan;
static struct options options;
static struct output *output;
static struct writer *nowhere;
static int journald;
static struct fake_entry entry;

static void restart(void)
{
	const struct output_form form = { .ops = &journal_form };
	struct output_setup output_setup = {
		.options = &options,
		.plan = &plan,
		.resolver = &resolver,
		.writer = nowhere,
		.form = &form,
	};

	output_free(output);
	output = output_new(&output_setup);
	assert_non_null(output);
}

static int begin(void **state)
{
	static char path[128];
	int ret = make_test_directory(state);

	alarm(30);
	snprintf(path, sizeof(path), "%.127s", fake_path());
	journal_socket_path = path;
	options = (struct options){
		.journal = true,
		.warning = 100 * MS,
		.error = 1000 * MS,
		.rate = 20,
		.burst = 50,
		.status_interval = 60 * MINUTE,
	};
	make_view(&plan, &resolver, 2);
	journald = fake_listen();
	nowhere = writer_new(-1, -1);
	restart();
	return ret;
}

static int end(void **state)
{
	output_free(output);
	output = NULL;
	free_view();
	writer_free(nowhere);
	close(journald);
	alarm(0);
	return remove_test_directory(state);
}

static void tick(uint64_t now)
{
	view.has_journal = output_counts(output, &view.journal);
	output_tick(output, now, &view);
}

static struct task_info task_info;
static enum phase_group group_of_stalls = PHASE_DIRECT_RECLAIM;

/* Puts a stall of @ns into the summary and the output, as the pipeline does. */
static void put_stall(int tid, uint64_t ns, bool background)
{
	struct stall stall = {
		.tid = tid,
		.start = 5 * SECOND,
		.end = 5 * SECOND + ns,
		.order = 2,
		.gfp_names = "GFP_KERNEL",
		.role = ROLE_PAGE_ALLOCATION,
	};
	struct made_named made;

	phases_spend(&stall.phases, group_of_stalls, PART_ITSELF, STATE_RUNNING, ns);
	make_named(&made, &stall, "task", "");
	made.info = task_info;
	made.named.background = background;
	made.named.resolver = &resolver;
	made.named.function = "__alloc_pages";
	summary_stall(view.summary, &made.named);
	if (!background)
		units_stall(view.units, &made.named);
	assert_int_equal(output_stall(output, &made.named), 0);
}

static void put_in(const char *cgroup, uint64_t ns)
{
	snprintf(task_info.cgroup, sizeof(task_info.cgroup), "%s", cgroup);
	put_stall(300, ns, false);
	task_info.cgroup[0] = '\0';
}

static void put_stalls(int count, uint64_t ns)
{
	for (int i = 0; i < count; i++)
		put_stall(1000 + i, ns, false);
}

static int drain(const char *id)
{
	int count = 0;

	while (fake_receive(journald, &entry)) {
		assert_string_equal(fake_value(&entry, "MESSAGE_ID"), id);
		assert_string_equal(fake_value(&entry, "SYSLOG_IDENTIFIER"), "allocfilt");
		count++;
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
	assert_false(fake_receive_bytes(journald, &entry));
}

static void counts_are(uint64_t entries, uint64_t held_back, uint64_t dropped)
{
	struct journal_counts counts;

	assert_true(output_counts(output, &counts));
	assert_int_equal(counts.entries, entries);
	assert_int_equal(counts.held_back, held_back);
	assert_int_equal(counts.dropped, dropped);
}

#define TEST(function) UNIT_TEST_WITH(function, begin, end)

TEST(test_stall)
{
	static const struct {
		uint64_t ns;
		const char *priority;
	} cases[] = { { 99 * MS, "5" }, { 100 * MS, "4" }, { 1000 * MS, "3" } };

	tick(START);
	nothing_more();
	for (size_t i = 0; i < COUNT(cases); i++) {
		put_stall(812, cases[i].ns, false);
		receive(JOURNAL_ID_STALL);
		assert_string_equal(fake_value(&entry, "PRIORITY"), cases[i].priority);
		assert_string_equal(fake_value(&entry, "SYSLOG_FACILITY"), "3");
		assert_non_null(strstr(fake_value(&entry, "MESSAGE"), "task[812]: page alloc"));
		FIELDS("TID=812");
		assert_int_equal(fake_number(&entry, "ALLOCFILT_LATENCY_USEC"), cases[i].ns / 1000);
	}
	nothing_more();
}

/* No task waits for kswapd, and its stalls do not use the rate. */
TEST(test_background)
{
	tick(START);
	for (int i = 0; i < 100; i++)
		put_stall(50, 5 * SECOND, true);
	nothing_more();
	put_stalls(1, MS);
	receive(JOURNAL_ID_STALL);
	nothing_more();
}

/* Stalls of journald, also of a namespace's, are counted but do not use the rate. */
TEST(test_journald)
{
	tick(START);
	for (int i = 0; i < 100; i++) {
		put_in("/system.slice/systemd-journald.service", MS);
		put_in("/system.slice/system-systemd\\x2djournald.slice/systemd-journald@a.service",
		       MS);
	}
	nothing_more();
	assert_int_equal(summary_stalls(view.summary, STALLS_WAITING)->latency.count, 200);
	put_in("/system.slice/systemd-journald-dev-log.socket", MS);
	receive(JOURNAL_ID_STALL);
	put_in("/system.slice/systemd-journal-upload.service", MS);
	receive(JOURNAL_ID_STALL);
	put_in("/system.slice/a.service/systemd-journald.service", MS);
	receive(JOURNAL_ID_STALL);
	put_in("", MS);
	receive(JOURNAL_ID_STALL);
	nothing_more();
}

/*
 * The unit is that of the stall's time. The pid is now this test's, which is in no unit a.service:
 * from it journald would find another one.
 */
TEST(test_unit)
{
	tick(START);
	task_info = (struct task_info){ .pid = getpid(), .cgroup = "/system.slice/a.service" };
	put_stall(812, MS, false);
	receive(JOURNAL_ID_STALL);
	FIELDS("OBJECT_SYSTEMD_UNIT=a.service", "OBJECT_PID");
	task_info = (struct task_info){ .pid = 0 };
}

#define SHORT_OF_MEMORY                                                                               \
	". The machine, not one unit, was short: free memory ran out faster than kswapd freed more. " \
	"Limit what uses the most memory (MemoryHigh=), add some, or raise vm.watermark_scale_factor."

/* journalctl -x puts a field into the text of the catalog if it has at most 256 bytes with its name. */
static void has_remedy(const char *key)
{
	static const char *const names[] = { "FINDING", "LOOK", "CHANGE", "SOURCE" };

	assert_string_equal(fake_value(&entry, "ALLOCFILT_REMEDY"), key);
	for (size_t i = 0; i < COUNT(names); i++) {
		char name[32];

		snprintf(name, sizeof(name), "ALLOCFILT_%s", names[i]);
		assert_in_range(strlen(fake_value(&entry, name)), 5, 256 - sizeof(name));
	}
}

static void receive_unit(const char *name, const char *message)
{
	receive(JOURNAL_ID_UNIT);
	assert_string_equal(fake_value(&entry, "ALLOCFILT_UNIT"), name);
	assert_string_equal(fake_value(&entry, "MESSAGE"), message);
	assert_string_equal(fake_value(&entry, "PRIORITY"), "6");
	if (strstr(name, ".service"))
		assert_string_equal(fake_value(&entry, "OBJECT_SYSTEMD_UNIT"), name);
	else
		FIELDS("OBJECT_SYSTEMD_UNIT");
}

/* Those that waited most, of the period alone, and of all stalls: held back or not, journald's too. */
TEST(test_units)
{
	options.rate = 1;
	options.burst = 1;
	view.top = 3;
	restart();
	tick(START);
	put_in("/system.slice/a.service", 100 * MS);
	put_in("/system.slice/a.service/worker", 300 * MS);
	put_in("/system.slice/systemd-journald.service", 500 * MS);
	put_in("/docker/0af1", 350 * MS);
	put_in("/system.slice/least.service", 10 * MS);
	receive(JOURNAL_ID_STALL);
	tick(START + 60 * MINUTE);
	receive(JOURNAL_ID_HELD_BACK);
	receive(JOURNAL_ID_STATUS);
	receive_unit("systemd-journald.service",
		     "systemd-journald.service waited 500 ms in 1 stall of the last 60 min, "
		     "worst 500 ms; cause: direct reclaim 100 %" SHORT_OF_MEMORY);
	receive_unit("a.service", "a.service waited 400 ms in 2 stalls of the last 60 min, "
				  "worst 300 ms; cause: direct reclaim 100 %" SHORT_OF_MEMORY);
	FIELDS("STALLS=2", "TOTAL_USEC=400000", "WORST_USEC=300000", "CAUSE=direct_reclaim",
	       "CAUSE_PERCENT=100", "PERIOD_USEC=3600000000");
	receive_unit("/docker/0af1", "/docker/0af1 waited 350 ms in 1 stall of the last 60 min, "
				     "worst 350 ms; cause: direct reclaim 100 %" SHORT_OF_MEMORY);
	nothing_more();
	put_in("", 20 * MS);
	receive(JOURNAL_ID_STALL);
	tick(START + 61 * MINUTE + SECOND / 2);
	/* the rest, at the end */
	assert_int_equal(output_summary(output, &view), 0);
	receive_unit("none", "tasks of no known unit waited 20 ms in 1 stall of the last 61 s, "
			     "worst 20 ms; cause: direct reclaim 100 %" SHORT_OF_MEMORY);
	receive(JOURNAL_ID_SUMMARY);
	nothing_more();
}

static void put_wait(const char *cgroup, int role, uint64_t ns, bool is_long)
{
	const struct memory_wait wait = { .start = SECOND, .end = SECOND + ns, .role = role };
	struct made_named made;

	make_named(&made, &(struct stall){ .order = -1 }, "t", cgroup);
	units_wait(view.units, &made.named, &wait, is_long);
}

/*
 * By hand: of a.service 500 ms in a stall, with a wait of 400 ms inside, and waits of 30 and 20 ms. b.service
 * has no stall, and d.service waited as long as one takes; c.service waited 134 us less and has no entry.
 */
TEST(test_waits_of_units)
{
	view.report = 10 * MS;
	restart();
	tick(START);
	put_in("/a.service", 500 * MS);
	receive(JOURNAL_ID_STALL);
	put_wait("/a.service", ROLE_DIRECT_RECLAIM, 400 * MS, true);
	put_wait("/a.service", ROLE_REFAULT, 20 * MS, false);
	put_wait("/a.service", ROLE_SWAP_IN, 30 * MS, false);
	put_wait("/b.service", ROLE_MEMORY_HIGH, 60 * MS, false);
	put_wait("/c.service", ROLE_REFAULT, 10 * MS - 134000, false);
	put_wait("/d.service", ROLE_REFAULT, 10 * MS, false);
	put_wait("/d.service", ROLE_IO, 3000 * MS, false);
	/* It lost tasks and did not wait, so it is last, behind those that --top shows. */
	view.top = 3;
	put_wait("/e.service", ROLE_OOM_KILLER, 0, false);
	put_wait("/e.service", ROLE_OOM_KILLER, 0, false);
	assert_int_equal(output_summary(output, &view), 0);
	receive_unit("a.service",
		     "a.service waited 500 ms in 1 stall of the last 1 s, worst 500 ms; cause: "
		     "direct reclaim 100 %; 450 ms in 3 memory waits, most of it direct reclaim; "
		     "50 ms of it in 2 shorter than a stall" SHORT_OF_MEMORY);
	has_remedy("direct_reclaim");
	FIELDS("WAIT_REASON=direct_reclaim", "WAITS=3", "WAITS_USEC=450000", "TOTAL_USEC=500000");
	receive_unit(
		"b.service",
		"b.service waited 0 us in 0 stalls of the last 1 s; 60 ms in 1 memory wait, "
		"most of it memory.high; 60 ms of it in 1 shorter than a stall. The unit was above its "
		"MemoryHigh=, and the kernel slowed it down. Raise MemoryHigh= of the unit, "
		"or have it use less memory.");
	has_remedy("memory_high");
	receive_unit(
		"d.service",
		"d.service waited 0 us in 0 stalls of the last 1 s; 10 ms in 1 memory wait, "
		"most of it refault; 10 ms of it in 1 shorter than a stall; and 3.0 s of other waits for I/O, "
		"first reads among them: not memory. Pages of files had been freed "
		"by reclaim, and tasks waited to read them again. Raise the unit's "
		"limit, so that its files fit; if it has none, add memory or set MemoryLow=.");
	has_remedy("refault");
	FIELDS("STALLS=0", "TOTAL_USEC=0", "CAUSE", "OOM_KILLS=0");
	receive_unit("e.service",
		     "e.service waited 0 us in 0 stalls of the last 1 s; the OOM killer took "
		     "2 of its tasks");
	FIELDS("STALLS=0", "OOM_KILLS=2");
	receive(JOURNAL_ID_SUMMARY);
	nothing_more();
}

/* The two causes with most time. */
TEST(test_causes_of_a_unit)
{
	static const struct {
		enum phase_group group;
		uint64_t ns;
	} stalls[] = {
		{ PHASE_COMPACTION, 150 * MS },
		{ PHASE_DIRECT_RECLAIM, 100 * MS },
		{ PHASE_MEMCG_RECLAIM, 349 * MS },
		{ PHASE_DIRECT_RECLAIM, 1 * MS },
	};

	options.rate = 1;
	options.burst = 1;
	restart();
	tick(START);
	for (size_t i = 0; i < COUNT(stalls); i++) {
		group_of_stalls = stalls[i].group;
		put_in("/system.slice/a.service", stalls[i].ns);
	}
	group_of_stalls = PHASE_DRAIN;
	put_in("/system.slice/b.service", MS);
	group_of_stalls = PHASE_DIRECT_RECLAIM;
	receive(JOURNAL_ID_STALL);
	assert_int_equal(output_summary(output, &view), 0);
	receive(JOURNAL_ID_HELD_BACK);
	receive_unit(
		"a.service",
		"a.service waited 600 ms in 4 stalls of the last 1 s, worst "
		"349 ms; cause: memcg reclaim 58 %, compaction 25 %. A "
		"limit was reached: the unit's own, or that of another cgroup, mostly one above it. Raise the "
		"limit that is reached (MemoryMax=, MemoryHigh=), or use less memory below it.");
	has_remedy("limit_unknown");
	FIELDS("CAUSE=memcg_reclaim", "CAUSE_PERCENT=58");
	receive_unit("b.service", "b.service waited 1.0 ms in 1 stall of the last 1 s, worst "
				  "1.0 ms; cause: draining per-CPU lists 100 %");
	has_remedy("none");
}

TEST(test_no_entries_of_units)
{
	options.status_interval = 0;
	restart();
	tick(START);
	put_in("/system.slice/a.service", 100 * MS);
	receive(JOURNAL_ID_STALL);
	tick(START + 61 * MINUTE);
	assert_int_equal(output_summary(output, &view), 0);
	receive(JOURNAL_ID_SUMMARY);
	nothing_more();
}

/*
 * Those that are held back share one entry, a minute later, with the longest. The next one covers only what
 * was held back since then.
 */
TEST(test_held_back)
{
	options.burst = 1;
	restart();
	tick(START);
	put_stalls(1, 10 * MS);
	receive(JOURNAL_ID_STALL);
	task_info = (struct task_info){ .pid = getpid(), .cgroup = "/system.slice/slow.service" };
	put_stall(1, 20 * MS, false);
	put_stall(2, 1500 * MS, false);
	task_info = (struct task_info){ .pid = 0 };
	put_stall(3, 1500 * MS, false);
	put_stalls(7, 30 * MS);
	counts_are(1, 10, 0);
	tick(START + MINUTE - 1);
	nothing_more();
	tick(START + MINUTE + 600 * MS);
	receive(JOURNAL_ID_HELD_BACK);
	assert_string_equal(
		fake_value(&entry, "MESSAGE"),
		"10 more stalls in the last 61 s, of 3.2 s in all, held back; the worst: "
		"task[2]: page allocation stalled 1.5 s: direct reclaim 100 %: reclaim itself 100 %; "
		"order 2 GFP_KERNEL");
	assert_string_equal(fake_value(&entry, "PRIORITY"), "3");
	/* 20 + 2 * 1500 + 7 * 30 ms */
	FIELDS("HELD_BACK=10", "HELD_BACK_USEC=3230000", "TID=2", "LATENCY_USEC=1500000",
	       "DIRECT_RECLAIM_USEC=1500000", "CGROUP=/system.slice/slow.service",
	       "OBJECT_SYSTEMD_UNIT=slow.service", "OBJECT_PID");
	put_stall(3, MS, false); /* a token of that minute */
	receive(JOURNAL_ID_STALL);
	tick(START + MINUTE + SECOND);
	put_stall(4, 2 * MS, false);
	tick(START + 2 * MINUTE);
	nothing_more();
	tick(START + 2 * MINUTE + SECOND);
	receive(JOURNAL_ID_HELD_BACK);
	assert_string_equal(fake_value(&entry, "PRIORITY"), "5");
	FIELDS("TID=4", "HELD_BACK=1", "HELD_BACK_USEC=2000");
	assert_non_null(strstr(fake_value(&entry, "MESSAGE"), "1 more stall in the last 60 s"));
	counts_are(4, 11, 0);
	tick(START + 4 * MINUTE);
	nothing_more();
}

/* 20 a minute are one in three seconds; 50 at once, and never more. */
TEST(test_rate)
{
	options.burst = 5;
	restart();
	put_stalls(3, MS);
	tick(START);
	put_stalls(3, MS);
	assert_int_equal(drain(JOURNAL_ID_STALL), 5);
	tick(START + 3 * SECOND - 1);
	put_stalls(1, MS);
	assert_int_equal(drain(JOURNAL_ID_STALL), 0);
	tick(START + 3 * SECOND);
	put_stalls(2, MS);
	receive(JOURNAL_ID_STALL);
	nothing_more();
	options.status_interval = 0;
	tick(START + 100 * MINUTE);
	receive(JOURNAL_ID_HELD_BACK);
	put_stalls(7, MS);
	counts_are(5 + 1 + 1 + 5, 1 + 1 + 1 + 2, 0);
}

TEST(test_no_limit)
{
	options.rate = 0;
	restart();
	for (int i = 0; i < 500; i++) {
		put_stalls(1, MS);
		receive(JOURNAL_ID_STALL);
	}
	counts_are(500, 0, 0);
}

/* While journald is absent, stalls do not fail, and their entries are counted. */
TEST(test_journald_is_gone)
{
	close(journald);
	unlink(fake_path());
	tick(START);
	put_stalls(3, MS);
	counts_are(0, 0, 3);
	journald = fake_listen();
	put_stalls(2, MS);
	assert_int_equal(drain(JOURNAL_ID_STALL), 2);
	counts_are(2, 0, 3);
}

TEST(test_status)
{
	tick(START);
	tick(START + 60 * MINUTE - 1);
	nothing_more();
	put_stalls(3, 1200 * MS);
	drain(JOURNAL_ID_STALL);
	lose(1, 5);
	view.since = SECOND;
	view.ts = SECOND + 60 * MINUTE;
	view.cost = (struct own_cost){ .cpu = 36 * SECOND, .records = 9000, .events_off = 3 };
	tick(START + 60 * MINUTE);
	receive(JOURNAL_ID_STATUS);
	assert_string_equal(fake_value(&entry, "MESSAGE"),
			    "3 stalls, worst 1.2 s (task[1000]), 5 records lost, "
			    "3 events off (max-cpu), "
			    "0 stalls held back from the journal, 0 entries dropped; "
			    "own cost since the start: 36.0 s of CPU time, 2.5 records/s");
	FIELDS("CPU_USEC=36000000", "RECORDS=9000", "EVENTS_OFF=3");
	assert_string_equal(fake_value(&entry, "PRIORITY"), "6");
	FIELDS("STALLS=3", "WORST_USEC=1200000", "LOST=5", "LOST_TIMES_UNKNOWN=0", "HELD_BACK=0",
	       "DROPPED=0");
	receive(JOURNAL_ID_UNIT);
	tick(START + 120 * MINUTE - 1);
	nothing_more();
	tick(START + 120 * MINUTE);
	receive(JOURNAL_ID_STATUS);
	nothing_more();
}

static void line_is(const char *expected)
{
	char text[512];

	assert_int_equal(status_line(text, sizeof(text), &view), strlen(expected));
	assert_string_equal(text, expected);
}

TEST(test_status_line)
{
	line_is("0 stalls, 0 records lost");
	put_stall(9, 3 * MS, false);
	put_stall(8, 7 * SECOND, true);
	lose(0, 1);
	line_is("1 stall, worst 3.0 ms (task[9]), 1 record lost");
	lose(1, 9);
	lose(1, RECORD_LOST_UNKNOWN);
	line_is("1 stall, worst 3.0 ms (task[9]), 10 records lost and 1 time nobody knows how many");
}

/* Held back first, then the summary in one entry. */
TEST(test_summary)
{
	struct writer *writer = writer_new(-1, -1);
	const char *message, *text;
	size_t length;

	options.burst = 2;
	restart();
	tick(START);
	put_stalls(3, 5 * MS);
	receive(JOURNAL_ID_STALL);
	receive(JOURNAL_ID_STALL);
	view.has_journal = output_counts(output, &view.journal);
	assert_int_equal(output_summary(output, &view), 0);
	receive(JOURNAL_ID_HELD_BACK);
	assert_non_null(strstr(fake_value(&entry, "MESSAGE"), "1 more stall in the last 1 s"));
	receive(JOURNAL_ID_UNIT);
	receive(JOURNAL_ID_SUMMARY);
	FIELDS("STALLS=3", "HELD_BACK=1");
	message = fake_value(&entry, "MESSAGE");
	assert_int_equal(strncmp(message,
				 "3 stalls, worst 5.0 ms (task[1000]), 0 records lost, "
				 "1 stall held back from the journal, 0 entries dropped; "
				 "own cost since the start: 0 us of CPU time, 0.0 records/s\n",
				 166),
			 0);
	assert_int_equal(summary_text(writer, &view), 0);
	text = writer_queued(writer);
	length = strlen(text);
	assert_int_equal(strlen(strchr(message, '\n')), length - 1);
	assert_memory_equal(strchr(message, '\n'), text, length - 1);
	writer_free(writer);
	nothing_more();
}

/* A summary longer than an entry is cut and marked. */
TEST(test_long_summary)
{
	const char *message;

	view.form = SUMMARY_FULL;
	view.top = 128;
	for (int tid = 1; tid <= 128; tid++) {
		put_stall(100000 + tid, MS, true);
		restart();
		put_stall(200000 + tid, MS, false);
		receive(JOURNAL_ID_STALL);
	}
	tick(START);
	assert_int_equal(output_summary(output, &view), 0);
	receive(JOURNAL_ID_UNIT);
	receive(JOURNAL_ID_SUMMARY);
	assert_int_equal(entry.length, JOURNAL_ENTRY_MAX);
	message = fake_value(&entry, "MESSAGE");
	assert_string_equal(message + strlen(message) - strlen(JOURNAL_CUT), JOURNAL_CUT);
}

/* Another form has no counts and ignores a tick. */
TEST(test_other_forms)
{
	const struct options json_options = { .format = "json" };
	struct output_setup other = {
		.options = &json_options,
		.resolver = &resolver,
		.writer = nowhere,
	};
	struct output *json = output_new(&other);
	struct journal_counts counts = { .entries = 1 };

	assert_false(output_counts(json, &counts));
	assert_int_equal(counts.entries, 0);
	output_tick(json, START, &view);
	output_free(json);
}

TEST(test_bad_path)
{
	const struct output_form form = { .ops = &journal_form };
	struct output_setup bad = { .options = &options, .writer = nowhere, .form = &form };
	char path[300];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	journal_socket_path = path;
	errno = 0;
	assert_null(output_new(&bad));
	assert_int_equal(errno, ENAMETOOLONG);
}

UNIT_TEST_MAIN(NULL, NULL)
