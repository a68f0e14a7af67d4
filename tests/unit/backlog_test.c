// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <inttypes.h>

#include "allocfilt/stall.h"
#include "made_cpus.h"
#include "made_event.h"
#include "notes.h"
#include "unit_test.h"

/*
 * What the sink receives is noted by its time: "120", of a task other than 1 "2:120", "120c" where it
 * is counted. "(120-20)" is a pair that ended at 120 and took 20, "[120]" a window that was dropped.
 * That a record is complete is seen by comparing it with what a decoder of its own reads at once.
 */

#define THRESHOLD 100
#define LIMIT	  4 /* of tasks: one is the backlog's own, before the first record */
#define CALLBACK  0x81000000
#define CPUS	  8

enum { /* the plan's events, in this order */
       OWNED,
       ANY_WINDOW,
       SLAB_START,
       SLAB_END,
       NEVER,
       USER,
       LARGE,
       SMALL,
       NR_EVENTS,
};

static const struct plan_event planned[NR_EVENTS] = {
	[OWNED] = { .id = EVENT_DIRECT_RECLAIM_END,
		    .rule = RULE_OWNER,
		    .owners = ROLE_BIT(ROLE_DIRECT_RECLAIM) },
	[ANY_WINDOW] = { .id = EVENT_THROTTLED, .rule = RULE_ANY_WINDOW },
	[SLAB_START] = { .id = EVENT_SLAB_START, .rule = RULE_PAIR },
	[SLAB_END] = { .id = EVENT_SLAB_END, .rule = RULE_PAIR },
	[NEVER] = { .id = EVENT_TRY_TO_COMPACT, .rule = RULE_NEVER },
	[USER] = { .id = EVENT_USER, .rule = RULE_ANY_WINDOW },
	[LARGE] = { .id = EVENT_SHRINK_INACTIVE, .rule = RULE_OWNER },
	[SMALL] = { .id = EVENT_SOFT_LIMIT_END, .rule = RULE_OWNER },
};

static const struct made_event events[NR_EVENTS] = {
	[OWNED] = { "reclaim_end", 100, "nr_reclaimed 8", "\"\"" },
	[ANY_WINDOW] = { "throttled", 101, "nid 4s, usec_timeout 4s, usec_delayed 4s, reason 4s",
			 "\"\"" },
	[SLAB_START] = { "slab_start", 102, "shr 8, shrink 8, gfp_flags 8, priority 4s, nid 4s",
			 "\"\"" },
	[SLAB_END] = { "slab_end", 103, "shr 8, nid 4s, - 4, shrink 8, retval 4s, - 4", "\"\"" },
	[NEVER] = { "try_to_compact", 104, "order 4s, - 4, gfp_mask 8", "\"\"" },
	[USER] = { "of_a_user", 105, "order 4s, nid 4s", "\"\"" },
	[LARGE] = { "inactive", 106, "nr_scanned 8, - 96, nr_reclaimed 8", "\"\"" },
	[SMALL] = { "soft_limit_end", 107, "order 4s", "\"\"" },
};
static const struct made_event window_64 = { "funcgraph_exit", 10,
					     "func 8, depth 4s, overrun 4, calltime 8, rettime 8",
					     "\"\"" };
static const struct made_event window_32 = { "funcgraph_exit", 10,
					     "func 4, depth 4s, overrun 4, calltime 8, rettime 8",
					     "\"\"" };

/* ---- a record, decoded twice ---- */

static struct {
	const struct page_layout *layout;
	struct data_source source;
	struct plan plan;
	struct decode *at_once;
	struct decode *decode; /* for the backlog */
	struct backlog *backlog;
	struct {
		struct record record;
		unsigned char raw[256];
	} expected[256]; /* by time: all that were decoded at once */
	bool compares;
	uint64_t passed; /* records */
	uint64_t pairs;
	uint64_t last; /* time of a record */
	bool sorted;
	int fail;
} run;

