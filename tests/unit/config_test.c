// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line.h"
#include "test_directory.h"
#include "unit_test.h"

/* @option: the whole command line, or NULL */
static int load(struct options *options, const char *option, const char *text, size_t length,
		struct failure *failure)
{
	char command[64];

	put_bytes("conf", text, length);
	snprintf(command, sizeof(command), option ? "allocfilt %s" : "allocfilt", option);
	parse_good(options, command);
	free(options->config);
	options->config = strdup(test_path("conf"));
	return config_load(options, failure);
}

/* Valid until the next call, which frees what was loaded before. */
static const struct options *load_good(const char *option, const char *text)
{
	static struct options options;
	struct failure failure = { 0 };

	options_free(&options);
	if (load(&options, option, text, strlen(text), &failure))
		fail_msg("%s", failure.text);
	return &options;
}

/* The failure's text is the file's name and then this. */
static void load_bad(const char *text, const char *expected)
{
	const char *path = test_path("conf");
	struct failure failure = { 0 };
	struct options options;

	assert_true(load(&options, NULL, text, strlen(text), &failure) < 0);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	if (strncmp(failure.text, path, strlen(path)) ||
	    strncmp(failure.text + strlen(path), expected, strlen(expected)))
		fail_msg("'%s' and not '%s'", failure.text, expected);
	options_free(&options);
}

UNIT_TEST(test_values)
{
	const struct options *options = load_good(
		NULL, "# a comment\n\n  threshold = 10ms  \nbuffer=16M\r\nduration = 1h\n"
		      "function = a,b\nfunction = c*\nevent = kmem:kfree\npid = 7\nformat = fancy");

	assert_int_equal(options->threshold, 10000000);
	assert_int_equal(options->buffer, 16 << 20);
	assert_int_equal(options->duration, 3600000000000);
	assert_string_equal(options->functions[2], "c*");
	assert_null(options->functions[3]);
	assert_string_equal(options->events[0], "kmem:kfree");
	assert_int_equal(options->pids[0], 7);
	assert_string_equal(options->format, "fancy");
}

UNIT_TEST(test_command_line_beats_file)
{
	const struct options *options = load_good("-t5", "threshold = 10ms\nbuffer = 8M\n");

	assert_int_equal(options->threshold, 5000);
	assert_int_equal(options->buffer, 8 << 20);
	assert_true(options_on_command_line(options, "threshold"));
	assert_false(options_on_command_line(options, "buffer"));
	assert_false(options_on_command_line(options, "no-such-key"));
	assert_null(load_good("-t 5 -- true", "pid = 7\n")->pids);
	options = load_good("-p1,2", "pid = 3\n");
	assert_int_equal(options->pids[1], 2);
	assert_int_equal(options->pids[2], 0);
	assert_true(load_good("--stack", "stack = no\n")->stack);
	assert_false(load_good(NULL, "function-graph = no\n")->function_graph);
	assert_true(load_good("--function-graph=yes", "function-graph = no\n")->function_graph);
	assert_string_equal(load_good("--metrics=/a", "metrics = /b\n")->metrics, "/a");
}

/* A key that the service has another default for is as the file says all the same. */
UNIT_TEST(test_file_beats_default)
{
	assert_true(load_good(NULL, "threshold = 1ms\n")->page_allocation);
	assert_false(load_good(NULL, "page-allocation = no\n")->page_allocation);
	assert_false(load_good("--journal", "threshold = 1ms\n")->page_allocation);
	assert_true(load_good("--journal", "page-allocation = yes\n")->page_allocation);
}

/* The report of a file is for the threshold of the file. */
UNIT_TEST(test_report)
{
	static const char text[] = "threshold = 1ms\nreport = 10ms\n";
	static const struct {
		const char *option;
		uint64_t live, capture; /* ms */
	} cases[] = {
		{ NULL, 10, 0 },
		{ "-t2ms", 0, 0 },
		{ "--report=20ms", 20, 20 },
		{ "-t2ms --report=2ms", 2, 2 },
	};
	struct failure failure = { 0 };

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct options *options = load_good(cases[i].option, text);

		assert_int_equal(config_report(options, false), cases[i].live * 1000000);
		assert_int_equal(config_report(options, true), cases[i].capture * 1000000);
		assert_int_equal(config_check_report(options, false, options->threshold, &failure),
				 0);
	}
	assert_int_equal(config_report(load_good(NULL, "threshold = 1ms\n"), false), 0);
	/* a threshold just above the report */
	assert_int_equal(config_check_report(load_good(NULL, text), false, 10001000, &failure),
			 -EINVAL);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_int_equal(config_check_report(load_good(NULL, text), false, 10000000, &failure), 0);
	assert_int_equal(config_check_report(load_good(NULL, text), true, 10001000, &failure), 0);
}

