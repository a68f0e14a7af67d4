// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/hash.h"
#include "allocfilt/record/stacks.h"

struct stack {
	struct hash_link link; /* by a hash of its frames */
	uint64_t at;	       /* of its first frame */
	uint32_t count;
	uint32_t number; /* 0: never used */
};

/*
 * Frames are written one after the other, round and round, over those of the stacks that were written
 * longest ago. A position counts all that were written before.
 */
struct stacks {
	struct hash hash;
	struct stack stacks[STACKS_MAX];
	uint64_t frames[STACKS_FRAMES_MAX];
	uint64_t end; /* position after the newest frame */
	uint64_t missed;
};

struct stacks *stacks_new(void)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks && !hash_init(&stacks->hash, &stacks->stacks[0].link, sizeof(stacks->stacks[0]),
				 STACKS_MAX))
		return stacks;
	free(stacks);
	return NULL;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	hash_destroy(&stacks->hash);
	free(stacks);
}

static uint64_t hash_of_frames(const uint64_t *frames, size_t count)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < count; i++) {
		sum = (sum ^ frames[i]) * 0x9e3779b97f4a7c15;
		sum ^= sum >> 32;
	}
	return sum;
}

static uint64_t *frames_at(struct stacks *stacks, uint64_t at)
{
	return stacks->frames + at % STACKS_FRAMES_MAX;
}

/* Are the frames of a stack still there? */
static bool has_frames(const struct stacks *stacks, const struct stack *stack)
{
	return stacks->end - stack->at <= STACKS_FRAMES_MAX;
}

static void write_frames(struct stacks *stacks, struct stack *stack, const uint64_t *frames)
{
	uint64_t left = STACKS_FRAMES_MAX - stacks->end % STACKS_FRAMES_MAX;

	if (left < stack->count)
		stacks->end += left;
	stack->at = stacks->end;
	stacks->end += stack->count;
	memcpy(frames_at(stacks, stack->at), frames, stack->count * sizeof(*frames));
}

uint32_t stacks_add(struct stacks *stacks, const uint64_t *frames, size_t count)
{
	uint64_t key;
	struct hash_link *link;
	struct stack *stack;

	count = MIN(count, STACK_DEPTH_MAX);
	if (!count)
		return 0;
	key = hash_of_frames(frames, count);
	link = hash_find(&stacks->hash, key);
	stack = container_of(link ? link : hash_insert(&stacks->hash, key), struct stack, link);
	if (!link || !has_frames(stacks, stack) || stack->count != count ||
	    memcmp(frames_at(stacks, stack->at), frames, count * sizeof(*frames))) {
		stack->number += stack->number ? STACKS_MAX : stack - stacks->stacks + 1;
		stack->count = (uint32_t)count;
	} else if (stacks->end - stack->at <= STACKS_FRAMES_MAX / 2) {
		return stack->number;
	}
	/* A stack that is seen again is written again, before others are written over it. */
	write_frames(stacks, stack, frames);
	return stack->number;
}

size_t stacks_of(struct stacks *stacks, uint32_t number, const uint64_t **ret_frames)
{
	const struct stack *stack = &stacks->stacks[(number - 1) % STACKS_MAX];

	*ret_frames = NULL;
	if (!number)
		return 0;
	if (stack->number != number || !has_frames(stacks, stack)) {
		stacks->missed++;
		return 0;
	}
	*ret_frames = frames_at(stacks, stack->at);
	return stack->count;
}

uint64_t stacks_missed(const struct stacks *stacks)
{
	return stacks->missed;
}
