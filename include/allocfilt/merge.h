/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_MERGE_H
#define ALLOCFILT_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

/*
 * Records of all CPUs in one order of time. The buffers are read in rounds: what was written
 * before a round began is read by its end, so when a round ends, all records up to the newest time
 * seen in the round before can go. A CPU that was left with data holds the line at the newest time
 * that was read from it. Equal times: the lower CPU first; one CPU's records keep their order.
 */

#define MERGE_CPU_RECORDS	4096	/* records held for a CPU, where a machine has few */

struct merge;

/**
 * merge_new
 * @cpus: CPUs are 0 … cpus-1
 * @records: how many records it can hold, all allocated here; each CPU has an equal share
 *
 * Returns NULL with errno ENOMEM or EINVAL.
 */
struct merge *merge_new(int cpus, size_t records, record_sink sink, void *context);
void merge_free(struct merge *merge);

/**
 * merge_put - take a record of record->cpu, whose times do not go back within a CPU
 *
 * A record that goes back in time all the same (seen with damaged data) is put at the newest time
 * of its CPU. Full: the oldest records go out early, in order, and are counted in
 * merge_forced(): a source that asks merge_has_room() before each page never gets there. Returns
 * 0, -ENOMEM (a large payload), or what the sink returned.
 */
int merge_put(void *merge, const struct record *record);

/**
 * merge_has_room - may @cpu put @records more?
 *
 * Each CPU has its share, so that one that runs ahead in time cannot fill what the one that holds
 * the line needs to get on.
 */
bool merge_has_room(const struct merge *merge, int cpu, size_t records);

/** merge_left_with_data - in this round @cpu was not read to its end */
void merge_left_with_data(struct merge *merge, int cpu);

/** merge_end_round - hand on what can go; returns 0 or what the sink returned */
int merge_end_round(struct merge *merge);

/** merge_flush - hand on all that is held, at the end of a run or a capture */
int merge_flush(struct merge *merge);

/** merge_held - records held now */
size_t merge_held(const struct merge *merge);
uint64_t merge_forced(const struct merge *merge);

#endif
