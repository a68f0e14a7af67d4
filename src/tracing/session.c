// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/tracing.h"
#include "tracing/kernel.h"
#include "tracing/others.h"
#include "tracing/settings.h"
#include "tracing/undo.h"

#define INSTANCE_PATH "instances/" SESSION_INSTANCE
#define PROBE_PATH    "events/" PROBE_EVENT
#define CPUS_MAX      8192 /* NR_CPUS of any configuration */
/* TASK_INTERRUPTIBLE and TASK_UNINTERRUPTIBLE: a task that can run has nowhere to sleep. */
#define SLEEP_TRIGGER "stacktrace if prev_state & 3"

#define LISTINGS_MAX	 16	/* of threads, until the kernel follows all of them */
#define LISTING_PAUSE_US 125000 /* for want of memory: 2 s in all */

#define HISTOGRAM_SHARE	     32	   /* of what is available, for all histograms */
#define HISTOGRAM_BYTES	     320   /* of an entry, as seen on 7.3: kernel/trace/tracing_map.c */
#define HISTOGRAM_LEAST	     2048  /* entries: the kernel's default */
#define HISTOGRAM_SITES_MOST 4096  /* more than there are call sites */
#define HISTOGRAM_MOST	     65536 /* of those that have a row for each task */

#define FIRST_BUFFER_KB 1408 /* of each CPU of a new instance: TRACE_BUF_SIZE_DEFAULT */
#define GROW_AFTER	60   /* s: when a buffer that is too small is tried again */

struct session {
	const struct session_request *request; /* during session_start() only */
	struct undo *undo;
	struct settings settings;
	struct tracefs_instance *own;	 /* where our buffers are: our instance or the top level */
	char *dir;			 /* of own */
	bool instance;			 /* own is our instance */
	bool graph;			 /* the tracer is function_graph */
	bool on;			 /* tracing_on */
	bool has_probe;			 /* the probe is defined */
	bool stack;			 /* events have triggers */
	char *triggers[HISTOGRAM_COUNT]; /* of an account; NULL: none */
	char threshold[32];		 /* us, as tracing_thresh reads */
	char *subbuf; /* KiB, as buffer_subbuf_size_kb reads; NULL: no such file */
	int *cpus, nr_cpus;
	bool differ;		      /* in the size of their buffers */
	unsigned long long wanted_kb; /* KiB of each CPU's buffer */
	unsigned long long buffer_kb; /* the least that a CPU has, not more than wanted */
	time_t grow_at;		      /* s: when that is tried again; 0: not */
};

static time_t monotonic_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static int out_of_memory(struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
}

/* The path of a file of our buffers, below the tracing directory. */
static const char *own_path(const struct session *session, const char *name, char *buffer)
{
	snprintf(buffer, PATH_MAX, "%s%s", session->instance ? INSTANCE_PATH "/" : "", name);
	return buffer;
}

#define OWN(session, name) own_path(session, name, (char[PATH_MAX]){ 0 })

static int set_own(struct session *session, enum setting_kind kind, const char *name,
		   const char *value, struct failure *failure)
{
	return settings_set(&session->settings, kind, OWN(session, name), value, NULL,
			    session->instance, failure);
}

/* Not every kernel has every file. */
static int set_optional(struct session *session, enum setting_kind kind, const char *name,
			const char *value, struct failure *failure)
{
	return tracefs_file_exists(session->own, name) ?
		       set_own(session, kind, name, value, failure) :
		       0;
}

/* ---- what a killed run left: an undo file, or what has our name without one ---- */

static int restore_settings(struct undo *undo, struct settings *settings, struct failure *failure)
{
	const char *dir = tracefs_instance_get_trace_dir(settings->top);
	int ret = settings_restore(settings, failure);

	/* Without its mount each file seems to be gone with its event or CPU. */
	if (!ret && !kernel_on_tracefs(dir))
		ret = failure_set(failure, EXIT_STATUS_NOT_RESTORED, ENODEV,
				  "%s is not on tracefs any longer, so nothing was put back: "
				  "mount -t tracefs tracefs %s, then allocfilt --restore",
				  dir, dir);
	return ret ? ret : undo_remove(undo, failure);
}

