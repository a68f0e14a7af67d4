// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/stall.h"
#include "counted_malloc.h"
#include "fake_resolver.h"
#include "notes.h"
#include "unit_test.h"

/*
 * The results are printed as text: "7:100-300 direct.slab=50 rest=150" is a stall of task 7 with
 * the phases that are not 0; "{0x5=50*2}" after slab is a shrinker with time and runs; "?" is
 * incomplete, "/2" a depth.
 */

#define SECOND	  1000000000ull
#define THRESHOLD 100

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
       INACTIVE,
       THROTTLED,
       NODE_BEGIN,
       USER,
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
	[INACTIVE] = { .id = EVENT_SHRINK_INACTIVE },
	[THROTTLED] = { .id = EVENT_THROTTLED },
	[NODE_BEGIN] = { .id = EVENT_NODE_RECLAIM_BEGIN, .side = EVENT_BEGIN },
	[USER] = { .id = EVENT_USER },
};

static struct {
	struct plan plan;
	struct stalls *stalls;
	char last[512];	 /* details of the last stall */
	char facts[512]; /* those that are counted */
	uint64_t count;
	uint64_t time;
	uint64_t incomplete;
	bool last_incomplete;
	struct phases phases;	/* of all stalls */
	size_t nr_shrinkers;	/* of the last stall */
	uint64_t last_shrinker; /* that with least time */
	const struct claims_sink *pass_on;
	bool fast;     /* the next windows are */
	bool outcomes; /* are noted instead of phases */
	int fail;
} run;

static void note_phases(const struct stall *stall)
{
	static const char *const groups[] = {
		"direct", "memcg", "node", "reclaim", "compaction", "high", "oom", "drain", "rest",
	};
	static const char *const parts[] = {
		"", ".shrinkers", ".slab", ".inactive", ".active", ".short", ".throttle", ".soft",
	};

	for (int group = 0; group < PHASE_GROUPS; group++)
		for (int part = 0; part < PHASE_PARTS; part++)
			if (stall->phases.ns[group][part][STATE_RAN])
				note(" %s%s=%" PRIu64, groups[group], parts[part],
				     stall->phases.ns[group][part][STATE_RAN]);
	for (size_t i = 0; i < stall->nr_shrinkers; i++)
		note(" {0x%" PRIx64 "=%" PRIu64 "*%" PRIu64 "}", stall->shrinkers[i].shrinker,
		     stall->shrinkers[i].ns, stall->shrinkers[i].count);
}

static int got_stall(void *context, const struct stall *stall)
{
	static const char *const counts[] = { "scanned", "reclaimed", "dirty", "writeback",
					      "tried" };
	size_t used;

	assert_int_equal(phases_total(&stall->phases), stall->end - stall->start);
	run.count++;
	run.time += stall->end - stall->start;
	run.incomplete += stall->incomplete;
	run.last_incomplete = stall->incomplete;
	phases_add(&run.phases, &stall->phases);
	run.nr_shrinkers = stall->nr_shrinkers;
	if (stall->nr_shrinkers)
		run.last_shrinker = stall->shrinkers[stall->nr_shrinkers - 1].shrinker;
	note_separator(" | ");
	note("%d:%" PRIu64 "-%" PRIu64, stall->tid, stall->start, stall->end);
	if (stall->depth)
		note("/%d", stall->depth);
	if (stall->incomplete)
		note("?");
	if (run.outcomes)
		note(" '%s' '%s'", stall->compaction, stall->outcomes);
	else
		note_phases(stall);
	snprintf(run.last, sizeof(run.last),
		 "order %d gfp %s reclaimed %s%" PRIu64 " compaction '%s' memcg %" PRIu64
		 " windows %u events %u",
		 stall->order, stall->gfp_names, stall->has_reclaimed ? "" : "-",
		 stall->nr_reclaimed, stall->compaction, stall->memcg_id, stall->nr_windows,
		 stall->nr_events);
	used = snprintf(run.facts, sizeof(run.facts), "nodes '%s' priority %d outcomes '%s'",
			stall->nodes, stall->has_priority ? stall->priority : -1, stall->outcomes);
	for (int which = 0; which < STALL_COUNTS; which++)
		if (stall->counts.known & 1u << which)
			used += snprintf(run.facts + used, sizeof(run.facts) - used, " %s %" PRIu64,
					 counts[which], stall->counts.count[which]);
	if (run.pass_on)
		return stalls_pass_on(run.stalls, run.pass_on);
	return run.fail;
}

static size_t event_text(void *context, const struct record *record, char *text, size_t size)
{
	return snprintf(text, size,
			"event: order=%d gfp_flags=GFP_%" PRIu32 " gfp_mask=MASK_%" PRIu32
			" mode=x status=outcome_%d",
			record->fields.order, record->fields.gfp, record->fields.gfp,
			record->fields.status);
}

static struct resolver resolver = { .event = event_text };

static void start_with(bool function_graph, const struct limits *limits)
{
	stalls_free(run.stalls); /* of the test before */
	clear_notes();
	memset(&run, 0, sizeof(run));
	memcpy(run.plan.events, planned, sizeof(planned));
	run.plan.nr_events = NR_EVENTS;
	run.plan.function_graph = function_graph;
	run.plan.threshold = THRESHOLD;
	run.stalls = stalls_new(&run.plan, limits, &resolver, got_stall, NULL);
	assert_non_null(run.stalls);
}

static void start(bool function_graph)
{
	start_with(function_graph, NULL);
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
		.slow = !run.fast,
		.events = events,
		.nr_events = nr_events,
		.incomplete = incomplete,
		.inside = events,
		.nr_inside = nr_events,
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
	assert_int_equal(
		put_pair(pid, from, to, SLAB_START, shrinker, to - from >= THRESHOLD, false), 0);
}

/* ---- series of windows and pairs ---- */