static void decode_at_once(const struct raw_record *raw)
{
	struct record record;

	assert_int_equal(decode_record(run.at_once, raw, &record), 1);
	decode_fields(run.at_once, &record);
	assert_in_range(record.ts, 0, COUNT(run.expected) - 1);
	run.expected[record.ts].record = record;
	if (record.raw_size)
		memcpy(run.expected[record.ts].raw, record.raw, record.raw_size);
}

static void is_complete(const struct record *record)
{
	struct record expected = run.expected[record->ts].record;

	assert_int_equal(record->tid, expected.tid);
	assert_int_equal(record->cpu, expected.cpu);
	assert_int_equal(record->kind, expected.kind);
	assert_int_equal(record->flags, expected.flags);
	assert_int_equal(record->event, expected.event);
	assert_int_equal(record->indent, expected.indent);
	assert_int_equal(record->stack.number, 0);
	if (record->kind == RECORD_WINDOW)
		assert_memory_equal(&record->window, &expected.window,
				    offsetof(struct record_window, role));
	else
		assert_memory_equal(&record->fields, &expected.fields, sizeof(expected.fields));
	assert_int_equal(record->raw_size, expected.raw_size);
	if (record->raw_size)
		assert_memory_equal(record->raw, run.expected[record->ts].raw, record->raw_size);
	else
		assert_null(record->raw);
}

static int passed(void *context, struct record *record)
{
	run.passed++;
	run.sorted &= record->ts >= run.last;
	run.last = record->ts;
	note_separator(" ");
	if (record->tid != 1)
		note("%d:", record->tid);
	note("%" PRIu64 "%s", record->ts, record->counted ? "c" : "");
	if (run.compares)
		is_complete(record);
	return run.fail;
}

static void pair_ended(void *context, const struct task_pair *pair)
{
	run.pairs++;
	assert_int_equal(pair->end->kind, RECORD_EVENT);
	assert_int_equal(pair->end->event, SLAB_END);
	assert_in_range(pair->end->fields.callback, CALLBACK, CALLBACK + 15);
	assert_int_equal(pair->begin->fields.callback, pair->end->fields.callback);
	assert_false(pair->end->counted);
	note_separator(" ");
	note("(%" PRIu64 "-%" PRIu64 ")", pair->end->ts, pair->duration);
}

static void dropped(void *context, const struct record *exit)
{
	assert_int_equal(exit->kind, RECORD_WINDOW);
	note_separator(" ");
	note("[%s%" PRIu64 "]", exit->tid == 1 ? "" : "2:", exit->ts);
}

static int stop(void **state)
{
	backlog_free(run.backlog);
	decode_free(run.decode);
	decode_free(run.at_once);
	memset(&run, 0, sizeof(run));
	clear_notes();
	return 0;
}

static const struct made_event *window_of(const struct page_layout *layout)
{
	return layout->long_size == 4 ? &window_32 : &window_64;
}

static struct decode *new_decode(void)
{
	struct decode *decode = decode_new(&run.source, NULL, NULL);
	const char *text;

	assert_non_null(decode);
	for (int i = 0; i < NR_EVENTS; i++) {
		text = format_of(&events[i]);
		assert_int_equal(decode_add_format(decode, i, planned[i].id, text, strlen(text)),
				 0);
	}
	text = format_of(window_of(run.layout));
	assert_int_equal(decode_add_format(decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, text,
					   strlen(text)),
			 0);
	return decode;
}

static void start(const struct page_layout *layout, bool with_dropped)
{
	const struct limits limits = { .tasks = LIMIT, .events = 256 };
	const struct backlog_sink sink = {
		.record = passed,
		.pair = pair_ended,
		.dropped = with_dropped ? dropped : NULL,
	};

	stop(NULL);
	run.layout = layout;
	run.source = (struct data_source){
		.layout = *layout,
		.cpus = made_cpus(CPUS),
		.local_clock = true,
		.proc = "/proc",
	};
	memcpy(run.plan.events, planned, sizeof(planned));
	run.plan.nr_events = NR_EVENTS;
	run.plan.threshold = THRESHOLD;
	run.plan.function_graph = true;
	run.at_once = new_decode();
	run.decode = new_decode();
	run.backlog = backlog_new(&run.plan, &limits, run.decode, &sink);
	assert_non_null(run.backlog);
	run.compares = true;
	run.sorted = true;
}

