// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/journal.h"
#include "run/live.h"

#define NS_PER_SECOND	1000000000ull
#define TRY_AGAIN	(60 * NS_PER_SECOND) /* while tracing is in use */
#define STATUS_INTERVAL (10 * NS_PER_SECOND)

/* What a run was told to do; one replaces the other when the configuration is read again. */
struct orders {
	struct run_context run;
	struct options options;
};

struct service {
	struct notify *notify;
	struct orders *orders;
	struct orders *next_orders; /* to be followed when the present run has ended */
	struct live *live;
	struct live *next;
	bool stopping;
	bool waiting;	      /* tracing is in use by somebody else */
	uint64_t next_try;    /* ns, while waiting */
	uint64_t next_status; /* ns */
};

static void orders_free(struct orders *orders)
{
	if (orders)
		options_free(&orders->options);
	free(orders);
}

/* The command line once more, and what the file says by now. */
static struct orders *orders_read(const struct run_context *run, struct failure *failure)
{
	struct orders *orders = calloc(1, sizeof(*orders));
	int ret;

	if (!orders) {
		failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
		return NULL;
	}
	orders->run = *run;
	orders->run.options = &orders->options;
	ret = options_parse(&orders->options, run->argc, run->argv, run->options->formats, failure);
	if (!ret)
		ret = config_load(&orders->options, orders->options.config, CONFIG_DEFAULT,
				  failure);
	if (!ret)
		ret = config_check_threshold(&orders->options, failure);
	if (!ret)
		return orders;
	orders_free(orders);
	return NULL;
}

static void tell_status(struct service *service, uint64_t now)
{
	char text[256];

	service->next_status = now + STATUS_INTERVAL;
	live_status(service->live, text, sizeof(text));
	notify_status(service->notify, text);
}

static void tracing(void *context, uint64_t now)
{
	struct service *service = context;

	service->waiting = false;
	notify_state(service->notify, NOTIFY_READY, now);
	tell_status(service, now);
}

static void second(void *context, uint64_t now)
{
	struct service *service = context;

	notify_tick(service->notify, now);
	if (!service->waiting && now >= service->next_status)
		tell_status(service, now);
}

static int take_signal(void *context, int number, uint64_t now);

static const struct live_hooks *hooks_of(struct service *service, struct live_hooks *hooks)
{
	*hooks = (struct live_hooks){
		.tracing = tracing,
		.second = second,
		.signal = take_signal,
		.context = service,
	};
	return hooks;
}

/* What needs no new set-up is taken at once; the rest is made ready while the old run goes on. */
static int follow(struct service *service, struct orders *orders, struct failure *failure)
{
	struct live_hooks hooks;
	int ret;

	if (options_same_tracing(&service->orders->options, &orders->options)) {
		live_set_run(service->live, &orders->run);
		orders_free(service->orders);
		service->orders = orders;
		return 0;
	}
	ret = live_new(&service->next, &orders->run, hooks_of(service, &hooks), failure);
	if (!ret)
		service->next_orders = orders;
	return ret;
}

static int reload(struct service *service, uint64_t now)
{
	struct failure failure = { 0 };
	struct orders *orders;

	notify_state(service->notify, NOTIFY_RELOADING, now);
	orders = orders_read(&service->orders->run, &failure);
	if (!orders || follow(service, orders, &failure)) {
		orders_free(orders);
		log_error("configuration not taken, the old one stays: %s", failure.text);
	} else {
		log_notice("configuration read again%s",
			   service->next ? ", tracing is set up anew" : "");
	}
	/* One that waits for others' tracing to end is as ready as it was. */
	if (!service->next || service->waiting)
		notify_state(service->notify, NOTIFY_READY, now);
	return service->next != NULL;
}

static int take_signal(void *context, int number, uint64_t now)
{
	struct service *service = context;

	if (number == SIGHUP)
		return service->next ? 1 : reload(service, now);
	log_debug("%s: stopping", strsignal(number));
	service->stopping = true;
	notify_state(service->notify, NOTIFY_STOPPING, now);
	return 1;
}

static int wait_tick(void *context, uint64_t now)
{
	struct service *service = context;

	live_tell(service->live, now);
	second(service, now);
	return now >= service->next_try;
}

static int wait_signal(void *context, int number)
{
	return take_signal(context, number, loop_now());
}

static int wait_request(void *context, int fd, uint32_t events)
{
	struct service *service = context;

	(void)fd;
	(void)events;
	live_answer(service->live);
	return 0;
}

/* Returns 0 when it is time to try again or to stop, or -errno. */
static int wait_a_minute(struct service *service)
{
	struct loop_setup setup = {
		.context = service,
		.tick = wait_tick,
		.signal = wait_signal,
	};
	struct loop *loop = loop_new(&setup, service->orders->run.signal_fd);
	int ret = loop ? loop_set_tick(loop, NS_PER_SECOND) : -errno;

	service->next_try = loop_now() + TRY_AGAIN;
	if (!ret)
		ret = loop_watch(loop, service->orders->run.request_fd, EPOLLIN, wait_request);
	if (!ret)
		ret = loop_run(loop);
	loop_free(loop);
	return ret;
}

static void say_waiting(struct service *service, const struct failure *failure)
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

/* The old run ends with its summary, the new one takes over. */
static int turn_over(struct service *service, struct failure *failure)
{
	int ret = live_end(service->live, failure);

	live_free(service->live);
	service->live = service->next;
	service->next = NULL;
	orders_free(service->orders);
	service->orders = service->next_orders;
	service->next_orders = NULL;
	return ret;
}

static bool may_wait(const struct service *service, const struct failure *failure)
{
	return failure->status == EXIT_STATUS_IN_USE && notify_wanted(service->notify);
}

/* Once: to the end of tracing, and to the end of the wait where somebody else has it. */
static int serve_once(struct service *service, struct failure *failure)
{
	int ret = live_trace(service->live, failure);

	if (!ret || service->stopping || !may_wait(service, failure))
		return ret;
	say_waiting(service, failure);
	*failure = (struct failure){ 0 };
	ret = wait_a_minute(service);
	return ret ? failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %s", strerror(-ret)) :
		     0;
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
			ret = turn_over(service, failure);
	}
	end = live_end(service->live, &end_failure);
	if (ret || !end)
		return ret;
	*failure = end_failure;
	return end;
}

static int start(struct service *service, const struct run_context *run, struct failure *failure)
{
	struct live_hooks hooks;

	service->notify = notify_new();
	if (!service->notify)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	service->orders = orders_read(run, failure);
	if (!service->orders)
		return -EINVAL;
	return live_new(&service->live, &service->orders->run, hooks_of(service, &hooks), failure);
}

int service_run(const struct run_context *run, struct failure *failure)
{
	struct service service = { 0 };
	int ret = start(&service, run, failure);

	if (!ret)
		ret = serve(&service, failure);
	live_free(service.live);
	live_free(service.next);
	orders_free(service.orders);
	orders_free(service.next_orders);
	notify_free(service.notify);
	return ret;
}
