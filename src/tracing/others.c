// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/tracing.h"
#include "tracing/others.h"

struct obstacle {
	const char *path;
	enum step_kind kind;
	const char *neutral;
};

/* All of them act on every instance: trace.c has one tracing_thresh, ftrace.c one graph hash. */
static const struct obstacle everywhere[] = { { "tracing_thresh", STEP_NUMBER, "0" },
					      { "max_graph_depth", STEP_NUMBER, "0" },
					      { "set_graph_function", STEP_LIST, "" },
					      { "set_graph_notrace", STEP_LIST, "" },
					      { NULL } };

static const struct obstacle at_top[] = { { "current_tracer", STEP_TRACER, "nop" },
					  { "set_event", STEP_EVENTS, "" },
					  { NULL } };

static int in_use(struct failure *failure, const char *path, const char *value)
{
	return failure_set(
		failure, EXIT_STATUS_IN_USE, EBUSY,
		"tracing is in use by somebody else: %s is %.*s (--force goes on and puts it back)",
		path, (int)strcspn(value, "\n"), value);
}

static int clear(struct steps *steps, const struct obstacle *obstacle, bool force,
		 struct failure *failure)
{
	char *now;
	int ret = steps_read(steps, obstacle->kind, obstacle->path, &now);

	if (ret == -ENOENT)
		return 0;
	if (ret)
		return failure_set(failure,
				   ret == -EPERM || ret == -EACCES ? EXIT_STATUS_NO_TRACEFS :
								     EXIT_STATUS_RUN_TIME,
				   -ret, "cannot read %s: %s", obstacle->path, strerror(-ret));
	if (!strcmp(now, obstacle->neutral))
		ret = 0;
	else if (force)
		ret = steps_set(steps, obstacle->kind, obstacle->path, obstacle->neutral, NULL,
				false, failure);
	else
		ret = in_use(failure, obstacle->path, now);
	free(now);
	return ret;
}

static int clear_all(struct steps *steps, const struct obstacle *obstacles, bool force,
		     struct failure *failure)
{
	int ret = 0;

	for (; obstacles->path && !ret; obstacles++)
		ret = clear(steps, obstacles, force, failure);
	return ret;
}

/* irqsoff, wakeup, hwlat, osnoise, another function_graph: all read tracing_thresh. */
static bool reads_threshold(const struct steps *steps, const char *path)
{
	char *tracer;
	bool reads;

	if (steps_read(steps, STEP_TRACER, path, &tracer))
		return false;
	reads = !kernel_has_word("nop function blk", tracer);
	free(tracer);
	return reads;
}

static int clear_tracer(struct steps *steps, const char *path, bool force, struct failure *failure)
{
	struct obstacle tracer = { path, STEP_TRACER, "nop" };

	return reads_threshold(steps, path) ? clear(steps, &tracer, force, failure) : 0;
}

static int clear_instances(struct steps *steps, bool force, struct failure *failure)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *instances;
	int ret = 0;

	if (file_path(path, steps->dir, "instances"))
		return 0;
	instances = opendir(path);
	while (instances && !ret && (entry = readdir(instances))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "instances/%s/current_tracer", entry->d_name);
		ret = clear_tracer(steps, path, force, failure);
	}
	if (instances)
		closedir(instances);
	return ret;
}

int others_everywhere(struct steps *steps, bool force, struct failure *failure)
{
	/* Tracers first: with theirs running, a change of the threshold would reach them. */
	int ret = clear_tracer(steps, "current_tracer", force, failure);

	if (!ret)
		ret = clear_instances(steps, force, failure);
	return ret ? ret : clear_all(steps, everywhere, force, failure);
}

static long long entries_of(const char *stats)
{
	const char *entries = strstr(stats, "entries: ");

	return entries ? atoll(entries + strlen("entries: ")) : 0;
}

static long long buffer_entries(const struct steps *steps)
{
	char path[PATH_MAX], *stats;
	long long entries = 0;
	struct dirent *entry;
	DIR *cpus;

	if (file_path(path, steps->dir, "per_cpu"))
		return 0;
	cpus = opendir(path);
	while (cpus && (entry = readdir(cpus))) {
		if (strncmp(entry->d_name, "cpu", 3))
			continue;
		snprintf(path, sizeof(path), "per_cpu/%s/stats", entry->d_name);
		if (file_read(steps->dir, path, &stats, NULL))
			continue;
		entries += entries_of(stats);
		free(stats);
	}
	if (cpus)
		closedir(cpus);
	return entries;
}

/* The head of an unused one says so; of one in use come as many entries as it has. */
static bool has_snapshot(const struct steps *steps)
{
	char path[PATH_MAX], head[256];
	ssize_t got;
	int fd;

	if (file_path(path, steps->dir, "snapshot"))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	got = read(fd, head, sizeof(head) - 1);
	close(fd);
	if (got <= 0)
		return false;
	head[got] = '\0';
	return !strstr(head, "Snapshot is freed");
}

static int check_contents(const struct steps *steps, bool force, struct failure *failure)
{
	long long entries = buffer_entries(steps);

	if (!entries && !has_snapshot(steps))
		return 0;
	if (force && entries)
		log_warning("the %lld entries of the top-level buffer are lost", entries);
	if (force)
		return 0;
	if (entries)
		return failure_set(
			failure, EXIT_STATUS_IN_USE, EBUSY,
			"tracing is in use by somebody else: the top-level buffer holds %lld entries, "
			"which would be lost (echo > trace clears it; --force)",
			entries);
	return failure_set(
		failure, EXIT_STATUS_IN_USE, EBUSY,
		"tracing is in use by somebody else: a snapshot is taken, which would be lost "
		"(echo 0 > snapshot frees it; --force)");
}

int others_at_top(struct steps *steps, bool force, struct failure *failure)
{
	int ret = clear_all(steps, at_top, force, failure);

	return ret ? ret : check_contents(steps, force, failure);
}