/* Are sizes of buffers all that is left to restore? */
static bool only_sizes(const struct settings *settings)
{
	for (int i = 0; i < settings->count; i++)
		if (settings->setting[i].kind != SETTING_SIZE)
			return false;
	return settings->count;
}

/*
 * @next: the table of a run that is about to start, or NULL. A run needs no memory for the buffers
 * that were found: their sizes become the first entries of its table, and are put back at its end.
 * Until then the undo file has them.
 */
static int finish_undo_file(struct undo *undo, bool *found, const char *dir, struct settings *next,
			    struct failure *failure)
{
	struct settings settings;
	int pid, ret = undo_load(undo, &settings, &pid, failure);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	*found = true;
	log_notice("putting back what process %d left behind: %d settings", pid,
		   settings_left(&settings));
	settings.note = undo_note;
	settings.context = undo;
	ret = restore_settings(undo, &settings, failure);
	settings_drop_done(&settings);
	if (ret == -ENOMEM && next && only_sizes(&settings) &&
	    !strcmp(tracefs_instance_get_trace_dir(settings.top), dir)) {
		log_notice("%s; tried again at the end of this run", failure->text);
		*next = settings;
		return 0;
	}
	settings_free(&settings);
	return ret;
}

static int remove_own_name(struct settings *settings, enum setting_kind kind, const char *path,
			   bool *found, struct failure *failure)
{
	char *now;
	bool present = !setting_read(settings->top, kind, path, &now);

	if (present) {
		present = !strcmp(now, SETTING_PRESENT);
		free(now);
	}
	if (!present)
		return 0;
	*found = true;
	log_notice("removing %s%s that a killed run left behind",
		   kind == SETTING_HISTOGRAM ? "our histogram in " : "", path);
	if (settings_add(settings, kind, path, SETTING_ABSENT, SETTING_PRESENT, false))
		return out_of_memory(failure);
	return settings_restore(settings, failure);
}

/* We hold the lock, so no running allocfilt owns an instance, probe or histogram of our name. */
static int remove_own_names(char *dir, bool *found, struct failure *failure)
{
	struct settings settings;
	int ret = settings_init(&settings, dir);

	if (ret)
		return ret == -ENOMEM ? out_of_memory(failure) : 0;
	/* The instance is busy as long as it has a histogram, the probe as it is enabled in there. */
	for (int i = 0; i < 2 * HISTOGRAM_COUNT && !ret; i++) {
		const struct catalog_histogram *histogram = &catalog_histograms[i / 2];
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%sevents/%s/%s/trigger",
			 i % 2 ? INSTANCE_PATH "/" : "", histogram->system, histogram->event);
		ret = remove_own_name(&settings, SETTING_HISTOGRAM, path, found, failure);
	}
	if (!ret)
		ret = remove_own_name(&settings, SETTING_INSTANCE, INSTANCE_PATH, found, failure);
	if (!ret)
		ret = remove_own_name(&settings, SETTING_PROBE, PROBE_PATH, found, failure);
	settings_free(&settings);
	return ret;
}

int session_restore(const char *run_dir, const char *dir, struct failure *failure)
{
	struct undo *undo;
	bool found = false;
	char *top;
	int ret;

	if (dir && !kernel_on_tracefs(dir))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "-s %s: not on tracefs",
				   dir);
	top = dir ? strdup(dir) : kernel_find_dir();
	ret = undo_open(&undo, run_dir, failure);
	if (!ret) {
		ret = finish_undo_file(undo, &found, NULL, NULL, failure);
		if (!ret && top)
			ret = remove_own_names(top, &found, failure);
		undo_close(undo);
	}
	if (!ret)
		log_notice(found ? "all is as it was found" : "nothing to put back");
	free(top);
	return ret;
}

/* ---- set-up ---- */

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
				   OWN(session, options[i].name), options[i].value, NULL,
				   session->instance && !options[i].shared, failure);
	}
	return ret;
}

