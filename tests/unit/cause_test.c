// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_resolver.h"
#include "unit_test.h"

#include <string.h>

#include "allocfilt/stall/cause.h"

/* The expected shares are sums by hand: each stall is made of whole percents of 1000 ns. */

static struct stall stall;
static struct stall_slice shrinkers[2];
static struct stall_cause cause;

static const char *label(void *context, uint64_t shrinker)
{
	return shrinker == 1 ? "vda" : NULL;
}

static struct resolver resolver = { .shrinker = label };

static int set_up(void **state)
{
	stall = (struct stall){ .shrinkers = shrinkers };
	shrinkers[0] = (struct stall_slice){ .shrinker = 1,
					     .callback = 0xa,
					     .group = PHASE_DIRECT_RECLAIM,
					     .count = 1 };
	shrinkers[1] = (struct stall_slice){ .shrinker = 2,
					     .callback = 0xb,
					     .group = PHASE_MEMCG_RECLAIM,
					     .count = 1 };
	return 0;
}

static void add(enum phase_group group, enum phase_part part, enum phase_state state, uint64_t ns)
{
	phases_spend(&stall.phases, group, part, state, ns);
}

static void cause_is(const char *key, unsigned int share, const char *text, const char *detail)
{
	char printed[STALL_CAUSE_MAX];

	stall_cause(&stall, &cause);
	assert_string_equal(cause_name(cause.which)->key, key);
	assert_int_equal(cause_share(&cause), share);
	cause_text(&resolver, &stall, printed);
	assert_string_equal(printed, text);
	cause_detail(&resolver, &cause, printed);
	assert_string_equal(printed, detail);
}

#define TEST(name) UNIT_TEST_WITH(name, set_up, NULL)

static void start_again(void)
{
	memset(&stall.phases, 0, sizeof(stall.phases));
}

TEST(test_chain)
{
	cause_is("mixed", 0, "not known", "");
	add(PHASE_DIRECT_RECLAIM, PART_INACTIVE_LIST, STATE_RUNNING, 700);
	add(PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 100);
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 200);
	cause_is("direct_reclaim", 8000, "direct reclaim 80 %: inactive list 70 %",
		 "inactive list 70 %");
	start_again();
	add(PHASE_COMPACTION, PART_ITSELF, STATE_UNKNOWN, 100);
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_UNKNOWN, 900);
	cause_is("outside", 9000, "outside reclaim 90 %, not traced", "");
}

/* A half is enough, and one ns less is not: of the stall, not of the step before. */
TEST(test_half)
{
	add(PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 500);
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 500);
	cause_is("compaction", 5000, "compaction 50 %", "");
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 1);
	cause_is("outside", 5004, "outside reclaim 50 %; running 100 %", "running 100 %");
	add(PHASE_MEMCG_RECLAIM, PART_ACTIVE_LIST, STATE_RUNNING, 2);
	cause_is("mixed", 4995, "outside reclaim 49 %, compaction 49 %",
		 "outside reclaim 49 %, compaction 49 %");
	start_again();
	add(PHASE_MEMCG_RECLAIM, PART_THROTTLED, STATE_RUNNING, 499);
	add(PHASE_MEMCG_RECLAIM, PART_ACTIVE_LIST, STATE_RUNNING, 499);
	add(PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 2);
	cause_is("memcg_reclaim", 9980, "memcg reclaim 100 %", "");
}

TEST(test_shrinker)
{
	stall.nr_shrinkers = 2;
	shrinkers[0].ns = 520;
	shrinkers[0].freed = 80;
	shrinkers[0].scanned = 900;
	shrinkers[1].ns = 600; /* of another group */
	add(PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 400);
	add(PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_BLOCKED, 500);
	add(PHASE_DIRECT_RECLAIM, PART_SHRINKER_LOOKUP, STATE_RUNNING, 100);
	cause_is("direct_reclaim", 10000,
		 "direct reclaim 100 %: shrinkers 90 %: 0xa[vda] (freed 80 of 900) 52 %; "
		 "asleep, uninterruptible 50 %",
		 "shrinkers 90 %: 0xa[vda] (freed 80 of 900) 52 %; asleep, uninterruptible 50 %");
	/* A shrinker that took 0.02 ms of 230 ms is no cause. */
	shrinkers[0].ns = 499;
	add(PHASE_DIRECT_RECLAIM, PART_SHRINKER_LOOKUP, STATE_RUNNING, 1);
	cause_is("direct_reclaim", 10000, "direct reclaim 100 %: shrinkers 90 %", "shrinkers 90 %");
}

