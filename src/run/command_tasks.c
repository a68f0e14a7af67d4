// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/command_tasks.h"

#include <stdlib.h>

#define TASKS_MAX 4194304 /* numbers of tasks: PID_MAX_LIMIT, include/linux/threads.h */

struct command_tasks {
	const struct plan *plan;
	bool all;			/* a damaged capture: COMMAND's pid is no task's number */
	bool lost;			/* records among which a fork of COMMAND may be */
	uint64_t tasks[TASKS_MAX / 64]; /* a bit each */
};

static void set(struct command_tasks *tasks, int tid, bool is_one)
{
	uint64_t bit = UINT64_C(1) << tid % 64;

	if (tid <= 0 || tid >= TASKS_MAX)
		return;
	if (is_one)
		tasks->tasks[tid / 64] |= bit;
	else
		tasks->tasks[tid / 64] &= ~bit;
}

struct command_tasks *command_tasks_new(const struct plan *plan, pid_t pid)
{
	struct command_tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks)
		return NULL;
	tasks->plan = plan;
	tasks->all = pid <= 0 || pid >= TASKS_MAX;
	set(tasks, pid, true);
	return tasks;
}

void command_tasks_free(struct command_tasks *tasks)
{
	free(tasks);
}

void command_tasks_see(struct command_tasks *tasks, const struct record *record)
{
	const struct plan_event *event;

	tasks->lost |= record->kind == RECORD_LOST;
	if (record->kind != RECORD_EVENT || record_in_interrupt(record))
		return;
	event = &tasks->plan->events[record->event];
	/* Some events are written by another task than theirs. */
	if (tasks->lost && (event->rule == RULE_OWNER || event->rule == RULE_PAIR))
		set(tasks, record->tid, true);
	if (event->id == EVENT_FORK)
		set(tasks, record->child, true);
	else if (event->id == EVENT_EXIT) /* The number is free for others. */
		set(tasks, record->tid, false);
}

bool command_tasks_has(const struct command_tasks *tasks, const struct record *record)
{
	if (tasks->all)
		return true;
	return !record_in_interrupt(record) && record->tid > 0 && record->tid < TASKS_MAX &&
	       tasks->tasks[record->tid / 64] >> record->tid % 64 & 1;
}