/* Does a CPU have another size than the others? Then each is set, and put back, by itself. */
static const char *buffer_path(const struct session *session, int i, char *buffer)
{
	char name[64] = "buffer_size_kb";

	if (session->differ)
		snprintf(name, sizeof(name), "per_cpu/cpu%d/buffer_size_kb", session->cpus[i]);
	return own_path(session, name, buffer);
}

#define BUFFER(session, i) buffer_path(session, i, (char[PATH_MAX]){ 0 })

static int nr_buffers(const struct session *session)
{
	return session->differ ? session->nr_cpus : 1;
}

static int resize_buffer(struct session *session, int i, unsigned long long kb)
{
	char size[32];

	snprintf(size, sizeof(size), "%llu", kb);
	return settings_change(&session->settings, SETTING_SIZE, BUFFER(session, i), size, NULL,
			       session->instance);
}

/* For a size that cannot be had half of it is tried, and so on down to what the buffer has. */
static int set_buffer_of(struct session *session, int i, struct failure *failure)
{
	const char *path = BUFFER(session, i);
	char *text = tracefs_instance_file_read(session->settings.top, path, NULL), first[32];
	unsigned long long kb = session->wanted_kb, has;
	int ret;

	if (!text)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "cannot read %s: %s", path,
				   strerror(errno));
	/* "7 (expanded: 1408)": it has 7 KiB as long as nobody uses it. */
	has = strtoull(text, NULL, 10);
	free(text);
	/* This size needs no memory, and makes the buffer ours. */
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
	if (kb < has)
		kb = has;
	if (kb < session->buffer_kb)
		session->buffer_kb = kb;
	return 0;
}

static int set_buffer(struct session *session, struct failure *failure)
{
	char *found;
	int ret = setting_read(session->settings.top, SETTING_SIZE, OWN(session, "buffer_size_kb"),
			       &found);

	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "cannot read buffer_size_kb: %s", strerror(-ret));
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
	session->grow_at = monotonic_seconds() + GROW_AFTER;
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
	if (file && !fclose(file))
		return text;
	free(text);
	return NULL;
}

/*
 * The kernel compares a name with each of its functions, 32,000 on 5.10 and 44,000 on 7.3, which
 * takes 33 to 68 ms a name under emulation, and accepts an index as it is. A module loaded or removed
 * since the list was read shifts the indexes after it: then reading back fails, and names are written.
 */
static int set_functions(struct session *session, struct failure *failure)
{
	char *names, *indexes;
	int ret;

	if (!session->graph)
		return 0;
	names = function_list(session, false);
	indexes = function_list(session, true);
	if (names && indexes)
		ret = set_optional(session, SETTING_LIST, "set_ftrace_notrace", "", failure);
	else
		ret = out_of_memory(failure);
	if (!ret &&
	    settings_set(&session->settings, SETTING_LIST, OWN(session, "set_ftrace_filter"), names,
			 indexes, session->instance, failure))
		ret = set_own(session, SETTING_LIST, "set_ftrace_filter", names, failure);
	free(indexes);
	free(names);
	return ret;
}

/* A mask that leaves CPUs out has the kernel drop what happens on them, uncounted. */
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
	return set_optional(session, SETTING_MASK, "tracing_cpumask", mask, failure);
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
	if (file && !fclose(file))
		return text;
	free(text);
	return NULL;
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
					     OWN(session, name), &followed) :
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
				   "cannot add threads to %s: %s", name, strerror(-ret));
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
		return out_of_memory(failure);
	ret = set_own(session, *threads ? SETTING_THREADS : SETTING_PIDS, name, threads, failure);
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
		ret = set_optional(session, SETTING_PIDS, "set_event_notrace_pid", own, failure);
	if (!ret && session->graph)
		ret = set_optional(session, SETTING_PIDS, "set_ftrace_notrace_pid", own, failure);
	return ret;
}

