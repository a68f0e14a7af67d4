// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/output/form.h"
#include "captured_stderr.h"
#include "fake_resolver.h"
#include "unit_test.h"

#define TASKS 20000	    /* more than there is room for: each is three steps */
#define LARGE 1000000000ull /* ns of the first task */

static struct resolver resolver;

/* Tasks with least time become one, with their causes: no time is lost, and a message says so. */
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
	unsigned long long ns, sum = 0, of_others = 0;
	char line[256], name[16];
	int lines = 0, seen = 0;

	assert_non_null(output);
	for (int i = 0; i < TASKS; i++) {
		struct stall stall = { .role = ROLE_PAGE_ALLOCATION };
		const struct named_stall named = { .stall = &stall,
						   .resolver = &resolver,
						   .name = name,
						   .function = "f" };

		snprintf(name, sizeof(name), "%d", i);
		phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_UNKNOWN,
			     i ? 1000 + (uint64_t)i : LARGE);
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
		lines++;
		assert_non_null(strstr(line, ";f;outside reclaim "));
		if (!strncmp(line, "[others];", strlen("[others];")))
			of_others += ns;
		/* The largest, and the one that came last. */
		seen += !strcmp(line, "0;f;outside reclaim 1000000000\n") ||
			!strcmp(line, "19999;f;outside reclaim 20999\n");
	}
	fclose(file);
	assert_int_equal(seen, 2);
	assert_true(of_others);
	assert_in_range(lines, 64, 16383 / 3);
	assert_int_equal(sum, LARGE + 1000ull * (TASKS - 1) + TASKS * (TASKS - 1ull) / 2);
}

UNIT_TEST_MAIN(NULL, NULL)
