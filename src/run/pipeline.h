/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_PIPELINE_H
#define ALLOCFILT_RUN_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/journal.h"
#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"

/*
 * The stages put together, the same for a running kernel and for a capture:
 * page, decode, merge, task, and the report.
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

/** pipeline_end - the summary at the end of the output; 0 or -errno of the writer */
int pipeline_end(struct pipeline *pipeline);

/** pipeline_so_far - the summary as it stands, to a writer of the caller's; JSON with -f json */
int pipeline_so_far(struct pipeline *pipeline, struct writer *writer);

/** pipeline_metrics - the summary as metrics, to a writer of the caller's; 0 or its -errno */
int pipeline_metrics(struct pipeline *pipeline, struct writer *writer,
		     const struct metrics_process *process);

/** pipeline_for_people - the summary as text, to a writer of the caller's */
int pipeline_for_people(struct pipeline *pipeline, struct writer *writer);

/** pipeline_tick - about once a second; @now: ns of a clock that never goes back */
void pipeline_tick(struct pipeline *pipeline, uint64_t now);

/** pipeline_change - what a new configuration may change while a run goes on */
void pipeline_change(struct pipeline *pipeline, const struct options *options);

/** pipeline_journal - how the journal went; false, and all 0, where no entries are written */
bool pipeline_journal(const struct pipeline *pipeline, struct journal_counts *ret_counts);

/** pipeline_status - a line on the run, for systemd's STATUS=; returns its length */
size_t pipeline_status(const struct pipeline *pipeline, char *text, size_t size);

/** pipeline_unread - so many CPUs could not be opened for want of descriptors; the most is kept */
void pipeline_unread(struct pipeline *pipeline, unsigned int cpus);

/** pipeline_dropped - records that a CPU lost and that no page tells of; once, at the end */
void pipeline_dropped(struct pipeline *pipeline, int cpu, uint64_t count);

/** pipeline_say_losses - at most once a second; @now: ns of a clock that never goes back */
void pipeline_say_losses(struct pipeline *pipeline, uint64_t now);

/** pipeline_say_end - the final lines about the run: losses, what limits dropped */
void pipeline_say_end(const struct pipeline *pipeline);

/**
 * pipeline_flaws - what of the data was damaged or could not be read
 * @text: what it was, "" for nothing
 *
 * Returns how many.
 */
uint64_t pipeline_flaws(const struct pipeline *pipeline, char *text, size_t size);

#endif
