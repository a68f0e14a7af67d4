// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/tracing.h"
#include "tracing/others.h"
#include "tracing/steps.h"
#include "tracing/undo.h"

#define INSTANCE_PATH "instances/" SESSION_INSTANCE
#define PROBE_PATH    "events/" PROBE_EVENT

struct session {
	const struct session_request *request; /* during session_start() only */
	struct undo *undo;
	struct steps steps;
	const char *prefix; /* of our files: "" or "instances/allocfilt/" */
	char *dir;
	bool instance;
	bool graph;
	bool on;
	bool probed;	     /* the probe is in place */
	long long threshold; /* µs */
	int marker;	     /* trace_marker, -1: none */
};

/* Path of one of our own files, in the instance or at the top level. */
static const char *own_path(const struct session *session, const char *name, char *buffer)
{
	snprintf(buffer, PATH_MAX, "%s%s", session->prefix, name);
	return buffer;
}

#define OWN(session, name) own_path(session, name, (char[PATH_MAX]){ 0 })

static bool has_own(const struct session *session, const char *name)
{
	char path[PATH_MAX];

	return !file_path(path, session->steps.dir, OWN(session, name)) && !access(path, F_OK);
}

static int set_own(struct session *session, enum step_kind kind, const char *name,
		   const char *value, struct failure *failure)
{
	return steps_set(&session->steps, kind, OWN(session, name), value, NULL, session->instance,
			 failure);
}

/* Where the kernel has no such file there is nothing to be set. */
static int set_optional(struct session *session, enum step_kind kind, const char *name,
			const char *value, struct failure *failure)
{
	return has_own(session, name) ? set_own(session, kind, name, value, failure) : 0;
}

/* What a killed run left: a file of steps, and perhaps our instance or probe without any. */

static int finish_left(struct undo *undo, bool *ret_found, struct failure *failure)
{
	struct steps steps;
	int pid, ret;

	*ret_found = false;
	ret = undo_load(undo, &steps, &pid, failure);
	if (ret == -ENOENT)
		return 0;
	if (ret)
		return ret;
	*ret_found = true;
	log_notice("putting back what process %d left behind: %d settings", pid,
		   steps_left(&steps));
	steps.note = undo_note;
	steps.context = undo;
	ret = steps_restore(&steps, failure);
	steps_free(&steps);
	if (!ret && undo_remove(undo))
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, EIO,
				  "all is put back, but the undo file cannot be removed");
	return ret;
}

/* The lock is ours, so nobody lives who could own a thing of our name. */
static int remove_left(const char *dir, enum step_kind kind, const char *path, bool *found,
		       struct failure *failure)
{
	struct steps steps;
	char *state;
	int ret;

	if (steps_init(&steps, dir))
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
	ret = steps_read(&steps, kind, path, &state);
	if (ret || strcmp(state, "present")) {
		if (!ret)
			free(state);
		steps_free(&steps);
		return 0;
	}
	free(state);
	*found = true;
	log_notice("removing %s that a killed run left behind", path);
	ret = steps_add(&steps, kind, path, "absent", "present", false);
	if (!ret)
		ret = steps_restore(&steps, failure);
	else
		failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s", strerror(-ret));
	steps_free(&steps);
	return ret;
}

static int remove_all_left(const char *dir, bool *found, struct failure *failure)
{
	int ret = remove_left(dir, STEP_INSTANCE, INSTANCE_PATH, found, failure);

	/* Busy as long as it is enabled in the instance. */
	return ret ? ret : remove_left(dir, STEP_PROBE, PROBE_PATH, found, failure);
}

int session_restore(const char *run_dir, const char *dir, struct failure *failure)
{
	char *mounted = dir ? NULL : kernel_find_dir();
	bool left = false, instance = false;
	struct undo *undo;
	int ret;

	if (!dir)
		dir = mounted;
	ret = undo_open(&undo, run_dir, failure);
	if (!ret) {
		ret = finish_left(undo, &left, failure);
		if (!ret && dir)
			ret = remove_all_left(dir, &instance, failure);
		undo_close(undo);
	}
	if (!ret)
		log_notice(left || instance ? "all is as it was found" : "nothing to put back");
	free(mounted);
	return ret;
}

/* Set-up */

