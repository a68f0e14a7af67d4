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

/* How an account traces is the file's, what is shown is not; forms of a run are not those of account. */
#define FILE_OF_A_RUN                                                                              \
	"threshold = 5ms\nbuffer = 16M\nlimit-memory = 1M\nformat = nonsense\npid = 7\n"           \
	"report = 9ms\nmetrics = /nowhere\ninterval = 1\ntop = 3\nduration = 1h\n"                 \
	"function = vm_*\nevent = kmem:kfree\nstack = yes\noff-cpu = yes\n"                        \
	"page-allocation = yes\nsummary = none\nfunction-graph = no\n"

/* The command line beats the file. */
UNIT_TEST(test_values)
{
	static const struct {
		const char *option, *file, *text;
	} cases[] = {
		{ NULL,
		  "# a comment\n\n  threshold = 10ms  \nbuffer=16M\r\nduration = 1h\n"
		  "function = a,b\nfunction = c*\nevent = kmem:kfree\npid = 7\nformat = fancy",
		  "threshold=10000000 duration=3600000000000 pid=7 format=fancy function=a,b,c* "
		  "event=kmem:kfree buffer=16777216" },
		{ "-t5", "threshold = 10ms\nbuffer = 8M\n", "threshold=5000 buffer=8388608" },
		{ "-t 5 -- true", "pid = 7\n", "threshold=5000" },
		{ "-p1,2", "pid = 3\n", "pid=1,2" },
		{ "--stack", "stack = no\n", "stack=yes" },
		{ NULL, "function-graph = no\n", "function-graph=no" },
		{ "--function-graph=yes", "function-graph = no\n", "function-graph=yes" },
		{ "--metrics=/a", "metrics = /b\n", "metrics=/a" },
		{ "account", FILE_OF_A_RUN,
		  "account threshold=5000000 buffer=16777216 limit-memory=1048576" },
		{ "account -t 20ms -b 8M -f fancy", FILE_OF_A_RUN,
		  "account threshold=20000000 format=fancy buffer=8388608 limit-memory=1048576" },
		{ "account", "top = 3\n", "account" },
	};
	const struct options *options;

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(options_text(load_good(cases[i].option, cases[i].file)),
				    cases[i].text);
	options = load_good("-t5", "threshold = 10ms\nbuffer = 8M\n");
	assert_true(options_on_command_line(options, "threshold"));
	assert_false(options_on_command_line(options, "buffer"));
	assert_false(options_on_command_line(options, "no-such-key"));
	options = load_good("account", FILE_OF_A_RUN);
	assert_string_equal(options->format, "plain");
	assert_int_equal(options->function_graph, FUNCTIONS_YES);
	assert_false(options->page_allocation || options->interval || options->report);
	assert_int_equal(options->top, 10);
	assert_int_equal(config_report(options, false), 0);
}

/* A key that the service has another default for is as the file says all the same. */
UNIT_TEST(test_file_beats_default)
{
	static const struct {
		const char *option, *text;
		int function_graph;
	} cases[] = {
		{ NULL, "threshold = 1ms\n", FUNCTIONS_YES },
		{ NULL, "function-graph = no\n", FUNCTIONS_NO },
		{ "--journal", "threshold = 1ms\n", FUNCTIONS_AUTO },
		{ "--journal", "function-graph = yes\n", FUNCTIONS_YES },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(load_good(cases[i].option, cases[i].text)->function_graph,
				 cases[i].function_graph);
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

UNIT_TEST_MAIN(make_test_directory, remove_test_directory)
