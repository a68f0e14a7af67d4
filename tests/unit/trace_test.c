// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <inttypes.h>

#include "allocfilt/base/line.h"
#include "allocfilt/output/form.h"
#include "fake_resolver.h"
#include "made_cpus.h"
#include "made_entry.h"
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

static const uint64_t frames[] = { 0xa0, 0xb0, 0, 0x7fffffff, 0x1234 };

/* What the resolver knows. */
static const char *name, *event;

static const char *name_of(void *context, int tid, uint64_t ts)
{
	return name;
}

static int symbol_of(void *context, uint64_t address, char style, char *text, size_t size)
{
	assert_int_equal(style, 's');
	if (address == 0xa0)
		return snprintf(text, size, "compact_zone");
	if (address == 0xb0)
		return snprintf(text, size, "ext4_write [ext4]");
	return snprintf(text, size, "0x%" PRIx64, address);
}

static size_t text_of(void *context, const struct record *record, char *text, size_t size)
{
	int length = snprintf(text, size, "%s: ts=%" PRIu64, event, record->ts);

	return (size_t)length < size ? (size_t)length : size - 1;
}

static size_t stack_of(void *context, uint32_t number, const uint64_t **ret_frames)
{
	*ret_frames = frames;
	return number;
}

static struct resolver resolver = {
	.task = name_of,
	.symbol = symbol_of,
	.event = text_of,
	.stack = stack_of,
};
static struct data_source source;
static struct output output;

static int set_up(void **state)
{
	name = "sh";
	event = "event";
	resolver.migrate_column = true;
	source.proc = "/proc"; /* tasks change their names */
	source.cpus = made_cpus(2);
	output.setup = (struct output_setup){
		.source = &source,
		.resolver = &resolver,
		.writer = begin_text(),
	};
	return 0;
}

static int tear_down(void **state)
{
	end_text(output.setup.writer);
	return 0;
}

static struct record exit_of(uint64_t ts, uint64_t duration, int depth)
{
	return (struct record){
		.kind = RECORD_WINDOW,
		.ts = ts,
		.tid = 209,
		.cpu = 1,
		.window = { .function = 0xa0,
			    .calltime = 5 * S,
			    .rettime = 5 * S + duration,
			    .depth = depth },
	};
}

static int put_stall(struct log_entry *windows)
{
	const struct stall stall = { .windows = windows };
	const struct named_stall named = { .stall = &stall };

	return trace_form.stall(&output, &named);
}

static const char *window_line(const struct record *exit)
{
	struct made_entry made;

	assert_int_equal(put_stall(made_entry(&made, LOG_WINDOW, exit)), 0);
	return next_text(output.setup.writer);
}

static const char *pair_lines(const struct record *begin, const struct record *end)
{
	struct made_entry made[3];

	assert_int_equal(put_stall(made_pair(made, begin, end, NULL)), 0);
	return next_text(output.setup.writer);
}

__attribute__((format(printf, 2, 3))) static void check_exit(const struct record *exit,
							     const char *format, ...)
{
	char expected[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(expected, sizeof(expected), format, arguments);
	va_end(arguments);
	assert_string_equal(window_line(exit), expected);
}

#define TEST(test) UNIT_TEST_WITH(test, set_up, tear_down)

/*
 * A duration has seven digits in all, and eight columns with the point; it is cut, not rounded; a mark is
 * for more. From a depth of FTRACE_RETFUNC_DEPTH on the kernel does not look whether it knows the entry.
 */
TEST(test_lines_of_windows)
{
	static const struct {
		enum { DURATION, TIME, DEPTH, CPU } varied;
		uint64_t value;
		const char *column;
	} cases[] = {
		{ DURATION, 0, "  0.000 us    " },
		{ DURATION, 123, "  0.123 us    " },
		{ DURATION, 1234, "  1.234 us    " },
		{ DURATION, 10 * US, "  10.000 us   " },
		{ DURATION, 10 * US + 1, "+ 10.001 us   " },
		{ DURATION, 100 * US, "+ 100.000 us  " },
		{ DURATION, 100 * US + 1, "! 100.001 us  " },
		{ DURATION, MS, "! 1000.000 us " },
		{ DURATION, MS + 1, "# 1000.001 us " },
		{ DURATION, 10 * MS, "# 10000.00 us " },
		{ DURATION, 10 * MS + 1, "* 10000.00 us " },
		{ DURATION, 12345678, "* 12345.67 us " },
		{ DURATION, 99999999, "* 99999.99 us " },
		{ DURATION, 100 * MS, "* 100000.0 us " },
		{ DURATION, 100 * MS + 1, "@ 100000.0 us " },
		{ DURATION, 999999999, "@ 999999.9 us " },
		{ DURATION, S, "@ 1000000 us  " },
		{ DURATION, S + 1, "$ 1000000 us  " },
		{ DURATION, 9999999999, "$ 9999999 us  " },
		{ DURATION, 12345678901, "$ 12345678 us " },
		{ DURATION, 3600 * S, "$ 3600000000 us " },
		{ TIME, 0, "    0.000000" },
		{ TIME, 999, "    0.000000" },
		{ TIME, 1999, "    0.000001" },
		{ TIME, S - 1, "    0.999999" },
		{ TIME, 99999 * S + 5 * US, "99999.000005" },
		{ TIME, 1234567 * S, "1234567.000000" },
		{ DEPTH, 1 },
		{ DEPTH, 7 },
		{ DEPTH, 49 },
		{ DEPTH, 50 },
		{ DEPTH, 51 },
		{ CPU, 7 },
		{ CPU, 128 },
	};

	source.cpus = made_cpus(129);
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t value = cases[i].value;
		struct record exit = exit_of(S, 5 * US, 0);

		if (cases[i].varied == DURATION)
			exit.window.rettime = exit.window.calltime + value;
		else if (cases[i].varied == TIME)
			exit.ts = value;
		else if (cases[i].varied == DEPTH)
			exit.window.depth = (int)value;
		else
			exit.cpu = (int)value;
		check_exit(&exit, "%s |   %3d)     sh-209     | %s|  %*s%s\n",
			   cases[i].varied == TIME ? cases[i].column : "    1.000000", exit.cpu,
			   cases[i].varied == DURATION ? cases[i].column : "  5.000 us    ",
			   2 * exit.window.depth, "",
			   exit.window.depth < 50 ? "} /* compact_zone */" : "}");
	}
}

