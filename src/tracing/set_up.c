// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"
#include "allocfilt/base/text.h"
#include "allocfilt/base/trace_dir.h"
#include "tracing/kernel_look.h"
#include "tracing/session_parts.h"

#define BUFFERS_SHARE	 4 /* 1/BUFFERS_SHARE of the available memory, for all CPUs */
#define GROW_AFTER	 (60 * NS_PER_SECOND) /* when a buffer that is too small is tried again */
#define CPUS_MAX	 8192		      /* NR_CPUS of any configuration */
#define LISTINGS_MAX	 16	/* listings of threads, until the kernel follows all of them */
#define LISTING_PAUSE_US 125000 /* for want of memory: 2 s in all */

static int set_options(struct session *session, struct failure *failure)
{
	static const struct {
		const char *name;
		const char *value;
		bool pids_only;
		bool shared; /* a tracer's option: one for all instances on 6.12 */
	} options[] = {
		{ "options/record-cmd", "1" }, /* fills saved_cmdlines */
		{ "options/markers", "1" },    /* off, trace_marker accepts nothing */
		{ "options/overwrite", "1" },  /* off, no page says what was lost */
		{ "options/stacktrace", "0" }, /* a stack after each of our events */
		{ "options/userstacktrace", "0" },
		{ "options/event-fork", "1", .pids_only = true }, /* new threads too */
		{ "options/function-fork", "1", .pids_only = true },
		{ "options/sleep-time", "1", .shared = true },	   /* off, calltime is moved */
		{ "options/funcgraph-irqs", "1", .shared = true }, /* off, nothing of interrupts */
	};
	const pid_t *pids = session->request->pids;
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(options) && !ret; i++) {
		if (!tracefs_file_exists(session->own, options[i].name) ||
		    (options[i].pids_only && !(pids && *pids)))
			continue;
		ret = settings_set(&session->settings, SETTING_NUMBER,
				   OWN(session, "%s", options[i].name), options[i].value, NULL,
				   session->instance && !options[i].shared, failure);
	}
	return ret;
}

/* CPUs whose sizes differ are set, and put back, one by one. */
#define BUFFER(session, i)                                                                         \
	((session)->differ ? OWN(session, "per_cpu/cpu%d/buffer_size_kb", (session)->cpus[i]) :    \
			     OWN(session, "buffer_size_kb"))

static int nr_buffers(const struct session *session)
{
	return session->differ ? session->nr_cpus : 1;
}

/* The kernel would give a buffer the last page that is available, and then kill other programs. */
static int resize_buffer(struct session *session, int i, unsigned long long kb)
{
	unsigned long long share = memory_available() / 1024 / BUFFERS_SHARE;
	char size[32];

	if (kb * kernel_online_cpus() > share)
		return -ENOMEM;
	snprintf(size, sizeof(size), "%llu", kb);
	return settings_change(&session->settings, SETTING_SIZE, BUFFER(session, i), size, NULL,
			       session->instance);
}

/*
 * A size for which there is no memory is halved until there is some, or until it is no more than
 * the buffer has.
 */
static int set_buffer_of(struct session *session, int i, struct failure *failure)
{
	const char *path = BUFFER(session, i);
	char *text = tracefs_instance_file_read(session->settings.top, path, NULL), first[32];
	unsigned long long kb = session->wanted_kb, has;
	int ret;

	if (!text)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "cannot read %s: %m",
				   path);
	/* "7 (expanded: 1408)": it has 7 KiB as long as nobody uses it. */
	has = strtoull(text, NULL, 10);
	free(text);
	/* A size that needs no memory comes first, so that the file is ours whatever follows. */
	snprintf(first, sizeof(first), "%llu", has < kb ? has : kb);
	ret = settings_set(&session->settings, SETTING_SIZE, path, first, NULL, session->instance,
			   failure);
	/* A CPU that never came online. */
	if (ret == -ENOENT && session->differ)
		return 0;
	if (ret)
		return ret;
	while (kb > has && resize_buffer(session, i, kb))
		kb /= 2;
	kb = MAX(kb, has);
	session->buffer_kb = MIN(session->buffer_kb, kb);
	return 0;
}

