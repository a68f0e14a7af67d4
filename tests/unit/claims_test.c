// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/stall.h"
#include "made_cpus.h"
#include "notes.h"
#include "unit_test.h"

/*
 * The results are printed as text: "W300(110 120)" is the window whose exit record is of 300 with
 * the events of 110 and 120, "w300" a fast one, "P100-200=100!(150)" a pair with its duration, !
 * where it is slow; ? is incomplete. "110#2" is an event with stack number 2. Where it matters
 * "[150 160]" follows, the events inside that no window inside had, with ? if some are missing.
 */

#define CPUS	   4
#define THRESHOLD  100
#define TASKS_MAX  300
#define EVENTS_MAX 2048		     /* a multiple of 256 */
#define SHARE	   (EVENTS_MAX / 16) /* of one task, while room is short */

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

#define OWNED(id_, side_, partner_, role)                                                          \
	.id = (id_), .side = (side_), .partner = (partner_), .rule = RULE_OWNER,                   \
	.owners = ROLE_BIT(role)

static const struct plan_event planned[NR_EVENTS] = {
	[RECLAIM_BEGIN] = { OWNED(EVENT_DIRECT_RECLAIM_BEGIN, EVENT_BEGIN, RECLAIM_END,
				  ROLE_DIRECT_RECLAIM) },
	[RECLAIM_END] = { OWNED(EVENT_DIRECT_RECLAIM_END, EVENT_END, RECLAIM_BEGIN,
				ROLE_DIRECT_RECLAIM) },
	[COMPACTION_BEGIN] = { OWNED(EVENT_COMPACTION_BEGIN, EVENT_BEGIN, COMPACTION_END,
				     ROLE_ZONE_COMPACTION) },
	[COMPACTION_END] = { OWNED(EVENT_COMPACTION_END, EVENT_END, COMPACTION_BEGIN,
				   ROLE_ZONE_COMPACTION) },
	[SOFT_BEGIN] = { OWNED(EVENT_SOFT_LIMIT_BEGIN, EVENT_BEGIN, SOFT_END, ROLE_SOFT_LIMIT),
			 .repeats = true },
	[SOFT_END] = { OWNED(EVENT_SOFT_LIMIT_END, EVENT_END, SOFT_BEGIN, ROLE_SOFT_LIMIT),
		       .repeats = true },
	[INACTIVE] = { .id = EVENT_SHRINK_INACTIVE,
		       .partner = -1,
		       .rule = RULE_OWNER,
		       .owners = ROLE_BIT(ROLE_GENERATIONS) | ROLE_BIT(ROLE_LRUVEC),
		       .repeats = true },
	[THROTTLED] = { .id = EVENT_THROTTLED, .partner = -1, .rule = RULE_ANY_WINDOW },
	[SLAB_START] = { .id = EVENT_SLAB_START,
			 .side = EVENT_BEGIN,
			 .partner = SLAB_END,
			 .rule = RULE_PAIR,
			 .repeats = true },
	[SLAB_END] = { .id = EVENT_SLAB_END,
		       .side = EVENT_END,
		       .partner = SLAB_START,
		       .rule = RULE_PAIR,
		       .repeats = true },
	[USER] = { .id = EVENT_USER, .partner = -1, .rule = RULE_ANY_WINDOW },
	[NEVER] = { .id = EVENT_TRY_TO_COMPACT, .partner = -1, .rule = RULE_NEVER },
};

enum kind {
	USUAL,
	FALLBACK,      /* a kernel without function_graph: pairs decide */
	INSIDE,	       /* what was inside of windows is printed too */
	FOREIGN_CLOCK, /* edges of windows are uncertain by 50 us */
};

static struct {
	struct plan plan;
	struct claims *claims;
	uint64_t events;
	bool show_inside;
	int fail;
} run;

static void note_event(const struct record *event)
{
	note("%" PRIu64, event->ts);
	if (event->stack.number)
		note("#%u", event->stack.number);
}

static void note_list(const struct record *const *events, size_t nr_events)
{
	for (size_t i = 0; i < nr_events; i++) {
		note("%s", i ? " " : "");
		note_event(events[i]);
	}
}

static int note_events(const struct record *const *events, size_t nr_events)
{
	run.events += nr_events;
	note("(");
	note_list(events, nr_events);
	note(")");
	return run.fail;
}

static int got_window(void *context, const struct task_window *window)
{
	note_separator(" ");
	if (!window->slow) {
		assert_int_equal(window->nr_events + window->nr_inside, 0);
		note("w%" PRIu64, window->exit->ts);
		return run.fail;
	}
	note("W%" PRIu64 "%s", window->exit->ts, window->incomplete ? "?" : "");
	note_events(window->events, window->nr_events);
	if (run.show_inside) {
		note("[");
		note_list(window->inside, window->nr_inside);
		note("%s]", window->inside_incomplete ? "?" : "");
	}
	return run.fail;
}

