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
 * Connects the stages, for a running kernel and for a capture alike: pages to records in order of
 * time, to windows and pairs of events, to stalls, to output and summary.
 */

struct pipeline;

/**
 * pipeline_new - allocate all memory of the run, read formats and symbols
 *
 * The arguments must outlive the pipeline. Returns 0, or -errno with @failure (3 where kallsyms shows
 * no addresses, else 1).
 */
int pipeline_new(struct pipeline **pipeline, const struct options *options, const struct plan *plan,
		 const struct data_source *source, struct writer *writer, struct failure *failure);
void pipeline_free(struct pipeline *pipeline);

/** pipeline_read_symbols - see resolver_read_symbols() */
void pipeline_read_symbols(struct pipeline *pipeline);

/** pipeline_address - address of a function among the symbols that were read; 0: none */
uint64_t pipeline_address(const struct pipeline *pipeline, const char *function);

/** pipeline_read_probe - read the format of our probe, installed after pipeline_new() */
void pipeline_read_probe(struct pipeline *pipeline);

/**
 * pipeline_set_pages - use the size of the source's pages, which may have changed
 *
 * What is held is discarded, see pipeline_flush(). Returns 0, or -ENOMEM: then no page may come
 * before this has succeeded.
 */
int pipeline_set_pages(struct pipeline *pipeline);

/** pipeline_source_sink - the sink that rounds of reading pass pages to */
void pipeline_source_sink(struct pipeline *pipeline, struct source_sink *sink);

/** pipeline_end_round - call after each round; 1: a CPU has more data, 0, or -errno of output */
int pipeline_end_round(struct pipeline *pipeline);

/**
 * pipeline_read - read the buffers of a running kernel
 * @sink: of pipeline_source_sink(), or one that passes on to it
 *
 * Reads rounds until no CPU is left with data, and one more after a round that read something: the
 * merge passes on what that round read. Returns pages read, or -errno of the output.
 */
int pipeline_read(struct pipeline *pipeline, struct cpu_buffers *buffers,
		  const struct source_sink *sink);

/** pipeline_flush - pass on all held records, at the end; 0 or -errno of the output */
int pipeline_flush(struct pipeline *pipeline);

/** pipeline_count_unread - CPUs not opened for lack of descriptors; the maximum is reported */
void pipeline_count_unread(struct pipeline *pipeline, unsigned int cpus);

/**
 * pipeline_switch_events - events were switched off or on again while tracing goes on
 * @off: of each event of the plan, is it off now?
 *
 * To be followed by session_mark_clock(): as soon as its mark is read, stalls of that time are
 * incomplete, and no pair of events reaches across. Without the scheduler's events no state of a task is
 * known.
 */
void pipeline_switch_events(struct pipeline *pipeline, const bool *off);

/** pipeline_losses - lost records, to add those that pages do not report, and for messages */
struct losses *pipeline_losses(struct pipeline *pipeline);

/** pipeline_output - the output, for its ticks */
struct output *pipeline_output(struct pipeline *pipeline);

/** pipeline_see_tasks - see account_see_tasks(); without an account it does nothing */
int pipeline_see_tasks(struct pipeline *pipeline);

/** pipeline_account - the kernel's histograms were read; see account_read(). For a run with an account */
int pipeline_account(struct pipeline *pipeline, char *texts[HISTOGRAM_COUNT]);

/** pipeline_view - the totals so far; valid until the next record */
void pipeline_view(struct pipeline *pipeline, struct summary_view *view);

/**
 * pipeline_end_interval - show the summary of the interval (--interval) so far and begin the next one
 *
 * For a running kernel, when an interval is over. Does nothing without new records, or intervals.
 * Returns 0, or -errno of the output.
 */
int pipeline_end_interval(struct pipeline *pipeline);

/** pipeline_log_end - log the final messages: losses, and what limits dropped */
void pipeline_log_end(struct pipeline *pipeline);

/**
 * pipeline_flaws - describe the data that was damaged or could not be read
 *
 * Returns the number of flaws; @text is empty where it is 0.
 */
uint64_t pipeline_flaws(const struct pipeline *pipeline, struct line *text);

#endif
