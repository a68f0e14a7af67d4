// SPDX-License-Identifier: GPL-2.0-or-later

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/names.h"

#define SECOND 1000000000ull
#define SIZE   64

/* A /proc and a saved_cmdlines of our own. */
static char dir[64];
static char saved[96];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/allocfilt-names-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(saved, sizeof(saved), "%s/saved_cmdlines", dir);
	return 0;
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static void write_bytes(const char *path, const char *text, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	fclose(file);
}

static void write_saved(const char *text)
{
	write_bytes(saved, text, strlen(text));
}

static void write_comm(int pid, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d", dir, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/comm", dir, pid);
	write_bytes(path, text, strlen(text));
}

static void remove_comm(int pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d/comm", dir, pid);
	assert_int_equal(unlink(path), 0);
}

static void names_of_a_capture(void **state)
{
	struct names *names;

	(void)state;
	write_saved("1 systemd\n12 a b  c \n123 kworker/0:1\n4711 \n99 last");
	write_comm(12, "from proc\n");
	names = names_new(NULL, saved, SIZE);
	assert_string_equal(names_of(names, 1, 5), "systemd");
	assert_string_equal(names_of(names, 12, 5), "a b  c ");
	assert_string_equal(names_of(names, 123, 5), "kworker/0:1");
	assert_string_equal(names_of(names, 4711, 5), "");
	assert_string_equal(names_of(names, 99, 5), "last");
	assert_string_equal(names_of(names, 2, 5), "<...>");
	assert_string_equal(names_of(names, 0, 5), "<idle>");
	assert_string_equal(names_of(names, -1, 5), "<XXX>");
	names_free(names);
}

static void names_with_any_bytes(void **state)
{
	struct names *names;

	(void)state;
	write_saved("5 new\nline\n6 \n\n7 \x01\xff\t\n8 12345\n678\n9 x\n10\n11 end\n3");
	names = names_new(NULL, saved, SIZE);
	assert_string_equal(names_of(names, 5, 1), "new\nline");
	assert_string_equal(names_of(names, 6, 1), "\n");
	assert_string_equal(names_of(names, 7, 1), "\x01\xff\t");
	assert_string_equal(names_of(names, 8, 1), "12345\n678");
	assert_string_equal(names_of(names, 9, 1), "x\n10");
	assert_string_equal(names_of(names, 11, 1), "end\n3");
	names_free(names);
	write_saved("5 a name that is longer than any can be\n6 next\n");
	names = names_new(NULL, saved, SIZE);
	assert_string_equal(names_of(names, 5, 1), "a name that is ");
	assert_string_equal(names_of(names, 6, 1), "next");
	names_free(names);
}

/* A file of several reads of the buffer. */
static void saved_names_of_a_long_file(void **state)
{
	char *text = malloc(200000), *at = text, expected[32];
	struct names *names;

	(void)state;
	for (int i = 1; i <= 7000; i++)
		at += sprintf(at, "%d task-%d\n", i, i);
	write_saved(text);
	free(text);
	names = names_new(NULL, saved, SIZE);
	for (int i = 1; i <= 7000; i += 333) {
		snprintf(expected, sizeof(expected), "task-%d", i);
		assert_string_equal(names_of(names, i, 1), expected);
	}
	assert_string_equal(names_of(names, 7001, 1), "<...>");
	names_free(names);
}

static void nothing_to_read_from(void **state)
{
	struct names *names = names_new(NULL, NULL, SIZE);

	(void)state;
	assert_string_equal(names_of(names, 5, 1), "<...>");
	names_free(names);
	names = names_new("/nonexistent", "/nonexistent/saved_cmdlines", SIZE);
	assert_string_equal(names_of(names, 5, 1), "<...>");
	names_free(names);
	names_free(NULL);
}

/* The point of it all: seen alive, printed dead. */
static void task_that_has_gone(void **state)
{
	struct names *names;

	(void)state;
	write_saved("60 saved\n");
	write_comm(50, "short-lived\n");
	write_comm(51, "two\nlines\n");
	names = names_new(dir, saved, SIZE);
	names_see(names, 50, 10 * SECOND);
	names_see(names, 51, 10 * SECOND);
	remove_comm(50);
	remove_comm(51);
	assert_string_equal(names_of(names, 50, 10 * SECOND), "short-lived");
	assert_string_equal(names_of(names, 51, 10 * SECOND), "two\nlines");
	/* later too: there is nothing newer */
	assert_string_equal(names_of(names, 50, 20 * SECOND), "short-lived");
	/* never seen alive: the kernel's own cache */
	assert_string_equal(names_of(names, 60, 20 * SECOND), "saved");
	names_free(names);
}

static void exec_changes_a_name(void **state)
{
	struct names *names;

	(void)state;
	write_saved("");
	write_comm(70, "sh\n");
	names = names_new(dir, saved, SIZE);
	names_see(names, 70, 10 * SECOND);
	write_comm(70, "sleep\n");
	assert_string_equal(names_of(names, 70, 11 * SECOND), "sh");
	assert_string_equal(names_of(names, 70, 11 * SECOND + 1), "sleep");
	write_comm(70, "third\n");
	assert_string_equal(names_of(names, 70, 12 * SECOND), "sleep");
	/* an older record does not make it read */
	assert_string_equal(names_of(names, 70, 1), "sleep");
	/* a name that was not found is looked for again */
	assert_string_equal(names_of(names, 71, 20 * SECOND), "<...>");
	write_comm(71, "found\n");
	assert_string_equal(names_of(names, 71, 20 * SECOND), "<...>");
	assert_string_equal(names_of(names, 71, 22 * SECOND), "found");
	names_free(names);
}

