/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_VERIFY_TASKS_H
#define ALLOCFILT_VERIFY_TASKS_H

#include "allocfilt/record.h"
#include "allocfilt/verify.h"

/* What the records of a task say together: pairs of events, windows, names. They come in order. */

struct task_checks;

/** task_checks_new - NULL with errno ENOMEM; the arguments have to outlive it */
struct task_checks *task_checks_new(const struct data_source *source,
				    struct verify_findings *findings);
void task_checks_free(struct task_checks *checks);

/** task_checks_lost - from here on records of this CPU are missing, until it has another one */
void task_checks_lost(struct task_checks *checks, int cpu);

/** task_checks_see - there is a record, of whatever type */
void task_checks_see(struct task_checks *checks, int cpu, uint64_t ts);

/** task_checks_record - a record of decode; its events are numbers of the catalog */
void task_checks_record(struct task_checks *checks, struct record *record);

/** task_checks_use - of which decoder the records are */
void task_checks_use(struct task_checks *checks, struct decode *decode);

/** task_checks_end - there are no more records */
void task_checks_end(struct task_checks *checks);

#endif