struct step {
	enum { END, WINDOW, PAIR, FLUSH, LOST } kind;
	int pid;
	int depth;
	uint64_t from, to;
	int what; /* role of a window, begin event of a pair */
	uint64_t shrinker;
	bool slow, within, softirq, incomplete, fast;
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
	PAIR(pid, from, to, SLAB_START, shrinker, (to) - (from) >= THRESHOLD)
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
		run.fast = step->fast;
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
	  .steps = { WINDOW(7, 4, 150, 250, ROLE_GENERATIONS), WINDOW(7, 3, 140, 260, ROLE_NODE),
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
	  "7:100-200 direct=30 node=20 compaction=25 oom=3 drain=2 rest=20 | 7:300-400 memcg=40 high=60",
	  .steps = { WINDOW(7, 2, 110, 120, ROLE_ZONE_COMPACTION),
		     WINDOW(7, 1, 105, 130, ROLE_DIRECT_COMPACTION),
		     WINDOW(7, 1, 130, 150, ROLE_NODE_RECLAIM),
		     WINDOW(7, 1, 150, 180, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 1, 180, 183, ROLE_OOM_KILLER), WINDOW(7, 1, 184, 186, ROLE_DRAIN),
		     WINDOW(7, 0, 100, 200, ROLE_PAGE_ALLOCATION),
		     WINDOW(7, 1, 310, 350, ROLE_MEMCG_RECLAIM),
		     WINDOW(7, 0, 300, 400, ROLE_MEMORY_HIGH) } },
	{ "an allocation in a shrinker is the shrinker's, one that compacts is compaction's",
	  "7:100-200 direct=10 direct.shrinkers=30 direct.slab=45 compaction=5 rest=10 "
	  "{0x5=30*1}",
	  .steps = { WINDOW(7, 3, 130, 140, ROLE_PAGE_ALLOCATION), SLAB(7, 120, 150, 0x5),
		     WINDOW(7, 4, 165, 170, ROLE_ZONE_COMPACTION),
		     WINDOW(7, 3, 160, 180, ROLE_PAGE_ALLOCATION),
		     WINDOW(7, 2, 110, 190, ROLE_SLAB), WINDOW(7, 1, 105, 195, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 100, 200, ROLE_PAGE_ALLOCATION) } },
	{ "shrinkers",
	  "7:100-220 direct=40 direct.shrinkers=55 direct.slab=10 rest=15 {0x2=40*2} {0x1=15*2}",
	  .steps = { SLAB(7, 120, 130, 0x1), SLAB(7, 130, 150, 0x2), SLAB(7, 150, 155, 0x1),
		     WINDOW(7, 3, 115, 160, ROLE_SLAB), SLAB(7, 170, 190, 0x2),
		     WINDOW(7, 2, 110, 200, ROLE_NODE), WINDOW(7, 1, 105, 210, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 100, 220, ROLE_PAGE_ALLOCATION) } },
	{ "one memcg's lists are the inactive list's where that has no function",
	  "7:100-300 direct=60 direct.inactive=120 direct.active=20",
	  .steps = { WINDOW(7, 2, 130, 150, ROLE_ACTIVE_LIST), WINDOW(7, 1, 120, 200, ROLE_LRUVEC),
		     WINDOW(7, 1, 220, 280, ROLE_LRUVEC_GENERATIONS),
		     WINDOW(7, 0, 100, 300, ROLE_DIRECT_RECLAIM) } },
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
	  .steps = { WINDOW(7, 2, 100, 200, ROLE_NODE),
		     WINDOW(7, 0, 300, 400, ROLE_PAGE_ALLOCATION) } },
	{ "flush", "7:100-200/2 reclaim=100 | 8:110-210/2 reclaim=100",
	  .steps = { WINDOW(7, 2, 100, 200, ROLE_NODE), WINDOW(8, 2, 110, 210, ROLE_NODE), FLUSH,
		     FLUSH } },
	{ "a fast pair alone is no stall", "7:200-300 rest=100",
	  .steps = { SLAB(7, 100, 150, 0x1), WINDOW(7, 0, 200, 300, ROLE_PAGE_ALLOCATION),
		     SLAB(7, 400, 450, 0x1), FLUSH } },
	{ "a fast window alone is no stall, and inside of a slow one tells its phase",
	  "7:300-400 direct=30 direct.slab=10 rest=60",
	  .steps = { WINDOW(7, 1, 120, 150, ROLE_DIRECT_RECLAIM, .fast = true),
		     WINDOW(7, 0, 100, 180, ROLE_PAGE_ALLOCATION, .fast = true),
		     WINDOW(7, 2, 320, 330, ROLE_SLAB, .fast = true),
		     WINDOW(7, 1, 310, 350, ROLE_DIRECT_RECLAIM, .fast = true),
		     WINDOW(7, 0, 300, 400, ROLE_PAGE_ALLOCATION),
		     WINDOW(7, 1, 420, 450, ROLE_DIRECT_RECLAIM, .fast = true), FLUSH } },
	{ "a fast window in interrupts ends no stall", "0:300-500 reclaim=100 rest=100",
	  .steps = { WINDOW(0, 3, 310, 410, ROLE_NODE, .softirq = true),
		     WINDOW(0, 3, 420, 430, ROLE_NODE, .softirq = true, .fast = true),
		     WINDOW(0, 3, 440, 450, ROLE_NODE, .softirq = true, .fast = true),
		     WINDOW(0, 2, 300, 500, ROLE_PAGE_ALLOCATION, .softirq = true), FLUSH } },
	{ "a slow pair alone waits for what is around", "", .steps = { SLAB(7, 100, 250, 0x1) } },
	{ "a slow pair alone", "7:100-250/1 reclaim.shrinkers=150 {0x1=150*1}",
	  .steps = { SLAB(7, 100, 250, 0x1), FLUSH } },
	{ "without function_graph",
	  "7:100-300 direct=160 direct.shrinkers=40 {0x1=20*1} {0x2=20*1} | 7:430-630 compaction=200",
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
	{ "a lost record of depth 1: what was inside is a stall of its own, and in no other",
	  "7:100-200/2? reclaim=100 | 7:260-600 direct=220 rest=120",
	  .steps = { WINDOW(7, 2, 100, 200, ROLE_NODE), LOST(250),
		     WINDOW(7, 2, 300, 400, ROLE_NODE), WINDOW(7, 1, 280, 500, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 260, 600, ROLE_PAGE_ALLOCATION) } },
	{ "gaps in depth, made by another user of function_graph",
	  "7:100-400 direct=90 direct.inactive=80 compaction=50 rest=80",
	  .steps = { WINDOW(7, 5, 120, 170, ROLE_ZONE_COMPACTION),
		     WINDOW(7, 6, 210, 290, ROLE_INACTIVE_LIST),
		     WINDOW(7, 2, 190, 300, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 4, 310, 370, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 100, 400, ROLE_PAGE_ALLOCATION) } },
	{ "where edges are uncertain, the middle decides",
	  "7:81-118/1 direct=37 | 7:100-200 rest=100 | 7:300-400 direct=40 rest=60",
	  .steps = { WINDOW(7, 1, 81, 118, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 100, 200, ROLE_PAGE_ALLOCATION),
		     WINDOW(7, 1, 280, 320, ROLE_DIRECT_RECLAIM),
		     WINDOW(7, 0, 300, 400, ROLE_PAGE_ALLOCATION) } },
	{ "where edges are uncertain, a slow run is in no fast one", "7:100-210/2 reclaim=110",
	  .steps = { WINDOW(7, 2, 100, 210, ROLE_NODE), SLAB(7, 150, 215, 0x1), FLUSH } },
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
	}
}

/* ---- more of them, time and details ---- */

