// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line.h"
#include "config/keys.h"
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
	assert_int_equal(options.task, TASK_RUN);
	assert_int_equal(options.threshold, 1000000);
	assert_string_equal(options.format, "plain");
	assert_int_equal(options.duration, 0);
	assert_int_equal(options.oom_score, OPTIONS_OOM_SCORE_UNSET);
	assert_true(options.page_allocation);
	assert_true(options.function_graph);
	assert_null(options.source);
	assert_null(options.pids);
	assert_null(options.functions);
	assert_null(options.events);
	assert_false(options.force || options.verbose || options.quiet);
	assert_int_equal(options.on_command_line, 0);
	options_free(&options);
}

UNIT_TEST(test_defaults_of_the_service)
{
	struct options options;

	parse_good(&options, "allocfilt --journal");
	assert_false(options.page_allocation);
	assert_int_equal(options.top, 10);
	options_free(&options);
}

UNIT_TEST(test_numbers)
{
	static const struct {
		const char *text;
		size_t field;
		uint64_t value;
	} cases[] = {
		{ "allocfilt -t 134", offsetof(struct options, threshold), 134000 },
		{ "allocfilt -t134us", offsetof(struct options, threshold), 134000 },
		{ "allocfilt -t 1.5ms", offsetof(struct options, threshold), 1500000 },
		{ "allocfilt -t 0.25s", offsetof(struct options, threshold), 250000000 },
		{ "allocfilt --threshold=1ms", offsetof(struct options, threshold), 1000000 },
		{ "allocfilt --threshold 2s", offsetof(struct options, threshold), 2000000000 },
		{ "allocfilt -t 10 -t 20", offsetof(struct options, threshold), 20000 },
		{ "allocfilt -d 15", offsetof(struct options, duration), 15000000000 },
		{ "allocfilt -b 1408", offsetof(struct options, buffer), 1408 << 10 },
	};
	struct options options;

	for (size_t i = 0; i < COUNT(cases); i++) {
		parse_good(&options, cases[i].text);
		if (*(uint64_t *)((char *)&options + cases[i].field) != cases[i].value)
			fail_msg("%s: another value", cases[i].text);
		options_free(&options);
	}
	parse_good(&options, "allocfilt --top=128");
	assert_int_equal(options.top, 128);
	options_free(&options);
}