UNIT_TEST(test_mistakes)
{
	static const char *const cases[][2] = {
		{ "force = 1\n", ":1: unknown key 'force'" },
		{ "journal = yes\n", ":1: unknown key 'journal'" },
		{ "= 1\n", ":1: unknown key ''" },
		{ "buffer =\n", ":1: buffer '' is empty; allowed: " },
		{ "format = xml\n", ":1: format 'xml' is unknown" },
		{ "warning = 1001ms\nerror = 1s\n", ": warning is above error; allowed: " },
		{ "error = 99ms\n", ": warning is above error; allowed: " },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		load_bad(cases[i][0], cases[i][1]);
	load_good(NULL, "warning = 1s\nerror = 1s\n");
	load_good(NULL, "rate = 0\nburst = 0\n");
	load_good(NULL, "rate = 1\nburst = 1\n");
}

/* A reload parses the same text again while the current options are in use. */
UNIT_TEST(test_reload)
{
	static const char text[] =
		"function = e,f\nevent = g:h\nmetrics = /m\npid = 1,2\nrate = 7\n";
	static const char bad[] = "function = a,b\nmetrics = /m\npid = 1\nevent = a:b\nrate = x\n";
	struct failure failure = { 0 };
	struct options current, fresh;

	assert_int_equal(load(&current, "-t5", text, strlen(text), &failure), 0);
	assert_int_equal(load(&fresh, "-t5", bad, strlen(bad), &failure), -EINVAL);
	options_free(&fresh);
	assert_string_equal(current.functions[1], "f");
	assert_string_equal(current.metrics, "/m");
	assert_int_equal(current.rate, 7);
	options_free(&current);
	/* a mistake in the file is one, also where the command line has its own value */
	assert_int_equal(load(&fresh, "-t5", "threshold = 0\n", 14, &failure), -EINVAL);
	options_free(&fresh);
}

UNIT_TEST(test_too_long_a_line)
{
	struct failure failure = { 0 };
	struct options options;
	char noise[8192];

	memset(noise, '#', sizeof(noise));
	assert_int_equal(load(&options, NULL, noise, sizeof(noise), &failure), -E2BIG);
	options_free(&options);
}

/* How it traces is the file's, what is shown is not; and the forms of a run are not those of account. */
UNIT_TEST(test_account)
{
	static const char file[] =
		"threshold = 5ms\nbuffer = 16M\nlimit-memory = 1M\nformat = nonsense\npid = 7\n"
		"report = 9ms\nmetrics = /nowhere\ninterval = 1\ntop = 3\nduration = 1h\n"
		"function = vm_*\nevent = kmem:kfree\nstack = yes\noff-cpu = yes\n"
		"page-allocation = yes\nsummary = none\nfunction-graph = no\n";
	const struct options *options = load_good("account", file);

	assert_int_equal(options->threshold, 5000000);
	assert_int_equal(options->buffer, 16 << 20);
	assert_int_equal(options->limit_memory, 1 << 20);
	assert_string_equal(options->format, "plain");
	assert_null(options->pids);
	assert_null(options->metrics);
	assert_null(options->functions);
	assert_null(options->events);
	assert_false(options->stack || options->off_cpu || options->page_allocation);
	assert_true(options->function_graph);
	assert_int_equal(options->interval, 0);
	assert_int_equal(options->report, 0);
	assert_int_equal(options->duration, 0);
	assert_int_equal(options->top, 10);
	assert_int_equal(config_report(options, false), 0);
	assert_int_equal(load_good("account -t 20ms -b 8M -f fancy", file)->threshold, 20000000);
	assert_int_equal(load_good("account -t 20ms -b 8M -f fancy", file)->buffer, 8 << 20);
	assert_int_equal(load_good("account", "top = 3\n")->threshold, 1000000);
}

UNIT_TEST_MAIN(make_test_directory, remove_test_directory)
