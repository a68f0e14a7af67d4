// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/output/form.h"
#include "captured_stderr.h"
#include "fake_resolver.h"
#include "unit_test.h"

#define TASKS 8000 /* more than there is room for: each is three steps */

static struct resolver resolver;

/* What has no room is in the step above it: no time is lost, and a message says so. */
UNIT_TEST(test_limit)
{
	static const struct options options = { .format = "folded" };
	FILE *file = tmpfile();
	struct writer *writer = writer_new(fileno(file), -1);
	const struct output_setup setup = { .options = &options,
					    .resolver = &resolver,
					    .writer = writer };
	struct output *output = output_new(&setup);
	struct summary_view view = { .plan = NULL };
	unsigned long long ns, sum = 0;
	char line[256], name[16];
	int whole = 0;

	assert_non_null(output);
	for (int i = 0; i < TASKS; i++) {
		struct stall stall = { .role = ROLE_PAGE_ALLOCATION };
		const struct named_stall named = { .stall = &stall, .name = name, .function = "f" };

		snprintf(name, sizeof(name), "%d", i);
		phases_spend(&stall.phases, PHASE_REST, PART_OWN, STATE_RAN, 1000 + i);
		assert_int_equal(output_stall(output, &named), 0);
	}
	capture_stderr();
	assert_int_equal(output_summary(output, &view), 0);
	assert_non_null(strstr(captured(), "a limit was reached: "));
	output_free(output);
	writer_free(writer);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		assert_int_equal(sscanf(strrchr(line, ' '), "%llu", &ns), 1);
		sum += ns;
		whole += strstr(line, ";f;rest ") != NULL;
	}
	fclose(file);
	/* 16384 steps but for the root; those that came later have no room even for the task */
	assert_int_equal(whole, 16383 / 3);
	assert_int_equal(sum, 1000ull * TASKS + TASKS * (TASKS - 1ull) / 2);
}

UNIT_TEST_MAIN(NULL, NULL)
