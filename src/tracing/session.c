// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"
#include "allocfilt/tracing/session.h"
#include "tracing/kernel_look.h"
#include "tracing/others.h"
#include "tracing/session_parts.h"

#define MARKS_MAX	3
#define MARK_LATE	(100 * NS_PER_US)
#define LOOKS		20   /* settings that are looked at each second, in turn */
#define FIRST_BUFFER_KB 1408 /* KiB of each CPU of a new instance: TRACE_BUF_SIZE_DEFAULT */
#define DISABLED	"kernel.ftrace_enabled is 0"

const char *session_path(const struct session *session, char *buffer, const char *format, ...)
{
	int length = snprintf(buffer, PATH_MAX, "%s", session->instance ? INSTANCE_PATH "/" : "");
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(buffer + length, PATH_MAX - length, format, arguments);
	va_end(arguments);
	return buffer;
}

int session_set(struct session *session, enum setting_kind kind, const char *name,
		const char *value, struct failure *failure)
{
	return settings_set(&session->settings, kind, OWN(session, "%s", name), value, NULL,
			    session->instance, failure);
}

int session_set_optional(struct session *session, enum setting_kind kind, const char *name,
			 const char *value, struct failure *failure)
{
	return tracefs_file_exists(session->own, name) ?
		       session_set(session, kind, name, value, failure) :
		       0;
}

/* ---- where our buffers are ---- */

static int use_place(struct session *session, bool instance, struct failure *failure)
{
	const char *name = instance ? SESSION_INSTANCE : NULL;

	session->instance = instance;
	session->own = tracefs_instance_alloc(session->request->kernel->dir, name);
	if (session->own)
		session->dir = tracefs_instance_get_dir(session->own);
	return session->dir ? 0 : failure_no_memory(failure);
}

/*
 * An instance keeps names at switches of tasks if the top level did when it was made, and has no file
 * for that: kernel/trace/trace.c, TOP_LEVEL_TRACE_FLAGS. It is switched off for that moment alone, as
 * it acts on events of others too.
 */
static int make_instance(struct session *session, struct failure *failure)
{
	struct settings *settings = &session->settings;
	const char *names = "options/record-cmd";
	int ret = 0, restored = 0;

	if (session->request->no_saved_names)
		ret = settings_set(settings, SETTING_NUMBER, names, "0", NULL, false, failure);
	if (!ret)
		ret = settings_set(settings, SETTING_INSTANCE, INSTANCE_PATH, SETTING_PRESENT, NULL,
				   false, failure);
	if (session->request->no_saved_names)
		restored = settings_restore_path(settings, names, failure);
	return restored ? restored : ret;
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
	ret = make_instance(session, failure);
	if (ret == -ENOENT || ret == -EROFS || ret == -ENOSYS || ret == -ENOMEM) {
		log_debug("no private instance: %s", failure->text);
		return use_place(session, false, failure);
	}
	if (ret)
		return ret;
	if (!session->graph || kernel_has_function_graph(session->settings.top,
							 INSTANCE_PATH "/available_tracers") > 0)
		return use_place(session, true, failure);
	ret = settings_restore_path(&session->settings, INSTANCE_PATH, failure);
	return ret ? ret : use_place(session, false, failure);
}

static const struct {
	const char *path;
	const char *without; /* what a run lacks */
} probes[SESSION_PROBES] = {
	[PROBE_SUPERBLOCKS] = { PROBE_PATH, "superblocks have no names" },
	[PROBE_WAITS] = { PROBES_PATH "memory_wait_", "memory waits are not told" },
	[PROBE_REFAULTS] = { PROBES_PATH "refault",
			     "refaults that PSI does not count are not told" },
};

static enum session_probe probe_of(enum event_id id)
{
	return id == EVENT_REFAULT ? PROBE_REFAULTS : PROBE_WAITS;
}

static bool functions_are_enabled(const struct session *session)
{
	return session->request->kernel->function_enabled && kernel_functions_enabled();
}

/*
 * A kprobe at the entry of a function is a callback of ftrace where that can be
 * (CONFIG_KPROBES_ON_FTRACE): without ftrace the kernel accepts it, and it never hits.
 */