static int set_up(void **state)
{
	start(&made_layouts[0], false);
	return 0;
}

/* What waits must be a copy: the page of a record is soon another one. */
static int decode(int tid, int flags, uint64_t ts, const struct made_event *event,
		  const struct made_value *values)
{
	struct raw_record raw = { .ts = ts, .cpu = (int)(ts * 5 % CPUS) };
	struct made_page made;
	struct record record;
	int ret;
	unsigned char *copy;

	make_payload(&made, run.layout, event, values);
	made.bytes[2] = (unsigned char)flags;
	made_number(run.layout, made.bytes + 4, (uint64_t)tid, 4);
	copy = malloc(made.at);
	assert_non_null(copy);
	memcpy(copy, made.bytes, made.at);
	raw.data = copy;
	raw.size = made.at;
	if (run.compares)
		decode_at_once(&raw);
	assert_int_equal(decode_record(run.decode, &raw, &record), 1);
	ret = backlog_record(run.backlog, &record);
	memset(copy, 0xee, made.at);
	free(copy);
	return ret;
}

static int window(int tid, int flags, uint64_t from, uint64_t to, int depth)
{
	return decode(tid, flags, to, window_of(run.layout),
		      VALUES({ "func", 0x82000000 + to }, { "depth", (uint64_t)depth },
			     { "calltime", from }, { "rettime", to }));
}

/* The fields of each are others. */
static int event(int tid, int flags, uint64_t ts, int which, uint64_t shrinker)
{
	return decode(tid, flags, ts, &events[which],
		      VALUES({ "shr", 0x100 + shrinker % 10 },
			     { "shrink", CALLBACK + shrinker / 10 }, { "nr_reclaimed", ts + 1 },
			     { "nid", ts + 2 }, { "reason", ts + 3 }, { "order", ts + 4 },
			     { "gfp_flags", ts + 5 }, { "priority", ts + 6 },
			     { "nr_scanned", ts + 7 }, { "retval", ts + 8 }));
}

/* ---- scripts ---- */

/*
 * "wFROM-TO@DEPTH" is a window; "o", "a", "b", "e", "n", "u", "l", "s" and a time an event as in the
 * order above, of "#N" a shrinker, 1 without; a callback has ten of them. "TID:" is before one of another task than 1, "!" before
 * one of an interrupt. "." flushes, "/" is backlog_pass(). Returns what the last one returned.
 */
static int play(const char *script)
{
	static const char letters[] = "oabenuls";
	char line[128];
	int ret = 0;

	snprintf(line, sizeof(line), "%s", script);
	for (char *at = line; *at; at += strspn(at, " ")) {
		int tid = 1, flags = 0;
		uint64_t ts;
		char kind;

		if (isdigit((unsigned char)*at) || *at == '-')
			tid = (int)strtol(at, &at, 10), at++;
		if (*at == '!')
			flags = RECORD_FLAG_HARDIRQ, at++;
		kind = *at++;
		if (kind == '.' || kind == '/') {
			ret = kind == '.' ? backlog_flush(run.backlog) : backlog_pass(run.backlog);
			continue;
		}
		ts = strtoull(at, &at, 10);
		if (kind == 'w') {
			uint64_t to = strtoull(at + 1, &at, 10);

			ret = window(tid, flags, ts, to, (int)strtol(at + 1, &at, 10));
		} else {
			uint64_t shrinker = *at == '#' ? strtoull(at + 1, &at, 10) : 1;

			assert_non_null(strchr(letters, kind));
			ret = event(tid, flags, ts, (int)(strchr(letters, kind) - letters),
				    shrinker);
		}
	}
	return ret;
}

