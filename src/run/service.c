// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/journal.h"
#include "run/live.h"
#include "run/pipeline.h"
#include "run/report.h"

#define RETRY_INTERVAL	(60 * NS_PER_SECOND) /* while tracing is in use */
#define STATUS_INTERVAL (10 * NS_PER_SECOND)

/* Replaced as a whole when the configuration is read again. */
struct service_settings {
	struct run_context run;
	struct options options;
};

struct service {
	struct notify *notify;
	struct service_settings *settings;
	struct live *live;
	struct live *next; /* after a reload, until switch_run(); NULL: none */
	struct service_settings *next_settings;
	bool stopping;
	bool waiting;	      /* tracing is in use by somebody else */
	uint64_t next_retry;  /* ns, while waiting */
	uint64_t next_status; /* ns */
};

static void service_settings_free(struct service_settings *settings)
{
	if (settings)
		options_free(&settings->options);
	free(settings);
}

/* Parses the command line again and reads the configuration file. */
static struct service_settings *service_settings_read(const struct run_context *run,
						      struct failure *failure)
{
	struct service_settings *settings = calloc(1, sizeof(*settings));
	int ret;

	if (!settings) {
		failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
		return NULL;
	}
	settings->run = *run;
	settings->run.options = &settings->options;
	ret = options_parse(&settings->options, run->argc, run->argv, run->options->formats,
			    failure);
	if (!ret)
		ret = config_load(&settings->options, failure);
	if (!ret)
		ret = config_check_threshold(&settings->options, failure);
	if (!ret)
		return settings;
	service_settings_free(settings);
	return NULL;
}

static void send_status(struct service *service, uint64_t now)
{
	struct summary_view view;
	char text[256];

	service->next_status = now + STATUS_INTERVAL;
	pipeline_view(live_pipeline(service->live), &view);
	status_line(text, sizeof(text), &view);
	notify_status(service->notify, text);
}

static void on_tracing(void *context, uint64_t now)
{
	struct service *service = context;

	service->waiting = false;
	notify_state(service->notify, NOTIFY_READY, now);
	send_status(service, now);
}

static void on_second(void *context, uint64_t now)
{
	struct service *service = context;

	notify_tick(service->notify, now);
	if (!service->waiting && now >= service->next_status)
		send_status(service, now);
}

static int on_signal(void *context, int number, uint64_t now);

static int make_live(struct service *service, struct live **live, const struct run_context *run,
		     struct failure *failure)
{
	const struct live_hooks hooks = { on_tracing, on_second, on_signal, service };

	return live_new(live, run, &hooks, failure);
}

/*
 * Applies settings that need no new set-up at once. For others, prepares the next run while this
 * one continues.
 */
static int apply(struct service *service, struct service_settings *settings,
		 struct failure *failure)
{
	int ret;

	if (options_same_tracing(&service->settings->options, &settings->options)) {
		ret = live_set_run(service->live, &settings->run, failure);
		if (ret)
			return ret;
		service_settings_free(service->settings);
		service->settings = settings;
		return 0;
	}
	ret = make_live(service, &service->next, &settings->run, failure);
	if (!ret)
		service->next_settings = settings;
	return ret;
}

static int reload(struct service *service, uint64_t now)
{
	struct failure failure = { 0 };
	struct service_settings *settings;

	notify_state(service->notify, NOTIFY_RELOADING, now);
	settings = service_settings_read(&service->settings->run, &failure);
	if (!settings || apply(service, settings, &failure)) {
		service_settings_free(settings);
		log_error("configuration rejected, keeping the old one: %s", failure.text);
	} else {
		log_notice("configuration read again%s",
			   service->next ? ", restarting tracing" : "");
	}
	/* A service that waits for another user of tracing counts as ready. */
	if (!service->next || service->waiting)
		notify_state(service->notify, NOTIFY_READY, now);
	return service->next != NULL;
}

static int on_signal(void *context, int number, uint64_t now)
{
	struct service *service = context;

	if (number == SIGHUP)
		return reload(service, now);
	log_debug("%s: stopping", strsignal(number));
	service->stopping = true;
	notify_state(service->notify, NOTIFY_STOPPING, now);
	return 1;
}

static int wait_tick(void *context, uint64_t now)
{
	struct service *service = context;

	live_tick(service->live, now);
	on_second(service, now);
	return now >= service->next_retry;
}

static int wait_signal(void *context, int number)
{
	struct service *service = context;

	if (number != SIGUSR1)
		return on_signal(service, number, loop_now());
	summary_print_so_far(&service->settings->run, live_pipeline(service->live));
	return 0;
}

/* Returns 0 when it is time to retry or to stop, or -errno. */
static int wait_to_retry(struct service *service)
{
	static const struct loop_callbacks callbacks = { wait_tick, wait_signal };
	struct loop *loop = loop_new(&callbacks, service, service->settings->run.signals);
	int ret = loop ? loop_set_tick(loop, NS_PER_SECOND) : -errno;

	service->next_retry = loop_now() + RETRY_INTERVAL;
	if (!ret)
		ret = loop_run(loop);
	loop_free(loop);
	return ret;
}

static void report_waiting(struct service *service, const struct failure *failure)
{
	char text[sizeof(failure->text) + sizeof("Waiting: ")];

	if (service->waiting)
		return;
	service->waiting = true;
	log_warning("%s; trying again every minute", failure->text);
	snprintf(text, sizeof(text), "Waiting: %s", failure->text);
	notify_status(service->notify, text);
	notify_state(service->notify, NOTIFY_READY, loop_now());
}

/* Ends the old run with its summary and switches to the next one. */
static int switch_run(struct service *service, struct failure *failure)
{
	int ret = live_end(service->live, failure);

	live_free(service->live);
	service->live = service->next;
	service->next = NULL;
	service_settings_free(service->settings);
	service->settings = service->next_settings;
	service->next_settings = NULL;
	return ret;
}

/* Traces once. Under a service manager, waits to retry if another user traces. */
static int serve_once(struct service *service, struct failure *failure)
{
	int ret = live_trace(service->live, failure);

	if (!ret || service->stopping || failure->status != EXIT_STATUS_IN_USE ||
	    !notify_wanted(service->notify))
		return ret;
	report_waiting(service, failure);
	*failure = (struct failure){ 0 };
	ret = wait_to_retry(service);
	if (ret)
		failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %s", strerror(-ret));
	return ret;
}

static int serve(struct service *service, struct failure *failure)
{
	struct failure end_failure = { 0 };
	bool again = true;
	int ret = 0, end;

	while (!ret && again) {
		ret = serve_once(service, failure);
		again = !service->stopping && (service->next || service->waiting);
		if (!ret && again && service->next)
			ret = switch_run(service, failure);
	}
	end = live_end(service->live, &end_failure);
	if (ret || !end)
		return ret;
	*failure = end_failure;
	return end;
}

int service_run(const struct run_context *run, struct failure *failure)
{
	struct service service = { .notify = notify_new() };
	int ret = -EINVAL;

	if (!service.notify)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	service.settings = service_settings_read(run, failure);
	if (service.settings)
		ret = make_live(&service, &service.live, &service.settings->run, failure);
	if (!ret)
		ret = serve(&service, failure);
	live_free(service.live);
	live_free(service.next);
	service_settings_free(service.settings);
	service_settings_free(service.next_settings);
	notify_free(service.notify);
	return ret;
}
