/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_TASKS_H
#define ALLOCFILT_NAMES_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "allocfilt/record/source.h"

#define TASK_COMM_MAX	16 /* TASK_COMM_LEN */
#define TASK_UNNAMED	"<...>"
#define TASK_CGROUP_MAX 256 /* bytes with the NUL; of a longer path the end is kept */

/* A task's process and cgroup. */
struct task_info {
	int tid;    /* thread */
	int pid;    /* process (thread group); 0: nothing is known of the task */
	bool ended; /* it had ended before it was looked up, so its own cgroup is not known */
	bool kernel_thread;
	/*
	 * A victim of the OOM killer: so many bytes of cgroup are the path of the one at its limit. 1: none;
	 * 0: unknown
	 */
	uint16_t limit;
	const char *source;	     /* of the cgroup of a task that had ended: "parent", "reclaim";
				       * NULL: its own */
	char process[TASK_COMM_MAX]; /* name of the process, any bytes; "" if unknown */
	char cgroup[TASK_CGROUP_MAX]; /* path below the mount of cgroup2, or of the memory
					 * controller of v1; any bytes; "" if unknown */
};

/*
 * Tasks: name, process and cgroup, for the resolver and for a recording. They are read when a task is
 * first seen, as it may have exited by the time it is printed. A task that the OOM killer took has the
 * cgroup that the kernel's log says, if that has the time of its lines (printk.time).
 */

struct task_cache;

/**
 * task_cache_new
 * @source: outlives the cache; a running kernel's saved_cmdlines has names of tasks that have exited
 * @size: limit of tasks in a live run; the least recently used one is evicted. A capture is read as
 *	a whole, up to 65536 tasks.
 *
 * A file that does not exist is no error. Returns NULL if there is no memory.
 */
struct task_cache *task_cache_new(const struct data_source *source, size_t size);
void task_cache_free(struct task_cache *cache);

/** task_cache_is_full - does the next task that is new evict one? */
bool task_cache_is_full(const struct task_cache *cache);

/**
 * task_cache_see - read name, process and cgroup, unless that was done in the last ten seconds
 * @ts: ns of the trace clock, here and below
 */
void task_cache_see(struct task_cache *cache, int tid, uint64_t ts);

/**
 * task_cache_see_saved - see all tasks of saved_cmdlines, with the names that they have there
 *
 * Process and cgroup are read the first time, and when the name has changed.
 */
void task_cache_see_saved(struct task_cache *cache, uint64_t ts);

/** task_cache_see_victims - read what the kernel's log has of new victims of the OOM killer */
void task_cache_see_victims(struct task_cache *cache, uint64_t ts);

/**
 * task_cache_name - "<idle>" for 0, TASK_UNNAMED if unknown; never NULL
 *
 * Any bytes but NUL; valid until the next call. A name older than a second is read again, because
 * exec changes it.
 */
const char *task_cache_name(struct task_cache *cache, int tid, uint64_t ts);

/**
 * task_cache_info - process and cgroup; never NULL; valid until @size others were looked up
 *
 * Information older than a second is read again, as a task may move and an id may be reused.
 * A task that has exited keeps its information.
 */
const struct task_info *task_cache_info(struct task_cache *cache, int tid, uint64_t ts);

/**
 * task_cache_suppose - tell a cgroup that is likely to be a task's, unless the task's own is known
 * @source: see struct task_info
 */
void task_cache_suppose(struct task_cache *cache, int tid, uint64_t ts, const char *source,
			const char *cgroup);

/** task_cache_missed - lookups of tasks that are gone and may have been evicted before */
uint64_t task_cache_missed(const struct task_cache *cache);

/** task_cache_print - print all tasks, as the files saved_cmdlines and tasks of a capture */
void task_cache_print(struct task_cache *cache, FILE *names, FILE *tasks);

#endif
