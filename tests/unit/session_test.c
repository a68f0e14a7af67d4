// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_tracing.h"

#include <tracefs.h>

#include "allocfilt/base.h"
#include "allocfilt/tracing.h"

/* More calls than any session makes; a loop over all of them has to end before. */
#define CALLS_MAX 5000

/* Every call has its turn; with the sanitizers, which make it ten times as slow, some of them. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 9
#else
#define STRIDE 1
#endif

static char page_alloc[] = "__alloc_pages", reclaim[] = "try_to_free_pages", slab[] = "shrink_slab";
static char *functions[] = { page_alloc, reclaim, slab, NULL };
static unsigned int indexes[] = { 2, 3, 4 };
static struct kernel kernel;
static struct plan *plan;
static struct session_request request;
static struct failure failure;

static void add_event(const char *name)
{
	struct plan_event *event = &plan->events[plan->nr_events++];

	event->system = strdup("vmscan");
	event->name = strdup(name);
	event->rule = RULE_PAIR;
}

static const struct probe probe = {
	.definition = "e:allocfilt/shrinker vmscan/mm_shrink_slab_start shr=$shr",
	.filter = "shrink == 0x1",
};

static void make_plan(void)
{
	plan = calloc(1, sizeof(*plan));
	plan->threshold = 134000;
	plan->function_graph = true;
	for (int i = 0; functions[i]; i++)
		plan->functions[plan->nr_functions++].name = strdup(functions[i]);
	add_event("mm_shrink_slab_start");
	add_event("mm_shrink_slab_end");
	add_event("mm_vmscan_direct_reclaim_begin");
	plan->events[0].id = EVENT_SLAB_START;
	plan->events[1].id = EVENT_SLAB_END;
	plan->events[2].side = EVENT_BEGIN;
}

static void make(bool instances)
{
	fake_make(instances);
	kernel = (struct kernel){ .dir = fake.dir,
				  .function_graph = true,
				  .function_enabled = true,
				  .functions = functions,
				  .indexes = indexes,
				  .nr_functions = 3 };
	request = (struct session_request){ .kernel = &kernel,
					    .plan = plan,
					    .buffer = 4 << 20,
					    .run_dir = fake.run_dir,
					    .probe = &probe,
					    .stack = true };
	tracefs_set_tracing_dir(fake.dir);
	memset(&failure, 0, sizeof(failure));
}

static int group_setup(void **state)
{
	(void)state;
	log_set_level(getenv("SESSION_TEST_VERBOSE") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	make_plan();
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	plan_free(plan);
	return 0;
}

static int at_top(void **state)
{
	(void)state;
	make(false);
	return 0;
}

static int in_instance(void **state)
{
	(void)state;
	make(true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_remove();
	return 0;
}

/* A whole run. Returns what the first call that failed returned. */
static int run(void)
{
	struct session *session;
	int ret = session_start(&session, &request, &failure), end;

	if (ret)
		return ret;
	session_set_buffer_percent(session, 50);
	ret = session_on(session, &failure);
	session_mark_clock(session);
	session_set_buffer_percent(session, 0);
	session_off(session);
	end = session_end(session, &failure);
	return ret ? ret : end;
}

static bool undo_exists(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/undo", fake.run_dir);
	return !access(path, F_OK);
}

static void assert_value(const char *name, const char *value)
{
	char *text = fake_get(name);

	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, value);
}

static void sets_what_it_takes(const char *prefix)
{
	struct session *session;
	char name[128];

	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_value("tracing_thresh", "134");
	snprintf(name, sizeof(name), "%scurrent_tracer", prefix);
	assert_value(name, "function_graph");
	snprintf(name, sizeof(name), "%sset_ftrace_filter", prefix);
	assert_string_equal(fake_get(name), "__alloc_pages\ntry_to_free_pages\nshrink_slab\n");
	snprintf(name, sizeof(name), "%sbuffer_size_kb", prefix);
	assert_value(name, "4099");
	snprintf(name, sizeof(name), "%sevents/vmscan/mm_shrink_slab_end/enable", prefix);
	assert_value(name, "1");
	assert_true(session_has_probe(session));
	snprintf(name, sizeof(name), "%sevents/allocfilt/shrinker/enable", prefix);
	assert_value(name, "1");
	snprintf(name, sizeof(name), "%sevents/allocfilt/shrinker/filter", prefix);
	assert_value(name, probe.filter);
	snprintf(name, sizeof(name), "%sevents/vmscan/mm_vmscan_direct_reclaim_begin/trigger",
		 prefix);
	assert_value(name, "stacktrace:unlimited");
	snprintf(name, sizeof(name), "%stracing_on", prefix);
	assert_value(name, "0");
	assert_int_equal(session_on(session, &failure), 0);
	assert_value(name, "1");
	assert_true(undo_exists());
	session_off(session);
	assert_value(name, "0");
	assert_int_equal(session_end(session, &failure), 0);
	assert_false(undo_exists());
}

