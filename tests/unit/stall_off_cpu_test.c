// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/stall.h"
#include "fake_resolver.h"
#include "notes.h"
#include "unit_test.h"

/*
 * Stalls with the scheduler's events. One is printed as "100 rest/own ran=60 wait=40 D@0x5=10": its
 * length, for each part what the task did, and in which function it slept. "-" after the length: that
 * is not known.
 */

#define TASK	  7
#define FUNCTION  0x1000 /* of all sleeps: addresses in it are above */
#define BLOCKED	  0x02
#define PREEMPTED 0x100

enum { SWITCH, WAKEUP, SLAB_START, SLAB_END, NR_EVENTS }; /* the plan's events, in this order */

static const struct plan_event planned[NR_EVENTS] = {
	[SWITCH] = { .id = EVENT_SCHED_SWITCH, .rule = RULE_OFF_CPU },
	[WAKEUP] = { .id = EVENT_SCHED_WAKEUP, .rule = RULE_OFF_CPU },
	[SLAB_START] = { .id = EVENT_SLAB_START, .side = EVENT_BEGIN },
	[SLAB_END] = { .id = EVENT_SLAB_END, .side = EVENT_END },
};

static struct plan plan;
static struct stalls *stalls;
static bool silent; /* stalls are not printed */

static int got_stall(void *context, const struct stall *stall)
{
	static const char *const states[PHASE_STATES] = { "ran", "wait", "D", "S" };

	assert_int_equal(phases_total(&stall->phases), stall->end - stall->start);
	if (silent)
		return 0;
	note_separator(" | ");
	note("%" PRIu64 "%s%s", stall->end - stall->start, stall->off_cpu ? "" : "-",
	     stall->incomplete ? "?" : "");
	for (int group = 0; group < PHASE_GROUPS; group++) {
		for (int part = 0; part < PHASE_PARTS; part++) {
			if (!phases_part(&stall->phases, group, part))
				continue;
			note(" %s/%s", phase_group_names[group].key, phase_part_names[part].key);
			for (int state = 0; state < PHASE_STATES; state++)
				if (stall->phases.ns[group][part][state])
					note(" %s=%" PRIu64, states[state],
					     stall->phases.ns[group][part][state]);
		}
	}
	for (size_t i = 0; i < stall->nr_shrinkers; i++)
		note(" {0x%" PRIx64 "=%" PRIu64 "*%" PRIu64 "}", stall->shrinkers[i].shrinker,
		     stall->shrinkers[i].ns, stall->shrinkers[i].count);
	for (size_t i = 0; i < stall->nr_sleeps; i++)
		note(" [%s %s 0x%" PRIx64 "=%" PRIu64 "]",
		     phase_group_names[stall->sleeps[i].group].key, states[stall->sleeps[i].state],
		     stall->sleeps[i].function, stall->sleeps[i].ns);
	return 0;
}

static size_t event_text(void *context, const struct record *record, char *text, size_t size)
{
	return snprintf(text, size, "event");
}

static uint64_t function_of(void *context, uint64_t address)
{
	return address / FUNCTION * FUNCTION;
}

static int set_up(void **state)
{
	static struct resolver resolver = { .event = event_text, .function = function_of };

	clear_notes();
	memset(&plan, 0, sizeof(plan));
	memcpy(plan.events, planned, sizeof(planned));
	plan.nr_events = NR_EVENTS;
	plan.function_graph = true;
	plan.threshold = 100;
	stalls = stalls_new(&plan, NULL, &resolver, got_stall, NULL);
	assert_non_null(stalls);
	return 0;
}

static int tear_down(void **state)
{
	stalls_free(stalls);
	return 0;
}

static void put_switch(uint64_t ts, int from, uint64_t prev_state, int to)
{
	const struct record record = {
		.kind = RECORD_EVENT,
		.event = SWITCH,
		.ts = ts,
		.tid = from,
		.sched = { .prev_state = prev_state, .tid = to },
	};

	stalls_sched(stalls, &record);
}

static void wake(uint64_t ts, int tid)
{
	const struct record record = {
		.kind = RECORD_EVENT,
		.event = WAKEUP,
		.ts = ts,
		.tid = 99,
		.sched = { .tid = tid },
	};

	stalls_sched(stalls, &record);
}

/* The task leaves, sleeps in a function unless that is 0, is woken and comes. */
static void sleep_in(uint64_t function, uint64_t from, uint64_t woken, uint64_t to)
{
	put_switch(from, TASK, BLOCKED, 3);
	if (function)
		stalls_sleep(stalls, TASK, function);
	wake(woken, TASK);
	put_switch(to, 3, PREEMPTED, TASK);
}

static void wait_for_cpu(uint64_t from, uint64_t to)
{
	put_switch(from, TASK, PREEMPTED, 3);
	put_switch(to, 3, PREEMPTED, TASK);
}

