/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_LOSSES_H
#define ALLOCFILT_RECORD_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base/trace_dir.h"

/* Losses of records by CPU, and the messages about them. A damaged page counts as a loss. */

struct losses;

/** losses_new - the list is copied, its numbers are not; NULL if there is no memory */
struct losses *losses_new(const struct cpu_list *cpus);
void losses_free(struct losses *losses);

/** losses_add - @count may be RECORD_LOST_UNKNOWN; a CPU that is not in the list is ignored */
void losses_add(struct losses *losses, int cpu, int64_t count);

/** losses_taken - another reader takes records of the buffer: messages do not advise a larger one */
void losses_taken(struct losses *losses);

/** losses_of - records lost by a CPU, 0 of one that is not in the list; @ret_unknown: times without a count */
uint64_t losses_of(const struct losses *losses, int cpu, uint64_t *ret_unknown);

/** losses_total - records lost by all CPUs; @ret_unknown: times without a count */
uint64_t losses_total(const struct losses *losses, uint64_t *ret_unknown);

/**
 * losses_report - log_warning() for each CPU with new losses, at most once a second
 * @now: ns of a clock that never goes back
 *
 * For a live run: it advises a larger buffer.
 */
void losses_report(struct losses *losses, uint64_t now);

/**
 * losses_report_all - the final lines: one for each CPU that lost records, or with @live that none did
 * @live: advise a larger buffer
 */
void losses_report_all(const struct losses *losses, bool live);

#endif
