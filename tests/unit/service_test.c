// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The service around its runs of tracing: reload, stop, and waiting for others' tracing. The
 * functions of run/live.c are replaced by those defined here, which the linker finds first.
 */
#include <fcntl.h>
#include <signal.h>

#include "allocfilt/base.h"
#include "allocfilt/output.h"
#include "datagrams.h"
#include "run/live.h"
#include "test_directory.h"
#include "unit_test.h"

#define SCRIPT_MAX 8

struct live {
	const struct run_context *run;
	struct live_hooks hooks;
};

/* What one call of live_trace() does: a reload or signal, then its end. */
struct act {
	const char *config; /* new text of the file; NULL: unchanged */
	int signal;	    /* 0: none; ends the call if the hook returns 1 */
	int status;	    /* exit status of a failure; 0: ends by -d */
};

static const struct act *script;
static struct signals *signals;
static struct failure failure;
static int made, freed, ended, traced;
static uint64_t threshold_traced[SCRIPT_MAX], burst_set, report_set;
static int new_fails; /* number of the call of live_new() that fails; 0: none */

int live_new(struct live **ret_live, const struct run_context *run, const struct live_hooks *hooks,
	     struct failure *ret_failure)
{
	if (++made == new_fails)
		return failure_set(ret_failure, EXIT_STATUS_USAGE, EINVAL, "no such event");
	*ret_live = calloc(1, sizeof(**ret_live));
	**ret_live = (struct live){ run, *hooks };
	return 0;
}

void live_free(struct live *live)
{
	freed += live != NULL;
	free(live);
}

int live_trace(struct live *live, struct failure *ret_failure)
{
	const struct act *act = &script[traced];

	threshold_traced[traced++] = live->run->options->threshold;
	if (act->config)
		put_text("conf", act->config);
	if (act->signal && live->hooks.signal(live->hooks.context, act->signal, loop_now()))
		return 0;
	return act->status ? failure_set(ret_failure, act->status, EBUSY, "in use") : 0;
}

int live_end(struct live *live, struct failure *ret_failure)
{
	ended++;
	return 0;
}

int live_set_run(struct live *live, const struct run_context *run, struct failure *ret_failure)
{
	live->run = run;
	burst_set = run->options->burst;
	report_set = run->options->report;
	return 0;
}

/* Stops a waiting service at its first tick. */
void live_tick(struct live *live, uint64_t now)
{
	kill(getpid(), SIGTERM);
}

struct pipeline *live_pipeline(struct live *live)
{
	return NULL;
}

static int serve(const struct act *acts)
{
	static char name[] = "allocfilt", journal[] = "--journal", option[] = "-c", path[128];
	static char *argv[] = { name, journal, option, path, NULL };
	struct options options = { .formats = output_form_names(false) };
	struct run_context run = {
		.options = &options,
		.argc = 4,
		.argv = argv,
		.signals = signals,
	};
	int ret;

	snprintf(path, sizeof(path), "%s/conf", test_directory);
	put_text("conf", "threshold = 1ms\nburst = 5\n");
	script = acts;
	made = freed = ended = traced = 0;
	burst_set = 0;
	failure = (struct failure){ 0 };
	ret = service_run(&run, &failure);
	assert_int_equal(freed, made - (new_fails && made >= new_fails));
	return ret;
}

static int set_up(void **state)
{
	log_set_level(LOG_LEVEL_ERROR);
	unsetenv("NOTIFY_SOCKET");
	new_fails = 0;
	return make_test_directory(state) || signals_block(&signals);
}

static int tear_down(void **state)
{
	signals_free(signals);
	return remove_test_directory(state);
}

static void test_stop(void **state)
{
	static const struct act acts[] = { { NULL, SIGTERM, 0 } };

	assert_int_equal(serve(acts), 0);
	assert_int_equal(traced, 1);
	assert_int_equal(ended, 1);
	assert_int_equal(threshold_traced[0], 1000000);
}

/* A file with a mistake, or with an event the kernel lacks: the old settings and run continue. */
static void test_bad_reload(void **state)
{
	static const struct act mistake[] = { { "threshold = soon\n", SIGHUP, 1 } };
	static const struct act cannot[] = { { "threshold = 1ms\nevent = a:b\n", SIGHUP, 1 } };

	assert_int_equal(serve(mistake), -EBUSY);
	assert_int_equal(made, 1);
	assert_int_equal(burst_set, 0);
	new_fails = 2;
	assert_int_equal(serve(cannot), -EBUSY);
	assert_int_equal(made, 2);
	assert_int_equal(traced, 1);
	assert_int_equal(ended, 1);
}

/* A setting that needs no new set-up applies at once to the current run. */
static void test_reload_in_place(void **state)
{
	static const struct act acts[] = { { "threshold = 1ms\nburst = 7\nreport = 5ms\n", SIGHUP,
					     0 } };

	assert_int_equal(serve(acts), 0);
	assert_int_equal(made, 1);
	assert_int_equal(burst_set, 7);
	assert_int_equal(report_set, 5000000);
}

/* Another threshold needs a new run, prepared before the old one ends. */
static void test_reload_anew(void **state)
{
	static const struct act acts[] = {
		{ "threshold = 2ms\n", SIGHUP, 0 },
		{ NULL, SIGTERM, 0 },
	};

	assert_int_equal(serve(acts), 0);
	assert_int_equal(made, 2);
	assert_int_equal(ended, 2);
	assert_int_equal(traced, 2);
	assert_int_equal(threshold_traced[0], 1000000);
	assert_int_equal(threshold_traced[1], 2000000);
}

/* While another user traces, the service waits under a service manager, else it fails. */
static void test_tracing_in_use(void **state)
{
	static const struct act acts[] = { { NULL, 0, EXIT_STATUS_IN_USE } };
	char text[512] = "";
	int manager;

	assert_int_equal(serve(acts), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	manager = listen_at(test_path("n"));
	setenv("NOTIFY_SOCKET", test_path("n"), 1);
	assert_int_equal(serve(acts), 0);
	assert_int_equal(traced, 1);
	assert_int_equal(ended, 1);
	assert_true(recv(manager, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "Waiting: in use"));
	close(manager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stop, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_reload, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reload_in_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reload_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tracing_in_use, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
