// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"

#define SECOND	1000000000ull
#define CGROUPS 4

static char dir[] = "/tmp/who_test.XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

__attribute__((format(printf, 3, 4))) static void put(int pid, const char *name, const char *format,
						      ...)
{
	char path[128];
	va_list arguments;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%d", dir, pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%d/%s", dir, pid, name);
	stream = fopen(path, "w");
	assert_non_null(stream);
	va_start(arguments, format);
	vfprintf(stream, format, arguments);
	va_end(arguments);
	fclose(stream);
}

static void put_task(int pid, int tgid, const char *name, unsigned int flags, const char *cgroup)
{
	put(pid, "comm", "%s\n", name);
	put(pid, "status", "Name:\t%s\nUmask:\t0022\nTgid:\t%d\nNgid:\t0\n", name, tgid);
	put(pid, "stat", "%d (%s) S 1 1 1 0 -1 %u 0 0\n", pid, name, flags);
	put(pid, "cgroup", "%s", cgroup);
}

static void remove_task(int pid)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s/%d'", dir, pid);
	assert_int_equal(system(command), 0);
}

static void test_process_and_cgroup(void **state)
{
	struct who *who = who_new(dir, NULL);
	const struct task_info *task;

	(void)state;
	put_task(10, 10, "server", 0x400040, "0::/system.slice/a.service\n");
	put_task(11, 10, "worker) S 1", 0x400040, "0::/system.slice/a.service\n");
	put_task(12, 12, "kswapd0", 0x20a840, "0::/\n");
	task = who_of(who, 11, SECOND);
	assert_int_equal(task->tgid, 10);
	assert_string_equal(task->process, "server");
	assert_string_equal(task->cgroup, "/system.slice/a.service");
	assert_false(task->kernel_thread);
	task = who_of(who, 12, SECOND);
	assert_true(task->kernel_thread);
	assert_string_equal(task->cgroup, "/");
	task = who_of(who, 99, SECOND);
	assert_int_equal(task->tgid, 0);
	assert_string_equal(task->process, "");
	assert_int_equal(who_of(who, 0, SECOND)->tgid, 0);
	who_free(who);
}

static void cgroup_is(struct who *who, int pid, const char *text, const char *expected)
{
	put_task(pid, pid, "x", 0, text);
	assert_string_equal(who_of(who, pid, SECOND)->cgroup, expected);
}

static void test_cgroup_lines(void **state)
{
	struct who *who = who_new(dir, NULL);
	char longest[2 * TASK_CGROUP_MAX];

	(void)state;
	cgroup_is(who, 20, "12:cpu,cpuacct:/c\n5:memory:/m\n0::/u\n", "/m");
	cgroup_is(who, 21, "0::/u\n7:cpu,memory:/m\n", "/m");
	cgroup_is(who, 22, "7:memory,cpu:/m:n\n", "/m:n");
	cgroup_is(who, 23, "7:memorylike:/x\n0::/u\n", "/u");
	cgroup_is(who, 24, "1:name=systemd:/s\n", "");
	cgroup_is(who, 25, "1:name=memory:/s\n0::/u", "/u");
	cgroup_is(who, 26, "", "");
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "0::/", 4);
	strcpy(longest + sizeof(longest) - 4, "end");
	put_task(27, 27, "x", 0, longest);
	assert_int_equal(strlen(who_of(who, 27, SECOND)->cgroup), TASK_CGROUP_MAX - 1);
	assert_non_null(strstr(who_of(who, 27, SECOND)->cgroup, "aend"));
	who_free(who);
}

static void test_time(void **state)
{
	struct who *who = who_new(dir, NULL);

	(void)state;
	put_task(30, 30, "one", 0, "0::/a\n");
	who_see(who, 30, SECOND);
	put_task(30, 30, "two", 0, "0::/b\n");
	who_see(who, 30, 5 * SECOND);
	assert_string_equal(who_of(who, 30, SECOND + 5)->cgroup, "/a");
	assert_string_equal(who_of(who, 30, 3 * SECOND)->cgroup, "/b");
	remove_task(30);
	assert_string_equal(who_of(who, 30, 60 * SECOND)->cgroup, "/b");
	assert_string_equal(who_of(who, 30, 60 * SECOND)->process, "two");
	who_free(who);
}

