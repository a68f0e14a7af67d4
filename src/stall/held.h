/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_HELD_H
#define ALLOCFILT_STALL_HELD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "allocfilt/stall.h"

/*
 * Copies of windows and slow pairs, which wait until it is known whether their stall is shown. Each
 * has a number, and those of a task are in the order of their numbers.
 */

struct held;
struct held_record;
TAILQ_HEAD(held_list, held_record);

/** held_new - room for a window with limits->events events; NULL with errno ENOMEM */
struct held *held_new(const struct plan *plan, const struct limits *limits);
void held_free(struct held *held);

/**
 * held_window, held_pair - copy the records of a window or pair to the end of @list
 *
 * Where there is no room, the oldest windows and pairs of all lists are dropped.
 */
void held_window(struct held *held, struct held_list *list, uint64_t number,
		 const struct task_window *window);
void held_pair(struct held *held, struct held_list *list, uint64_t number,
	       const struct task_pair *pair);

/**
 * held_pass_on - pass on those with the numbers @first to @last
 * @passed: how many were still held is added
 *
 * They stay. Returns 0, or what the sink returned.
 */
int held_pass_on(struct held *held, const struct held_list *list, struct task_key key,
		 uint64_t first, uint64_t last, const struct claims_sink *sink, size_t *passed);

/** held_drop - drop those with the numbers @first to @last */
void held_drop(struct held *held, struct held_list *list, uint64_t first, uint64_t last);

#endif
