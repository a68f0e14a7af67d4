// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/tracing.h"

/* What it takes to raise a hard limit is kept out: a child of another user tries it. */
#define NOBODY 65534

struct given {
	rlim_t soft;
	rlim_t hard;
	unsigned int limit;
	unsigned int needed;
};

struct result {
	int ret;
	struct rlimit after;
	struct failure failure;
};

static void be_child(const struct given *given, int fd)
{
	struct rlimit limit = { given->soft, given->hard };
	struct result result = { 0 };

	if (setrlimit(RLIMIT_NOFILE, &limit) || (!geteuid() && setuid(NOBODY)))
		_exit(1);
	result.ret = open_files_allow(given->limit, given->needed, &result.failure);
	if (getrlimit(RLIMIT_NOFILE, &result.after))
		_exit(1);
	_exit(write(fd, &result, sizeof(result)) != sizeof(result));
}

/* A hard limit that is lowered stays low, so each case has a process of its own. */
static struct result allow(rlim_t soft, rlim_t hard, unsigned int limit, unsigned int needed)
{
	struct given given = { soft, hard, limit, needed };
	struct result result;
	int pipes[2];
	int status;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid)
		be_child(&given, pipes[1]);
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &result, sizeof(result)), sizeof(result));
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return result;
}

static void test_enough_is_left_alone(void **state)
{
	struct result result = allow(100, 200, 0, 100);

	(void)state;
	assert_int_equal(result.ret, 0);
	assert_int_equal(result.after.rlim_cur, 100);
	assert_int_equal(result.after.rlim_max, 200);
}

static void test_raised_as_far_as_needed(void **state)
{
	struct result result = allow(100, 200, 0, 101);

	(void)state;
	assert_int_equal(result.ret, 0);
	assert_int_equal(result.after.rlim_cur, 101);
	result = allow(100, 200, 0, 200);
	assert_int_equal(result.ret, 0);
	assert_int_equal(result.after.rlim_cur, 200);
	assert_int_equal(result.after.rlim_max, 200);
}

/* All that there is, with the number that it takes and the way out. */
static void test_hard_limit_is_too_low(void **state)
{
	struct result result = allow(100, 200, 0, 201);

	(void)state;
	assert_int_equal(result.ret, -EMFILE);
	assert_int_equal(result.after.rlim_cur, 200);
	assert_non_null(strstr(result.failure.text, "201 open files"));
	assert_non_null(strstr(result.failure.text, "200;"));
	assert_non_null(strstr(result.failure.text, "LimitNOFILE="));
}

static void test_limit_that_is_asked_for(void **state)
{
	struct result result = allow(100, 200, 150, 150);

	(void)state;
	assert_int_equal(result.ret, 0);
	assert_int_equal(result.after.rlim_cur, 150);
	assert_int_equal(result.after.rlim_max, 200);
	result = allow(100, 200, 80, 60);
	assert_int_equal(result.ret, 0);
	assert_int_equal(result.after.rlim_cur, 80);
	result = allow(100, 200, 200, 60);
	assert_int_equal(result.ret, 0);
	assert_int_equal(result.after.rlim_cur, 200);
}

/* It is not raised behind the back of who set it. */
static void test_limit_below_what_is_needed(void **state)
{
	struct result result = allow(100, 200, 150, 151);

	(void)state;
	assert_int_equal(result.ret, -EMFILE);
	assert_int_equal(result.after.rlim_cur, 150);
	assert_non_null(strstr(result.failure.text, "limit-files 150"));
	assert_non_null(strstr(result.failure.text, "151 open files"));
}

static void test_limit_above_the_hard_one(void **state)
{
	struct result result = allow(100, 200, 201, 60);

	(void)state;
	assert_int_equal(result.ret, -EPERM);
	assert_int_equal(result.after.rlim_cur, 200);
	assert_int_equal(result.after.rlim_max, 200);
	assert_non_null(strstr(result.failure.text, "limit-files 201"));
	assert_non_null(strstr(result.failure.text, "LimitNOFILE="));
}

static void test_last_descriptors_are_left(void **state)
{
	struct rlimit before, small;
	int fd = dup(0);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	small = before;
	small.rlim_cur = (rlim_t)fd + OPEN_FILES_SPARE + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	assert_int_equal(open_files_leave_spare(fd), fd);
	small.rlim_cur--;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	assert_int_equal(open_files_leave_spare(fd), -EMFILE);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	errno = ENOENT;
	assert_int_equal(open_files_leave_spare(-1), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enough_is_left_alone),
		cmocka_unit_test(test_raised_as_far_as_needed),
		cmocka_unit_test(test_hard_limit_is_too_low),
		cmocka_unit_test(test_limit_that_is_asked_for),
		cmocka_unit_test(test_limit_below_what_is_needed),
		cmocka_unit_test(test_limit_above_the_hard_one),
		cmocka_unit_test(test_last_descriptors_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