static int set_options(struct session *session, bool with_pids, struct failure *failure)
{
	static const struct {
		const char *name;
		const char *value;
		bool pids_only;
		bool shared; /* a tracer's option: one for all instances up to 6.12 */
	} options[] = {
		{ "options/record-cmd", "1" }, /* fills saved_cmdlines */
		{ "options/markers", "1" },    /* off, trace_marker takes nothing */
		{ "options/overwrite", "1" },  /* off, no page tells what was lost */
		{ "options/stacktrace", "0" }, /* a stack behind each of our events */
		{ "options/userstacktrace", "0" },
		{ "options/event-fork", "1", .pids_only = true }, /* new threads too */
		{ "options/function-fork", "1", .pids_only = true },
		{ "options/sleep-time", "1", .shared = true },	   /* off, calltime is moved */
		{ "options/funcgraph-irqs", "1", .shared = true }, /* off, no interrupts */
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]) && !ret; i++) {
		if (!has_own(session, options[i].name) || (options[i].pids_only && !with_pids))
			continue;
		ret = steps_set(&session->steps, STEP_NUMBER, OWN(session, options[i].name),
				options[i].value, NULL, session->instance && !options[i].shared,
				failure);
	}
	return ret;
}

/* CPUs of different sizes read as X at the level of the whole. */
static int set_cpu_sizes(struct session *session, const char *size, struct failure *failure)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *cpus;
	int ret = 0;

	if (file_path(path, session->dir, "per_cpu"))
		return 0;
	cpus = opendir(path);
	while (cpus && !ret && (entry = readdir(cpus))) {
		if (strncmp(entry->d_name, "cpu", 3))
			continue;
		snprintf(path, sizeof(path), "per_cpu/%s/buffer_size_kb", entry->d_name);
		ret = set_own(session, STEP_SIZE, path, size, failure);
	}
	if (cpus)
		closedir(cpus);
	return ret;
}

static int set_buffer(struct session *session, struct failure *failure)
{
	char size[32], *found;
	bool differ;
	int ret = steps_read(&session->steps, STEP_SIZE, OWN(session, "buffer_size_kb"), &found);

	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "cannot read buffer_size_kb: %s", strerror(-ret));
	differ = !strcmp(found, "X");
	free(found);
	snprintf(size, sizeof(size), "%llu",
		 (unsigned long long)(session->request->buffer + 1023) / 1024);
	return differ ? set_cpu_sizes(session, size, failure) :
			set_own(session, STEP_SIZE, "buffer_size_kb", size, failure);
}

/*
 * The names one a line, or their places in available_filter_functions: the kernel compares a name
 * with each of its 40,000 functions (50 ms a name under emulation) and takes a number as it is.
 */
static void put_functions(FILE *file, const struct session *session, bool by_index)
{
	const struct plan *plan = session->request->plan;
	const struct kernel *kernel = session->request->kernel;

	for (int i = 0; i < plan->nr_functions; i++) {
		if (!by_index) {
			fprintf(file, "%s\n", plan->functions[i].name);
			continue;
		}
		for (int j = 0; j < kernel->nr_functions; j++)
			if (!strcmp(kernel->functions[j], plan->functions[i].name))
				fprintf(file, "%u\n", kernel->indexes[j]);
	}
}

static char *function_list(const struct session *session, bool by_index)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return NULL;
	put_functions(file, session, by_index);
	return fclose(file) ? NULL : text;
}

static bool indexes_known(const struct session *session)
{
	const struct kernel *kernel = session->request->kernel;

	for (int i = 0; i < kernel->nr_functions; i++)
		if (!kernel->indexes || !kernel->indexes[i])
			return false;
	return true;
}

static int try_filter(struct session *session, bool by_index, struct failure *failure)
{
	char *names = function_list(session, false);
	char *text = by_index ? function_list(session, true) : NULL;
	int ret;

	if (!names || (by_index && !text))
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
	else
		ret = steps_set(&session->steps, STEP_LIST, OWN(session, "set_ftrace_filter"),
				names, text, session->instance, failure);
	free(names);
	free(text);
	return ret;
}

static int set_functions(struct session *session, struct failure *failure)
{
	int ret = set_optional(session, STEP_LIST, "set_ftrace_notrace", "", failure);

	if (ret)
		return ret;
	/* A module that came or went since the list was read moves the numbers behind it: the
	 * reading back tells, and then names it is. */
	if (indexes_known(session) && !try_filter(session, true, failure))
		return 0;
	return try_filter(session, false, failure);
}

static int set_event(struct session *session, const struct plan_event *event,
		     struct failure *failure)
{
	char name[PATH_MAX];
	int ret = 0;

	if (!session->instance) {
		snprintf(name, sizeof(name), "events/%s/%s/filter", event->system, event->name);
		ret = set_optional(session, STEP_FILTER, name, "none", failure);
	}
	if (ret)
		return ret;
	snprintf(name, sizeof(name), "events/%s/%s/enable", event->system, event->name);
	return set_own(session, STEP_ENABLE, name, "1", failure);
}