static int set_buffer(struct session *session, struct failure *failure)
{
	char *found;
	int ret = setting_read(session->settings.top, SETTING_SIZE, OWN(session, "buffer_size_kb"),
			       &found);

	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "cannot read buffer_size_kb: %m");
	/* CPUs of different sizes read as X. */
	session->differ = !strcmp(found, "X");
	free(found);
	session->nr_cpus = cpu_directories(session->dir, &session->cpus);
	if (session->nr_cpus <= 0)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOENT,
				   "%s/per_cpu: no CPU to trace", session->dir);
	session->wanted_kb = (session->request->buffer + 1023) / 1024;
	session->buffer_kb = session->wanted_kb;
	for (int i = 0; i < nr_buffers(session) && !ret; i++)
		ret = set_buffer_of(session, i, failure);
	if (ret || session->buffer_kb == session->wanted_kb)
		return ret;
	session->grow_at = clock_ns(CLOCK_MONOTONIC) + GROW_AFTER;
	log_notice("memory is short: a buffer of %llu KiB for each CPU, not %llu; that is tried "
		   "again in a minute",
		   session->buffer_kb, session->wanted_kb);
	return 0;
}

/* The functions of the plan, one a line, by name or index; free() it; NULL: no memory. */
static char *function_list(const struct session *session, bool by_index)
{
	const struct plan *plan = session->request->plan;
	const struct kernel *kernel = session->request->kernel;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	for (int i = 0; file && i < plan->nr_functions; i++) {
		if (!by_index)
			fprintf(file, "%s\n", plan->functions[i].name);
		for (int j = 0; by_index && j < kernel->nr_functions; j++)
			if (!strcmp(kernel->functions[j], plan->functions[i].name))
				fprintf(file, "%u\n", kernel->indexes[j]);
	}
	return text_close(file, &text);
}

/*
 * The kernel compares a name with each of its functions, 32,000 on 5.10 and 44,000 on 7.3, which
 * takes 33 to 68 ms a name under emulation, and accepts an index as it is. A module loaded or removed
 * since the list was read shifts the indexes after it: then reading back fails, and names are written.
 */
static int set_function_filter(struct session *session, struct failure *failure)
{
	char *names, *indexes;
	int ret;

	if (!session->graph)
		return 0;
	names = function_list(session, false);
	indexes = function_list(session, true);
	if (names && indexes)
		ret = session_set_optional(session, SETTING_LIST, "set_ftrace_notrace", "",
					   failure);
	else
		ret = failure_no_memory(failure);
	if (!ret &&
	    settings_set(&session->settings, SETTING_LIST, OWN(session, "set_ftrace_filter"), names,
			 indexes, session->instance, failure))
		ret = session_set(session, SETTING_LIST, "set_ftrace_filter", names, failure);
	free(indexes);
	free(names);
	return ret;
}

/* With a mask that leaves CPUs out the kernel drops their records, uncounted. */
static int set_cpus(struct session *session, struct failure *failure)
{
	char mask[CPUS_MAX / 32 * 9 + 1] = "";
	const int *cpus = session->cpus;

	for (int word = cpus[session->nr_cpus - 1] / 32; word >= 0; word--) {
		size_t used = strlen(mask);
		uint32_t bits = 0;

		for (int i = 0; i < session->nr_cpus; i++)
			bits |= cpus[i] / 32 == word ? UINT32_C(1) << cpus[i] % 32 : 0;
		snprintf(mask + used, sizeof(mask) - used, used ? ",%08x" : "%x", bits);
	}
	return session_set_optional(session, SETTING_MASK, "tracing_cpumask", mask, failure);
}

/* Threads of the processes asked for, "" for everything; free() it; NULL: no memory. */
static char *thread_list(const pid_t *pids)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	for (; file && pids && *pids; pids++) {
		char path[64];
		struct dirent *entry;
		DIR *threads;

		snprintf(path, sizeof(path), "/proc/%d/task", *pids);
		threads = opendir(path);
		if (!threads) {
			fprintf(file, "%d\n", *pids);
			continue;
		}
		while ((entry = readdir(threads)))
			if (entry->d_name[0] != '.')
				fprintf(file, "%s\n", entry->d_name);
		closedir(threads);
	}
	return text_close(file, &text);
}

/*
 * A thread born between the listing of its parent and the write is in no list. Lists them again, and
 * adds those to the kernel's list that are not in it, until none is. Memory may be short meanwhile.
 */