/*
 * --stack: the kernel stack after each begin, and where a task goes to sleep. Does the event have a
 * trigger, and which text, where that is not the plain one?
 */
static bool has_stack(const struct plan_event *event, const char **ret_text)
{
	*ret_text = event->id == EVENT_SCHED_SWITCH ? SLEEP_TRIGGER : NULL;
	return event->id == EVENT_SCHED_SWITCH ||
	       (event->rule != RULE_NEVER && event->side == EVENT_BEGIN &&
		event->id != EVENT_SLAB_START && event->id != EVENT_USER);
}

static const char *event_path(const struct session *session, const struct plan_event *event,
			      const char *file, char *buffer)
{
	char name[2 * NAME_MAX + 32];

	snprintf(name, sizeof(name), "events/%s/%s/%s", event->system, event->name, file);
	return own_path(session, name, buffer);
}

#define EVENT(session, event, file) event_path(session, event, file, (char[PATH_MAX]){ 0 })

static int set_stacks(struct session *session, struct failure *failure)
{
	const struct plan *plan = session->request->plan;
	int ret = 0;

	if (!session->request->stack)
		return 0;
	for (int i = 0; i < plan->nr_events && !ret; i++) {
		const struct plan_event *event = &plan->events[i];
		const char *text;

		if (has_stack(event, &text))
			ret = settings_set(&session->settings, SETTING_TRIGGER,
					   EVENT(session, event, "trigger"), SETTING_PRESENT, text,
					   session->instance, failure);
	}
	return ret;
}

static int set_events(struct session *session, struct failure *failure)
{
	const struct plan *plan = session->request->plan;
	int ret = 0;

	for (int i = 0; i < plan->nr_events && !ret; i++) {
		const struct plan_event *event = &plan->events[i];
		char name[PATH_MAX];

		if (event->rule == RULE_NEVER)
			continue;
		snprintf(name, sizeof(name), "events/%s/%s/filter", event->system, event->name);
		if (!session->instance)
			ret = set_optional(session, SETTING_FILTER, name, "none", failure);
		if (!ret)
			ret = settings_set(&session->settings, SETTING_ENABLE,
					   EVENT(session, event, "enable"), "1", NULL,
					   session->instance, failure);
	}
	/* After mm_shrink_slab_start, so that at the end that event is off when it is restored. */
	if (!ret && session->has_probe)
		ret = set_own(session, SETTING_ENABLE, PROBE_PATH "/enable", "1", failure);
	return ret;
}

/* The kernel allocates all of them at once, and a power of two. */
static unsigned long histogram_entries(const struct plan *plan, bool by_task)
{
	unsigned long most = by_task ? HISTOGRAM_MOST : HISTOGRAM_SITES_MOST;
	unsigned long long room = memory_available() / HISTOGRAM_SHARE / HISTOGRAM_BYTES /
				  (unsigned int)__builtin_popcount(plan->histograms);
	unsigned long entries = HISTOGRAM_LEAST;

	while (entries < most && 2 * entries <= room)
		entries *= 2;
	return entries;
}

/* tracefs_hist_start() has no size, and needs a tep_handle that has parsed the event's format. */
static char *histogram_trigger(const struct session_request *request, enum histogram_id id)
{
	const struct plan *plan = request->plan;
	const struct catalog_histogram *histogram = &catalog_histograms[id];
	bool is_site = HISTOGRAM_SITES & HISTOGRAM_BIT(id);
	/*
	 * What reads them allocates as well. Of tasks that set_event_pid leaves out no histogram hears:
	 * kernel/trace/trace_events.c, trace_event_buffer_reserve().
	 */
	bool excludes_own = id > HISTOGRAM_EXITS && !request->pids;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return NULL;
	fprintf(file, "hist:name=" HISTOGRAM_PREFIX "%s:keys=%s%s", histogram->event,
		is_site && plan->sites_by_task ? "common_pid," : "", histogram->keys);
	if (histogram->values)
		fprintf(file, ":vals=%s", histogram->values);
	fprintf(file, ":size=%lu", histogram_entries(plan, !is_site || plan->sites_by_task));
	/*
	 * The name is saved when a call site gets a larger object than before, so once or twice. As
	 * a key it doubled the cost: 256 bytes of it are hashed.
	 */
	if (id == HISTOGRAM_CACHE && plan->cache_names)
		fputs(":largest=bytes_alloc:onmax($largest).save(name)", file);
	if (histogram->filter || excludes_own)
		fprintf(file, " if %s%s", histogram->filter ? histogram->filter : "",
			histogram->filter && excludes_own ? " && " : "");
	if (excludes_own)
		fprintf(file, "common_pid != %d", getpid());
	if (!fclose(file))
		return text;
	free(text);
	return NULL;
}

