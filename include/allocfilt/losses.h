/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_LOSSES_H
#define ALLOCFILT_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu_list.h"

/* Records that the kernel (or a damaged page) lost, per CPU, and when to speak of them. */

struct losses;

/** losses_new - the list is copied, its numbers are not; NULL with errno ENOMEM */
struct losses *losses_new(const struct cpu_list *cpus);
void losses_free(struct losses *losses);

/** losses_add - count may be RECORD_LOST_UNKNOWN; a CPU that is not in the list is ignored */
void losses_add(struct losses *losses, int cpu, int64_t count);

/** losses_of - records of a CPU of the list; @ret_unknown: times that nobody knows how many */
uint64_t losses_of(const struct losses *losses, int cpu, uint64_t *ret_unknown);

/** losses_any - has anything been lost? */
bool losses_any(const struct losses *losses);

/**
 * losses_say - log_warning() for each CPU with new losses, but not within a second of the last time
 * @now: ns of a clock that never goes back
 *
 * Of a live run: it says what helps.
 */
void losses_say(struct losses *losses, uint64_t now);

/**
 * losses_say_all - the final lines: one for each CPU that lost any, or that nothing was lost
 * @live: say what helps; what a capture has lost is lost
 */
void losses_say_all(const struct losses *losses, bool live);

#endif