/* A fast window was seen, and nothing of task 1 is in later stages. */
static void begin(void)
{
	assert_int_equal(play("w1-2@0"), 0);
	assert_string_equal(notes.text, "2");
	clear_notes();
}

struct script {
	const char *script;
	const char *expected;
};

static void play_all(const struct script *scripts, size_t count, bool with_dropped)
{
	for (size_t layout = 0; layout < MADE_LAYOUTS; layout++)
		for (size_t i = 0; i < count; i++) {
			start(&made_layouts[layout], with_dropped);
			begin();
			assert_int_equal(play(scripts[i].script), 0);
			assert_string_equal(notes.text, scripts[i].expected);
		}
}

static void test_what_is_fast_waits(void **state)
{
	static const struct script scripts[] = {
		{ "w10-15@2 a20 o21 w18-25@1", "" },
		/* passed on in order by a slow window around it, or not around it */
		{ "w10-15@2 a20 o21 w18-25@1 w5-200@0", "15 20 21 25 200" },
		{ "a10 w20-30@3 w31-190@2 w5-200@0", "10 30 190 200" },
		/* of its task alone */
		{ "a10 2:a11 a12 2:a13 2:w5-140@1", "2:11 2:13 2:140" },
		/* dropped by a fast outermost one */
		{ "w10-15@1 a20 w5-30@0 w40-150@0", "150" },
		{ "w10-15@1 2:a20 w5-30@0 2:w12-130@1", "2:20 2:130" },
		{ "w5-30@0 w40-50@0", "" },
		/* an event of a rule that needs a window passes on what waits; -e may have any payload */
		{ "a10 n11 a12", "10 11" },
		{ "a10 u11 a12", "10 11" },
		/* at the threshold it is slow */
		{ "a10 w12-111@1", "" },
		{ "a10 w12-112@1", "10 112" },
	};

	play_all(scripts, COUNT(scripts), false);
}

static void test_dropped_windows(void **state)
{
	static const struct script scripts[] = {
		{ "w5-30@0 a33 w31-50@0 w52-60@1 2:w55-56@0 2:w57-58@0", "[30] [50] 2:56 [2:58]" },
		{ "a10 n11 w5-30@0 w31-40@0", "10 11 30 [40]" },
	};

	play_all(scripts, COUNT(scripts), true);
}

static void test_pairs_are_counted_once(void **state)
{
	static const struct script scripts[] = {
		{ "b10 e20", "(20-10)" },
		{ "b10 e20 w5-30@0 w31-140@0", "(20-10) 140" },
		/* counted already when they are passed on */
		{ "b10 e20 w5-150@0", "(20-10) 10 20c 150" },
		{ "b10 e20 b21#2 e30#2 .", "(20-10) (30-9) 10 20c 21 30c" },
		/* one inside of another */
		{ "b10#1 b12#2 e14#2 e20#1 .", "(14-2) (20-10) 10 12 14c 20c" },
		/* an end that was lost; a begin that was */
		{ "b10#1 b12#2 e20#1 .", "(20-10) 10 12 20c" },
		{ "b10#1 e20#2 e21#1", "10 20 21" },
		{ "b10#1 e20#11 e21#1", "10 20 21" },
		{ "e20 .", "20" },
		/* slow: whoever receives it counts it */
		{ "a5 b10 a11 e110", "5 10 11 110" },
		{ "a5 b10 a11 e109", "(109-99)" },
		/* a begin was passed on: its end finds it there */
		{ "b10 . e20", "10 20" },
		{ "b10 n15 e20 b21 e22", "10 15 20 (22-1)" },
		/* of a window that has ended the end was lost: another one's does not match */
		{ "b10 w8-20@1 e30", "10 20 30" },
		{ "b7 b10#2 w8-20@1 e30", "(30-23)" },
		{ "b10 w5-20@0 e30", "30" },
		/* an outermost window inside of it: no function around the pair is traced */
		{ "b10 w12-20@0 w22-25@0 e30", "10 20 30" },
		{ "b10 w12-20@0 w22-25@0 a26 e150", "10 20 26 150" },
		/* of each task */
		{ "b10 2:b11 2:e12 e13", "(12-1) (13-3)" },
		{ "b10 2:e12 e13", "2:12 (13-3)" },
		/* one more than wait */
		{ "b10#1 b11#2 b12#3 b13#4 e14#4", "(14-1)" },
		{ "b10#1 b11#2 b12#3 b13#4 b14#5 e15#5 e16#4", "10 11 12 13 14 15 16" },
	};

	play_all(scripts, COUNT(scripts), false);
}