static int got_pair(void *context, const struct task_pair *pair)
{
	note_separator(" ");
	note("P");
	note_event(pair->begin);
	note("-%" PRIu64 "=%" PRIu64 "%s%s", pair->end->ts, pair->duration, pair->slow ? "!" : "",
	     pair->incomplete ? "?" : "");
	return note_events(pair->events, pair->nr_events);
}

static void start(enum kind kind)
{
	const struct data_source source = { .cpus = made_cpus(CPUS),
					    .local_clock = kind != FOREIGN_CLOCK };
	const struct limits limits = { .tasks = TASKS_MAX, .events = EVENTS_MAX };
	const struct claims_sink sink = { &run, got_window, got_pair };

	claims_free(run.claims); /* of the test before */
	clear_notes();
	memset(&run, 0, sizeof(run));
	memcpy(run.plan.events, planned, sizeof(planned));
	run.plan.nr_events = NR_EVENTS;
	run.plan.threshold = THRESHOLD;
	run.plan.function_graph = kind != FALLBACK;
	run.show_inside = kind == INSIDE;
	for (int i = RECLAIM_BEGIN; kind == FALLBACK && i <= COMPACTION_END; i++)
		run.plan.events[i].rule = RULE_PAIR;
	if (kind == FALLBACK)
		run.plan.events[INACTIVE].rule = run.plan.events[THROTTLED].rule = RULE_NEVER;
	run.claims = claims_new(&run.plan, &source, &limits, &sink);
	assert_non_null(run.claims);
}

static int set_up(void **state)
{
	start(USUAL);
	return 0;
}

static int tear_down(void **state)
{
	claims_free(run.claims);
	return 0;
}

#define EVENT(pid_, ts_, event_, ...)                                                              \
	{                                                                                          \
		.kind = RECORD_EVENT, .tid = (pid_), .ts = (ts_), .event = (event_), __VA_ARGS__   \
	}
#define SLAB(pid_, ts_, event_, shrinker_, ...)                                                    \
	EVENT(pid_, ts_, event_,                                                                   \
	      .fields = { .shrinker = (shrinker_), .callback = (shrinker_) + 1 }, __VA_ARGS__)
/* The exit record is written right after the return. */
#define WINDOW(pid_, from, to, role_, ...) WINDOW_AT(to, pid_, from, to, role_, __VA_ARGS__)
#define WINDOW_AT(ts_, pid_, from, to, role_, ...)                                                 \
	{                                                                                          \
		.kind = RECORD_WINDOW, .tid = (pid_), .ts = (ts_),                                 \
		.window = { .calltime = (from), .rettime = (to), .depth = 1, .role = (role_) },    \
		__VA_ARGS__                                                                        \
	}
#define LOST(cpu_, ts_)                                                                            \
	{                                                                                          \
		.kind = RECORD_LOST, .cpu = (cpu_), .ts = (ts_), .lost = 3                         \
	}
#define STACK(tid_, ts_, number_, ...)                                                             \
	{                                                                                          \
		.kind = RECORD_STACK, .tid = (tid_), .ts = (ts_),                                  \
		.stack = { .number = (number_) }, __VA_ARGS__                                      \
	}
#define RECORDS_MAX 16

static int put(struct record record)
{
	record.raw = "";
	return claims_record(run.claims, &record);
}

static void event(int pid, uint64_t ts, int number)
{
	assert_int_equal(put((struct record)EVENT(pid, ts, number, )), 0);
}

static void slab(int pid, uint64_t ts, int number, uint64_t shrinker)
{
	assert_int_equal(put((struct record)SLAB(pid, ts, number, shrinker, )), 0);
}

static void window(int pid, uint64_t from, uint64_t to, int role)
{
	assert_int_equal(put((struct record)WINDOW(pid, from, to, role, )), 0);
}

struct example {
	const char *title;
	const char *expected;
	struct record records[RECORDS_MAX]; /* the first without a time ends them */
};

static void check(enum kind kind, const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		start(kind);
		for (const struct record *record = examples[i].records; record->ts; record++)
			assert_int_equal(put(*record), 0);
		if (strcmp(notes.text, examples[i].expected))
			fail_msg("%s: %s; expected %s", examples[i].title, notes.text,
				 examples[i].expected);
	}
}

