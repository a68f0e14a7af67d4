// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/config.h"

static char path[] = "/tmp/allocfilt-config-XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	return close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

/* The command line is one option at most. */
static int load(struct options *options, char *option, const char *text, size_t length,
		struct failure *failure)
{
	char name[] = "allocfilt", *argv[] = { name, option, NULL };
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	fclose(file);
	assert_int_equal(options_parse(options, option ? 2 : 1, argv, failure), 0);
	return config_load(options, path, NULL, failure);
}

static void load_good(struct options *options, char *option, const char *text)
{
	struct failure failure = { 0 };

	if (load(options, option, text, strlen(text), &failure))
		fail_msg("%s", failure.text);
}

/* The failure's text is the file's name and then this. */
static void load_bad(const char *text, const char *expected)
{
	struct failure failure = { 0 };
	struct options options;

	assert_true(load(&options, NULL, text, strlen(text), &failure) < 0);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	if (strncmp(failure.text, path, strlen(path)) ||
	    strncmp(failure.text + strlen(path), expected, strlen(expected)))
		fail_msg("'%s' and not '%s'", failure.text, expected);
	options_free(&options);
}

static void test_values(void **state)
{
	struct options options;

	(void)state;
	load_good(&options, NULL,
		  "# a comment\n\n  threshold = 10ms  \nbuffer=16M\r\nduration = 1h\n"
		  "function = a,b\nfunction = c*\nevent = kmem:kfree\npid = 7\nformat = trace");
	assert_true(options.threshold_given);
	assert_int_equal(options.threshold, 10000000);
	assert_int_equal(options.buffer, 16 << 20);
	assert_int_equal(options.duration, 3600000000000);
	assert_string_equal(options.functions[2], "c*");
	assert_null(options.functions[3]);
	assert_string_equal(options.events[0], "kmem:kfree");
	assert_int_equal(options.pids[0], 7);
	options_free(&options);
}

static void test_command_line_beats_file(void **state)
{
	char threshold[] = "-t5", pid[] = "-p1,2";
	struct options options;

	(void)state;
	load_good(&options, threshold, "threshold = 10ms\nbuffer = 8M\n");
	assert_int_equal(options.threshold, 5000);
	assert_int_equal(options.buffer, 8 << 20);
	options_free(&options);
	load_good(&options, pid, "pid = 3\n");
	assert_int_equal(options.pids[1], 2);
	assert_int_equal(options.pids[2], 0);
	options_free(&options);
}

static void test_file_beats_default(void **state)
{
	struct options options;

	(void)state;
	load_good(&options, NULL, "");
	assert_int_equal(options.buffer, OPTIONS_BUFFER_DEFAULT);
	assert_false(options.threshold_given);
	options_free(&options);
}

static void test_mistakes(void **state)
{
	(void)state;
	load_bad("\n# x\nthreshold = soon\n", ":3: threshold 'soon' is not a whole number; allowed: ");
	load_bad("threshold\n", ":1: not of the form key = value");
	load_bad("color = red\n", ":1: unknown key 'color'; allowed: threshold, ");
	load_bad("verbose = 1\n", ":1: unknown key 'verbose'");
	load_bad("full = 1\n", ":1: unknown key 'full'");
	load_bad("force = 1\n", ":1: unknown key 'force'");
	load_bad("= 1\n", ":1: unknown key ''");
	load_bad("buffer =\n", ":1: buffer '' is empty; allowed: ");
	load_bad("format = xml\n", ":1: format 'xml' is no known form");
	load_bad("top = 0\n", ":1: top '0' is zero");
}

/* A mistake is one, also where the command line has its own value. */
static void test_mistake_beside_command_line(void **state)
{
	struct failure failure = { 0 };
	struct options options;
	char threshold[] = "-t5";
	const char *text = "threshold = 0\n";

	(void)state;
	assert_int_equal(load(&options, threshold, text, strlen(text), &failure), -ERANGE);
	options_free(&options);
}

static void test_no_text(void **state)
{
	struct failure failure = { 0 };
	struct options options;
	char noise[8192] = { 0 };

	(void)state;
	assert_int_equal(load(&options, NULL, noise, sizeof(noise), &failure), -E2BIG);
	options_free(&options);
	memset(noise, '#', sizeof(noise));
	assert_int_equal(load(&options, NULL, noise, sizeof(noise), &failure), -E2BIG);
	options_free(&options);
}

static void test_missing_file(void **state)
{
	struct failure failure = { 0 };
	struct options options = { 0 };

	(void)state;
	assert_int_equal(config_load(&options, NULL, "/nonexistent/file", &failure), 0);
	assert_int_equal(config_load(&options, "/nonexistent/file", NULL, &failure), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_string_equal(failure.text, "-c /nonexistent/file: No such file or directory");
	assert_int_equal(config_load(&options, "/tmp", NULL, &failure), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_command_line_beats_file),
		cmocka_unit_test(test_file_beats_default),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_mistake_beside_command_line),
		cmocka_unit_test(test_no_text),
		cmocka_unit_test(test_missing_file),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
