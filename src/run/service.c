// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/service.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base/log.h"
#include "allocfilt/journal/notify.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/loop.h"
#include "run/live.h"
#include "run/report.h"

#define STATUS_INTERVAL (10 * NS_PER_SECOND)
#define RETRY_INTERVAL	(60 * NS_PER_SECOND) /* while tracing is in use */

struct service {
	struct run_context run; /* with the options of the start or of a reload */
	struct live *live;	/* of that run */
	struct notify *notify;
	struct options next; /* of the next run, where has_next is set */
	bool has_next;
	bool stopping;
	bool waiting; /* tracing is in use by somebody else */
	uint64_t next_status, next_retry;
};

static void tell_status(struct service *service, struct pipeline *pipeline, uint64_t now)
{
	struct summary_view view;
	char text[256];

	service->next_status = now + STATUS_INTERVAL;
	pipeline_view(pipeline, &view);
	status_line(text, sizeof(text), &view);
	notify_status(service->notify, text);
}

void service_tracing(struct service *service, struct pipeline *pipeline, uint64_t now)
{
	service->waiting = false;
	notify_state(service->notify, NOTIFY_READY, now);
	tell_status(service, pipeline, now);
}

void service_second(struct service *service, struct pipeline *pipeline, uint64_t now)
{
	notify_tick(service->notify, now);
	if (!service->waiting && now >= service->next_status)
		tell_status(service, pipeline, now);
}

/* Parses the command line again, reads the file, and looks functions and events up in the kernel. */
static int read_settings(struct service *service, struct failure *failure)
{
	const struct run_context *run = &service->run;
	struct options *next = &service->next;
	int ret = options_parse(next, run->argc, run->argv, run->options->formats, failure);

	if (!ret)
		ret = config_load(next, failure);
	if (!ret)
		ret = config_check_report(next, false, next->threshold, failure);
	if (!ret)
		ret = kernel_plan_check(next, failure);
	return ret < 0 ? ret : 0;
}

/* READY=1 ends the reload: now if the old run goes on, else when the next one traces or waits. */
static int reload(struct service *service, uint64_t now)
{
	struct failure failure = { 0 };

	notify_state(service->notify, NOTIFY_RELOADING, now);
	options_free(&service->next);
	service->has_next = !read_settings(service, &failure);
	if (service->has_next) {
		service->waiting = false;
		log_notice("configuration read again, tracing starts again with it");
	} else {
		log_error("configuration rejected, keeping the old one: %s", failure.text);
		notify_state(service->notify, NOTIFY_READY, now);
	}
	return service->has_next;
}

int service_signal(struct service *service, int number, uint64_t now)
{
	if (number == SIGHUP)
		return reload(service, now);
	log_debug("%s: stopping", strsignal(number));
	service->stopping = true;
	notify_state(service->notify, NOTIFY_STOPPING, now);
	return 1;
}

/* ---- while somebody else uses tracing ---- */

static int retry_tick(void *context, uint64_t now)
{
	struct service *service = context;

	live_tick(service->live, now);
	service_second(service, live_pipeline(service->live), now);
	return now >= service->next_retry;
}

static int retry_signal(void *context, int number)
{
	struct service *service = context;

	if (number != SIGUSR1)
		return service_signal(service, number, loop_now());
	summary_print_so_far(&service->run, live_pipeline(service->live));
	return 0;
}

/* Returns 0 when it is time to try again or to end, or -errno with @failure. */
static int wait_to_retry(struct service *service, struct failure *failure)
{
	static const struct loop_callbacks callbacks = { retry_tick, retry_signal };
	struct loop *loop = loop_new(&callbacks, service, service->run.signals);
	int ret = loop ? loop_set_tick(loop, NS_PER_SECOND) : -errno;

	service->next_retry = loop_now() + RETRY_INTERVAL;
	if (!ret)
		ret = loop_run(loop);
	loop_free(loop);
	return ret ? failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %m") : 0;
}

/* A service that waits is ready for its manager. The reason is logged once, and the status. */
static void tell_waiting(struct service *service, const char *reason)
{
	char text[FAILURE_TEXT_MAX + sizeof("Waiting: ")];

	if (service->waiting)
		return;
	service->waiting = true;
	log_warning("%s; trying again every minute", reason);
	snprintf(text, sizeof(text), "Waiting: %s", reason);
	notify_status(service->notify, text);
	notify_state(service->notify, NOTIFY_READY, loop_now());
}

/* ---- the runs ---- */

/* Is the service to stop, or to begin a run with other options? */
static bool run_is_over(const struct service *service)
{
	return service->stopping || service->has_next;
}

/*
 * Traces, and under a service manager waits while another user does, or has what is ours open, until the run is
 * to end. Then ExecStopPost= removes that.
 */
static int trace_or_wait(struct service *service, struct failure *failure)
{
	bool is_used;
	int ret;

	do {
		ret = live_trace(service->live, failure);
		is_used = failure->status == EXIT_STATUS_IN_USE ||
			  (failure->status == EXIT_STATUS_NOT_RESTORED && ret == -EBUSY);
		if (!ret || !is_used || service->stopping || !notify_wanted(service->notify))
			return ret;
		tell_waiting(service, failure->text);
		*failure = (struct failure){ 0 };
		ret = run_is_over(service) ? 0 : wait_to_retry(service, failure);
	} while (!ret && !run_is_over(service));
	return ret;
}

int service_run(const struct run_context *run, struct failure *failure)
{
	struct service service = { .run = *run, .notify = notify_new() };
	struct options options = { 0 };
	int ret;

	if (!service.notify)
		return failure_no_memory(failure);
	service.run.service = &service;
	do {
		if (service.has_next) {
			options_free(&options);
			options = service.next;
			service.next = (struct options){ 0 };
			service.has_next = false;
			service.run.options = &options;
		}
		ret = live_new(&service.live, &service.run, failure);
		if (!ret)
			ret = live_end(service.live, trace_or_wait(&service, failure), failure);
	} while (!ret && service.has_next && !service.stopping);
	options_free(&service.next);
	options_free(&options);
	notify_free(service.notify);
	return ret;
}