UNIT_TEST(test_lists)
{
	struct options options;

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

UNIT_TEST(test_paths_and_switches)
{
	struct options options;

	parse_good(&options, "allocfilt -s in -w out --force -v -c conf --stack --off-cpu");
	assert_string_equal(options.source, "in");
	assert_string_equal(options.write, "out");
	assert_string_equal(options.config, "conf");
	assert_true(options.force && options.verbose && options.stack && options.off_cpu);
	options_free(&options);
	parse_good(&options, "allocfilt -q -o there --source=a --source=b --format=fancy");
	assert_true(options.quiet);
	assert_string_equal(options.output, "there");
	assert_string_equal(options.source, "b");
	options_free(&options);
	parse_good(&options, "allocfilt --function-graph no -v -s in");
	assert_false(options.function_graph);
	assert_true(options.verbose);
	options_free(&options);
	parse_good(&options, "allocfilt --function-graph=no --function-graph=yes");
	assert_true(options.function_graph);
	options_free(&options);
	parse_good(&options, "allocfilt --verify=x -f fancy -o y -c z -v");
	assert_string_equal(options.verify, "x");
	assert_string_equal(options.format, "fancy");
	options_free(&options);
}

UNIT_TEST(test_tasks)
{
	static const struct {
		const char *text;
		enum options_task task;
	} cases[] = {
		{ "allocfilt --restore", TASK_RESTORE },
		{ "allocfilt --probe -t 10", TASK_PROBE },
		{ "allocfilt --check-config", TASK_CHECK_CONFIG },
		{ "allocfilt -V", TASK_VERSION },
		{ "allocfilt --help", TASK_HELP },
		{ "allocfilt --probe -h -t nonsense", TASK_HELP },
	};
	struct options options;

	for (size_t i = 0; i < COUNT(cases); i++) {
		parse_good(&options, cases[i].text);
		assert_int_equal(options.task, cases[i].task);
		options_free(&options);
	}
}

/* What the text of the failure has to contain, separated by '|'; more in tests/cli/options. */
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
		{ "allocfilt --force -xv", "unknown option '-x'" },
		{ "allocfilt --fo", "option '--fo' can be any of 2" },
		{ "allocfilt --page-allocation",
		  "unknown option '--page-allocation'; allocfilt -h" },
		{ "allocfilt --force=yes", "'--force=yes' takes no value" },
		{ "allocfilt --top", "'--top' needs a value" },
		{ "allocfilt --function-graph", "'--function-graph' needs a value" },
		{ "allocfilt --function-graph=off",
		  "--function-graph 'off' is neither yes nor no; allowed: yes, no" },
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
		{ "allocfilt -t 5 --max-size=1M", "--max-size works only with -w" },
		{ "allocfilt -t 5 -w x --keep=2", "--keep works only with -w and --max-size" },
		{ "allocfilt -t 5 --until=1ms",
		  "--until works only with -w: to stop after a time, use -d" },
		{ "allocfilt -s ", "-s ''|empty" },
		{ "allocfilt --restore --probe", "--restore and --probe exclude each other" },
		{ "allocfilt -t 5 true", "unexpected argument 'true'|after --" },
		{ "allocfilt -t 5 -o -- true", "unexpected argument 'true'|after --" },
		{ "allocfilt -t 5 true -- false", "unexpected argument 'true'" },
		{ "allocfilt -t 5 --", "no COMMAND" },
		{ "allocfilt -t 5 -p 1 -- true", "-p and COMMAND exclude each other: COMMAND" },
		{ "allocfilt --probe -- true", "COMMAND does not go with --probe" },
		{ "allocfilt --verify=x -s y", "-s does not go with --verify, which" },
		{ "allocfilt --verify=x -t 5", "-t does not go with --verify" },
		{ "allocfilt --verify=x --journal", "--journal does not go with --verify" },
		{ "allocfilt --verify=x --probe", "--verify does not go with --probe" },
		{ "allocfilt --verify=x -w y", "-w does not go with --verify" },
		{ "allocfilt --verify=x -- true", "COMMAND does not go with --verify" },
		{ "allocfilt --verify=", "--verify ''|empty" },
		{ "allocfilt --treshold=5",
		  "unknown option '--treshold=5'; did you mean --threshold?" },
		{ "allocfilt --pdi=5", "did you mean --pid?" },
		{ "allocfilt --frobnicate", "unknown option '--frobnicate'; allocfilt -h lists" },
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
		{ "allocfilt account --restore", "account and --restore" },
		{ "allocfilt account --probe", "account and --probe" },
		{ "allocfilt account --check-config", "account and --check-config" },
		{ "allocfilt account --sort=name", "--sort 'name'|wasted, allocated, count" },
		{ "allocfilt account --top=0", "--top '0'|1 to 128" },
		{ "allocfilt account account", "unexpected argument 'account'" },
		{ "allocfilt account -v -q", "-v and -q" },
		{ "allocfilt account -p 1 -- true", "-p|COMMAND" },
		{ "allocfilt account --", "no COMMAND" },
		{ "allocfilt -t 5 account", "unexpected argument 'account'; it comes before" },
		{ "allocfilt -t 5 --sort=count", "--sort works only with allocfilt account" },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		parse_bad(cases[i][0], cases[i][1]);
}

