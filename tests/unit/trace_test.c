// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <inttypes.h>

#include "allocfilt/output.h"
#include "fake_resolver.h"
#include "made_cpus.h"
#include "unit_test.h"
#include "written_text.h"

extern const struct output_ops trace_form;

/*
 * Expected lines are by the kernel's own format: "%5lu.%06lu |  ", " %*d) ", name and pid centred
 * in 14 columns, " | ", mark, duration in 7 digits and 8 columns, "|  ", two blanks a depth.
 */

#define US 1000ull
#define MS 1000000ull
#define S  1000000000ull

struct run {
	struct resolver resolver;
	struct data_source source;
	struct output output;
	const char *name;
	const char *symbol;
	const char *text;
};

static const char *name_of(void *context, int pid, uint64_t ts)
{
	return ((struct run *)context)->name;
}

static int symbol_of(void *context, uint64_t address, char style, char *text, size_t size)
{
	assert_int_equal(address, 0xf00);
	assert_int_equal(style, 's');
	return snprintf(text, size, "%s", ((struct run *)context)->symbol);
}

static size_t text_of(void *context, const struct record *record, char *text, size_t size)
{
	const struct run *run = context;
	int length;

	if (run->text)
		length = snprintf(text, size, "%s", run->text);
	else
		length = snprintf(text, size, "event: ts=%" PRIu64, record->ts);
	return (size_t)length < size ? (size_t)length : size - 1;
}

static void start(struct run *run, int cpus)
{
	*run = (struct run){
		.resolver = { .task = name_of,
			      .symbol = symbol_of,
			      .event = text_of,
			      .context = run },
		.source = { .cpus = made_cpus(cpus) },
		.output = { .setup = { .source = &run->source,
				       .resolver = &run->resolver,
				       .writer = begin_text() } },
		.name = "sh",
		.symbol = "compact_zone",
	};
}

static int set_up(void **state)
{
	static struct run run;

	start(&run, 2);
	*state = &run;
	return 0;
}

static int tear_down(void **state)
{
	end_text(((struct run *)*state)->output.setup.writer);
	return 0;
}

static struct record exit_of(uint64_t ts, uint64_t duration, int depth)
{
	return (struct record){
		.kind = RECORD_WINDOW,
		.ts = ts,
		.tid = 209,
		.cpu = 1,
		.window = { .function = 0xf00,
			    .calltime = 5 * S,
			    .rettime = 5 * S + duration,
			    .depth = depth },
	};
}

static const char *window_line(struct run *run, const struct record *exit)
{
	struct task_window window = { .exit = exit };

	assert_int_equal(trace_form.window(&run->output, &window), 0);
	return next_text(run->output.setup.writer);
}

static const char *pair_lines(struct run *run, const struct record *begin, const struct record *end)
{
	struct task_pair pair = { .begin = begin, .end = end };

	assert_int_equal(trace_form.pair(&run->output, &pair), 0);
	return next_text(run->output.setup.writer);
}

/* Both lines as a 6.1 kernel printed them. */
static void test_lines_of_a_kernel(void **state)
{
	struct run *run = *state;
	struct record exit = exit_of(7 * S + 550489 * US, 23948370, 0);
	struct record event = { .kind = RECORD_EVENT,
				.ts = 7 * S + 550481 * US,
				.tid = 209,
				.cpu = 1,
				.indent = 0 };
	const struct record *events[] = { &event };
	struct task_window window = { .exit = &exit, .events = events, .nr_events = 1 };

	run->text =
		"mm_compaction_end: zone_start=0x1 migrate_pfn=0x220 free_pfn=0x200 zone_end=0x1000, mode=sync status=complete";
	assert_int_equal(trace_form.window(&run->output, &window), 0);
	assert_string_equal(
		next_text(run->output.setup.writer),
		"    7.550481 |   1)     sh-209     |               |  /* mm_compaction_end: zone_start=0x1 migrate_pfn=0x220 free_pfn=0x200 zone_end=0x1000, mode=sync status=complete */\n"
		"    7.550489 |   1)     sh-209     | * 23948.37 us |  } /* compact_zone */\n");
}

static void check_duration(struct run *run, uint64_t duration, const char *column)
{
	struct record exit = exit_of(S, duration, 0);
	char expected[256];

	snprintf(expected, sizeof(expected),
		 "    1.000000 |   1)     sh-209     | %s|  } /* compact_zone */\n", column);
	assert_string_equal(window_line(run, &exit), expected);
}

