/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PROCESSES_H
#define ALLOCFILT_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* -p: is a task a thread of one of these processes? */

#define PROCESSES_TASKS 4096	/* tasks whose process is remembered */

struct processes;

/**
 * processes_new
 * @pids: 0 ends; copied
 * @proc: "/proc" for a live run; NULL for a capture, which does not tell of what process a task
 *	is: then only the ids themselves count
 *
 * Returns NULL with errno ENOMEM.
 */
struct processes *processes_new(const pid_t *pids, const char *proc);
void processes_free(struct processes *processes);

/**
 * processes_have - is this task's process asked for?
 * @ts: ns of the trace clock; what is older than a second is looked up again, as an id can come
 *	back with another process. A task that has gone keeps its last known process.
 */
bool processes_have(struct processes *processes, int tid, uint64_t ts);

#endif