/* Later stages may wait for a window around what they have: one outermost window goes to them. */
static void test_after_something_was_passed_on(void **state)
{
	static const struct script scripts[] = {
		{ "w10-150@1 a151 w5-155@2 w160-180@0 w181-182@0 a184 w183-190@0",
		  "150 151 155 180" },
		{ "a10 n11 w5-20@0 a25 w22-30@0 w31-40@0", "10 11 20" },
		{ "b10 e20 n21 w5-30@0 w31-40@0", "(20-10) 10 20c 21 30" },
		{ "a10 . w5-20@0 a25 w22-30@0", "10 20" },
		/* now and then */
		{ "a10 /", "" },
		{ "n9 a10 2:a11 / a12 / /", "9 10 2:11 12" },
		/* of a task that was not seen before, nobody knows */
		{ "2:w5-20@0 2:w21-30@0", "2:20" },
	};

	play_all(scripts, COUNT(scripts), false);
}

static void test_a_loss_passes_all_on(void **state)
{
	static const struct script scripts[] = {
		{ "a10 2:a11 w12-13@1 2:w14-15@1 .", "10 13 2:11 2:15" },
		{ "a10 . . a20 . w5-30@0", "10 20 30" },
		{ ".", "" },
	};

	play_all(scripts, COUNT(scripts), false);
}

static void test_before_the_first_fast_window(void **state)
{
	start(&made_layouts[0], false);
	play("a10 b12 e14 w5-150@1 u160 w156-161@1 a162 b163 e164");
	assert_string_equal(notes.text, "10 12 14 150 160 (164-1)");
	play(".");
	assert_string_equal(notes.text, "10 12 14 150 160 (164-1) 161 162 163 164c");
}

/* Who is interrupted, or idle, has other windows than these; a tid may be anything. */
static void test_records_of_no_task(void **state)
{
	static const struct script scripts[] = {
		{ "a10 !a11 !w9-12@0 !w8-13@1 !b14 !e15", "11 12 13 14 15" },
		{ "0:a10 0:w5-20@0 0:w1-150@1 0:b160 0:e161", "0:10 0:20 0:150 0:160 0:161" },
		{ "0:a10 a11 0:a12 w5-13@0", "0:10 0:12" },
		{ "-1:a10 -1:w9-11@1 -1:w8-12@0 -1:a13 -1:w7-14@0", "-1:10 -1:11 -1:12" },
	};

	play_all(scripts, COUNT(scripts), false);
	start(&made_layouts[0], false);
	play("-1:w1-2@1 -1:a3 -1:w1-4@0 -1:a5 -1:w4-6@0");
	assert_string_equal(notes.text, "-1:2 -1:3 -1:4");
	start(&made_layouts[0], true);
	play("0:w1-2@1 0:a3 0:w1-4@0 0:w3-5@0");
	assert_string_equal(notes.text, "0:2 0:3 0:4 0:5");
}