static const char *histogram_path(const struct session *session, enum histogram_id id,
				  const char *file, char *buffer)
{
	char name[2 * NAME_MAX + 32];

	snprintf(name, sizeof(name), "events/%s/%s/%s", catalog_histograms[id].system,
		 catalog_histograms[id].event, file);
	return own_path(session, name, buffer);
}

#define HISTOGRAM(session, id, file) histogram_path(session, id, file, (char[PATH_MAX]){ 0 })

/* One that saves something keeps its instance busy until it is removed. */
static int set_histograms(struct session *session, enum histogram_id from, enum histogram_id end,
			  struct failure *failure)
{
	int ret = 0;

	for (int id = from; id < (int)end && !ret; id++)
		if (session->triggers[id])
			ret = settings_set(&session->settings, SETTING_HISTOGRAM,
					   HISTOGRAM(session, id, "trigger"), SETTING_PRESENT,
					   session->triggers[id],
					   session->instance &&
						   !strstr(session->triggers[id], ".save("),
					   failure);
	return ret;
}

/* Forks and exits tell of tasks that are counted later: see session_on(). */
static int set_first_histograms(struct session *session, struct failure *failure)
{
	for (int id = 0; id < HISTOGRAM_COUNT; id++) {
		if (!(session->request->plan->histograms & HISTOGRAM_BIT(id)))
			continue;
		session->triggers[id] = histogram_trigger(session->request, id);
		if (!session->triggers[id])
			return out_of_memory(failure);
	}
	return set_histograms(session, 0, HISTOGRAM_EXITS + 1, failure);
}

/*
 * The functions before the tracer, which would otherwise patch all of the kernel's. The threshold
 * before the tracer, as an instance chooses its exit handler when the tracer is set.
 */
static int set_up(struct session *session, struct failure *failure)
{
	/* event-fork and function-fork before the list of tasks whose children they follow. */
	static int (*const steps[])(struct session * session, struct failure * failure) = {
		set_buffer, set_functions, set_cpus,   set_options,
		set_tasks,  set_stacks,	   set_events, set_first_histograms,
	};
	struct settings *settings = &session->settings;
	int ret = set_own(session, SETTING_NUMBER, "tracing_on", "0", failure);

	if (!ret)
		ret = set_own(session, SETTING_WORD, "trace_clock", "local", failure);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !ret; i++)
		ret = steps[i](session, failure);
	if (ret || !session->graph)
		return ret;
	/*
	 * Both are restored even in an instance: the threshold is global, and goes back only when
	 * our tracer no longer reads it.
	 */
	ret = settings_set(settings, SETTING_NUMBER, "tracing_thresh", session->threshold, NULL,
			   false, failure);
	if (!ret)
		ret = settings_set(settings, SETTING_TRACER, OWN(session, "current_tracer"),
				   "function_graph", NULL, false, failure);
	/* Once more: some options exist only with their tracer. */
	return ret ? ret : set_options(session, failure);
}

/* ---- where our buffers are ---- */

static int use_place(struct session *session, bool instance, struct failure *failure)
{
	const char *name = instance ? SESSION_INSTANCE : NULL;

	session->instance = instance;
	session->own = tracefs_instance_alloc(session->request->kernel->dir, name);
	if (session->own)
		session->dir = tracefs_instance_get_dir(session->own);
	return session->dir ? 0 : out_of_memory(failure);
}

