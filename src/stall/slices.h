/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_SLICES_H
#define ALLOCFILT_STALL_SLICES_H

#include "stall/runs.h"
#include "stall/task_log.h"

/* Arrays of STALL_SLICES_MAX slices, of which *@count are used. */

/** slices_add - add up slices of one kind; true: the array is full, and the one with least time is gone */
bool slices_add(struct stall_slice *slices, size_t *count, const struct stall_slice *slice);

/** slices_add_runners - add the tasks that ran between two times where a task waited for a CPU */
void slices_add_runners(const struct runs *runs, const struct log_off_cpu *off_cpu, uint64_t from,
			uint64_t to, struct stall_slice *slices, size_t *count);

/** slices_sort - most time first */
void slices_sort(struct stall_slice *slices, size_t count);

#endif
