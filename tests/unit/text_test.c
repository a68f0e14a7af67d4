// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <limits.h>
#include <time.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/line.h"
#include "unit_test.h"

struct escaped {
	const char *text;
	enum text_rule rule;
	const char *expected;
};

static const struct escaped escaped[] = {
	{ "abc é€😀", TEXT_PRINTABLE, "abc é€😀" },
	{ "\033[31m\n", TEXT_PRINTABLE, "\\x1b[31m\\x0a" },
	{ "\xc2\x9b", TEXT_PRINTABLE, "\\xc2\\x9b" }, /* C1 */
	{ "\x7f\xff", TEXT_PRINTABLE, "\\x7f\\xff" },
	{ "a\u202ab\u202ec\u2066d\u2069", TEXT_PRINTABLE,
	  "a\\xe2\\x80\\xaab\\xe2\\x80\\xaec\\xe2\\x81\\xa6d\\xe2\\x81\\xa9" },
	{ "\u2029\u202f\u2065\u206a", TEXT_PRINTABLE, "\u2029\u202f\u2065\u206a" },
	{ "aé", TEXT_ASCII, "a\\xc3\\xa9" },
	{ "a\"b\\c/d", TEXT_JSON, "a\\\"b\\\\c/d" },
	{ "\n\t\033\001\x7f", TEXT_JSON, "\\u000a\\u0009\\u001b\\u0001\\u007f" },
	{ "a\xc2\x9b\xc2\xa0", TEXT_JSON, "a\\u009b\xc2\xa0" }, /* C1, and the first that is none */
	{ "é€😀", TEXT_JSON, "é€😀" },
	{ "a\xff", TEXT_JSON, "a\\\\xff" },
	{ "a\\b \"x\"", TEXT_LABEL, "a\\\\b \\\"x\\\"" },
	{ "two\nlines\t", TEXT_LABEL, "two\\nlines\t" },
	{ "x\xffyé", TEXT_LABEL, "x\\\\xffyé" },
	{ "a b\\\n", TEXT_FIELD, "a\\040b\\134\\012" },
	{ "é", TEXT_FIELD, "\\303\\251" },
	{ "a <b>\n&lt; \\x1b é\xff", TEXT_HTML, "a &lt;b>\n&amp;lt; \\x1b é\\xff" },
	{ "<!-- </script>é&", TEXT_JSON, "\\u003c!-- \\u003c/script>é&" },
};

/* What is not UTF-8: lone bytes, cut characters, overlong forms, surrogates, above U+10FFFF. */
static const char *const no_utf8[] = {
	"\x80",
	"\xc3",
	"\xe2\x82",
	"\xc0\xaf",
	"\xc1\xbf",
	"\xe0\x9f\xbf",
	"\xf0\x8f\xbf\xbf",
	"\xed\xa0\x80",
	"\xed\xbf\xbf",
	"\xf4\x90\x80\x80",
	"\xf5\x80\x80",
	"\xff",
};

UNIT_TEST(test_escape)
{
	char to[64];

	for (size_t i = 0; i < COUNT(escaped); i++) {
		assert_int_equal(text_escape(to, sizeof(to), escaped[i].text, escaped[i].rule),
				 strlen(escaped[i].text));
		assert_string_equal(to, escaped[i].expected);
	}
	for (size_t i = 0; i < COUNT(no_utf8); i++) {
		text_escape(to, sizeof(to), no_utf8[i], TEXT_PRINTABLE);
		assert_int_equal(strlen(to), 4 * strlen(no_utf8[i]));
	}
	text_escape(to, sizeof(to), "\xc2\xa0\xe0\xa0\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
		    TEXT_JSON);
	assert_int_equal(text_columns(to), 4);
}

/* In pieces of any size no character and no escape is cut. */
UNIT_TEST(test_pieces)
{
	static const char text[] = "a\"€\x01\xff\\é😀b";
	char whole[64], to[64], together[64];

	for (int rule = TEXT_PRINTABLE; rule <= TEXT_FIELD; rule++) {
		text_escape(whole, sizeof(whole), text, rule);
		for (size_t size = TEXT_ESCAPED_MAX; size < 20; size++) {
			const char *at = text;

			together[0] = '\0';
			while (*at) {
				size_t taken = text_escape(to, size, at, rule);

				assert_true(taken > 0);
				assert_true(strlen(to) < size);
				at += taken;
				strcat(together, to);
			}
			assert_string_equal(together, whole);
		}
	}
}

