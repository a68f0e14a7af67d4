/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_TRACE_DIR_H
#define ALLOCFILT_BASE_TRACE_DIR_H

/*
 * What lies below the tracing directory, or a capture, which is laid out in the same way.
 */

/**
 * cpu_directories - numbers of the cpuN directories below @dir/per_cpu, ascending
 *
 * Returns how many, or -errno; free() the array.
 */
int cpu_directories(const char *dir, int **ret_cpus);

/**
 * event_directories - call @visit for each events/SYSTEM/NAME, in no order
 * @dir: the directory that contains `events`
 * @visit: non-zero stops; on file systems whose readdir() has no types it also gets plain files
 *
 * Returns 0, what @visit returned, or -errno where `events` cannot be read.
 */
int event_directories(const char *dir,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context);

#endif