/* tracefs_tracer_available() follows an uninitialised pointer when a read fails. */
static bool instance_has_function_graph(const struct session *session)
{
	char *tracers;
	bool has;

	if (setting_read(session->settings.top, SETTING_TRACER, INSTANCE_PATH "/available_tracers",
			 &tracers))
		return false;
	has = kernel_has_word(tracers, "function_graph");
	free(tracers);
	return has;
}

/*
 * A private instance, or the top level where an instance has no function_graph. That is read from
 * its available_tracers: a write that fails would mark the top level's buffer as expanded on 5.10
 * and 6.1. Making an instance takes 90 ms under emulation on 6.1, so none is made where the kernel
 * is too old: function_graph in an instance came with 6.11, buffer_subbuf_size_kb with 6.8. Nor is
 * one made where its first buffer would take a quarter of the memory that is available.
 */
static int choose_place(struct session *session, struct failure *failure)
{
	int ret;

	if (session->graph && !tracefs_file_exists(session->settings.top, "buffer_subbuf_size_kb"))
		return use_place(session, false, failure);
	if (kernel_online_cpus() * FIRST_BUFFER_KB * 1024ull > memory_available() / 4) {
		log_debug("no private instance: memory is short");
		return use_place(session, false, failure);
	}
	ret = settings_set(&session->settings, SETTING_INSTANCE, INSTANCE_PATH, SETTING_PRESENT,
			   NULL, false, failure);
	if (ret == -ENOENT || ret == -EROFS || ret == -ENOSYS || ret == -ENOMEM) {
		log_debug("no private instance: %s", failure->text);
		return use_place(session, false, failure);
	}
	if (ret)
		return ret;
	if (!session->graph || instance_has_function_graph(session))
		return use_place(session, true, failure);
	ret = settings_restore_path(&session->settings, INSTANCE_PATH, failure);
	return ret ? ret : use_place(session, false, failure);
}

/* Made before the instance, so that it is removed after it: while enabled there, it is busy. */
static void make_probe(struct session *session)
{
	const struct probe *probe = session->request->probe;
	struct failure failure, ignored;
	int ret;

	if (!probe)
		return;
	ret = settings_set(&session->settings, SETTING_PROBE, PROBE_PATH, SETTING_PRESENT,
			   probe->definition, false, &failure);
	session->has_probe = !ret;
	if (!ret)
		return;
	log_notice("superblocks have no names: %s", failure.text);
	settings_restore_path(&session->settings, PROBE_PATH, &ignored);
}

/* Nothing is noted: remove_own_names() knows the probe by its name. */
int session_try_probe(const struct kernel *kernel, const struct probe *probe, const char *run_dir,
		      struct failure *failure)
{
	struct settings settings;
	struct failure end;
	struct undo *undo;
	int ret = undo_open(&undo, run_dir, failure), restored;

	if (ret)
		return ret;
	ret = settings_init(&settings, kernel->dir);
	if (ret) {
		undo_close(undo);
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s: %s", kernel->dir,
				   strerror(-ret));
	}
	ret = settings_set(&settings, SETTING_PROBE, PROBE_PATH, SETTING_PRESENT, probe->definition,
			   false, failure);
	restored = settings_restore(&settings, &end);
	if (restored) {
		ret = restored;
		*failure = end;
	}
	settings_free(&settings);
	undo_close(undo);
	return ret;
}

