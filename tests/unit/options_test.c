// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/config.h"

#define ARGUMENTS_MAX 16

/* A command line in one string, split at blanks; "" behind a blank is an empty argument. */
struct command_line {
	char *text;
	char *argv[ARGUMENTS_MAX + 1];
	int argc;
};

static void line_split(struct command_line *line, const char *text)
{
	char *word, *rest;

	*line = (struct command_line){ .text = strdup(text) };
	for (rest = line->text; (word = strsep(&rest, " ")); line->argc++) {
		assert_true(line->argc < ARGUMENTS_MAX);
		line->argv[line->argc] = word;
	}
}

static int parse(struct options *options, const char *text, struct failure *failure)
{
	struct command_line line;
	int error;

	line_split(&line, text);
	error = options_parse(options, line.argc, line.argv, failure);
	free(line.text);
	return error;
}

static void parse_good(struct options *options, const char *text)
{
	struct failure failure = { 0 };

	if (parse(options, text, &failure))
		fail_msg("%s: %s", text, failure.text);
}

/* The text has to contain each of the parts, separated by '|'. */
static void parse_bad(const char *text, const char *parts)
{
	struct failure failure = { 0 };
	struct options options;
	char *copy = strdup(parts), *rest = copy, *part;

	if (!parse(&options, text, &failure))
		fail_msg("%s: taken", text);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_null(strchr(failure.text, '\n'));
	while ((part = strsep(&rest, "|")))
		if (!strstr(failure.text, part))
			fail_msg("%s: '%s' lacks '%s'", text, failure.text, part);
	free(copy);
	options_free(&options);
}

static void test_defaults(void **state)
{
	struct options options;

	(void)state;
	parse_good(&options, "allocfilt");
	assert_int_equal(options.task, TASK_RUN);
	assert_false(options.threshold_given);
	assert_int_equal(options.buffer, 4 << 20);
	assert_int_equal(options.format, FORMAT_TRACE);
	assert_int_equal(options.duration, 0);
	assert_null(options.source);
	assert_null(options.write);
	assert_null(options.pids);
	assert_null(options.functions);
	assert_null(options.events);
	assert_null(options.output);
	assert_null(options.config);
	assert_false(options.full || options.force || options.verbose || options.quiet);
	options_free(&options);
}

static void threshold_is(const char *text, uint64_t ns)
{
	struct options options;

	parse_good(&options, text);
	assert_true(options.threshold_given);
	assert_int_equal(options.threshold, ns);
	options_free(&options);
}

static void test_threshold(void **state)
{
	(void)state;
	threshold_is("allocfilt -t 134", 134000);
	threshold_is("allocfilt -t134us", 134000);
	threshold_is("allocfilt --threshold=1ms", 1000000);
	threshold_is("allocfilt --threshold 2s", 2000000000);
	threshold_is("allocfilt -t 5000ns", 5000);
	threshold_is("allocfilt -t 0134", 134000);
	threshold_is("allocfilt -t 10 -t 20", 20000);
}

static void test_threshold_refused(void **state)
{
	(void)state;
	parse_bad("allocfilt -t 1500ns", "-t '1500ns'|whole number of microseconds|allowed: ");
	parse_bad("allocfilt -t abc", "-t 'abc'|not a whole number|allowed: ");
	parse_bad("allocfilt -t 1.5ms", "-t '1.5ms'|not a whole number|allowed: ");
	parse_bad("allocfilt -t -5", "-t '-5'|negative|allowed: ");
	parse_bad("allocfilt -t 0", "-t '0'|zero|allowed: ");
	parse_bad("allocfilt -t 0ms", "-t '0ms'|zero|allowed: ");
	parse_bad("allocfilt -t ", "-t ''|empty|allowed: ");
	parse_bad("allocfilt -t +5", "-t '+5'|not a whole number|allowed: ");
	parse_bad("allocfilt -t 0x10", "-t '0x10'|unknown unit|allowed: ");
	parse_bad("allocfilt -t 5min", "-t '5min'|unknown unit|allowed: |ns, ms or s");
	parse_bad("allocfilt -t 5m", "-t '5m'|unknown unit|allowed: ");
	parse_bad("allocfilt -t 18446744073709551616", "-t '18446744073709551616'|too large");
	parse_bad("allocfilt -t 18446744073709551615", "too large");
	parse_bad("allocfilt -t 10000000000s", "-t '10000000000s'|too large|allowed: ");
	parse_bad("allocfilt -t 9223372036854775808ns", "too large");
	parse_bad("allocfilt -t", "'-t' needs a value");
	parse_bad("allocfilt --threshold", "'--threshold' needs a value");
}

