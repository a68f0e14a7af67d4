/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_TRACE_DIR_H
#define ALLOCFILT_BASE_TRACE_DIR_H

/* Directories below the tracing directory, or below a capture, which has the same layout. */

/*
 * The possible CPUs, which index the per-CPU tables. Their numbers may have gaps. A tracing
 * directory lists all of them, so a CPU that comes online later has an index already.
 */
struct cpu_list {
	const int *numbers; /* ascending; not owned */
	int count;	    /* at least 1 */
};

/** cpu_list_place - index of a CPU, 0 to count - 1; -1 if the list lacks it */
int cpu_list_place(const struct cpu_list *cpus, int cpu);

/** cpu_list_highest - the highest number */
int cpu_list_highest(const struct cpu_list *cpus);

/**
 * cpu_directories - numbers of the cpuN directories below @dir/per_cpu, ascending
 *
 * Returns their number, or -errno; free() the array.
 */
int cpu_directories(const char *dir, int **ret_cpus);

/**
 * event_directories - call @visit for each events/SYSTEM/NAME, in no order
 * @dir: the directory that contains `events`
 * @visit: stops by returning non-zero; where readdir() has no types it also gets plain files
 *
 * Returns 0, the value of @visit that was not 0, or -errno if `events` cannot be read.
 */
int event_directories(const char *dir,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context);

#endif