UNIT_TEST(test_fields)
{
	static const char *const fields[] = { "a b", "", "-", "\\9", "é\n", "x" };
	const char *at;
	char *text, field[8];
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	for (size_t i = 0; i < COUNT(fields); i++)
		text_print_field(stream, fields[i], ' ');
	fclose(stream);
	assert_string_equal(text, "a\\040b - \\055 \\1349 \\303\\251\\012 x ");
	at = text;
	for (size_t i = 0; i < COUNT(fields); i++) {
		assert_true(text_parse_field(&at, field, sizeof(field)));
		assert_string_equal(field, fields[i]);
	}
	assert_false(text_parse_field(&at, field, sizeof(field)));
	free(text);
	at = "123456789 \\777x\n";
	assert_true(text_parse_field(&at, field, sizeof(field)));
	assert_string_equal(field, "1234567");
	assert_true(text_parse_field(&at, field, sizeof(field)));
	assert_string_equal(field, "\\777x");
	assert_false(text_parse_field(&at, field, sizeof(field)));
}

UNIT_TEST(test_line_cut)
{
	struct line line;

	line_clear(&line);
	while (line.used < LINE_MAX_BYTES - 4)
		line_add(&line, "x");
	line_add_escaped(&line, "é€", TEXT_PRINTABLE);
	assert_int_equal(line.used, LINE_MAX_BYTES - 2);
	assert_int_equal(strlen(line.text), line.used);
	for (int i = 0; i < 3; i++)
		line_add(&line, "%s", "abc");
	assert_int_equal(line.used, LINE_MAX_BYTES - 1);
	assert_int_equal(strlen(line.text), line.used);
}

static void check_number(uint64_t number)
{
	char text[64], expected[64];

	for (int width = 0; width <= 30; width += 3) {
		*text_decimal(text, number, width, ' ') = '\0';
		snprintf(expected, sizeof(expected), "%*" PRIu64, width, number);
		assert_string_equal(text, expected);
		*text_decimal(text, number, width, '0') = '\0';
		snprintf(expected, sizeof(expected), "%0*" PRIu64, width, number);
		assert_string_equal(text, expected);
	}
	*text_signed(text, (int64_t)number) = '\0';
	snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)number);
	assert_string_equal(text, expected);
	*text_hex(text, number) = '\0';
	snprintf(expected, sizeof(expected), "%" PRIx64, number);
	assert_string_equal(text, expected);
}

/* printf(3) is the judge: at every number of digits, and of numbers of every length. */
UNIT_TEST(test_numbers)
{
	uint64_t power = 1, random = 88172645463325252;

	check_number(0);
	check_number(UINT64_MAX);
	for (int digits = 1; digits < TEXT_NUMBER_MAX; digits++, power *= 10) {
		check_number(power - 1);
		check_number(power);
		check_number(power * 10 - 1);
	}
	for (int bit = 0; bit < 64; bit++)
		check_number(UINT64_C(1) << bit);
	for (int i = 0; i < 20000; i++) {
		random ^= random << 13; /* xorshift64 of Marsaglia */
		random ^= random >> 7;
		random ^= random << 17;
		check_number(random >> i % 64);
	}
}

static void assert_time(uint64_t ns, bool local, const char *expected)
{
	char text[TEXT_TIME_MAX];

	assert_true(text_time(text, ns, local));
	assert_string_equal(text, expected);
}

/* strftime(3) is the judge. */
UNIT_TEST(test_time)
{
	static const uint64_t seconds[] = { 0,		951782399,  951782400,	951868800,
					    1709164799, 1763733900, 4107542399, 18446744073 };
	char text[TEXT_TIME_MAX], expected[64];

	for (size_t i = 0; i < COUNT(seconds); i++) {
		time_t at = (time_t)seconds[i];
		struct tm tm;

		strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.000000789Z",
			 gmtime_r(&at, &tm));
		assert_time(seconds[i] * NS_PER_SECOND + 789, false, expected);
	}
	assert_false(text_time(text, 0, false));
	assert_string_equal(text, "");
}

