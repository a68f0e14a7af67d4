/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_COMMAND_TASKS_H
#define ALLOCFILT_RUN_COMMAND_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "allocfilt/plan/plan.h"
#include "allocfilt/record/record.h"

/*
 * The tasks of COMMAND: its own, and those that it and its children fork. The kernel records events
 * of these only (set_event_pid with event-fork), but some kernels record functions of all tasks.
 */

struct command_tasks;

/** command_tasks_new - @pid: COMMAND's; of one that no task can have, all are; NULL if there is no memory */
struct command_tasks *command_tasks_new(const struct plan *plan, pid_t pid);
void command_tasks_free(struct command_tasks *tasks);

/** command_tasks_see - note what a record tells, in order of time: forks, exits and losses */
void command_tasks_see(struct command_tasks *tasks, const struct record *record);

/** command_tasks_has - is the record of one of these tasks? An interrupt's record is not. */
bool command_tasks_has(const struct command_tasks *tasks, const struct record *record);

#endif
