/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_MERGE_H
#define ALLOCFILT_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_list.h"
#include "record.h"

/*
 * Records of all CPUs in one order of time. The buffers are read in rounds: what was written
 * before a round began is read by its end, so when a round ends, all records up to the newest time
 * seen in the round before can go. A CPU that was left with data holds the line at the newest time
 * that was read from it. Equal times: the lower CPU first; one CPU's records keep their order.
 */

#define MERGE_CPU_BYTES	(256u << 10)	/* held for a CPU, where a machine has few */
#define MERGE_BYTES	(4u << 20)	/* for all of them, where that is a page or more for each */

struct merge;

/** merge_page_bytes - what the records of a page of @page_size bytes may take, at most */
size_t merge_page_bytes(size_t page_size);

/** merge_share - bytes for each of so many CPUs, merge_page_bytes() at least */
size_t merge_share(int cpus, size_t page_size);

/**
 * merge_new
 * @cpus: the list is copied, its numbers are not
 * @share: bytes for the records of each CPU, all allocated here
 *
 * Returns NULL with errno ENOMEM or EINVAL.
 */
struct merge *merge_new(const struct cpu_list *cpus, size_t share, record_sink sink,
			void *context);
void merge_free(struct merge *merge);

/**
 * merge_put - take a record of record->cpu, whose times do not go back within a CPU
 *
 * A record that goes back in time all the same (seen with damaged data) is put at the newest time
 * of its CPU. Full: the oldest records go out early, in order, and are counted in
 * merge_forced(): a source that asks merge_has_room() before each page never gets there. Returns
 * 0, -EINVAL for a CPU that is not in the list, -EMSGSIZE for a record larger than the share, or
 * what the sink returned.
 */
int merge_put(void *merge, const struct record *record);

/**
 * merge_has_room - may @cpu put records of @bytes in all more? See merge_page_bytes().
 *
 * Each CPU has its share, so that one that runs ahead in time cannot fill what the one that holds
 * the line needs to get on. A page for each is enough for that: what the one that holds the line
 * has read goes out, at the latest a round later.
 */
bool merge_has_room(const struct merge *merge, int cpu, size_t bytes);

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
