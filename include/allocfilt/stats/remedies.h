/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_REMEDIES_H
#define ALLOCFILT_STATS_REMEDIES_H

#include "allocfilt/stall/stall.h"

/*
 * Remedies: each row of a table explains the time of some phases, under a condition on
 * the facts of the stall. A nanosecond counts for the first row that fits, so the rows do not add up to
 * more than the time that was waited. Rows with a tenth of that time are shown: the data bear them out. So is
 * the OOM killer, which takes little time from the others and all from one, and this program, if it had more
 * than 5 % of the CPU time that was waited for.
 */

#define REMEDIES       20 /* rows */
#define REMEDIES_SHOWN 3

/* Sentences, of at most 94 bytes. */
struct remedy {
	const char *key;     /* for programs: "cpu" */
	const char *finding; /* what it means */
	const char *look;    /* what to look at */
	const char *change;
	const char *source; /* manuals, and files of the kernel's documentation */
};

extern const struct remedy remedy_none; /* says that none is shown */

/* Starts with all zeros. */
struct remedies {
	uint64_t total; /* ns of all stalls and short memory waits */
	uint64_t ns[REMEDIES];
};

/** remedies_stall - count a stall of a task that waited */
void remedies_stall(struct remedies *remedies, const struct named_stall *named);

/** remedies_add - add @more to @remedies */
void remedies_add(struct remedies *remedies, const struct remedies *more);

/**
 * remedies_wait - count a memory wait by its reason; a long one is counted with its stall
 * @named: the task and the limit; its stall has no facts but the group of the reason
 */
void remedies_wait(struct remedies *remedies, const struct named_stall *named,
		   const struct memory_wait *wait, bool is_long);

/**
 * remedies_at - the OOM killer, this program, what has most time, and last what is not explained; NULL after the last
 * @ret_ns: the time that it explains
 */
const struct remedy *remedies_at(const struct remedies *remedies, int rank, uint64_t *ret_ns);

/** remedies_ns - the time that a remedy of remedies_at(), perhaps of another sum, explains */
uint64_t remedies_ns(const struct remedies *remedies, const struct remedy *remedy);

#endif