UNIT_TEST(test_account)
{
	struct options options;

	parse_good(&options, "allocfilt account");
	assert_int_equal(options.task, TASK_ACCOUNT);
	assert_int_equal(options.threshold, 1000000);
	assert_int_equal(options.sort, SORT_WASTED);
	assert_int_equal(options.top, 10);
	assert_false(options.page_allocation);
	assert_string_equal(options.format, "plain");
	options_free(&options);
	parse_good(&options, "allocfilt account -t 20 -d 2 -p 7 -s in -b 8M -f fancy --interval=1 "
			     "--sort=count --top=3 -o out");
	assert_int_equal(options.threshold, 20000);
	assert_int_equal(options.duration, 2000000000);
	assert_int_equal(options.pids[0], 7);
	assert_string_equal(options.source, "in");
	assert_int_equal(options.buffer, 8 << 20);
	assert_string_equal(options.format, "fancy");
	assert_int_equal(options.interval, 1000000000);
	assert_int_equal(options.sort, SORT_COUNT);
	assert_int_equal(options.top, 3);
	assert_string_equal(options.output, "out");
	options_free(&options);
	parse_good(&options, "allocfilt account --sort=allocated --force -q -c z -- true");
	assert_int_equal(options.sort, SORT_ALLOCATED);
	assert_non_null(options.command);
	options_free(&options);
	parse_good(&options, "allocfilt account -h");
	assert_int_equal(options.task, TASK_HELP);
	options_free(&options);
	/* The subcommand is the first argument alone. */
	parse_good(&options, "allocfilt -t 5 -- account");
	assert_int_equal(options.task, TASK_RUN);
	options_free(&options);
}

/* Each subcommand, with the option that does the same. Tests run in the tree's root. */
UNIT_TEST(test_subcommands)
{
	static const char *const cases[][2] = {
		{ "allocfilt report tests -f fancy", "allocfilt -s tests -f fancy" },
		{ "allocfilt report -f fancy -i tests", "allocfilt -f fancy -s tests" },
		{ "allocfilt report Makefile -v", "allocfilt -r Makefile -v" },
		{ "allocfilt report --input=none:x -v", "allocfilt -r none:x -v" },
		{ "allocfilt report -s x", "allocfilt -s x" },
		{ "allocfilt report -r x", "allocfilt -r x" },
		{ "allocfilt record -t 5 -o x --max-size=1M", "allocfilt -t 5 -w x --max-size=1M" },
		{ "allocfilt record --output=x", "allocfilt -w x" },
		{ "allocfilt record -w x", "allocfilt -w x" },
		{ "allocfilt verify x -o y", "allocfilt --verify=x -o y" },
		{ "allocfilt probe -v", "allocfilt --probe -v" },
		{ "allocfilt restore -s x", "allocfilt --restore -s x" },
	};
	static const size_t paths[] = {
		offsetof(struct options, source), offsetof(struct options, read),
		offsetof(struct options, write),  offsetof(struct options, verify),
		offsetof(struct options, output),
	};
	/* They are the task itself. */
	uint64_t tasks = key_bit(key_find("probe")) | key_bit(key_find("restore"));
	struct options options, same;

	for (size_t i = 0; i < COUNT(cases); i++) {
		parse_good(&options, cases[i][0]);
		parse_good(&same, cases[i][1]);
		assert_int_equal(options.task, same.task);
		assert_int_equal(options.on_command_line, same.on_command_line & ~tasks);
		assert_string_equal(options.format, same.format);
		for (size_t j = 0; j < COUNT(paths); j++) {
			const char *path = *(char **)((char *)&options + paths[j]);
			const char *expected = *(char **)((char *)&same + paths[j]);

			if (!path != !expected || (path && strcmp(path, expected)))
				fail_msg("%s: %s and not %s", cases[i][0], path, expected);
		}
		options_free(&options);
		options_free(&same);
	}
	/* What comes after -- is no operand. */
	parse_good(&options, "allocfilt record -o x -- report y");
	assert_non_null(options.command);
	options_free(&options);
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
	assert_null(strstr(text, "page-allocation"));
	for (rest = text; (line = strsep(&rest, "\n"));)
		assert_true(strlen(line) <= 80);
	free(text);
}

UNIT_TEST_MAIN(NULL, NULL)
