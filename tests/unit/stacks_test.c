// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/record/stacks.h"
#include "unit_test.h"

UNIT_TEST(test_once)
{
	struct stacks *stacks = stacks_new();
	uint64_t one[] = { 1, 2, 3 }, other[] = { 1, 2 };
	const uint64_t *frames;

	assert_int_equal(stacks_add(stacks, one, 0), 0);
	assert_int_equal(stacks_of(stacks, 0, &frames), 0);
	assert_int_equal(stacks_missed(stacks), 0);
	assert_int_equal(stacks_of(stacks, 1, &frames), 0);
	assert_null(frames);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stacks_add(stacks, one, 3), 1);
		assert_int_equal(stacks_add(stacks, other, 2), 2);
	}
	assert_int_equal(stacks_of(stacks, 1, &frames), 3);
	assert_memory_equal(frames, one, sizeof(one));
	assert_int_equal(stacks_of(stacks, 2, &frames), 2);
	assert_memory_equal(frames, other, sizeof(other));
	stacks_free(stacks);
	stacks_free(NULL);
}

#define CHURN 100000
#define OFTEN 7 /* frames of the stack that is seen again and again */

/* A year: the newest stack is known, so is one that comes again, and no number is that of two. */
UNIT_TEST(test_churn)
{
	struct stacks *stacks = stacks_new();
	uint64_t often[OFTEN] = { 1 }, one[40] = { 0 };
	uint32_t numbers[CHURN], number = stacks_add(stacks, often, OFTEN);
	const uint64_t *frames;

	for (size_t i = 0; i < CHURN; i++) {
		one[0] = 1000 + i;
		numbers[i] = stacks_add(stacks, one, 1 + i % COUNT(one));
		assert_int_not_equal(numbers[i], 0);
		assert_int_equal(stacks_of(stacks, numbers[i], &frames), 1 + i % COUNT(one));
		assert_memory_equal(frames, one, (1 + i % COUNT(one)) * sizeof(*one));
		if (i % 100)
			continue;
		assert_int_equal(stacks_add(stacks, often, OFTEN), number);
		assert_int_equal(stacks_of(stacks, number, &frames), OFTEN);
		assert_memory_equal(frames, often, sizeof(often));
	}
	assert_int_equal(stacks_missed(stacks), 0);
	for (size_t i = 0; i < CHURN; i++) {
		/* about 20 frames each */
		if (i >= CHURN - STACKS_MAX / 2) {
			assert_int_equal(stacks_of(stacks, numbers[i], &frames),
					 1 + i % COUNT(one));
			assert_int_equal(frames[0], 1000 + i);
		} else if (stacks_of(stacks, numbers[i], &frames)) {
			assert_int_equal(frames[0], 1000 + i);
		}
	}
	assert_in_range(stacks_missed(stacks), CHURN - STACKS_MAX, CHURN - STACKS_MAX / 2);
	stacks_free(stacks);
}

/* So deep that the frames are written over before the places are taken. */
UNIT_TEST(test_deep)
{
	static uint64_t deep[STACK_DEPTH_MAX + 1];
	struct stacks *stacks = stacks_new();
	const uint64_t *frames;

	for (uint64_t i = 0; i < 1000; i++) {
		deep[0] = i;
		assert_int_equal(stacks_add(stacks, deep, STACK_DEPTH_MAX + 1), i + 1);
		assert_int_equal(stacks_of(stacks, (uint32_t)i + 1, &frames), STACK_DEPTH_MAX);
		assert_int_equal(frames[0], i);
	}
	assert_int_equal(stacks_of(stacks, 1, &frames), 0);
	assert_null(frames);
	/* The same again is another one: nobody knows whether it was. */
	deep[0] = 0;
	assert_int_equal(stacks_add(stacks, deep, STACK_DEPTH_MAX), STACKS_MAX + 1);
	assert_int_equal(stacks_of(stacks, 1, &frames), 0);
	assert_int_equal(stacks_of(stacks, STACKS_MAX + 1, &frames), STACK_DEPTH_MAX);
	assert_int_equal(stacks_missed(stacks), 2);
	stacks_free(stacks);
}

UNIT_TEST_MAIN(NULL, NULL)
