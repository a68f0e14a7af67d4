/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TASK_H
#define ALLOCFILT_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_list.h"
#include "plan.h"
#include "record.h"

/*
 * State per task: which events wait for a window to claim them, which pairs are open. The idle
 * task is one per CPU; an interrupt is of its CPU and its kind, never of the task that it
 * interrupted.
 */

#define TASK_PAIRS_MAX		16	/* begins without their end, per task */

/* Whose a record is: the task's own, the idle task's of a CPU, or an interrupt's of a CPU. */
enum owner_kind { OWNER_TASK, OWNER_IDLE, OWNER_SOFTIRQ, OWNER_HARDIRQ, OWNER_NMI };

struct task_key {
	int32_t id;			/* pid, or CPU */
	int32_t kind;			/* enum owner_kind */
};

/* A slow window and the events that it owns, in the order of their times. */
struct task_window {
	struct task_key key;
	const struct record *exit;
	const struct record *const *events;
	size_t nr_events;
	bool incomplete;		/* one that it may have owned made room for others */
};

/* A begin and an end of one task. */
struct task_pair {
	struct task_key key;
	bool within;			/* another begin of this task is still open */
	const struct record *begin;
	const struct record *end;
	uint64_t duration;			/* ns */
	bool slow;				/* reaches the threshold */
	const struct record *const *events;	/* what it claims where there are no windows */
	size_t nr_events;
	bool incomplete;		/* as that of a window */
};

/* Each returns 0, or -errno to stop. What the records point to is valid during the call. */
struct task_sink {
	void *context;
	int (*window)(void *context, const struct task_window *window);
	/* every slab pair; of others, those whose own time decides and is slow */
	int (*pair)(void *context, const struct task_pair *pair);
};

struct tasks;

struct tasks_setup {
	const struct plan *plan;	/* has to live as long */
	struct cpu_list cpus;		/* its numbers have to live as long */
	/* ns by which a window may have begun before its calltime: 0 with the local clock, else how
	 * uncertain its edges are (DESIGN 5.6) */
	uint64_t edge;
	size_t tasks;			/* the one without a record for longest goes first */
	size_t events;			/* that wait, over all tasks; the oldest goes first */
	size_t task_events;		/* a task with more of them makes room before the others */
	struct task_sink sink;
};

/** tasks_new - all that it will ever take is allocated here; NULL with errno ENOMEM */
struct tasks *tasks_new(const struct tasks_setup *setup);
void tasks_free(struct tasks *tasks);

/** tasks_record - a record_sink: the next record in the order of time */
int tasks_record(void *tasks, const struct record *record);

/* What a limit dropped. */
struct tasks_drops {
	uint64_t tasks;		/* states of tasks that went before they were idle */
	uint64_t events;	/* waiting events that went to make room */
	uint64_t task_events;	/* those of a task that had more than its share */
	uint64_t pairs;		/* begins that went to make room */
	uint64_t windows;	/* windows and pairs that were given as incomplete for all this */
};
void tasks_drops(const struct tasks *tasks, struct tasks_drops *drops);

#endif
