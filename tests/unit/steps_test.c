// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_tracing.h"

#include "allocfilt/base.h"
#include "tracing/steps.h"

static struct steps steps;
static struct failure failure;
static int notes;

/* What has to be known before a change is made: that it is coming. */
static int note(void *context, const struct steps *noted)
{
	(void)context;
	assert_ptr_equal(noted, &steps);
	notes++;
	return 0;
}

static int setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	fake_make(false);
	notes = 0;
	memset(&failure, 0, sizeof(failure));
	if (steps_init(&steps, fake.dir))
		return -1;
	steps.note = note;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	steps_free(&steps);
	fake_remove();
	return 0;
}

static int set(enum step_kind kind, const char *path, const char *value)
{
	return steps_set(&steps, kind, path, value, NULL, false, &failure);
}

static void test_same_value_makes_no_step(void **state)
{
	(void)state;
	assert_int_equal(set(STEP_NUMBER, "tracing_thresh", "0"), 0);
	assert_int_equal(steps.count, 0);
	assert_int_equal(notes, 0);
}

static int refuse_note(void *context, const struct steps *noted)
{
	(void)context;
	(void)noted;
	return -ENOSPC;
}

static void test_without_a_note_nothing_is_changed(void **state)
{
	(void)state;
	steps.note = refuse_note;
	assert_int_equal(set(STEP_NUMBER, "tracing_thresh", "134"), -ENOSPC);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	assert_string_equal(fake_get("tracing_thresh"), "0\n");
	assert_int_equal(steps_left(&steps), 0);
}

/* The newest first: the value of before comes back, not one in between. */
static void test_two_steps_of_one_file(void **state)
{
	(void)state;
	fake_put(fake.dir, "tracing_thresh", "50\n");
	assert_int_equal(set(STEP_NUMBER, "tracing_thresh", "0"), 0);
	assert_int_equal(set(STEP_NUMBER, "tracing_thresh", "134"), 0);
	assert_int_equal(steps.count, 2);
	assert_int_equal(steps_restore(&steps, &failure), 0);
	assert_string_equal(fake_get("tracing_thresh"), "50\n");
	assert_int_equal(steps_left(&steps), 0);
}

static void test_changed_to_what_was_found_is_theirs_too(void **state)
{
	(void)state;
	assert_int_equal(set(STEP_NUMBER, "tracing_on", "0"), 0);
	assert_int_equal(set(STEP_NUMBER, "tracing_on", "1"), 0);
	fake_put(fake.dir, "tracing_on", "0\n");
	assert_int_equal(steps_restore(&steps, &failure), 0);
	assert_string_equal(fake_get("tracing_on"), "0\n");
}

static void test_value_that_is_not_taken(void **state)
{
	(void)state;
	assert_int_equal(set(STEP_LIST, "tracing_thresh", "a b\n"), -EIO);
	assert_non_null(strstr(failure.text, "tracing_thresh did not take"));
}

static void test_status_by_error(void **state)
{
	static const struct {
		int error;
		enum exit_status status;
	} errors[] = {
		{ EPERM, EXIT_STATUS_NO_TRACEFS },  { EACCES, EXIT_STATUS_NO_TRACEFS },
		{ EROFS, EXIT_STATUS_NO_TRACEFS },  { EBUSY, EXIT_STATUS_IN_USE },
		{ EINVAL, EXIT_STATUS_NO_FEATURE }, { EIO, EXIT_STATUS_RUN_TIME },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		fake.calls = 0;
		fake.fail_from = fake.fail_to = 5; /* open, read, read, close; open to write */
		fake.error = errors[i].error;
		fake.armed = true;
		assert_int_equal(set(STEP_NUMBER, "tracing_thresh", "134"), -errors[i].error);
		fake.armed = false;
		assert_int_equal(failure.status, errors[i].status);
		assert_non_null(strstr(failure.text, "cannot write tracing_thresh"));
	}
	assert_int_equal(set(STEP_NUMBER, "no_such_file", "1"), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
}

static void test_file_that_is_gone_is_done(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(set(STEP_NUMBER, "tracing_thresh", "134"), 0);
	snprintf(path, sizeof(path), "%s/tracing_thresh", fake.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(steps_restore(&steps, &failure), 0);
	assert_int_equal(steps_left(&steps), 0);
}

/* What cannot be put back is told with all that a person needs to do it. */
static void test_what_fails_is_named(void **state)
{
	(void)state;
	assert_int_equal(set(STEP_NUMBER, "tracing_thresh", "134"), 0);
	fake.fail_from = 5;
	fake.fail_to = 1000;
	fake.error = EIO;
	fake.armed = true;
	assert_int_equal(steps_restore(&steps, &failure), -EIO);
	fake.armed = false;
	assert_int_equal(failure.status, EXIT_STATUS_NOT_RESTORED);
	assert_non_null(strstr(failure.text, "tracing_thresh cannot be read, 0 is wanted"));
	assert_int_equal(steps_left(&steps), 1);
}

static void test_moved_value(void **state)
{
	(void)state;
	assert_int_equal(steps_move(&steps, STEP_NUMBER, "buffer_percent", "0", false), 0);
	assert_int_equal(notes, 1);
	assert_int_equal(steps_move(&steps, STEP_NUMBER, "buffer_percent", "80", false), 0);
	assert_int_equal(notes, 2);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(steps_move(&steps, STEP_NUMBER, "buffer_percent", "0", false), 0);
		assert_int_equal(steps_move(&steps, STEP_NUMBER, "buffer_percent", "80", false), 0);
	}
	assert_int_equal(notes, 2);
	assert_int_equal(steps.count, 1);
	assert_int_equal(steps_restore(&steps, &failure), 0);
	assert_string_equal(fake_get("buffer_percent"), "50\n");
}

static void test_moved_value_of_somebody_else(void **state)
{
	(void)state;
	assert_int_equal(steps_move(&steps, STEP_NUMBER, "buffer_percent", "0", false), 0);
	fake_put(fake.dir, "buffer_percent", "33\n");
	assert_int_equal(steps_move(&steps, STEP_NUMBER, "buffer_percent", "80", false), -ESTALE);
	assert_int_equal(steps_restore(&steps, &failure), 0);
	assert_string_equal(fake_get("buffer_percent"), "33\n");
}

static void test_full_table(void **state)
{
	(void)state;
	for (int i = 0; i < STEPS_MAX; i++)
		assert_int_equal(steps_add(&steps, STEP_NUMBER, "x", "0", "1", false), 0);
	assert_int_equal(steps_add(&steps, STEP_NUMBER, "x", "0", "1", false), -E2BIG);
	assert_int_equal(set(STEP_NUMBER, "tracing_thresh", "134"), -E2BIG);
	assert_string_equal(fake_get("tracing_thresh"), "0\n");
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_same_value_makes_no_step),
		TEST(test_without_a_note_nothing_is_changed),
		TEST(test_two_steps_of_one_file),
		TEST(test_changed_to_what_was_found_is_theirs_too),
		TEST(test_value_that_is_not_taken),
		TEST(test_status_by_error),
		TEST(test_file_that_is_gone_is_done),
		TEST(test_what_fails_is_named),
		TEST(test_moved_value),
		TEST(test_moved_value_of_somebody_else),
		TEST(test_full_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
