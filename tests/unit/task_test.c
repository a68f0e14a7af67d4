// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/stall.h"
#include "made_cpus.h"

/*
 * What came out is a line of text: "W300(110 120)" is the window whose exit record is of 300 with
 * the events of 110 and 120, "P100-200=100!(150)" a pair with its duration, ! where it is slow; ?
 * is incomplete.
 */

#define CPUS		4
#define THRESHOLD	100
#define TASKS_MAX	300
#define EVENTS_MAX	2048 /* a multiple of 256 */
#define TASK_EVENTS_MAX 40

enum { /* the plan's events, in this order */
       RECLAIM_BEGIN,
       RECLAIM_END,
       COMPACTION_BEGIN,
       COMPACTION_END,
       SOFT_BEGIN,
       SOFT_END,
       INACTIVE,
       THROTTLED,
       SLAB_START,
       SLAB_END,
       USER,
       NEVER,
       NR_EVENTS,
};

static const struct plan_event planned[NR_EVENTS] = {
	[RECLAIM_BEGIN] = {
		.id = EVENT_DIRECT_RECLAIM_BEGIN, .side = EVENT_BEGIN, .partner = RECLAIM_END,
		.rule = RULE_OWNER, .owners = ROLE_BIT(ROLE_DIRECT_RECLAIM),
	},
	[RECLAIM_END] = {
		.id = EVENT_DIRECT_RECLAIM_END, .side = EVENT_END, .partner = RECLAIM_BEGIN,
		.rule = RULE_OWNER, .owners = ROLE_BIT(ROLE_DIRECT_RECLAIM),
	},
	[COMPACTION_BEGIN] = {
		.id = EVENT_COMPACTION_BEGIN, .side = EVENT_BEGIN, .partner = COMPACTION_END,
		.rule = RULE_OWNER, .owners = ROLE_BIT(ROLE_ZONE_COMPACTION),
	},
	[COMPACTION_END] = {
		.id = EVENT_COMPACTION_END, .side = EVENT_END, .partner = COMPACTION_BEGIN,
		.rule = RULE_OWNER, .owners = ROLE_BIT(ROLE_ZONE_COMPACTION),
	},
	[SOFT_BEGIN] = {
		.id = EVENT_SOFT_LIMIT_BEGIN, .side = EVENT_BEGIN, .partner = SOFT_END,
		.rule = RULE_OWNER, .owners = ROLE_BIT(ROLE_SOFT_LIMIT), .repeats = true,
	},
	[SOFT_END] = {
		.id = EVENT_SOFT_LIMIT_END, .side = EVENT_END, .partner = SOFT_BEGIN,
		.rule = RULE_OWNER, .owners = ROLE_BIT(ROLE_SOFT_LIMIT), .repeats = true,
	},
	[INACTIVE] = {
		.id = EVENT_SHRINK_INACTIVE, .partner = -1, .rule = RULE_OWNER, .repeats = true,
		.owners = ROLE_BIT(ROLE_GENERATIONS) | ROLE_BIT(ROLE_LRUVEC),
	},
	[THROTTLED] = { .id = EVENT_THROTTLED, .partner = -1, .rule = RULE_ANY_WINDOW },
	[SLAB_START] = {
		.id = EVENT_SLAB_START, .side = EVENT_BEGIN, .partner = SLAB_END,
		.rule = RULE_PAIR, .repeats = true,
	},
	[SLAB_END] = {
		.id = EVENT_SLAB_END, .side = EVENT_END, .partner = SLAB_START,
		.rule = RULE_PAIR, .repeats = true,
	},
	[USER] = { .id = EVENT_USER, .partner = -1, .rule = RULE_ANY_WINDOW },
	[NEVER] = { .id = EVENT_TRY_TO_COMPACT, .partner = -1, .rule = RULE_NEVER },
};

struct run {
	struct plan *plan;
	struct tasks *tasks;
	char out[8192];
	size_t used;
	uint64_t windows, pairs, events;
	bool quiet;
	int fail;
};

__attribute__((format(printf, 2, 3))) static void note(struct run *run, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	run->used +=
		vsnprintf(run->out + run->used, sizeof(run->out) - run->used, format, arguments);
	va_end(arguments);
	assert_true(run->used < sizeof(run->out));
}

static void note_events(struct run *run, const struct record *const *events, size_t nr_events)
{
	note(run, "(");
	for (size_t i = 0; i < nr_events; i++)
		note(run, "%s%" PRIu64, i ? " " : "", events[i]->ts);
	note(run, ")");
}

static int got_window(void *context, const struct task_window *window)
{
	struct run *run = context;

	run->windows++;
	run->events += window->nr_events;
	if (run->quiet)
		return run->fail;
	note(run, "%sW%" PRIu64 "%s", run->used ? " " : "", window->exit->ts,
	     window->incomplete ? "?" : "");
	note_events(run, window->events, window->nr_events);
	return run->fail;
}

static int got_pair(void *context, const struct task_pair *pair)
{
	struct run *run = context;

	run->pairs++;
	run->events += pair->nr_events;
	if (run->quiet)
		return run->fail;
	note(run, "%sP%" PRIu64 "-%" PRIu64 "=%" PRIu64 "%s%s", run->used ? " " : "",
	     pair->begin->ts, pair->end->ts, pair->duration, pair->slow ? "!" : "",
	     pair->incomplete ? "?" : "");
	note_events(run, pair->events, pair->nr_events);
	return run->fail;
}

