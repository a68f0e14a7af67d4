// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/text.h"
#include "allocfilt/names/cgroups.h"
#include "allocfilt/stall/cause.h"

#define TASKS_MAX 4194304 /* numbers of tasks: PID_MAX_LIMIT, include/linux/threads.h */

/* A backslash is itself: names of units have some (systemd-escape(1)). */
static bool matches(const char *glob, const char *name)
{
	return !fnmatch(glob, name, FNM_NOESCAPE);
}

static int check_cause(const char *glob, struct failure *failure)
{
	char keys[FAILURE_TEXT_MAX] = "";
	size_t used = 0;

	for (int i = 0; i < CAUSES; i++) {
		if (matches(glob, cause_name(i)->key))
			return 0;
		used = text_append(keys, sizeof(keys), used, i ? ", " : "");
		used = text_append(keys, sizeof(keys), used, cause_name(i)->key);
	}
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
			   "--cause '%.64s' is no cause; allowed: %s", glob, keys);
}

static int parse_bound(const struct selection *selection, const char *option, const char *text,
		       uint64_t *ret_bound, struct failure *failure)
{
	uint64_t started = selection->source->started;

	*ret_bound = 0;
	if (!text ||
	    (started && text_parse_time(text, started, selection->options->local, ret_bound)))
		return 0;
	if (!started)
		return failure_set(failure, EXIT_STATUS_USAGE, ENODATA,
				   "%s: the capture does not tell the time of the day", option);
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
			   "%s '%.64s' is no time; " OPTIONS_CLOCK_TIME, option, text);
}

static void set_of_command(struct selection *selection, int tid, bool is_one)
{
	uint64_t bit = UINT64_C(1) << tid % 64;

	if (tid <= 0 || tid >= TASKS_MAX)
		return;
	if (is_one)
		selection->command[tid / 64] |= bit;
	else
		selection->command[tid / 64] &= ~bit;
}

int selection_init(struct selection *selection, const struct options *options,
		   const struct plan *plan, const struct data_source *source,
		   struct failure *failure)
{
	int ret;

	*selection = (struct selection){
		.options = options,
		.plan = plan,
		.source = source,
		/* The pids of a configuration file are for live runs. */
		.by_pid =
			options->pids && (source->proc || options_on_command_line(options, "pid")),
	};
	selection->any = source->command || selection->by_pid || source->recorded;
	/* A damaged capture may have no task's number here: then nobody knows which tasks are COMMAND's. */
	if (source->command > 0 && source->command < TASKS_MAX) {
		selection->command = calloc(TASKS_MAX / 64, sizeof(*selection->command));
		if (!selection->command)
			return failure_no_memory(failure);
		/* Our child is COMMAND from its exec on. */
		set_of_command(selection, source->command, plan_event_of(plan, EVENT_EXEC) < 0);
	}
	ret = options->cause ? check_cause(options->cause, failure) : 0;
	if (!ret)
		ret = parse_bound(selection, "--from", options->from, &selection->from, failure);
	if (!ret)
		ret = parse_bound(selection, "--to", options->to, &selection->to, failure);
	if (!ret && selection->to && selection->from >= selection->to)
		ret = failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "--from is not before --to");
	return ret;
}

void selection_destroy(struct selection *selection)
{
	free(selection->command);
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

/* Execs, forks and exits tell which tasks are COMMAND's. */
static void see_command(struct selection *selection, const struct record *record)
{
	const struct plan_event *event;

	if (record->kind != RECORD_EVENT || record_in_interrupt(record))
		return;
	event = &selection->plan->events[record->event];
	/* Some events are written by another task than theirs. */
	if (selection->lost && (event->rule == RULE_OWNER || event->rule == RULE_PAIR))
		set_of_command(selection, record->tid, true);
	if (event->id == EVENT_EXEC)
		set_of_command(selection, record->tid, true);
	else if (event->id == EVENT_FORK)
		set_of_command(selection, record->child, true);
	else if (event->id == EVENT_EXIT) /* The number is free for others. */
		set_of_command(selection, record->tid, false);
}

static bool is_of_command(const struct selection *selection, const struct record *record)
{
	return !record_in_interrupt(record) && record->tid > 0 && record->tid < TASKS_MAX &&
	       selection->command[record->tid / 64] >> record->tid % 64 & 1;
}

bool selection_has_record(struct selection *selection, const struct record *record)
{
	const pid_t *recorded = selection->source->recorded;
	const struct task_info *task;

	if (selection->command)
		see_command(selection, record);
	if (selection->command && !is_of_command(selection, record))
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

bool selection_in_range(const struct selection *selection, uint64_t ts)
{
	uint64_t time = resolver_realtime(selection->resolver, ts);

	return time >= selection->from && (!selection->to || time < selection->to);
}

/* The name alone proves nothing: any program may use it, and end before it is looked up. */
static bool is_background_thread(const struct named_stall *named)
{
	const struct task_info *task = named->task_info;
	const char *name = named->name;

	if (task_key_in_interrupt(named->stall->key) || *name != 'k' ||
	    (task->pid ? !task->kernel_thread : task->ended))
		return false;
	return matches("kswapd[0-9]*", name) || matches("kcompactd[0-9]*", name) ||
	       !strcmp(name, "khugepaged");
}

/*
 * From 5.9 on the kernel counts no memory wait where somebody lowers a limit or writes to memory.reclaim
 * (mm/memcontrol.c), nor ever for compact_memory and drop_caches (mm/compaction.c, fs/drop_caches.c). Where
 * waits of some tasks alone are recorded, so are events.
 */
static bool works_without_wait(const struct selection *selection, const struct stall *stall)
{
	return !stall->waited && !stall->incomplete && (stall->nr_events || !selection->any) &&
	       stall->phases.groups & (1u << PHASE_MEMCG_RECLAIM | 1u << PHASE_OTHER_RECLAIM |
				       1u << PHASE_COMPACTION) &&
	       plan_has_waits(selection->plan);
}

void selection_set_background(const struct selection *selection, struct named_stall *named)
{
	bool thread = is_background_thread(named);

	named->background = thread || works_without_wait(selection, named->stall);
	named->on_purpose = named->background && !thread && !named->task_info->kernel_thread;
}

/* An interrupt only happened during a task. */
bool selection_has_stall(const struct selection *selection, const struct named_stall *named)
{
	const struct options *options = selection->options;
	const struct stall *stall = named->stall;

	if ((options->comm || options->cgroup) && task_key_in_interrupt(stall->key))
		return false;
	return (!options->comm || matches(options->comm, named->name)) &&
	       (!options->cgroup || cgroup_matches(options->cgroup, named->task_info->cgroup)) &&
	       (!options->min_order || stall->order >= options->min_order) &&
	       (!options->cause || matches(options->cause, cause_name(cause_which(stall))->key));
}
