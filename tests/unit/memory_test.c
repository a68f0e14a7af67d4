// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base/memory.h"
#include "test_directory.h"
#include "unit_test.h"

#define TEST(name) UNIT_TEST_WITH(name, make_test_directory, remove_test_directory)

UNIT_TEST(test_pressure)
{
	static const struct {
		const char *text;
		struct memory_pressure expected;
	} cases[] = {
		{ "some avg10=12.05 avg60=3.00 avg300=1.00 total=123456789\n"
		  "full avg10=100.00 avg60=0.00 avg300=0.00 total=5\n",
		  { true, 1205, 10000, 123456789, 5 } },
		{ "some avg10=0.00 total=18446744073709551615 full avg10=0.09 total=0",
		  { true, 0, 9, UINT64_MAX, 0 } },
		{ .text = "" },
		{ .text = "some avg10=1.00 avg60=0.00 avg300=0.00 total=1\n" },
		{ .text = "full avg10=1.00 total=1" },
		{ .text = "some avg10=1 total=1 full avg10=1.00 total=1" },
		{ .text = "some avg10=1.00 total= full avg10=1.00 total=x" },
		{ .text = "some full total" },
		/* as a capture has it */
		{ "some avg10=1.00 total=1 full avg10=0.00 total=0 oom_kill 5",
		  { true, 100, 0, 1, 0, 5, 0 } },
		{ "some avg10=1.00 total=1 full avg10=0.00 total=0 oom_kill 5 workingset_refault 9",
		  { true, 100, 0, 1, 0, 5, 9 } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct memory_pressure pressure = { .known = !cases[i].expected.known };

		memory_pressure_parse(cases[i].text, &pressure);
		assert_int_equal(pressure.known, cases[i].expected.known);
		if (!pressure.known)
			continue;
		assert_int_equal(pressure.some_avg10, cases[i].expected.some_avg10);
		assert_int_equal(pressure.full_avg10, cases[i].expected.full_avg10);
		assert_int_equal(pressure.some, cases[i].expected.some);
		assert_int_equal(pressure.full, cases[i].expected.full);
		assert_int_equal(pressure.oom_kills, cases[i].expected.oom_kills);
		assert_int_equal(pressure.refaults, cases[i].expected.refaults);
	}
}

/* The lines of vmstat, newer and older. */
TEST(test_counts)
{
	static const struct {
		const char *text;
		bool has_kills;
		uint64_t kills, refaults;
	} cases[] = {
		{ "workingset_nodes 1\nworkingset_refault_anon 20\nworkingset_refault_file 300\n"
		  "workingset_activate_anon 4000\nworkingset_restore_file 5000\noom_kill 6\n",
		  true, 6, 320 },
		{ "workingset_refault 7\nworkingset_activate 8\n", false, 0, 7 },
		{ "", false, 0, 0 },
	};
	int proc = open(test_directory, O_PATH);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct memory_pressure pressure = { .known = false };

		put_text("vmstat", cases[i].text);
		assert_int_equal(memory_counts(proc, &pressure), cases[i].has_kills);
		assert_int_equal(pressure.oom_kills, cases[i].kills);
		assert_int_equal(pressure.refaults, cases[i].refaults);
	}
	close(proc);
}

UNIT_TEST(test_pressure_of_this_machine)
{
	bool has_psi = !access("/proc/pressure/memory", R_OK);

	for (int i = 0; i < 2; i++) {
		struct memory_pressure pressure = { .known = !has_psi };

		memory_pressure_read(&pressure);
		assert_int_equal(pressure.known, has_psi);
		assert_in_range(pressure.full, 0, pressure.some);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
