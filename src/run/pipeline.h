/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_PIPELINE_H
#define ALLOCFILT_RUN_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "allocfilt/run.h"

/*
 * The stages put together, the same for a running kernel and for a capture: from pages to records,
 * in the order of time, to windows and pairs, to stalls, and from these to output and summary.
 */

struct pipeline;

/**
 * pipeline_new - allocate all that the run will take and read formats and symbols
 *
 * What it gets has to live as long, the options until pipeline_change(). Returns 0, or -errno with
 * @failure (3 where kallsyms shows no addresses, else 1).
 */
int pipeline_new(struct pipeline **pipeline, const struct options *options, const struct plan *plan,
		 const struct data_source *source, struct writer *writer, struct failure *failure);
void pipeline_free(struct pipeline *pipeline);

/** pipeline_address - of a function that pipeline_new() looked for (shrinkers' are); 0: none */
uint64_t pipeline_address(const struct pipeline *pipeline, const char *function);

/** pipeline_read_probe - the format of a probe that was made after pipeline_new() */
void pipeline_read_probe(struct pipeline *pipeline);

/** pipeline_source_sink - to read rounds with */
void pipeline_source_sink(struct pipeline *pipeline, struct source_sink *sink);

/** pipeline_end_round - after each round; 1: a CPU was left with data, 0, or -errno of output */
int pipeline_end_round(struct pipeline *pipeline);

/** pipeline_flush - at the end: all records that are held; 0 or the -errno of the output */
int pipeline_flush(struct pipeline *pipeline);

/** pipeline_change - other options, of which those may differ that need no new set-up */
void pipeline_change(struct pipeline *pipeline, const struct options *options);

/** pipeline_count_unread - CPUs that could not be opened for want of descriptors; the most counts */
void pipeline_count_unread(struct pipeline *pipeline, unsigned int cpus);

/** pipeline_losses - records that were lost, for what the pages do not tell and for messages */
struct losses *pipeline_losses(struct pipeline *pipeline);

/** pipeline_output - where the lines go, for its ticks */
struct output *pipeline_output(struct pipeline *pipeline);

/** pipeline_view - all that was seen so far; valid until the next record */
void pipeline_view(struct pipeline *pipeline, struct summary_view *view);

/** pipeline_log_end - the final messages about the run: losses, what limits dropped */
void pipeline_log_end(struct pipeline *pipeline);

/**
 * pipeline_flaws - what of the data was damaged or could not be read
 * @text: what it was, "" for nothing
 *
 * Returns how many.
 */
uint64_t pipeline_flaws(const struct pipeline *pipeline, char *text, size_t size);

/* What a run shows of its pipeline, besides the lines of the output. */

/**
 * summary_print - at the end, to the output, and to stderr where a person would not see it else
 *
 * Returns 0 or -errno of the writer.
 */
int summary_print(const struct run_context *run, struct pipeline *pipeline);

/** summary_print_so_far - in answer to SIGUSR1, to stderr; in JSON where that is the form */
void summary_print_so_far(const struct run_context *run, struct pipeline *pipeline);

/**
 * metrics_start - allocate what the file of --metrics takes; a name that nobody collects is warned of
 *
 * Returns 0, or -errno with @failure. Release with metrics_file_free().
 */
int metrics_start(struct metrics_file **file, const char *path, struct failure *failure);

/**
 * metrics_write - the file anew
 * @run: of a running kernel, for what is of the process; NULL: left out
 * @tracing: is it on? Else it waits for others
 *
 * Returns 0, or -errno with @failure.
 */
int metrics_write(struct metrics_file *file, struct pipeline *pipeline,
		  const struct run_context *run, bool tracing, struct failure *failure);

#endif
