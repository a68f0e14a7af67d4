// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/record/stacks.h"

#define HASH_SIZE (2 * STACKS_MAX) /* a power of two; never more than half full */

struct stack {
	uint32_t first; /* index into frames */
	uint32_t count;
};

struct stacks {
	struct stack stacks[STACKS_MAX];
	uint32_t nr_stacks;
	uint32_t hash[HASH_SIZE]; /* numbers; 0: free */
	uint64_t frames[STACKS_FRAMES_MAX];
	uint32_t nr_frames;
	uint64_t overflow;
};

struct stacks *stacks_new(void)
{
	return calloc(1, sizeof(struct stacks));
}

void stacks_free(struct stacks *stacks)
{
	free(stacks);
}

static size_t hash_of(const uint64_t *frames, size_t count)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < count; i++)
		sum = (sum ^ frames[i]) * 0x9e3779b97f4a7c15;
	return (sum >> 32) % HASH_SIZE;
}

/* The place of a stack in the hash, or the free one where it would be. */
static uint32_t *find_stack(struct stacks *stacks, const uint64_t *frames, size_t count)
{
	for (size_t at = hash_of(frames, count);; at = (at + 1) % HASH_SIZE) {
		const struct stack *stack;

		if (!stacks->hash[at])
			return &stacks->hash[at];
		stack = &stacks->stacks[stacks->hash[at] - 1];
		if (stack->count == count &&
		    !memcmp(stacks->frames + stack->first, frames, count * sizeof(*frames)))
			return &stacks->hash[at];
	}
}

static uint32_t append_stack(struct stacks *stacks, const uint64_t *frames, size_t count)
{
	struct stack *stack = &stacks->stacks[stacks->nr_stacks];

	if (stacks->nr_stacks == STACKS_MAX || count > STACKS_FRAMES_MAX - stacks->nr_frames) {
		stacks->overflow++;
		return 0;
	}
	stack->first = stacks->nr_frames;
	stack->count = (uint32_t)count;
	memcpy(stacks->frames + stack->first, frames, count * sizeof(*frames));
	stacks->nr_frames += stack->count;
	return ++stacks->nr_stacks;
}

uint32_t stacks_add(struct stacks *stacks, const uint64_t *frames, size_t count)
{
	uint32_t *place;

	if (count > STACK_DEPTH_MAX)
		count = STACK_DEPTH_MAX;
	if (!count)
		return 0;
	place = find_stack(stacks, frames, count);
	if (!*place)
		*place = append_stack(stacks, frames, count);
	return *place;
}

size_t stacks_of(const struct stacks *stacks, uint32_t number, const uint64_t **ret_frames)
{
	const struct stack *stack;

	*ret_frames = NULL;
	if (!number || number > stacks->nr_stacks)
		return 0;
	stack = &stacks->stacks[number - 1];
	*ret_frames = stacks->frames + stack->first;
	return stack->count;
}

uint64_t stacks_overflow(const struct stacks *stacks)
{
	return stacks->overflow;
}