static int add_late_threads(struct session *session, const char *name, struct failure *failure)
{
	bool all = false;
	int ret = 0;

	for (int i = 0; i < LISTINGS_MAX && !all && (!ret || ret == -ENOMEM); i++) {
		char *threads = thread_list(session->request->pids), *followed = NULL;

		if (ret)
			usleep(LISTING_PAUSE_US);
		ret = threads ? setting_read(session->settings.top, SETTING_THREADS,
					     OWN(session, "%s", name), &followed) :
				-ENOMEM;
		all = !ret && setting_is_part(SETTING_THREADS, followed, "", threads);
		errno = 0;
		if (!ret && !all && tracefs_instance_file_append(session->own, name, threads) < 0)
			ret = errno ? -errno : -EIO;
		free(followed);
		free(threads);
	}
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "cannot add threads to %s: %m", name);
	if (!all)
		log_notice("-p: threads are born faster than they can be listed; some may be "
			   "missing in %s",
			   name);
	return 0;
}

static int set_threads(struct session *session, const char *name, struct failure *failure)
{
	char *threads;
	int ret;

	if (!tracefs_file_exists(session->own, name))
		return 0;
	threads = thread_list(session->request->pids);
	if (!threads)
		return failure_no_memory(failure);
	ret = session_set(session, *threads ? SETTING_THREADS : SETTING_PIDS, name, threads,
			  failure);
	if (!ret && *threads)
		ret = add_late_threads(session, name, failure);
	free(threads);
	return ret;
}

static int set_tasks(struct session *session, struct failure *failure)
{
	char own[16] = "";
	int ret = set_threads(session, "set_event_pid", failure);

	if (session->request->exclude_own)
		snprintf(own, sizeof(own), "%d\n", getpid());
	if (!ret && session->graph)
		ret = set_threads(session, "set_ftrace_pid", failure);
	if (!ret)
		ret = session_set_optional(session, SETTING_PIDS, "set_event_notrace_pid", own,
					   failure);
	if (!ret && session->graph)
		ret = session_set_optional(session, SETTING_PIDS, "set_ftrace_notrace_pid", own,
					   failure);
	return ret;
}

/*
 * The functions are set before the tracer, which would otherwise patch all functions of the kernel;
 * and so is the threshold, as an instance chooses its exit handler when the tracer is set.
 */
int session_set_up(struct session *session, struct failure *failure)
{
	/*
	 * event-fork and function-fork are set before the list of tasks whose children they follow.
	 */
	static int (*const steps[])(struct session * session, struct failure * failure) = {
		set_buffer,	    set_function_filter, set_cpus, set_options, set_tasks,
		session_set_events, session_count_tasks,
	};
	struct settings *settings = &session->settings;
	char threshold[32]; /* us */
	int ret = session_set(session, SETTING_NUMBER, "tracing_on", "0", failure);

	if (!ret)
		ret = session_set(session, SETTING_WORD, "trace_clock", "local", failure);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !ret; i++)
		ret = steps[i](session, failure);
	if (ret || !session->graph)
		return ret;
	/*
	 * Both are restored even in an instance: the threshold is global, and goes back only when
	 * our tracer no longer reads it.
	 */
	snprintf(threshold, sizeof(threshold), "%" PRIu64,
		 session->request->plan->threshold / NS_PER_US);
	ret = settings_set(settings, SETTING_NUMBER, "tracing_thresh", threshold, NULL, false,
			   failure);
	if (!ret)
		ret = settings_set(settings, SETTING_TRACER, OWN(session, "current_tracer"),
				   "function_graph", NULL, false, failure);
	/* The options are set once more: some exist only with their tracer. */
	return ret ? ret : set_options(session, failure);
}

/* ---- during the run ---- */

void session_set_buffer_percent(struct session *session, int percent)
{
	char value[16];

	snprintf(value, sizeof(value), "%d", percent);
	if (tracefs_file_exists(session->own, "buffer_percent"))
		settings_change(&session->settings, SETTING_NUMBER, OWN(session, "buffer_percent"),
				value, NULL, session->instance);
}

void session_grow_buffer(struct session *session)
{
	int ret = 0;

	if (!session->grow_at || clock_ns(CLOCK_MONOTONIC) < session->grow_at)
		return;
	session->grow_at = 0;
	for (int i = 0; i < nr_buffers(session) && (!ret || ret == -ENOENT); i++)
		ret = resize_buffer(session, i, session->wanted_kb);
	if (!ret || ret == -ENOENT)
		log_notice("a buffer of %llu KiB for each CPU now", session->wanted_kb);
}