/* /proc adds to a worker's name, which the kernel's text does not. */
static void names_of_workers(void **state)
{
	static const struct {
		const char *comm;
		const char *name;
	} cases[] = {
		{ "kworker/0:1-events\n", "kworker/0:1" },
		{ "kworker/u8:2+flush-254:0\n", "kworker/u8:2" },
		{ "kworker/1:0H\n", "kworker/1:0H" },
		{ "kworker/0:1H-kblockd\n", "kworker/0:1H" },
		{ "kworker/R-slub_flushwq\n", "kworker/R-slub_" },
		{ "kworker-not-one\n", "kworker-not-one" },
		{ "a-b+c:d-e\n", "a-b+c:d-e" },
		{ "sixteen-letters-\n", "sixteen-letters" },
		{ "no newline", "no newline" },
	};
	struct names *names;

	(void)state;
	write_saved("");
	names = names_new(dir, saved, SIZE);
	for (int i = 0; i < (int)(sizeof(cases) / sizeof(*cases)); i++) {
		write_comm(200 + i, cases[i].comm);
		assert_string_equal(names_of(names, 200 + i, 1), cases[i].name);
	}
	names_free(names);
}

/* The one unused for longest goes. */
static void table_that_is_full(void **state)
{
	struct names *names;

	(void)state;
	write_saved("");
	write_comm(1000, "used\n");
	write_comm(1001, "unused\n");
	names = names_new(dir, saved, SIZE);
	for (int pid = 1000; pid < 1000 + SIZE; pid++) {
		names_see(names, pid, SECOND);
		assert_int_equal(names_evicted(names), 0);
	}
	remove_comm(1000);
	remove_comm(1001);
	assert_string_equal(names_of(names, 1000, SECOND), "used");
	names_see(names, 1000 + SIZE, SECOND);
	assert_int_equal(names_evicted(names), 1);
	/* 1001 went, 1000 was used since */
	assert_string_equal(names_of(names, 1000, SECOND), "used");
	assert_int_equal(names_missed(names), 0);
	assert_string_equal(names_of(names, 1001, SECOND), "<...>");
	assert_int_equal(names_evicted(names), 2);
	assert_int_equal(names_missed(names), 1);
	for (int pid = 100000; pid < 100000 + 3 * SIZE; pid++)
		names_see(names, pid, SECOND);
	assert_int_equal(names_evicted(names), 2 + 3 * SIZE);
	assert_int_equal(names_missed(names), 1);
	assert_string_equal(names_of(names, 1000, SECOND), "<...>");
	assert_int_equal(names_missed(names), 2);
	names_free(names);
}

/* What made room and is still there is read again: nothing is missing. */
static void evicted_name_that_is_read_again(void **state)
{
	struct names *names;

	(void)state;
	write_saved("");
	write_comm(1, "here\n");
	names = names_new(dir, saved, SIZE);
	names_see(names, 1, SECOND);
	for (int pid = 2000; pid < 2000 + SIZE; pid++)
		names_see(names, pid, SECOND);
	assert_int_equal(names_evicted(names), 1);
	assert_string_equal(names_of(names, 1, SECOND), "here");
	assert_int_equal(names_missed(names), 0);
	names_free(names);
}

/* A capture that does not have a name did not have it before either. */
static void capture_misses_no_name(void **state)
{
	struct names *names;

	(void)state;
	write_saved("7 seven\n");
	names = names_new(NULL, saved, 1);
	assert_string_equal(names_of(names, 7, SECOND), "seven");
	assert_string_equal(names_of(names, 8, SECOND), "<...>");
	assert_string_equal(names_of(names, 7, SECOND), "seven");
	assert_int_equal(names_evicted(names), 2);
	assert_int_equal(names_missed(names), 0);
	names_free(names);
}

/* More than an index can count is not asked for by an option; it is not believed either. */
static void largest_table(void **state)
{
	struct names *names = names_new(NULL, NULL, NAMES_MAX + 1);

	(void)state;
	for (int pid = 1; pid <= NAMES_MAX; pid++)
		names_see(names, pid, SECOND);
	assert_int_equal(names_evicted(names), 0);
	names_see(names, NAMES_MAX + 1, SECOND);
	assert_int_equal(names_evicted(names), 1);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_capture),
		cmocka_unit_test(names_with_any_bytes),
		cmocka_unit_test(saved_names_of_a_long_file),
		cmocka_unit_test(nothing_to_read_from),
		cmocka_unit_test(task_that_has_gone),
		cmocka_unit_test(exec_changes_a_name),
		cmocka_unit_test(names_of_workers),
		cmocka_unit_test(table_that_is_full),
		cmocka_unit_test(evicted_name_that_is_read_again),
		cmocka_unit_test(capture_misses_no_name),
		cmocka_unit_test(largest_table),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
