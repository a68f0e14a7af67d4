// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/run/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "run/live.h"
#include "run/manager.h"
#include "run/report.h"

#define RETRY_INTERVAL (60 * NS_PER_SECOND) /* while tracing is in use */

/* One run, with the options of the start or of a reload. */
struct service {
	const struct run_context *run;
	struct live *live;
	uint64_t next_retry; /* ns, CLOCK_MONOTONIC */
};

static int retry_tick(void *context, uint64_t now)
{
	struct service *service = context;

	live_tick(service->live, now);
	manager_second(service->run->manager, live_pipeline(service->live), now);
	return now >= service->next_retry;
}

static int retry_signal(void *context, int number)
{
	struct service *service = context;

	if (number != SIGUSR1)
		return manager_signal(service->run->manager, number, loop_now());
	summary_print_so_far(service->run, live_pipeline(service->live));
	return 0;
}

/* Returns 0 when it is time to try again or to end, or -errno with @failure. */
static int wait_to_retry(struct service *service, struct failure *failure)
{
	static const struct loop_callbacks callbacks = { retry_tick, retry_signal };
	struct loop *loop = loop_new(&callbacks, service, service->run->signals);
	int ret = loop ? loop_set_tick(loop, NS_PER_SECOND) : -errno;

	service->next_retry = loop_now() + RETRY_INTERVAL;
	if (!ret)
		ret = loop_run(loop);
	loop_free(loop);
	return ret ? failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %s", strerror(-ret)) :
		     0;
}

/* Traces, and waits while another user does, until the run is to end. */
static int trace_or_wait(struct service *service, struct failure *failure)
{
	struct manager *manager = service->run->manager;
	int ret;

	do {
		ret = live_trace(service->live, failure);
		if (!ret || failure->status != EXIT_STATUS_IN_USE ||
		    !manager_waits(manager, failure->text))
			return ret;
		*failure = (struct failure){ 0 };
		ret = manager_run_ends(manager) ? 0 : wait_to_retry(service, failure);
	} while (!ret && !manager_run_ends(manager));
	return ret;
}

static int serve_run(const struct run_context *run, struct failure *failure)
{
	struct service service = { .run = run };
	int ret = live_new(&service.live, run, failure);

	return ret ? ret : live_end(service.live, trace_or_wait(&service, failure), failure);
}

int service_run(const struct run_context *run, struct failure *failure)
{
	struct run_context one = *run;
	struct options options = { 0 };
	int ret;

	one.manager = manager_new(run);
	if (!one.manager)
		return failure_no_memory(failure);
	ret = serve_run(&one, failure);
	while (!ret && manager_take_options(one.manager, &options)) {
		one.options = &options;
		ret = serve_run(&one, failure);
	}
	options_free(&options);
	manager_free(one.manager);
	return ret;
}
