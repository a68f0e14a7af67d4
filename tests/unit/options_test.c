// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line.h"
#include "unit_test.h"

static void parse_bad(const char *text, const char *parts)
{
	struct failure failure = { 0 };
	struct options options;
	char *copy = strdup(parts), *rest = copy, *part;

	if (!parse(&options, text, &failure))
		fail_msg("%s: accepted", text);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_null(strchr(failure.text, '\n'));
	while ((part = strsep(&rest, "|")))
		if (!strstr(failure.text, part))
			fail_msg("%s: '%s' lacks '%s'", text, failure.text, part);
	free(copy);
	options_free(&options);
}

UNIT_TEST(test_defaults)
{
	struct options options;

	parse_good(&options, "allocfilt");
	assert_string_equal(options_text(&options), "");
	assert_int_equal(options.threshold, 1000000);
	assert_string_equal(options.format, "plain");
	assert_int_equal(options.oom_score, OPTIONS_OOM_SCORE_UNSET);
	assert_int_equal(options.function_graph, FUNCTIONS_YES);
	assert_false(options.page_allocation || options.duration || options.force ||
		     options.verbose || options.quiet);
	assert_null(options.source);
	assert_null(options.functions);
	options_free(&options);
	for (int i = 0; i < 2; i++) {
		parse_good(&options, i ? "allocfilt account" : "allocfilt --journal");
		assert_int_equal(options.function_graph, i ? FUNCTIONS_YES : FUNCTIONS_AUTO);
		assert_int_equal(options.top, 10);
		assert_int_equal(options.threshold, 1000000);
		assert_int_equal(options.sort, SORT_WASTED);
		options_free(&options);
	}
}

/* Times are in ns, sizes in bytes; a list that is given again becomes longer, another value replaces. */
UNIT_TEST(test_values)
{
	static const char *const cases[][2] = {
		{ "-t 134", "threshold=134000" },
		{ "-t134us", "threshold=134000" },
		{ "-t 1.5ms", "threshold=1500000" },
		{ "-t 0.25s", "threshold=250000000" },
		{ "--threshold=1ms", "threshold=1000000" },
		{ "--threshold 2s", "threshold=2000000000" },
		{ "-t 10 -t 20", "threshold=20000" },
		{ "-d 15", "duration=15000000000" },
		{ "-b 1408", "buffer=1441792" },
		{ "--top=128", "top=128" },
		{ "-p 12,34 -F kswapd*,vm_[ab]? -p 56,12 -F do_x.isra.0,kswapd* -e kmem:mm_page_alloc",
		  "pid=12,34,56 function=kswapd*,vm_[ab]?,do_x.isra.0 event=kmem:mm_page_alloc" },
		{ "-s in -w out --force -v -c conf --stack --off-cpu",
		  "stack=yes off-cpu=yes source=in write=out force=yes config=conf verbose=yes" },
		{ "-q -o there --source=a --source=b --format=fancy",
		  "format=fancy source=b output=there quiet=yes" },
		{ "--function-graph no -v -s in", "function-graph=no source=in verbose=yes" },
		{ "--function-graph=no --function-graph=yes", "function-graph=yes" },
		{ "--verify=x -f fancy -o y -c z -v",
		  "format=fancy output=y config=z verify=x verbose=yes" },
		{ "--restore", "restore" },
		{ "--probe -t 10", "probe threshold=10000" },
		{ "--check-config", "check-config" },
		{ "-V", "version" },
		{ "--help", "help" },
		{ "--probe -h -t nonsense", "help" },
		{ "account", "account" },
		{ "account -t 20 -d 2 -p 7 -s in -b 8M -f fancy --interval=1 --sort=count --top=3 -o out",
		  "account threshold=20000 duration=2000000000 pid=7 format=fancy "
		  "interval=1000000000 top=3 sort=count source=in output=out buffer=8388608" },
		{ "account --sort=allocated --force -q -c z -- true",
		  "account sort=allocated force=yes config=z quiet=yes" },
		{ "account -h", "help" },
		/* The subcommand is the first argument alone, and what comes after -- no operand. */
		{ "-t 5 -- account", "threshold=5000" },
		{ "record -o x -- report y", "write=x" },
		/* Each subcommand is an option; these paths are of the tree's root. */
		{ "report tests -f fancy", "format=fancy source=tests" },
		{ "report -f fancy -i tests", "format=fancy source=tests" },
		{ "report Makefile -v", "read=Makefile verbose=yes" },
		{ "report --input=none:x -v", "read=none:x verbose=yes" },
		{ "report -s x", "source=x" },
		{ "report -r x", "read=x" },
		{ "record -t 5 -o x --max-size=1M", "threshold=5000 write=x max-size=1048576" },
		{ "record --output=x", "write=x" },
		{ "record -w x", "write=x" },
		{ "verify x -o y", "output=y verify=x" },
		{ "probe -v", "probe verbose=yes" },
		{ "restore -s x", "restore source=x" },
	};
	struct options options;
	char text[256];

	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(text, sizeof(text), "allocfilt %s", cases[i][0]);
		parse_good(&options, text);
		assert_string_equal(options_text(&options), cases[i][1]);
		assert_int_equal(!!options.command, !!strstr(text, " -- "));
		options_free(&options);
	}
}