static void test_top_level(void **state)
{
	char *before = fake_fingerprint(), *after;

	(void)state;
	sets_what_it_takes("");
	after = fake_fingerprint();
	assert_string_equal(before, after);
	assert_value("buffer_size_kb", "1410");
	free(before);
	free(after);
}

static void test_instance(void **state)
{
	char *before = fake_fingerprint(), *after;

	(void)state;
	sets_what_it_takes("instances/allocfilt/");
	after = fake_fingerprint();
	assert_string_equal(before, after);
	assert_value("buffer_size_kb", "7 (expanded: 1408)");
	free(before);
	free(after);
}

/* "7 (expanded: 1408)" is no buffer of 1408 KiB until somebody writes it. */
static void test_unused_buffer_is_expanded(void **state)
{
	struct session *session;

	(void)state;
	request.buffer = 1408 << 10;
	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_value("buffer_size_kb", "1410");
	assert_int_equal(session_end(session, &failure), 0);
}

static void test_unusual_values_come_back(void **state)
{
	char *before, *after;

	(void)state;
	fake_put(fake.dir, "trace_clock", "local [mono] mono\n");
	fake_put(fake.dir, "buffer_size_kb", "X\n");
	fake_put(fake.dir, "per_cpu/cpu1/buffer_size_kb", "203\n");
	fake_put(fake.dir, "per_cpu/cpu0/buffer_size_kb", "1410\n");
	fake_put(fake.dir, "set_ftrace_filter", "vfs_read\next4_sync_fs [ext4]\n");
	fake_put(fake.dir, "set_ftrace_notrace", "shrink_slab\n");
	fake_put(fake.dir, "options/sleep-time", "0\n");
	fake_put(fake.dir, "options/stacktrace", "1\n");
	fake_put(fake.dir, "options/overwrite", "0\n");
	fake_put(fake.dir, "tracing_on", "0\n");
	fake_put(fake.dir, "set_event_pid", "1\n17\n");
	fake_put(fake.dir, "events/vmscan/mm_shrink_slab_end/filter", "nid == 1\n");
	before = fake_fingerprint();
	assert_int_equal(run(), 0);
	after = fake_fingerprint();
	/* Written without its module, which the kernel adds when it shows the name. */
	assert_non_null(strstr(after, "vfs_read\next4_sync_fs\n"));
	fake_put(fake.dir, "set_ftrace_filter", "vfs_read\next4_sync_fs [ext4]\n");
	free(after);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* With overwrite off the kernel drops new records, and no page tells of them. */
static void test_losses_stand_in_the_pages(void **state)
{
	struct session *session;

	(void)state;
	fake_put(fake.dir, "options/overwrite", "0\n");
	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_value("options/overwrite", "1");
	assert_int_equal(session_end(session, &failure), 0);
	assert_value("options/overwrite", "0");
}

static void test_what_others_change_stays(void **state)
{
	struct session *session;

	(void)state;
	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_int_equal(session_on(session, &failure), 0);
	fake_put(fake.dir, "trace_clock", "local [global] mono\n");
	fake_put(fake.dir, "set_ftrace_filter", "vfs_read\n");
	fake_put(fake.dir, "tracing_on", "0\n");
	fake_put(fake.dir, "set_event_notrace_pid", "99\n");
	assert_int_equal(session_end(session, &failure), 0);
	assert_value("trace_clock", "local [global] mono");
	assert_value("set_event_notrace_pid", "99");
	assert_value("set_ftrace_notrace_pid", "");
	assert_value("set_ftrace_filter", "vfs_read");
	assert_value("tracing_on", "0");
	assert_value("current_tracer", "nop");
	assert_value("tracing_thresh", "0");
	assert_false(undo_exists());
}

/* Everything that is in the way: refused by its name, and with --force it comes back. */
static void obstacle(const char *name, const char *text, bool instances)
{
	char *before, *after;

	make(instances);
	fake_put(fake.dir, name, text);
	before = fake_fingerprint();
	assert_int_equal(run(), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	assert_non_null(strstr(failure.text, fake_base(name)));
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(after);
	request.force = true;
	assert_int_equal(run(), 0);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
	fake_remove();
}

static void test_in_use(void **state)
{
	(void)state;
	for (int instances = 0; instances < 2; instances++) {
		obstacle("tracing_thresh", "50\n", instances);
		obstacle("max_graph_depth", "1\n", instances);
		obstacle("set_graph_function", "vfs_read\n", instances);
		obstacle("set_graph_notrace", "vfs_read\n", instances);
		obstacle("current_tracer", "irqsoff\n", instances);
		obstacle("instances/other/current_tracer", "wakeup\n", instances);
	}
	obstacle("current_tracer", "function\n", false);
	obstacle("set_event", "sched:sched_switch\n", false);
}

static void test_entries_are_not_lost(void **state)
{
	(void)state;
	fake_put(fake.dir, "per_cpu/cpu1/stats", "entries: 7\noverrun: 0\n");
	assert_int_equal(run(), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	assert_non_null(strstr(failure.text, "7 entries"));
}

static void test_beside_others(void **state)
{
	char *before, *after;

	(void)state;
	fake_put(fake.dir, "per_cpu/cpu1/stats", "entries: 7\noverrun: 0\n");
	fake_put(fake.dir, "set_event", "sched:sched_switch\n");
	fake_put(fake.dir, "current_tracer", "function\n");
	before = fake_fingerprint();
	assert_int_equal(run(), 0);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void test_ftrace_disabled(void **state)
{
	(void)state;
	kernel.function_enabled = false;
	assert_int_equal(run(), -ENODEV);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
	assert_non_null(strstr(failure.text, "kernel.ftrace_enabled"));
}

static void test_second_run_is_refused(void **state)
{
	struct session *first, *second;
	char pid[32];

	(void)state;
	snprintf(pid, sizeof(pid), "pid %d", getpid());
	assert_int_equal(session_start(&first, &request, &failure), 0);
	assert_int_equal(session_start(&second, &request, &failure), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	assert_non_null(strstr(failure.text, pid));
	assert_int_equal(session_restore(fake.run_dir, fake.dir, &failure), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	assert_value("tracing_thresh", "134");
	assert_int_equal(session_end(first, &failure), 0);
}

static void test_restore_with_nothing_to_do(void **state)
{
	(void)state;
	assert_int_equal(session_restore(fake.run_dir, fake.dir, &failure), 0);
}

static void test_left_instance_goes(void **state)
{
	char *before = fake_fingerprint(), *after, path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/instances/allocfilt", fake.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(session_restore(fake.run_dir, fake.dir, &failure), 0);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(run(), 0);
	free(after);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* A killed run whose undo file has gone; the probe is enabled in the instance. */
static void test_left_probe_goes(void **state)
{
	char *before = fake_fingerprint(), *after;

	(void)state;
	fake_put_probe(fake.dir);
	assert_int_equal(session_restore(fake.run_dir, fake.dir, &failure), 0);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* A kernel that does not take the definition: a run without names. */
static void test_refused_probe(void **state)
{
	char *before = fake_fingerprint(), *after;
	struct session *session;

	(void)state;
	fake.refuse_probe = true;
	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_false(session_has_probe(session));
	assert_int_equal(session_end(session, &failure), 0);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* Enabled by somebody else as well: told by status 6, and put back later. */
static void test_busy_probe(void **state)
{
	char *before = fake_fingerprint(), *after;
	struct session *session;

	(void)state;
	assert_int_equal(session_start(&session, &request, &failure), 0);
	fake_put(fake.dir, "events/allocfilt/shrinker/enable", "1\n");
	assert_int_equal(session_end(session, &failure), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_NOT_RESTORED);
	assert_true(undo_exists());
	fake_put(fake.dir, "events/allocfilt/shrinker/enable", "0\n");
	assert_int_equal(session_restore(fake.run_dir, fake.dir, &failure), 0);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void test_taken_away(void **state)
{
	struct session *session;
	char what[128];

	(void)state;
	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_int_equal(session_on(session, &failure), 0);
	assert_false(session_taken(session, what, sizeof(what)));
	fake_put(fake.dir, "current_tracer", "nop\n");
	assert_true(session_taken(session, what, sizeof(what)));
	assert_string_equal(what, "current_tracer is nop, ours was function_graph");
	fake_put(fake.dir, "current_tracer", "function_graph\n");
	fake_put(fake.dir, "tracing_thresh", "1\n");
	assert_true(session_taken(session, what, sizeof(what)));
	fake_put(fake.dir, "tracing_thresh", "134\n");
	fake_put(fake.dir, "tracing_on", "0\n");
	assert_true(session_taken(session, what, sizeof(what)));
	session_end(session, &failure);
}

static void test_busy_tracer_at_start(void **state)
{
	char *before = fake_fingerprint(), *after;

	(void)state;
	fake.tracer_busy = true;
	assert_int_equal(run(), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	assert_non_null(strstr(failure.text, "trace_pipe"));
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* Off, without events, and all else kept until the tracer can go. */
static void test_busy_tracer_at_the_end(void **state)
{
	char *before = fake_fingerprint(), *after;
	struct session *session;

	(void)state;
	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_int_equal(session_on(session, &failure), 0);
	fake.tracer_busy = true;
	assert_int_equal(session_end(session, &failure), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_NOT_RESTORED);
	assert_non_null(strstr(failure.text, "current_tracer is function_graph"));
	assert_non_null(strstr(failure.text, "nop"));
	assert_value("tracing_on", "0");
	assert_value("events/vmscan/mm_shrink_slab_end/enable", "0");
	assert_value("set_ftrace_filter", "__alloc_pages");
	assert_value("tracing_thresh", "134");
	assert_true(undo_exists());
	fake.tracer_busy = false;
	assert_int_equal(session_restore(fake.run_dir, fake.dir, &failure), 0);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void test_fallback_to_events(void **state)
{
	char *before = fake_fingerprint(), *after;

	(void)state;
	plan->function_graph = false;
	assert_int_equal(run(), 0);
	plan->function_graph = true;
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void test_filter_by_name(void **state)
{
	struct session *session;

	(void)state;
	kernel.indexes = NULL;
	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_string_equal(fake_get("set_ftrace_filter"),
			    "__alloc_pages\ntry_to_free_pages\nshrink_slab\n");
	assert_int_equal(session_end(session, &failure), 0);
}

/* A module came in between: the numbers are those of other functions. */
static void test_filter_with_moved_numbers(void **state)
{
	static unsigned int moved[] = { 1, 2, 3 };
	char *before = fake_fingerprint(), *after;
	struct session *session;

	(void)state;
	kernel.indexes = moved;
	assert_int_equal(session_start(&session, &request, &failure), 0);
	assert_string_equal(fake_get("set_ftrace_filter"),
			    "__alloc_pages\ntry_to_free_pages\nshrink_slab\n");
	assert_int_equal(session_end(session, &failure), 0);
	after = fake_fingerprint();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/*
 * Each call made to fail, and all from it on (@length). What is not as it was has been told by
 * status 6, and can be put back later.
 */
static void every_call_fails(bool instances, int error, int length)
{
	int at;

	for (at = 1; at < CALLS_MAX; at += STRIDE) {
		char *before, *after;
		int ret, calls;

		make(instances);
		before = fake_fingerprint();
		fake.fail_from = at;
		fake.fail_to = at + length - 1;
		fake.error = error;
		fake.armed = true;
		ret = run();
		fake.armed = false;
		calls = fake.calls;
		after = fake_fingerprint();
		if (strcmp(before, after)) {
			if (!ret || failure.status != EXIT_STATUS_NOT_RESTORED)
				print_error("call %d (%s): changed, status %d, %s\n", at, fake.last,
					    failure.status, failure.text);
			assert_int_not_equal(ret, 0);
			assert_int_equal(failure.status, EXIT_STATUS_NOT_RESTORED);
		}
		if (length == 1 && strcmp(before, after))
			print_error("call %d (%s) alone leaves a change behind: %s\n", at,
				    fake.last, failure.text);
		if (length == 1)
			assert_string_equal(before, after);
		free(after);
		if (session_restore(fake.run_dir, fake.dir, &failure))
			fail_msg("call %d (%s): restore: %s", at, fake.last, failure.text);
		after = fake_fingerprint();
		if (strcmp(before, after))
			print_error("call %d (%s): not restored\n", at, fake.last);
		assert_string_equal(before, after);
		free(before);
		free(after);
		fake_remove();
		if (calls < at)
			break;
	}
	assert_in_range(at, 100, CALLS_MAX - 1);
}

static void test_every_call_fails_at_top(void **state)
{
	(void)state;
	every_call_fails(false, EIO, 1);
}

static void test_every_call_fails_in_instance(void **state)
{
	(void)state;
	every_call_fails(true, EIO, 1);
}

static void test_no_space_from_every_call_on(void **state)
{
	(void)state;
	every_call_fails(false, ENOSPC, CALLS_MAX);
	every_call_fails(true, EIO, CALLS_MAX);
}

/* A process that is killed before its n-th call, for every n. Returns whether it was. */
static bool killed_at(int at)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fake.kill_at = at;
		fake.armed = true;
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 9;
}

/* Put back by --restore or by the next run, in turns. */
static void every_kill(bool instances, bool force)
{
	int at;

	for (at = 1; at < CALLS_MAX; at += STRIDE) {
		char *before, *after;
		bool killed;

		make(instances);
		/* Two steps for one file: neutralised, then ours. */
		if (force)
			fake_put(fake.dir, "tracing_thresh", "50\n");
		request.force = force;
		before = fake_fingerprint();
		killed = killed_at(at);
		if (at % 2 ? run() : session_restore(fake.run_dir, fake.dir, &failure))
			fail_msg("killed at call %d: %s", at, failure.text);
		after = fake_fingerprint();
		if (strcmp(before, after))
			print_error("killed at call %d\n", at);
		assert_string_equal(before, after);
		assert_false(undo_exists());
		free(before);
		free(after);
		fake_remove();
		if (!killed)
			break;
	}
	assert_in_range(at, 100, CALLS_MAX - 1);
}

static void test_every_kill_at_top(void **state)
{
	(void)state;
	every_kill(false, false);
}

static void test_every_kill_in_instance(void **state)
{
	(void)state;
	every_kill(true, false);
}

static void test_every_kill_with_force(void **state)
{
	(void)state;
	every_kill(false, true);
}

int main(void)
{
#define AT_TOP(test)	  cmocka_unit_test_setup_teardown(test, at_top, teardown)
#define IN_INSTANCE(test) cmocka_unit_test_setup_teardown(test, in_instance, teardown)
	const struct CMUnitTest tests[] = {
		AT_TOP(test_top_level),
		IN_INSTANCE(test_instance),
		AT_TOP(test_unused_buffer_is_expanded),
		AT_TOP(test_unusual_values_come_back),
		AT_TOP(test_losses_stand_in_the_pages),
		AT_TOP(test_what_others_change_stays),
		cmocka_unit_test(test_in_use),
		AT_TOP(test_entries_are_not_lost),
		IN_INSTANCE(test_beside_others),
		AT_TOP(test_ftrace_disabled),
		AT_TOP(test_second_run_is_refused),
		AT_TOP(test_restore_with_nothing_to_do),
		IN_INSTANCE(test_left_instance_goes),
		IN_INSTANCE(test_left_probe_goes),
		AT_TOP(test_refused_probe),
		IN_INSTANCE(test_refused_probe),
		IN_INSTANCE(test_busy_probe),
		AT_TOP(test_taken_away),
		AT_TOP(test_busy_tracer_at_start),
		AT_TOP(test_busy_tracer_at_the_end),
		AT_TOP(test_fallback_to_events),
		AT_TOP(test_filter_by_name),
		AT_TOP(test_filter_with_moved_numbers),
		cmocka_unit_test(test_every_call_fails_at_top),
		cmocka_unit_test(test_every_call_fails_in_instance),
		cmocka_unit_test(test_no_space_from_every_call_on),
		cmocka_unit_test(test_every_kill_at_top),
		cmocka_unit_test(test_every_kill_in_instance),
		cmocka_unit_test(test_every_kill_with_force),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