static void test_owners(void **state)
{
	static const struct example examples[] = {
		{ "edges are inside", "W300(100 300)",
		  .records = { EVENT(7, 100, RECLAIM_BEGIN), EVENT(7, 300, RECLAIM_END),
			       WINDOW(7, 100, 300, ROLE_DIRECT_RECLAIM) } },
		{ "another role does not claim", "W280() W290() W300(150) W310()",
		  .records = { EVENT(7, 150, RECLAIM_BEGIN), WINDOW(7, 120, 280, ROLE_NODE),
			       WINDOW(7, 110, 290, ROLE_NONE),
			       WINDOW(7, 100, 300, ROLE_DIRECT_RECLAIM),
			       WINDOW(7, 90, 310, ROLE_PAGE_ALLOCATION) } },
		{ "another task does not claim", "W300()",
		  .records = { EVENT(7, 150, RECLAIM_BEGIN),
			       WINDOW(8, 100, 300, ROLE_DIRECT_RECLAIM) } },
		{ "a task may migrate", "W300(110 220)",
		  .records = { EVENT(7, 110, RECLAIM_BEGIN), EVENT(7, 220, RECLAIM_END, .cpu = 3),
			       WINDOW(7, 100, 300, ROLE_DIRECT_RECLAIM, .cpu = 2) } },
		{ "an event before the window", "W300(101)",
		  .records = { EVENT(7, 99, INACTIVE), EVENT(7, 101, INACTIVE),
			       WINDOW(7, 100, 300, ROLE_LRUVEC) } },
		/* The exit record is written some time after the return. */
		{ "an event between return and exit record", "W302(150) W400(301)",
		  .records = { EVENT(7, 150, INACTIVE), EVENT(7, 301, INACTIVE),
			       WINDOW_AT(302, 7, 100, 300, ROLE_GENERATIONS),
			       WINDOW(7, 50, 400, ROLE_LRUVEC) } },
		{ "the innermost owner claims", "W300(250) W400(110 350)",
		  .records = { EVENT(7, 110, INACTIVE), EVENT(7, 250, INACTIVE),
			       WINDOW(7, 200, 300, ROLE_GENERATIONS), EVENT(7, 350, INACTIVE),
			       WINDOW(7, 100, 400, ROLE_LRUVEC) } },
		{ "several windows, each its own", "W1200(1010 1190) W2200(2010 2190) W5000()",
		  .records = { EVENT(7, 1010, COMPACTION_BEGIN), EVENT(7, 1190, COMPACTION_END),
			       WINDOW(7, 1000, 1200, ROLE_ZONE_COMPACTION),
			       EVENT(7, 2010, COMPACTION_BEGIN), EVENT(7, 2190, COMPACTION_END),
			       WINDOW(7, 2000, 2200, ROLE_ZONE_COMPACTION),
			       WINDOW(7, 900, 5000, ROLE_DIRECT_COMPACTION) } },
		/* A capture may hold windows below the threshold: as if never recorded. */
		{ "a window reaches the threshold when equal", "w239 W240(150)",
		  .records = { EVENT(7, 150, INACTIVE),
			       WINDOW(7, 140, 140 + THRESHOLD - 1, ROLE_GENERATIONS),
			       WINDOW(7, 140, 140 + THRESHOLD, ROLE_GENERATIONS) } },
		{ "any window is the innermost", "W280(150 160) W290(285)",
		  .records = { EVENT(7, 150, THROTTLED), EVENT(7, 160, USER),
			       WINDOW(7, 120, 280, ROLE_NONE), EVENT(7, 285, USER),
			       WINDOW(7, 110, 290, ROLE_NODE) } },
		{ "the rule never", "W300()",
		  .records = { EVENT(7, 150, NEVER),
			       WINDOW(7, 100, 300, ROLE_DIRECT_COMPACTION) } },
		{ "a fast call before a slow one", "W400(210 390) W500()",
		  .records = { EVENT(7, 110, COMPACTION_BEGIN), EVENT(7, 120, COMPACTION_END),
			       EVENT(7, 210, COMPACTION_BEGIN), EVENT(7, 390, COMPACTION_END),
			       WINDOW(7, 200, 400, ROLE_ZONE_COMPACTION),
			       WINDOW(7, 100, 500, ROLE_DIRECT_COMPACTION) } },
		{ "an owner may write an event several times", "W300(110 120 130 140)",
		  .records = { EVENT(7, 110, SOFT_BEGIN), EVENT(7, 120, SOFT_END),
			       EVENT(7, 130, SOFT_BEGIN), EVENT(7, 140, SOFT_END),
			       WINDOW(7, 100, 300, ROLE_SOFT_LIMIT) } },
		{ "a pid that is used again inherits nothing", "W1300(1100)",
		  .records = { EVENT(7, 110, INACTIVE), EVENT(7, 120, THROTTLED),
			       EVENT(7, 1100, INACTIVE), WINDOW(7, 1000, 1300, ROLE_LRUVEC) } },
	};

	check(USUAL, examples, COUNT(examples));
}

