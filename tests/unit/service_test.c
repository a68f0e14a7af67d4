// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The service around its runs of tracing: reload, stop, and waiting for others' tracing. The
 * functions of run/live.c are replaced by those defined here, which the linker finds first.
 */
#include <fcntl.h>
#include <signal.h>

#include "allocfilt/base/log.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/run/signals.h"
#include "datagrams.h"
#include "run/live.h"
#include "run/service.h"
#include "test_directory.h"
#include "unit_test.h"

#define SCRIPT_MAX 8

struct live {
	const struct run_context *run;
};

/* What one call of live_trace() does: a signal, then its end. */
struct act {
	const char *config; /* new text of the file; NULL: unchanged */
	int signal;	    /* 0: none; ends the call if the manager says so */
	int status;	    /* exit status of a failure; 0: ends by -d */
};

static const struct act *script;
static struct signals *signals;
static struct failure failure;
static int made, alive, traced;
static uint64_t threshold_traced[SCRIPT_MAX];
static const char *waiting_config; /* while it waits: the file, which is read again; NULL: a stop */

int live_new(struct live **ret_live, const struct run_context *run, struct failure *ret_failure)
{
	/* one after the other */
	assert_int_equal(alive++, 0);
	made++;
	*ret_live = calloc(1, sizeof(**ret_live));
	(*ret_live)->run = run;
	return 0;
}

int live_trace(struct live *live, struct failure *ret_failure)
{
	const struct act *act = &script[traced];

	threshold_traced[traced++] = live->run->options->threshold;
	if (act->config)
		put_text("conf", act->config);
	if (act->signal && service_signal(live->run->service, act->signal, loop_now()))
		return 0;
	if (act->status)
		return failure_set(ret_failure, act->status, EBUSY, "in use");
	return 0;
}

int live_end(struct live *live, int error, struct failure *ret_failure)
{
	alive--;
	free(live);
	return error;
}

/* The first tick of a service that waits. */
void live_tick(struct live *live, uint64_t now)
{
	if (waiting_config)
		put_text("conf", waiting_config);
	kill(getpid(), waiting_config ? SIGHUP : SIGTERM);
	waiting_config = NULL;
}

struct pipeline *live_pipeline(struct live *live)
{
	return NULL;
}

/* The kernel lacks the event "a:b". */
int kernel_plan_check(const struct options *options, struct failure *ret_failure)
{
	if (options->events)
		return failure_set(ret_failure, EXIT_STATUS_USAGE, EINVAL, "no such event");
	return 0;
}

static int serve(const struct act *acts)
{
	static char name[] = "allocfilt", journal[] = "--journal", option[] = "-c", path[128];
	static char *argv[] = { name, journal, option, path, NULL };
	const char *const *formats = output_form_names();
	struct options options;
	struct run_context run = {
		.options = &options,
		.argc = 4,
		.argv = argv,
		.signals = signals,
	};
	int ret;

	snprintf(path, sizeof(path), "%s/conf", test_directory);
	put_text("conf", "threshold = 1ms\n");
	script = acts;
	made = alive = traced = 0;
	failure = (struct failure){ 0 };
	assert_int_equal(options_parse(&options, run.argc, argv, formats, &failure), 0);
	assert_int_equal(config_load(&options, &failure), 0);
	ret = service_run(&run, &failure);
	options_free(&options);
	assert_int_equal(alive, 0);
	return ret;
}

static int set_up(void **state)
{
	log_set_level(LOG_LEVEL_ERROR);
	signal(SIGHUP, SIG_DFL); /* also below nohup */
	unsetenv("NOTIFY_SOCKET");
	waiting_config = NULL;
	return make_test_directory(state) || signals_block(&signals);
}

static int tear_down(void **state)
{
	signals_free(signals);
	return remove_test_directory(state);
}

#define RUN(test) UNIT_TEST_WITH(test, set_up, tear_down)

