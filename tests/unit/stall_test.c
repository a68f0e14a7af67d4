// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/stall.h"
#include "notes.h"
#include "unit_test.h"

/*
 * The results are printed as text: "7:100-300 direct.slab=50 rest=150" is a stall of task 7 with
 * the phases that are not 0; "{0x5=50*2}" after slab is a shrinker with time and runs; "?" is
 * incomplete, "/2" a depth.
 */

enum { /* the plan's events, in this order */
       RECLAIM_BEGIN,
       RECLAIM_END,
       MEMCG_BEGIN,
       MEMCG_END,
       COMPACTION_BEGIN,
       COMPACTION_END,
       TRY_TO_COMPACT,
       SLAB_START,
       SLAB_END,
       NR_EVENTS,
};

static const struct plan_event planned[NR_EVENTS] = {
	[RECLAIM_BEGIN] = { .id = EVENT_DIRECT_RECLAIM_BEGIN, .side = EVENT_BEGIN },
	[RECLAIM_END] = { .id = EVENT_DIRECT_RECLAIM_END, .side = EVENT_END },
	[MEMCG_BEGIN] = { .id = EVENT_MEMCG_RECLAIM_BEGIN, .side = EVENT_BEGIN },
	[MEMCG_END] = { .id = EVENT_MEMCG_RECLAIM_END, .side = EVENT_END },
	[COMPACTION_BEGIN] = { .id = EVENT_COMPACTION_BEGIN, .side = EVENT_BEGIN },
	[COMPACTION_END] = { .id = EVENT_COMPACTION_END, .side = EVENT_END },
	[TRY_TO_COMPACT] = { .id = EVENT_TRY_TO_COMPACT },
	[SLAB_START] = { .id = EVENT_SLAB_START, .side = EVENT_BEGIN },
	[SLAB_END] = { .id = EVENT_SLAB_END, .side = EVENT_END },
};

static struct {
	struct plan plan;
	struct stalls *stalls;
	char last[512]; /* details of the last stall */
	uint64_t count;
	uint64_t time;
	int fail;
} run;

static void note_phases(const struct stall *stall)
{
	static const char *const groups[] = {
		"direct", "memcg", "node", "reclaim", "compaction", "high", "rest",
	};
	static const char *const parts[] = {
		"", ".slab", ".inactive", ".active", ".throttle", ".soft",
	};

	for (int group = 0; group < PHASE_GROUPS; group++)
		for (int part = 0; part < PHASE_PARTS; part++)
			if (stall->phases.ns[group][part])
				note(" %s%s=%" PRIu64, groups[group], parts[part],
				     stall->phases.ns[group][part]);
	for (size_t i = 0; i < stall->nr_shrinkers; i++)
		note(" {0x%" PRIx64 "=%" PRIu64 "*%" PRIu64 "}", stall->shrinkers[i].shrinker,
		     stall->shrinkers[i].ns, stall->shrinkers[i].count);
}

static int got_stall(void *context, const struct stall *stall)
{
	assert_int_equal(phases_total(&stall->phases), stall->end - stall->start);
	run.count++;
	run.time += stall->end - stall->start;
	note_separator(" | ");
	note("%d:%" PRIu64 "-%" PRIu64, stall->tid, stall->start, stall->end);
	if (stall->depth)
		note("/%d", stall->depth);
	if (stall->incomplete)
		note("?");
	note_phases(stall);
	snprintf(run.last, sizeof(run.last),
		 "order %d gfp %s reclaimed %s%" PRIu64 " compaction '%s' memcg %" PRIu64
		 " windows %u events %u",
		 stall->order, stall->gfp_names, stall->has_reclaimed ? "" : "-",
		 stall->nr_reclaimed, stall->compaction, stall->memcg_id, stall->nr_windows,
		 stall->nr_events);
	return run.fail;
}

static size_t event_text(void *context, const struct record *record, char *text, size_t size)
{
	return snprintf(text, size,
			"event: order=%d gfp_flags=GFP_%" PRIu64 " gfp_mask=MASK_%" PRIu64
			" mode=x status=outcome_%d",
			record->fields.order, record->fields.gfp, record->fields.gfp,
			record->fields.status);
}