static void test_pairs(void **state)
{
	static const struct example examples[] = {
		{ "a pair reaches the threshold when equal", "P1000-1099=99() P2000-2100=100!()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0),
			       SLAB(7, 1000 + THRESHOLD - 1, SLAB_END, 0xa0),
			       SLAB(7, 2000, SLAB_START, 0xa0),
			       SLAB(7, 2000 + THRESHOLD, SLAB_END, 0xa0) } },
		{ "pairs nest", "P1020-1030=10() P1010-1040=30() P1000-1050=50()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), SLAB(7, 1010, SLAB_START, 0xb0),
			       SLAB(7, 1020, SLAB_START, 0xa0), SLAB(7, 1030, SLAB_END, 0xa0),
			       SLAB(7, 1040, SLAB_END, 0xb0), SLAB(7, 1050, SLAB_END, 0xa0) } },
		{ "an end without a begin", "P1010-1030=20()",
		  .records = { SLAB(7, 1000, SLAB_END, 0xa0), SLAB(7, 1010, SLAB_START, 0xb0),
			       SLAB(7, 1020, SLAB_END, 0xa0), SLAB(7, 1030, SLAB_END, 0xb0),
			       SLAB(7, 1040, SLAB_END, 0xb0) } },
		{ "a begin without its end goes with the outer pair", "P1000-1020=20()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), SLAB(7, 1010, SLAB_START, 0xb0),
			       SLAB(7, 1020, SLAB_END, 0xa0), SLAB(7, 5000, SLAB_END, 0xb0) } },
		{ "of two begins the newer one pairs", "P9000-9010=10()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), SLAB(7, 9000, SLAB_START, 0xa0),
			       SLAB(7, 9010, SLAB_END, 0xa0) } },
		{ "over two CPUs", "P1000-1200=200!()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0),
			       SLAB(7, 1200, SLAB_END, 0xa0, .cpu = 3) } },
		{ "of one task", "P1000-1020=20() P1010-1040=30()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), SLAB(8, 1010, SLAB_START, 0xa0),
			       SLAB(7, 1020, SLAB_END, 0xa0), SLAB(8, 1040, SLAB_END, 0xa0) } },
		{ "records were lost in between", "P2010-2020=10()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), LOST(0, 1500),
			       SLAB(7, 2000, SLAB_END, 0xa0), SLAB(7, 2010, SLAB_START, 0xa0),
			       SLAB(7, 2020, SLAB_END, 0xa0) } },
		{ "lost on either CPU of the pair", "",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), LOST(1, 1500),
			       SLAB(7, 2000, SLAB_END, 0xa0, .cpu = 1),
			       SLAB(7, 3000, SLAB_START, 0xa0, .cpu = 2), LOST(2, 3500),
			       SLAB(7, 4000, SLAB_END, 0xa0, .cpu = 3) } },
		{ "lost before the begin, or where the task never was", "P1000-1200=200!()",
		  .records = { LOST(0, 1000), SLAB(7, 1000, SLAB_START, 0xa0), LOST(2, 1100),
			       SLAB(7, 1200, SLAB_END, 0xa0) } },
		{ "a window closes begins inside", "W1400() P1000-1600=600!()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), SLAB(7, 1200, SLAB_START, 0xb0),
			       WINDOW(7, 1100, 1400, ROLE_PAGE_ALLOCATION),
			       SLAB(7, 1500, SLAB_END, 0xb0), SLAB(7, 1600, SLAB_END, 0xa0) } },
		{ "with function_graph only windows claim", "P1000-1200=200!() W1300(1100)",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), EVENT(7, 1100, USER),
			       SLAB(7, 1200, SLAB_END, 0xa0), WINDOW(7, 900, 1300, ROLE_SLAB) } },
	};

	check(USUAL, examples, COUNT(examples));
}

/* A stack is of its task's newest event, on the same CPU; a second one is of none. */
static void test_stacks(void **state)
{
	static const struct example examples[] = {
		{ "of an event", "W300(110#2 120)",
		  .records = { STACK(7, 105, 1), EVENT(7, 110, USER), STACK(7, 111, 2),
			       STACK(7, 112, 3), EVENT(7, 120, USER), STACK(8, 121, 4),
			       STACK(7, 122, 5, .cpu = 1), WINDOW(7, 100, 300, ROLE_NODE) } },
		{ "of a begin", "P1100#2-1400=300!() W1500(1000)",
		  .records = { EVENT(7, 1000, USER), SLAB(7, 1100, SLAB_START, 0xa0),
			       STACK(7, 1101, 2), SLAB(7, 1400, SLAB_END, 0xa0),
			       WINDOW(7, 900, 1500, ROLE_NODE) } },
		{ "of an event in an open pair", "P1000-1400=400!() W1500(1100#2)",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0), EVENT(7, 1100, USER),
			       STACK(7, 1101, 2), SLAB(7, 1400, SLAB_END, 0xa0),
			       WINDOW(7, 900, 1500, ROLE_NODE) } },
	};

	check(USUAL, examples, COUNT(examples));
}

#define HARDIRQ .flags = RECORD_FLAG_HARDIRQ
#define SOFTIRQ .flags = RECORD_FLAG_SOFTIRQ
#define NMI	.flags = RECORD_FLAG_NMI
#define NESTED	.flags = RECORD_FLAG_HARDIRQ | RECORD_FLAG_SOFTIRQ