/* Seven digits in all and eight columns with the point; cut, not rounded; a mark is for more. */
static void test_durations(void **state)
{
	static const struct {
		uint64_t duration;
		const char *column;
	} cases[] = {
		{ 0, "  0.000 us    " },
		{ 123, "  0.123 us    " },
		{ 1234, "  1.234 us    " },
		{ 10 * US, "  10.000 us   " },
		{ 10 * US + 1, "+ 10.001 us   " },
		{ 100 * US, "+ 100.000 us  " },
		{ 100 * US + 1, "! 100.001 us  " },
		{ MS, "! 1000.000 us " },
		{ MS + 1, "# 1000.001 us " },
		{ 10 * MS, "# 10000.00 us " },
		{ 10 * MS + 1, "* 10000.00 us " },
		{ 12345678, "* 12345.67 us " },
		{ 99999999, "* 99999.99 us " },
		{ 100 * MS, "* 100000.0 us " },
		{ 100 * MS + 1, "@ 100000.0 us " },
		{ 999999999, "@ 999999.9 us " },
		{ S, "@ 1000000 us  " },
		{ S + 1, "$ 1000000 us  " },
		{ 9999999999, "$ 9999999 us  " },
		{ 12345678901, "$ 12345678 us " },
		{ 3600 * S, "$ 3600000000 us " },
	};
	struct run *run = *state;

	for (size_t i = 0; i < COUNT(cases); i++)
		check_duration(run, cases[i].duration, cases[i].column);
}

static void check_proc(struct run *run, const char *name, int pid, const char *column)
{
	struct record exit = exit_of(S, 5 * US, 0);
	char expected[256];

	run->name = name;
	exit.tid = pid;
	snprintf(expected, sizeof(expected),
		 "    1.000000 |   1) %s |   5.000 us    |  } /* compact_zone */\n", column);
	assert_string_equal(window_line(run, &exit), expected);
}

/* 14 columns, an odd blank on the right; a name is cut after 7 bytes, also inside a character. */
static void test_tasks(void **state)
{
	struct run *run = *state;

	check_proc(run, "sh", 209, "    sh-209    ");
	check_proc(run, "bash", 12, "   bash-12    ");
	check_proc(run, "<idle>", 0, "   <idle>-0   ");
	check_proc(run, "x", 1, "     x-1      ");
	check_proc(run, "", 7, "      -7      ");
	check_proc(run, "<...>", 4194304, "<...>-4194304 ");
	check_proc(run, "kcompactd0", 31, "  kcompac-31  ");
	check_proc(run, "kworker/u8:3", 4194303, "kworker-4194303");
	check_proc(run, "kworker/u8:3", 123456, "kworker-123456");
	check_proc(run, "kworker/u8:3", 12345, "kworker-12345 ");
	check_proc(run, "%s%n", 12, "   %s%n-12    ");
	check_proc(run, "a-1|\x01", 12, "   a-1|\x01-12   ");
	check_proc(run, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 12,
		   "  \xc3\xa4\xc3\xa4\xc3\xa4\xc3-12  ");
}

static void check_depth(struct run *run, int depth, int blanks, const char *rest)
{
	struct record exit = exit_of(S, 5 * US, depth);
	char expected[512];

	snprintf(expected, sizeof(expected),
		 "    1.000000 |   1)     sh-209     |   5.000 us    |  %*s%s\n", blanks, "", rest);
	assert_string_equal(window_line(run, &exit), expected);
}

static void test_indentation_by_depth(void **state)
{
	struct run *run = *state;

	check_depth(run, 0, 0, "} /* compact_zone */");
	check_depth(run, 1, 2, "} /* compact_zone */");
	check_depth(run, 7, 14, "} /* compact_zone */");
	check_depth(run, 49, 98, "} /* compact_zone */");
	/* from FTRACE_RETFUNC_DEPTH on the kernel does not look whether it knows the entry */
	check_depth(run, 50, 100, "}");
	check_depth(run, 51, 102, "}");
}

static void test_indentation_of_events(void **state)
{
	static const struct {
		int indent;
		int blanks;
	} cases[] = { { -1, 0 }, { 0, 0 }, { 1, 4 }, { 2, 6 }, { 10, 22 } };
	struct run *run = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct record event = { .ts = 42, .tid = 209, .cpu = 1, .indent = cases[i].indent };
		char line[256];
		char expected[512];

		snprintf(
			line, sizeof(line),
			"    0.000000 |   1)     sh-209     |               |  %*s/* event: ts=42 */\n",
			cases[i].blanks, "");
		snprintf(expected, sizeof(expected), "%s%s", line, line);
		assert_string_equal(pair_lines(run, &event, &event), expected);
	}
}