static void start(bool function_graph)
{
	const struct stalls_callbacks callbacks = { event_text, got_stall, &run };

	clear_notes();
	memset(&run, 0, sizeof(run));
	memcpy(run.plan.events, planned, sizeof(planned));
	run.plan.nr_events = NR_EVENTS;
	run.plan.function_graph = function_graph;
	run.stalls = stalls_new(&run.plan, &callbacks);
	assert_non_null(run.stalls);
}

static int set_up(void **state)
{
	start(true);
	return 0;
}

static int tear_down(void **state)
{
	stalls_free(run.stalls);
	return 0;
}

static int put_window(struct task_key key, int depth, uint64_t from, uint64_t to, int role,
		      bool incomplete, const struct record *const *events, size_t nr_events)
{
	struct record exit = {
		.ts = to,
		.tid = key.id,
		.kind = RECORD_WINDOW,
		.window = { .function = 0xf00,
			    .calltime = from,
			    .rettime = to,
			    .depth = depth,
			    .role = role },
	};
	struct task_window window = {
		.key = key,
		.exit = &exit,
		.events = events,
		.nr_events = nr_events,
		.incomplete = incomplete,
	};

	return stalls_window(run.stalls, &window);
}

static void window(int pid, int depth, uint64_t from, uint64_t to, int role)
{
	assert_int_equal(put_window((struct task_key){ pid, OWNER_TASK }, depth, from, to, role,
				    false, NULL, 0),
			 0);
}

static int put_pair(int pid, uint64_t from, uint64_t to, int event, uint64_t shrinker, bool slow,
		    bool within)
{
	struct record begin = {
		.ts = from,
		.tid = pid,
		.kind = RECORD_EVENT,
		.event = event,
		.fields = { .shrinker = shrinker, .callback = 0xca },
	};
	struct record end = begin;
	struct task_pair pair = {
		.key = { pid, OWNER_TASK },
		.within = within,
		.begin = &begin,
		.end = &end,
		.duration = to - from,
		.slow = slow,
	};

	end.ts = to;
	end.event = event + 1;
	return stalls_pair(run.stalls, &pair);
}

static void slab(int pid, uint64_t from, uint64_t to, uint64_t shrinker)
{
	assert_int_equal(put_pair(pid, from, to, SLAB_START, shrinker, to - from >= 100, false), 0);
}

/* ---- series of windows and pairs ---- */

struct step {
	enum { END, WINDOW, PAIR, FLUSH, LOST } kind;
	int pid;
	int depth;
	uint64_t from, to;
	int what; /* role of a window, begin event of a pair */
	uint64_t shrinker;
	bool slow, within, softirq, incomplete;
};

#define WINDOW(pid, depth, from, to, role, ...)                                                    \
	{                                                                                          \
		WINDOW, pid, depth, from, to, role, __VA_ARGS__                                    \
	}
#define PAIR(pid, from, to, event, ...)                                                            \
	{                                                                                          \
		PAIR, pid, 0, from, to, event, __VA_ARGS__                                         \
	}
#define SLAB(pid, from, to, shrinker)                                                              \
	PAIR(pid, from, to, SLAB_START, shrinker, (to) - (from) >= 100)
#define FLUSH                                                                                      \
	{                                                                                          \
		FLUSH                                                                              \
	}
#define LOST(ts)                                                                                   \
	{                                                                                          \
		LOST, .from = (ts)                                                                 \
	}

struct example {
	const char *title;
	const char *expected;
	bool pairs_only;
	struct step steps[16];
};

static int put(const struct step *step)
{
	struct task_key key = { step->pid, step->softirq ? OWNER_SOFTIRQ : OWNER_TASK };

	switch (step->kind) {
	case WINDOW:
		return put_window(key, step->depth, step->from, step->to, step->what,
				  step->incomplete, NULL, 0);
	case PAIR:
		return put_pair(step->pid, step->from, step->to, step->what, step->shrinker,
				step->slow, step->within);
	case LOST:
		stalls_lost(run.stalls, step->from);
		return 0;
	default:
		return stalls_flush(run.stalls);
	}
}