static void test_interrupts_and_idle_task(void **state)
{
	static const struct example examples[] = {
		{ "an interrupt is not of the interrupted task", "W300(160)",
		  .records = { EVENT(7, 150, USER, HARDIRQ), EVENT(7, 150, USER, SOFTIRQ),
			       EVENT(7, 150, USER, NMI), EVENT(7, 150, USER, NESTED),
			       EVENT(7, 160, USER), WINDOW(7, 100, 300, ROLE_PAGE_ALLOCATION) } },
		{ "a window of an interrupt claims its own", "W280(160) W300(150)",
		  .records = { EVENT(7, 150, USER), EVENT(7, 160, USER, SOFTIRQ),
			       EVENT(7, 170, USER, NESTED),
			       WINDOW(7, 155, 280, ROLE_PAGE_ALLOCATION, SOFTIRQ),
			       WINDOW(7, 100, 300, ROLE_PAGE_ALLOCATION) } },
		{ "an interrupt does not pair with the interrupted task", "P1000-1200=200!()",
		  .records = { SLAB(7, 1000, SLAB_START, 0xa0),
			       SLAB(7, 1100, SLAB_END, 0xa0, HARDIRQ),
			       SLAB(7, 1100, SLAB_END, 0xa0, SOFTIRQ),
			       SLAB(7, 1100, SLAB_END, 0xa0, NMI),
			       SLAB(7, 1200, SLAB_END, 0xa0) } },
		{ "an interrupt is of its CPU, whatever it interrupts", "W300(160)",
		  .records = { EVENT(7, 150, USER, SOFTIRQ), EVENT(7, 160, USER, SOFTIRQ, .cpu = 1),
			       WINDOW(8, 100, 300, ROLE_NODE, SOFTIRQ, .cpu = 1) } },
		{ "need-resched, irqs-off and the like are of the task", "W300(150)",
		  .records = { EVENT(7, 150, USER, .flags = 0x01 | 0x04 | 0x20 | 0x80),
			       WINDOW(7, 100, 300, ROLE_NODE) } },
		{ "the idle task is one per CPU", "W300(160) W310(150)",
		  .records = { EVENT(0, 150, USER), EVENT(0, 160, USER, .cpu = 1),
			       WINDOW(0, 100, 300, ROLE_NODE, .cpu = 1),
			       WINDOW(0, 100, 310, ROLE_NODE), SLAB(0, 1000, SLAB_START, 0xa0),
			       SLAB(0, 1100, SLAB_END, 0xa0, .cpu = 1) } },
		{ "a pid that equals a CPU's number", "W300()",
		  .records = { EVENT(0, 150, USER, .cpu = 1),
			       EVENT(5, 160, USER, HARDIRQ, .cpu = 1),
			       WINDOW(1, 100, 300, ROLE_NODE) } },
	};

	check(USUAL, examples, COUNT(examples));
}

static void test_fallback(void **state)
{
	static const struct example examples[] = {
		{ "a pair's own time decides", "P2000-2100=100!()",
		  .records = { EVENT(7, 1000, RECLAIM_BEGIN), EVENT(7, 1099, RECLAIM_END),
			       EVENT(7, 2000, RECLAIM_BEGIN), EVENT(7, 2100, RECLAIM_END) } },
		{ "every slab pair counts", "P1010-1020=10() P1000-1300=300!()",
		  .records = { EVENT(7, 1000, RECLAIM_BEGIN), SLAB(7, 1010, SLAB_START, 0xa0),
			       SLAB(7, 1020, SLAB_END, 0xa0), EVENT(7, 1300, RECLAIM_END) } },
		{ "a slow pair claims", "P1050-1200=150!(1060) P1000-1300=300!(1010)",
		  .records = { EVENT(7, 990, USER), EVENT(7, 1000, RECLAIM_BEGIN),
			       EVENT(7, 1010, USER), EVENT(7, 1050, COMPACTION_BEGIN),
			       EVENT(7, 1060, USER), EVENT(7, 1200, COMPACTION_END),
			       EVENT(7, 1250, THROTTLED), EVENT(7, 1300, RECLAIM_END),
			       EVENT(7, 1310, USER) } },
	};

	check(FALLBACK, examples, COUNT(examples));
}

static void test_foreign_clock(void **state)
{
	static const struct example examples[] = {
		{ "the edge", "W200000(950)",
		  .records = { EVENT(7, 949, INACTIVE), EVENT(7, 950, INACTIVE),
			       WINDOW(7, 50950, 200000, ROLE_LRUVEC) } },
		{ "an edge before time 0", "W200(1)",
		  .records = { EVENT(7, 1, INACTIVE), WINDOW(7, 10, 200, ROLE_LRUVEC) } },
		/* A fast call right before a slow one lies in the slow one's edge, but has ended. */
		{ "a fast call in the edge", "W1200(1005 1190)",
		  .records = { EVENT(7, 960, COMPACTION_BEGIN), EVENT(7, 970, COMPACTION_END),
			       EVENT(7, 1005, COMPACTION_BEGIN), EVENT(7, 1190, COMPACTION_END),
			       WINDOW(7, 1000, 1200, ROLE_ZONE_COMPACTION) } },
		/* What lies in the edge may have begun before the window: it can still end. */
		{ "a begin in the edge", "W1200() P960-1300=340!()",
		  .records = { SLAB(7, 960, SLAB_START, 0xa0),
			       WINDOW(7, 1000, 1200, ROLE_PAGE_ALLOCATION),
			       SLAB(7, 1300, SLAB_END, 0xa0) } },
	};

	check(FOREIGN_CLOCK, examples, COUNT(examples));
}

