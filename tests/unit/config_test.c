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

static const char *const formats[] = { "plain", "fancy", NULL };

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
	assert_int_equal(options_parse(options, option ? 2 : 1, argv, formats, failure), 0);
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
		  "function = a,b\nfunction = c*\nevent = kmem:kfree\npid = 7\nformat = fancy");
	assert_int_equal(options.threshold, 10000000);
	assert_int_equal(options.buffer, 16 << 20);
	assert_int_equal(options.duration, 3600000000000);
	assert_string_equal(options.functions[2], "c*");
	assert_null(options.functions[3]);
	assert_string_equal(options.events[0], "kmem:kfree");
	assert_int_equal(options.pids[0], 7);
	assert_string_equal(options.format, "fancy");
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

static void test_on_command_line(void **state)
{
	char threshold[] = "-t5";
	struct options options;

	(void)state;
	load_good(&options, threshold, "threshold = 10ms\npid = 3\n");
	assert_true(options_on_command_line(&options, "threshold"));
	assert_false(options_on_command_line(&options, "pid"));
	assert_false(options_on_command_line(&options, "metrics"));
	assert_false(options_on_command_line(&options, "no-such-key"));
	options_free(&options);
}

static void test_setting_names(void **state)
{
	char function[] = "-Fa", config[] = "-cb", text[CONFIG_SETTING_NAME_MAX];
	struct options options;

	(void)state;
	load_good(&options, function, "function = b\nevent = kmem:kfree\n");
	assert_string_equal(config_setting_name(&options, "function", text), "-F");
	assert_string_equal(config_setting_name(&options, "event", text),
			    "/etc/allocfilt.conf: event");
	options_free(&options);
	load_good(&options, config, "event = kmem:kfree\n");
	assert_string_equal(config_setting_name(&options, "event", text), "b: event");
	options_free(&options);
}

static void test_mistakes(void **state)
{
	(void)state;
	load_bad("\n# x\nthreshold = soon\n",
		 ":3: threshold 'soon' is not a whole number; allowed: ");
	load_bad("threshold\n", ":1: not of the form key = value");
	load_bad("color = red\n", ":1: unknown key 'color'; allowed: threshold, ");
	load_bad("verbose = 1\n", ":1: unknown key 'verbose'");
	load_bad("force = 1\n", ":1: unknown key 'force'");
	load_bad("= 1\n", ":1: unknown key ''");
	load_bad("buffer =\n", ":1: buffer '' is empty; allowed: ");
	load_bad("format = xml\n", ":1: format 'xml' is no known form");
	load_bad("top = 0\n", ":1: top '0' is zero");
	load_bad("journal = yes\n", ":1: unknown key 'journal'");
	load_bad("function = a: b\n", ":1: function 'a: b' is not the name of a function");
	load_bad("stack\n", ":1: not of the form key = value");
}

static void test_combinations(void **state)
{
	struct options options;

	(void)state;
	load_good(&options, NULL, "warning = 1s\nerror = 1s\n");
	options_free(&options);
	load_bad("warning = 1001ms\nerror = 1s\n", ": warning is above error; allowed: ");
	load_bad("warning = 2s\n", ": warning is above error; allowed: ");
	load_bad("error = 99ms\n", ": warning is above error; allowed: ");
	load_good(&options, NULL, "rate = 0\nburst = 0\n");
	options_free(&options);
	load_good(&options, NULL, "rate = 1\nburst = 1\n");
	options_free(&options);
	load_bad("burst = 0\n", ": burst is 0, so no entry would ever be written; allowed: ");
}

static void test_switch_of_the_command_line(void **state)
{
	char stack[] = "--stack", metrics[] = "--metrics=/a";
	struct options options;

	(void)state;
	load_good(&options, stack, "stack = no\n");
	assert_true(options.stack);
	options_free(&options);
	load_good(&options, NULL, "stack = yes\n");
	assert_true(options.stack);
	options_free(&options);
	load_good(&options, metrics, "metrics = /b\n");
	assert_string_equal(options.metrics, "/a");
	options_free(&options);
}

static void test_check_threshold(void **state)
{
	char threshold[] = "-t5";
	struct failure failure = { 0 };
	struct options options;

	(void)state;
	load_good(&options, NULL, "threshold = 10ms\n");
	assert_int_equal(config_check_threshold(&options, &failure), 0);
	options_free(&options);
	load_good(&options, threshold, "");
	assert_int_equal(config_check_threshold(&options, &failure), 0);
	options_free(&options);
	load_good(&options, NULL, "");
	assert_int_equal(config_check_threshold(&options, &failure), -EINVAL);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_non_null(strstr(failure.text, "threshold = TIME in /etc/allocfilt.conf"));
	options_free(&options);
}

static void differs(const struct options *current, const char *text)
{
	struct options fresh;

	load_good(&fresh, NULL, text);
	assert_false(options_same_tracing(current, &fresh));
	assert_false(options_same_tracing(&fresh, current));
	options_free(&fresh);
}

static void test_other_lists_are_other_tracing(void **state)
{
	struct options current;

	(void)state;
	load_good(&current, NULL, "function = e,f\nevent = g:h\npid = 1,2\n");
	differs(&current, "function = e,g\nevent = g:h\npid = 1,2\n");
	differs(&current, "function = e,f\nevent = g:i\npid = 1,2\n");
	differs(&current, "function = e,f\nevent = g:h\npid = 1,3\n");
	differs(&current, "function = e,f\nevent = g:h\npid = 1\n");
	options_free(&current);
}

/* A reload parses the same words again beside what holds, good or bad. */
static void test_reload(void **state)
{
	const char *bad = "function = a,b\nmetrics = /m\npid = 1\nevent = a:b\nrate = x\n";
	const char *text = "function = a\nfunction = e\nmetrics = /m\npid = 7\n"
			   "event = kmem:kfree\nrate = 7\n";
	struct options current, fresh;
	char threshold[] = "-t5";

	(void)state;
	load_good(&current, threshold, text);
	for (int i = 0; i < 3; i++) {
		struct failure failure = { 0 };

		load_good(&fresh, threshold, text);
		assert_true(options_same_tracing(&current, &fresh));
		assert_int_equal(fresh.threshold, 5000);
		assert_int_equal(fresh.rate, 7);
		assert_string_equal(fresh.functions[1], "e");
		options_free(&fresh);
		assert_int_equal(load(&fresh, threshold, bad, strlen(bad), &failure), -EINVAL);
		options_free(&fresh);
	}
	assert_string_equal(current.functions[0], "a");
	load_good(&fresh, threshold, "rate = 8\n");
	assert_false(options_same_tracing(&current, &fresh));
	options_free(&fresh);
	options_free(&current);
}

/* A mistake is one, also where the command line has its own value. */
static void test_mistake_beside_command_line(void **state)
{
	struct failure failure = { 0 };
	struct options options;
	char threshold[] = "-t5";
	const char *text = "threshold = 0\n";

	(void)state;
	assert_int_equal(load(&options, threshold, text, strlen(text), &failure), -EINVAL);
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
		cmocka_unit_test(test_on_command_line),
		cmocka_unit_test(test_setting_names),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_combinations),
		cmocka_unit_test(test_switch_of_the_command_line),
		cmocka_unit_test(test_check_threshold),
		cmocka_unit_test(test_other_lists_are_other_tracing),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_mistake_beside_command_line),
		cmocka_unit_test(test_no_text),
		cmocka_unit_test(test_missing_file),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
