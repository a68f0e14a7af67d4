// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/values.h"
#include "unit_test.h"

/* A text with the number that it is, or with what is wrong with it. */
struct quantity_case {
	const char *text;
	int64_t value;
	const char *reason;
};

static const char no_number[] = "is not a whole number", unknown[] = "has an unknown unit";
static const char digits[] = "is not a number, or has too many digits after its point";
static const char large[] = "is too large", small[] = "is too small";

static const struct quantity_case of_short_time[] = {
	{ "3", 3000 },
	{ "3ns", 3 },
	{ "3us", 3000 },
	{ "3ms", 3000000 },
	{ "3s", 3000000000 },
	{ "9223372036854775807ns", INT64_MAX },
	{ "1.5ms", 1500000 },
	{ "0.000001s", 1000 },
	{ "134.25", 134250 },
	{ "-1.5us", -1500 },
	{ "-0.5us", -500 },
	{ "9223372036.854775s", 9223372036854775000 },
	{ "9223372036.854776s", .reason = large },
	{ "1.5ns", .reason = no_number },
	{ "1.0000001s", .reason = digits },
	{ "1.", .reason = digits },
	{ "1.ms", .reason = digits },
	{ "1.-5ms", .reason = digits },
	{ "1.5.5ms", .reason = unknown },
	{ ".5ms", .reason = no_number },
	{ "9223372036854775808ns", .reason = large },
	{ "9223372036854776", .reason = large },
	{ "3m", .reason = unknown },
	{ "3h", .reason = unknown },
};

static const struct quantity_case of_long_time[] = {
	{ "3", 3000000000 },	     { "1h", 3600000000000 },	      { "2m", 120000000000 },
	{ "5ms", 5000000 },	     { "5124096h", .reason = large }, { "5us", .reason = unknown },
	{ "5S", .reason = unknown }, { "5 s", .reason = unknown },
};

static const struct quantity_case of_size[] = {
	{ "4", 4096 },
	{ "1M", 1 << 20 },
	{ "2GiB", 2ll << 30 },
	{ "1.5M", 3 << 19 },
	{ "0.3K", .reason = no_number },
	{ "8k", 8192 },
	{ "4kb", .reason = unknown },
	{ "9007199254740992", .reason = large },
	{ "x", .reason = no_number },
};

static const struct quantity_case of_share[] = {
	{ "2", 2 },
	{ "100%", 100 },
	{ "2 %", .reason = unknown },
	{ "0.5%", .reason = no_number },
};

static const struct quantity_case of_bare_number[] = {
	{ "0", 0 },
	{ "0012", 12 },
	{ "-1000", -1000 },
	{ "9223372036854775807", INT64_MAX },
	{ "-9223372036854775808", INT64_MIN },
	{ "9223372036854775808", .reason = large },
	{ "-99999999999999999999", .reason = small },
	{ "", .reason = "is empty" },
	{ "-", .reason = no_number },
	{ "--1", .reason = no_number },
	{ "- 1", .reason = no_number },
	{ " 1", .reason = no_number },
	{ "+1", .reason = no_number },
	{ "1.5", .reason = no_number },
	{ "1s", .reason = no_number },
	{ "1 ", .reason = no_number },
};

static void check(const struct quantity_units *units, const struct quantity_case *cases,
		  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t value = 7;
		const char *reason = quantity_parse(cases[i].text, units, &value);

		if (!reason != !cases[i].reason || (reason && strcmp(reason, cases[i].reason)))
			fail_msg("'%s' %s", cases[i].text, reason ? reason : "is accepted");
		assert_true(value == (reason ? 7 : cases[i].value));
	}
}

UNIT_TEST(test_quantities)
{
	check(&quantity_short_time, of_short_time, COUNT(of_short_time));
	check(&quantity_long_time, of_long_time, COUNT(of_long_time));
	check(&quantity_size, of_size, COUNT(of_size));
	check(&quantity_share, of_share, COUNT(of_share));
	check(NULL, of_bare_number, COUNT(of_bare_number));
}

UNIT_TEST_MAIN(NULL, NULL)
