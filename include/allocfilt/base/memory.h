/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_MEMORY_H
#define ALLOCFILT_BASE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/**
 * memory_available - bytes that can be allocated without swapping; UINT64_MAX if they are unknown
 *
 * MemAvailable of /proc/meminfo is the kernel's si_mem_available(), its own limit for ring buffers.
 */
uint64_t memory_available(void);

/**
 * memory_map_tables - allocate large tables apart from the heap from now on
 *
 * They take no memory before they are used then. Of a block at the end of the heap calloc(3) clears what was
 * free there, 128 KiB mostly.
 */
void memory_map_tables(void);

/**
 * memory_lock - lock what we use of our memory, so that it is not swapped out while memory is short
 *
 * A page is locked once it is used: tables take no memory before they need it. Logs a refusal.
 */
void memory_lock(void);

/** memory_own - bytes of our address space, and those that are resident; 0: not known */
uint64_t memory_own(uint64_t *ret_resident);

/*
 * Memory pressure, PSI: the time for which some tasks, or all that had work, waited for memory
 * (Documentation/accounting/psi.rst).
 */
struct memory_pressure {
	bool known;
	unsigned int some_avg10; /* hundredths of a percent of the last 10 s */
	unsigned int full_avg10;
	uint64_t some; /* us since the machine started */
	uint64_t full;
	uint64_t oom_kills; /* see memory_counts() */
	uint64_t refaults;  /* pages that were read again after reclaim took them */
};

/** memory_pressure_read - read the machine's as it is now; allocates nothing; not known if the kernel has no PSI */
void memory_pressure_read(struct memory_pressure *pressure);

/** memory_counts - read the kernel's own counts alone; @proc: of /proc, or -1; false if it has none of OOM kills */
bool memory_counts(int proc, struct memory_pressure *pressure);

/**
 * memory_pressure_parse - parse the text of /proc/pressure/memory, which may be joined to one line
 *
 * Not known if a number is missing.
 */
void memory_pressure_parse(const char *text, struct memory_pressure *pressure);

#endif