static int set_events(struct session *session, struct failure *failure)
{
	const struct plan *plan = session->request->plan;
	int ret = 0;

	for (int i = 0; i < plan->nr_events && !ret; i++)
		if (plan->events[i].rule != RULE_NEVER)
			ret = set_event(session, &plan->events[i], failure);
	return ret;
}

/* After mm_shrink_slab_start, so that at the end that event is off when it is put back. */
static int set_probe(struct session *session, struct failure *failure)
{
	const struct probe *probe = session->request->probe;
	int ret = 0;

	if (!session->probed)
		return 0;
	if (*probe->filter)
		ret = set_optional(session, STEP_FILTER, PROBE_PATH "/filter", probe->filter,
				   failure);
	return ret ? ret : set_own(session, STEP_ENABLE, PROBE_PATH "/enable", "1", failure);
}

static bool gets_stack(const struct plan_event *event)
{
	return event->rule != RULE_NEVER && event->side == EVENT_BEGIN &&
	       event->id != EVENT_SLAB_START && event->id != EVENT_USER;
}

static int set_stacks(struct session *session, struct failure *failure)
{
	const struct plan *plan = session->request->plan;
	char name[PATH_MAX];
	int ret = 0;

	for (int i = 0; session->request->stack && i < plan->nr_events && !ret; i++) {
		if (!gets_stack(&plan->events[i]))
			continue;
		snprintf(name, sizeof(name), "events/%s/%s/trigger", plan->events[i].system,
			 plan->events[i].name);
		ret = set_own(session, STEP_TRIGGER, name, "present", failure);
	}
	return ret;
}

static void put_threads(FILE *file, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads)))
		if (entry->d_name[0] != '.')
			fprintf(file, "%s\n", entry->d_name);
	if (threads)
		closedir(threads);
	else
		fprintf(file, "%d\n", pid);
}

/* Threads of the processes asked for, "" for everything. */
static char *thread_list(const pid_t *pids)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return NULL;
	for (; pids && *pids; pids++)
		put_threads(file, *pids);
	return fclose(file) ? NULL : text;
}

static int set_tasks(struct session *session, struct failure *failure)
{
	char *threads = thread_list(session->request->pids), own[16];
	enum step_kind kind;
	int ret;

	if (!threads)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
	kind = *threads ? STEP_THREADS : STEP_PIDS;
	snprintf(own, sizeof(own), "%d\n", getpid());
	ret = set_optional(session, kind, "set_event_pid", threads, failure);
	if (!ret && session->graph)
		ret = set_optional(session, kind, "set_ftrace_pid", threads, failure);
	if (!ret)
		ret = set_optional(session, STEP_PIDS, "set_event_notrace_pid", own, failure);
	if (!ret && session->graph)
		ret = set_optional(session, STEP_PIDS, "set_ftrace_notrace_pid", own, failure);
	free(threads);
	return ret;
}

static int set_threshold(struct session *session, struct failure *failure)
{
	char threshold[32];

	session->threshold = session->request->plan->threshold / 1000;
	snprintf(threshold, sizeof(threshold), "%lld", session->threshold);
	return steps_set(&session->steps, STEP_NUMBER, "tracing_thresh", threshold, NULL, false,
			 failure);
}

/* In the instance too a step of its own: its options are the tracer's, which all share, and the
 * threshold goes back only when nobody of ours reads it. */
static int set_tracer(struct session *session, struct failure *failure)
{
	return steps_set(&session->steps, STEP_TRACER, OWN(session, "current_tracer"),
			 "function_graph", NULL, false, failure);
}

static int set_up_functions(struct session *session, struct failure *failure)
{
	bool pids = session->request->pids && *session->request->pids;
	int ret = set_threshold(session, failure);

	if (!ret)
		ret = set_tracer(session, failure);
	/* Once more: some options exist only with their tracer (DESIGN 5.5). */
	return ret ? ret : set_options(session, pids, failure);
}

static int set_up(struct session *session, struct failure *failure)
{
	bool pids = session->request->pids && *session->request->pids;
	int ret = set_own(session, STEP_NUMBER, "tracing_on", "0", failure);

	if (!ret)
		ret = set_own(session, STEP_WORD, "trace_clock", "local", failure);
	if (!ret)
		ret = set_buffer(session, failure);
	if (!ret && session->graph)
		ret = set_functions(session, failure);
	if (!ret)
		ret = set_tasks(session, failure);
	if (!ret)
		ret = set_options(session, pids, failure);
	if (!ret)
		ret = set_stacks(session, failure);
	if (!ret)
		ret = set_events(session, failure);
	if (!ret)
		ret = set_probe(session, failure);
	if (!ret && session->graph)
		ret = set_up_functions(session, failure);
	return ret;
}

