// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base.h"

static int search(const struct cpu_list *cpus, int cpu)
{
	int low = 0;
	int high = cpus->count;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (cpus->numbers[middle] < cpu)
			low = middle + 1;
		else
			high = middle;
	}
	return low < cpus->count && cpus->numbers[low] == cpu ? low : -1;
}

/* Where nothing is missing, a CPU's number is its place. */
int cpu_list_place(const struct cpu_list *cpus, int cpu)
{
	if (cpu >= 0 && cpu < cpus->count && cpus->numbers[cpu] == cpu)
		return cpu;
	return search(cpus, cpu);
}

int cpu_list_highest(const struct cpu_list *cpus)
{
	return cpus->numbers[cpus->count - 1];
}
