// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"
#include "allocfilt/base/text.h"

#define TABLE_BYTES (64 << 10)
#define HEAP_ROOM   (16 << 10) /* bytes left free: without them the next malloc() adds 128 KiB */

uint64_t memory_available(void)
{
	static const char key[] = "MemAvailable:";
	char text[512]; /* It is in the third line. */

	file_read_start(open("/proc/meminfo", O_RDONLY | O_CLOEXEC), text, sizeof(text));
	return strstr(text, key) ? text_number(text, key) * 1024 : UINT64_MAX;
}

/* No stdio: fopen(3) allocates. */
uint64_t memory_own(uint64_t *ret_resident)
{
	char text[128]; /* seven numbers of pages: proc(5) */
	uint64_t size = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);

	*ret_resident = 0;
	file_read_start(open("/proc/self/statm", O_RDONLY | O_CLOEXEC), text, sizeof(text));
	sscanf(text, "%" SCNu64 " %" SCNu64, &size, ret_resident);
	*ret_resident *= page;
	return size * page;
}

void memory_map_tables(void)
{
	mallopt(M_MMAP_THRESHOLD, TABLE_BYTES);
}

void memory_lock(void)
{
	malloc_trim(HEAP_ROOM); /* else memory that start-up has freed is locked as well */
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		log_warning(
			"cannot lock memory (%m); going on, but records may be lost under pressure");
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" */
static bool parse_kind(const char *text, const char *kind, unsigned int *avg10, uint64_t *total)
{
	const char *at = strstr(text, kind);
	const char *sum = at ? strstr(at, "total=") : NULL;
	unsigned int whole, hundredths;

	if (!sum || sscanf(at + strlen(kind), " avg10=%3u.%2u", &whole, &hundredths) != 2 ||
	    sscanf(sum, "total=%" SCNu64, total) != 1)
		return false;
	*avg10 = 100 * whole + hundredths;
	return true;
}

/* A capture has one sum of refaults, as kernels before 5.9 do. */
static bool parse_counts(const char *text, struct memory_pressure *pressure)
{
	pressure->oom_kills = text_number(text, "oom_kill ");
	pressure->refaults = text_number(text, "workingset_refault ") +
			     text_number(text, "workingset_refault_anon ") +
			     text_number(text, "workingset_refault_file ");
	return strstr(text, "oom_kill ");
}

bool memory_counts(int proc, struct memory_pressure *pressure)
{
	static char text[16384];
	int fd = openat(proc, proc < 0 ? "/proc/vmstat" : "vmstat", O_RDONLY | O_CLOEXEC);

	file_read_start(fd, text, sizeof(text));
	return parse_counts(text, pressure);
}

void memory_pressure_read(struct memory_pressure *pressure)
{
	char text[512];

	file_read_start(open("/proc/pressure/memory", O_RDONLY | O_CLOEXEC), text, sizeof(text));
	memory_pressure_parse(text, pressure);
	memory_counts(-1, pressure);
}

void memory_pressure_parse(const char *text, struct memory_pressure *pressure)
{
	*pressure = (struct memory_pressure){ .known = false };
	parse_counts(text, pressure);
	pressure->known = parse_kind(text, "some", &pressure->some_avg10, &pressure->some) &&
			  parse_kind(text, "full", &pressure->full_avg10, &pressure->full);
}
