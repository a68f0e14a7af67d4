/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_METRICS_TEXT_H
#define ALLOCFILT_OUTPUT_METRICS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/output.h"

/*
 * The summary as metrics for Prometheus. All counters are of the run, so they begin at 0 with it.
 * Everybody may read them: no address of the kernel is among them, and no name of a task.
 */

/* What the summary does not know of the process itself. */
struct metrics_process {
	bool tracing;	    /* false: waits for tracing that somebody else has */
	uint64_t uptime;    /* ns */
	uint64_t resident;  /* bytes, 0: not known */
	uint64_t cpu;	    /* ns, user and system */
	uint64_t held_back; /* entries of the journal: too many at once */
	uint64_t dropped;   /* entries that could not be sent */
};

/**
 * metrics_text - all families, in the text format 0.0.4
 * @process: NULL over a capture: then what is of the process is left out
 *
 * Allocates nothing. Series that would have the same labels are one: counts and times are added
 * up. Returns 0 or -errno of the writer, which is not flushed.
 */
int metrics_text(struct writer *writer, const struct summary_view *view,
		 const struct metrics_process *process);

#endif