static void put_window(struct task_key key, int role, int depth, uint64_t from, uint64_t to)
{
	const struct record exit = {
		.kind = RECORD_WINDOW,
		.ts = to,
		.tid = key.kind == OWNER_TASK ? key.id : TASK,
		.window = { .role = role, .depth = depth, .calltime = from, .rettime = to },
	};
	const struct task_window window = { .key = key, .exit = &exit, .slow = true };

	assert_int_equal(stalls_window(stalls, &window), 0);
}

static void window(int role, int depth, uint64_t from, uint64_t to)
{
	put_window((struct task_key){ TASK, OWNER_TASK }, role, depth, from, to);
}

static void slab_pair(uint64_t shrinker, uint64_t from, uint64_t to)
{
	const struct record begin = { .kind = RECORD_EVENT,
				      .event = SLAB_START,
				      .ts = from,
				      .tid = TASK,
				      .fields = { .shrinker = shrinker, .callback = 1 } };
	struct record end = begin;
	struct task_pair pair = { .key = { TASK, OWNER_TASK }, .begin = &begin, .end = &end };

	end.event = SLAB_END;
	end.ts = to;
	pair.duration = to - from;
	pair.slow = pair.duration >= plan.threshold;
	assert_int_equal(stalls_pair(stalls, &pair), 0);
}

/* Each span belongs to the innermost run around it. */
static void test_phases(void **state)
{
	put_switch(1, 3, PREEMPTED, 4);
	wait_for_cpu(1100, 1120);
	sleep_in(0, 1200, 1230, 1235);
	window(ROLE_RECLAIM_THROTTLE, 2, 1190, 1300);
	wait_for_cpu(1400, 1410);
	window(ROLE_DIRECT_RECLAIM, 1, 1050, 1500);
	wait_for_cpu(1600, 1650);
	window(ROLE_PAGE_ALLOCATION, 0, 1000, 2000);
	assert_string_equal(notes.text, "1000 direct_reclaim/own ran=310 wait=30 "
					"direct_reclaim/throttle ran=75 wait=5 D=30 "
					"rest/own ran=500 wait=50");
}

/* Of a fast run nothing is known, so what it had is the outer one's; nothing else is. */
static void test_only_inside(void **state)
{
	put_switch(1, 3, PREEMPTED, 4);
	wait_for_cpu(500, 900);
	window(ROLE_PAGE_ALLOCATION, 0, 1000, 1200);
	wait_for_cpu(1300, 1350);
	put_switch(1360, TASK, PREEMPTED, 3);
	put_window((struct task_key){ 8, OWNER_TASK }, ROLE_PAGE_ALLOCATION, 0, 1250, 1400);
	put_window((struct task_key){ TASK, OWNER_SOFTIRQ }, ROLE_PAGE_ALLOCATION, 0, 1250, 1400);
	put_switch(1410, 3, PREEMPTED, TASK);
	window(ROLE_PAGE_ALLOCATION, 0, 1295, 1495);
	assert_int_equal(stalls_flush(stalls), 0);
	assert_string_equal(notes.text, "200 rest/own ran=200 | 150 rest/own ran=150 | "
					"150 rest/own ran=150 | 200 rest/own ran=100 wait=100");
}

static void test_shrinkers(void **state)
{
	put_switch(1, 3, PREEMPTED, 4);
	wait_for_cpu(1010, 1020);
	slab_pair(5, 1005, 1030); /* a fast one */
	sleep_in(0, 1110, 1150, 1150);
	slab_pair(5, 1100, 1250);
	wait_for_cpu(1300, 1330);
	window(ROLE_SLAB, 1, 1000, 1400);
	window(ROLE_PAGE_ALLOCATION, 0, 990, 1410);
	assert_string_equal(notes.text, "420 other_reclaim/shrinkers ran=125 wait=10 D=40 "
					"other_reclaim/slab ran=195 wait=30 rest/own ran=20 "
					"{0x5=175*2}");
}

/* Where it slept: two places in a function are one; most time first. */
static void test_functions(void **state)
{
	put_switch(1, 3, PREEMPTED, 4);
	sleep_in(2 * FUNCTION + 8, 1100, 1110, 1110);
	sleep_in(3 * FUNCTION + 8, 1200, 1230, 1240);
	sleep_in(2 * FUNCTION + 16, 1300, 1325, 1325);
	window(ROLE_ZONE_COMPACTION, 1, 1050, 1400);
	sleep_in(3 * FUNCTION + 8, 1500, 1550, 1550);
	window(ROLE_PAGE_ALLOCATION, 0, 1000, 1600);
	assert_string_equal(notes.text, "600 compaction/own ran=275 wait=10 D=65 "
					"rest/own ran=200 D=50 [rest D 0x3000=50] "
					"[compaction D 0x2000=35] [compaction D 0x3000=30]");
}

/* Before the first switch nothing is known, and without one. */
static void test_unknown(void **state)
{
	window(ROLE_PAGE_ALLOCATION, 0, 1000, 1200);
	put_switch(1250, TASK, PREEMPTED, 3);
	put_switch(1280, 3, PREEMPTED, TASK);
	window(ROLE_PAGE_ALLOCATION, 0, 1210, 1400);
	wait_for_cpu(1450, 1460);
	window(ROLE_PAGE_ALLOCATION, 0, 1410, 1600);
	assert_string_equal(notes.text, "200- rest/own ran=200 | 190- rest/own ran=160 wait=30 | "
					"190 rest/own ran=180 wait=10");
}

