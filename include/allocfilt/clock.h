/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CLOCK_H
#define ALLOCFILT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Wall-clock time of a time of the trace clock, by the marks that are in the data. */

#define CLOCK_TEXT_MAX 40

struct clock_anchor {
	bool known;
	uint64_t ts;		/* ns, trace clock */
	uint64_t realtime;	/* ns since the epoch */
};

/** clock_mark - a mark in the data: from here on it is the one that counts, also backwards */
void clock_mark(struct clock_anchor *anchor, uint64_t ts, uint64_t realtime);

/**
 * clock_text - RFC 3339, UTC, with nanoseconds: "2026-11-21T14:45:00.123456789Z"
 *
 * Returns false, and an empty text, before the first mark.
 */
bool clock_text(const struct clock_anchor *anchor, uint64_t ts, char text[CLOCK_TEXT_MAX]);

#endif
