/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_METRICS_RUN_H
#define ALLOCFILT_RUN_METRICS_RUN_H

#include "allocfilt/base.h"
#include "allocfilt/output.h"
#include "run/pipeline.h"

/* The metrics of a run in their file: --metrics. */

/**
 * metrics_start - allocate what the file takes; a name that nobody collects gets a warning
 *
 * Returns 0, or -errno with @failure. Release with metrics_file_free().
 */
int metrics_start(struct metrics_file **file, const char *path, struct failure *failure);

/** metrics_write - the file anew; 0, or -errno with @failure */
int metrics_write(struct metrics_file *file, struct pipeline *pipeline,
		  const struct metrics_process *process, struct failure *failure);

/**
 * metrics_keep_up - the file anew, in a run that goes on whatever becomes of it
 *
 * A failure is logged once, and its end as well.
 */
void metrics_keep_up(struct metrics_file *file, struct pipeline *pipeline,
		     const struct metrics_process *process);

#endif