static void test_saved(void **state)
{
	struct task_info odd = { .pid = 5, .tgid = 4, .process = "a b\n\\\xff", .cgroup = "/x y" };
	struct task_info thread = { .pid = 6, .tgid = 6, .kernel_thread = true, .process = "-" };
	struct task_info unknown = { .pid = 7 };
	char path[128];
	FILE *stream;
	struct who *who;

	(void)state;
	snprintf(path, sizeof(path), "%s/tasks", dir);
	stream = fopen(path, "w");
	who_print(stream, &odd);
	who_print(stream, &thread);
	who_print(stream, &unknown);
	fputs("rubbish\n-3 4 - a b\n9 9\n\n", stream);
	fclose(stream);
	who = who_new(NULL, path);
	assert_memory_equal(who_of(who, 5, 0), &odd, sizeof(odd));
	assert_memory_equal(who_of(who, 6, 0), &thread, sizeof(thread));
	assert_int_equal(who_of(who, 7, 0)->tgid, 0);
	assert_int_equal(who_of(who, 9, 0)->tgid, 0);
	for (int pid = 100; pid < 100000; pid++)
		assert_int_equal(who_of(who, pid, 0)->tgid, 0);
	assert_int_equal(who_of(who, 5, 0)->tgid, 4);
	assert_int_equal(who_evicted(who) + who_missed(who), 0);
	who_free(who);
	who = who_new(NULL, "/nonexistent");
	assert_int_equal(who_of(who, 5, 0)->tgid, 0);
	who_free(who);
}

static void test_table_is_full(void **state)
{
	char path[128];
	FILE *stream;
	struct who *who;
	int known = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/tasks", dir);
	stream = fopen(path, "w");
	for (int pid = 1; pid <= 3 * WHO_SAVED_MAX; pid++)
		who_print(stream, &(struct task_info){ .pid = pid, .tgid = pid });
	fclose(stream);
	who = who_new(NULL, path);
	for (int pid = 1; pid <= 3 * WHO_SAVED_MAX; pid++) {
		int tgid = who_of(who, pid, 0)->tgid;

		assert_true(!tgid || tgid == pid);
		known += tgid == pid;
	}
	assert_in_range(known, WHO_SAVED_MAX / 2, WHO_SAVED_MAX);
	assert_int_equal(who_evicted(who), 3 * WHO_SAVED_MAX - known);
	assert_int_equal(who_missed(who), 3 * WHO_SAVED_MAX - known);
	who_free(who);
}

/* One that made room is read again while it is there; then it is missed. */
static void test_live_table_is_full(void **state)
{
	struct who *who = who_new(dir, NULL);
	uint64_t evicted;

	(void)state;
	for (int pid = 1000; pid < 1000 + 2 * WHO_LIVE_MAX; pid++) {
		put_task(pid, pid, "task", 0, "0::/a\n");
		who_see(who, pid, SECOND);
	}
	evicted = who_evicted(who);
	assert_in_range(evicted, WHO_LIVE_MAX, 2 * WHO_LIVE_MAX - 1);
	assert_int_equal(who_of(who, 1000, SECOND)->tgid, 1000);
	assert_int_equal(who_evicted(who), evicted + 1);
	assert_int_equal(who_missed(who), 0);
	remove_task(1001);
	assert_int_equal(who_of(who, 1001, SECOND)->tgid, 0);
	assert_int_equal(who_missed(who), 1);
	for (int pid = 1000; pid < 1000 + 2 * WHO_LIVE_MAX; pid++)
		if (pid != 1001)
			remove_task(pid);
	who_free(who);
}

