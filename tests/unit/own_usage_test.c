// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "run/own_usage.h"

#define MIB (1u << 20)

/* What the kernel counts page by page, in another file. */
static uint64_t resident_by_smaps(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	uint64_t kib = 0;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Rss: %" SCNu64 " kB", &kib) == 1)
			break;
	fclose(file);
	return kib * 1024;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Memory that is mapped and never touched is not resident. The kernel's fast counter may be off by
 * some pages for each CPU. */
static void test_resident(void **state)
{
	char *memory =
		mmap(NULL, 128 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before = own_resident();
	uint64_t after;

	(void)state;
	assert_true(memory != MAP_FAILED);
	assert_true(before > 0);
	memset(memory, 1, 64 * MIB);
	after = own_resident();
	assert_true(difference(after - before, 64 * MIB) < 16 * MIB);
	assert_true(difference(after, resident_by_smaps()) < 16 * MIB);
	munmap(memory, 128 * MIB);
}

static uint64_t cpu_by_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A tenth of a second at work, user and system; getrusage(2) has microseconds. */
static void test_cpu(void **state)
{
	uint64_t from = cpu_by_clock();
	uint64_t before = own_cpu();
	uint64_t clock, cpu;

	(void)state;
	while (cpu_by_clock() - from < 100000000)
		;
	cpu = own_cpu();
	clock = cpu_by_clock();
	assert_true(cpu - before > 80000000);
	assert_true(difference(cpu, clock) < 50000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resident),
		cmocka_unit_test(test_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
