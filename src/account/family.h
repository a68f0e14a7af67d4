/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_ACCOUNT_FAMILY_H
#define ALLOCFILT_ACCOUNT_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/histogram.h"
#include "allocfilt/names/resolver.h"

/* The process and the name of a task: by the forks and exits that were counted, else by procfs. */

struct family_task {
	int tid;
	int parent;	  /* of a fork: the parent task; of a task that runs: its process */
	bool thread;	  /* of a fork: it is in its parent's process */
	int process;	  /* of a fork; 0: not found yet */
	const char *name; /* of an exit */
};

struct family_tasks {
	struct family_task *task; /* by tid */
	size_t count;
};

struct family {
	struct resolver *resolver;
	struct family_tasks running;	  /* before forks were counted */
	struct family_tasks forks, exits; /* of the texts that are read; the names are in them */
};

void family_free(struct family *family);

/** family_see_running - see account_see_tasks() */
int family_see_running(struct family *family, const char *proc);

/**
 * family_read_fork, family_read_exit - add a row of the histogram
 *
 * Both return 1, 0 where the row cannot be read, or -ENOMEM.
 */
int family_read_fork(struct family *family, struct histogram_row *row);
int family_read_exit(struct family *family, struct histogram_row *row);

/** family_settle - all forks and exits were read; @ts: ns, trace clock, here and below */
void family_settle(struct family *family, uint64_t ts);

/** family_process - the process of a task; the task itself where nothing is known of it */
int family_process(const struct family *family, int tid, uint64_t ts);

/**
 * family_name - the name of a process, TASK_UNNAMED if unknown
 *
 * An exit has the last name that there was, and procfs perhaps one from before exec. Valid until the
 * next call or family_forget().
 */
const char *family_name(const struct family *family, int pid, uint64_t ts);

/** family_forget - free forks and exits: their texts go */
void family_forget(struct family *family);

#endif