/* Siblings wait for the window around them, however many there are. */
static void test_siblings(void **state)
{
	for (int i = 0; i < 1000; i++)
		window(7, 2, 1000 + i * 10, 1005 + i * 10, ROLE_NODE);
	window(7, 1, 900, 12000, ROLE_MEMCG_RECLAIM);
	assert_string_equal(notes.text, "");
	window(7, 0, 800, 12100, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:800-12100 memcg=11100 rest=200");
}

/* Ten minutes of silence: 600 s, and not a nanosecond less. */
static void test_patience(void **state)
{
	window(7, 2, 100, 200, ROLE_NODE);
	assert_int_equal(stalls_time(run.stalls, 200 + 600 * SECOND), 0);
	assert_string_equal(notes.text, "");
	assert_int_equal(stalls_time(run.stalls, 201 + 600 * SECOND), 0);
	assert_string_equal(notes.text, "7:100-200/2 reclaim=100");
	/* Its time is part of the window around it as well, which says so. */
	clear_notes();
	window(7, 0, 90, 300 + 600 * SECOND, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:90-600000000300? rest=600000000210");
	clear_notes();
	window(7, 0, 201, 301 + 600 * SECOND, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:201-600000000301 rest=600000000100");
}

/* Records may have waited elsewhere: the time of the last one counts, not when it came. */
static void test_patience_with_each_task(void **state)
{
	window(8, 2, 100, 300, ROLE_NODE);
	window(7, 2, 100, 200, ROLE_NODE);
	assert_int_equal(stalls_time(run.stalls, 201 + 600 * SECOND), 0);
	assert_string_equal(notes.text, "7:100-200/2 reclaim=100");
}

/* That a window was told early is known after its task has been forgotten, too. */
static void test_told_early_and_forgotten(void **state)
{
	window(7, 3, 100, 400, ROLE_NODE);
	stalls_lost(run.stalls, 50);
	slab(7, 601 * SECOND, 601 * SECOND + 20, 5);
	assert_string_equal(notes.text, "7:100-400/3 reclaim=300");
	assert_int_equal(stalls_time(run.stalls, 1300 * SECOND), 0);
	clear_notes();
	window(7, 0, 90, 1301 * SECOND, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:90-1301000000000? rest=1300999999910");
}

/* That one task was silent inside a slow function is no gap in depth: others are not split. */
static void test_silence_is_no_gap(void **state)
{
	window(7, 3, 100, 400, ROLE_NODE);
	assert_int_equal(stalls_time(run.stalls, 601 * SECOND), 0);
	clear_notes();
	for (int i = 0; i < 14; i++)
		window(8, 2, (700 + i * 60) * SECOND, (701 + i * 60) * SECOND, ROLE_NODE);
	window(8, 1, 699 * SECOND, 1600 * SECOND, ROLE_DIRECT_RECLAIM);
	assert_string_equal(notes.text, "");
	window(8, 0, 698 * SECOND, 1601 * SECOND, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "8:698000000000-1601000000000 direct=901000000000 "
					"rest=2000000000");
}

/*
 * The windows of two interrupts have no window around both, whatever their depth is: it counts the
 * interrupted functions too.
 */
static void test_interrupts(void **state)
{
	const struct task_key softirq = { 0, OWNER_SOFTIRQ };

	put_window(softirq, 2, 1000, 1200, ROLE_PAGE_ALLOCATION, false, NULL, 0);
	put_window(softirq, 2, 2000, 2300, ROLE_PAGE_ALLOCATION, false, NULL, 0);
	assert_int_equal(run.count, 1);
	put_window(softirq, 3, 3100, 3200, ROLE_NODE, false, NULL, 0);
	put_window(softirq, 2, 3000, 3400, ROLE_PAGE_ALLOCATION, false, NULL, 0);
	assert_int_equal(run.count, 2);
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_int_equal(run.count, 3);
	assert_string_equal(notes.text, "0:1000-1200 rest=200 | 0:2000-2300 rest=300 | "
					"0:3000-3400 reclaim=100 rest=300");
}

/* A function that calls slow ones all the time still runs, however long it does. */
static void test_a_busy_task_waits(void **state)
{
	window(7, 1, 100, 200, ROLE_DIRECT_COMPACTION);
	for (uint64_t s = 1; s <= 3600; s++)
		window(7, 2, s * SECOND, s * SECOND + 1000, ROLE_NODE);
	assert_int_equal(stalls_time(run.stalls, 4200 * SECOND), 0);
	window(7, 1, 300, 4200 * SECOND, ROLE_DIRECT_RECLAIM);
	assert_string_equal(notes.text, "");
	window(7, 0, 0, 4200 * SECOND + 50, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:0-4200000000050 direct=4199999999700 compaction=100 "
					"rest=250");
}

/* Where the record around was lost, or the depth has gaps, a busy task waits for ten minutes. */
static void test_patience_with_a_busy_task(void **state)
{
	const uint64_t late = 200 + 600 * SECOND;

	for (int gap = 0; gap <= 1; gap++) {
		start(true);
		window(7, 3, 100, 200, ROLE_NODE);
		if (gap)
			window(7, 2, 220, 300, ROLE_NODE);
		else
			stalls_lost(run.stalls, 250);
		window(7, 3, late - 50, late, ROLE_NODE);
		assert_string_equal(notes.text, "");
		window(7, 3, late - 10, late + 1, ROLE_NODE);
		assert_string_equal(notes.text,
				    gap ? "7:100-200/3 reclaim=100" : "7:100-200/3? reclaim=100");
		clear_notes();
		window(7, 0, 199, late + 100, ROLE_PAGE_ALLOCATION);
		assert_non_null(strstr(notes.text, "? reclaim="));
	}
}

/*
 * Where somebody else's function is around each allocation, none of depth 0 ever comes. As soon as a
 * gap in depth shows that there is somebody else, ten minutes are enough.
 */
static void test_patience_beside_another_user(void **state)
{
	static const struct step steps[][3] = {
		/* no gap: nothing, an interrupt in a function of depth 1, a loss */
		{ { END } },
		{ WINDOW(0, 2, 10, 40, ROLE_PAGE_ALLOCATION, .softirq = true),
		  WINDOW(0, 0, 50, 90, ROLE_PAGE_ALLOCATION, .softirq = true) },
		{ WINDOW(8, 2, 100, 200, ROLE_NODE), LOST(220),
		  WINDOW(8, 0, 50, 300, ROLE_PAGE_ALLOCATION) },
		/* a gap: none of depth 1 around it, none at all */
		{ WINDOW(8, 2, 100, 200, ROLE_NODE), WINDOW(8, 0, 50, 300, ROLE_PAGE_ALLOCATION) },
		{ WINDOW(8, 1, 10, 40, ROLE_NODE), WINDOW(8, 0, 50, 300, ROLE_PAGE_ALLOCATION) },
	};

	for (size_t i = 0; i < COUNT(steps); i++) {
		start(true);
		notes.quiet = true;
		for (size_t step = 0; step < COUNT(steps[i]) && steps[i][step].kind; step++)
			assert_int_equal(put(&steps[i][step]), 0);
		run.count = 0;
		for (uint64_t now = 0; now <= 1200 * SECOND; now += 10 * SECOND) {
			assert_int_equal(stalls_time(run.stalls, now), 0);
			window(7, 1, now + 1000, now + 2000, ROLE_PAGE_ALLOCATION);
			if (now == 600 * SECOND)
				assert_int_equal(run.count, 0);
		}
		assert_int_equal(run.count > 1, i >= 3);
	}
}

/* ---- long stalls ---- */

/* An allocation of 60 s with 60 reclaims of 0.9 s is one stall. */
static void test_a_minute(void **state)
{
	for (uint64_t s = 0; s < 60; s++) {
		window(7, 1, s * SECOND + SECOND / 20, s * SECOND + SECOND / 20 * 19,
		       ROLE_DIRECT_RECLAIM);
		assert_int_equal(stalls_time(run.stalls, (s + 1) * SECOND), 0);
	}
	assert_string_equal(notes.text, "");
	window(7, 0, 0, 60 * SECOND, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:0-60000000000 direct=54000000000 rest=6000000000");
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* A reclaim of 5 s, then 35 s of silence. */
static void test_silence(void **state)
{
	window(7, 1, 0, 5 * SECOND, ROLE_DIRECT_RECLAIM);
	for (uint64_t s = 5; s <= 40; s++)
		assert_int_equal(stalls_time(run.stalls, s * SECOND), 0);
	window(7, 0, 0, 40 * SECOND, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:0-40000000000 direct=5000000000 rest=35000000000");
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/*
 * 1000 times 100 lists of 6 us, with a fast run of a shrinker of 2 us after each, in node's lists of
 * 1 ms: 600 us of lists, 200 us of slab, 200 us of the node's own time. Nothing is allocated.
 */
static void test_very_many_windows(void **state)
{
	const struct record try = { .kind = RECORD_EVENT, .event = TRY_TO_COMPACT };
	const struct record *events[] = { &try };
	struct task_key key = { 7, OWNER_TASK };
	uint64_t now = 1000;

	allocations = 0;
	counting = true;
	window(7, 1, 100, 900, ROLE_DIRECT_COMPACTION);
	for (int node = 0; node < 1000; node++) {
		for (int list = 0; list < 100; list++, now += 10000) {
			put_window(key, 4, now, now + 6000, ROLE_GENERATIONS, false, events, 1);
			slab(7, now + 7000, now + 7050, 1 + list % 5);
			put_pair(7, now + 7050, now + 9000, SLAB_START, 1 + list % 5, false, false);
		}
		window(7, 2, now - 1000000, now, ROLE_NODE);
	}
	window(7, 1, 950, now, ROLE_DIRECT_RECLAIM);
	counting = false;
	assert_int_equal(allocations, 0);
	assert_string_equal(notes.text, "");
	window(7, 0, 0, now + 50, ROLE_PAGE_ALLOCATION);
	assert_string_equal(
		notes.text,
		"7:0-1000001050 direct=200000050 direct.shrinkers=200000000 "
		"direct.inactive=600000000 compaction=800 rest=200 {0x1=40000000*40000} "
		"{0x2=40000000*40000} {0x3=40000000*40000} {0x4=40000000*40000} "
		"{0x5=40000000*40000}");
	assert_non_null(strstr(run.last, " windows 101003 events 500000"));
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* Each of as many tasks as there may be has windows of three depths that wait, ten of each. */
static void test_very_many_tasks(void **state)
{
	static const int roles[] = { ROLE_DIRECT_COMPACTION, ROLE_NODE, ROLE_GENERATIONS };
	uint64_t now = 1000;

	notes.quiet = true;
	for (int depth = 1; depth <= 3; depth++)
		for (int i = 0; i < 10; i++, now += 10)
			for (int tid = 1; tid <= STALLS_OWNERS_MAX; tid++)
				window(tid, depth, now, now + 9, roles[depth - 1]);
	assert_int_equal(run.count, 0);
	for (int tid = 1; tid <= STALLS_OWNERS_MAX; tid++) {
		window(tid, 2, 1199, 1400, ROLE_NODE);
		window(tid, 1, 1099, 1500, ROLE_DIRECT_RECLAIM);
		window(tid, 0, 1000, 1600, ROLE_PAGE_ALLOCATION);
	}
	assert_int_equal(run.count, STALLS_OWNERS_MAX);
	assert_int_equal(run.incomplete, 0);
	assert_int_equal(stalls_dropped(run.stalls), 0);
	assert_int_equal(run.time, 600 * STALLS_OWNERS_MAX);
	/* 10 * 9, 401 less 10 * 9, and what is left of 600 */
	assert_int_equal(run.phases.ns[PHASE_COMPACTION][PART_OWN][STATE_RAN],
			 90 * STALLS_OWNERS_MAX);
	assert_int_equal(run.phases.ns[PHASE_DIRECT_RECLAIM][PART_INACTIVE_LIST][STATE_RAN],
			 90 * STALLS_OWNERS_MAX);
	assert_int_equal(run.phases.ns[PHASE_DIRECT_RECLAIM][PART_OWN][STATE_RAN],
			 311 * STALLS_OWNERS_MAX);
	assert_int_equal(run.phases.ns[PHASE_REST][PART_OWN][STATE_RAN], 109 * STALLS_OWNERS_MAX);
}

/* Fast pairs of tasks that come and go push out none that is in a stall. */
static void test_a_stall_among_short_tasks(void **state)
{
	window(7, 1, 100, 200, ROLE_DIRECT_RECLAIM);
	for (int i = 0; i < 5 * STALLS_OWNERS_MAX; i++)
		slab(1000 + i, 300 + i, 310 + i, 0x1);
	window(7, 0, 50, 10000, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:50-10000 direct=100 rest=9850");
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* Of those whose window never came, the stalls are as long as they were, and not longer. */
static void test_many_without_the_window_around(void **state)
{
	notes.quiet = true;
	for (int i = 0; i < 1000; i++)
		window(7, 2, 1000 + i * 100, 1010 + i * 100, ROLE_NODE);
	window(7, 0, 200000, 200100, ROLE_PAGE_ALLOCATION);
	assert_int_equal(run.time, 1000 * 10 + 100);
	assert_int_equal(run.phases.ns[PHASE_OTHER_RECLAIM][PART_OWN][STATE_RAN], 1000 * 10);
	assert_in_range(run.count, 2, 100);
	assert_int_equal(run.incomplete, 1);
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* Where edges are uncertain and these overlap, nor do the stalls begin before the first of them. */
static void test_many_that_overlap(void **state)
{
	for (int i = 0; i < 200; i++)
		window(7, 2, 1000 + i * 60, 1100 + i * 60, ROLE_NODE);
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_int_equal(strncmp(notes.text, "7:1000-", 7), 0);
}

/*
 * The function around the first 40 ended without a record, as one of less depth shows: they are not
 * in a sum with the 40 after it.
 */
static void test_shallower_one_between(void **state)
{
	notes.quiet = true;
	for (int i = 0; i < 40; i++)
		window(7, 3, 1000 + i * 100, 1010 + i * 100, ROLE_INACTIVE_LIST);
	window(7, 2, 5500, 5600, ROLE_SLAB);
	for (int i = 0; i < 40; i++)
		window(7, 3, 6000 + i * 100, 6010 + i * 100, ROLE_ACTIVE_LIST);
	window(7, 2, 5950, 9990, ROLE_NODE);
	notes.quiet = false;
	window(7, 1, 5450, 11000, ROLE_DIRECT_RECLAIM);
	clear_notes();
	window(7, 0, 5400, 11100, ROLE_PAGE_ALLOCATION);
	assert_non_null(strstr(notes.text, " | 7:5400-11100 direct=5050 direct.slab=100 "
					   "direct.active=400 rest=150"));
}

/* Of a sum, nobody knows what was before a window that begins in the middle of it. */
static void test_sum_of_two_functions(void **state)
{
	for (int early = 0; early <= 1; early++) {
		start(true);
		notes.quiet = true;
		for (int i = 0; i < 200; i++)
			window(7, 2, 1000 + i * 100, 1010 + i * 100, ROLE_NODE);
		/* The function around the first 150, or 20, ended without a record. */
		window(7, 1, early ? 2990 : 15990, 30000, ROLE_DIRECT_RECLAIM);
		window(7, 0, early ? 2980 : 15980, 30010, ROLE_PAGE_ALLOCATION);
		assert_int_equal(run.count, early ? 1 : 2);
		assert_true(run.last_incomplete);
	}
}

/* ---- random calls, against a walk over the tree of them ---- */

#define CALLS_MAX 30000

struct call {
	struct call *around;
	int tid, depth;
	uint64_t start, end, inside; /* ns; inside: of the calls in it */
	int role;
	uint64_t shrinker;    /* a pair of events */
	struct phases phases; /* of an outermost call */
	uint64_t shrinkers;   /* ns, of an outermost call */
	unsigned int nr_windows;
};

static struct {
	struct call calls[CALLS_MAX];
	struct call *ended[CALLS_MAX]; /* of one task, in that order */
	int count, nr_ended;
	uint64_t seed;
	bool gaps;
} made;

static unsigned int below(unsigned int limit)
{
	made.seed = made.seed * 6364136223846793005u + 1442695040888963407u;
	return (made.seed >> 33) % limit;
}

static uint64_t call(int tid, struct call *around, uint64_t now)
{
	static const int roles[] = { ROLE_PAGE_ALLOCATION,
				     ROLE_DIRECT_RECLAIM,
				     ROLE_MEMCG_RECLAIM,
				     ROLE_NODE,
				     ROLE_NODE,
				     ROLE_SLAB,
				     ROLE_INACTIVE_LIST,
				     ROLE_ACTIVE_LIST,
				     ROLE_DIRECT_COMPACTION,
				     ROLE_SOFT_LIMIT,
				     ROLE_RECLAIM_THROTTLE,
				     ROLE_NONE };
	struct call *this = &made.calls[made.count++];
	unsigned int nr_calls = below(4);

	*this = (struct call){
		.around = around,
		.tid = tid,
		.start = now,
		.role = roles[below(COUNT(roles))],
	};
	if (around)
		this->depth = around->depth + 1 + (made.gaps ? below(3) : 0);
	/* The runs of shrinkers, and only these, are in shrink_slab(), which is not in one. */
	if (around && around->role == ROLE_SLAB && !around->shrinker) {
		this->role = ROLE_SLAB;
		this->shrinker = 1 + below(9);
		this->depth = around->depth;
	}
	for (const struct call *at = around; at && !this->shrinker; at = at->around)
		if (at->shrinker && this->role == ROLE_SLAB)
			this->role = ROLE_NODE;
	if (!below(50) && !made.gaps)
		nr_calls = 300;
	now += 1 + below(100);
	for (; nr_calls && this->depth < 9 && made.count < CALLS_MAX - 1000; nr_calls--)
		now = call(tid, this, now) + below(100);
	this->end = now + 1;
	if (around)
		around->inside += this->end - this->start;
	made.ended[made.nr_ended++] = this;
	return this->end;
}

/* The phase by the rules of the catalog: the kind of reclaim is that of the first around it. */
static void walk(struct call *call)
{
	enum phase_group group = PHASE_REST;
	enum phase_part part = PART_OWN;
	uint64_t own = call->end - call->start - call->inside;
	struct call *at, *root = call;
	bool shrinker = false;

	for (at = call; at; root = at, at = at->around) {
		const struct catalog_role *role;

		if (at->role == ROLE_NONE)
			continue;
		role = &catalog_roles[at->role];
		if (group == PHASE_REST || (group == PHASE_OTHER_RECLAIM && part == PART_OWN &&
					    phases_is_reclaim(role->group))) {
			part = at->shrinker ? PART_SHRINKERS : role->part;
			shrinker = at->shrinker;
		}
		if (group == PHASE_REST ||
		    (group == PHASE_OTHER_RECLAIM && phases_is_reclaim(role->group)))
			group = role->group;
	}
	phases_spend(&root->phases, group, part, STATE_RAN, own);
	root->shrinkers += shrinker && part == PART_SHRINKERS ? own : 0;
	root->nr_windows += !call->shrinker;
}

static int check_stall(void *context, const struct stall *stall)
{
	const struct call *root = NULL;
	uint64_t shrinkers = 0;

	for (int i = 0; i < made.count && !root; i++)
		if (!made.calls[i].around && made.calls[i].start == stall->start &&
		    made.calls[i].tid == stall->tid)
			root = &made.calls[i];
	assert_non_null(root);
	assert_int_equal(stall->end, root->end);
	assert_int_equal(stall->nr_windows, root->nr_windows);
	assert_false(stall->incomplete);
	assert_memory_equal(&stall->phases, &root->phases, sizeof(root->phases));
	for (size_t i = 0; i < stall->nr_shrinkers; i++)
		shrinkers += stall->shrinkers[i].ns;
	assert_int_equal(shrinkers, root->shrinkers);
	run.count++;
	return 0;
}

static int compare_ends(const void *a, const void *b)
{
	const struct call *x = *(struct call *const *)a, *y = *(struct call *const *)b;

	return x->end < y->end ? -1 : x->end > y->end;
}

static void test_random_calls(void **state)
{
	int most = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t roots = 0;

		made.count = made.nr_ended = 0;
		made.seed = seed;
		made.gaps = seed % 2;
		run.count = 0;
		for (int tid = 1; tid <= 4; tid++)
			for (uint64_t now = tid; made.count < tid * 1500; roots++)
				/* No two tasks do anything at the same time. */
				now = call(tid, NULL, now + 10);
		for (int i = 0; i < made.count; i++)
			walk(&made.calls[i]);
		qsort(made.ended, made.nr_ended, sizeof(made.ended[0]), compare_ends);
		stalls_free(run.stalls);
		run.stalls = stalls_new(&run.plan, NULL, &resolver, check_stall, NULL);
		for (int i = 0; i < made.nr_ended; i++) {
			const struct call *ended = made.ended[i];

			if (ended->shrinker)
				assert_int_equal(put_pair(ended->tid, ended->start, ended->end,
							  SLAB_START, ended->shrinker, true, false),
						 0);
			else
				window(ended->tid, ended->depth, ended->start, ended->end,
				       ended->role);
		}
		assert_int_equal(run.count, roots);
		assert_int_equal(stalls_dropped(run.stalls), 0);
		if (made.count > most)
			most = made.count;
	}
	assert_true(most > 10000);
}

/* ---- details ---- */

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

#define LIST(ts_, nid_, scanned, reclaimed, dirty, writeback, priority_)                           \
	RECORD(ts_, INACTIVE, .nid = (nid_), .nr_scanned = (scanned), .nr_reclaimed = (reclaimed), \
	       .nr_dirty = (dirty), .nr_writeback = (writeback), .priority = (priority_))

/* Of a window with a window inside: sums, the lowest priority, all nodes. */
static void test_counts(void **state)
{
	const struct record inner = LIST(115, 2, 32, 4, 8, 0, 5);
	const struct record node = RECORD(122, NODE_BEGIN, .nid = 3);
	const struct record outer = LIST(125, 0, 100, 50, 0, 7, 9);
	const struct record asleep = RECORD(127, THROTTLED, .nid = 9);
	const struct record lacks = LIST(115, -1, RECORD_PAGES_UNKNOWN, 0, RECORD_PAGES_UNKNOWN,
					 RECORD_PAGES_UNKNOWN, -1);
	const struct record zero = LIST(115, 0, 0, 0, 0, 0, 0);
	const struct record *of_inner[] = { &inner };
	const struct record *of_outer[] = { &node, &outer, &asleep };
	const struct record *lacking[] = { &lacks };
	const struct record *of_zero[] = { &zero };
	const struct task_key key = { 7, OWNER_TASK };

	put_window(key, 1, 110, 120, ROLE_LRUVEC, false, of_inner, 1);
	put_window(key, 0, 100, 200, ROLE_NODE, false, of_outer, 3);
	assert_string_equal(run.facts, "nodes '0,2-3,9' priority 5 outcomes '' scanned 132 "
				       "reclaimed 54 dirty 8 writeback 7");
	put_window(key, 0, 100, 200, ROLE_NODE, false, lacking, 1);
	assert_string_equal(run.facts, "nodes '' priority -1 outcomes ''");
	put_window(key, 0, 100, 200, ROLE_NODE, false, of_zero, 1);
	assert_string_equal(run.facts, "nodes '0' priority 0 outcomes '' scanned 0 reclaimed 0 "
				       "dirty 0 writeback 0");
	window(7, 0, 300, 400, ROLE_NODE);
	assert_string_equal(run.facts, "nodes '' priority -1 outcomes ''");
}

/* What a window could not count, nobody knows; the nodes that were seen were seen. */
static void test_counts_of_dropped_events(void **state)
{
	const struct record try = RECORD(112, TRY_TO_COMPACT, .order = 9);
	const struct record list = LIST(115, 1, 32, 4, 8, 0, 5);
	const struct record zone = RECORD(116, COMPACTION_END, .status = 4);
	const struct record *events[] = { &try, &list, &zone };
	struct record exit = {
		.ts = 120,
		.tid = 7,
		.kind = RECORD_WINDOW,
		.window = { .calltime = 110, .rettime = 120, .depth = 1, .role = ROLE_LRUVEC },
	};
	const struct task_window inner = {
		.slow = true,
		.key = { 7, OWNER_TASK },
		.exit = &exit,
		.inside = events,
		.nr_inside = 3,
		.inside_incomplete = true,
	};

	assert_int_equal(stalls_window(run.stalls, &inner), 0);
	put_window(inner.key, 0, 100, 200, ROLE_NODE, false, events, 3);
	assert_string_equal(run.facts, "nodes '1' priority 5 outcomes ''");
	assert_int_equal(strncmp(run.last, "order 9 ", 8), 0);
	assert_non_null(strstr(run.last, "reclaimed -0 compaction 'outcome_4'"));
}

static void test_many_nodes(void **state)
{
	struct record lists[70];
	const struct record *events[70];

	for (int i = 0; i < 70; i++) {
		lists[i] = (struct record)LIST(110, i, 1, 1, 0, 0, 12);
		events[i] = &lists[i];
	}
	put_window((struct task_key){ 7, OWNER_TASK }, 0, 100, 200, ROLE_NODE, false, events, 63);
	assert_memory_equal(run.facts, "nodes '0-62' ", 13);
	put_window((struct task_key){ 7, OWNER_TASK }, 0, 100, 200, ROLE_NODE, false, events, 70);
	assert_memory_equal(run.facts, "nodes '0-62,63+' ", 17);
	for (int i = 0; i < 35; i++)
		events[i] = &lists[2 * i];
	put_window((struct task_key){ 7, OWNER_TASK }, 0, 100, 200, ROLE_NODE, false, events, 35);
	assert_memory_equal(run.facts, "nodes '0,2,4,6,", 15);
	assert_non_null(strstr(run.facts, ",60,62,63+' "));
}

/* Pairs of nodes make the longest text. */
static void test_longest_nodes(void **state)
{
	struct record lists[64];
	const struct record *events[64];
	size_t count = 0;

	for (int node = 0; node < 64; node++) {
		if (node < 8 ? node % 3 == 2 : node < 10 || (node < 63 && node % 3 == 0))
			continue;
		lists[count] = (struct record)LIST(110, node, 1, 1, 0, 0, 12);
		events[count] = &lists[count];
		count++;
	}
	put_window((struct task_key){ 7, OWNER_TASK }, 0, 100, 200, ROLE_NODE, false, events,
		   count);
	assert_memory_equal(run.facts, "nodes '0-1,3-4,6-7,10-11,13-14,16-17,", 37);
	assert_non_null(strstr(run.facts, ",58-59,61-62,63+' priority 12 "));
}

/* A window in which compactions end, one each ns from its start on, with digits as their statuses. */
static void compactions(int pid, int depth, uint64_t from, uint64_t to, const char *statuses)
{
	struct record zones[32];
	const struct record *events[32];
	size_t count = strlen(statuses);

	for (size_t i = 0; i < count; i++) {
		zones[i] = (struct record)RECORD(from + i, COMPACTION_END,
						 .status = statuses[i] - '0');
		events[i] = &zones[i];
	}
	assert_int_equal(put_window((struct task_key){ pid, OWNER_TASK }, depth, from, to,
				    ROLE_ZONE_COMPACTION, false, events, count),
			 0);
}

static void test_outcomes_in_order(void **state)
{
	static const struct {
		const char *statuses, *expected;
	} orders[] = {
		{ "4", "outcome_4" },
		{ "3338", "outcome_3 x3, outcome_8" },
		{ "34383", "outcome_3, outcome_4, outcome_3, outcome_8, outcome_3" },
		{ "3333333333333333333388", "outcome_3 x20, outcome_8 x2" },
		{ "123456788", "outcome_1, outcome_2, outcome_3, outcome_4, outcome_5, outcome_6, "
			       "outcome_7, outcome_8 x2" },
		/* Of many, the first and the last have names. */
		{ "1234567812345678", "outcome_1, outcome_2, outcome_3, outcome_4, outcome_5, "
				      "9 others, outcome_7, outcome_8" },
	};

	notes.quiet = true;
	/* Often: those that were folded leave their room. */
	for (size_t i = 0; i < 200 * COUNT(orders); i++) {
		const char *statuses = orders[i % COUNT(orders)].statuses;
		char expected[256];

		snprintf(expected, sizeof(expected), "nodes '' priority -1 outcomes '%s'",
			 orders[i % COUNT(orders)].expected);
		compactions(7, 0, 100, 900, statuses);
		assert_string_equal(run.facts, expected);
		for (size_t at = 0; statuses[at]; at++)
			compactions(7, 1, 105 + 10 * at, 111 + 10 * at,
				    (char[]){ statuses[at], '\0' });
		window(7, 0, 100, 900, ROLE_PAGE_ALLOCATION);
		assert_string_equal(run.facts, expected);
	}
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* A window that nothing encloses keeps its outcome, and the next stall of the task has its own. */
static void test_outcomes_of_each_stall(void **state)
{
	run.outcomes = true;
	compactions(7, 1, 110, 120, "3");
	compactions(7, 1, 240, 260, "4");
	run.fail = -EIO;
	assert_int_equal(stalls_flush(run.stalls), -EIO);
	assert_string_equal(notes.text, "7:110-120/1 'outcome_3' 'outcome_3'");
	start(true);
	run.outcomes = true;
	compactions(7, 1, 110, 120, "3");
	compactions(7, 0, 200, 300, "4");
	window(7, 0, 300, 400, ROLE_PAGE_ALLOCATION);
	window(7, 0, 400, 500, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:110-120/1 'outcome_3' 'outcome_3' | "
					"7:200-300 'outcome_4' 'outcome_4' | "
					"7:300-400 '' '' | 7:400-500 '' ''");
}

#define SEVEN "outcome_1, outcome_2, outcome_3, outcome_4, outcome_5, outcome_6, outcome_7"

/* Nor are outcomes of one stall folded into those of another that waits in the same task. */
static void test_outcomes_of_many_stalls(void **state)
{
	char expected[1024] = "";
	size_t used = 0;

	run.outcomes = true;
	for (int i = 0; i < 10; i++) {
		int from = 100 + 100 * i, status = i == 4 ? 4 : 3;

		compactions(7, 1, from, from + 50, (char[]){ '0' + status, '\0' });
		used += snprintf(expected + used, sizeof(expected) - used,
				 "%s7:%d-%d/1 'outcome_%d' 'outcome_%d'", used ? " | " : "", from,
				 from + 50, status, status);
	}
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_string_equal(notes.text, expected);
	clear_notes();
	compactions(8, 1, 2100, 2200, "1234567");
	compactions(8, 1, 2300, 2400, "1234567");
	compactions(8, 1, 2500, 2600, "8");
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_string_equal(notes.text, "8:2100-2200/1 'outcome_7' '" SEVEN "' | "
					"8:2300-2400/1 'outcome_7' '" SEVEN "' | "
					"8:2500-2600/1 'outcome_8' 'outcome_8'");
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* A window that nothing came around is a stall while an earlier one of its task waits on. */
static void test_outcomes_before_earlier(void **state)
{
	uint64_t late = STALL_PATIENCE + 2000;

	run.outcomes = true;
	compactions(7, 1, 100, 300, "3");
	compactions(7, 3, 400, 600, "4");
	compactions(7, 2, late, late + 200, "5");
	compactions(7, 2, late + 300, late + 500, "6");
	assert_string_equal(notes.text, "7:400-600/3 'outcome_4' 'outcome_4'");
	clear_notes();
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_string_equal(notes.text, "7:100-300/1? 'outcome_3' 'outcome_3' | "
					"7:600000002000-600000002200/2 'outcome_5' 'outcome_5' | "
					"7:600000002300-600000002500/2 'outcome_6' 'outcome_6'");
}

/*
 * With room for no more, a stall says nothing about its outcomes, and all others keep theirs. Those
 * that are over, in whatever way, leave their room.
 */
static void test_limit_of_outcomes(void **state)
{
	enum { TASKS = STALLS_COMPACTIONS_MAX / 8 };
	uint64_t dropped = 0;

	run.outcomes = true;
	for (int way = 0; way <= 4; way++) {
		uint64_t now = 1000 + way * 2 * STALL_PATIENCE;

		for (int tid = 1; tid <= TASKS; tid++)
			compactions(tid, 1, now, now + 200, "12345678");
		clear_notes();
		compactions(8000, 0, now, now + 100, "3");
		assert_non_null(strstr(notes.text, "100 '' ''"));
		assert_int_equal(stalls_dropped(run.stalls), ++dropped);
		/* Nor does it about those of a window inside. */
		compactions(8001, 1, now, now + 50, "3");
		clear_notes();
		window(8001, 0, now, now + 100, ROLE_PAGE_ALLOCATION);
		assert_non_null(strstr(notes.text, "100 '' ''"));
		assert_int_equal(stalls_dropped(run.stalls), ++dropped);
		notes.quiet = true;
		for (int tid = 1; tid <= TASKS && way == 0; tid++) {
			window(tid, 0, now - 10, now + 300, ROLE_PAGE_ALLOCATION);
			assert_non_null(strstr(run.facts, SEVEN ", outcome_8'"));
		}
		for (int tid = 1; tid <= TASKS && way == 1; tid++)
			window(tid, 0, now + 400, now + 500, ROLE_PAGE_ALLOCATION);
		if (way == 2)
			assert_int_equal(stalls_time(run.stalls, now + STALL_PATIENCE + 300), 0);
		else
			assert_int_equal(stalls_flush(run.stalls), 0);
	}
	assert_int_equal(stalls_dropped(run.stalls), dropped);
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

/* A window around one that a limit ended early says so. */
static void test_window_around_an_evicted_task(void **state)
{
	for (int tid = 1; tid <= STALLS_OWNERS_MAX + 1; tid++)
		window(tid, 1, 1000 + tid, 1100 + tid, ROLE_NODE);
	assert_string_equal(notes.text, "1:1001-1101/1 reclaim=100");
	clear_notes();
	window(1, 0, 900, 9000, ROLE_PAGE_ALLOCATION);
	assert_non_null(strstr(notes.text, "1:900-9000? rest=8100"));
	assert_int_equal(stalls_dropped(run.stalls), 2);
}

/* What was lost before one was lost after another is of two functions: none is folded. */
static void test_limit_of_losses(void **state)
{
	notes.quiet = true;
	for (int i = 0; i < 128; i++) {
		window(7, 1, 1000 + i * 10, 1005 + i * 10, ROLE_NODE);
		stalls_lost(run.stalls, 1007 + i * 10);
	}
	assert_int_equal(run.count, 0);
	assert_int_equal(stalls_dropped(run.stalls), 0);
	window(7, 1, 9000, 9005, ROLE_NODE);
	assert_int_equal(run.count, 1);
	assert_int_equal(stalls_dropped(run.stalls), 1);
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_int_equal(run.count, 129);
	assert_int_equal(run.time, 129 * 5);
}

/* Very many fast pairs fold into each other without loss. */
static void test_many_pairs(void **state)
{
	const int count = 6144;

	for (int i = 0; i < count; i++)
		slab(7, 1000 + i * 10, 1009 + i * 10, 1 + i % 2);
	window(7, 1, 500, 1500 + count * 10, ROLE_MEMCG_RECLAIM);
	window(7, 0, 500, 1500 + count * 10, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text, "7:500-62940 memcg=7144 memcg.shrinkers=55296 "
					"{0x1=27648*3072} {0x2=27648*3072}");
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* Fast pairs of an earlier call do not get into a slow one when they are folded. */
static void test_many_pairs_before_a_window(void **state)
{
	uint64_t now = 10000;

	for (int i = 0; i < 3; i++, now += 12)
		slab(7, now, now + 10, 0x1);
	now += 500;
	for (int i = 0; i < 1000; i++, now += 12)
		slab(7, now, now + 10, 0x2);
	window(7, 2, 10436, now, ROLE_SLAB);
	window(7, 1, 9000, now + 100, ROLE_DIRECT_RECLAIM);
	window(7, 0, 9000, now + 100, ROLE_PAGE_ALLOCATION);
	assert_string_equal(notes.text,
			    "7:9000-22636 direct=1506 direct.shrinkers=10030 direct.slab=2100 "
			    "{0x2=10000*1000} {0x1=30*3}");
}

/*
 * 300 pairs are in 64 sums or so. A window that begins between two in one sum gets a few too many or
 * too few: it says so where these took as long as a slow run.
 */
static void test_window_that_begins_in_folded_pairs(void **state)
{
	for (int slow = 0; slow <= 1; slow++) {
		uint64_t length = slow ? 60 : 1, incomplete = 0;

		for (uint64_t first = 100; first < 200; first++) {
			uint64_t exact = (300 - first) * length;

			start(true);
			for (uint64_t i = 0; i < 300; i++)
				slab(7, 1000 + i * 1000, 1000 + i * 1000 + length, 0x1);
			window(7, 0, 500 + first * 1000, 400000, ROLE_NODE);
			assert_int_equal(run.count, 1);
			assert_in_range(
				run.phases.ns[PHASE_OTHER_RECLAIM][PART_SHRINKERS][STATE_RAN],
				exact - 10 * length, exact + 10 * length);
			incomplete += run.incomplete;
		}
		assert_in_range(incomplete, slow ? 50 : 0, slow ? 100 : 0);
	}
}

/* More shrinkers than have a name: those with most time have, and slab has all the time. */
static void test_limit_of_shrinkers(void **state)
{
	uint64_t from = 1000;

	notes.quiet = true;
	for (int i = 0; i < 2 * STALL_SHRINKERS_MAX; i++, from += 1000) {
		uint64_t ns = 1 + i * 37 % (2 * STALL_SHRINKERS_MAX);

		slab(7, from, from + ns, ns);
	}
	window(7, 0, 900, from, ROLE_NODE);
	assert_int_equal(run.count, 1);
	assert_int_equal(stalls_dropped(run.stalls), 1);
	assert_int_equal(run.phases.ns[PHASE_OTHER_RECLAIM][PART_SHRINKERS][STATE_RAN],
			 STALL_SHRINKERS_MAX * (2 * STALL_SHRINKERS_MAX + 1));
	assert_int_equal(run.time, from - 900);
	assert_int_equal(run.nr_shrinkers, STALL_SHRINKERS_MAX);
	assert_int_equal(run.last_shrinker, STALL_SHRINKERS_MAX + 1);
}

/* Names of shrinkers never cost a stall its time, or another its place. */
static void test_limit_of_names(void **state)
{
	enum { TASKS = 100 };

	notes.quiet = true;
	for (int tid = 1; tid <= TASKS; tid++) {
		window(tid, 1, 100, 200, ROLE_DIRECT_COMPACTION);
		for (int i = 0; i < STALL_SHRINKERS_MAX; i++)
			slab(tid, 1000 + i * 10, 1010 + i * 10, 0x1000 + i);
	}
	for (int tid = 1; tid <= TASKS; tid++)
		window(tid, 0, 100, 10000, ROLE_NODE);
	assert_int_equal(run.count, TASKS);
	assert_int_equal(run.incomplete, 0);
	assert_int_equal(run.phases.ns[PHASE_COMPACTION][PART_OWN][STATE_RAN], 100 * TASKS);
	assert_int_equal(run.phases.ns[PHASE_OTHER_RECLAIM][PART_SHRINKERS][STATE_RAN],
			 10 * STALL_SHRINKERS_MAX * TASKS);
	assert_in_range(stalls_dropped(run.stalls), 1, TASKS);
}

/* Nor does one task with more of everything than there is room for: no function is like that. */
static void test_one_task_with_all_the_room(void **state)
{
	static const int kinds[] = { ROLE_NODE, ROLE_DIRECT_RECLAIM, ROLE_MEMCG_RECLAIM,
				     ROLE_NODE_RECLAIM };
	static const int parts[] = { ROLE_SLAB, ROLE_INACTIVE_LIST, ROLE_ACTIVE_LIST,
				     ROLE_SOFT_LIMIT, ROLE_RECLAIM_THROTTLE };
	uint64_t now = 1000;

	notes.quiet = true;
	for (int i = 0; i < 128; i++) {
		uint64_t from = now;

		for (size_t kind = 0; kind < COUNT(kinds); kind++) {
			for (size_t part = 0; part < COUNT(parts); part++, now += 10)
				window(7, 3, now, now + 10, parts[part]);
			window(7, 2, now - 60, now, kinds[kind]);
			now += 10;
		}
		for (int name = 1; name <= 64; name++, now += 10)
			slab(7, now, now + 10, name);
		window(7, 1, from - 10, now, ROLE_NONE);
		stalls_lost(run.stalls, now + 1);
		now += 100;
	}
	assert_in_range(stalls_dropped(run.stalls), 1, 128);
	assert_int_equal(stalls_flush(run.stalls), 0);
	/* What waited just then is in two of them, and the outer one says so. */
	assert_in_range(run.count, 128, 256);
	assert_in_range(run.incomplete, run.count - 128, run.count);
}

/* ---- what stalls_pass_on() passes on: "w 100-300 a2 b3" is a window with two events ---- */

static void note_events(const struct record *const *events, size_t nr_events)
{
	for (size_t i = 0; i < nr_events; i++)
		note(" %c%d", *(const char *)events[i]->raw, (int)events[i]->ts);
}

static int passed_window(void *context, const struct task_window *window)
{
	const struct record_window *exit = &window->exit->window;

	assert_true(window->slow);
	note(" w %d %d-%d", window->key.id, (int)exit->calltime, (int)exit->rettime);
	note_events(window->events, window->nr_events);
	return run.fail;
}

static int passed_pair(void *context, const struct task_pair *pair)
{
	assert_true(pair->slow);
	assert_int_equal(pair->duration, pair->end->ts - pair->begin->ts);
	note(" p %d %d-%d", pair->key.id, (int)pair->begin->ts, (int)pair->end->ts);
	note_events(pair->events, pair->nr_events);
	return run.fail;
}

static void start_holding(unsigned int events)
{
	static const struct claims_sink sink = { NULL, passed_window, passed_pair };
	const struct limits limits = { .events = events };

	start_with(true, &limits);
	run.pass_on = &sink;
}

/* A window with one event for each letter of @texts, whose payload is of @size such bytes. */
static void window_with(int tid, int depth, uint64_t from, uint64_t to, const char *texts,
			size_t size)
{
	static char payloads[8][UINT16_MAX];
	struct record records[8];
	const struct record *events[8];
	size_t count = strlen(texts);

	for (size_t i = 0; i < count; i++) {
		memset(payloads[i], texts[i], size);
		records[i] = (struct record){
			.ts = from + i,
			.kind = RECORD_EVENT,
			.event = SLAB_START,
			.raw = payloads[i],
			.raw_size = size,
		};
		events[i] = &records[i];
	}
	assert_int_equal(put_window((struct task_key){ tid, OWNER_TASK }, depth, from, to,
				    ROLE_NODE, false, events, count),
			 0);
	memset(payloads, 0, sizeof(payloads));
}

static void test_passed_on(void **state)
{
	start_holding(64);
	window_with(7, 2, 100, 300, "ab", 1);
	window_with(8, 1, 150, 350, "c", 1); /* waits for its own, not for that of task 7 */
	slab(7, 310, 330, 5);		     /* fast */
	slab(7, 350, 480, 6);
	window_with(7, 1, 90, 500, "", 1);
	window_with(7, 1, 600, 800, "d", 1);
	window_with(7, 0, 50, 900, "e", 1);
	assert_string_equal(
		notes.text,
		"7:50-900 reclaim=700 reclaim.shrinkers=150 {0x6=130*1} {0x5=20*1} w 7 100-300 a100 b101"
		" p 7 350-480 w 7 90-500 w 7 600-800 d600 w 7 50-900 e50");
	clear_notes();
	window_with(7, 0, 1000, 1200, "f", 1);
	assert_string_equal(notes.text, "7:1000-1200 reclaim=200 w 7 1000-1200 f1000");
	clear_notes();
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_string_equal(notes.text, "8:150-350/1 reclaim=200 w 8 150-350 c150");
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* What has ended leaves its room to what waits, however long that is. */
static void test_held_for_long(void **state)
{
	start_holding(4);
	window_with(7, 1, 100, 300, "a", 1);
	for (int i = 0; i < 20; i++)
		window_with(8, 0, 400 + 200 * i, 500 + 200 * i, "b", 1);
	clear_notes();
	window_with(7, 0, 50, 9000, "", 1);
	assert_non_null(strstr(notes.text, " w 7 100-300 a100 w 7 50-9000"));
}

/* A window that nothing came around is a stall while an earlier one of its task waits on. */
static void test_passed_on_before_earlier(void **state)
{
	uint64_t late = STALL_PATIENCE + 2000;

	start_holding(64);
	window_with(7, 1, 100, 300, "a", 1);
	window_with(7, 3, 400, 600, "b", 1);
	window_with(7, 2, late, late + 200, "c", 1);
	assert_string_equal(notes.text, "");
	window_with(7, 2, late + 300, late + 500, "d", 1);
	assert_string_equal(notes.text, "7:400-600/3 reclaim=200 w 7 400-600 b400");
	clear_notes();
	assert_int_equal(stalls_flush(run.stalls), 0);
	assert_non_null(strstr(notes.text, " w 7 100-300 a100 | "));
}

/* Windows that were folded into one sum are passed on like others. */
static void test_passed_on_of_a_sum(void **state)
{
	int from;

	start_holding(4096);
	for (from = 0; from < 200; from++)
		window(7, 1, 1000 + 200 * from, 1100 + 200 * from, ROLE_NODE);
	window(7, 0, 900, 90000, ROLE_NODE);
	for (from = 0; from < 200; from++) {
		char expected[32];

		snprintf(expected, sizeof(expected), " w 7 %d-%d ", 1000 + 200 * from,
			 1100 + 200 * from);
		assert_non_null(strstr(notes.text, expected));
	}
	assert_int_equal(stalls_dropped(run.stalls), 0);
}

/* Room for the records of a window with four events: the oldest window makes room. */
static void test_limit_of_what_is_held(void **state)
{
	start_holding(4);
	window_with(7, 1, 100, 300, "ab", 1);
	window_with(7, 1, 400, 500, "cd", 1);
	window_with(8, 0, 400, 550, "", 1);
	assert_string_equal(notes.text, "8:400-550 reclaim=150 w 8 400-550");
	assert_int_equal(stalls_dropped(run.stalls), 0);
	clear_notes();
	window_with(7, 0, 50, 600, "e", 1);
	assert_string_equal(notes.text,
			    "7:50-600 reclaim=550 w 7 400-500 c400 d401 w 7 50-600 e50");
	assert_int_equal(stalls_dropped(run.stalls), 1);
	clear_notes();
	window_with(7, 0, 1000, 1200, "abcd", 1);
	assert_non_null(strstr(notes.text, " w 7 1000-1200 a1000 b1001 c1002 d1003"));
	assert_int_equal(stalls_dropped(run.stalls), 1);
	/* more than there is room for in all */
	clear_notes();
	window_with(7, 0, 2000, 2200, "abcdef", 1);
	assert_string_equal(notes.text, "7:2000-2200 reclaim=200");
	assert_int_equal(stalls_dropped(run.stalls), 2);
}

/* Of large payloads three have room. */
static void test_limit_of_held_payloads(void **state)
{
	start_holding(64);
	window_with(7, 1, 100, 300, "a", 60000);
	window_with(7, 1, 400, 500, "bc", 60000);
	window_with(7, 0, 50, 600, "d", 60000);
	assert_string_equal(notes.text,
			    "7:50-600 reclaim=550 w 7 400-500 b400 c401 w 7 50-600 d50");
	assert_int_equal(stalls_dropped(run.stalls), 1);
	clear_notes();
	window_with(7, 0, 1000, 1200, "abcdefg", 60000);
	assert_string_equal(notes.text, "7:1000-1200 reclaim=200");
	window_with(7, 0, 2000, 2200, "abc", 60000);
	assert_non_null(strstr(notes.text, " w 7 2000-2200 a2000 b2001 c2002"));
	assert_int_equal(stalls_dropped(run.stalls), 2);
}

/* An output that fails ends the run. */
static void test_passing_on_fails(void **state)
{
	start_holding(64);
	run.fail = -EPIPE;
	window(7, 1, 100, 300, ROLE_NODE);
	assert_int_equal(put_window((struct task_key){ 7, OWNER_TASK }, 0, 50, 400, ROLE_NODE,
				    false, NULL, 0),
			 -EPIPE);
	assert_string_equal(notes.text, "7:50-400 reclaim=350 w 7 100-300");
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		TEST(test_siblings),
		TEST(test_patience),
		TEST(test_patience_with_each_task),
		TEST(test_told_early_and_forgotten),
		TEST(test_silence_is_no_gap),
		TEST(test_interrupts),
		TEST(test_a_busy_task_waits),
		cmocka_unit_test(test_patience_with_a_busy_task),
		cmocka_unit_test(test_patience_beside_another_user),
		TEST(test_a_minute),
		TEST(test_silence),
		TEST(test_very_many_windows),
		TEST(test_very_many_tasks),
		TEST(test_a_stall_among_short_tasks),
		TEST(test_many_without_the_window_around),
		TEST(test_many_that_overlap),
		TEST(test_shallower_one_between),
		cmocka_unit_test(test_sum_of_two_functions),
		TEST(test_random_calls),
		TEST(test_details),
		TEST(test_counts),
		TEST(test_counts_of_dropped_events),
		TEST(test_many_nodes),
		TEST(test_longest_nodes),
		TEST(test_outcomes_in_order),
		TEST(test_outcomes_of_each_stall),
		TEST(test_outcomes_of_many_stalls),
		TEST(test_outcomes_before_earlier),
		TEST(test_limit_of_outcomes),
		TEST(test_many_gfp),
		TEST(test_sink_that_fails),
		TEST(test_limit_of_owners),
		TEST(test_window_around_an_evicted_task),
		TEST(test_limit_of_losses),
		TEST(test_many_pairs),
		TEST(test_many_pairs_before_a_window),
		cmocka_unit_test(test_window_that_begins_in_folded_pairs),
		TEST(test_limit_of_shrinkers),
		TEST(test_limit_of_names),
		cmocka_unit_test(test_passed_on),
		cmocka_unit_test(test_held_for_long),
		cmocka_unit_test(test_passed_on_before_earlier),
		cmocka_unit_test(test_passed_on_of_a_sum),
		cmocka_unit_test(test_limit_of_what_is_held),
		cmocka_unit_test(test_limit_of_held_payloads),
		cmocka_unit_test(test_passing_on_fails),
		TEST(test_one_task_with_all_the_room),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