/* Each event counts once, in the innermost slow window around it, whoever owns it. */
static void test_inside(void **state)
{
	static const struct example examples[] = {
		{ "of fast runs", "W400()[110 120 210 220 230 240] W500()[450]",
		  .records = { EVENT(7, 90, INACTIVE), EVENT(7, 110, COMPACTION_BEGIN),
			       EVENT(7, 120, COMPACTION_END), EVENT(7, 210, COMPACTION_BEGIN),
			       EVENT(7, 220, COMPACTION_END), EVENT(7, 230, INACTIVE),
			       EVENT(7, 240, INACTIVE), WINDOW(7, 100, 400, ROLE_NODE),
			       EVENT(7, 450, RECLAIM_END), WINDOW(7, 95, 500, ROLE_NONE) } },
		{ "an owner around may still claim", "W300()[150] W400(150)[350] W500()[]",
		  .records = { EVENT(7, 150, INACTIVE), WINDOW(7, 110, 300, ROLE_NODE),
			       EVENT(7, 350, RECLAIM_END), WINDOW(7, 105, 400, ROLE_LRUVEC),
			       WINDOW(7, 100, 500, ROLE_NONE) } },
		{ "claimed ones too", "W300(110 150)[110 150] W400()[]",
		  .records = { EVENT(7, 110, RECLAIM_BEGIN), EVENT(7, 150, RECLAIM_END),
			       WINDOW(7, 100, 300, ROLE_DIRECT_RECLAIM),
			       WINDOW(7, 90, 400, ROLE_PAGE_ALLOCATION) } },
		{ "a fast call that was counted", "W300()[110 120] W600(410)[410]",
		  .records = { EVENT(7, 110, COMPACTION_BEGIN), EVENT(7, 120, COMPACTION_END),
			       WINDOW(7, 100, 300, ROLE_NODE), EVENT(7, 410, COMPACTION_BEGIN),
			       WINDOW(7, 400, 600, ROLE_ZONE_COMPACTION) } },
		{ "not of another task, nor after the return", "W302()[]",
		  .records = { EVENT(8, 150, INACTIVE), EVENT(7, 301, INACTIVE),
			       WINDOW_AT(302, 7, 100, 300, ROLE_NODE) } },
	};

	check(INSIDE, examples, COUNT(examples));
}

static void test_sink_that_fails(void **state)
{
	run.fail = -ENOSPC;
	event(7, 150, RECLAIM_BEGIN);
	assert_int_equal(put((struct record)WINDOW(7, 100, 300, ROLE_DIRECT_RECLAIM, )), -ENOSPC);
	run.fail = 0;
	window(7, 90, 310, ROLE_DIRECT_RECLAIM);
	assert_string_equal(notes.text, "W300(150) W310()");
}

static void test_damaged_records(void **state)
{
	static const int cpus[] = { CPUS, -1, INT_MAX };

	/* CPUs that are not in the list */
	for (size_t i = 0; i < COUNT(cpus); i++) {
		assert_int_equal(put((struct record){ .kind = RECORD_LOST, .cpu = cpus[i] }),
				 -EINVAL);
		assert_int_equal(put((struct record)EVENT(7, 100, SLAB_START, .cpu = cpus[i])), 0);
		assert_int_equal(put((struct record)EVENT(7, 110, SLAB_END, .cpu = cpus[i])), 0);
	}
	/* returned before it was called */
	event(7, 150, INACTIVE);
	window(7, 300, 100, ROLE_LRUVEC);
	assert_int_equal(run.events, 0);
}

/* ---- limits ---- */

static uint64_t forgotten(void)
{
	return claims_drops(run.claims)->tasks;
}

static uint64_t lacking(void)
{
	return claims_drops(run.claims)->windows;
}

static void test_task_limit(void **state)
{
	for (int pid = 1; pid <= TASKS_MAX; pid++)
		event(pid, 100 + pid, USER);
	assert_int_equal(forgotten(), 0);
	/* pid 1 is seen again, so that pid 2 is the one without a record for longest */
	event(1, 9000, USER);
	event(TASKS_MAX + 1, 9001, USER);
	assert_int_equal(forgotten(), 1);
	window(2, 1, 9100, ROLE_NODE);
	assert_int_equal(forgotten(), 2);
	window(1, 1, 9200, ROLE_NODE);
	assert_string_equal(notes.text, "W9100() W9200(101 9000)");
}

