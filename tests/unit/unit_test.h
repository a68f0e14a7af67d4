/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_UNIT_TEST_H
#define ALLOCFILT_UNIT_TEST_H

/* cmocka.h needs the first four to be included before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* cmocka 2 takes a common name, and has another one for this. */
#undef stop
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif

/* A test receives its state and a fake its context, whether it needs them or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The number of steps to the next one of many alike: tests/run sets it. */
static inline int test_stride(void)
{
	const char *stride = getenv("TEST_STRIDE");

	return stride ? atoi(stride) : 1;
}

/*
 * Texts of several lines: what fails is the first line that differs, and both texts come before that
 * in the log.
 */
static inline void assert_same_text(const char *is, const char *expected, const char *file, int at)
{
	size_t same = 0, begin = 0;
	char line[2][512];
	int number = 1;

	for (; is[same] && is[same] == expected[same]; same++) {
		if (is[same] == '\n') {
			begin = same + 1;
			number++;
		}
	}
	if (is[same] != expected[same] && number > 1) {
		print_error("'%s'\n and not\n'%s'\n", is, expected);
		for (int i = 0; i < 2; i++) {
			const char *from = (i ? expected : is) + begin;

			snprintf(line[i], sizeof(line[i]), "line %d: %.*s", number,
				 (int)strcspn(from, "\n"), from);
		}
		_assert_string_equal(line[0], line[1], file, at);
	}
	_assert_string_equal(is, expected, file, at);
}

#undef assert_string_equal
#define assert_string_equal(is, expected) assert_same_text(is, expected, __FILE__, __LINE__)

/* A command that has to succeed. */
__attribute__((format(printf, 1, 2))) static inline void shell(const char *format, ...)
{
	char command[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_int_equal(system(command), 0);
}

/*
 * A test case: UNIT_TEST(name) stands in place of the head of its function. The linker joins the cases of
 * a program in a section, and they run in the order of the file.
 */
#define UNIT_TESTS_MAX 128

struct unit_test {
	struct CMUnitTest test;
	int line;
};

#define UNIT_TEST_WITH(name, set_up, tear_down)                                                    \
	static void name(void **state);                                                            \
	static const struct unit_test unit_##name = { { #name, name, set_up, tear_down, NULL },    \
						      __LINE__ };                                  \
	static const struct unit_test *const place_of_##name                                       \
		__attribute__((section("unit_tests"), used)) = &unit_##name;                       \
	static void name(void **state)
#define UNIT_TEST(name) UNIT_TEST_WITH(name, NULL, NULL)

/* The case also with another set-up, as after a reset. */
#define UNIT_TEST_TWICE(name, set_up, other, tear_down)                                            \
	static void name(void **state);                                                            \
	UNIT_TEST_WITH(name##_again, other, tear_down)                                             \
	{                                                                                          \
		name(state);                                                                       \
	}                                                                                          \
	UNIT_TEST_WITH(name, set_up, tear_down)

extern const struct unit_test *const __start_unit_tests[], *const __stop_unit_tests[];

static inline int unit_tests_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	size_t count = (size_t)(__stop_unit_tests - __start_unit_tests);
	const struct unit_test *sorted[UNIT_TESTS_MAX];
	struct CMUnitTest tests[UNIT_TESTS_MAX];

	if (count > UNIT_TESTS_MAX)
		return 1;
	for (size_t i = 0; i < count; i++) {
		size_t at = i;

		for (; at && sorted[at - 1]->line > __start_unit_tests[i]->line; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = __start_unit_tests[i];
	}
	for (size_t i = 0; i < count; i++)
		tests[i] = sorted[i]->test;
	cmocka_set_test_filter(getenv("CASE"));
	return _cmocka_run_group_tests("tests", tests, count, set_up, tear_down);
}

#define UNIT_TEST_MAIN(set_up, tear_down)                                                          \
	int main(void)                                                                             \
	{                                                                                          \
		return unit_tests_run(set_up, tear_down);                                          \
	}

#endif
