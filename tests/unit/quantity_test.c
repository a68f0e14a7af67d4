// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/quantity.h"

static void value_is(const char *text, const struct quantity_units *units, uint64_t expected)
{
	uint64_t value = 7;

	assert_int_equal(quantity_scan(text, units, &value), QUANTITY_GOOD);
	assert_int_equal(value, expected);
}

static void bad(const char *text, const struct quantity_units *units, enum quantity expected)
{
	uint64_t value = 7;

	assert_int_equal(quantity_scan(text, units, &value), expected);
	assert_int_equal(value, 7);
}

static void test_short_time(void **state)
{
	(void)state;
	value_is("3", &quantity_short_time, 3000);
	value_is("3ns", &quantity_short_time, 3);
	value_is("3ms", &quantity_short_time, 3000000);
	value_is("3s", &quantity_short_time, 3000000000);
	value_is("18446744073709551615ns", &quantity_short_time, UINT64_MAX);
	bad("18446744073709551616ns", &quantity_short_time, QUANTITY_TOO_LARGE);
	bad("18446744073709552", &quantity_short_time, QUANTITY_TOO_LARGE);
	bad("3m", &quantity_short_time, QUANTITY_UNIT);
	bad("3h", &quantity_short_time, QUANTITY_UNIT);
}

static void test_long_time(void **state)
{
	(void)state;
	value_is("3", &quantity_long_time, 3000000000);
	value_is("1h", &quantity_long_time, 3600000000000);
	value_is("2m", &quantity_long_time, 120000000000);
	value_is("5ms", &quantity_long_time, 5000000);
	bad("5124096h", &quantity_long_time, QUANTITY_TOO_LARGE);
	bad("5us", &quantity_long_time, QUANTITY_UNIT);
	bad("5S", &quantity_long_time, QUANTITY_UNIT);
	bad("5 s", &quantity_long_time, QUANTITY_UNIT);
}

static void test_size(void **state)
{
	(void)state;
	value_is("4", &quantity_size, 4096);
	value_is("1M", &quantity_size, 1 << 20);
	value_is("2GiB", &quantity_size, 2ull << 30);
	bad("4kb", &quantity_size, QUANTITY_UNIT);
	bad("18014398509481984", &quantity_size, QUANTITY_TOO_LARGE);
}

static void test_no_numbers(void **state)
{
	(void)state;
	value_is("18446744073709551615", NULL, UINT64_MAX);
	bad("18446744073709551616", NULL, QUANTITY_TOO_LARGE);
	bad("", NULL, QUANTITY_EMPTY);
	bad("-1", NULL, QUANTITY_NEGATIVE);
	bad("+1", NULL, QUANTITY_NO_NUMBER);
	bad("1.5", NULL, QUANTITY_NO_NUMBER);
	bad("1s", NULL, QUANTITY_NO_NUMBER);
	bad("x", &quantity_size, QUANTITY_NO_NUMBER);
}

static void signed_is(const char *text, int64_t expected)
{
	int64_t value = 7;

	assert_int_equal(quantity_scan_signed(text, &value), QUANTITY_GOOD);
	assert_true(value == expected);
}

static void signed_bad(const char *text, enum quantity expected)
{
	int64_t value = 7;

	assert_int_equal(quantity_scan_signed(text, &value), expected);
	assert_int_equal(value, 7);
}

static void test_signed(void **state)
{
	(void)state;
	signed_is("0", 0);
	signed_is("-1000", -1000);
	signed_is("1000", 1000);
	signed_is("-9223372036854775807", -INT64_MAX);
	signed_bad("-9223372036854775808", QUANTITY_TOO_SMALL);
	signed_bad("9223372036854775808", QUANTITY_TOO_LARGE);
	signed_bad("-99999999999999999999", QUANTITY_TOO_SMALL);
	signed_bad("", QUANTITY_EMPTY);
	signed_bad("-", QUANTITY_NO_NUMBER);
	signed_bad("--1", QUANTITY_NO_NUMBER);
	signed_bad("- 1", QUANTITY_NO_NUMBER);
}

static void test_errors(void **state)
{
	(void)state;
	assert_int_equal(quantity_error(QUANTITY_GOOD), 0);
	assert_int_equal(quantity_error(QUANTITY_EMPTY), -EINVAL);
	assert_int_equal(quantity_error(QUANTITY_UNIT), -EINVAL);
	assert_int_equal(quantity_error(QUANTITY_NEGATIVE), -ERANGE);
	assert_int_equal(quantity_error(QUANTITY_ZERO), -ERANGE);
	assert_int_equal(quantity_error(QUANTITY_TOO_SMALL), -ERANGE);
	for (int quantity = QUANTITY_GOOD; quantity <= QUANTITY_TOO_LARGE; quantity++)
		assert_non_null(quantity_reason(quantity));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_time), cmocka_unit_test(test_long_time),
		cmocka_unit_test(test_size),	   cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_signed),	   cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
