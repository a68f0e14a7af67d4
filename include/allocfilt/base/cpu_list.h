/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_CPU_LIST_H
#define ALLOCFILT_BASE_CPU_LIST_H

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

#endif