static void duration_is(const char *text, uint64_t ns)
{
	struct options options;

	parse_good(&options, text);
	assert_int_equal(options.duration, ns);
	options_free(&options);
}

static void test_duration(void **state)
{
	(void)state;
	duration_is("allocfilt -d 15", 15000000000);
	duration_is("allocfilt -d 500ms", 500000000);
	duration_is("allocfilt -d 2m", 120000000000);
	duration_is("allocfilt --duration=1h", 3600000000000);
	parse_bad("allocfilt -d 0", "-d '0'|zero|allowed: ");
	parse_bad("allocfilt -d 10us", "-d '10us'|unknown unit|ms, m or h");
	parse_bad("allocfilt -d 10000000000", "too large");
	parse_bad("allocfilt -d soon", "-d 'soon'|not a whole number");
}

static void buffer_is(const char *text, uint64_t bytes)
{
	struct options options;

	parse_good(&options, text);
	assert_int_equal(options.buffer, bytes);
	options_free(&options);
}

static void test_buffer(void **state)
{
	(void)state;
	buffer_is("allocfilt -b 1408", 1408 << 10);
	buffer_is("allocfilt -b 16M", 16 << 20);
	buffer_is("allocfilt -b 8k", 8192);
	buffer_is("allocfilt -b 64GiB", 64ull << 30);
	parse_bad("allocfilt -b 7", "-b '7'|too small|from 8K to 64G");
	parse_bad("allocfilt -b 65G", "-b '65G'|too large|from 8K to 64G");
	parse_bad("allocfilt -b 1T", "-b '1T'|unknown unit");
	parse_bad("allocfilt -b 99999999999999999G", "too large");
	parse_bad("allocfilt -b lots", "-b 'lots'|not a whole number");
}

static void test_lists(void **state)
{
	struct options options;

	(void)state;
	parse_good(&options,
		   "allocfilt -p 12,34 -F kswapd*,vm_[ab]? -p 56,12 -F do_x.isra.0,kswapd* "
		   "-e kmem:mm_page_alloc");
	assert_int_equal(options.pids[0], 12);
	assert_int_equal(options.pids[1], 34);
	assert_int_equal(options.pids[2], 56);
	assert_int_equal(options.pids[3], 0);
	assert_string_equal(options.functions[0], "kswapd*");
	assert_string_equal(options.functions[1], "vm_[ab]?");
	assert_string_equal(options.functions[2], "do_x.isra.0");
	assert_null(options.functions[3]);
	assert_string_equal(options.events[0], "kmem:mm_page_alloc");
	assert_null(options.events[1]);
	options_free(&options);
}

static void test_lists_refused(void **state)
{
	(void)state;
	parse_bad("allocfilt -p 1,x", "-p 'x'|not a whole number|allowed: ");
	parse_bad("allocfilt -p 1,", "-p ''|empty");
	parse_bad("allocfilt -p 0", "-p '0'|zero");
	parse_bad("allocfilt -p -3", "-p '-3'|negative");
	parse_bad("allocfilt -p 4194305", "-p '4194305'|too large");
	parse_bad("allocfilt -p 12ms", "-p '12ms'|not a whole number");
	parse_bad("allocfilt -F a,,b", "-F ''|empty");
	parse_bad("allocfilt -F schedule:traceoff", "-F 'schedule:traceoff'|not the name");
	parse_bad("allocfilt -e kmem", "-e 'kmem'|not the name|SYSTEM:NAME");
	parse_bad("allocfilt -e kmem:", "-e 'kmem:'|not the name");
	parse_bad("allocfilt -e :kfree", "-e ':kfree'|not the name");
	parse_bad("allocfilt -e ../x:y", "-e '../x:y'|not the name");
	parse_bad("allocfilt -e a:b:c", "-e 'a:b:c'|not the name");
}

/* A list of 1024 is taken, of 1025 it is not. */
static void test_list_limit(void **state)
{
	struct failure failure = { 0 };
	struct options options;
	char text[2 + 1026 * 6], *argv[] = { text, text, NULL };
	int length = sprintf(text, "-p");

	(void)state;
	for (int pid = 1; pid <= 1024; pid++)
		length += sprintf(text + length, "%s%d", pid > 1 ? "," : "", pid);
	assert_int_equal(options_parse(&options, 2, argv, &failure), 0);
	assert_int_equal(options.pids[1023], 1024);
	options_free(&options);
	sprintf(text + length, ",1025");
	assert_int_equal(options_parse(&options, 2, argv, &failure), -E2BIG);
	assert_string_equal(failure.text, "-p '1025' is one too many; allowed: 1024 of them");
	options_free(&options);
}

