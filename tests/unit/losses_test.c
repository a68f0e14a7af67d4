// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/record/losses.h"
#include "allocfilt/record/page.h"
#include "captured_stderr.h"
#include "made_cpus.h"
#include "unit_test.h"

#define SECOND 1000000000ull

static struct losses *new_losses(int count)
{
	struct cpu_list cpus = made_cpus(count);

	return losses_new(&cpus);
}

static int lines_of(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static const char *report(struct losses *losses, uint64_t now)
{
	capture_stderr();
	losses_report(losses, now);
	return captured();
}

static const char *report_all(const struct losses *losses, bool live)
{
	capture_stderr();
	losses_report_all(losses, live);
	return captured();
}

/* Numbers may have gaps; a CPU that is not in the list is ignored. */
UNIT_TEST(test_counts_per_cpu)
{
	static const int numbers[] = { 3, 6000, 65535 };
	static const struct {
		int cpu;
		uint64_t lost, unknown;
	} expected[] = { { 3, 0, 0 }, { 6000, 12, 0 }, { 65535, 0, 1 }, { 4, 0, 0 } };
	const struct cpu_list cpus = { numbers, 3 };
	struct losses *losses = losses_new(&cpus);
	uint64_t unknown;

	losses_add(losses, 1, 9);
	losses_add(losses, -1, 9);
	losses_add(losses, 65536, RECORD_LOST_UNKNOWN);
	assert_int_equal(losses_total(losses, &unknown), 0);
	assert_int_equal(unknown, 0);
	losses_add(losses, 6000, 5);
	losses_add(losses, 6000, 7);
	losses_add(losses, 65535, RECORD_LOST_UNKNOWN);
	assert_int_equal(losses_total(losses, &unknown), 12);
	assert_int_equal(unknown, 1);
	for (size_t i = 0; i < COUNT(expected); i++) {
		assert_int_equal(losses_of(losses, expected[i].cpu, &unknown), expected[i].lost);
		assert_int_equal(unknown, expected[i].unknown);
	}
	losses_free(losses);
}

/* A larger buffer does not help against another reader. */
UNIT_TEST(test_taken)
{
	struct losses *losses = new_losses(1);

	losses_add(losses, 0, 5);
	losses_taken(losses);
	assert_string_equal(report_all(losses, true),
			    "allocfilt: CPU 0 lost 5 records in all (another reader takes them, "
			    "as cat trace_pipe does)\n");
	losses_free(losses);
}

/* The first loss at once, whatever the clock says, then once a second, of CPUs with new losses. */
UNIT_TEST(test_reported_at_most_once_a_second)
{
	struct losses *losses = new_losses(3);
	const char *text;

	assert_string_equal(report(losses, 9), "");
	assert_string_equal(report_all(losses, true), "allocfilt: no records lost\n");
	assert_string_equal(report_all(losses, false), "");
	losses_add(losses, 0, 5);
	losses_add(losses, 1, 6);
	assert_int_equal(lines_of(report(losses, 10)), 2);
	losses_add(losses, 0, 5);
	assert_string_equal(report(losses, 11), "");
	assert_string_equal(report(losses, SECOND + 9), "");
	text = report(losses, SECOND + 10);
	assert_non_null(strstr(text, "CPU 0 lost 10 records"));
	assert_int_equal(lines_of(text), 1);
	/* nothing new, nothing reported */
	assert_string_equal(report(losses, 9 * SECOND), "");
	losses_free(losses);
}

UNIT_TEST(test_final_lines)
{
	struct losses *losses = new_losses(4);
	const char *text;

	losses_add(losses, 0, 5);
	losses_add(losses, 1, RECORD_LOST_UNKNOWN);
	losses_add(losses, 3, 6);
	losses_add(losses, 3, RECORD_LOST_UNKNOWN);
	text = report_all(losses, true);
	assert_int_equal(lines_of(text), 3);
	assert_non_null(strstr(text, "CPU 0 lost 5 records"));
	assert_non_null(strstr(text, "CPU 1 lost 1 time an unknown number"));
	assert_non_null(strstr(text, "CPU 3 lost 6 records and 1 time an unknown number"));
	assert_non_null(strstr(text, "-b helps"));
	/* a larger buffer would have helped when the capture was taken */
	assert_null(strstr(report_all(losses, false), "-b helps"));
	losses_free(losses);
	losses_free(NULL);
}

UNIT_TEST_MAIN(NULL, NULL)
