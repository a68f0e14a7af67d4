// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "counted_malloc.h"
#include "notes.h"
#include "stall/off_cpu.h"
#include "unit_test.h"

/*
 * What a window takes is printed as text: "wait=10 D@5=30 S=2" is 10 ns waiting for a CPU, 30 asleep
 * and uninterruptible in function 5, 2 asleep otherwise. A "?" at the end: spans may be missing.
 */

#define SECOND 1000000000ull
#define MS     1000000ull

/* prev_state, as include/linux/sched.h has it */
#define RUNNING	  0x00
#define SLEEPING  0x01
#define BLOCKED	  0x02
#define STOPPED	  0x04
#define DEAD	  0x10
#define ZOMBIE	  0x20
#define IDLE	  0x80
#define PREEMPTED 0x100

static struct off_cpu *off_cpu;

static int set_up(void **state)
{
	off_cpu = off_cpu_new();
	assert_non_null(off_cpu);
	return 0;
}

static int tear_down(void **state)
{
	off_cpu_free(off_cpu);
	return 0;
}

static void note_part(void *context, enum phase_state state, uint64_t function, uint64_t ns)
{
	static const char *const names[PHASE_STATES] = { "ran", "wait", "D", "S" };

	note_separator(" ");
	note("%s", names[state]);
	if (function)
		note("@%" PRIu64, function);
	note("=%" PRIu64, ns);
}

static const char *taken(int tid, uint64_t start, uint64_t end)
{
	clear_notes();
	if (!off_cpu_take(off_cpu, tid, start, end, note_part, NULL))
		note("?");
	return notes.text;
}

static uint64_t sums[PHASE_STATES], named[PHASE_STATES];

static void add_part(void *context, enum phase_state state, uint64_t function, uint64_t ns)
{
	sums[state] += ns;
	named[state] += function ? ns : 0;
}

static void sum_taken(int tid, uint64_t start, uint64_t end)
{
	memset(sums, 0, sizeof(sums));
	memset(named, 0, sizeof(named));
	assert_true(off_cpu_take(off_cpu, tid, start, end, add_part, NULL));
}

/* Leaves at @from in that state, can run at @woken (0: no record of it) and gets a CPU at @to. */
static void span(int tid, uint64_t from, uint64_t prev_state, uint64_t woken, uint64_t to)
{
	off_cpu_leave(off_cpu, tid, from, prev_state);
	if (woken)
		off_cpu_wake(off_cpu, tid, woken);
	off_cpu_come(off_cpu, tid, to);
}

