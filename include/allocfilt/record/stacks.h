/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_STACKS_H
#define ALLOCFILT_RECORD_STACKS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Kernel stacks, each stored once under a number: many calls have the same stack, and a number in a
 * record needs less memory than its frames. All memory is allocated at the start. A new stack takes the
 * place of the one that was not seen for longest.
 */

#define STACKS_MAX	  4096
#define STACKS_FRAMES_MAX (STACKS_MAX * 24) /* over all stacks */
#define STACK_DEPTH_MAX	  1024		    /* the kernel's own limit */

struct stacks;

/** stacks_new - NULL if there is no memory */
struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);

/**
 * stacks_add - the number of a stack, new or known; 0 for an empty one
 * @frames: return addresses, the innermost first; those over STACK_DEPTH_MAX are dropped
 *
 * No other stack gets the number before a million others had the place.
 */
uint32_t stacks_add(struct stacks *stacks, const uint64_t *frames, size_t count);

/**
 * stacks_of - the frames of a stack; valid until the next stacks_add()
 *
 * Returns how many, 0 for one whose place was taken.
 */
size_t stacks_of(struct stacks *stacks, uint32_t number, const uint64_t **ret_frames);

/** stacks_missed - how often stacks_of() was asked for one whose place was taken */
uint64_t stacks_missed(const struct stacks *stacks);

#endif