static int start(struct session *session, struct failure *failure)
{
	const struct session_request *request = session->request;
	bool found = false;
	int ret = undo_open(&session->undo, request->run_dir, failure);

	if (!ret)
		ret = finish_undo_file(session->undo, &found, request->kernel->dir,
				       &session->settings, failure);
	if (!ret)
		ret = remove_own_names(request->kernel->dir, &found, failure);
	if (ret)
		return ret;
	if (session->graph && !request->kernel->function_enabled)
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENODEV,
				   "kernel.ftrace_enabled is 0, so that no function would be "
				   "recorded: sysctl kernel.ftrace_enabled=1");
	if (!session->settings.top)
		ret = settings_init(&session->settings, request->kernel->dir);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s: %s",
				   request->kernel->dir, strerror(-ret));
	session->settings.note = undo_note;
	session->settings.context = session->undo;
	ret = others_check_global(&session->settings, request->force, failure);
	if (ret)
		return ret;
	make_probe(session);
	ret = choose_place(session, failure);
	if (!ret && !session->instance)
		ret = others_check_top_level(&session->settings, request->pids, request->force,
					     failure);
	/* Before the caller reads header_page, so that no change between the two goes unseen. */
	if (!ret)
		setting_read(session->settings.top, SETTING_NUMBER,
			     OWN(session, "buffer_subbuf_size_kb"), &session->subbuf);
	if (!ret)
		ret = set_up(session, failure);
	/* Without trace_marker there are no local times, and the run goes on. */
	if (!ret)
		tracefs_print_init(session->own);
	return ret;
}

static int restore_all(struct session *session, struct failure *failure)
{
	/* An open trace_marker keeps the instance busy. */
	if (session->own)
		tracefs_print_close(session->own);
	return restore_settings(session->undo, &session->settings, failure);
}

static void session_free(struct session *session)
{
	undo_close(session->undo);
	settings_free(&session->settings);
	tracefs_instance_free(session->own);
	for (int id = 0; id < HISTOGRAM_COUNT; id++)
		free(session->triggers[id]);
	free(session->subbuf);
	free(session->dir);
	free(session->cpus);
	free(session);
}

int session_start(struct session **ret_session, const struct session_request *request,
		  struct failure *failure)
{
	struct session *session = calloc(1, sizeof(*session));
	struct failure first, second;
	int ret, end = 0;

	if (!session)
		return out_of_memory(failure);
	session->request = request;
	session->graph = request->plan->function_graph;
	session->stack = request->stack;
	snprintf(session->threshold, sizeof(session->threshold), "%lld",
		 (long long)request->plan->threshold / 1000);
	ret = start(session, failure);
	session->request = NULL;
	if (!ret) {
		/* What was refused on the way, an instance for example, is none. */
		*failure = (struct failure){ 0 };
		*ret_session = session;
		return 0;
	}
	first = *failure;
	/* The undo file goes, even if all is put back already; without a table it is not ours. */
	if (session->settings.top)
		end = restore_all(session, &second);
	/* What could not be restored matters more than why the set-up failed. */
	if (end)
		failure_set(failure, EXIT_STATUS_NOT_RESTORED, -end, "%.200s; then %.300s",
			    first.text, second.text);
	session_free(session);
	return end ? end : ret;
}

int session_on(struct session *session, struct failure *failure)
{
	/* They count from here on, whatever tracing_on is. */
	int ret = set_histograms(session, HISTOGRAM_EXITS + 1, HISTOGRAM_COUNT, failure);

	if (!ret)
		ret = set_own(session, SETTING_NUMBER, "tracing_on", "1", failure);
	session->on = !ret;
	return ret;
}

int session_off(struct session *session)
{
	struct failure failure;

	if (!session->on)
		return 0;
	session->on = false;
	return settings_restore_path(&session->settings, OWN(session, "tracing_on"), &failure);
}

int session_end(struct session *session, struct failure *failure)
{
	int ret;

	session_off(session);
	ret = restore_all(session, failure);
	session_free(session);
	return ret;
}

const char *session_dir(const struct session *session)
{
	return session->dir;
}

int session_filter_probe(struct session *session, uint64_t callback)
{
	struct failure ignored;
	char filter[64];

	snprintf(filter, sizeof(filter), "shrink == 0x%" PRIx64, callback);
	return set_optional(session, SETTING_FILTER, PROBE_PATH "/filter", filter, &ignored);
}

bool session_has_probe(const struct session *session)
{
	return session->has_probe;
}

/* ---- during the run ---- */

