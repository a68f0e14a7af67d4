// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_tracing.h"

#include "allocfilt/base/base.h"
#include "allocfilt/base/log.h"
#include "tracing/settings.h"

static struct settings settings;
static struct failure failure;
static int notes, note_error;

static int note(void *context, const struct settings *noted)
{
	assert_ptr_equal(noted, &settings);
	notes++;
	return note_error;
}

static int setup(void **state)
{
	log_set_level(LOG_LEVEL_ERROR);
	fake_make(false);
	notes = note_error = 0;
	if (settings_init(&settings, fake.dir))
		return -1;
	settings.note = note;
	return 0;
}

static int teardown(void **state)
{
	settings_free(&settings);
	return fake_teardown(state);
}

/* Values */

UNIT_TEST(test_parse)
{
	static const struct {
		enum setting_kind kind;
		const char *text, *value;
	} cases[] = {
		{ SETTING_WORD, "[local] global counter\n", "local" },
		{ SETTING_WORD, "local global [x86-tsc]\n", "x86-tsc" },
		{ SETTING_TRACER, "nop\n", "nop" },
		{ SETTING_NUMBER, "134\n", "134" },
		{ SETTING_SIZE, "7 (expanded: 1408)\n", "1408" },
		{ SETTING_SIZE, "4099\n", "4099" },
		{ SETTING_SIZE, "X\n", "X" },
		{ SETTING_ENABLE, "0*\n", "0" },
		{ SETTING_ENABLE, "1*\n", "1" },
		{ SETTING_FILTER, "nid == 1 && order > 2\n", "nid == 1 && order > 2" },
		{ SETTING_TRIGGER, "# Available triggers:\n# traceon stacktrace\n", "absent" },
		{ SETTING_TRIGGER, "", "absent" },
		{ SETTING_TRIGGER, "traceoff:count=1\n", "absent" },
		{ SETTING_TRIGGER, "stacktrace:unlimited\n", "present" },
		{ SETTING_TRIGGER, "traceoff:count=1\nstacktrace:count=5\n", "present" },
		{ SETTING_TRIGGER, "hist:keys=stacktrace:vals=hitcount\n", "absent" },
		{ SETTING_TRIGGER, "hist:name=allocfilt_x:keys=stacktrace:size=128 [active]\n",
		  "absent" },
		{ SETTING_HISTOGRAM, "# Available triggers:\n# traceon hist\n", "absent" },
		{ SETTING_HISTOGRAM, "", "absent" },
		{ SETTING_HISTOGRAM, "stacktrace:unlimited\n", "absent" },
		{ SETTING_HISTOGRAM, FAKE_HISTOGRAM, "absent" },
		{ SETTING_HISTOGRAM, "hist:name=theirs:keys=x:vals=hitcount [active]\n", "absent" },
		{ SETTING_HISTOGRAM, "hist:keys=x if comm == \"hist:name=allocfilt_\" [active]\n",
		  "absent" },
		{ SETTING_HISTOGRAM, "hist:name=allocfilt_x:keys=y:vals=hitcount [active]\n",
		  "present" },
		{ SETTING_HISTOGRAM, FAKE_HISTOGRAM "hist:name=allocfilt_x:keys=y [paused]\n",
		  "present" },
		{ SETTING_LIST, "#### all functions enabled ####\n", "" },
		{ SETTING_LIST, "vfs_read\next4_sync_fs [ext4]\n", "vfs_read\next4_sync_fs\n" },
		{ SETTING_LIST, "vfs_read\nvfs_write:traceoff:unlimited\n", "vfs_read\n" },
		{ SETTING_LIST, "x:mod:ext4\n", "x:mod:ext4\n" },
		{ SETTING_EVENTS, "sched:sched_switch\nvmscan:a\n",
		  "sched:sched_switch\nvmscan:a\n" },
		{ SETTING_PIDS, "no pid\n", "" },
		{ SETTING_PIDS, "1\n17\n", "1\n17\n" },
		{ SETTING_THREADS, "no pid\n", "" },
		{ SETTING_THREADS, "1\n17\n", "1\n17\n" },
		{ SETTING_MASK, "00000000,0000000f\n", "f" },
		{ SETTING_MASK, "00000001,00000000\n", "1,00000000" },
		{ SETTING_MASK, "ff\n", "ff" },
		{ SETTING_MASK, "00000000,00000000\n", "0" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char *value = setting_parse(cases[i].kind, cases[i].text);

		assert_string_equal(value, cases[i].value);
		free(value);
	}
}

/* Is what the kernel shows what we wanted, and later, is it still what we wrote? */
UNIT_TEST(test_compared)
{
	static const struct {
		bool (*compare)(enum setting_kind kind, const char *wrote, const char *now);
		enum setting_kind kind;
		const char *wrote, *now;
		bool same;
	} cases[] = {
		{ setting_accepted, SETTING_LIST, "a\nb\n", "b\na\na\n", true },
		{ setting_accepted, SETTING_LIST, "a\nb\n", "a\n", false },
		{ setting_accepted, SETTING_LIST, "", "a\n", false },
		{ setting_accepted, SETTING_LIST, "a\n", "", false },
		{ setting_accepted, SETTING_LIST, "a\nb\n", "a\nc\n", false },
		{ setting_accepted, SETTING_NUMBER, "50", "50", true },
		{ setting_accepted, SETTING_NUMBER, "", "0", false },
		{ setting_accepted, SETTING_NUMBER, "134", "0", false },
		{ setting_accepted, SETTING_WORD, "mono", "mono_raw", false },
		{ setting_accepted, SETTING_SIZE, "4096", "4099", true },
		{ setting_accepted, SETTING_SIZE, "1408", "1410", true },
		{ setting_accepted, SETTING_SIZE, "4096", "1410", false },
		{ setting_accepted, SETTING_SIZE, "4096", "8198", false },
		{ setting_accepted, SETTING_SIZE, "4096", "9223372036854775807", false },
		{ setting_accepted, SETTING_SIZE, "-9223372036854775808", "9223372036854775807",
		  false },
		/* two sub-buffers of 64 KiB, and of 512 KiB: seen on 7.3 */
		{ setting_accepted, SETTING_SIZE, "8", "127", true },
		{ setting_accepted, SETTING_SIZE, "8", "1023", true },
		{ setting_accepted, SETTING_SIZE, "4096", "4607", true },
		/* one of several sizes, each as the kernel rounds it */
		{ setting_accepted, SETTING_SIZE, "7 4096 2048", "7", true },
		{ setting_accepted, SETTING_SIZE, "7 4096 2048", "4099", true },
		{ setting_accepted, SETTING_SIZE, "7 4096 2048", "2050", true },
		{ setting_accepted, SETTING_SIZE, "7 4096 2048", "9000", false },
		{ setting_accepted, SETTING_SIZE, "4096 2048", "1410", false },
		{ setting_accepted, SETTING_SIZE, "7 4096", "9223372036854775807", false },
		{ setting_accepted, SETTING_MASK, "3", "3", true },
		{ setting_accepted, SETTING_MASK, "3", "1", false },
		{ setting_accepted, SETTING_PIDS, "1\n2\n", "1\n", true },
		{ setting_accepted, SETTING_THREADS, "1\n2\n", "1\n3\n", true },
		{ setting_is_ours, SETTING_NUMBER, "0 50", "50", true },
		{ setting_is_ours, SETTING_NUMBER, "0 50", "0", true },
		{ setting_is_ours, SETTING_NUMBER, "0 50", "5", false },
		{ setting_is_ours, SETTING_NUMBER, "134", "77", false },
		{ setting_is_ours, SETTING_SIZE, "4099", "4099", true },
		{ setting_is_ours, SETTING_SIZE, "4099", "4160", false },
		{ setting_is_ours, SETTING_SIZE, "4099", "1410", false },
		{ setting_is_ours, SETTING_MASK, "3", "1", false },
		/* a task that has exited is gone from the list */
		{ setting_is_ours, SETTING_PIDS, "1\n17\n", "17\n", true },
		{ setting_is_ours, SETTING_PIDS, "17\n", "", true },
		{ setting_is_ours, SETTING_PIDS, "1\n", "99\n", false },
		{ setting_is_ours, SETTING_PIDS, "1\n", "1\n99\n", false },
		{ setting_is_ours, SETTING_PIDS, "", "99\n", false },
		{ setting_is_ours, SETTING_THREADS, "1\n", "1\n99\n", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(cases[i].compare(cases[i].kind, cases[i].wrote, cases[i].now),
				 cases[i].same);
}

/* A kill in the middle of a list. */
UNIT_TEST(test_part)
{
	assert_true(setting_is_part(SETTING_LIST, "a\nb\nc\n", "x\ny\n", "a\nb\n"));
	assert_true(setting_is_part(SETTING_LIST, "a\nb\nc\n", "x\ny\n", "x\n"));
	assert_true(setting_is_part(SETTING_LIST, "a\nb\nc\n", "x\ny\n", ""));
	assert_false(setting_is_part(SETTING_LIST, "a\nb\nc\n", "x\ny\n", "a\nz\n"));
	assert_false(setting_is_part(SETTING_SIZE, "1", "2", "1"));
}

/* The table */

static int set(enum setting_kind kind, const char *path, const char *value)
{
	return settings_set(&settings, kind, path, value, NULL, false, &failure);
}

static int move(const char *value)
{
	return settings_change(&settings, SETTING_NUMBER, "buffer_percent", value, NULL, false);
}

#define TEST(test) UNIT_TEST_WITH(test, setup, teardown)

TEST(test_without_a_note_nothing_is_changed)
{
	note_error = -ENOSPC;
	assert_int_equal(set(SETTING_NUMBER, "tracing_thresh", "134"), -ENOSPC);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	assert_string_equal(fake_get("tracing_thresh"), "0\n");
	assert_int_equal(settings_left(&settings), 0);
}

TEST(test_changed_to_what_was_found_is_theirs_too)
{
	assert_int_equal(set(SETTING_NUMBER, "tracing_on", "0"), 0);
	assert_int_equal(set(SETTING_NUMBER, "tracing_on", "1"), 0);
	fake_put("tracing_on", "0\n");
	assert_int_equal(settings_restore(&settings, &failure), 0);
	assert_string_equal(fake_get("tracing_on"), "0\n");
}

TEST(test_status_by_error)
{
	static const struct {
		int error;
		enum exit_status status;
	} errors[] = {
		{ EPERM, EXIT_STATUS_NO_TRACEFS },  { EACCES, EXIT_STATUS_NO_TRACEFS },
		{ EROFS, EXIT_STATUS_NO_TRACEFS },  { EBUSY, EXIT_STATUS_IN_USE },
		{ EINVAL, EXIT_STATUS_NO_FEATURE }, { EIO, EXIT_STATUS_RUN_TIME },
	};

	/* open, read, read, close; then open and write */
	for (int call = 5; call <= 6; call++)
		for (size_t i = 0; i < COUNT(errors); i++) {
			fake_fail(call, call, errors[i].error);
			assert_int_equal(set(SETTING_NUMBER, "tracing_thresh", "134"),
					 -errors[i].error);
			fake.armed = false;
			assert_int_equal(failure.status, errors[i].status);
			assert_non_null(strstr(failure.text, "cannot write tracing_thresh"));
		}
	assert_int_equal(set(SETTING_NUMBER, "no_such_file", "1"), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
}

/* A file system that is read-only for a moment while we restore keeps no setting of ours. */
TEST(test_read_only_at_the_restore)
{
	assert_int_equal(set(SETTING_NUMBER, "tracing_thresh", "134"), 0);
	fake_fail(5, 5, EROFS);
	assert_int_equal(settings_restore(&settings, &failure), 0);
	assert_non_null(strstr(fake.last, "open "));
	assert_string_equal(fake_get("tracing_thresh"), "0\n");
	assert_int_equal(settings_left(&settings), 0);
}

/* A file system that refused our list, too, is asked once. */
TEST(test_read_only_all_the_time)
{
	for (int i = 0; i < 2; i++) {
		fake_fail(4, 4, EROFS);
		assert_int_equal(i ? settings_restore(&settings, &failure) :
				     set(SETTING_PIDS, "set_event_pid", "17\n"),
				 i ? 0 : -EROFS);
		assert_non_null(strstr(fake.last, "open "));
		assert_int_equal(fake.calls, 4);
	}
	assert_int_equal(settings_left(&settings), 0);
}

/* Somebody makes it between our look and our mkdir(), the first call here. */
TEST(test_instance_of_somebody_else_stays)
{
	fake_fail(1, 1, EEXIST);
	assert_int_equal(set(SETTING_INSTANCE, FAKE_INSTANCE, SETTING_PRESENT), -EEXIST);
	fake.armed = false;
	assert_int_equal(mkdir(strdupa(fake_path(FAKE_INSTANCE)), 0700), 0);
	assert_int_equal(settings_restore(&settings, &failure), 0);
	assert_true(fake_has(FAKE_INSTANCE));
}

/* 64 CPUs that lack memory wait 2 s together, and the tries after it cost no more. */
TEST(test_one_wait_for_all_settings)
{
	uint64_t from = clock_ns(CLOCK_MONOTONIC);
	int64_t before;
	char path[64];

	fake.buffer_max_kb = 100;
	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%d/buffer_size_kb", i % FAKE_ONLINE);
		fake_put(path, "7\n");
		assert_int_equal(settings_add(&settings, SETTING_SIZE, path, "1408", "7", false),
				 0);
	}
	before = fake_slept_us;
	assert_int_equal(settings_restore(&settings, &failure), -ENOMEM);
	/* On a busy machine time passes without a sleep, too. */
	assert_in_range(fake_slept_us - before, 0, 2100000);
	assert_true(clock_ns(CLOCK_MONOTONIC) - from >= 1900000000);
	assert_int_equal(settings_left(&settings), 64);
}

TEST(test_moved_value_of_somebody_else)
{
	assert_int_equal(move("0"), 0);
	fake_put("buffer_percent", "33\n");
	assert_int_equal(move("80"), -ESTALE);
	assert_int_equal(settings_restore(&settings, &failure), 0);
	assert_string_equal(fake_get("buffer_percent"), "33\n");
}

#define HISTOGRAM_FILE "events/kmem/mm_page_alloc/trigger"

/* A bracket in the filter is not that of the state. Somebody else may have removed the histogram. */
TEST(test_histogram_with_a_bracket)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			settings_set(&settings, SETTING_HISTOGRAM, HISTOGRAM_FILE, SETTING_PRESENT,
				     "hist:name=allocfilt_x:keys=order:size=128 if comm == \"[a]\"",
				     false, &failure),
			0);
		if (i)
			fake_put(HISTOGRAM_FILE, FAKE_HISTOGRAM);
		assert_int_equal(settings_restore(&settings, &failure), 0);
		assert_string_equal(fake_get(HISTOGRAM_FILE), FAKE_HISTOGRAM);
		assert_int_equal(settings_left(&settings), 0);
	}
}