static void start(struct run *run, bool function_graph, bool local_clock)
{
	const struct data_source source = { .cpus = made_cpus(CPUS), .local_clock = local_clock };
	const struct limits limits = {
		.tasks = TASKS_MAX,
		.events = EVENTS_MAX,
		.task_events = TASK_EVENTS_MAX,
	};
	const struct task_sink sink = { run, got_window, got_pair };

	memset(run, 0, sizeof(*run));
	run->plan = calloc(1, sizeof(*run->plan));
	assert_non_null(run->plan);
	memcpy(run->plan->events, planned, sizeof(planned));
	run->plan->nr_events = NR_EVENTS;
	run->plan->threshold = THRESHOLD;
	run->plan->function_graph = function_graph;
	run->tasks = tasks_new(run->plan, &source, &limits, &sink);
	assert_non_null(run->tasks);
}

static int set_up(void **state)
{
	static struct run run;

	start(&run, true, true);
	*state = &run;
	return 0;
}

/* As on a kernel without function_graph: owners cannot be traced, pairs decide. */
static int set_up_fallback(void **state)
{
	static struct run run;

	start(&run, false, true);
	run.plan->events[RECLAIM_BEGIN].rule = RULE_PAIR;
	run.plan->events[RECLAIM_END].rule = RULE_PAIR;
	run.plan->events[COMPACTION_BEGIN].rule = RULE_PAIR;
	run.plan->events[COMPACTION_END].rule = RULE_PAIR;
	run.plan->events[INACTIVE].rule = RULE_NEVER;
	run.plan->events[THROTTLED].rule = RULE_NEVER;
	*state = &run;
	return 0;
}

static int set_up_foreign_clock(void **state)
{
	static struct run run;

	start(&run, true, false);
	*state = &run;
	return 0;
}

static int tear_down(void **state)
{
	struct run *run = *state;

	tasks_free(run->tasks);
	free(run->plan);
	return 0;
}

static int give(struct run *run, struct record record)
{
	record.raw = "";
	return tasks_record(run->tasks, &record);
}

static struct record event_of(int pid, int cpu, uint64_t ts, int event)
{
	return (struct record){ .kind = RECORD_EVENT,
				.pid = pid,
				.cpu = cpu,
				.ts = ts,
				.event = event };
}

static void event(struct run *run, int pid, uint64_t ts, int number)
{
	assert_int_equal(give(run, event_of(pid, 0, ts, number)), 0);
}

static struct record window_of(int pid, int cpu, uint64_t from, uint64_t to, uint64_t ts, int role)
{
	return (struct record){
		.kind = RECORD_WINDOW,
		.pid = pid,
		.cpu = cpu,
		.ts = ts,
		.window = { .function = 0xf, .calltime = from, .rettime = to, .role = role },
	};
}

/* The exit record is written right after the return. */
static void window(struct run *run, int pid, uint64_t from, uint64_t to, int role)
{
	assert_int_equal(give(run, window_of(pid, 0, from, to, to, role)), 0);
}

static void slab(struct run *run, int pid, int cpu, uint64_t ts, int number, uint64_t shrinker)
{
	struct record record = event_of(pid, cpu, ts, number);

	record.fields.shrinker = shrinker;
	record.fields.callback = shrinker + 1;
	assert_int_equal(give(run, record), 0);
}

static void lost(struct run *run, int cpu, uint64_t ts)
{
	struct record record = { .kind = RECORD_LOST, .cpu = cpu, .ts = ts, .lost = 3 };

	assert_int_equal(give(run, record), 0);
}

static struct tasks_drops drops_of(const struct run *run)
{
	struct tasks_drops drops;

	tasks_drops(run->tasks, &drops);
	return drops;
}

/* --- owners --- */

static void test_owner_claims_what_it_contains(void **state)
{
	struct run *run = *state;

	event(run, 7, 110, RECLAIM_BEGIN);
	event(run, 7, 290, RECLAIM_END);
	window(run, 7, 100, 300, ROLE_DIRECT_RECLAIM);
	assert_string_equal(run->out, "W300(110 290)");
}

static void test_event_at_the_very_edges_is_inside(void **state)
{
	struct run *run = *state;

	event(run, 7, 100, RECLAIM_BEGIN);
	event(run, 7, 300, RECLAIM_END);
	window(run, 7, 100, 300, ROLE_DIRECT_RECLAIM);
	assert_string_equal(run->out, "W300(100 300)");
}

static void test_event_is_shown_once(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, RECLAIM_BEGIN);
	window(run, 7, 100, 300, ROLE_DIRECT_RECLAIM);
	window(run, 7, 90, 310, ROLE_DIRECT_RECLAIM);
	assert_string_equal(run->out, "W300(150) W310()");
}

static void test_another_role_does_not_claim(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, RECLAIM_BEGIN);
	window(run, 7, 120, 280, ROLE_NODE);
	window(run, 7, 110, 290, ROLE_NONE);
	window(run, 7, 100, 300, ROLE_DIRECT_RECLAIM);
	window(run, 7, 90, 310, ROLE_PAGE_ALLOCATION);
	assert_string_equal(run->out, "W280() W290() W300(150) W310()");
}

static void test_another_task_does_not_claim(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, RECLAIM_BEGIN);
	window(run, 8, 100, 300, ROLE_DIRECT_RECLAIM);
	assert_string_equal(run->out, "W300()");
}