UNIT_TEST(test_counted)
{
	static const struct {
		uint64_t count;
		const char *words, *expected;
	} cases[] = {
		{ 0, "stall{s}", "0 stalls" },
		{ 1, "stall{s}", "1 stall" },
		{ 2, "stall{s}", "2 stalls" },
		{ 1, "entr{ies were|y was} lost", "1 entry was lost" },
		{ 3, "entr{ies were|y was} lost", "3 entries were lost" },
		{ UINT64_MAX, "event{s lack| lacks} {their|its} stack",
		  "18446744073709551615 events lack their stack" },
		{ 1, "event{s lack| lacks} {their|its} stack", "1 event lacks its stack" },
	};
	char text[TEXT_COUNTED_MAX], words[2 * TEXT_COUNTED_MAX];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(text_counted(text, cases[i].count, cases[i].words),
				    cases[i].expected);
	memset(words, 'w', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	assert_int_equal(strlen(text_counted(text, 1, words)), TEXT_COUNTED_MAX - 1);
}

UNIT_TEST(test_number)
{
	static const char text[] = "low 1\nhigh 18446744073709551615\nmax 4\nmax 5\noom x";

	assert_int_equal(text_number(text, "max "), 4);
	assert_int_equal(text_number(text, "high "), UINT64_MAX);
	assert_int_equal(text_number(text, "oom "), 0);
	assert_int_equal(text_number(text, "none "), 0);
	assert_int_equal(text_number("", "max "), 0);
}

UNIT_TEST(test_trim_and_append)
{
	char blank[] = " \t\n", word[] = " \ta b\r\n", text[8];

	assert_string_equal(text_trim(blank), "");
	assert_string_equal(text_trim(word), "a b");
	assert_int_equal(text_append(text, sizeof(text), 0, "abc"), 3);
	assert_int_equal(text_append(text, sizeof(text), 3, "defg"), 7);
	assert_string_equal(text, "abcdefg");
	assert_int_equal(text_append(text, sizeof(text), 7, "h"), 7);
	assert_string_equal(text, "abcdefg");
	assert_int_equal(text_append(text, sizeof(text), 2, "0123456789"), 7);
	assert_string_equal(text, "ab01234");
}

/* date -d is the judge. */
UNIT_TEST(test_time_zones)
{
	static const struct {
		const char *text;
		bool local;
		uint64_t ns; /* 0: refused */
	} cases[] = {
		{ "2026-11-23T00:24:51.5Z", true, 1795393491500000000 },
		{ "2026-11-23T00:24:51.123456789Z", false, 1795393491123456789 },
		{ "2026-11-23T05:54:51+05:30", false, 1795393491000000000 },
		{ "2026-11-22T19:24-05:00", false, 1795393440000000000 },
		{ "2026-11-23T00:24:51", false, 1795393491000000000 },
		{ "2026-11-22T19:24:51", true, 1795393491000000000 },
		{ "2026-07-01T12:00", true, 1782921600000000000 },
		{ "00:24:51", false, 1795393491000000000 },
		{ "00:24", false, 1795393440000000000 },
		{ "00:24:51.25", false, 1795393491250000000 },
		{ "19:24:51", true, 1795393491000000000 },
		{ "19:24:51+01:00", true, 1795371891000000000 },
		{ "", false },
		{ "00", false },
		{ "24:61", false },
		{ "00:24:51x", false },
		{ "00:24:51.0000000001", false },
		{ "00:24:51Z5", false },
		{ "2026-11-23", false },
		{ "2026-13-23T00:24", false },
		{ "1969-12-31T00:24", false },
	};
	uint64_t ns;

	setenv("TZ", "America/New_York", 1);
	tzset();
	for (size_t i = 0; i < COUNT(cases); i++)
		if (text_parse_time(cases[i].text, 1795393472000000000, cases[i].local, &ns) !=
			    !!cases[i].ns ||
		    (cases[i].ns && ns != cases[i].ns))
			fail_msg("%s: %llu", cases[i].text, (unsigned long long)ns);
	assert_time(1795393491500000000, true, "2026-11-22T19:24:51.500000000-05:00");
	assert_time(1782921600000000000, true, "2026-07-01T12:00:00.000000000-04:00");
	setenv("TZ", "Asia/Kolkata", 1);
	tzset();
	assert_time(1795393491500000000, true, "2026-11-23T05:54:51.500000000+05:30");
	assert_time(1795393491500000000, false, "2026-11-23T00:24:51.500000000Z");
	unsetenv("TZ");
	tzset();
}

/* Pieces of text and numbers give what one format gives, and are cut off where it is. */
UNIT_TEST(test_line_pieces)
{
	struct line pieces, whole;

	line_clear(&pieces);
	line_add_text(&pieces, "");
	assert_string_equal(pieces.text, "");
	line_clear(&whole);
	for (int i = 0; i < 600; i++) {
		line_add_text(&pieces, "ab");
		line_add_ms(&pieces, i % 20, 1234567);
		line_add_text(&pieces, "c");
		line_add(&whole, "ab%*s.234c", i % 20, "1");
		assert_int_equal(pieces.used, whole.used);
		assert_string_equal(pieces.text, whole.text);
	}
	assert_int_equal(pieces.used, LINE_MAX_BYTES - 1);
	line_clear(&pieces);
	line_add_ms(&pieces, 2 * LINE_MAX_BYTES, 0);
	assert_int_equal(strspn(pieces.text, " "), LINE_MAX_BYTES - 1);
	assert_int_equal(strlen(pieces.text), LINE_MAX_BYTES - 1);
}

UNIT_TEST_MAIN(NULL, NULL)
