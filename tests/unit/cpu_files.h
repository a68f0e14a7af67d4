/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPU_FILES_H
#define CPU_FILES_H

/* Files of pages, one for each CPU, and a sink for what is read of them. */

#include "allocfilt/record.h"
#include "test_directory.h"

#define PAGE 4096

/* What came, as "CPU:FIRST-BYTE " for each page, "CPU+ " for each CPU left with data. */
static struct {
	char out[4096];
	size_t used;
	int pages;
	int last;      /* pages that were the last of their file */
	size_t length; /* of the last page */
	int refused;   /* this CPU has no room */
	int fail_at;   /* this page */
} sunk;

/* Room for a few pages at a time. */
static inline size_t sink_room(void *context, int cpu)
{
	return cpu == sunk.refused ? 0 : 7;
}

static inline int sink_page(void *context, int cpu, const void *page, size_t length, bool last)
{
	if (++sunk.pages == sunk.fail_at)
		return -EPIPE;
	sunk.last += last;
	sunk.length = length;
	sunk.used += snprintf(sunk.out + sunk.used, sizeof(sunk.out) - sunk.used, "%d:%c ", cpu,
			      *(const char *)page);
	assert_true(sunk.used < sizeof(sunk.out));
	return 0;
}

static inline void sink_left(void *context, int cpu)
{
	sunk.used += snprintf(sunk.out + sunk.used, sizeof(sunk.out) - sunk.used, "%d+ ", cpu);
}

static const struct source_sink sink = { NULL, sink_room, sink_page, sink_left };

static inline void empty_sink(void)
{
	memset(&sunk, 0, sizeof(sunk));
	sunk.refused = -1;
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
