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

#endif
