// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/selection.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "run/command_tasks.h"

int selection_init(struct selection *selection, const struct options *options,
		   const struct plan *plan, const struct data_source *source)
{
	*selection = (struct selection){
		.options = options,
		.source = source,
		.own = source->own ? source->own : INT64_MAX,
		/* The pids of a configuration file are for live runs. */
		.by_pid =
			options->pids && (source->proc || options_on_command_line(options, "pid")),
	};
	selection->any = source->command || selection->by_pid || source->recorded;
	if (source->command)
		selection->command = command_tasks_new(plan, source->command);
	return !source->command == !selection->command ? 0 : -ENOMEM;
}

void selection_destroy(struct selection *selection)
{
	command_tasks_free(selection->command);
}

const pid_t *selection_pids(const struct selection *selection)
{
	return selection->by_pid ? selection->options->pids : selection->source->recorded;
}

/* ---- records ---- */

static bool has_pid(const pid_t *pids, pid_t pid)
{
	while (*pids && *pids != pid)
		pids++;
	return *pids;
}

bool selection_has_record(struct selection *selection, const struct record *record)
{
	const pid_t *recorded = selection->source->recorded;
	const struct task_info *task;

	if (selection->command)
		command_tasks_see(selection->command, record);
	if (selection_is_own(selection, record))
		return false;
	if (selection->command && !command_tasks_has(selection->command, record))
		return false;
	if (!selection->by_pid && !recorded)
		return true;
	task = resolver_task(selection->resolver, record->tid, record->ts);
	if (selection->by_pid)
		return !record_in_interrupt(record) &&
		       has_pid(selection->options->pids, task->pid ? task->pid : record->tid);
	/*
	 * Some kernels record functions of other tasks too. An unknown task is more likely a thread
	 * that soon ended.
	 */
	return !task->pid || has_pid(recorded, task->pid);
}

/* ---- stalls ---- */

/* The name alone proves nothing: any program may use it, and end before it is looked up. */
bool selection_is_background(const struct named_stall *named)
{
	const struct task_info *task = named->task_info;
	const char *name = named->name;
	static const char *const names[] = { "kswapd", "kcompactd" };

	if (task_key_in_interrupt(named->stall->key) || *name != 'k' ||
	    (task->pid ? !task->kernel_thread : task->ended))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(name, names[i], length) && isdigit((unsigned char)name[length]))
			return true;
	}
	return false;
}

/* A backslash is itself: names of units have some (systemd-escape(1)). */
static bool matches(const char *glob, const char *name)
{
	return !fnmatch(glob, name, FNM_NOESCAPE);
}

/*
 * A glob matches the path or name of the cgroup, or of one around it; the root only if the task is
 * in the root itself.
 */
static bool is_in_cgroup(const char *glob, const char *cgroup)
{
	char path[TASK_CGROUP_MAX];
	char *slash;

	snprintf(path, sizeof(path), "%s", cgroup);
	while ((slash = strrchr(path, '/'))) {
		if (matches(glob, path) || (slash[1] && matches(glob, slash + 1)))
			return true;
		*slash = '\0';
	}
	return false;
}

/* An interrupt only happened during a task. */
bool selection_has_stall(const struct selection *selection, const struct named_stall *named)
{
	const struct options *options = selection->options;
	const struct stall *stall = named->stall;

	if ((options->comm || options->cgroup) && task_key_in_interrupt(stall->key))
		return false;
	return (!options->comm || matches(options->comm, named->name)) &&
	       (!options->cgroup || is_in_cgroup(options->cgroup, named->task_info->cgroup)) &&
	       (!options->min_order || stall->order >= options->min_order);
}
