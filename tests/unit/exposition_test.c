// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/base.h"
#include "output/exposition.h"
#include "written_text.h"

static void test_several_labels(void **state)
{
	struct line labels = { .used = 0 };

	(void)state;
	exposition_label(&labels, "first", "1");
	exposition_label(&labels, "none", "");
	exposition_label(&labels, "second", "2\"");
	assert_string_equal(labels.text, "first=\"1\",second=\"2\\\"\"");
}

static uint64_t key_of(const char *value)
{
	struct line labels = { .used = 0 };

	exposition_label(&labels, "a", value);
	return exposition_labels_key(&labels);
}

/* A key is of what is written: a byte and the text that stands for it are one label. */
static void test_keys(void **state)
{
	(void)state;
	assert_true(key_of("vda") == key_of("vda"));
	assert_true(key_of("vda") != key_of("vdb"));
	assert_true(key_of("\xff") == key_of("\\xff"));
	assert_true(key_of("") != 0);
}

static void test_samples(void **state)
{
	struct writer *writer = begin_text();
	struct line labels = { .used = 0 };
	struct exposition exposition;

	(void)state;
	exposition_init(&exposition, writer);
	exposition_family(&exposition, "a_total", "counter", "Help for a.");
	exposition_number(&exposition, NULL, UINT64_MAX);
	exposition_family(&exposition, "b_seconds", "gauge", "Help for b.");
	exposition_seconds(&exposition, &labels, 0);
	exposition_label(&labels, "x", "y");
	exposition_seconds(&exposition, &labels, 1);
	exposition_seconds(&exposition, &labels, 1500000000);
	exposition_seconds(&exposition, &labels, 7000000000);
	exposition_seconds(&exposition, &labels, 10000000000);
	assert_int_equal(exposition.failed, 0);
	assert_string_equal(end_text(writer), "# HELP a_total Help for a.\n"
					      "# TYPE a_total counter\n"
					      "a_total 18446744073709551615\n"
					      "# HELP b_seconds Help for b.\n"
					      "# TYPE b_seconds gauge\n"
					      "b_seconds 0\n"
					      "b_seconds{x=\"y\"} 0.000000001\n"
					      "b_seconds{x=\"y\"} 1.5\n"
					      "b_seconds{x=\"y\"} 7\n"
					      "b_seconds{x=\"y\"} 10\n");
}

static uint64_t value_behind(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	assert_non_null(at);
	return strtoull(at + strlen(what), NULL, 10);
}

/* 100 times of many sizes: each bucket has at least what the one before it has. */
static void test_buckets_are_cumulative(void **state)
{
	struct histogram histogram = { 0 };
	struct writer *writer = begin_text();
	struct exposition exposition;
	const char *text, *bucket;
	uint64_t last = 0, count = 0;
	int buckets = 0;

	(void)state;
	for (uint64_t i = 0, ns = 3; i < 100; i++, ns += ns / 3 + 1)
		histogram_add(&histogram, ns);
	exposition_init(&exposition, writer);
	exposition_family(&exposition, "h", "histogram", "H.");
	exposition_histogram(&exposition, NULL, &histogram);
	text = end_text(writer);
	for (bucket = strstr(text, "_bucket"); bucket; bucket = strstr(bucket + 1, "_bucket")) {
		count = value_behind(bucket, "\"} ");
		assert_true(count >= last);
		last = count;
		buckets++;
	}
	assert_int_equal(buckets, HISTOGRAM_EDGES + 1);
	assert_int_equal(count, 100);
	assert_int_equal(value_behind(text, "h_bucket{le=\"+Inf\"} "), 100);
	assert_int_equal(value_behind(text, "h_count "), 100);
}

static void test_first_failure_is_kept(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct writer *writer = writer_new(fd, -1);
	struct exposition exposition;
	char help[1000];

	(void)state;
	memset(help, 'x', sizeof(help) - 1);
	help[sizeof(help) - 1] = '\0';
	exposition_init(&exposition, writer);
	for (int i = 0; i < 200; i++)
		exposition_family(&exposition, "a", "gauge", help);
	assert_int_equal(exposition.failed, -ENOSPC);
	writer_free(writer);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several_labels),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_buckets_are_cumulative),
		cmocka_unit_test(test_first_failure_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