static void test_task_may_migrate(void **state)
{
	struct run *run = *state;

	assert_int_equal(give(run, event_of(7, 0, 110, RECLAIM_BEGIN)), 0);
	assert_int_equal(give(run, event_of(7, 3, 220, RECLAIM_END)), 0);
	assert_int_equal(give(run, window_of(7, 2, 100, 300, 300, ROLE_DIRECT_RECLAIM)), 0);
	assert_string_equal(run->out, "W300(110 220)");
}

static void test_event_before_the_window_is_not_its(void **state)
{
	struct run *run = *state;

	event(run, 7, 99, INACTIVE);
	event(run, 7, 101, INACTIVE);
	window(run, 7, 100, 300, ROLE_LRUVEC);
	assert_string_equal(run->out, "W300(101)");
}

/* The exit record is written some time after the return: another's event may lie in between. */
static void test_event_after_the_return_is_not_its(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, INACTIVE);
	event(run, 7, 301, INACTIVE);
	assert_int_equal(give(run, window_of(7, 0, 100, 300, 302, ROLE_GENERATIONS)), 0);
	window(run, 7, 50, 400, ROLE_LRUVEC);
	assert_string_equal(run->out, "W302(150) W400(301)");
}

static void test_innermost_owner_claims(void **state)
{
	struct run *run = *state;

	event(run, 7, 110, INACTIVE);
	event(run, 7, 250, INACTIVE);
	window(run, 7, 200, 300, ROLE_GENERATIONS);
	event(run, 7, 350, INACTIVE);
	window(run, 7, 100, 400, ROLE_LRUVEC);
	assert_string_equal(run->out, "W300(250) W400(110 350)");
}

static void test_several_windows_each_its_own(void **state)
{
	struct run *run = *state;

	for (uint64_t from = 1000; from < 4000; from += 1000) {
		event(run, 7, from + 10, COMPACTION_BEGIN);
		event(run, 7, from + 190, COMPACTION_END);
		window(run, 7, from, from + 200, ROLE_ZONE_COMPACTION);
	}
	window(run, 7, 900, 5000, ROLE_DIRECT_COMPACTION);
	assert_string_equal(run->out, "W1200(1010 1190) W2200(2010 2190) W3200(3010 3190) W5000()");
}

/* A capture may hold windows below the threshold that is asked for: as if never recorded. */
static void test_window_reaches_threshold_when_equal(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, INACTIVE);
	window(run, 7, 140, 140 + THRESHOLD - 1, ROLE_GENERATIONS);
	window(run, 7, 140, 140 + THRESHOLD, ROLE_GENERATIONS);
	assert_string_equal(run->out, "W240(150)");
}

static void test_any_window_is_the_innermost(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, THROTTLED);
	event(run, 7, 160, USER);
	window(run, 7, 120, 280, ROLE_NONE);
	event(run, 7, 285, USER);
	window(run, 7, 110, 290, ROLE_NODE);
	assert_string_equal(run->out, "W280(150 160) W290(285)");
}

static void test_event_with_rule_never_is_not_kept(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, NEVER);
	window(run, 7, 100, 300, ROLE_DIRECT_COMPACTION);
	assert_string_equal(run->out, "W300()");
}

/* A fast call's events, then a slow call: two calls, the second one's events only. */
static void test_fast_call_before_a_slow_one(void **state)
{
	struct run *run = *state;

	event(run, 7, 110, COMPACTION_BEGIN);
	event(run, 7, 120, COMPACTION_END);
	event(run, 7, 210, COMPACTION_BEGIN);
	event(run, 7, 390, COMPACTION_END);
	window(run, 7, 200, 400, ROLE_ZONE_COMPACTION);
	window(run, 7, 100, 500, ROLE_DIRECT_COMPACTION);
	assert_string_equal(run->out, "W400(210 390) W500()");
}

static void test_owner_may_write_an_event_several_times(void **state)
{
	struct run *run = *state;

	for (uint64_t ts = 110; ts <= 150; ts += 20) {
		event(run, 7, ts, SOFT_BEGIN);
		event(run, 7, ts + 10, SOFT_END);
	}
	window(run, 7, 100, 300, ROLE_SOFT_LIMIT);
	assert_string_equal(run->out, "W300(110 120 130 140 150 160)");
}

/* Between a begin and its owner's end come many other events; all must wait that long. */
static void test_begin_waits_past_many_others(void **state)
{
	struct run *run = *state;

	event(run, 7, 1000, RECLAIM_BEGIN);
	for (int i = 0; i < EVENTS_MAX - 2; i++)
		event(run, 7, 1001 + i, INACTIVE);
	event(run, 7, 7000, RECLAIM_END);
	window(run, 7, 900, 7100, ROLE_DIRECT_RECLAIM);
	assert_string_equal(run->out, "W7100(1000 7000)");
}

static void test_pid_used_again_inherits_no_events(void **state)
{
	struct run *run = *state;

	event(run, 7, 110, INACTIVE);
	event(run, 7, 120, THROTTLED);
	/* the first 7 is gone, another one reclaims */
	event(run, 7, 1100, INACTIVE);
	window(run, 7, 1000, 1300, ROLE_LRUVEC);
	assert_string_equal(run->out, "W1300(1100)");
}