static void test_states(void **state)
{
	static const struct {
		uint64_t prev_state;
		uint64_t woken;
		const char *taken;
	} cases[] = {
		{ RUNNING, 0, "wait=100" },
		{ PREEMPTED, 0, "wait=100" },
		/* A wake-up before it had left. */
		{ PREEMPTED, 130, "wait=100" },
		{ SLEEPING, 170, "wait=30 S=70" },
		{ BLOCKED, 170, "wait=30 D=70" },
		{ STOPPED, 170, "wait=30 S=70" },
		{ IDLE, 170, "wait=30 S=70" },
		/* Uninterruptible, then preempted before it was asleep. */
		{ BLOCKED | PREEMPTED, 170, "wait=30 D=70" },
		{ BLOCKED, 200, "D=100" },
		{ BLOCKED, 100, "wait=100" },
		/* The wake-up was lost. */
		{ BLOCKED, 0, "D=100" },
		/* The waker's clock is behind or ahead. */
		{ BLOCKED, 90, "wait=100" },
		{ BLOCKED, 210, "D=100" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		span(7, 100, cases[i].prev_state, cases[i].woken, 200);
		assert_string_equal(taken(7, 50, 300), cases[i].taken);
		assert_string_equal(taken(7, 50, 300), "");
	}
}

/* An inner window ends first; the outer one has what is left. */
static void test_nested(void **state)
{
	off_cpu_leave(off_cpu, 9, 1, PREEMPTED);
	span(7, 10, PREEMPTED, 0, 15);
	span(7, 20, BLOCKED, 28, 30);
	span(7, 40, SLEEPING, 45, 46);
	assert_string_equal(taken(7, 18, 38), "wait=2 D=8");
	span(7, 50, PREEMPTED, 0, 60);
	assert_string_equal(taken(7, 5, 70), "wait=10 wait=1 S=5 wait=5");
	assert_string_equal(taken(7, 5, 70), "");
}

static void test_only_inside(void **state)
{
	off_cpu_leave(off_cpu, 9, 1, PREEMPTED);
	span(7, 10, PREEMPTED, 0, 20);
	span(7, 30, PREEMPTED, 0, 40);
	span(8, 32, PREEMPTED, 0, 34);
	span(7, 50, PREEMPTED, 0, 60);
	assert_string_equal(taken(7, 20, 50), "wait=10");
	assert_string_equal(taken(7, 1, 100), "wait=10 wait=10");
	assert_string_equal(taken(8, 1, 100), "wait=2");
	assert_string_equal(taken(12, 1, 100), "");
}

/* The edges of a window may come from another clock than the switches. */
static void test_uncertain_edges(void **state)
{
	for (int i = 0; i < 2; i++) {
		uint64_t at = (uint64_t)i * 10 * MS;

		off_cpu_leave(off_cpu, 9, at + 1, PREEMPTED);
		span(7, at + 1 * MS, BLOCKED, at + 3 * MS, at + 4 * MS);
		/* Almost outside, then almost inside. */
		assert_string_equal(taken(7, at + 3980000, at + 6 * MS), "");
		assert_string_equal(taken(7, at + MS - 5, at + 1010000), "");
		if (i)
			assert_string_equal(taken(7, at + 1040000, at + 6 * MS),
					    "wait=986666 D=1973333");
		else
			assert_string_equal(taken(7, at, at + 3960000), "wait=986666 D=1973333");
		assert_string_equal(taken(7, at, at + 6 * MS), "");
	}
}

/* At its edges a window runs. */
static void test_across_an_edge(void **state)
{
	off_cpu_leave(off_cpu, 9, 1, PREEMPTED);
	span(7, 1 * MS, BLOCKED, 3 * MS, 4 * MS);
	assert_string_equal(taken(7, 2 * MS, 5 * MS), "?");
	assert_string_equal(taken(7, 0, 5 * MS), "");
	span(7, 11 * MS, BLOCKED, 13 * MS, 14 * MS);
	assert_string_equal(taken(7, 10 * MS, 13 * MS), "?");
	assert_string_equal(taken(7, 10 * MS, 15 * MS), "");
}

static void test_function(void **state)
{
	off_cpu_leave(off_cpu, 7, 100, BLOCKED);
	off_cpu_sleeps_in(off_cpu, 7, 5);
	off_cpu_wake(off_cpu, 7, 140);
	off_cpu_come(off_cpu, 7, 150);
	/* Of a task that can run, and of one that runs, there is none. */
	off_cpu_leave(off_cpu, 7, 200, PREEMPTED);
	off_cpu_sleeps_in(off_cpu, 7, 6);
	off_cpu_come(off_cpu, 7, 210);
	off_cpu_sleeps_in(off_cpu, 7, 7);
	span(7, 220, SLEEPING, 225, 225);
	assert_string_equal(taken(7, 100, 300), "S=5 wait=10 D@5=40 wait=10");
}

static void test_lost_records(void **state)
{
	/* The switch in is missing: how long it was off is not known. */
	off_cpu_leave(off_cpu, 7, 100, BLOCKED);
	span(7, 200, PREEMPTED, 0, 210);
	assert_string_equal(taken(7, 100, 300), "wait=10");
	off_cpu_leave(off_cpu, 7, 310, BLOCKED);
	assert_string_equal(taken(7, 305, 400), "?");
	off_cpu_come(off_cpu, 7, 410);
	assert_string_equal(taken(7, 305, 500), "");
	/* A switch out that follows the window does not belong to it. */
	off_cpu_leave(off_cpu, 7, 610, BLOCKED);
	assert_string_equal(taken(7, 600, 605), "");
	off_cpu_come(off_cpu, 7, 620);
	assert_string_equal(taken(7, 600, 700), "D=10");
	/* The switch out is missing. */
	off_cpu_come(off_cpu, 7, 720);
	off_cpu_come(off_cpu, 8, 720);
	assert_string_equal(taken(7, 700, 800), "");
	/* Time goes back between two CPUs. */
	span(7, 820, BLOCKED, 0, 810);
	assert_string_equal(taken(7, 800, 900), "");
}

static void test_idle_and_dead(void **state)
{
	span(0, 100, RUNNING, 0, 200);
	assert_string_equal(taken(0, 100, 300), "");
	/* The number may be used again. */
	off_cpu_leave(off_cpu, 7, 110, ZOMBIE);
	off_cpu_come(off_cpu, 7, 150);
	span(8, 110, PREEMPTED, 0, 120);
	off_cpu_leave(off_cpu, 8, 130, DEAD);
	off_cpu_come(off_cpu, 8, 150);
	assert_string_equal(taken(7, 100, 300), "");
	assert_string_equal(taken(8, 100, 300), "");
}

static void test_since(void **state)
{
	assert_true(off_cpu_since(off_cpu) == UINT64_MAX);
	off_cpu_leave(off_cpu, 0, 100, RUNNING);
	off_cpu_leave(off_cpu, 7, 200, RUNNING);
	assert_int_equal(off_cpu_since(off_cpu), 100);
}

/* What was known of before, a task off the CPU too, says nothing of what comes after. */
static void test_stop(void **state)
{
	off_cpu_leave(off_cpu, 1, 100, BLOCKED);
	off_cpu_come(off_cpu, 1, 120);
	off_cpu_leave(off_cpu, 1, 130, BLOCKED);
	off_cpu_leave(off_cpu, 2, 140, BLOCKED);
	off_cpu_stop(off_cpu);
	assert_true(off_cpu_since(off_cpu) == UINT64_MAX);
	assert_string_equal(taken(1, 90, 150), "");
	off_cpu_come(off_cpu, 1, 1000);
	off_cpu_leave(off_cpu, 2, 1100, SLEEPING);
	off_cpu_come(off_cpu, 2, 1110);
	assert_int_equal(off_cpu_since(off_cpu), 1100);
	assert_string_equal(taken(1, 90, 1500), "");
	assert_string_equal(taken(2, 90, 1500), "S=10");
}

/* However many spans it has, a task's newest ones stay apart. */
static void test_many_spans(void **state)
{
	uint64_t now = 0, whole = 0;

	for (int i = 0; i < 100000; i++, now += 10 * MS, whole += 4 * MS)
		span(7, now + 1 * MS, PREEMPTED, 0, now + 5 * MS);
	for (int i = 1; i <= 50; i++)
		assert_string_equal(taken(7, now - i * 10 * MS, now - i * 10 * MS + 9 * MS),
				    "wait=4000000");
	whole -= 50 * 4 * MS;
	/* Half of the time since then, exact to the part of its age that a folded span may have. */
	sum_taken(7, now - 400 * SECOND, now);
	assert_in_range(sums[STATE_WAITED], 0.98 * 0.4 * 399.5 * SECOND,
			1.02 * 0.4 * 399.5 * SECOND);
	whole -= sums[STATE_WAITED];
	/* Nothing is counted twice, and nothing lost but what rounding takes. */
	sum_taken(7, 0, now);
	assert_in_range(sums[STATE_WAITED], whole - 1000, whole);
}

/* Of folded spans, the function with most time keeps its own; no function gets another's. */
static void test_folded_functions(void **state)
{
	uint64_t now = 0;

	for (int i = 0; i < 4 * OFF_CPU_OWN_MAX; i++, now += 10) {
		off_cpu_leave(off_cpu, 7, now + 1, i % 4 ? BLOCKED : SLEEPING);
		off_cpu_sleeps_in(off_cpu, 7, 5);
		off_cpu_wake(off_cpu, 7, now + 4);
		off_cpu_come(off_cpu, 7, now + 5);
	}
	sum_taken(7, 1, now);
	assert_int_equal(sums[STATE_BLOCKED], 3 * 3 * OFF_CPU_OWN_MAX);
	assert_int_equal(sums[STATE_SLEPT], 3 * OFF_CPU_OWN_MAX);
	assert_int_equal(sums[STATE_WAITED], 4 * OFF_CPU_OWN_MAX);
	assert_in_range(named[STATE_BLOCKED], sums[STATE_BLOCKED] * 8 / 10, sums[STATE_BLOCKED]);
	assert_in_range(named[STATE_SLEPT], 1, sums[STATE_SLEPT]);
	assert_int_equal(named[STATE_WAITED], 0);
}

/* When all spans are used up, whoever has more than a share folds; no task loses time. */
static void test_all_spans_used(void **state)
{
	enum { TASKS = OFF_CPU_TASKS_MAX, EACH = 2 * OFF_CPU_SPANS_MAX / OFF_CPU_TASKS_MAX };
	uint64_t now = 0;

	/* One has as many as it may, and is then the one without a switch for longest. */
	for (int i = 0; i < OFF_CPU_OWN_MAX; i++, now += 10)
		span(1, now + 1, PREEMPTED, 0, now + 5);
	for (int round = 0; round < EACH; round++)
		for (int tid = 2; tid <= TASKS; tid++, now += 10)
			span(tid, now + 1, PREEMPTED, 0, now + 5);
	for (int tid = 1; tid <= TASKS; tid++) {
		sum_taken(tid, 1, now);
		assert_int_equal(sums[STATE_WAITED], 4 * (tid == 1 ? OFF_CPU_OWN_MAX : (int)EACH));
	}
}

static void test_all_tasks_used(void **state)
{
	uint64_t now = 0;

	off_cpu_leave(off_cpu, 1, 1, BLOCKED);
	for (int tid = 2; tid <= OFF_CPU_TASKS_MAX + 10; tid++) {
		now += 10;
		span(tid, now, PREEMPTED, 0, now + 4);
	}
	/* Ten were evicted, the last of them task 10, with all up to then. */
	off_cpu_come(off_cpu, 1, now + 10);
	assert_string_equal(taken(1, 0, now + 20), "?");
	assert_string_equal(taken(10, 85, now), "?");
	assert_string_equal(taken(10, 95, now), "");
	assert_string_equal(taken(12, 95, now), "wait=4");
}

static void test_allocates_nothing(void **state)
{
#if COUNTED
	uint64_t now = 0;

	counting = true;
	for (int i = 0; i < 3 * OFF_CPU_SPANS_MAX; i++, now += 10)
		span(1 + i % (2 * OFF_CPU_TASKS_MAX), now, BLOCKED, now + 2, now + 5);
	off_cpu_take(off_cpu, 1, 0, now, add_part, NULL);
	counting = false;
	assert_int_equal(allocations, 0);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nested, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_only_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_uncertain_edges, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_across_an_edge, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_idle_and_dead, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_since, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stop, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_spans, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_folded_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_spans_used, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_tasks_used, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_allocates_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
