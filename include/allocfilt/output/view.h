/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_VIEW_H
#define ALLOCFILT_OUTPUT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base/writer.h"
#include "allocfilt/record/losses.h"
#include "allocfilt/stats/summary.h"
#include "allocfilt/stats/units.h"

/* The counts of a run as the summary and the metrics show them. */

struct journal_counts {
	uint64_t entries;   /* written */
	uint64_t held_back; /* stalls without an entry of their own */
	uint64_t dropped;   /* entries that could not be sent, nor kept until later */
};

/* Stalls that are in no output and in no figure, kernel threads' too. */
struct not_shown {
	uint64_t shorter; /* than --report */
	uint64_t others;  /* left out by --comm, --cgroup or --min-order */
};

/* The cost of a run on a running kernel since its start. */
struct own_cost {
	uint64_t cpu;		 /* ns of CPU time, user and system */
	uint64_t records;	 /* records read from the kernel's ring buffers */
	unsigned int events_off; /* events are off now, because of max-cpu */
	bool had_events_off;	 /* events were off at some time in this run */
};

/* Counts how often a table was full. */
struct overflow {
	const char *key;  /* for programs */
	const char *text; /* for people: "waiting events were dropped" */
	uint64_t count;
};

#define SUMMARY_OVERFLOWS 8

/* The scheduler's events of all tasks that --off-cpu recorded. */
struct sched_counts {
	uint64_t switches;
	uint64_t wakeups;
};

/* The sources of a summary. */
struct summary_view {
	const struct options *options;
	const struct plan *plan;
	const struct data_source *source; /* NULL: nothing is known of the machine */
	struct resolver *resolver;
	struct summary *summary;
	struct units *units;		       /* NULL: not counted, as nobody asks */
	struct shrinker_names *shrinker_names; /* of superblocks */
	const struct losses *losses;	       /* of each CPU, in the whole run */
	struct cpu_list cpus;
	enum summary_form form;
	unsigned int top;  /* rows of tasks and of cgroups */
	const pid_t *pids; /* only stalls of these processes are shown; 0 ends; NULL: all */
	uint64_t since;	   /* ns: oldest time seen; 0: none */
	uint64_t ts;	   /* ns: newest time seen; 0: none */
	uint64_t report;   /* ns: shorter stalls are not shown; at least plan->threshold */
	bool so_far;	   /* the run goes on */
	bool is_interval;  /* a summary of the time from since to ts, as are the counts below */
	bool is_part; /* of the run: an interval, or --from or --to; what is the run's is not shown */
	uint64_t lost;	     /* records, of all CPUs */
	uint64_t lost_times; /* times that the number was not known */
	struct not_shown not_shown;
	struct overflow overflows[SUMMARY_OVERFLOWS];
	size_t nr_overflows;
	bool has_waits; /* memory waits are told */
	bool has_sched; /* with --off-cpu */
	struct sched_counts sched;
	bool has_journal; /* entries are written */
	struct journal_counts journal;
	struct own_cost cost;
	struct memory_pressure pressure_before; /* of the run */
	struct memory_pressure pressure_after;
};

/**
 * summary_view_since - take away what was counted before an interval
 * @before: the view when it began
 *
 * The summary is the interval's own.
 */
void summary_view_since(struct summary_view *view, const struct summary_view *before);

/**
 * view_pressure - the kernel's own account of a cgroup's memory pressure over the run (PSI)
 * @rank: of a row of the summary's table @kind
 * @ret_ns: set if it is known; a part of the run has none, and "/" has that of the whole machine
 */
bool view_pressure(const struct summary_view *view, enum summary_table kind, size_t rank,
		   uint64_t *ret_ns);

/** summary_text - the summary for people, a blank line first; 0 or -errno of the writer */
int summary_text(struct writer *writer, const struct summary_view *view);

/**
 * summary_line - an interval in one line, as vmstat(8) has it: its end, the stalls, who waited most and why
 * @lines: of this kind so far; a heading comes first, and again with each screen of them
 */
int summary_line(struct writer *writer, const struct summary_view *view, unsigned int *lines);

#endif