/* Nor is one that freed nothing. It took the time for another reason, which the states tell. */
TEST(test_shrinker_that_freed_nothing)
{
	static const struct {
		enum phase_state state;
		uint64_t scanned;
		const char *tail;
	} cases[] = {
		{ STATE_UNKNOWN, 0, " (asleep, or not running) 85 %" },
		{ STATE_UNKNOWN, 1, " 85 %" },
		{ STATE_RUNNING, 0, " 85 %" },
		{ STATE_BLOCKED, 0, " 85 %; asleep, uninterruptible 90 %" },
	};

	stall.nr_shrinkers = 1;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char detail[200], text[250];

		start_again();
		shrinkers[0].ns = 850;
		shrinkers[0].scanned = cases[i].scanned;
		memset(shrinkers[0].in, 0, sizeof(shrinkers[0].in));
		shrinkers[0].in[cases[i].state] = 850;
		add(PHASE_DIRECT_RECLAIM, PART_SHRINKERS, cases[i].state, 900);
		add(PHASE_OUTSIDE, PART_ITSELF,
		    cases[i].state == STATE_UNKNOWN ? STATE_UNKNOWN : STATE_RUNNING, 100);
		snprintf(detail, sizeof(detail), "shrinkers 90 %%: one that freed nothing%s",
			 cases[i].tail);
		snprintf(text, sizeof(text), "direct reclaim 90 %%: %s", detail);
		cause_is("direct_reclaim", 9000, text, detail);
		assert_null(cause.steps[cause.nr_steps - 1].shrinker);
	}
}

/*
 * A wait for a CPU in two parts of the group and outside of it: each is less than half. It is the cause
 * before all that has as much.
 */
TEST(test_cpu_wait)
{
	static const enum phase_state as_much[] = { STATE_BLOCKED, STATE_RUNNING };

	add(PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_WAITED, 250);
	add(PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 390);
	add(PHASE_DIRECT_RECLAIM, PART_THROTTLED, STATE_WAITED, 200);
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, 160);
	cause_is("cpu_wait", 6100, "direct reclaim; waiting for a CPU 61 %", "direct reclaim 84 %");
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 221);
	cause_is("direct_reclaim", 6879, "direct reclaim 69 %: reclaim itself 52 %",
		 "reclaim itself 52 %");
	for (size_t i = 0; i < COUNT(as_much); i++) {
		start_again();
		add(PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, 500);
		add(PHASE_OUTSIDE, PART_ITSELF, as_much[i], 500);
		cause_is("cpu_wait", 5000, "outside reclaim; waiting for a CPU 50 %",
			 "outside reclaim 100 %");
	}
}

/*
 * A group that sleeps is the cause of its sleep, also where it sleeps in another one as well. A sleep
 * outside of all groups has no other reason.
 */
TEST(test_sleep)
{
	add(PHASE_COMPACTION, PART_ITSELF, STATE_BLOCKED, 300);
	add(PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 250);
	add(PHASE_SWAP_IN, PART_ITSELF, STATE_BLOCKED, 300);
	add(PHASE_SWAP_IN, PART_ITSELF, STATE_SLEPT, 150);
	cause_is("compaction", 5500, "compaction 55 %; asleep, uninterruptible 60 %",
		 "asleep, uninterruptible 60 %");
	start_again();
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_SLEPT, 300);
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 300);
	add(PHASE_SWAP_IN, PART_ITSELF, STATE_SLEPT, 400);
	cause_is("slept", 7000, "outside reclaim; asleep 70 %", "outside reclaim 60 %");
}

/* No group has half. */
TEST(test_state_of_all)
{
	add(PHASE_COMPACTION, PART_ITSELF, STATE_WAITED, 300);
	add(PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 100);
	add(PHASE_OOM, PART_ITSELF, STATE_WAITED, 300);
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 300);
	cause_is("cpu_wait", 6000, "waiting for a CPU 60 %", "");
	start_again();
	add(PHASE_COMPACTION, PART_ITSELF, STATE_OFF, 400);
	add(PHASE_OOM, PART_ITSELF, STATE_OFF, 300);
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 300);
	cause_is("off_cpu", 7000, "off the CPU (unknown why) 70 %", "");
	start_again();
	add(PHASE_DRAIN, PART_ITSELF, STATE_RUNNING, 400);
	add(PHASE_OOM, PART_ITSELF, STATE_RUNNING, 250);
	add(PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 350);
	cause_is("mixed", 4000, "draining per-CPU lists 40 %, outside reclaim 35 %",
		 "draining per-CPU lists 40 %, outside reclaim 35 %");
}

UNIT_TEST_MAIN(NULL, NULL)
