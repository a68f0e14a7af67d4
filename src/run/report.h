/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_REPORT_H
#define ALLOCFILT_RUN_REPORT_H

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/journal.h"
#include "allocfilt/names.h"
#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "allocfilt/stall.h"

/*
 * From windows and pairs to what is shown: stalls, the output in its form, shrinkers, summary.
 */

struct report;

/** report_new - all that it will ever take is allocated here; NULL with errno ENOMEM */
struct report *report_new(const struct options *options, const struct plan *plan,
			  const struct data_source *source, struct resolver *resolver,
			  const struct losses *losses, struct writer *writer);
void report_free(struct report *report);

/** report_window, report_pair - the task stage's sink; the context is the report */
int report_window(void *report, const struct task_window *window);
int report_pair(void *report, const struct task_pair *pair);

/** report_record - each record in order, before the task stage: time, and what was lost */
int report_record(struct report *report, const struct record *record);

/** report_flush - at the end of the data; 0 or -errno of the writer */
int report_flush(struct report *report);

/* The tables of the report that may have been full; the rest is the caller's. */
#define REPORT_OVERFLOWS 3

/** report_overflows - fills an array of at least REPORT_OVERFLOWS; returns how many */
size_t report_overflows(const struct report *report, struct overflow *overflows);

/** report_end - the summary at the end of the output; nothing comes behind it */
int report_end(struct report *report, const struct overflow *overflows, size_t nr_overflows);

/** report_so_far - the summary as it stands, to another writer, in JSON where that is the form */
int report_so_far(struct report *report, struct writer *writer, const struct overflow *overflows,
		  size_t nr_overflows);

/**
 * report_tick - about once a second, for what goes by time: entries of the journal that wait
 * @now: ns of a clock that never goes back
 */
void report_tick(struct report *report, uint64_t now);

/** report_change - other rules for entries of the journal, and as many tasks and cgroups */
void report_change(struct report *report, const struct options *options);

/** report_journal - how the journal went; false, and all 0, where no entries are written */
bool report_journal(const struct report *report, struct journal_counts *ret_counts);

/** report_status - a line on the run, as status_line() has it; returns its length */
size_t report_status(const struct report *report, char *text, size_t size);

/** report_metrics - the summary as metrics, to another writer; @process: metrics_text() */
int report_metrics(struct report *report, struct writer *writer, const struct overflow *overflows,
		   size_t nr_overflows, const struct metrics_process *process);

/** report_for_people - the summary as text, to another writer */
int report_for_people(struct report *report, struct writer *writer,
		      const struct overflow *overflows, size_t nr_overflows);

#endif