/* Where our buffers go */

static int use_dir(struct session *session, bool instance, struct failure *failure)
{
	char *dir;

	session->instance = instance;
	session->prefix = instance ? INSTANCE_PATH "/" : "";
	if (asprintf(&dir, "%s%s%s", session->steps.dir, instance ? "/" : "",
		     instance ? INSTANCE_PATH : "") < 0)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
	free(session->dir);
	session->dir = dir;
	return 0;
}

static bool lists_graph(const struct session *session, const char *path)
{
	char *tracers;
	bool lists;

	if (file_read(session->steps.dir, path, &tracers, NULL))
		return false;
	lists = kernel_has_word(tracers, "function_graph");
	free(tracers);
	return lists;
}

/* Is there somebody else's instance, and does it tell what one can do? */
static bool other_instance_tells(const struct session *session, bool *ret_graph)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool tells = false;
	DIR *instances;

	if (file_path(path, session->steps.dir, "instances"))
		return false;
	instances = opendir(path);
	while (instances && !tells && (entry = readdir(instances))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "instances/%s/available_tracers", entry->d_name);
		*ret_graph = lists_graph(session, path);
		tells = true;
	}
	if (instances)
		closedir(instances);
	return tells;
}

/*
 * Can an instance not do what we need, for sure? Making one costs 180 ms under emulation on 6.1.
 * buffer_subbuf_size_kb came with 6.8, function_graph for instances with 6.11: a kernel without
 * the first has not the second, any other is tried.
 */
static bool instance_lacks_function_graph(const struct session *session)
{
	char path[PATH_MAX];
	bool graph;

	if (!session->graph)
		return false;
	if (other_instance_tells(session, &graph))
		return !graph;
	return file_path(path, session->steps.dir, "buffer_subbuf_size_kb") || access(path, F_OK);
}

/*
 * A private instance, or the top level where that cannot do function_graph. What it can do is read
 * from its available_tracers: the write that fails would expand the top level's buffer for good
 * on 5.10 and 6.1 (DESIGN 5.10).
 */
static int choose_place(struct session *session, struct failure *failure)
{
	int ret;

	if (instance_lacks_function_graph(session))
		return use_dir(session, false, failure);
	ret = steps_set(&session->steps, STEP_INSTANCE, INSTANCE_PATH, "present", NULL, false,
			failure);
	if (ret == -ENOENT || ret == -EROFS || ret == -ENOSYS) {
		log_debug("no private instance: %s", failure->text);
		return use_dir(session, false, failure);
	}
	if (ret)
		return ret;
	if (!session->graph || lists_graph(session, INSTANCE_PATH "/available_tracers"))
		return use_dir(session, true, failure);
	ret = steps_restore_path(&session->steps, INSTANCE_PATH, failure);
	return ret ? ret : use_dir(session, false, failure);
}

/* Before the instance, so that it goes after it: as long as it is enabled there, it is busy. */
static void make_probe(struct session *session)
{
	const struct probe *probe = session->request->probe;
	struct failure failure, ignored;
	int ret;

	if (!probe)
		return;
	ret = steps_set(&session->steps, STEP_PROBE, PROBE_PATH, "present", probe->definition,
			false, &failure);
	session->probed = !ret;
	if (!ret)
		return;
	log_notice("superblocks have no names: %s", failure.text);
	steps_restore_path(&session->steps, PROBE_PATH, &ignored);
}

static int check_function_tracing(const struct session *session, struct failure *failure)
{
	if (!session->graph || session->request->kernel->function_enabled)
		return 0;
	return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENODEV,
			   "kernel.ftrace_enabled is 0, so that no function would be recorded: "
			   "sysctl kernel.ftrace_enabled=1");
}

static int take_tracing(struct session *session, struct failure *failure)
{
	const struct session_request *request = session->request;
	bool found;
	int ret = finish_left(session->undo, &found, failure);

	if (!ret)
		ret = remove_all_left(session->steps.dir, &found, failure);
	if (!ret)
		ret = check_function_tracing(session, failure);
	if (!ret)
		ret = others_everywhere(&session->steps, request->force, failure);
	if (!ret)
		make_probe(session);
	if (!ret)
		ret = choose_place(session, failure);
	if (!ret && !session->instance)
		ret = others_at_top(&session->steps, request->force, failure);
	return ret;
}