/* A switch in is lost: the stall says that it lacks something. */
static void test_incomplete(void **state)
{
	put_switch(1, 3, PREEMPTED, 4);
	put_switch(1100, TASK, BLOCKED, 3);
	window(ROLE_PAGE_ALLOCATION, 0, 1000, 1200);
	assert_string_equal(notes.text, "200? rest/own ran=200");
}

/* In more functions than a stall can name: the times stay. */
static void test_many_functions(void **state)
{
	uint64_t now = 1010;

	put_switch(1, 3, PREEMPTED, 4);
	for (int i = 0; i < 100; i++, now += 10)
		sleep_in((uint64_t)(i + 2) * FUNCTION, now, now + 5, now + 5);
	window(ROLE_PAGE_ALLOCATION, 0, 1000, now);
	notes.text[40] = '\0';
	assert_string_equal(notes.text, "1010 rest/own ran=510 D=500 [rest D 0x20");
}

/* In so many functions, half of them in a window inside. */
static void sleep_in_many(int count, uint64_t from)
{
	uint64_t now = from + 10;

	for (int i = 0; i < count; i++, now += 10) {
		sleep_in((uint64_t)(i + 2) * FUNCTION, now, now + 5, now + 5);
		if (i == count / 2)
			window(ROLE_DIRECT_RECLAIM, 1, from + 5, now + 8);
	}
	window(ROLE_PAGE_ALLOCATION, 0, from, now);
}

/* One whose functions are too many for their names lacks a detail. */
static void test_names_dropped(void **state)
{
	silent = true;
	put_switch(1, 3, PREEMPTED, 4);
	sleep_in_many(STALL_SHRINKERS_MAX, 1000);
	assert_int_equal(stalls_dropped(stalls), 0);
	sleep_in_many(STALL_SHRINKERS_MAX + 1, 10000);
	assert_int_equal(stalls_dropped(stalls), 1);
	silent = false;
}

/* What each level of nested calls did, by the calls themselves. */
static uint64_t model[3][PHASE_STATES];

static uint64_t random_up_to(uint64_t most)
{
	return 1 + (uint64_t)rand() % most;
}

/* Calls a function at @from, which sleeps, waits and calls others. Returns when it returns. */
static uint64_t call(int depth, uint64_t from)
{
	static const int roles[] = { ROLE_PAGE_ALLOCATION, ROLE_DIRECT_RECLAIM,
				     ROLE_RECLAIM_THROTTLE };
	uint64_t now = from;

	for (int i = rand() % 8; i >= 0; i--) {
		uint64_t ran = random_up_to(100), slept = random_up_to(200000),
			 waited = random_up_to(50000);

		now += ran;
		model[depth][STATE_RAN] += ran;
		switch (rand() % 3) {
		case 0:
			if (depth < 2)
				now = call(depth + 1, now);
			break;
		case 1:
			sleep_in(rand() % 3 * FUNCTION, now, now + slept, now + slept + waited);
			model[depth][STATE_BLOCKED] += slept;
			model[depth][STATE_WAITED] += waited;
			now += slept + waited;
			break;
		default:
			wait_for_cpu(now, now + waited);
			model[depth][STATE_WAITED] += waited;
			now += waited;
		}
	}
	now += 100;
	model[depth][STATE_RAN] += 100;
	window(roles[depth], depth, from, now);
	return now;
}

static void test_random_calls(void **state)
{
	static const char *const names[] = { "rest/own", "direct_reclaim/own",
					     "direct_reclaim/throttle" };
	static const int order[] = { 1, 2, 0 };
	static const char *const states[PHASE_STATES] = { "ran", "wait", "D", "S" };
	uint64_t now = 10;

	srand(1);
	put_switch(1, 3, PREEMPTED, 4);
	for (int i = 0; i < 1000; i++) {
		char expected[512];
		uint64_t from = now + 1000;
		size_t used;

		clear_notes();
		memset(model, 0, sizeof(model));
		now = call(0, from);
		used = snprintf(expected, sizeof(expected), "%" PRIu64, now - from);
		for (size_t at = 0; at < 3; at++) {
			const uint64_t *ns = model[order[at]];

			if (!ns[STATE_RAN])
				continue;
			used += snprintf(expected + used, sizeof(expected) - used, " %s",
					 names[order[at]]);
			for (int what = 0; what < PHASE_STATES; what++)
				if (ns[what])
					used += snprintf(expected + used, sizeof(expected) - used,
							 " %s=%" PRIu64, states[what], ns[what]);
		}
		notes.text[strcspn(notes.text, "[") - !!strchr(notes.text, '[')] = '\0';
		assert_string_equal(notes.text, expected);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_phases),	   TEST(test_only_inside),   TEST(test_shrinkers),
		TEST(test_functions),	   TEST(test_unknown),	     TEST(test_incomplete),
		TEST(test_many_functions), TEST(test_names_dropped), TEST(test_random_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
