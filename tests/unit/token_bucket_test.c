// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "journal/rate_limit.h"

#define SECOND 1000000000ull

static unsigned int take_all(struct token_bucket *bucket)
{
	unsigned int count = 0;

	while (count < 100000 && token_bucket_take(bucket))
		count++;
	return count;
}

/* 20 a minute is one in three seconds. */
static void test_shipped(void **state)
{
	struct token_bucket bucket;

	(void)state;
	token_bucket_init(&bucket, 20, 50);
	token_bucket_time(&bucket, 1000 * SECOND);
	assert_int_equal(take_all(&bucket), 50);
	token_bucket_time(&bucket, 1003 * SECOND - 1);
	assert_int_equal(take_all(&bucket), 0);
	token_bucket_time(&bucket, 1003 * SECOND);
	assert_int_equal(take_all(&bucket), 1);
	token_bucket_time(&bucket, 1063 * SECOND);
	assert_int_equal(take_all(&bucket), 20);
	token_bucket_time(&bucket, 1063 * SECOND + 149 * SECOND);
	assert_int_equal(take_all(&bucket), 49);
}

static void test_never_more_than_the_burst(void **state)
{
	struct token_bucket bucket;

	(void)state;
	token_bucket_init(&bucket, 20, 50);
	token_bucket_time(&bucket, 0);
	token_bucket_time(&bucket, 3600 * SECOND);
	assert_int_equal(take_all(&bucket), 50);
	token_bucket_time(&bucket, 7200 * SECOND);
	assert_int_equal(take_all(&bucket), 50);
	token_bucket_time(&bucket, UINT64_MAX);
	assert_int_equal(take_all(&bucket), 50);
}

/* Seven a minute is no whole number of nanoseconds: no piece of a token is lost. */
static void test_pieces_add_up(void **state)
{
	struct token_bucket bucket;
	unsigned int taken = 0;

	(void)state;
	token_bucket_init(&bucket, 7, 3);
	token_bucket_time(&bucket, 0);
	assert_int_equal(take_all(&bucket), 3);
	for (unsigned int ms = 1; ms <= 600000; ms++) {
		token_bucket_time(&bucket, ms * 1000000ull);
		taken += take_all(&bucket);
	}
	assert_int_equal(taken, 70);
}

/* Where the clock stands at the start is no time that has passed. */
static void test_first_time(void **state)
{
	struct token_bucket bucket;

	(void)state;
	token_bucket_init(&bucket, 20, 2);
	assert_int_equal(take_all(&bucket), 2);
	token_bucket_time(&bucket, 5000 * SECOND);
	assert_int_equal(take_all(&bucket), 0);
	token_bucket_time(&bucket, 5003 * SECOND);
	assert_int_equal(take_all(&bucket), 1);
}

static void test_back_in_time(void **state)
{
	struct token_bucket bucket;

	(void)state;
	token_bucket_init(&bucket, 20, 2);
	token_bucket_time(&bucket, 100 * SECOND);
	assert_int_equal(take_all(&bucket), 2);
	token_bucket_time(&bucket, 50 * SECOND);
	token_bucket_time(&bucket, 100 * SECOND);
	assert_int_equal(take_all(&bucket), 0);
}

static void test_no_limit(void **state)
{
	struct token_bucket bucket;

	(void)state;
	token_bucket_init(&bucket, 0, 1);
	assert_int_equal(take_all(&bucket), 100000);
	token_bucket_time(&bucket, SECOND);
	assert_int_equal(take_all(&bucket), 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_never_more_than_the_burst),
		cmocka_unit_test(test_pieces_add_up),
		cmocka_unit_test(test_first_time),
		cmocka_unit_test(test_back_in_time),
		cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