static void test_sink_that_fails_stops(void **state)
{
	struct run *run = *state;

	run->fail = -ENOSPC;
	event(run, 7, 150, RECLAIM_BEGIN);
	assert_int_equal(give(run, window_of(7, 0, 100, 300, 300, ROLE_DIRECT_RECLAIM)), -ENOSPC);
	run->fail = 0;
	window(run, 7, 90, 310, ROLE_DIRECT_RECLAIM);
	assert_string_equal(run->out, "W300(150) W310()");
}

static void test_cpu_out_of_bounds_is_refused(void **state)
{
	struct run *run = *state;

	assert_int_equal(give(run, event_of(7, CPUS, 100, USER)), -EINVAL);
	assert_int_equal(give(run, event_of(7, -1, 100, USER)), -EINVAL);
	assert_int_equal(give(run, event_of(7, CPUS - 1, 100, USER)), 0);
}

/* Of damaged data: returned before it was called. */
static void test_window_that_ends_before_it_begins(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, INACTIVE);
	give(run, window_of(7, 0, 300, 100, 300, ROLE_LRUVEC));
	assert_int_equal(run->events, 0);
}

/* --- pairs --- */

static void test_pair_reaches_threshold_when_equal(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	slab(run, 7, 0, 1000 + THRESHOLD - 1, SLAB_END, 0xa0);
	slab(run, 7, 0, 2000, SLAB_START, 0xa0);
	slab(run, 7, 0, 2000 + THRESHOLD, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P1000-1099=99() P2000-2100=100!()");
}

static void test_pairs_nest(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	slab(run, 7, 0, 1010, SLAB_START, 0xb0);
	slab(run, 7, 0, 1020, SLAB_START, 0xa0);
	slab(run, 7, 0, 1030, SLAB_END, 0xa0);
	slab(run, 7, 0, 1040, SLAB_END, 0xb0);
	slab(run, 7, 0, 1050, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P1020-1030=10() P1010-1040=30() P1000-1050=50()");
}

static void test_end_without_begin_is_nothing(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_END, 0xa0);
	slab(run, 7, 0, 1010, SLAB_START, 0xb0);
	slab(run, 7, 0, 1020, SLAB_END, 0xa0);
	slab(run, 7, 0, 1030, SLAB_END, 0xb0);
	assert_string_equal(run->out, "P1010-1030=20()");
}

/* The inner end was lost: its begin goes with the outer pair and meets no later end. */
static void test_begin_without_end_goes_with_the_outer_pair(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	slab(run, 7, 0, 1010, SLAB_START, 0xb0);
	slab(run, 7, 0, 1020, SLAB_END, 0xa0);
	slab(run, 7, 0, 5000, SLAB_END, 0xb0);
	assert_string_equal(run->out, "P1000-1020=20()");
}

static void test_two_begins_the_newer_one_pairs(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	slab(run, 7, 0, 9000, SLAB_START, 0xa0);
	slab(run, 7, 0, 9010, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P9000-9010=10()");
}

static void test_pair_over_two_cpus(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	slab(run, 7, 3, 1200, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P1000-1200=200!()");
}

static void test_pair_is_of_one_task(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	slab(run, 8, 0, 1010, SLAB_START, 0xa0);
	slab(run, 7, 0, 1020, SLAB_END, 0xa0);
	slab(run, 8, 0, 1040, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P1000-1020=20() P1010-1040=30()");
}

static void test_loss_between_begin_and_end(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	lost(run, 0, 1500);
	slab(run, 7, 0, 2000, SLAB_END, 0xa0);
	slab(run, 7, 0, 2010, SLAB_START, 0xa0);
	slab(run, 7, 0, 2020, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P2010-2020=10()");
}

static void test_loss_on_either_cpu_of_the_pair(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	lost(run, 1, 1500);
	slab(run, 7, 1, 2000, SLAB_END, 0xa0);
	slab(run, 7, 2, 3000, SLAB_START, 0xa0);
	lost(run, 2, 3500);
	slab(run, 7, 3, 4000, SLAB_END, 0xa0);
	assert_string_equal(run->out, "");
}

/* Lost before the begin, on the same page, or on a CPU where the task never was. */
static void test_loss_elsewhere_does_no_harm(void **state)
{
	struct run *run = *state;

	lost(run, 0, 1000);
	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	lost(run, 2, 1100);
	slab(run, 7, 0, 1200, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P1000-1200=200!()");
}

static void test_window_closes_begins_inside_it(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	slab(run, 7, 0, 1200, SLAB_START, 0xb0);
	window(run, 7, 1100, 1400, ROLE_PAGE_ALLOCATION);
	slab(run, 7, 0, 1500, SLAB_END, 0xb0);
	slab(run, 7, 0, 1600, SLAB_END, 0xa0);
	assert_string_equal(run->out, "W1400() P1000-1600=600!()");
}

/* With function_graph a pair claims nothing: windows do. */
static void test_pair_claims_nothing_where_windows_are(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	event(run, 7, 1100, USER);
	slab(run, 7, 0, 1200, SLAB_END, 0xa0);
	window(run, 7, 900, 1300, ROLE_SLAB);
	assert_string_equal(run->out, "P1000-1200=200!() W1300(1100)");
}

/* --- interrupts and the idle task --- */

static void give_flags(struct run *run, struct record record, int flags)
{
	record.flags = flags;
	assert_int_equal(give(run, record), 0);
}

static void test_interrupt_is_not_owned_by_the_interrupted(void **state)
{
	static const int flags[] = {
		RECORD_FLAG_HARDIRQ,
		RECORD_FLAG_SOFTIRQ,
		RECORD_FLAG_NMI,
		RECORD_FLAG_HARDIRQ | RECORD_FLAG_SOFTIRQ,
	};
	struct run *run = *state;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		give_flags(run, event_of(7, 0, 150, USER), flags[i]);
	event(run, 7, 160, USER);
	window(run, 7, 100, 300, ROLE_PAGE_ALLOCATION);
	assert_string_equal(run->out, "W300(160)");
}

static void test_window_of_an_interrupt_claims_its_own_only(void **state)
{
	struct run *run = *state;

	event(run, 7, 150, USER);
	give_flags(run, event_of(7, 0, 160, USER), RECORD_FLAG_SOFTIRQ);
	give_flags(run, event_of(7, 0, 170, USER), RECORD_FLAG_HARDIRQ | RECORD_FLAG_SOFTIRQ);
	give_flags(run, window_of(7, 0, 155, 280, 280, ROLE_PAGE_ALLOCATION), RECORD_FLAG_SOFTIRQ);
	window(run, 7, 100, 300, ROLE_PAGE_ALLOCATION);
	assert_string_equal(run->out, "W280(160) W300(150)");
}

static void test_interrupt_does_not_pair_with_the_interrupted(void **state)
{
	struct run *run = *state;
	struct record end = event_of(7, 0, 1100, SLAB_END);

	end.fields.shrinker = 0xa0;
	end.fields.callback = 0xa1;
	slab(run, 7, 0, 1000, SLAB_START, 0xa0);
	give_flags(run, end, RECORD_FLAG_HARDIRQ);
	give_flags(run, end, RECORD_FLAG_SOFTIRQ);
	give_flags(run, end, RECORD_FLAG_NMI);
	slab(run, 7, 0, 1200, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P1000-1200=200!()");
}

/* An interrupt stays on its CPU, whatever task it interrupts. */
static void test_interrupt_is_of_its_cpu(void **state)
{
	struct run *run = *state;

	give_flags(run, event_of(7, 0, 150, USER), RECORD_FLAG_SOFTIRQ);
	give_flags(run, event_of(7, 1, 160, USER), RECORD_FLAG_SOFTIRQ);
	give_flags(run, window_of(8, 1, 100, 300, 300, ROLE_NODE), RECORD_FLAG_SOFTIRQ);
	assert_string_equal(run->out, "W300(160)");
}

/* need-resched, irqs-off and the like are not interrupt context. */
static void test_other_flags_are_of_the_task(void **state)
{
	struct run *run = *state;

	give_flags(run, event_of(7, 0, 150, USER), 0x01 | 0x04 | 0x20 | 0x80);
	window(run, 7, 100, 300, ROLE_NODE);
	assert_string_equal(run->out, "W300(150)");
}

static void test_idle_task_is_one_per_cpu(void **state)
{
	struct run *run = *state;

	assert_int_equal(give(run, event_of(0, 0, 150, USER)), 0);
	assert_int_equal(give(run, event_of(0, 1, 160, USER)), 0);
	assert_int_equal(give(run, window_of(0, 1, 100, 300, 300, ROLE_NODE)), 0);
	assert_int_equal(give(run, window_of(0, 0, 100, 310, 310, ROLE_NODE)), 0);
	slab(run, 0, 0, 1000, SLAB_START, 0xa0);
	slab(run, 0, 1, 1100, SLAB_END, 0xa0);
	assert_string_equal(run->out, "W300(160) W310(150)");
}

/* A pid that equals a CPU's number is no idle task and no interrupt. */
static void test_pid_is_not_taken_for_a_cpu(void **state)
{
	struct run *run = *state;

	assert_int_equal(give(run, event_of(0, 1, 150, USER)), 0);
	give_flags(run, event_of(5, 1, 160, USER), RECORD_FLAG_HARDIRQ);
	window(run, 1, 100, 300, ROLE_NODE);
	assert_string_equal(run->out, "W300()");
}

/* --- without function_graph --- */

static void test_fallback_pair_decides(void **state)
{
	struct run *run = *state;

	event(run, 7, 1000, RECLAIM_BEGIN);
	event(run, 7, 1099, RECLAIM_END);
	event(run, 7, 2000, RECLAIM_BEGIN);
	event(run, 7, 2100, RECLAIM_END);
	assert_string_equal(run->out, "P2000-2100=100!()");
}

static void test_fallback_every_slab_pair_counts(void **state)
{
	struct run *run = *state;

	event(run, 7, 1000, RECLAIM_BEGIN);
	slab(run, 7, 0, 1010, SLAB_START, 0xa0);
	slab(run, 7, 0, 1020, SLAB_END, 0xa0);
	event(run, 7, 1300, RECLAIM_END);
	assert_string_equal(run->out, "P1010-1020=10() P1000-1300=300!()");
}

static void test_fallback_slow_pair_claims_asked_events(void **state)
{
	struct run *run = *state;

	event(run, 7, 990, USER);
	event(run, 7, 1000, RECLAIM_BEGIN);
	event(run, 7, 1010, USER);
	event(run, 7, 1050, COMPACTION_BEGIN);
	event(run, 7, 1060, USER);
	event(run, 7, 1200, COMPACTION_END);
	event(run, 7, 1250, THROTTLED);
	event(run, 7, 1300, RECLAIM_END);
	event(run, 7, 1310, USER);
	assert_string_equal(run->out, "P1050-1200=150!(1060) P1000-1300=300!(1010)");
}

/* --- foreign clock --- */

static void test_foreign_clock_edge(void **state)
{
	struct run *run = *state;

	event(run, 7, 50999, INACTIVE);
	event(run, 7, 51000, INACTIVE);
	window(run, 7, 101000, 101200, ROLE_LRUVEC);
	assert_string_equal(run->out, "W101200(51000)");
}

static void test_foreign_clock_edge_at_time_zero(void **state)
{
	struct run *run = *state;

	event(run, 7, 0, INACTIVE);
	window(run, 7, 10, 200, ROLE_LRUVEC);
	assert_string_equal(run->out, "W200(0)");
}

/* A fast call right before a slow one lies in the slow one's edge, but has ended. */
static void test_foreign_clock_fast_call_in_the_edge(void **state)
{
	struct run *run = *state;

	event(run, 7, 960, COMPACTION_BEGIN);
	event(run, 7, 970, COMPACTION_END);
	event(run, 7, 1005, COMPACTION_BEGIN);
	event(run, 7, 1190, COMPACTION_END);
	window(run, 7, 1000, 1200, ROLE_ZONE_COMPACTION);
	assert_string_equal(run->out, "W1200(1005 1190)");
}

/* What lies in the uncertain edge may have begun before the window: it can still end. */
static void test_foreign_clock_edge_leaves_pairs_open(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 960, SLAB_START, 0xa0);
	window(run, 7, 1000, 1200, ROLE_PAGE_ALLOCATION);
	slab(run, 7, 0, 1300, SLAB_END, 0xa0);
	assert_string_equal(run->out, "W1200() P960-1300=340!()");
}

/* --- limits --- */

static void test_task_limit(void **state)
{
	struct run *run = *state;

	for (int pid = 1; pid <= TASKS_MAX; pid++)
		event(run, pid, 100 + pid, USER);
	assert_int_equal(drops_of(run).tasks, 0);
	/* pid 1 is seen again, so that pid 2 is the one without a record for longest */
	event(run, 1, 9000, USER);
	event(run, TASKS_MAX + 1, 9001, USER);
	assert_int_equal(drops_of(run).tasks, 1);
	window(run, 2, 1, 9100, ROLE_NODE);
	assert_int_equal(drops_of(run).tasks, 2);
	window(run, 1, 1, 9200, ROLE_NODE);
	assert_string_equal(run->out, "W9100() W9200(101 9000)");
	assert_int_equal(drops_of(run).events, 0);
}

static void test_idle_tasks_go_without_being_counted(void **state)
{
	struct run *run = *state;

	run->quiet = true;
	for (int pid = 1; pid <= 3 * TASKS_MAX; pid++)
		window(run, pid, pid, pid + THRESHOLD, ROLE_NODE);
	assert_int_equal(run->windows, 3 * TASKS_MAX);
	assert_int_equal(drops_of(run).tasks, 0);
}

static void test_million_short_lived_tasks(void **state)
{
	struct run *run = *state;
	uint64_t ts = 1000;

	run->quiet = true;
	for (int pid = 1; pid <= 1000000; pid++, ts += 1000) {
		event(run, pid, ts + 10, RECLAIM_BEGIN);
		slab(run, pid, 0, ts + 20, SLAB_START, 0xa0);
		slab(run, pid, 0, ts + 30, SLAB_END, 0xa0);
		event(run, pid, ts + 180, RECLAIM_END);
		window(run, pid, ts, ts + 200, ROLE_DIRECT_RECLAIM);
	}
	assert_int_equal(run->windows, 1000000);
	assert_int_equal(run->pairs, 1000000);
	assert_int_equal(run->events, 2000000);
	assert_int_equal(drops_of(run).tasks + drops_of(run).events + drops_of(run).pairs, 0);
}

/* Tasks that exit in the middle of everything leave their state until the limit takes it. */
static void test_million_tasks_that_leave_state(void **state)
{
	struct run *run = *state;

	run->quiet = true;
	for (int pid = 1; pid <= 1000000; pid++) {
		event(run, pid, 1000 + pid, RECLAIM_BEGIN);
		slab(run, pid, 0, 1000 + pid, SLAB_START, 0xa0);
	}
	assert_int_equal(drops_of(run).tasks, 1000000 - TASKS_MAX);
	assert_int_equal(run->windows + run->pairs, 0);
	/* those that were seen last are all still known */
	for (int pid = 1000000 - TASKS_MAX + 1; pid <= 1000000; pid++)
		window(run, pid, 1000, 2000000, ROLE_DIRECT_RECLAIM);
	assert_int_equal(run->events, TASKS_MAX);
}

static void test_event_limit_takes_the_oldest(void **state)
{
	struct run *run = *state;

	/* spread over tasks, so that none is above its share */
	for (int i = 0; i < EVENTS_MAX; i++)
		event(run, 1 + i % 256, 1000 + i, USER);
	assert_int_equal(drops_of(run).events, 0);
	event(run, 300, 20000, USER);
	assert_int_equal(drops_of(run).events, 1);
	run->quiet = true;
	window(run, 1, 1000, 30000, ROLE_NODE);
	assert_int_equal(run->events, EVENTS_MAX / 256 - 1);
	window(run, 2, 1000, 30000, ROLE_NODE);
	assert_int_equal(run->events, 2 * (EVENTS_MAX / 256) - 1);
}

/* One busy task makes room by itself: what another one waits for stays. */
static void test_busy_task_does_not_push_out_others(void **state)
{
	struct run *run = *state;

	event(run, 7, 100, RECLAIM_BEGIN);
	for (int i = 0; i < 3 * EVENTS_MAX; i++)
		event(run, 8, 200 + i, INACTIVE);
	/* the one of the other task takes a place */
	assert_int_equal(drops_of(run).task_events, 2 * EVENTS_MAX + 1);
	assert_int_equal(drops_of(run).events, 0);
	event(run, 7, 99000, RECLAIM_END);
	window(run, 7, 90, 99100, ROLE_DIRECT_RECLAIM);
	assert_string_equal(run->out, "W99100(100 99000)");
}

/* In one long reclaim what there is one of stays, and the windows that lack something say so. */
static void test_long_reclaim_keeps_its_begin(void **state)
{
	struct run *run = *state;

	event(run, 7, 100, RECLAIM_BEGIN);
	event(run, 7, 110, COMPACTION_BEGIN);
	for (int i = 0; i < EVENTS_MAX + 10; i++)
		event(run, 7, 200 + i, INACTIVE);
	event(run, 7, 9000, RECLAIM_END);
	assert_int_equal(drops_of(run).task_events, 13);
	assert_int_equal(drops_of(run).windows, 0);
	/* not of its time, not its to own */
	window(run, 7, 8000, 9100, ROLE_NODE);
	window(run, 7, 90, 9200, ROLE_ZONE_COMPACTION);
	assert_string_equal(run->out, "W9100() W9200(110)");
	run->used = 0;
	run->quiet = true;
	window(run, 7, 300, 9300, ROLE_GENERATIONS);
	run->quiet = false;
	assert_int_equal(drops_of(run).windows, 0);
	window(run, 7, 150, 9300, ROLE_LRUVEC);
	window(run, 7, 90, 9400, ROLE_DIRECT_RECLAIM);
	assert_int_equal(strncmp(run->out, "W9300?(213 214 ", 15), 0);
	assert_non_null(strstr(run->out, " W9400(100 9000)"));
	assert_int_equal(drops_of(run).windows, 1);
}

/* What fast calls left behind is nobody's, however much of it makes room. */
static void test_harmless_drops_make_no_noise(void **state)
{
	struct run *run = *state;

	for (int i = 0; i < 3 * EVENTS_MAX; i++)
		event(run, 7, 1000 + i, INACTIVE);
	event(run, 7, 50000, INACTIVE);
	window(run, 7, 49900, 50100, ROLE_LRUVEC);
	assert_string_equal(run->out, "W50100(50000)");
	assert_int_equal(drops_of(run).windows, 0);
}

/* Where a task has nothing of which there are many, the oldest goes, and that is told as well. */
static void test_begin_that_made_room(void **state)
{
	struct run *run = *state;

	event(run, 7, 100, RECLAIM_BEGIN);
	for (int i = 0; i < EVENTS_MAX; i++)
		event(run, 1000 + i % 256, 1000 + i, USER);
	assert_int_equal(drops_of(run).events, 1);
	event(run, 7, 8000, RECLAIM_END);
	window(run, 7, 90, 9000, ROLE_DIRECT_RECLAIM);
	window(run, 7, 80, 9100, ROLE_PAGE_ALLOCATION);
	assert_string_equal(run->out, "W9000?(8000) W9100()");
	assert_int_equal(drops_of(run).windows, 1);
}

static void expect_drops(struct run *run, int of_task, uint64_t events, uint64_t task_events)
{
	int others = EVENTS_MAX - of_task;

	for (int i = 0; i < others; i++)
		event(run, 1000 + i % 256, 1000 + i, USER);
	for (int i = 0; i < of_task; i++)
		event(run, 7, 10000 + i, USER);
	assert_int_equal(drops_of(run).events + drops_of(run).task_events, 0);
	event(run, 300, 20000, USER);
	assert_int_equal(drops_of(run).events, events);
	assert_int_equal(drops_of(run).task_events, task_events);
}

static void test_task_below_its_share(void **state)
{
	expect_drops(*state, TASK_EVENTS_MAX - 1, 1, 0);
}

/* Up to its share a task is like the others: the oldest event of all makes room. */
static void test_task_at_its_share(void **state)
{
	expect_drops(*state, TASK_EVENTS_MAX, 1, 0);
}

static void test_task_above_its_share(void **state)
{
	expect_drops(*state, TASK_EVENTS_MAX + 1, 0, 1);
}

/* A single window may own all that can wait. */
static void test_window_with_all_events(void **state)
{
	struct run *run = *state;

	run->quiet = true;
	for (int i = 0; i < EVENTS_MAX; i++)
		event(run, 7, 1000 + i, USER);
	window(run, 7, 1000, 1000 + EVENTS_MAX, ROLE_NODE);
	assert_int_equal(run->events, EVENTS_MAX);
	assert_int_equal(drops_of(run).events, 0);
	for (int i = 0; i < EVENTS_MAX; i++)
		event(run, 7, 90000 + i, USER);
	assert_int_equal(drops_of(run).events, 0);
}

static void test_pair_limit(void **state)
{
	struct run *run = *state;

	for (int i = 0; i < TASK_PAIRS_MAX; i++)
		slab(run, 7, 0, 1000 + i, SLAB_START, 0xa0 + 16 * i);
	assert_int_equal(drops_of(run).pairs, 0);
	slab(run, 7, 0, 1100, SLAB_START, 0xf00);
	assert_int_equal(drops_of(run).pairs, 1);
	slab(run, 7, 0, 1110, SLAB_END, 0xf00);
	/* the oldest went, the one after it is still there */
	slab(run, 7, 0, 1120, SLAB_END, 0xb0);
	slab(run, 7, 0, 1130, SLAB_END, 0xa0);
	assert_string_equal(run->out, "P1100-1110=10() P1001-1120=119!()");
}

/* A begin that goes to make room for events is counted as a begin. */
static void test_begin_that_makes_room_counts_as_pair(void **state)
{
	struct run *run = *state;

	slab(run, 7, 0, 100, SLAB_START, 0xa0);
	for (int i = 0; i < EVENTS_MAX; i++)
		event(run, 1000 + i % 256, 1000 + i, USER);
	assert_int_equal(drops_of(run).pairs, 1);
	assert_int_equal(drops_of(run).events, 0);
}

/* Only -e events have payloads that do not fit into a record. */
static void test_large_payload_is_kept(void **state)
{
	static const char payload[RECORD_RAW_MAX + 1] = "large";
	struct run *run = *state;
	struct record record = event_of(7, 0, 150, USER);

	record.raw = payload;
	record.raw_size = sizeof(payload);
	assert_int_equal(tasks_record(run->tasks, &record), 0);
	assert_int_equal(tasks_record(run->tasks, &record), 0);
	window(run, 8, 100, 300, ROLE_NODE);
	window(run, 7, 100, 300, ROLE_NODE);
	assert_string_equal(run->out, "W300() W300(150 150)");
	/* one is left for tasks_free() */
	assert_int_equal(tasks_record(run->tasks, &record), 0);
}

static void test_free_of_nothing(void **state)
{
	(void)state;
	tasks_free(NULL);
}

#define RUN(test)	   cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define RUN_FALLBACK(test) cmocka_unit_test_setup_teardown(test, set_up_fallback, tear_down)
#define RUN_FOREIGN(test)  cmocka_unit_test_setup_teardown(test, set_up_foreign_clock, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(test_owner_claims_what_it_contains),
		RUN(test_event_at_the_very_edges_is_inside),
		RUN(test_event_is_shown_once),
		RUN(test_another_role_does_not_claim),
		RUN(test_another_task_does_not_claim),
		RUN(test_task_may_migrate),
		RUN(test_event_before_the_window_is_not_its),
		RUN(test_event_after_the_return_is_not_its),
		RUN(test_innermost_owner_claims),
		RUN(test_several_windows_each_its_own),
		RUN(test_window_reaches_threshold_when_equal),
		RUN(test_any_window_is_the_innermost),
		RUN(test_event_with_rule_never_is_not_kept),
		RUN(test_fast_call_before_a_slow_one),
		RUN(test_owner_may_write_an_event_several_times),
		RUN(test_begin_waits_past_many_others),
		RUN(test_pid_used_again_inherits_no_events),
		RUN(test_sink_that_fails_stops),
		RUN(test_cpu_out_of_bounds_is_refused),
		RUN(test_window_that_ends_before_it_begins),
		RUN(test_pair_reaches_threshold_when_equal),
		RUN(test_pairs_nest),
		RUN(test_end_without_begin_is_nothing),
		RUN(test_begin_without_end_goes_with_the_outer_pair),
		RUN(test_two_begins_the_newer_one_pairs),
		RUN(test_pair_over_two_cpus),
		RUN(test_pair_is_of_one_task),
		RUN(test_loss_between_begin_and_end),
		RUN(test_loss_on_either_cpu_of_the_pair),
		RUN(test_loss_elsewhere_does_no_harm),
		RUN(test_window_closes_begins_inside_it),
		RUN(test_pair_claims_nothing_where_windows_are),
		RUN(test_interrupt_is_not_owned_by_the_interrupted),
		RUN(test_window_of_an_interrupt_claims_its_own_only),
		RUN(test_interrupt_does_not_pair_with_the_interrupted),
		RUN(test_interrupt_is_of_its_cpu),
		RUN(test_other_flags_are_of_the_task),
		RUN(test_idle_task_is_one_per_cpu),
		RUN(test_pid_is_not_taken_for_a_cpu),
		RUN_FALLBACK(test_fallback_pair_decides),
		RUN_FALLBACK(test_fallback_every_slab_pair_counts),
		RUN_FALLBACK(test_fallback_slow_pair_claims_asked_events),
		RUN_FOREIGN(test_foreign_clock_edge),
		RUN_FOREIGN(test_foreign_clock_edge_at_time_zero),
		RUN_FOREIGN(test_foreign_clock_fast_call_in_the_edge),
		RUN_FOREIGN(test_foreign_clock_edge_leaves_pairs_open),
		RUN(test_task_limit),
		RUN(test_idle_tasks_go_without_being_counted),
		RUN(test_million_short_lived_tasks),
		RUN(test_million_tasks_that_leave_state),
		RUN(test_event_limit_takes_the_oldest),
		RUN(test_long_reclaim_keeps_its_begin),
		RUN(test_harmless_drops_make_no_noise),
		RUN(test_begin_that_made_room),
		RUN(test_busy_task_does_not_push_out_others),
		RUN(test_task_below_its_share),
		RUN(test_task_at_its_share),
		RUN(test_task_above_its_share),
		RUN(test_window_with_all_events),
		RUN(test_pair_limit),
		RUN(test_begin_that_makes_room_counts_as_pair),
		RUN(test_large_payload_is_kept),
		cmocka_unit_test(test_free_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