/* A file with a mistake, or with an event the kernel lacks: the old run goes on. */
RUN(test_bad_reload)
{
	static const char *const files[] = { "threshold = soon\n", "event = a:b\n",
					     "burst = -1\n" };

	for (size_t i = 0; i < COUNT(files); i++) {
		const struct act acts[] = { { files[i], SIGHUP, EXIT_STATUS_RUN_TIME } };

		assert_int_equal(serve(acts), -EBUSY);
		assert_int_equal(made, 1);
	}
}

/* The old run ends, and another begins. */
RUN(test_reload)
{
	static const struct act acts[] = {
		{ "threshold = 2ms\n", SIGHUP, 0 },
		{ "threshold = 3ms\n", SIGHUP, 0 },
		{ NULL, SIGTERM, 0 },
	};

	assert_int_equal(serve(acts), 0);
	assert_int_equal(made, 3);
	assert_int_equal(threshold_traced[0], 1000000);
	assert_int_equal(threshold_traced[1], 2000000);
	assert_int_equal(threshold_traced[2], 3000000);
}

/* The new run ends by itself, or by a failure: so does the service. */
RUN(test_end_after_a_reload)
{
	static const struct act duration[] = { { "threshold = 2ms\n", SIGHUP, 0 }, { NULL, 0, 0 } };
	static const struct act fails[] = { { "threshold = 2ms\n", SIGHUP, 0 },
					    { NULL, 0, EXIT_STATUS_RUN_TIME } };

	assert_int_equal(serve(duration), 0);
	assert_int_equal(traced, 2);
	assert_int_equal(serve(fails), -EBUSY);
	assert_int_equal(traced, 2);
}

/* The messages that have come to the service manager, without the time of a reload. */
static void hears(int socket, const char *expected)
{
	char text[512], all[512] = "";

	for (ssize_t got; (got = recv(socket, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0;) {
		text[got] = '\0';
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%.*s", *all ? " " : "",
			 (int)strcspn(text, "\n"), text);
	}
	assert_string_equal(all, expected);
	close(socket);
}

static int listen_as_manager(void)
{
	int socket = listen_at(test_path("n"));

	setenv("NOTIFY_SOCKET", test_path("n"), 1);
	return socket;
}

/* While another user traces, the service waits under a service manager, else it fails. */
RUN(test_tracing_in_use)
{
	static const struct act acts[] = { { NULL, 0, EXIT_STATUS_IN_USE } };
	static const struct act busy[] = { { NULL, 0, EXIT_STATUS_NOT_RESTORED } };
	static const struct act fails[] = { { NULL, 0, EXIT_STATUS_RUN_TIME } };
	int manager;

	assert_int_equal(serve(acts), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	manager = listen_as_manager();
	assert_int_equal(serve(acts), 0);
	assert_int_equal(traced, 1);
	hears(manager, "STATUS=Waiting: in use READY=1 STOPPING=1");
	manager = listen_as_manager();
	assert_int_equal(serve(busy), 0);
	hears(manager, "STATUS=Waiting: in use READY=1 STOPPING=1");
	manager = listen_as_manager();
	assert_int_equal(serve(fails), -EBUSY);
	hears(manager, "");
}

/* A reload while it waits is over once the new run waits, with its own settings. */
RUN(test_reload_while_waiting)
{
	static const struct act acts[] = { { NULL, 0, EXIT_STATUS_IN_USE },
					   { NULL, 0, EXIT_STATUS_IN_USE } };
	int manager = listen_as_manager();

	waiting_config = "threshold = 2ms\n";
	assert_int_equal(serve(acts), 0);
	assert_int_equal(traced, 2);
	assert_int_equal(made, 2);
	assert_int_equal(threshold_traced[1], 2000000);
	hears(manager, "STATUS=Waiting: in use READY=1 RELOADING=1 READY=1 STOPPING=1");
}

/* The manager hears at once that settings are refused. */
RUN(test_bad_reload_is_over)
{
	static const struct act acts[] = { { "threshold = soon\n", SIGHUP, 0 } };
	int manager = listen_as_manager();

	assert_int_equal(serve(acts), 0);
	hears(manager, "RELOADING=1 READY=1");
}

UNIT_TEST_MAIN(NULL, NULL)