/* All of these are read at a time, so that none shorter than this many bytes waits. */
static void test_sizes(void **state)
{
	char fields[64];
	struct made_event sized = { "sized", 200, fields, "\"\"" };
	const char *text;

	play_all(&(const struct script){ "a10 l11", "10 11" }, 1, false);
	play_all(&(const struct script){ "a10 s11", "10 11" }, 1, false);
	for (size_t size = 16; size <= 120; size += 4) {
		bool waits = size <= RECORD_RAW_MAX;

		start(&made_layouts[0], false);
		begin();
		run.compares = false;
		snprintf(fields, sizeof(fields), "nid 4s, - %zu, reason 4s", size - 16);
		text = format_of(&sized);
		assert_int_equal(decode_add_format(run.decode, OWNED, EVENT_DIRECT_RECLAIM_END,
						   text, strlen(text)),
				 0);
		text = format_of(&sized);
		assert_int_equal(decode_add_format(run.at_once, OWNED, EVENT_DIRECT_RECLAIM_END,
						   text, strlen(text)),
				 0);
		run.compares = true;
		for (uint64_t ts = 10; ts < 13; ts++)
			assert_int_equal(decode(1, 0, ts, &sized,
						VALUES({ "nid", ts }, { "reason", size })),
					 0);
		assert_string_equal(notes.text, waits ? "" : "10 11 12");
		play(".");
		assert_string_equal(notes.text, "10 11 12");
		assert_int_equal(run.expected[12].record.raw_size, size);
	}
}

/* ---- limits ---- */

static void test_more_tasks_than_the_limit(void **state)
{
	static const struct script scripts[] = {
		{ "a10 2:a20 3:a30 4:a40", "" },
		/* the least recently used one's */
		{ "a10 2:a20 3:a30 4:a40 5:a50", "10" },
		{ "a10 2:a20 3:a30 4:a40 a41 5:a50", "2:20" },
		/* of one that comes back, later stages have something */
		{ "a10 2:a20 3:a30 4:a40 5:a50 w5-60@0 w61-70@0", "10 2:20 60" },
		/* its begins are with them */
		{ "b10 2:a20 3:a30 4:a40 5:a50 e60", "10 2:20 60" },
	};

	play_all(scripts, COUNT(scripts), false);
}

/* The oldest task's copies are passed on, then those of the task that fills it. */
static void test_no_room(void **state)
{
	uint64_t given = 0, before;

	start(&made_layouts[0], false);
	begin();
	play("2:a10 2:a11");
	run.compares = false;
	while (run.passed == 1) {
		assert_int_equal(event(1, 0, 20 + given++, ANY_WINDOW, 0), 0);
		assert_in_range(given, 0, 1000000);
	}
	assert_string_equal(notes.text, "2:10 2:11");
	assert_in_range(given, 20000, 1000000);
	notes.quiet = true;
	run.passed = 0;
	run.last = 0;
	while (!run.passed)
		assert_int_equal(event(1, 0, 20 + given++, ANY_WINDOW, 0), 0);
	/* all but the one that found no room */
	assert_int_equal(run.passed, given - 1);
	assert_true(run.sorted);
	assert_int_equal(run.last, 20 + given - 2);
	before = run.passed;
	assert_int_equal(window(1, 0, 10, 20 + given, 1), 0);
	assert_int_equal(run.passed, before + 2);
	assert_true(run.sorted);
}

static uint64_t uncounted_ends;

static int count_ends(void *context, struct record *record)
{
	uncounted_ends += record->event == SLAB_END && !record->counted;
	return 0;
}

/* Whether its begin found room for its copy or not, each pair is counted once. */
static void test_pairs_without_room(void **state)
{
	const struct limits limits = { .tasks = LIMIT, .events = 256 };
	const struct backlog_sink sink = { .record = count_ends, .pair = pair_ended };

	for (uint64_t offset = 0; offset < 4; offset++) {
		start(&made_layouts[0], false);
		backlog_free(run.backlog);
		run.backlog = backlog_new(&run.plan, &limits, run.decode, &sink);
		assert_non_null(run.backlog);
		run.compares = false;
		notes.quiet = true;
		uncounted_ends = 0;
		play("w1-2@0");
		for (uint64_t i = 0; i < offset; i++)
			event(1, 0, 3, OWNED, 0);
		for (uint64_t i = 0; i < 20000; i++) {
			assert_int_equal(event(1, 0, 10 + 2 * i, SLAB_START, i % 8), 0);
			assert_int_equal(event(1, 0, 11 + 2 * i, SLAB_END, i % 8), 0);
		}
		assert_int_equal(backlog_flush(run.backlog), 0);
		assert_int_equal(run.pairs + uncounted_ends, 20000);
		assert_in_range(uncounted_ends, 0, 10);
	}
}

