/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_MEMORY_H
#define ALLOCFILT_BASE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/**
 * memory_available - bytes that can be had without swapping; UINT64_MAX if the kernel does not say
 *
 * MemAvailable of /proc/meminfo: si_mem_available(), by which the kernel itself refuses to let a
 * ring buffer grow.
 */
uint64_t memory_available(void);

/*
 * Memory pressure, PSI: for how long some tasks, or all that had work, waited for memory. Linux,
 * Documentation/accounting/psi.rst. The kernel brings the totals up to date every two seconds.
 */
struct memory_pressure {
	bool known;
	unsigned int some_avg10; /* hundredths of a percent of the last 10 s */
	unsigned int full_avg10;
	uint64_t some; /* us since the machine started */
	uint64_t full;
};

/** memory_pressure_open - a descriptor for memory_pressure_read(); -1 if the kernel has no PSI */
int memory_pressure_open(void);

/** memory_pressure_read - the pressure now; allocates nothing; not known without a descriptor */
void memory_pressure_read(int fd, struct memory_pressure *pressure);

/**
 * memory_pressure_parse - parse the text of /proc/pressure/memory, or what is on one line of it
 *
 * Not known if a number is missing.
 */
void memory_pressure_parse(const char *text, struct memory_pressure *pressure);

#endif