static void check_time(struct run *run, uint64_t ts, const char *text)
{
	struct record exit = exit_of(ts, 5 * US, 0);
	char expected[256];

	snprintf(expected, sizeof(expected),
		 "%s |   1)     sh-209     |   5.000 us    |  } /* compact_zone */\n", text);
	assert_string_equal(window_line(run, &exit), expected);
}

static void test_times(void **state)
{
	struct run *run = *state;

	check_time(run, 0, "    0.000000");
	check_time(run, 999, "    0.000000");
	check_time(run, 1999, "    0.000001");
	check_time(run, S - 1, "    0.999999");
	check_time(run, 99999 * S + 5 * US, "99999.000005");
	check_time(run, 1234567 * S, "1234567.000000");
}

static void test_cpu_column(void **state)
{
	struct record exit = exit_of(S, 5 * US, 0);
	struct run run;

	start(&run, 129);
	exit.cpu = 7;
	assert_string_equal(
		window_line(&run, &exit),
		"    1.000000 |     7)     sh-209     |   5.000 us    |  } /* compact_zone */\n");
	exit.cpu = 128;
	assert_string_equal(
		window_line(&run, &exit),
		"    1.000000 |   128)     sh-209     |   5.000 us    |  } /* compact_zone */\n");
	end_text(run.output.setup.writer);
}

static void test_pair_surrounds_what_it_claims(void **state)
{
	struct run *run = *state;
	struct record begin = { .ts = 1 * US, .tid = 209, .cpu = 1 };
	struct record inside = { .ts = 2 * US, .tid = 209, .cpu = 1 };
	struct record end = { .ts = 3 * US, .tid = 209, .cpu = 1 };
	const struct record *events[] = { &inside };
	struct task_pair pair = { .begin = &begin, .end = &end, .events = events, .nr_events = 1 };

	assert_int_equal(trace_form.pair(&run->output, &pair), 0);
	assert_string_equal(
		next_text(run->output.setup.writer),
		"    0.000001 |   1)     sh-209     |               |  /* event: ts=1000 */\n"
		"    0.000002 |   1)     sh-209     |               |  /* event: ts=2000 */\n"
		"    0.000003 |   1)     sh-209     |               |  /* event: ts=3000 */\n");
}

/* A text over the line's room is cut; the line still ends. */
static void test_long_lines_are_cut(void **state)
{
	static char text[2 * LINE_MAX_BYTES];
	struct run *run = *state;
	struct record event = { .ts = 1, .tid = 209, .cpu = 1 };
	const char *lines;

	memset(text, 'x', sizeof(text) - 1);
	run->text = text;
	lines = pair_lines(run, &event, &event);
	assert_int_equal(strlen(lines), 2 * LINE_MAX_BYTES);
	assert_int_equal(lines[LINE_MAX_BYTES - 1], '\n');
	assert_int_equal(lines[LINE_MAX_BYTES - 2], 'x');
	/* and around the border no length does any harm */
	for (size_t length = LINE_MAX_BYTES - 80; length < LINE_MAX_BYTES; length++) {
		memset(text, 'x', sizeof(text));
		text[length] = '\0';
		lines = pair_lines(run, &event, &event);
		assert_int_equal(lines[strlen(lines) - 1], '\n');
		assert_true(strlen(lines) <= 2 * LINE_MAX_BYTES);
	}
}

static void test_depth_over_the_line(void **state)
{
	struct run *run = *state;
	struct record exit = exit_of(S, 5 * US, 1 << 20);

	assert_int_equal(strlen(window_line(run, &exit)), LINE_MAX_BYTES);
}

static void test_failed_writer(void **state)
{
	struct run *run = *state;
	struct record exit = exit_of(S, 5 * US, 0);
	struct task_window window = { .exit = &exit };
	struct task_pair pair = { .begin = &exit, .end = &exit };
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct writer *writer = writer_new(fd, -1);

	run->text = "";
	end_text(run->output.setup.writer);
	run->output.setup.writer = writer;
	assert_int_equal(trace_form.window(&run->output, &window), 0);
	assert_int_equal(writer_flush(writer), -ENOSPC);
	assert_int_equal(trace_form.window(&run->output, &window), -ENOSPC);
	assert_int_equal(trace_form.pair(&run->output, &pair), -ENOSPC);
	writer_free(writer);
	close(fd);
	run->output.setup.writer = begin_text();
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(test_lines_of_a_kernel),
		RUN(test_durations),
		RUN(test_tasks),
		RUN(test_indentation_by_depth),
		RUN(test_indentation_of_events),
		RUN(test_times),
		cmocka_unit_test(test_cpu_column),
		RUN(test_pair_surrounds_what_it_claims),
		RUN(test_long_lines_are_cut),
		RUN(test_depth_over_the_line),
		RUN(test_failed_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
