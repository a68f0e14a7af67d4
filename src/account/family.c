// SPDX-License-Identifier: GPL-2.0-or-later
#include "account/family.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/rows.h"

static void free_tasks(struct family_tasks *tasks)
{
	free(tasks->task);
	*tasks = (struct family_tasks){ .count = 0 };
}

void family_free(struct family *family)
{
	family_forget(family);
	free_tasks(&family->running);
}

void family_forget(struct family *family)
{
	free_tasks(&family->forks);
	free_tasks(&family->exits);
}

static int compare_tasks(const void *one, const void *other)
{
	const struct family_task *a = one, *b = other;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static struct family_task *find_family_task(const struct family_tasks *tasks, int tid)
{
	const struct family_task key = { .tid = tid };

	return rows_find(&key, tasks->task, tasks->count, sizeof(*tasks->task), compare_tasks);
}

static int order_tasks(const void *one, const void *other)
{
	const struct family_task *a = one, *b = other;
	int order = compare_tasks(a, b);

	if (order || a->thread != b->thread)
		return order ? order : a->thread - b->thread;
	return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

/* The kernel reuses numbers, so two tasks may have one: order_tasks() decides which one stays. */
static void keep_task(void *to, const void *of)
{
	if (order_tasks(of, to) < 0)
		memcpy(to, of, sizeof(struct family_task));
}

static void sort_tasks(struct family_tasks *tasks)
{
	rows_merge(tasks->task, &tasks->count, sizeof(*tasks->task), compare_tasks, keep_task);
}

static int add_running(struct family *family, const char *path)
{
	struct family_task task = { .tid = 0 };

	if (sscanf(path, "/%d/task/%d", &task.parent, &task.tid) != 2)
		return 0;
	return rows_append(&family->running.task, &family->running.count, &task, sizeof(task));
}

int family_see_running(struct family *family, const char *proc)
{
	char pattern[PATH_MAX];
	glob_t threads;
	int ret;

	snprintf(pattern, sizeof(pattern), "%s/[0-9]*/task/[0-9]*", proc);
	ret = glob(pattern, GLOB_NOSORT, NULL, &threads) == GLOB_NOSPACE ? -ENOMEM : 0;
	for (size_t i = 0; ret >= 0 && i < threads.gl_pathc; i++)
		ret = add_running(family, threads.gl_pathv[i] + strlen(proc));
	globfree(&threads);
	sort_tasks(&family->running);
	return ret < 0 ? ret : 0;
}

int family_read_fork(struct family *family, struct histogram_row *row)
{
	struct family_task task = { .tid = 0 };
	uint64_t flags;

	if (!histogram_tid(row, "common_pid", &task.parent) ||
	    !histogram_tid(row, "pid", &task.tid) ||
	    !histogram_number(row->keys, "clone_flags", &flags))
		return 0;
	task.thread = flags & CLONE_THREAD;
	return rows_append(&family->forks.task, &family->forks.count, &task, sizeof(task));
}

int family_read_exit(struct family *family, struct histogram_row *row)
{
	struct family_task task = { .name = histogram_string(row->keys, "comm") };

	if (!task.name || !histogram_tid(row, "common_pid", &task.tid))
		return 0;
	return rows_append(&family->exits.task, &family->exits.count, &task, sizeof(task));
}

int family_process(const struct family *family, int tid, uint64_t ts)
{
	const struct family_task *fork = find_family_task(&family->forks, tid);
	const struct family_task *running = find_family_task(&family->running, tid);
	int pid;

	if (fork)
		return fork->process;
	pid = running ? running->parent : resolver_task(family->resolver, tid, ts)->pid;
	return pid ? pid : tid;
}

/*
 * A thread may start threads, and these further ones: all of them get the process of the first one
 * whose process is known. A number that was reused may close a circle, so steps are counted.
 */
static void find_processes(struct family *family, uint64_t ts)
{
	for (size_t i = 0; i < family->forks.count; i++) {
		struct family_task *first = &family->forks.task[i], *fork = first;
		int process = 0;

		for (size_t step = 0; !process; step++) {
			struct family_task *parent = find_family_task(&family->forks, fork->parent);

			if (fork->process)
				process = fork->process;
			else if (!fork->thread || step == family->forks.count)
				process = fork->tid;
			else if (!parent)
				process = family_process(family, fork->parent, ts);
			else
				fork = parent;
		}
		for (fork = first; fork && !fork->process;
		     fork = fork->thread ? find_family_task(&family->forks, fork->parent) : NULL)
			fork->process = process;
	}
}

void family_settle(struct family *family, uint64_t ts)
{
	sort_tasks(&family->forks);
	sort_tasks(&family->exits);
	find_processes(family, ts);
}

const char *family_name(const struct family *family, int pid, uint64_t ts)
{
	const struct family_task *exit = find_family_task(&family->exits, pid);

	return exit ? exit->name : resolver_task_name(family->resolver, pid, ts);
}
