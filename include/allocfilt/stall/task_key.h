/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_TASK_KEY_H
#define ALLOCFILT_STALL_TASK_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/record/record.h"

/*
 * The owner of a record: a task, where the idle task is one task per CPU; or the interrupts of one
 * CPU and kind, never the interrupted task.
 */

enum owner_kind { OWNER_TASK, OWNER_IDLE, OWNER_SOFTIRQ, OWNER_HARDIRQ, OWNER_NMI };

struct task_key {
	int32_t id;   /* tid, or CPU */
	int32_t kind; /* enum owner_kind */
};

static inline struct task_key task_key_of(const struct record *record)
{
	if (!record_in_interrupt(record) && record->tid)
		return (struct task_key){ record->tid, OWNER_TASK };
	if (record->flags & RECORD_FLAG_NMI)
		return (struct task_key){ record->cpu, OWNER_NMI };
	if (record->flags & RECORD_FLAG_HARDIRQ)
		return (struct task_key){ record->cpu, OWNER_HARDIRQ };
	if (record->flags & RECORD_FLAG_SOFTIRQ)
		return (struct task_key){ record->cpu, OWNER_SOFTIRQ };
	return (struct task_key){ record->cpu, OWNER_IDLE };
}

static inline uint64_t task_key_hash(struct task_key key)
{
	return (uint64_t)key.kind << 32 | (uint32_t)key.id;
}

/** task_key_in_interrupt - is it a CPU's interrupts? The tid of their records is the interrupted task. */
static inline bool task_key_in_interrupt(struct task_key key)
{
	return key.kind != OWNER_TASK && key.kind != OWNER_IDLE;
}

#endif
