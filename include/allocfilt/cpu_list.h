/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CPU_LIST_H
#define ALLOCFILT_CPU_LIST_H

/*
 * The CPUs that there can be, of which each has a place in the tables that are per CPU: numbers may
 * have gaps, and the highest says nothing of how many there are. A tracing directory lists all
 * possible CPUs, so one that comes online later has its place.
 */

struct cpu_list {
	const int *numbers;	/* ascending; of somebody else, who keeps them as long */
	int count;		/* at least 1 */
};

/** cpu_list_place - 0 … count-1, or -1 for a CPU that is not in the list */
int cpu_list_place(const struct cpu_list *cpus, int cpu);

/** cpu_list_highest - the highest number */
int cpu_list_highest(const struct cpu_list *cpus);

#endif
