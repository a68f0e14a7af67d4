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

#endif
