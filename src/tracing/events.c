// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "allocfilt/base/memory.h"
#include "allocfilt/base/text.h"
#include "tracing/session_parts.h"

/* TASK_INTERRUPTIBLE and TASK_UNINTERRUPTIBLE: a task that can run has nowhere to sleep. */
#define SLEEP_TRIGGER "stacktrace if prev_state & 3"

#define HISTOGRAM_SHARE	     32 /* 1/HISTOGRAM_SHARE of the available memory serves all histograms */
#define HISTOGRAM_BYTES	     320   /* of an entry, as seen on 7.3: kernel/trace/tracing_map.c */
#define HISTOGRAM_LEAST	     2048  /* entries: the kernel's default */
#define HISTOGRAM_SITES_MOST 4096  /* more than there are call sites */
#define HISTOGRAM_MOST	     65536 /* entries of histograms that have a row for each task */

/*
 * --stack: the kernel stack after each begin, and where a task goes to sleep. Does the event have a
 * trigger, and which text, where that is not the plain one?
 */
static bool has_stack(const struct plan_event *event, const char **ret_text)
{
	*ret_text = event->id == EVENT_SCHED_SWITCH ? SLEEP_TRIGGER : NULL;
	return event->id == EVENT_SCHED_SWITCH ||
	       (event->rule != RULE_NEVER && event->side == EVENT_BEGIN && !plan_is_wait(event) &&
		event->id != EVENT_SLAB_START && event->id != EVENT_USER);
}

#define EVENT(session, event, file)                                                                \
	OWN(session, "events/%s/%s/" file, (event)->system, (event)->name)
#define HISTOGRAM(session, id, file)                                                               \
	OWN(session, "events/%s/%s/" file, catalog_histograms[id].system,                          \
	    catalog_histograms[id].event)

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

int session_set_events(struct session *session, struct failure *failure)
{
	const struct plan *plan = session->request->plan;
	int ret = set_stacks(session, failure);

	for (int i = 0; i < plan->nr_events && !ret; i++) {
		const struct plan_event *event = &plan->events[i];
		char name[PATH_MAX];

		if (event->rule == RULE_NEVER || session_lacks_event(session, event->id))
			continue;
		snprintf(name, sizeof(name), "events/%s/%s/filter", event->system, event->name);
		if (!session->instance)
			ret = session_set_optional(session, SETTING_FILTER, name, "none", failure);
		if (!ret)
			ret = settings_set(&session->settings, SETTING_ENABLE,
					   EVENT(session, event, "enable"), "1", NULL,
					   session->instance, failure);
	}
	/*
	 * Enabled after mm_shrink_slab_start, so that at the end that event is off when it is
	 * restored.
	 */
	if (!ret && session->has[PROBE_SUPERBLOCKS])
		ret = session_set(session, SETTING_ENABLE, PROBE_PATH "/enable", "1", failure);
	return ret;
}

/* With --force a setting may have had our value before: then it is not ours to change. */
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
	if (!ret && session->has[PROBE_SUPERBLOCKS] && event->id == EVENT_SLAB_START)
		ret = switch_own(session, SETTING_ENABLE, OWN(session, PROBE_PATH "/enable"),
				 on ? "1" : "0", NULL);
	return ret;
}

/* ---- histograms ---- */

/* The kernel allocates all entries of a histogram at once, a power of two. */
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
	 * Our own readings allocate memory and must not count. With -p, set_event_pid keeps other
	 * tasks from histograms: kernel/trace/trace_events.c, trace_event_buffer_reserve().
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
	 * The kernel saves a name when a call site gets a larger object than before, so once or
	 * twice. As a key, names doubled the cost: 256 bytes of each are hashed.
	 */
	if (id == HISTOGRAM_CACHE && plan->cache_names)
		fputs(":largest=bytes_alloc:onmax($largest).save(name)", file);
	if (histogram->filter || excludes_own)
		fprintf(file, " if %s%s", histogram->filter ? histogram->filter : "",
			histogram->filter && excludes_own ? " && " : "");
	if (excludes_own)
		fprintf(file, "common_pid != %d", getpid());
	return text_close(file, &text);
}

/* A histogram that saves something keeps its instance busy until it is removed. */
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

int session_count_tasks(struct session *session, struct failure *failure)
{
	for (int id = 0; id < HISTOGRAM_COUNT; id++) {
		if (!(session->request->plan->histograms & HISTOGRAM_BIT(id)))
			continue;
		session->triggers[id] = histogram_trigger(session->request, id);
		if (!session->triggers[id])
			return failure_no_memory(failure);
	}
	return set_histograms(session, 0, HISTOGRAM_EXITS + 1, failure);
}

int session_count_memory(struct session *session, struct failure *failure)
{
	return set_histograms(session, HISTOGRAM_EXITS + 1, HISTOGRAM_COUNT, failure);
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