static bool make_probe(struct session *session, enum session_probe which, const char *name,
		       const char *definition)
{
	char path[PATH_MAX];
	struct failure failure, ignored;

	snprintf(path, sizeof(path), PROBES_PATH "%s", name);
	if (*definition == 'p' && !functions_are_enabled(session))
		failure_set(&failure, EXIT_STATUS_NO_FEATURE, ENODEV,
			    DISABLED ": sysctl kernel.ftrace_enabled=1");
	else if (!settings_set(&session->settings, SETTING_PROBE, path, SETTING_PRESENT, definition,
			       false, &failure))
		return true;
	log_notice("%s: %s", probes[which].without, failure.text);
	settings_restore_path(&session->settings, path, &ignored);
	return false;
}

/*
 * Probes are made before the instance, so that they are removed after it: while enabled there, they
 * are busy.
 */
static void make_probes(struct session *session)
{
	const struct session_request *request = session->request;
	bool *has = session->has;

	has[PROBE_SUPERBLOCKS] =
		request->probe &&
		make_probe(session, PROBE_SUPERBLOCKS, PROBE_NAME, request->probe->definition);
	has[PROBE_WAITS] = plan_has_waits(request->plan);
	has[PROBE_REFAULTS] = plan_has_refaults(request->plan);
	for (int id = EVENT_WAIT_BEGIN; id <= EVENT_REFAULT; id++)
		if (has[probe_of(id)])
			has[probe_of(id)] =
				make_probe(session, probe_of(id), catalog_events[id].name,
					   probe_definition(id));
}

/* Nothing is noted: leftovers_remove_names() knows the probe by its name. */
int session_try_probe(const struct kernel *kernel, const char *name, const char *definition,
		      const char *run_dir, struct failure *failure)
{
	struct settings settings;
	char path[PATH_MAX];
	struct failure end;
	struct undo *undo;
	int ret = undo_open(&undo, run_dir, kernel->dir, failure), restored;

	if (ret)
		return ret;
	ret = settings_init(&settings, kernel->dir);
	if (ret) {
		undo_close(undo);
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s: %m", kernel->dir);
	}
	snprintf(path, sizeof(path), PROBES_PATH "%s", name);
	ret = settings_set(&settings, SETTING_PROBE, path, SETTING_PRESENT, definition, false,
			   failure);
	restored = settings_restore(&settings, &end);
	if (restored) {
		ret = restored;
		*failure = end;
	}
	settings_free(&settings);
	undo_close(undo);
	return ret;
}

static int session_begin(struct session *session, struct failure *failure)
{
	const struct session_request *request = session->request;
	bool found = false;
	char *size;
	int ret = undo_open(&session->undo, request->run_dir, request->kernel->dir, failure);

	if (!ret)
		ret = leftovers_finish(session->undo, &found, request->kernel->dir,
				       &session->settings, failure);
	if (!ret)
		ret = leftovers_remove_names(request->kernel->dir, &found, failure);
	if (ret)
		return ret;
	if (session->graph && !functions_are_enabled(session))
		return failure_set(failure,
				   request->kernel->function_enabled ? EXIT_STATUS_IN_USE :
								       EXIT_STATUS_NO_FEATURE,
				   ENODEV,
				   DISABLED ", so that no function would be recorded: sysctl "
					    "kernel.ftrace_enabled=1");
	if (!session->settings.top)
		ret = settings_init(&session->settings, request->kernel->dir);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s: %m",
				   request->kernel->dir);
	session->settings.note = undo_note;
	session->settings.context = session->undo;
	session->settings.noted_in = request->run_dir;
	if (session->graph)
		ret = others_check_global(&session->settings, request->force, failure);
	if (ret)
		return ret;
	make_probes(session);
	ret = choose_place(session, failure);
	if (!ret && !session->instance)
		ret = others_check_top_level(&session->settings, request->pids, request->force,
					     failure);
	/*
	 * The size is read before the caller reads header_page, so that no change between the two
	 * goes unseen.
	 */
	if (!ret && !setting_read(session->settings.top, SETTING_NUMBER,
				  OWN(session, "buffer_subbuf_size_kb"), &size)) {
		ret = settings_keep(&session->settings, SETTING_NUMBER,
				    OWN(session, "buffer_subbuf_size_kb"), size, failure);
		free(size);
	}
	if (!ret)
		ret = session_set_up(session, failure);
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
	return leftovers_put_back(session->undo, &session->settings, failure);
}

