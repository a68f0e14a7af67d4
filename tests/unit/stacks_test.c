// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/record/stacks.h"
#include "unit_test.h"

UNIT_TEST(test_once)
{
	struct stacks *stacks = stacks_new();
	uint64_t one[] = { 1, 2, 3 }, other[] = { 1, 2 };
	const uint64_t *frames;
	uint32_t number;

	number = stacks_add(stacks, one, 3);
	assert_int_equal(number, 1);
	assert_int_equal(stacks_add(stacks, other, 2), 2);
	assert_int_equal(stacks_add(stacks, one, 3), number);
	assert_int_equal(stacks_of(stacks, number, &frames), 3);
	assert_memory_equal(frames, one, sizeof(one));
	assert_int_equal(stacks_of(stacks, 2, &frames), 2);
	assert_memory_equal(frames, other, sizeof(other));
	stacks_free(stacks);
	stacks_free(NULL);
}

UNIT_TEST(test_none)
{
	struct stacks *stacks = stacks_new();
	const uint64_t *frames;
	uint64_t one = 1;

	assert_int_equal(stacks_add(stacks, &one, 0), 0);
	assert_int_equal(stacks_of(stacks, 0, &frames), 0);
	assert_int_equal(stacks_of(stacks, 1, &frames), 0);
	assert_null(frames);
	assert_int_equal(stacks_overflow(stacks), 0);
	stacks_free(stacks);
}

UNIT_TEST(test_full)
{
	struct stacks *stacks = stacks_new();
	const uint64_t *frames;

	for (uint64_t i = 0; i < STACKS_MAX; i++)
		assert_int_equal(stacks_add(stacks, &i, 1), i + 1);
	for (uint64_t i = 0; i < 3 * STACKS_MAX; i++)
		assert_int_equal(stacks_add(stacks, &i, 1), i < STACKS_MAX ? i + 1 : 0);
	assert_int_equal(stacks_overflow(stacks), 2 * STACKS_MAX);
	assert_int_equal(stacks_of(stacks, STACKS_MAX, &frames), 1);
	assert_int_equal(frames[0], STACKS_MAX - 1);
	assert_int_equal(stacks_of(stacks, STACKS_MAX + 1, &frames), 0);
	stacks_free(stacks);
}

UNIT_TEST(test_deep)
{
	static uint64_t deep[STACK_DEPTH_MAX + 1];
	struct stacks *stacks = stacks_new();
	const uint64_t *frames;
	uint32_t number = 1;

	for (uint64_t i = 0; number; i++) {
		deep[0] = i;
		number = stacks_add(stacks, deep, STACK_DEPTH_MAX + 1);
		assert_int_equal(number, i < STACKS_FRAMES_MAX / STACK_DEPTH_MAX ? i + 1 : 0);
	}
	assert_int_equal(stacks_of(stacks, 1, &frames), STACK_DEPTH_MAX);
	stacks_free(stacks);
}

UNIT_TEST_MAIN(NULL, NULL)