/* A task's copies are in many chunks, which other tasks had before. */
static void test_chunks_are_used_again(void **state)
{
	start(&made_layouts[0], false);
	begin();
	run.compares = false;
	notes.quiet = true;
	for (int round = 0; round < 20; round++) {
		int tid = 1 + round % 3;

		run.passed = 0;
		run.last = 0;
		run.sorted = true;
		for (uint64_t ts = 10; ts < 5010; ts++)
			assert_int_equal(event(tid, 0, ts, ts % 2 ? OWNED : ANY_WINDOW, 0), 0);
		assert_int_equal(run.passed, 0);
		assert_int_equal(window(tid, 0, 5, 5010 + (round % 2 ? 0 : 5), 1), 0);
		assert_int_equal(run.passed, 5001);
		assert_true(run.sorted);
		assert_int_equal(window(tid, 0, 5, 5020, 0), 0);
		assert_int_equal(window(tid, 0, 5020, 5030, 0), 0);
	}
}

/* ---- a sink that fails ---- */

static void test_failing_sink(void **state)
{
	static const struct script scripts[] = {
		{ "w5-150@1", "150" },
		{ "!a10", "10" },
		{ "0:a10", "0:10" },
		{ "l10", "10" },
		/* what was refused is the last one */
		{ "a10 a11 w5-150@1", "10" },
		{ "a10 a11 n12", "10" },
		{ "a10 2:a11 .", "10" },
		{ "b10 e20 e21", "(20-10) 10" },
		{ "b10 e150", "10" },
		{ "b10#1 b11#2 b12#3 b13#4 b14#5", "10" },
		{ "a10 2:a20 3:a30 4:a40 5:a50", "10" },
		{ "2:w5-10@0", "2:10" },
	};

	for (size_t i = 0; i < COUNT(scripts); i++) {
		start(&made_layouts[0], false);
		begin();
		run.fail = -EPIPE;
		assert_int_equal(play(scripts[i].script), -EPIPE);
		assert_string_equal(notes.text, scripts[i].expected);
	}
	start(&made_layouts[0], false);
	begin();
	play("n10 a11 a12");
	run.fail = -EPIPE;
	assert_int_equal(play("/"), -EPIPE);
	assert_string_equal(notes.text, "10 11");
}

static void test_failing_sink_without_room(void **state)
{
	uint64_t ts = 20;
	int ret = 0;

	start(&made_layouts[0], false);
	begin();
	run.compares = false;
	for (int i = 0; i < 500; i++) /* in several chunks */
		assert_int_equal(event(2, 0, 10, ANY_WINDOW, 0), 0);
	run.fail = -EPIPE;
	while (!ret && ts < 1000000)
		ret = event(1, 0, ts++, ANY_WINDOW, 0);
	assert_int_equal(ret, -EPIPE);
	assert_string_equal(notes.text, "2:10");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_fast_waits),
		TEST(test_dropped_windows),
		TEST(test_pairs_are_counted_once),
		TEST(test_after_something_was_passed_on),
		TEST(test_a_loss_passes_all_on),
		TEST(test_before_the_first_fast_window),
		TEST(test_records_of_no_task),
		TEST(test_sizes),
		TEST(test_more_tasks_than_the_limit),
		TEST(test_no_room),
		TEST(test_pairs_without_room),
		TEST(test_chunks_are_used_again),
		TEST(test_failing_sink),
		TEST(test_failing_sink_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
