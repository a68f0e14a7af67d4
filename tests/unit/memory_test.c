// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base/memory.h"
#include "unit_test.h"

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
		  { true, 100, 0, 1, 0, 5 } },
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
	}
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