static void session_free(struct session *session)
{
	undo_close(session->undo);
	settings_free(&session->settings);
	tracefs_instance_free(session->own);
	for (int id = 0; id < HISTOGRAM_COUNT; id++)
		free(session->triggers[id]);
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
		return failure_no_memory(failure);
	session->request = request;
	session->graph = request->plan->function_graph;
	session->threshold = request->plan->threshold;
	session->stack = request->stack;
	ret = session_begin(session, failure);
	session->request = NULL;
	if (!ret) {
		/* A refusal on the way, as of an instance, is no failure. */
		*failure = (struct failure){ 0 };
		*ret_session = session;
		return 0;
	}
	first = *failure;
	/*
	 * The undo file is removed, even if all is put back already. Without a table it is not
	 * ours.
	 */
	if (session->settings.top)
		end = restore_all(session, &second);
	/* A setting that is not restored matters more than why the set-up failed. */
	if (end)
		failure_set(failure, EXIT_STATUS_NOT_RESTORED, -end, "%.200s; then %.300s",
			    first.text, second.text);
	session_free(session);
	return end ? end : ret;
}

int session_on(struct session *session, struct failure *failure)
{
	int ret = session_count_memory(session, failure);

	if (!ret)
		ret = session_set(session, SETTING_NUMBER, "tracing_on", "1", failure);
	session->on = !ret;
	return ret;
}

void session_off(struct session *session)
{
	struct failure ignored;

	if (session->on)
		settings_restore_path(&session->settings, OWN(session, "tracing_on"), &ignored);
	session->on = false;
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

void session_filter_probe(struct session *session, uint64_t callback)
{
	struct failure ignored;
	char filter[64];

	snprintf(filter, sizeof(filter), "shrink == 0x%" PRIx64, callback);
	session_set_optional(session, SETTING_FILTER, PROBE_PATH "/filter", filter, &ignored);
}

bool session_has_probe(const struct session *session, enum session_probe which)
{
	return session->has[which];
}

bool session_lacks_event(const struct session *session, enum event_id id)
{
	return id >= EVENT_WAIT_BEGIN && id <= EVENT_REFAULT && !session->has[probe_of(id)];
}

/* ---- during the run ---- */

/*
 * Without these nothing is recorded, whatever else is set, and where the size of sub-buffers changes the
 * kernel drops what they have.
 */
static bool is_vital(const struct setting *setting)
{
	const char *name = strrchr(setting->path, '/');

	name = name ? name + 1 : setting->path;
	return setting->kind == SETTING_TRACER || setting->kind == SETTING_HISTOGRAM ||
	       !strcmp(name, "tracing_on") || !strcmp(name, "tracing_thresh") ||
	       !strcmp(name, "buffer_subbuf_size_kb");
}

static void lose_probe(struct session *session, enum session_probe which, const char *why)
{
	if (session->has[which])
		log_warning("%s from now on: %s", probes[which].without, why);
	session->has[which] = false;
}

bool session_taken(struct session *session, char *what, size_t size)
{
	struct settings *settings = &session->settings;
	bool taken = false;

	for (int i = 0; i < settings->count && !taken; i++) {
		struct setting *setting = &settings->setting[i];

		if ((i - session->looked_at + settings->count) % settings->count >= LOOKS &&
		    !is_vital(setting))
			continue;
		taken = !settings_look(settings, i, what, size);
		/* `trace-cmd reset` removes it, and leaves our instance alone. */
		for (int which = 0; which < SESSION_PROBES; which++) {
			if (!taken || !strstr(setting->path, probes[which].path))
				continue;
			if (setting->kind == SETTING_PROBE || setting->kind == SETTING_ENABLE)
				lose_probe(session, which, what);
			setting->verified = false;
			taken = false;
		}
	}
	session->looked_at = (session->looked_at + LOOKS) % settings->count;
	if (taken || kernel_functions_enabled())
		return taken;
	snprintf(what, size, DISABLED ", so that no function is recorded");
	if (!session->graph)
		lose_probe(session, PROBE_WAITS, DISABLED);
	return session->graph;
}

void session_mark_clock(struct session *session)
{
	for (int i = 0; i < MARKS_MAX; i++) {
		uint64_t before = clock_ns(CLOCK_MONOTONIC), now = clock_ns(CLOCK_REALTIME);

		tracefs_printf(session->own,
			       "allocfilt: realtime %" PRIu64 ".%09" PRIu64
			       " threshold_us %" PRIu64,
			       now / NS_PER_SECOND, now % NS_PER_SECOND,
			       session->threshold / NS_PER_US);
		/* Somebody else had the CPU between the time and its record: the next mark counts. */
		if (clock_ns(CLOCK_MONOTONIC) - before < MARK_LATE)
			break;
	}
}