static void test_saved_cgroups(void **state)
{
	struct cgroups *cgroups;
	char path[128];
	FILE *stream;

	(void)state;
	snprintf(path, sizeof(path), "%s/cgroups", dir);
	stream = fopen(path, "w");
	fputs("1 /\n42 /a\\040b\n43\nx\n", stream);
	fclose(stream);
	cgroups = cgroups_new(NULL, path, CGROUPS);
	assert_string_equal(cgroups_path(cgroups, 42), "/a b");
	assert_string_equal(cgroups_path(cgroups, 42 + CGROUPS), "");
	assert_string_equal(cgroups_path(cgroups, 42), "/a b");
	assert_string_equal(cgroups_path(cgroups, 1), "/");
	assert_string_equal(cgroups_path(cgroups, 43), "");
	assert_string_equal(cgroups_path(cgroups, 0), "");
	cgroups_free(cgroups);
	cgroups = cgroups_new("/nonexistent", NULL, CGROUPS);
	assert_string_equal(cgroups_path(cgroups, 42), "");
	cgroups_free(cgroups);
}

static void expect_cgroups(struct cgroups *cgroups, int from, int to)
{
	for (int id = from; id <= to; id++) {
		char path[16];

		snprintf(path, sizeof(path), "/c%d", id);
		assert_string_equal(cgroups_path(cgroups, (uint64_t)id), path);
	}
}

/* The path unused for longest makes room; one that is not known takes nobody's place. */
static void test_cgroups_limit(void **state)
{
	struct cgroups *cgroups;
	char path[128];
	FILE *stream;

	(void)state;
	snprintf(path, sizeof(path), "%s/cgroups", dir);
	stream = fopen(path, "w");
	for (int id = 1; id <= CGROUPS + 1; id++)
		fprintf(stream, "%d /c%d\n", id, id);
	fclose(stream);
	cgroups = cgroups_new(NULL, path, CGROUPS);
	expect_cgroups(cgroups, 1, CGROUPS - 1);
	expect_cgroups(cgroups, CGROUPS, CGROUPS);
	assert_string_equal(cgroups_path(cgroups, 1000), "");
	expect_cgroups(cgroups, 1, CGROUPS);
	assert_int_equal(cgroups_evicted(cgroups), 0);
	expect_cgroups(cgroups, 1, 1);
	expect_cgroups(cgroups, CGROUPS + 1, CGROUPS + 1);
	assert_int_equal(cgroups_evicted(cgroups), 1);
	/* what is remembered needs no file */
	unlink(path);
	expect_cgroups(cgroups, 1, 1);
	expect_cgroups(cgroups, 3, CGROUPS + 1);
	assert_int_equal(cgroups_evicted(cgroups), 1);
	assert_int_equal(cgroups_missed(cgroups), 0);
	cgroups_free(cgroups);
}

/* The one whose number is that of the directory, where this machine has cgroup2 and the right. */
static void test_live_cgroup(void **state)
{
	struct cgroups *cgroups = cgroups_new("/proc/self/mounts", NULL, CGROUPS);
	struct stat status;

	(void)state;
	if (!stat("/sys/fs/cgroup/cgroup.controllers", &status) &&
	    !stat("/sys/fs/cgroup", &status)) {
		const char *path = cgroups_path(cgroups, status.st_ino);

		assert_true(!*path || !strcmp(path, "/"));
	}
	cgroups_free(cgroups);
}

static void test_clock(void **state)
{
	struct clock_anchor anchor = { 0 };
	char text[CLOCK_TEXT_MAX];

	(void)state;
	assert_false(clock_text(&anchor, 5, text));
	assert_string_equal(text, "");
	clock_mark(&anchor, 10 * SECOND, 1700000000 * SECOND + 5);
	assert_true(clock_text(&anchor, 10 * SECOND, text));
	assert_string_equal(text, "2023-11-14T22:13:20.000000005Z");
	assert_true(clock_text(&anchor, 11 * SECOND + 1, text));
	assert_string_equal(text, "2023-11-14T22:13:21.000000006Z");
	assert_true(clock_text(&anchor, 10 * SECOND - 6, text));
	assert_string_equal(text, "2023-11-14T22:13:19.999999999Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_and_cgroup),
		cmocka_unit_test(test_cgroup_lines),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_table_is_full),
		cmocka_unit_test(test_live_table_is_full),
		cmocka_unit_test(test_saved_cgroups),
		cmocka_unit_test(test_cgroups_limit),
		cmocka_unit_test(test_live_cgroup),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