/* Events of 256 other tasks, none of which is above its share. */
static void fill(int count)
{
	for (int i = 0; i < count; i++)
		event(1000 + i % 256, 1000 + i, USER);
}

/* A window knows that what it could count made room; one that had it inside before does not care. */
static void test_inside_dropped_for_room(void **state)
{
	run.show_inside = true;
	event(7, 100, INACTIVE);
	event(8, 100, INACTIVE);
	event(9, 100, COMPACTION_BEGIN);
	event(9, 110, COMPACTION_BEGIN);
	window(8, 90, 200, ROLE_NODE);
	fill(EVENTS_MAX);
	window(7, 101, 8000, ROLE_NODE);
	window(7, 100, 9000, ROLE_NODE);
	window(8, 80, 9000, ROLE_NODE);
	window(9, 80, 9000, ROLE_NODE);
	assert_string_equal(notes.text, "W200()[100] W8000()[] W9000()[?] W9000()[] W9000()[?]");
	assert_int_equal(lacking(), 0);
}

/* A task above its share makes room; below, the oldest event goes, and no other. */
static void test_share_of_a_task(void **state)
{
	for (int above = 0; above <= 1; above++) {
		start(USUAL);
		notes.quiet = true;
		fill(EVENTS_MAX - SHARE - above);
		for (int i = 0; i < SHARE + above; i++)
			event(7, 10000 + i, USER);
		event(300, 20000, USER);
		window(7, 100, 30000, ROLE_NODE);
		assert_int_equal(run.events, SHARE);
		assert_int_equal(lacking(), above);
		for (int tid = 1000; tid < 1000 + 256; tid++)
			window(tid, 100, 30000, ROLE_NODE);
		assert_int_equal(run.events, EVENTS_MAX - 1);
		assert_int_equal(lacking(), 1);
	}
}

/* In a long reclaim, the begins stay, and windows without all events are incomplete. */
static void test_long_reclaim_keeps_its_begin(void **state)
{
	event(7, 100, RECLAIM_BEGIN);
	event(7, 110, COMPACTION_BEGIN);
	for (int i = 0; i < EVENTS_MAX + 10; i++)
		event(7, 200 + i, INACTIVE);
	event(7, 9000, RECLAIM_END);
	/* not of its time, not its to own */
	window(7, 8000, 9100, ROLE_NODE);
	window(7, 90, 9200, ROLE_ZONE_COMPACTION);
	assert_string_equal(notes.text, "W9100() W9200(110)");
	clear_notes();
	notes.quiet = true;
	window(7, 300, 9300, ROLE_GENERATIONS);
	notes.quiet = false;
	assert_int_equal(lacking(), 0);
	window(7, 150, 9300, ROLE_LRUVEC);
	window(7, 90, 9400, ROLE_DIRECT_RECLAIM);
	assert_int_equal(strncmp(notes.text, "W9300?(213 214 ", 15), 0);
	assert_non_null(strstr(notes.text, " W9400(100 9000)"));
	assert_int_equal(lacking(), 1);
}

/* Dropped events of fast calls make no window incomplete. */
static void test_drops_of_fast_calls_are_not_reported(void **state)
{
	for (int i = 0; i < 3 * EVENTS_MAX; i++)
		event(7, 1000 + i, INACTIVE);
	event(7, 50000, INACTIVE);
	window(7, 49900, 50100, ROLE_LRUVEC);
	assert_string_equal(notes.text, "W50100(50000)");
	assert_int_equal(lacking(), 0);
}

/* The innermost window that lacks its begin is incomplete. */
static void test_begin_dropped_for_room(void **state)
{
	event(7, 100, RECLAIM_BEGIN);
	slab(8, 110, SLAB_START, 0xa0);
	fill(EVENTS_MAX);
	event(7, 8000, RECLAIM_END);
	slab(8, 8010, SLAB_END, 0xa0);
	window(7, 90, 9000, ROLE_DIRECT_RECLAIM);
	window(7, 80, 9100, ROLE_PAGE_ALLOCATION);
	window(8, 80, 9200, ROLE_SLAB);
	assert_string_equal(notes.text, "W9000?(8000) W9100() W9200?()");
	assert_int_equal(lacking(), 2);
}

/* Between a begin and its owner's end come many other events; a single window may own all. */
static void test_window_with_all_events(void **state)
{
	notes.quiet = true;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < EVENTS_MAX; i++)
			event(7, 1000 + i, USER);
		window(7, 1000, 1000 + EVENTS_MAX, ROLE_NODE);
	}
	assert_int_equal(run.events, 2 * EVENTS_MAX);
	assert_int_equal(lacking(), 0);
}