/*
 * With -w a buffer that is full to the same part wakes an idle machine as a busy one, so the
 * value is set again at each change between the two. One that somebody else has moved meanwhile
 * is seen all the same.
 */
TEST(test_same_value_again_and_again)
{
	char what[128];

	fake_put("buffer_percent", "50\n");
	for (int i = 0; i < 2 * SETTINGS_MAX; i++)
		assert_int_equal(move("50"), 0);
	assert_int_equal(settings.count, 1);
	assert_int_equal(move("0"), 0);
	assert_int_equal(move("50"), 0);
	assert_int_equal(settings.count, 2);
	assert_true(settings_look(&settings, 1, what, sizeof(what)));
	fake_put("buffer_percent", "7\n");
	assert_false(settings_look(&settings, 1, what, sizeof(what)));
	assert_int_equal(settings_restore(&settings, &failure), 0);
	assert_int_equal(settings_left(&settings), 0);
}

TEST(test_full_table)
{
	for (int i = 0; i < SETTINGS_MAX; i++)
		assert_int_equal(settings_add(&settings, SETTING_NUMBER, "x", "0", "1", false), 0);
	assert_int_equal(set(SETTING_NUMBER, "tracing_thresh", "134"), -E2BIG);
	assert_string_equal(fake_get("tracing_thresh"), "0\n");
}

UNIT_TEST_MAIN(NULL, NULL)