static void open_marker(struct session *session)
{
	char path[PATH_MAX];

	if (!file_path(path, session->dir, "trace_marker"))
		session->marker = open(path, O_WRONLY | O_CLOEXEC);
}

static int start(struct session *session, struct failure *failure)
{
	const struct session_request *request = session->request;
	int ret = undo_open(&session->undo, request->run_dir, failure);

	if (ret)
		return ret;
	session->steps.note = undo_note;
	session->steps.context = session->undo;
	ret = take_tracing(session, failure);
	if (!ret)
		ret = set_up(session, failure);
	if (!ret)
		open_marker(session);
	return ret;
}

static void session_free(struct session *session)
{
	if (session->marker >= 0)
		close(session->marker);
	undo_close(session->undo);
	steps_free(&session->steps);
	free(session->dir);
	free(session);
}

static int restore_all(struct session *session, struct failure *failure)
{
	int ret;

	if (session->marker >= 0)
		close(session->marker);
	session->marker = -1;
	ret = steps_restore(&session->steps, failure);
	if (!ret && undo_remove(session->undo))
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, EIO,
				  "all is put back, but the undo file cannot be removed");
	return ret;
}

static struct session *session_new(const struct session_request *request)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->marker = -1;
	session->prefix = "";
	session->request = request;
	session->graph = request->plan->function_graph;
	if (!steps_init(&session->steps, request->kernel->dir))
		return session;
	free(session);
	return NULL;
}

/* What cannot be put back is worse than why it came to that. */
static int undo_start(struct session *session, int ret, struct failure *failure)
{
	struct failure first = *failure, second;
	int end = 0;

	if (session->undo && steps_left(&session->steps))
		end = restore_all(session, &second);
	if (!end)
		return ret;
	failure_set(failure, EXIT_STATUS_NOT_RESTORED, -end, "%.200s; then %.300s", first.text,
		    second.text);
	return end;
}

int session_start(struct session **ret_session, const struct session_request *request,
		  struct failure *failure)
{
	struct session *session = session_new(request);
	int ret;

	if (!session)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
	ret = start(session, failure);
	session->request = NULL;
	if (ret) {
		ret = undo_start(session, ret, failure);
		session_free(session);
		return ret;
	}
	*ret_session = session;
	return 0;
}

int session_on(struct session *session, struct failure *failure)
{
	int ret = set_own(session, STEP_NUMBER, "tracing_on", "1", failure);

	session->on = !ret;
	return ret;
}

int session_off(struct session *session)
{
	struct failure failure;

	if (!session->on)
		return 0;
	session->on = false;
	return steps_restore_path(&session->steps, OWN(session, "tracing_on"), &failure);
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

bool session_is_instance(const struct session *session)
{
	return session->instance;
}

bool session_has_probe(const struct session *session)
{
	return session->probed;
}

/* During the run */

static bool differs(const struct session *session, enum step_kind kind, const char *path,
		    const char *ours, char *what, size_t size)
{
	char *now;
	int ret = steps_read(&session->steps, kind, path, &now);
	bool other;

	if (ret == -ENOENT) {
		snprintf(what, size, "%s is gone", path);
		return true;
	}
	if (ret)
		return false;
	other = strcmp(now, ours);
	if (other)
		snprintf(what, size, "%s is %s, ours was %s", path, now, ours);
	free(now);
	return other;
}

bool session_taken(struct session *session, char *what, size_t size)
{
	char threshold[32];

	snprintf(threshold, sizeof(threshold), "%lld", session->threshold);
	if (differs(session, STEP_NUMBER, OWN(session, "tracing_on"), session->on ? "1" : "0", what,
		    size))
		return true;
	if (!session->graph)
		return false;
	return differs(session, STEP_WORD, OWN(session, "current_tracer"), "function_graph", what,
		       size) ||
	       differs(session, STEP_NUMBER, "tracing_thresh", threshold, what, size);
}

int session_mark_clock(struct session *session)
{
	char text[64];
	struct timespec now;
	int length;

	if (session->marker < 0)
		return -EBADF;
	clock_gettime(CLOCK_REALTIME, &now);
	length = snprintf(text, sizeof(text), "allocfilt: realtime %lld.%09ld",
			  (long long)now.tv_sec, now.tv_nsec);
	return write(session->marker, text, length) < 0 ? -errno : 0;
}

int session_set_buffer_percent(struct session *session, int percent)
{
	char value[16];

	if (!has_own(session, "buffer_percent"))
		return 0;
	snprintf(value, sizeof(value), "%d", percent);
	return steps_move(&session->steps, STEP_NUMBER, OWN(session, "buffer_percent"), value,
			  session->instance);
}
