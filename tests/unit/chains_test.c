// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stats/chains.h"
#include "fake_resolver.h"
#include "unit_test.h"

static const uint64_t frames[] = { 0x30, 0x20, 0x10 }; /* the innermost first */

static size_t stack(void *context, uint32_t number, const uint64_t **ret_frames)
{
	*ret_frames = frames;
	return number == 1 ? COUNT(frames) : 0;
}

static struct resolver resolver = { .stack = stack };
static struct chains *chains;

static void set_up(size_t most)
{
	chains = chains_new(most);
	assert_non_null(chains);
}

static struct named_stall named_of(const struct stall *stall)
{
	return (struct named_stall){
		.stall = stall,
		.resolver = &resolver,
		.name = "t",
		.function = "f",
	};
}

/* Direct reclaim with @slab, of which shrinkers a and b took their time, 10 of its own; and the rest. */
static void stall(uint64_t slab, uint64_t a, uint64_t b, uint64_t rest, bool with_stack)
{
	const struct stall_slice shrinkers[] = {
		{ .callback = 0xa, .group = PHASE_DIRECT_RECLAIM, .ns = a },
		{ .callback = 0xb, .group = PHASE_DIRECT_RECLAIM, .ns = b },
		{ .callback = 0xc, .group = PHASE_MEMCG_RECLAIM, .ns = 1 },
	};
	struct stall one = {
		.role = ROLE_PAGE_ALLOCATION,
		.shrinkers = shrinkers,
		.nr_shrinkers = COUNT(shrinkers),
		.stack = 1,
	};
	const struct named_stall named = named_of(&one);

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_UNKNOWN, slab);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_UNKNOWN, 10);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_UNKNOWN, rest);
	chains_stall(chains, &named, with_stack);
}

/* Appends "name ns(" what is below ")". */
static void print(const struct chain_step *step, char *text, size_t size)
{
	for (; step; step = step->next) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, " %s %llu", step->name,
			 (unsigned long long)step->ns);
		if (!step->below)
			continue;
		strcat(text, "(");
		print(step->below, text, size);
		strcat(text, ")");
	}
}

static void chains_are(const char *expected)
{
	char text[1024] = "";

	print(chains_sorted(chains), text, sizeof(text) - 2);
	assert_string_equal(text, expected);
	chains_free(chains);
}

UNIT_TEST(test_sums)
{
	set_up(100);
	stall(50, 20, 25, 0, false);
	stall(40, 30, 0, 8, false);
	stall(0, 0, 0, 8, false);
	assert_int_equal(chains_dropped(chains), 0);
	chains_are("  136( page allocation 136( direct reclaim 120( shrinkers 90( 0xa 50 0xb 25)"
		   " reclaim itself 30) outside reclaim 16))");
}

UNIT_TEST(test_stacks)
{
	set_up(100);
	stall(0, 0, 0, 20, true);
	stall(0, 0, 0, 5, false);
	chains_are(
		"  45( t 30( 0x10 30( 0x20 30( 0x30 30( f 30( outside reclaim 20"
		" direct reclaim 10( reclaim itself 10))))))"
		" page allocation 15( direct reclaim 10( reclaim itself 10) outside reclaim 5))");
}

/* Without room for b a chain is cut at slab, without room for shrinkers before it: nothing moves. */
UNIT_TEST(test_limit)
{
	set_up(6); /* root, page allocation, direct reclaim, reclaim itself, slab, a */
	stall(50, 20, 25, 7, false);
	assert_int_equal(chains_dropped(chains), 2);
	stall(50, 20, 25, 7, false);
	assert_int_equal(chains_dropped(chains), 4);
	chains_are(
		"  134( page allocation 134( direct reclaim 120( shrinkers 100( 0xa 40) reclaim itself 20)))");
	set_up(4);
	stall(50, 20, 25, 0, false);
	assert_int_equal(chains_dropped(chains), 1);
	chains_are("  60( page allocation 60( direct reclaim 60( reclaim itself 10)))");
}

/* All states fill the step above; those of a shrinker are below it, and none beside it. */
UNIT_TEST(test_states)
{
	const struct stall_slice shrinker = {
		.callback = 0xa,
		.group = PHASE_DIRECT_RECLAIM,
		.ns = 5,
		.in = { [STATE_RUNNING] = 2, [STATE_WAITED] = 3 },
	};
	struct stall one = {
		.role = ROLE_PAGE_ALLOCATION,
		.off_cpu = true,
		.shrinkers = &shrinker,
		.nr_shrinkers = 1,
	};
	const struct named_stall named = named_of(&one);

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 3);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_BLOCKED, 4);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 2);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_WAITED, 3);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 6);
	set_up(100);
	chains_stall(chains, &named, false);
	chains_are("  18( page allocation 18( direct reclaim 12("
		   " reclaim itself 7( asleep, uninterruptible 4 running 3)"
		   " shrinkers 5( 0xa 5( waiting for a CPU 3 running 2)))"
		   " outside reclaim 6( running 6)))");
}

/* An interrupt is not the work of the task that it interrupted, whose name it has. */
UNIT_TEST(test_interrupt)
{
	struct stall one = { .role = ROLE_NONE, .key.kind = OWNER_HARDIRQ };
	const struct named_stall named = named_of(&one);

	phases_spend(&one.phases, PHASE_COMPACTION, PART_ITSELF, STATE_UNKNOWN, 3);
	set_up(100);
	chains_stall(chains, &named, true);
	chains_are("  3( (interrupt) 3( f 3( compaction 3)))");
}

/* Names of equal length limit are told apart by what fits. */
UNIT_TEST(test_functions)
{
	struct stall one = { .role = ROLE_NONE };
	struct named_stall named = named_of(&one);
	char longest[2 * CHAIN_NAME_MAX], expected[2 * CHAIN_NAME_MAX];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	phases_spend(&one.phases, PHASE_COMPACTION, PART_ITSELF, STATE_UNKNOWN, 3);
	set_up(100);
	chains_stall(chains, &named, false);
	named.function = longest;
	chains_stall(chains, &named, false);
	chains_stall(chains, &named, false);
	snprintf(expected, sizeof(expected), "  9( %.*s 6( compaction 6) f 3( compaction 3))",
		 CHAIN_NAME_MAX - 1, longest);
	chains_are(expected);
}

UNIT_TEST_MAIN(NULL, NULL)