bool session_taken(struct session *session, char *what, size_t size)
{
	const struct {
		enum setting_kind kind;
		const char *path;
		const char *ours; /* NULL: not looked at */
	} settings[] = {
		{ SETTING_NUMBER, OWN(session, "tracing_on"), session->on ? "1" : "0" },
		{ SETTING_NUMBER, OWN(session, "buffer_subbuf_size_kb"), session->subbuf },
		{ SETTING_WORD, OWN(session, "current_tracer"),
		  session->graph ? "function_graph" : NULL },
		{ SETTING_NUMBER, "tracing_thresh", session->graph ? session->threshold : NULL },
		{ SETTING_HISTOGRAM, HISTOGRAM(session, HISTOGRAM_PAGES, "trigger"),
		  session->triggers[HISTOGRAM_PAGES] ? SETTING_PRESENT : NULL },
	};
	bool taken = false;

	for (size_t i = 0; i < ARRAY_SIZE(settings) && !taken; i++) {
		char *now = NULL;
		int ret;

		if (!settings[i].ours)
			continue;
		ret = setting_read(session->settings.top, settings[i].kind, settings[i].path, &now);
		taken = ret == -ENOENT || (!ret && strcmp(now, settings[i].ours));
		if (ret == -ENOENT)
			snprintf(what, size, "%s is gone", settings[i].path);
		else if (taken)
			snprintf(what, size, "%s is %s, ours was %s", settings[i].path, now,
				 settings[i].ours);
		free(now);
	}
	return taken;
}

int session_read_histogram(struct session *session, enum histogram_id id, char **ret_text)
{
	errno = 0;
	*ret_text = tracefs_instance_file_read(session->settings.top,
					       HISTOGRAM(session, id, "hist"), NULL);
	if (*ret_text)
		return 0;
	return errno ? -errno : -ENOENT;
}

int session_mark_clock(struct session *session)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	errno = 0;
	if (!tracefs_printf(session->own, "allocfilt: realtime %lld.%09ld", (long long)now.tv_sec,
			    now.tv_nsec))
		return 0;
	return errno ? -errno : -EIO;
}

int session_set_buffer_percent(struct session *session, int percent)
{
	char value[16];

	if (!tracefs_file_exists(session->own, "buffer_percent"))
		return 0;
	snprintf(value, sizeof(value), "%d", percent);
	return settings_change(&session->settings, SETTING_NUMBER, OWN(session, "buffer_percent"),
			       value, NULL, session->instance);
}

/* With --force some are found as we need them: they are somebody else's. */
static int switch_own(struct session *session, enum setting_kind kind, const char *path,
		      const char *value, const char *text)
{
	if (!settings_has(&session->settings, path))
		return -ESTALE;
	return settings_change(&session->settings, kind, path, value, text, session->instance);
}

int session_switch_event(struct session *session, const struct plan_event *event, bool on)
{
	const char *text;
	int ret = switch_own(session, SETTING_ENABLE, EVENT(session, event, "enable"),
			     on ? "1" : "0", NULL);

	/* A trigger writes stacks even where its event is off. */
	if (!ret && session->stack && has_stack(event, &text))
		ret = switch_own(session, SETTING_TRIGGER, EVENT(session, event, "trigger"),
				 on ? SETTING_PRESENT : SETTING_ABSENT, text);
	/* The probe sits on the begin of a slab pair. */
	if (!ret && session->has_probe && event->id == EVENT_SLAB_START)
		ret = switch_own(session, SETTING_ENABLE, OWN(session, PROBE_PATH "/enable"),
				 on ? "1" : "0", NULL);
	return ret;
}

void session_grow_buffer(struct session *session)
{
	int ret = 0;

	if (!session->grow_at || monotonic_seconds() < session->grow_at)
		return;
	session->grow_at = 0;
	for (int i = 0; i < nr_buffers(session) && (!ret || ret == -ENOENT); i++)
		ret = resize_buffer(session, i, session->wanted_kb);
	if (!ret || ret == -ENOENT)
		log_notice("a buffer of %llu KiB for each CPU now", session->wanted_kb);
}
