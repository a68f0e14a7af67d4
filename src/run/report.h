/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_REPORT_H
#define ALLOCFILT_RUN_REPORT_H

#include <stdbool.h>

#include "allocfilt/output/metrics.h"
#include "allocfilt/run/run.h"
#include "run/pipeline.h"

/* Summaries and metrics of a run. */

/**
 * summary_print - print the final summary to the output, and to stderr if only that is a terminal
 *
 * Returns 0 or -errno of the writer.
 */
int summary_print(const struct run_context *run, struct pipeline *pipeline);

/**
 * summary_print_so_far - on SIGUSR1, print the summary to stderr; as JSON with that format
 *
 * It is asked for, so --summary=none means the short form.
 */
void summary_print_so_far(const struct run_context *run, struct pipeline *pipeline);

/**
 * output_failed - the output could not be written; no failure if its reader has gone (-EPIPE)
 * @error: -errno of the writer
 *
 * Returns 0, or @error with @failure (status 1).
 */
int output_failed(int error, struct failure *failure);

/**
 * metrics_start - allocate memory for --metrics; warns of a name that node_exporter ignores
 *
 * A directory of the command line has to be there, but a service waits for one.
 * Returns 0, or -errno with @failure. Release with metrics_file_free().
 */
int metrics_start(struct metrics_file **file, const struct options *options,
		  struct failure *failure);

/**
 * metrics_write - write the file again
 * @run: for metrics of our process; NULL (a capture): leave them out
 * @tracing: is tracing on? False while another user traces
 * @last: the run has ended
 *
 * Returns 0, or -errno with @failure.
 */
int metrics_write(struct metrics_file *file, struct pipeline *pipeline,
		  const struct run_context *run, bool tracing, bool last, struct failure *failure);

#endif
