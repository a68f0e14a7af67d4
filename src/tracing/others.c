// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/text.h"
#include "allocfilt/base/trace_dir.h"
#include "tracing/kernel_look.h"
#include "tracing/others.h"

/* A file that is not at its default is a failure; with @force it is set to it. */
static int expect_default(struct settings *settings, enum setting_kind kind, const char *path,
			  const char *default_value, bool force, struct failure *failure)
{
	char *now;
	int ret = setting_read(settings->top, kind, path, &now);

	if (ret == -ENOENT)
		return 0;
	if (ret)
		return failure_set(failure,
				   ret == -EPERM || ret == -EACCES ? EXIT_STATUS_NO_TRACEFS :
								     EXIT_STATUS_RUN_TIME,
				   -ret, "cannot read %s: %m", path);
	if (!strcmp(now, default_value))
		ret = settings_keep(settings, kind, path, now, failure);
	else if (force)
		ret = settings_set(settings, kind, path, default_value, NULL, false, failure);
	else
		ret = failure_set(failure, EXIT_STATUS_IN_USE, EBUSY,
				  "tracing is in use by somebody else: %s is %.*s (--force goes on "
				  "and puts it back)",
				  path, (int)strcspn(now, "\n"), now);
	free(now);
	return ret;
}

/* irqsoff, wakeup, hwlat, osnoise, another function_graph: all of them read tracing_thresh. */
static int expect_no_threshold_reader(struct settings *settings, const char *path, bool force,
				      struct failure *failure)
{
	char *tracer;
	bool reads;

	if (setting_read(settings->top, SETTING_TRACER, path, &tracer))
		return 0;
	reads = !kernel_has_word("nop function blk", tracer);
	free(tracer);
	return reads ? expect_default(settings, SETTING_TRACER, path, "nop", force, failure) : 0;
}

struct instance_check {
	struct settings *settings;
	bool force;
	struct failure *failure;
	int ret;
};

static int check_instance(const char *name, void *context)
{
	struct instance_check *check = context;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "instances/%s/current_tracer", name);
	check->ret =
		expect_no_threshold_reader(check->settings, path, check->force, check->failure);
	return check->ret;
}

int others_check_global(struct settings *settings, bool force, struct failure *failure)
{
	/* trace.c has one tracing_thresh and ftrace.c one graph hash for all instances. */
	static const struct {
		enum setting_kind kind;
		const char *path;
		const char *default_value;
	} shared[] = {
		{ SETTING_NUMBER, "tracing_thresh", "0" },
		{ SETTING_NUMBER, "max_graph_depth", "0" },
		{ SETTING_LIST, "set_graph_function", "" },
		{ SETTING_LIST, "set_graph_notrace", "" },
	};
	struct instance_check check = { settings, force, failure, 0 };
	/* Tracers come first: a change of the threshold would reach one that runs. */
	int ret = expect_no_threshold_reader(settings, "current_tracer", force, failure);

	if (!ret) {
		tracefs_instances_walk(check_instance, &check);
		ret = check.ret;
	}
	for (size_t i = 0; i < ARRAY_SIZE(shared) && !ret; i++)
		ret = expect_default(settings, shared[i].kind, shared[i].path,
				     shared[i].default_value, force, failure);
	return ret;
}

/*
 * Counts what the buffer holds, or clears it. @ret_cpu: the last CPU of which it holds some. The file trace
 * clears what online CPUs have (kernel/trace/trace.c: tracing_open()), and so does a change of the clock.
 * libtracefs 1.6 has no tracefs_instance_get_stat().
 */
static uint64_t buffer_entries(const struct settings *settings, bool clear, int *ret_cpu)
{
	int *cpus = NULL;
	int count = cpu_directories(tracefs_instance_get_trace_dir(settings->top), &cpus);
	uint64_t sum = 0;

	for (int i = 0; i < count; i++) {
		char path[64], *stats;
		uint64_t held;

		snprintf(path, sizeof(path), "per_cpu/cpu%d/stats", cpus[i]);
		stats = tracefs_instance_file_read(settings->top, path, NULL);
		held = stats ? text_number(stats, "entries: ") : 0;
		free(stats);
		sum += held;
		if (held)
			*ret_cpu = cpus[i];
		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace", cpus[i]);
		if (held && clear)
			tracefs_instance_file_clear(settings->top, path);
	}
	free(cpus);
	return sum;
}

/*
 * An unused snapshot says so in its head. tracefs_instance_file_read() would read as many entries
 * as a used one has.
 */
static bool has_snapshot(const struct settings *settings)
{
	int fd = tracefs_instance_file_open(settings->top, "snapshot",
					    O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[256];

	return file_read_start(fd, head, sizeof(head)) && !strstr(head, "Snapshot is freed");
}

/* set_event was empty but for events with histograms when it was checked: see SETTING_EVENTS. */
static bool has_histogram(const struct settings *settings)
{
	char *events = tracefs_instance_file_read(settings->top, "set_event", NULL);
	bool has = events && *events;

	free(events);
	return has;
}

int others_check_top_level(struct settings *settings, bool pids, bool force,
			   struct failure *failure)
{
	int ret = expect_default(settings, SETTING_TRACER, "current_tracer", "nop", force, failure);
	char counted[TEXT_COUNTED_MAX];
	uint64_t entries;
	int cpu = 0;

	if (!ret)
		ret = expect_default(settings, SETTING_EVENTS, "set_event", "", force, failure);
	if (ret)
		return ret;
	if (pids && !force && has_histogram(settings))
		return failure_set(failure, EXIT_STATUS_IN_USE, EBUSY,
				   "tracing is in use by somebody else: events in set_event have "
				   "histograms, which would not count other tasks than those of -p "
				   "or COMMAND meanwhile (--force)");
	entries = buffer_entries(settings, force, &cpu);
	if (entries && force)
		log_warning("the top-level buffer held %s, now lost",
			    text_counted(counted, entries, "entr{ies|y}"));
	else if (entries)
		return failure_set(failure, EXIT_STATUS_IN_USE, EBUSY,
				   "tracing is in use by somebody else: the top-level buffer holds "
				   "%s, which would be lost (echo > trace clears it, or "
				   "> per_cpu/cpu%d/trace where that CPU is offline; --force)",
				   text_counted(counted, entries, "entr{ies|y}"), cpu);
	else if (!force && has_snapshot(settings))
		return failure_set(failure, EXIT_STATUS_IN_USE, EBUSY,
				   "tracing is in use by somebody else: a snapshot is taken, which "
				   "would be lost (echo 0 > snapshot frees it; --force)");
	return 0;
}
