/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MADE_CPUS_H
#define MADE_CPUS_H

#include "allocfilt/base/trace_dir.h"

#define MADE_CPUS_MAX 256

/* The CPUs 0 … count-1. */
static inline struct cpu_list made_cpus(int count)
{
	static int numbers[MADE_CPUS_MAX];

	for (int i = 0; i < MADE_CPUS_MAX; i++)
		numbers[i] = i;
	return (struct cpu_list){ numbers, count };
}

#endif
