// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/names.h"

#define SECOND 1000000000ull

static const pid_t asked[] = { 100, 5000, 0 };

/* A directory that looks like /proc. */
static char proc[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(proc, P_tmpdir "/allocfilt-test-XXXXXX");
	return mkdtemp(proc) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", proc);
	return system(command);
}

static void task(int tid, const char *name, int process)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", proc, tid);
	mkdir(path, 0700);
	strcat(path, "/status");
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file,
		"Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\n",
		name, process, tid);
	fclose(file);
}

static void gone(int tid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d/status", proc, tid);
	assert_int_equal(unlink(path), 0);
}

/* A capture does not tell of what process a task is. */
static void test_capture_knows_ids_only(void **state)
{
	struct processes *processes = processes_new(asked, NULL);

	(void)state;
	assert_true(processes_have(processes, 100, 0));
	assert_true(processes_have(processes, 5000, 0));
	assert_false(processes_have(processes, 101, 0));
	assert_false(processes_have(processes, 0, 0));
	processes_free(processes);
	processes_free(NULL);
}

static void test_threads_of_a_process(void **state)
{
	struct processes *processes = processes_new(asked, proc);

	(void)state;
	task(100, "asked", 100);
	task(101, "its thread", 100);
	task(102, "another", 102);
	assert_true(processes_have(processes, 100, 1));
	assert_true(processes_have(processes, 101, 1));
	assert_false(processes_have(processes, 102, 1));
	assert_false(processes_have(processes, 0, 1));
	processes_free(processes);
}

/* A thread's own id that happens to be asked for, but is of another process. */
static void test_the_process_decides(void **state)
{
	struct processes *processes = processes_new(asked, proc);

	(void)state;
	task(100, "thread of 99", 99);
	assert_false(processes_have(processes, 100, 1));
	processes_free(processes);
}

static void test_name_cannot_pretend(void **state)
{
	struct processes *processes = processes_new(asked, proc);

	(void)state;
	task(102, "Tgid:\t100", 102);
	assert_false(processes_have(processes, 102, 1));
	processes_free(processes);
}

/* At the very first sight it had gone already: its own id is all that there is. */
static void test_gone_before_first_sight(void **state)
{
	struct processes *processes = processes_new(asked, proc);

	(void)state;
	assert_true(processes_have(processes, 100, 1));
	assert_false(processes_have(processes, 103, 1));
	processes_free(processes);
}

static void test_gone_keeps_its_process(void **state)
{
	struct processes *processes = processes_new(asked, proc);

	(void)state;
	task(101, "thread", 100);
	assert_true(processes_have(processes, 101, SECOND));
	gone(101);
	assert_true(processes_have(processes, 101, SECOND + 5));
	assert_true(processes_have(processes, 101, 10 * SECOND));
	processes_free(processes);
}

static void test_id_used_again(void **state)
{
	struct processes *processes = processes_new(asked, proc);

	(void)state;
	task(101, "thread", 100);
	assert_true(processes_have(processes, 101, SECOND));
	task(101, "other", 101);
	assert_true(processes_have(processes, 101, 2 * SECOND));
	assert_false(processes_have(processes, 101, 2 * SECOND + 1));
	processes_free(processes);
}

/* Two tasks that share a place in the table do not share their answer. */
static void test_same_place_in_the_table(void **state)
{
	struct processes *processes = processes_new(asked, proc);
	int other = 101 + PROCESSES_TASKS;

	(void)state;
	task(101, "thread", 100);
	task(other, "other", other);
	for (int i = 0; i < 3; i++) {
		assert_true(processes_have(processes, 101, SECOND));
		assert_false(processes_have(processes, other, SECOND));
	}
	processes_free(processes);
}

static void test_this_process(void **state)
{
	pid_t own[] = { getpid(), 0 };
	struct processes *processes = processes_new(own, "/proc");

	(void)state;
	assert_true(processes_have(processes, getpid(), 1));
	assert_false(processes_have(processes, getppid(), 1));
	processes_free(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capture_knows_ids_only),
		cmocka_unit_test_setup_teardown(test_threads_of_a_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_process_decides, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_name_cannot_pretend, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone_before_first_sight, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone_keeps_its_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_id_used_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_same_place_in_the_table, set_up, tear_down),
		cmocka_unit_test(test_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
