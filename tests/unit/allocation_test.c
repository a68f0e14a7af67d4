// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After start-up nothing is allocated on the path of an event: calls of malloc() and its like are
 * counted while a whole capture goes from its pages to lines and stalls.
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/capture.h"
#include "allocfilt/pipeline.h"
#include "counted_malloc.h"

static struct pipeline *make_pipeline(struct capture *capture, const struct plan *plan,
				      struct writer *writer, enum options_format format)
{
	static char symbols[PATH_MAX], mounts[PATH_MAX];
	struct pipeline_setup setup = {
		.plan = plan, .layout = *capture_layout(capture), .dir = capture_dir(capture),
		.names_dir = capture_dir(capture), .symbols = symbols, .mounts = mounts,
		.release = capture_release(capture), .stack = true,
		.cpus = capture_cpus(capture), .local_clock = true, .format = format, .top = 10,
		.limits = LIMITS_DEFAULT, .writer = writer, .output_fd = -1,
	};
	struct pipeline *pipeline = NULL;
	struct failure failure;

	snprintf(symbols, sizeof(symbols), "%s/kallsyms", capture_dir(capture));
	snprintf(mounts, sizeof(mounts), "%s/mountinfo", capture_dir(capture));
	assert_int_equal(pipeline_new(&pipeline, &setup, &failure), 0);
	return pipeline;
}

static unsigned int count_in(const char *dir, enum options_format format)
{
	struct plan_request request = { .threshold = 50000 };
	struct capture *capture = NULL;
	struct plan *plan = NULL;
	struct plan_offer offer;
	struct failure failure;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct writer *writer = writer_new(fd, -1);
	struct pipeline *pipeline;
	struct source_sink sink;
	int more;

	assert_int_equal(capture_open(&capture, dir, &failure), 0);
	capture_offer(capture, &offer);
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	pipeline = make_pipeline(capture, plan, writer, format);
	pipeline_source_sink(pipeline, &sink);
	allocations = 0;
	counting = true;
	do {
		more = capture_round(capture, &sink);
		assert_true(pipeline_end_round(pipeline) >= 0);
	} while (more > 0);
	assert_int_equal(pipeline_flush(pipeline), 0);
	counting = false;
	pipeline_free(pipeline);
	plan_free(plan);
	capture_close(capture);
	writer_free(writer);
	close(fd);
	return allocations;
}

static void test_count(void **state)
{
	static const char *const captures[] = {
		"fixtures/5.10", "fixtures/6.1", "fixtures/6.12", "fixtures/7.3", "fixtures/i386",
		"fixtures/s390x", "fixtures/kept",
	};
	static const enum options_format forms[] = { FORMAT_TRACE, FORMAT_TREE, FORMAT_JSON };

	(void)state;
	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		for (size_t form = 0; form < sizeof(forms) / sizeof(forms[0]); form++)
			assert_int_equal(count_in(captures[i], forms[form]), 0);
}

/* The counter does count. */
static void test_counter(void **state)
{
	void *volatile block;

	(void)state;
	allocations = 0;
	counting = true;
	block = malloc(1);
	counting = false;
	free(block);
	assert_int_equal(allocations, COUNTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