/* 100,000 reclaims with two events and a pair each, in one allocation: each has its own. */
static void test_very_many_windows(void **state)
{
	uint64_t now = 1000;

	notes.quiet = true;
	event(7, 500, USER);
	for (int i = 0; i < 100000; i++, now += 1000) {
		event(7, now + 10, RECLAIM_BEGIN);
		slab(7, now + 100, SLAB_START, 0xa0);
		slab(7, now + 300, SLAB_END, 0xa0);
		event(7, now + 800, RECLAIM_END);
		window(7, now, now + 900, ROLE_DIRECT_RECLAIM);
		assert_int_equal(run.events, 2 * (i + 1));
	}
	notes.quiet = false;
	clear_notes();
	window(7, 400, now, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "W100001000(500)");
	assert_int_equal(lacking(), 0);
}

static void outermost_window(int pid, uint64_t from, uint64_t to, uint8_t flags)
{
	struct record record = WINDOW(pid, from, to, ROLE_NODE, .flags = flags);

	record.window.depth = 0;
	assert_int_equal(put(record), 0);
}

/* Nothing is called around an outermost window: what it left can go, and needs no room. */
static void test_outermost_windows(void **state)
{
	event(7, 110, USER);
	window(7, 100, 120, ROLE_NODE);
	window(7, 90, 300, ROLE_NODE);
	event(7, 310, USER);
	outermost_window(7, 305, 320, 0);
	window(7, 303, 500, ROLE_NODE);
	/* that of an interrupt is around nothing of the task */
	event(7, 510, USER);
	outermost_window(7, 505, 520, RECORD_FLAG_HARDIRQ);
	window(7, 503, 700, ROLE_NODE);
	assert_string_equal(notes.text, "w120 W300(110) w320 W500() w520 W700(510)");
	clear_notes();
	notes.quiet = true;
	event(8, 1000, USER);
	for (int i = 0; i < 2 * EVENTS_MAX; i++) {
		event(7, 1000 + 10 * i, INACTIVE);
		outermost_window(7, 1000 + 10 * i, 1005 + 10 * i, 0);
	}
	notes.quiet = false;
	clear_notes();
	window(8, 900, 90000, ROLE_NODE);
	assert_string_equal(notes.text, "W90000(1000)");
	assert_int_equal(lacking(), 0);
}

static void test_pair_limit(void **state)
{
	for (int i = 0; i < TASK_PAIRS_MAX; i++)
		slab(7, 1000 + i, SLAB_START, 0xa0 + 16 * i);
	slab(7, 1100, SLAB_START, 0xf00);
	slab(7, 1110, SLAB_END, 0xf00);
	/* the oldest was dropped, the one after it stays */
	slab(7, 1120, SLAB_END, 0xb0);
	slab(7, 1130, SLAB_END, 0xa0);
	window(7, 900, 1200, ROLE_SLAB);
	assert_string_equal(notes.text, "P1100-1110=10() P1001-1120=119!() W1200?()");
}

/* Only -e events have payloads that do not fit into a record. */
static void test_large_payload_is_kept(void **state)
{
	static const char payload[RECORD_RAW_MAX + 1] = "large";
	struct record record = EVENT(7, 150, USER, .raw = payload, .raw_size = sizeof(payload));

	assert_int_equal(claims_record(run.claims, &record), 0);
	assert_int_equal(claims_record(run.claims, &record), 0);
	window(8, 100, 300, ROLE_NODE);
	window(7, 100, 300, ROLE_NODE);
	assert_string_equal(notes.text, "W300() W300(150 150)");
	/* one is left for claims_free() */
	assert_int_equal(claims_record(run.claims, &record), 0);
}

/* Room for 2048 * 112 bytes and three of 65535: 211 payloads of 2000. The oldest make room. */
static void test_large_payloads_without_room(void **state)
{
	static const char payload[2000];

	for (uint64_t ts = 1000; ts < 1300; ts++) {
		struct record record = EVENT(7, ts, USER, .raw = payload, .raw_size = 2000);

		assert_int_equal(claims_record(run.claims, &record), 0);
	}
	window(7, 1200, 1300, ROLE_NODE);
	assert_int_equal(run.events, 100);
	window(7, 900, 1301, ROLE_NODE);
	assert_in_range(run.events, 208, 211);
	assert_int_equal(claims_drops(run.claims)->windows, 1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_interrupts_and_idle_task),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_foreign_clock),
		cmocka_unit_test(test_inside),
		TEST(test_inside_dropped_for_room),
		TEST(test_sink_that_fails),
		TEST(test_damaged_records),
		TEST(test_task_limit),
		cmocka_unit_test(test_share_of_a_task),
		TEST(test_long_reclaim_keeps_its_begin),
		TEST(test_drops_of_fast_calls_are_not_reported),
		TEST(test_begin_dropped_for_room),
		TEST(test_window_with_all_events),
		TEST(test_very_many_windows),
		TEST(test_outermost_windows),
		TEST(test_pair_limit),
		TEST(test_large_payload_is_kept),
		TEST(test_large_payloads_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