static const struct example examples[] = {
	{ "alone", "7:100-300 rest=200",
	  .steps = { WINDOW(7, 0, 100, 300, ROLE_PAGE_ALLOCATION) } },
	{ "unknown function", "7:100-300 rest=200",
	  .steps = { WINDOW(7, 0, 100, 300, ROLE_NONE) } },
	{ "nested time counts once", "7:100-300 direct=70 direct.inactive=100 rest=30",
	  .steps = { WINDOW(7, 4, 150, 250, ROLE_GENERATIONS), WINDOW(7, 3, 140, 260, ROLE_LRUVEC),
		     WINDOW(7, 2, 130, 280, ROLE_NODE), WINDOW(7, 1, 120, 290, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 100, 300, ROLE_PAGE_ALLOCATION) } },
	{ "parts",
	  "7:100-300 memcg=25 memcg.slab=40 memcg.inactive=15 memcg.active=30 memcg.throttle=65 "
	  "memcg.soft=15 rest=10",
	  .steps = { WINDOW(7, 2, 110, 120, ROLE_DIRECT_THROTTLE),
		     WINDOW(7, 4, 132, 137, ROLE_RECLAIM_THROTTLE),
		     WINDOW(7, 3, 130, 150, ROLE_INACTIVE_LIST),
		     WINDOW(7, 3, 150, 180, ROLE_ACTIVE_LIST), WINDOW(7, 3, 180, 220, ROLE_SLAB),
		     WINDOW(7, 3, 220, 270, ROLE_RECLAIM_THROTTLE),
		     WINDOW(7, 2, 125, 275, ROLE_NODE), WINDOW(7, 3, 280, 290, ROLE_NODE),
		     WINDOW(7, 2, 277, 292, ROLE_SOFT_LIMIT),
		     WINDOW(7, 1, 105, 295, ROLE_MEMCG_RECLAIM),
		     WINDOW(7, 0, 100, 300, ROLE_PAGE_ALLOCATION) } },
	{ "groups",
	  "7:100-200 direct=30 node=20 compaction=25 rest=25 | 7:300-400 memcg=40 high=60",
	  .steps = { WINDOW(7, 2, 110, 120, ROLE_ZONE_COMPACTION),
		     WINDOW(7, 1, 105, 130, ROLE_DIRECT_COMPACTION),
		     WINDOW(7, 1, 130, 150, ROLE_NODE_RECLAIM),
		     WINDOW(7, 1, 150, 180, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 100, 200, ROLE_PAGE_ALLOCATION),
		     WINDOW(7, 1, 310, 350, ROLE_MEMCG_RECLAIM),
		     WINDOW(7, 0, 300, 400, ROLE_MEMORY_HIGH) } },
	{ "an allocation in a shrinker is the shrinker's, one that compacts is compaction's",
	  "7:100-200 direct=10 direct.slab=75 compaction=5 rest=10 {0x5=30*1}",
	  .steps = { WINDOW(7, 3, 130, 140, ROLE_PAGE_ALLOCATION), SLAB(7, 120, 150, 0x5),
		     WINDOW(7, 4, 165, 170, ROLE_ZONE_COMPACTION),
		     WINDOW(7, 3, 160, 180, ROLE_PAGE_ALLOCATION),
		     WINDOW(7, 2, 110, 190, ROLE_SLAB), WINDOW(7, 1, 105, 195, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 100, 200, ROLE_PAGE_ALLOCATION) } },
	{ "shrinkers", "7:100-220 direct=40 direct.slab=65 rest=15 {0x2=40*2} {0x1=15*2}",
	  .steps = { SLAB(7, 120, 130, 0x1), SLAB(7, 130, 150, 0x2), SLAB(7, 150, 155, 0x1),
		     WINDOW(7, 3, 115, 160, ROLE_SLAB), SLAB(7, 170, 190, 0x2),
		     WINDOW(7, 2, 110, 200, ROLE_NODE), WINDOW(7, 1, 105, 210, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 100, 220, ROLE_PAGE_ALLOCATION) } },
	{ "reclaim without a kind",
	  "7:100-200 reclaim=70 reclaim.inactive=30 | 7:300-400 reclaim.slab=100 | "
	  "7:500-600 compaction=100",
	  .steps = { WINDOW(7, 1, 120, 150, ROLE_INACTIVE_LIST), WINDOW(7, 0, 100, 200, ROLE_NODE),
		     WINDOW(7, 0, 300, 400, ROLE_SLAB),
		     WINDOW(7, 0, 500, 600, ROLE_ZONE_COMPACTION) } },
	{ "tasks and interrupts are apart",
	  "7:125-135 rest=10 | 8:110-170 direct=30 rest=30 | 7:100-200 direct=30 rest=70",
	  .steps = { WINDOW(7, 1, 120, 150, ROLE_DIRECT_RECLAIM),
		     WINDOW(8, 1, 130, 160, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 125, 135, ROLE_PAGE_ALLOCATION, .softirq = true),
		     WINDOW(8, 0, 110, 170, ROLE_PAGE_ALLOCATION),
		     WINDOW(7, 0, 100, 200, ROLE_PAGE_ALLOCATION) } },
	{ "what is around never comes", "7:100-200/2 reclaim=100 | 7:300-400 rest=100",
	  .steps = { WINDOW(7, 2, 100, 200, ROLE_LRUVEC),
		     WINDOW(7, 0, 300, 400, ROLE_PAGE_ALLOCATION) } },
	{ "flush", "7:100-200/2 reclaim=100 | 8:110-210/2 reclaim=100",
	  .steps = { WINDOW(7, 2, 100, 200, ROLE_LRUVEC), WINDOW(8, 2, 110, 210, ROLE_LRUVEC),
		     FLUSH, FLUSH } },
	{ "a fast pair alone is no stall", "7:200-300 rest=100",
	  .steps = { SLAB(7, 100, 150, 0x1), WINDOW(7, 0, 200, 300, ROLE_PAGE_ALLOCATION),
		     SLAB(7, 400, 450, 0x1), FLUSH } },
	{ "a slow pair alone waits for what is around", "", .steps = { SLAB(7, 100, 250, 0x1) } },
	{ "a slow pair alone", "7:100-250/1 reclaim.slab=150 {0x1=150*1}",
	  .steps = { SLAB(7, 100, 250, 0x1), FLUSH } },
	{ "without function_graph",
	  "7:100-300 direct=160 direct.slab=40 {0x1=20*1} {0x2=20*1} | 7:430-630 compaction=200",
	  .pairs_only = true,
	  .steps = { PAIR(7, 120, 140, SLAB_START, 0x1, .within = true),
		     PAIR(7, 150, 170, SLAB_START, 0x2, .within = true),
		     PAIR(7, 100, 300, RECLAIM_BEGIN, .slow = true),
		     PAIR(7, 400, 420, SLAB_START, 0x1),
		     PAIR(7, 430, 630, COMPACTION_BEGIN, .slow = true) } },
	{ "lost records", "7:100-200 rest=100 | 7:240-300? rest=60 | 7:260-310 rest=50",
	  .steps = { WINDOW(7, 0, 100, 200, ROLE_PAGE_ALLOCATION), LOST(250),
		     WINDOW(7, 0, 240, 300, ROLE_PAGE_ALLOCATION),
		     WINDOW(7, 0, 260, 310, ROLE_PAGE_ALLOCATION) } },
	{ "what a window lacks, its stall lacks, and no other",
	  "8:100-300 rest=200 | 7:100-300? rest=200 | 7:400-500 rest=100",
	  .steps = { WINDOW(7, 1, 110, 120, ROLE_NONE),
		     WINDOW(7, 1, 150, 250, ROLE_NONE, .incomplete = true),
		     WINDOW(8, 0, 100, 300, ROLE_NONE), WINDOW(7, 0, 100, 300, ROLE_NONE),
		     WINDOW(7, 0, 400, 500, ROLE_NONE) } },
	{ "where edges are uncertain, what is inside may seem longer than the whole",
	  "7:100-200 direct=50 compaction=50",
	  .steps = { WINDOW(7, 1, 95, 150, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 1, 150, 200, ROLE_DIRECT_COMPACTION),
		     WINDOW(7, 0, 100, 200, ROLE_PAGE_ALLOCATION) } },
};