/* A list of 1024 is accepted, of 1025 it is not. */
UNIT_TEST(test_list_limit)
{
	struct failure failure = { 0 };
	struct options options;
	char text[2 + 1026 * 6], *argv[] = { text, text, NULL };
	int length = sprintf(text, "-p");

	for (int pid = 1; pid <= 1024; pid++)
		length += sprintf(text + length, "%s%d", pid > 1 ? "," : "", pid);
	assert_int_equal(options_parse(&options, 2, argv, formats, &failure), 0);
	assert_int_equal(options.pids[1023], 1024);
	options_free(&options);
	sprintf(text + length, ",1025");
	assert_int_equal(options_parse(&options, 2, argv, formats, &failure), -E2BIG);
	assert_non_null(strstr(failure.text, "'1025' is one too many; allowed: 1024"));
	options_free(&options);
}

/* Parts of the text of the failure are separated by '|'; there are more in tests/cli/options.test. */
UNIT_TEST(test_refused)
{
	static const char *const cases[][2] = {
		{ "allocfilt -t 5min", "-t '5min'|unknown unit|allowed: |ns, us, ms, s" },
		{ "allocfilt -d 10us", "-d '10us'|unknown unit|ms, m or h" },
		{ "allocfilt -b 65G", "-b '65G'|too large|from 8K to 64G" },
		{ "allocfilt -p 1,", "-p ''|empty" },
		{ "allocfilt -p 0", "-p '0'|zero" },
		{ "allocfilt -p 4194305", "-p '4194305'|too large" },
		{ "allocfilt -p 12ms", "-p '12ms'|not a whole number" },
		{ "allocfilt -F a,,b", "-F ''|empty" },
		{ "allocfilt -e kmem:", "-e 'kmem:'|not the name" },
		{ "allocfilt -e :kfree", "-e ':kfree'|not the name" },
		{ "allocfilt -e ../x:y", "-e '../x:y'|not the name" },
		{ "allocfilt -e a:b:c", "-e 'a:b:c'|not the name" },
		{ "allocfilt --fo", "option '--fo' can be any of 2" },
		{ "allocfilt --page-allocations",
		  "unknown option '--page-allocations'; did you mean --page-allocation?" },
		{ "allocfilt --force=yes", "'--force=yes' takes no value" },
		{ "allocfilt --top", "'--top' needs a value" },
		{ "allocfilt --function-graph", "'--function-graph' needs a value" },
		{ "allocfilt --function-graph=off",
		  "--function-graph 'off' is unknown; allowed: no, auto, yes" },
		{ "allocfilt -t 5 -w x -o y", "-o does not go with -w, which" },
		{ "allocfilt -t 5 -w x --journal", "--journal does not go with -w" },
		{ "allocfilt -t 5 -w x --metrics=y", "--metrics does not go with -w" },
		{ "allocfilt -t 5 -w x --interval=1", "--interval does not go with -w" },
		{ "allocfilt -t 5 --journal --interval=1",
		  "--interval does not go with --journal, which" },
		{ "allocfilt --probe -w x", "-w does not go with --probe, which" },
		{ "allocfilt -r x --probe", "-r does not go with --probe" },
		{ "allocfilt -r x -w y", "-r does not go with -w" },
		{ "allocfilt -r x --max-size=1M", "--max-size does not go with -r, which" },
		{ "allocfilt -r x -s y", "-r and -s exclude each other: each" },
		{ "allocfilt -r x -- true", "COMMAND does not go with -r" },
		{ "allocfilt -s ", "-s ''|empty" },
		{ "allocfilt --restore --probe", "--restore and --probe exclude each other" },
		{ "allocfilt -t 5 -o -- true", "unexpected argument 'true'|after --" },
		{ "allocfilt -t 5 true -- false", "unexpected argument 'true'" },
		{ "allocfilt --probe -- true", "COMMAND does not go with --probe" },
		{ "allocfilt --verify=x -s y", "-s does not go with --verify, which" },
		{ "allocfilt --verify=x --journal", "--journal does not go with --verify" },
		{ "allocfilt --verify=x --probe", "--verify does not go with --probe" },
		{ "allocfilt --verify=x -w y", "-w does not go with --verify" },
		{ "allocfilt --verify=x -- true", "COMMAND does not go with --verify" },
		{ "allocfilt --verify=", "--verify ''|empty" },
		{ "allocfilt --treshold=5",
		  "unknown option '--treshold=5'; did you mean --threshold?" },
		{ "allocfilt --pdi=5", "did you mean --pid?" },
		{ "allocfilt acount -t 5", "unknown command 'acount'; did you mean account?" },
		{ "allocfilt frobnicate", "unexpected argument 'frobnicate'; a COMMAND" },
		{ "allocfilt tests", "'tests'; to read a capture: allocfilt report tests" },
		{ "allocfilt -f fnacy",
		  "-f 'fnacy' is unknown (did you mean fancy?); allowed: plain" },
		{ "allocfilt -f xy", "-f 'xy' is unknown; allowed: plain, fancy" },
		{ "allocfilt --summary=ful", "(did you mean full?); allowed: short, full, none" },
		{ "allocfilt report", "usage: allocfilt report CAPTURE" },
		{ "allocfilt report -t 5", "usage: allocfilt report CAPTURE" },
		{ "allocfilt report a b", "report takes one capture" },
		{ "allocfilt report -i a b", "report takes one capture" },
		{ "allocfilt report -i", "'-i' needs a value" },
		{ "allocfilt -i a", "unknown option '-i'" },
		{ "allocfilt record -i a", "unknown option '-i'" },
		{ "allocfilt report x -w y", "-r does not go with -w" },
		{ "allocfilt record", "usage: allocfilt record -o DIR" },
		{ "allocfilt record a", "unexpected argument 'a'" },
		{ "allocfilt record -o x -r y", "-r does not go with -w" },
		{ "allocfilt verify", "usage: allocfilt verify CAPTURE" },
		{ "allocfilt verify x -t 5", "-t does not go with --verify" },
		{ "allocfilt probe x", "unexpected argument 'x'" },
		{ "allocfilt probe --restore", "--probe and --restore exclude each other" },
		{ "allocfilt account --probe", "account and --probe" },
		{ "allocfilt account --check-config", "account and --check-config" },
		{ "allocfilt account --sort=name", "--sort 'name'|wasted, allocated, count" },
		{ "allocfilt account account", "unexpected argument 'account'" },
		{ "allocfilt -t 5 account", "unexpected argument 'account'; it comes before" },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		parse_bad(cases[i][0], cases[i][1]);
}

/* Each option of a run that has no say in an account. */
UNIT_TEST(test_refused_in_account)
{
	static const char *const others[] = {
		"-w x",		 "-r x",	   "--verify=x",
		"--journal",	 "--metrics=x",	   "--report=2ms",
		"--comm=x",	 "--cgroup=x",	   "--min-order=1",
		"--stack",	 "--off-cpu",	   "-F vm_*",
		"-e kmem:kfree", "--summary=full", "--max-size=1M",
		"--keep=2",	 "--until=1ms",	   "--function-graph=no",
	};
	char text[64], expected[64];

	for (size_t i = 0; i < COUNT(others); i++) {
		snprintf(text, sizeof(text), "allocfilt account %s", others[i]);
		snprintf(expected, sizeof(expected),
			 "%.*s does not go with allocfilt account, which",
			 (int)strcspn(others[i], " ="), others[i]);
		parse_bad(text, expected);
	}
}

/* Its arguments are its own, whatever they look like. */
UNIT_TEST(test_command)
{
	char text[] = "allocfilt -t 5 -- true -t x -- --help";
	char *argv[ARGUMENTS_MAX + 1];
	struct failure failure = { 0 };
	struct options options;
	int argc = split_words(text, argv);

	assert_int_equal(options_parse(&options, argc, argv, formats, &failure), 0);
	assert_int_equal(options.threshold, 5000);
	for (int i = 4; i <= argc; i++)
		assert_ptr_equal(options.command[i - 4], argv[i]);
	options_free(&options);
	parse_good(&options, "allocfilt -t 5");
	assert_null(options.command);
	options_free(&options);
}

/* A value as long as a page is not repeated whole. */
UNIT_TEST(test_long_value)
{
	struct failure failure = { 0 };
	struct options options;
	char value[4097], option[] = "-t", *argv[] = { option, option, value, NULL };

	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	assert_int_equal(options_parse(&options, 3, argv, formats, &failure), -EINVAL);
	assert_non_null(strstr(failure.text, "xxx...' is not a whole number; allowed: "));
	assert_true(strlen(failure.text) < 300);
	options_free(&options);
}

/* Within 80 columns, with the forms and the defaults. */
UNIT_TEST(test_help)
{
	char *text = NULL, *rest, *line;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	options_print_help(file, formats);
	fclose(file);
	assert_non_null(strstr(text,
			       "\nWhat is shown:\n"
			       "  -f, --format=FORM      form (default list on a terminal, else "
			       "trace): plain,\n"
			       "                         fancy\n"));
	assert_non_null(strstr(text, "\n      --stack            show the kernel stack"));
	assert_non_null(strstr(text, "(default 4M)\n"));
	assert_null(strstr(text, "limit-memory"));
	for (rest = text; (line = strsep(&rest, "\n"));)
		assert_true(strlen(line) <= 80);
	free(text);
}

UNIT_TEST_MAIN(NULL, NULL)
