/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPU_FILES_H
#define CPU_FILES_H

/* Files of pages, one for each CPU, and a note of what is read of them. */

#include "test_directory.h"

#define PAGE 4096

/* What came, as "CPU:FIRST-BYTE " for each page. */
static struct {
	char out[4096];
	size_t used;
	int pages;
	int last;      /* pages that were the last of their file */
	size_t length; /* of the last page */
} came;

static inline void note_page(int cpu, const void *page, size_t length, bool last)
{
	came.pages++;
	came.last += last;
	came.length = length;
	came.used += snprintf(came.out + came.used, sizeof(came.out) - came.used, "%d:%c ", cpu,
			      *(const char *)page);
	assert_true(came.used < sizeof(came.out));
}

static inline void forget_pages(void)
{
	memset(&came, 0, sizeof(came));
}

static inline const char *cpu_file(int cpu)
{
	static char name[64];

	snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", cpu);
	return name;
}

/* A commit of 0x120 bytes, which none is in the other byte order, and a letter everywhere else. */
static inline void fill_page(char *page, bool big_endian, int long_size, char letter)
{
	memset(page, letter, PAGE);
	memset(page + 8, 0, long_size);
	page[big_endian ? 8 + long_size - 1 : 8] = 0x20;
	page[big_endian ? 8 + long_size - 2 : 9] = 0x01;
}

/* A file of pages a, b, c …, but for its last @cut bytes. */
static inline void put_pages(int cpu, int pages, bool big_endian, size_t cut)
{
	char *bytes = malloc((size_t)pages * PAGE + 1);

	for (int i = 0; i < pages; i++)
		fill_page(bytes + i * PAGE, big_endian, 8, 'a' + i % 26);
	put_bytes(cpu_file(cpu), bytes, (size_t)pages * PAGE - cut);
	free(bytes);
}

static inline void put_cpu(int cpu, int pages)
{
	put_pages(cpu, pages, false, 0);
}

#endif