static void test_examples(void **state)
{
	for (size_t i = 0; i < COUNT(examples); i++) {
		start(!examples[i].pairs_only);
		for (const struct step *step = examples[i].steps; step->kind != END; step++)
			assert_int_equal(put(step), 0);
		if (strcmp(notes.text, examples[i].expected))
			fail_msg("%s: %s; expected %s", examples[i].title, notes.text,
				 examples[i].expected);
		stalls_free(run.stalls);
	}
}

/* ---- more of them, time and details ---- */

/* Siblings wait for the window around them, however many there are. */
static void test_siblings(void **state)
{
	for (int i = 0; i < 1000; i++)
		window(7, 2, 1000 + i * 10, 1005 + i * 10, ROLE_LRUVEC);
	window(7, 1, 900, 12000, ROLE_MEMCG_RECLAIM);
	assert_string_equal(notes.text, "");
	window(7, 0, 800, 12100, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:800-12100 memcg=11100 rest=200");
}

static void test_patience(void **state)
{
	window(7, 2, 100, 200, ROLE_LRUVEC);
	assert_int_equal(stalls_time(run.stalls, 200 + STALL_PATIENCE), 0);
	assert_string_equal(notes.text, "");
	assert_int_equal(stalls_time(run.stalls, 201 + STALL_PATIENCE), 0);
	assert_string_equal(notes.text, "7:100-200/2 reclaim=100");
}

/* New spans of a busy task do not prolong the wait of an old one. */
static void test_patience_with_a_busy_task(void **state)
{
	const uint64_t late = 300 + STALL_PATIENCE;

	window(7, 2, 100, 200, ROLE_LRUVEC);
	window(7, 2, late - 50, late, ROLE_LRUVEC);
	assert_string_equal(notes.text, "7:100-200/2 reclaim=100");
	clear_notes();
	window(7, 0, 50, late + 100, ROLE_PAGE_ALLOCATION);
	assert_non_null(strstr(notes.text, "? reclaim=50 rest="));
}

#define RECORD(ts_, event_, ...)                                                                   \
	{                                                                                          \
		.kind = RECORD_EVENT, .ts = (ts_), .event = (event_), .fields = { __VA_ARGS__ }    \
	}

static void test_details(void **state)
{
	const struct record try = RECORD(105, TRY_TO_COMPACT, .order = 9, .gfp = 5);
	const struct record again = RECORD(106, TRY_TO_COMPACT, .order = 8, .gfp = 7);
	const struct record zone = RECORD(115, COMPACTION_END, .status = 4);
	const struct record begin =
		RECORD(125, RECLAIM_BEGIN, .order = 3, .gfp = 6, .memcg_id = 42);
	struct record end = RECORD(135, RECLAIM_END, .nr_reclaimed = 30);
	const struct record *of_zone[] = { &zone };
	const struct record *of_try[] = { &try, &again };
	const struct record *of_reclaim[] = { &begin, &end };
	struct task_key key = { 7, OWNER_TASK };

	put_window(key, 2, 110, 116, ROLE_ZONE_COMPACTION, false, of_zone, 1);
	put_window(key, 1, 104, 120, ROLE_DIRECT_COMPACTION, false, of_try, 2);
	put_window(key, 1, 124, 136, ROLE_DIRECT_RECLAIM, false, of_reclaim, 2);
	end.ts = 155;
	put_window(key, 1, 150, 160, ROLE_DIRECT_RECLAIM, false, of_reclaim + 1, 1);
	put_window(key, 0, 100, 200, ROLE_PAGE_ALLOCATION, false, NULL, 0);
	assert_string_equal(run.last, "order 9 gfp MASK_5 reclaimed 60 compaction 'outcome_4' "
				      "memcg 42 windows 5 events 6");
	window(7, 0, 300, 400, ROLE_PAGE_ALLOCATION);
	assert_string_equal(run.last, "order -1 gfp  reclaimed -0 compaction '' memcg 0 "
				      "windows 1 events 0");
}

static void put_request(int pid, int depth, uint64_t from, uint64_t gfp)
{
	const struct record try = RECORD(from + 1, TRY_TO_COMPACT, .gfp = gfp);
	const struct record *events[] = { &try };
	struct task_key key = { pid, OWNER_TASK };

	clear_notes();
	assert_int_equal(put_window(key, depth, from, from + 10, ROLE_DIRECT_COMPACTION, false,
				    events, 1),
			 0);
}

/* The newest values have names, however many there are. */
static void test_many_gfp(void **state)
{
	enum { NAMES = 64 };

	put_request(7, 0, 100, 1);
	for (int i = 2; i <= 3 * NAMES; i++) {
		char expected[64];

		put_request(7, 0, 100 * i, i);
		snprintf(expected, sizeof(expected), "order 0 gfp MASK_%d reclaimed", i);
		assert_int_equal(strncmp(run.last, expected, strlen(expected)), 0);
	}
	assert_int_equal(stalls_dropped(run.stalls), 0);
	/* A value stays while it is used again, and is evicted when 64 others follow. */
	put_request(8, 1, 50000, 1000);
	for (int i = 0; i < NAMES - 1; i++)
		put_request(7, 0, 50100 + 100 * i, 2000 + i);
	put_request(9, 1, 60000, 1000);
	for (int i = 0; i < NAMES - 1; i++)
		put_request(7, 0, 60100 + 100 * i, 3000 + i);
	window(9, 0, 59000, 90000, ROLE_PAGE_ALLOCATION);
	assert_non_null(strstr(run.last, "gfp MASK_1000 reclaimed"));
	for (int i = 0; i < NAMES; i++)
		put_request(7, 0, 70100 + 100 * i, 4000 + i);
	window(8, 0, 49000, 90000, ROLE_PAGE_ALLOCATION);
	assert_non_null(strstr(run.last, "gfp  reclaimed"));
	assert_int_equal(stalls_dropped(run.stalls), 1);
}

static void test_sink_that_fails(void **state)
{
	struct task_key key = { 7, OWNER_TASK };

	run.fail = -EPIPE;
	assert_int_equal(put_window(key, 0, 100, 200, ROLE_PAGE_ALLOCATION, false, NULL, 0),
			 -EPIPE);
	window(8, 1, 100, 200, ROLE_NODE);
	assert_int_equal(stalls_flush(run.stalls), -EPIPE);
}

static void test_limit_of_owners(void **state)
{
	notes.quiet = true;
	for (int i = 0; i < STALLS_OWNERS_MAX + 10; i++)
		window(1 + i, 1, 100 + i, 200 + i, ROLE_NODE);
	assert_int_equal(run.count, 10);
	assert_int_equal(stalls_dropped(run.stalls), 10);
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_int_equal(run.count, STALLS_OWNERS_MAX + 10);
}

/* A task with very many spans loses its own oldest ones, and its stall is incomplete. */
static void test_limit_of_spans(void **state)
{
	const int count = STALLS_SPANS_MAX + 100;

	window(8, 1, 50, 150, ROLE_DIRECT_RECLAIM);
	for (int i = 0; i < count; i++)
		window(7, 2, 1000 + i * 10, 1005 + i * 10, ROLE_LRUVEC);
	window(7, 1, 900, 2000 + count * 10, ROLE_DIRECT_RECLAIM);
	window(7, 0, 900, 2000 + count * 10, ROLE_PAGE_ALLOCATION);
	assert_int_equal(strncmp(notes.text, "7:900-", 6), 0);
	assert_non_null(strstr(notes.text, "? direct="));
	clear_notes();
	window(8, 0, 40, 160, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "8:40-160 direct=100 rest=20");
	assert_in_range(stalls_dropped(run.stalls), 100, 110);
}

/* Very many fast pairs fold into each other without loss. */
static void test_many_pairs(void **state)
{
	const int count = 3 * STALLS_SPANS_MAX;

	for (int i = 0; i < count; i++)
		slab(7, 1000 + i * 10, 1009 + i * 10, 1 + i % 2);
	window(7, 1, 500, 1500 + count * 10, ROLE_MEMCG_RECLAIM);
	window(7, 0, 500, 1500 + count * 10, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:500-62940 memcg=7144 memcg.slab=55296 "
					"{0x1=27648*3072} {0x2=27648*3072}");
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* More shrinkers than there are slices: slab has all the time, some of it without a name. */
static void test_limit_of_shrinkers(void **state)
{
	notes.quiet = true;
	for (int i = 0; i < 2 * STALL_SHRINKERS_MAX; i++)
		slab(7, 1000 + i * 10, 1010 + i * 10, 0x1000 + i);
	window(7, 0, 900, 10000, ROLE_SLAB);
	assert_int_equal(stalls_dropped(run.stalls), STALL_SHRINKERS_MAX);
	assert_int_equal(run.count, 1);
	assert_int_equal(run.time, 9100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		TEST(test_siblings),
		TEST(test_patience),
		TEST(test_patience_with_a_busy_task),
		TEST(test_details),
		TEST(test_many_gfp),
		TEST(test_sink_that_fails),
		TEST(test_limit_of_owners),
		TEST(test_limit_of_spans),
		TEST(test_many_pairs),
		TEST(test_limit_of_shrinkers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