static void test_paths_and_switches(void **state)
{
	struct options options;

	(void)state;
	parse_good(&options, "allocfilt -s in -w out --full --force -v -c conf");
	assert_string_equal(options.source, "in");
	assert_string_equal(options.write, "out");
	assert_string_equal(options.config, "conf");
	assert_true(options.full && options.force && options.verbose);
	options_free(&options);
	parse_good(&options, "allocfilt -q -o there -f trace --source=a --source=b");
	assert_true(options.quiet);
	assert_string_equal(options.output, "there");
	assert_string_equal(options.source, "b");
	options_free(&options);
	parse_bad("allocfilt -s ", "-s ''|empty");
}

static void task_is(const char *text, enum options_task task)
{
	struct options options;

	parse_good(&options, text);
	assert_int_equal(options.task, task);
	options_free(&options);
}

static void test_tasks(void **state)
{
	(void)state;
	task_is("allocfilt --restore", TASK_RESTORE);
	task_is("allocfilt --probe -t 10", TASK_PROBE);
	task_is("allocfilt -V", TASK_VERSION);
	task_is("allocfilt --help", TASK_HELP);
	task_is("allocfilt -h -t nonsense", TASK_HELP);
	parse_bad("allocfilt --restore --probe", "--restore, --probe and --check-config");
}

static void format_is(const char *line, enum options_format format)
{
	struct options options;

	parse_good(&options, line);
	assert_int_equal(options.format, format);
	options_free(&options);
}

static void test_formats(void **state)
{
	(void)state;
	format_is("allocfilt -f trace", FORMAT_TRACE);
	format_is("allocfilt -f tree", FORMAT_TREE);
	format_is("allocfilt -f json", FORMAT_JSON);
	format_is("allocfilt --format=perfetto", FORMAT_PERFETTO);
	parse_bad("allocfilt -f xml", "-f 'xml'|no known form|trace, tree, json, perfetto");
}

static void top_is(const char *line, unsigned int top)
{
	struct options options;

	parse_good(&options, line);
	assert_int_equal(options.top, top);
	options_free(&options);
}

static void test_top(void **state)
{
	(void)state;
	top_is("allocfilt", 10);
	top_is("allocfilt --top=1", 1);
	top_is("allocfilt --top 128", 128);
	parse_bad("allocfilt --top=0", "--top '0'|is zero");
	parse_bad("allocfilt --top=129", "--top '129'|too large");
	parse_bad("allocfilt --top=5x", "--top '5x'|not a whole number");
	parse_bad("allocfilt --top=-1", "--top '-1'|negative");
}

static void test_mistakes(void **state)
{
	(void)state;
	parse_bad("allocfilt -x", "'-x' is unknown");
	parse_bad("allocfilt --full -xv", "'-x' is unknown");
	parse_bad("allocfilt --frobnicate", "'--frobnicate' is unknown");
	parse_bad("allocfilt --fo", "'--fo' is unknown or ambiguous");
	parse_bad("allocfilt --force=yes", "'--force=yes' takes no value");
	parse_bad("allocfilt -t 5 extra", "unexpected argument 'extra'");
	parse_bad("allocfilt -t 5 -v -q", "-v and -q");
	parse_bad("allocfilt -t 5 --full", "--full needs -w");
	parse_bad("allocfilt -t 5 -w x -o y", "-w and -o");
	parse_bad("allocfilt --probe -w x", "-w|--probe");
	parse_bad("allocfilt -t 1\n2", "-t '1?2'");
}

/* A value as long as a page is not repeated whole. */
static void test_long_value(void **state)
{
	struct failure failure = { 0 };
	struct options options;
	char value[4097], option[] = "-t";
	char *argv[] = { option, option, value, NULL };

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	assert_int_equal(options_parse(&options, 3, argv, &failure), -EINVAL);
	assert_non_null(strstr(failure.text, "xxx...' is not a whole number; allowed: "));
	assert_true(strlen(failure.text) < 300);
	options_free(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_threshold_refused),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_lists_refused),
		cmocka_unit_test(test_list_limit),
		cmocka_unit_test(test_paths_and_switches),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_long_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