/* 14 columns, an odd blank on the right; a name is cut after 7 bytes, also inside a character. */
TEST(test_tasks)
{
	static const struct {
		const char *name;
		int tid;
		const char *column;
	} cases[] = {
		{ "sh", 209, "    sh-209    " },
		{ "bash", 12, "   bash-12    " },
		{ "<idle>", 0, "   <idle>-0   " },
		{ "x", 1, "     x-1      " },
		{ "", 7, "      -7      " },
		{ "<...>", 4194304, "<...>-4194304 " },
		{ "kcompactd0", 31, "  kcompac-31  " },
		{ "kworker/u8:3", 4194303, "kworker-4194303" },
		{ "kworker/u8:3", 123456, "kworker-123456" },
		{ "kworker/u8:3", 12345, "kworker-12345 " },
		{ "%s%n", 12, "   %s%n-12    " },
		/* a task that changes its name, and others whose columns are kept in the same place */
		{ "sh", 12, "    sh-12     " },
		{ "sh", 12 + 256, "    sh-268    " },
		{ "sh", 12 - 256, "   sh--244    " },
		{ "sh", 12, "    sh-12     " },
		{ "a-1|\x01", 12, "   a-1|\x01-12   " },
		{ "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 12, "  \xc3\xa4\xc3\xa4\xc3\xa4\xc3-12  " },
	};
	struct record exit = exit_of(S, 5 * US, 0);

	for (size_t i = 0; i < COUNT(cases); i++) {
		name = cases[i].name;
		exit.tid = cases[i].tid;
		check_exit(&exit,
			   "    1.000000 |   1) %s |   5.000 us    |  } /* compact_zone */\n",
			   cases[i].column);
	}
}

TEST(test_indentation_of_events)
{
	static const struct {
		int indent;
		int blanks;
	} cases[] = { { -1, 0 }, { 0, 0 }, { 1, 4 }, { 2, 6 }, { 10, 22 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct record begin = {
			.ts = 42,
			.tid = 209,
			.cpu = 1,
			.indent = cases[i].indent,
			.raw_size = 8,
		};
		char expected[256];

		snprintf(expected, sizeof(expected), "|  %*s/* event: ts=42 */\n", cases[i].blanks,
			 "");
		assert_non_null(strstr(pair_lines(&begin, &begin), expected));
	}
}

/* A memory wait in progress when the run begins has an end alone; when the run ends, a begin alone. */
TEST(test_pair_with_one_side)
{
	struct record recorded = { .ts = 3 * US, .tid = 209, .cpu = 1, .raw_size = 8 };
	struct record missing = { .ts = 5 * US, .tid = 209, .cpu = 1 };
	struct made_entry made;
	struct log_entry *end = made_entry(&made, LOG_END, &recorded);
	const char *expected =
		"    0.000003 |   1)     sh-209     |               |  /* event: ts=3000 */\n";

	assert_string_equal(pair_lines(&recorded, &missing), expected);
	log_pair(end)->partner = end;
	assert_int_equal(put_stall(end), 0);
	assert_string_equal(next_text(output.setup.writer), expected);
}

TEST(test_stack)
{
	struct record begin = {
		.ts = US,
		.tid = 7,
		.cpu = 1,
		.raw_size = 8,
		.stack = { 7091122 * US, 5, 0, 0 },
	};
	struct record end = { .ts = 2 * US, .tid = 7, .cpu = 1, .raw_size = 8 };

	name = "kswapd0";
	assert_string_equal(
		pair_lines(&begin, &end),
		"    0.000001 |   1)   kswapd0-7    |               |  /* event: ts=1000 */\n"
		"         kswapd0-7       [001] .....     7.091122: <stack trace>\n"
		" => compact_zone\n"
		" => ext4_write\n"
		" => 0\n"
		" => [FTRACE TRAMPOLINE]\n"
		" => 0x00001234\n"
		"    0.000002 |   1)   kswapd0-7    |               |  /* event: ts=2000 */\n");
	resolver.migrate_column = false;
	assert_non_null(strstr(pair_lines(&begin, &end), " [001] ....     7.091122: <stack"));
	/* ns2usecs() rounds, half up. */
	begin.stack.ts = 7091122 * US + 499;
	assert_non_null(strstr(pair_lines(&begin, &end), " 7.091122: <stack"));
	begin.stack.ts = 7999999 * US + 500;
	assert_non_null(strstr(pair_lines(&begin, &end), " 8.000000: <stack"));
}

TEST(test_marks_of_a_stack)
{
	static const struct {
		int flags, preempt;
		const char *marks;
	} cases[] = {
		{ 0x01, 0x00, "d...." }, { 0x80, 0x00, "b...." }, { 0x81, 0x02, "D..2." },
		{ 0x04, 0x10, ".n..1" }, { 0x24, 0xfa, ".N.af" }, { 0x20, 0x00, ".p..." },
		{ 0x02, 0x00, ".l..." }, { 0x22, 0x00, ".L..." }, { 0x06, 0x00, ".b..." },
		{ 0x26, 0x00, ".B..." }, { 0x08, 0x00, "..h.." }, { 0x10, 0x00, "..s.." },
		{ 0x18, 0x00, "..H.." }, { 0x40, 0x00, "..z.." }, { 0x48, 0x00, "..Z.." },
	};
	char expected[100];

	name = "a-long-name-here";
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct record begin = {
			.tid = 1234567,
			.cpu = 1,
			.raw_size = 8,
			.stack = { 2 * US, 1, cases[i].flags, cases[i].preempt },
		};

		snprintf(expected, sizeof(expected),
			 "\na-long-name-here-1234567 [001] %s     0.000002: <stack trace>\n",
			 cases[i].marks);
		assert_non_null(strstr(pair_lines(&begin, &begin), expected));
	}
}

/* A text over the line's room is cut; the line still ends. */
TEST(test_long_lines_are_cut)
{
	static char text[2 * LINE_MAX_BYTES];
	struct record begin = { .ts = 1, .tid = 209, .cpu = 1, .raw_size = 8 };
	const char *lines;

	memset(text, 'x', sizeof(text) - 1);
	event = text;
	lines = pair_lines(&begin, &begin);
	assert_int_equal(strlen(lines), 2 * LINE_MAX_BYTES);
	assert_int_equal(lines[LINE_MAX_BYTES - 1], '\n');
	assert_int_equal(lines[LINE_MAX_BYTES - 2], 'x');
	/* and around the border no length does any harm */
	for (size_t length = LINE_MAX_BYTES - 80; length < LINE_MAX_BYTES; length++) {
		memset(text, 'x', sizeof(text));
		text[length] = '\0';
		lines = pair_lines(&begin, &begin);
		assert_int_equal(lines[strlen(lines) - 1], '\n');
		assert_true(strlen(lines) <= 2 * LINE_MAX_BYTES);
	}
}

TEST(test_depth_over_the_line)
{
	struct record exit = exit_of(S, 5 * US, 1 << 20);

	assert_int_equal(strlen(window_line(&exit)), LINE_MAX_BYTES);
}

TEST(test_failed_writer)
{
	struct record exit = exit_of(S, 5 * US, 0);
	struct made_entry made;
	struct log_entry *window = made_entry(&made, LOG_WINDOW, &exit);
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct writer *writer = writer_new(fd, -1);

	end_text(output.setup.writer);
	output.setup.writer = writer;
	assert_int_equal(put_stall(window), 0);
	assert_int_equal(writer_flush(writer), -ENOSPC);
	assert_int_equal(put_stall(window), -ENOSPC);
	writer_free(writer);
	close(fd);
	output.setup.writer = begin_text();
}

UNIT_TEST_MAIN(NULL, NULL)
