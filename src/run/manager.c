// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/manager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/log.h"
#include "allocfilt/journal/notify.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/loop.h"

#define STATUS_INTERVAL (10 * NS_PER_SECOND)

struct manager {
	const struct run_context *run;
	struct notify *notify;
	struct options next; /* of the next run, where has_next is set */
	bool has_next;
	bool stopping;
	bool waiting; /* tracing is in use by somebody else */
	uint64_t next_status;
};

struct manager *manager_new(const struct run_context *run)
{
	struct manager *manager = calloc(1, sizeof(*manager));

	if (!manager)
		return NULL;
	manager->run = run;
	manager->notify = notify_new();
	if (manager->notify)
		return manager;
	free(manager);
	return NULL;
}

void manager_free(struct manager *manager)
{
	if (!manager)
		return;
	options_free(&manager->next);
	notify_free(manager->notify);
	free(manager);
}

static void tell_status(struct manager *manager, struct pipeline *pipeline, uint64_t now)
{
	struct summary_view view;
	char text[256];

	manager->next_status = now + STATUS_INTERVAL;
	pipeline_view(pipeline, &view);
	status_line(text, sizeof(text), &view);
	notify_status(manager->notify, text);
}

void manager_tracing(struct manager *manager, struct pipeline *pipeline, uint64_t now)
{
	manager->waiting = false;
	notify_state(manager->notify, NOTIFY_READY, now);
	tell_status(manager, pipeline, now);
}

void manager_second(struct manager *manager, struct pipeline *pipeline, uint64_t now)
{
	notify_tick(manager->notify, now);
	if (!manager->waiting && now >= manager->next_status)
		tell_status(manager, pipeline, now);
}

/* Parses the command line again, reads the file, and looks functions and events up in the kernel. */
static int read_settings(const struct manager *manager, struct options *options,
			 struct failure *failure)
{
	const struct run_context *run = manager->run;
	int ret = options_parse(options, run->argc, run->argv, run->options->formats, failure);

	if (!ret)
		ret = config_load(options, failure);
	if (!ret)
		ret = config_check_report(options, false, options->threshold, failure);
	if (!ret)
		ret = kernel_plan_check(options, failure);
	return ret < 0 ? ret : 0;
}

/* READY=1 ends the reload: now if the old run goes on, else when the next one traces or waits. */
static int reload(struct manager *manager, uint64_t now)
{
	struct failure failure = { 0 };

	notify_state(manager->notify, NOTIFY_RELOADING, now);
	options_free(&manager->next);
	manager->has_next = !read_settings(manager, &manager->next, &failure);
	if (manager->has_next) {
		manager->waiting = false;
		log_notice("configuration read again, tracing starts again with it");
	} else {
		log_error("configuration rejected, keeping the old one: %s", failure.text);
		notify_state(manager->notify, NOTIFY_READY, now);
	}
	return manager->has_next;
}

int manager_signal(struct manager *manager, int number, uint64_t now)
{
	if (number == SIGHUP)
		return reload(manager, now);
	log_debug("%s: stopping", strsignal(number));
	manager->stopping = true;
	notify_state(manager->notify, NOTIFY_STOPPING, now);
	return 1;
}

bool manager_waits(struct manager *manager, const char *reason)
{
	char text[FAILURE_TEXT_MAX + sizeof("Waiting: ")];

	if (manager->stopping || !notify_wanted(manager->notify))
		return false;
	if (manager->waiting)
		return true;
	manager->waiting = true;
	log_warning("%s; trying again every minute", reason);
	snprintf(text, sizeof(text), "Waiting: %s", reason);
	notify_status(manager->notify, text);
	notify_state(manager->notify, NOTIFY_READY, loop_now());
	return true;
}

bool manager_run_ends(const struct manager *manager)
{
	return manager->stopping || manager->has_next;
}

bool manager_take_options(struct manager *manager, struct options *options)
{
	bool has_next = manager->has_next && !manager->stopping;

	if (!has_next)
		return false;
	options_free(options);
	*options = manager->next;
	manager->next = (struct options){ 0 };
	manager->has_next = false;
	return true;
}
