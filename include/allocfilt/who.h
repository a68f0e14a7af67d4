/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_WHO_H
#define ALLOCFILT_WHO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Whose a task is: its process, and its cgroup, which names a systemd unit or a container. Read
 * from /proc while the task is there, from the file `tasks` for a capture.
 */

/* Tasks; one that hashes to the same places pushes out the older. */
#define WHO_LIVE_MAX	512	/* locked in memory */
#define WHO_SAVED_MAX	8192	/* of a capture */
#define WHO_COMM_MAX	16
#define WHO_CGROUP_MAX	256	/* bytes with the NUL; of a longer path the end is kept */

struct who_task {
	int pid;
	int tgid;			/* process; 0: not known */
	bool kernel_thread;
	char process[WHO_COMM_MAX];	/* name of the process, any bytes; "" where not known */
	char cgroup[WHO_CGROUP_MAX];	/* path below the mount of cgroup2, or of the memory
					 * controller of v1; any bytes; "" where not known */
};

struct who;

/**
 * who_new
 * @proc: "/proc" for a live run, NULL for a capture
 * @saved: path of a capture's file `tasks`; NULL or not there: nothing is known
 *
 * Returns NULL with errno ENOMEM.
 */
struct who *who_new(const char *proc, const char *saved);
void who_free(struct who *who);

/**
 * who_see - look at a task now, it may soon be gone; @ts: ns of the trace clock
 *
 * One that was looked at within ten seconds is left as it is, so this may be called often.
 */
void who_see(struct who *who, int pid, uint64_t ts);

/**
 * who_of - what is known of a task, never NULL; valid until the next call
 *
 * What is older than a second of the trace clock is read again first, as a task may move, and an
 * id may come back. A task that has gone stays as it was last seen.
 */
const struct who_task *who_of(struct who *who, int pid, uint64_t ts);

/** who_evicted - tasks that made room for others: most are never asked for again, or read again */
uint64_t who_evicted(const struct who *who);

/**
 * who_missed - times that nothing was known of a task, and it may be one that had made room
 *
 * Of a live task that is still there all is read again, so it has to have gone.
 */
uint64_t who_missed(const struct who *who);

/** who_print - a line of the file `tasks`; nothing for a task of which nothing is known */
void who_print(FILE *stream, const struct who_task *task);

#endif
