/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_PIPELINE_H
#define ALLOCFILT_RUN_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base/line.h"
#include "allocfilt/capture/write.h"
#include "allocfilt/output/form.h"
#include "allocfilt/tracing/cpu_buffers.h"

/*
 * Connects the stages, for a running kernel and for a capture alike: pages to records in order of
 * time, to windows and pairs of events, to stalls, to output and summary. Stalls shorter than
 * config_report() are counted and not shown; run/selection.h chooses among the others. A record
 * allocates nothing, unless it is the first of an unknown type.
 */

struct pipeline;

/**
 * pipeline_new - allocate the memory that records need, read formats; of a capture symbols, too
 * @form: of the output; NULL: that of the options
 *
 * The arguments must outlive the pipeline. Returns 0, or -errno with @failure (3 where kallsyms shows
 * no addresses, else 1).
 */
int pipeline_new(struct pipeline **pipeline, const struct options *options, const struct plan *plan,
		 const struct data_source *source, struct writer *writer,
		 const struct output_form *form, struct failure *failure);
void pipeline_free(struct pipeline *pipeline);

#define LONGEST_MAX 1000

/* The longest stalls of tasks that waited. */
struct longest {
	unsigned int most, count;
	uint64_t ns[LONGEST_MAX]; /* the longest first */
	unsigned int equal;	  /* of the shortest of them, how many are still to be shown */
	bool known;
};

/**
 * pipeline_longest - show no stall but these; all are counted
 * @longest: filled, and no stall is shown, until it is known
 */
void pipeline_longest(struct pipeline *pipeline, struct longest *longest);

/** pipeline_resolver - to read symbols and the pressure of cgroups when it is time */
struct resolver *pipeline_resolver(struct pipeline *pipeline);

/** pipeline_read_probes - read the formats of our probes, installed after pipeline_new() */
void pipeline_read_probes(struct pipeline *pipeline);

/**
 * pipeline_read_capture, pipeline_read_buffers - set the source of pages for pipeline_read()
 * @writer: gets a copy of each page; NULL: none
 *
 * The arguments have to outlive all reading. Records of other buffers that were read before, and not
 * passed on, are dropped.
 */
void pipeline_read_capture(struct pipeline *pipeline, struct capture *capture);
void pipeline_read_buffers(struct pipeline *pipeline, struct cpu_buffers *buffers,
			   struct capture_writer *writer);

/**
 * pipeline_read - pass on some records, in order of time
 *
 * Returns 1, 0 where there are no more now (of a capture: at its end), or -errno of the output or the
 * writer.
 */
int pipeline_read(struct pipeline *pipeline);

/**
 * pipeline_read_all - pass on all records that there are now
 *
 * It ends early when it has taken long: signals and timers have to be served. Returns pages read, one
 * more where it ended early, or -errno as pipeline_read(). So 0: there was nothing.
 */
int pipeline_read_all(struct pipeline *pipeline);

/** pipeline_quiet - no record has come for @ns (of a clock): end stalls; 0 or -errno of the output */
int pipeline_quiet(struct pipeline *pipeline, uint64_t ns);

/** pipeline_flush - at the end: end what is in progress, and the last interval; 0 or -errno of the output */
int pipeline_flush(struct pipeline *pipeline);

/** pipeline_pause - the same where tracing begins again, with all events on, and the interval goes on */
int pipeline_pause(struct pipeline *pipeline);

/**
 * pipeline_waited - ns that tasks waited for memory in what was read since the last call
 * @ret_longest: ns of the longest of these waits
 */
uint64_t pipeline_waited(struct pipeline *pipeline, uint64_t *ret_longest);

/** pipeline_lose_events - the plan dropped some: what has begun does not end; the next mark tells when */
void pipeline_lose_events(struct pipeline *pipeline);

/** pipeline_count_unread - CPUs not opened for lack of descriptors; the maximum is reported */
void pipeline_count_unread(struct pipeline *pipeline, unsigned int cpus);

/**
 * pipeline_switch_events - events were switched off or on again while tracing goes on
 * @off: of each event of the plan, is it off now?
 *
 * To be followed by session_mark_clock(): as soon as its mark is read, or at the end, stalls of that time are
 * incomplete, and no pair of events reaches across. Without the scheduler's events no state of a task is
 * known.
 */
void pipeline_switch_events(struct pipeline *pipeline, const bool *off);

/** pipeline_losses - lost records, to add those that pages do not report, and for messages */
struct losses *pipeline_losses(struct pipeline *pipeline);

/** pipeline_output - the output, for its ticks */
struct output *pipeline_output(struct pipeline *pipeline);

/** pipeline_view - the totals so far; valid until the next record */
void pipeline_view(struct pipeline *pipeline, struct summary_view *view);

/** pipeline_log_end - log the final messages: losses, what limits dropped, flaws of a live run */
void pipeline_log_end(struct pipeline *pipeline);

/**
 * pipeline_flaws - describe the data that was damaged or could not be read
 *
 * Returns the number of flaws; @text is empty where it is 0.
 */
uint64_t pipeline_flaws(const struct pipeline *pipeline, struct line *text);

/** pipeline_log_flaws - warn of them, in a run on a kernel: once tracing is on, and at the end */
void pipeline_log_flaws(const struct pipeline *pipeline);

#endif
