/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_H
#define ALLOCFILT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/names.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "allocfilt/stall.h"
#include "allocfilt/stats/chains.h"
#include "allocfilt/stats/latency.h"
#include "allocfilt/stats/shrinkers.h"
#include "allocfilt/stats/summary.h"
#include "allocfilt/stats/units.h"
#include "allocfilt/verify.h"

/*
 * The output in one of several forms (-f), the summary, and the metrics. A form implements the
 * callbacks it needs for windows, pairs, stalls and the summary; the caller does not know the form.
 */

struct journal_counts {
	uint64_t entries;   /* written */
	uint64_t held_back; /* stalls without an entry of their own */
	uint64_t dropped;   /* entries that could not be sent, nor kept until later */
};

/* Stalls that are in no output and in no figure, kernel threads' too. */
struct not_shown {
	uint64_t shorter; /* than --report */
	uint64_t others;  /* not of --comm, --cgroup or --min-order */
};

/* What a run on a running kernel has cost since its start. */
struct own_cost {
	uint64_t cpu;		 /* ns of CPU time, user and system */
	uint64_t records;	 /* that were read from the kernel's ring buffers */
	unsigned int events_off; /* now, because of max-cpu */
	bool had_events_off;	 /* some time in this run */
};

/* The sources of a summary. */
struct summary_view {
	const struct plan *plan;
	struct resolver *resolver;
	struct summary *summary;
	struct units *units; /* NULL: not counted, as nobody asks */
	struct shrinkers *shrinkers;
	struct shrinker_names *shrinker_names; /* of superblocks */
	const struct losses *losses;
	struct cpu_list cpus;
	const struct overflow *overflows;
	size_t nr_overflows;
	enum summary_form form;
	unsigned int top;  /* how many tasks and cgroups */
	const pid_t *pids; /* only stalls of these processes are shown; 0 ends; NULL: all */
	uint64_t since;	   /* ns: oldest time seen; 0: none */
	uint64_t ts;	   /* ns: newest time seen; 0: none */
	uint64_t report;   /* ns: shorter stalls are not shown; at least plan->threshold */
	struct not_shown not_shown;
	bool is_interval; /* only of the time from since to ts: these were lost before it */
	uint64_t lost_before, lost_times_before;
	const struct sched_counts *sched; /* NULL: without --off-cpu */
	bool has_journal;		  /* entries are written */
	struct journal_counts journal;
	struct own_cost cost;
	struct memory_pressure pressure_before; /* of the run */
	struct memory_pressure pressure_after;
};

/* A form that a run brings with it, in place of that of -f. */
struct output_form {
	const struct output_ops *ops; /* without make and release */
	void *state;		      /* output->form */
};

struct output_setup {
	const struct options *options;
	const struct plan *plan;
	const struct data_source *source;
	struct resolver *resolver;
	struct writer *writer;
	const pid_t *pids; /* only stalls of these processes are shown; 0 ends; NULL: all */
	const struct output_form *form; /* NULL: that of the options; not used after the call */
};

struct output {
	const struct output_ops *ops;
	struct output_setup setup;
	void *form; /* the form's own state */
};

/* A form. Any member may be NULL. Those with a result return 0 or -errno. */
struct output_ops {
	/* allocate output->form */
	int (*make)(struct output *output);
	void (*release)(struct output *output);
	/* the first call of a run */
	int (*begin)(struct output *output);
	int (*stall)(struct output *output, const struct named_stall *named);
	/* about once a second */
	void (*tick)(struct output *output, uint64_t now, const struct summary_view *view);
	void (*counts)(const struct output *output, struct journal_counts *ret_counts);
	/* the last call; NULL: the summary as text */
	int (*summary)(struct output *output, const struct summary_view *view);
	/* the summary of an interval; NULL: as text, in a form without a summary of its own */
	int (*interval)(struct writer *writer, const struct summary_view *view);
	/* the summary so far, to another writer; NULL: as text */
	int (*so_far)(struct writer *writer, const struct summary_view *view);
};

/** output_form_names - the names for -f, terminated by NULL; the first is the default */
const char *const *output_form_names(void);

/**
 * output_new - an output in the form that @setup->options names
 *
 * The pointers of @setup are kept. Returns NULL with errno.
 */
struct output *output_new(const struct output_setup *setup);
void output_free(struct output *output);

/** output_begin - write what is known of the run itself, its first call; 0 or -errno */
int output_begin(struct output *output);

/** output_stall - write a stall that has ended, in forms that show stalls; 0 or -errno */
int output_stall(struct output *output, const struct named_stall *named);

/** output_summary - write the summary, the last call of a run; 0 or -errno */
int output_summary(struct output *output, const struct summary_view *view);

/** output_so_far - write the summary so far to another writer, as text or in the form json */
int output_so_far(const struct output *output, struct writer *writer,
		  const struct summary_view *view);

/** output_has_intervals - does output_interval() write something? With --interval, as text */
bool output_has_intervals(const struct output *output);

/**
 * output_interval - write the summary of an interval and flush it; 0 or -errno
 *
 * Without -f it is all that is written besides the summary at the end.
 */
int output_interval(struct output *output, const struct summary_view *view);

/** output_form_is_text - does this form of -f end with the summary as text? */
bool output_form_is_text(const char *name);

/** output_tick - to be called about once a second; @now: ns, CLOCK_MONOTONIC */
void output_tick(struct output *output, uint64_t now, const struct summary_view *view);

/** output_counts - numbers of journal entries; false, and all 0, where none are written */
bool output_counts(const struct output *output, struct journal_counts *ret_counts);

/* Details of a stall beside its times: each is one row, which every form and the journal show. */

#define STALL_FACTS 15

struct stall_fact {
	const char *key;	   /* in JSON */
	const char *journal_field; /* NULL: not in the journal */
	bool for_people;	   /* shown in text, between before and after */
	bool below;		   /* there in a line of its own below the head */
	const char *before;
	const char *after;
	bool known;
	const char *text; /* NULL: the number */
	uint64_t number;
	bool is_flags; /* bits, shown in hexadecimal */
};

/** stall_facts - the details of a stall, in the order of the output; valid as long as @named */
void stall_facts(const struct named_stall *named, struct stall_fact facts[STALL_FACTS]);

/* How a form shows a task. */
struct task_style {
	enum text_rule rule;
	bool brackets;		  /* "nginx[812]", not "nginx-812" */
	const char *bold, *plain; /* around the task's name and number */
	const char *cgroup, *end; /* around its cgroup */
};

/**
 * stall_task - append "worker-815 of nginx-812 in nginx.service": the thread, its process, its cgroup
 * @cgroup: as it is to be shown, "" for none
 */
void stall_task(struct line *line, const struct named_stall *named, const char *cgroup,
		const struct task_style *style);

/** summary_text - the summary for people, a blank line first; 0 or -errno of the writer */
int summary_text(struct writer *writer, const struct summary_view *view);

/*
 * The file of -o. It is truncated only before the first write: a run that fails earlier leaves the
 * output of the run before it.
 */

/**
 * output_file_open - open for writing, create it if necessary
 * @path: NULL for stdout
 *
 * In a directory that another user can change (his own, or writable by group or others) what has
 * that name may be his, to make us write where he cannot. There an existing file has to be ours or
 * of the directory's owner, without another hard link, and a symbolic link is not followed. Returns
 * 0 with the descriptor, or -errno with @failure (failure_status_of_path(), or 2 for such a file).
 */
int output_file_open(int *ret_fd, const char *path, struct failure *failure);

/**
 * output_file_begin - truncate the file; to be called before the first write
 *
 * Does nothing where @path is NULL or not a regular file. Returns 0 or -errno.
 */
int output_file_begin(int fd, const char *path);

/**
 * output_file_close - close the file; some file systems report a full disk only here
 * @ret: result of the run; an error is returned unchanged
 *
 * Returns @ret, or -errno with @failure.
 */
int output_file_close(int fd, const char *path, int ret, struct failure *failure);

/** findings_text, findings_json - write what --verify found; @path: of the capture; 0 or -errno */
int findings_text(struct writer *writer, const char *path, const struct verify_findings *findings);
int findings_json(struct writer *writer, const char *path, const struct verify_findings *findings);

/*
 * The summary as metrics for Prometheus. Counters start at 0 with the run. Any user may read them,
 * so they contain no kernel address and no name of a task.
 */

/* Values of the process itself, which are not in the summary. */
struct metrics_process {
	bool tracing;	   /* false: waits while another program uses tracing */
	bool last;	   /* the run has ended: the text is not written again */
	uint64_t uptime;   /* ns */
	uint64_t resident; /* bytes, 0: not known */
	uint64_t cpu;	   /* ns, user and system */
};

/**
 * metrics_text - write all families, in the text format 0.0.4
 * @process: NULL leaves out the families of the process (a capture)
 *
 * Allocates nothing. Functions without a symbol are one series; so are functions of one name, and so
 * is a file system that was unmounted and mounted again. The writer is not flushed. Returns 0 or its
 * -errno.
 */
int metrics_text(struct writer *writer, const struct summary_view *view,
		 const struct metrics_process *process);

/*
 * A file for the textfile collector of node_exporter, which may read it at any moment: it is
 * replaced by rename(2), so a reader sees the old text or the new one. One process writes it.
 */

struct metrics_file;

/** metrics_file_new - allocate all buffers, open nothing; NULL with errno ENOMEM */
struct metrics_file *metrics_file_new(const char *path);
void metrics_file_free(struct metrics_file *file);

/**
 * metrics_file_write - replace the file with metrics_text(), mode 0644 independent of the umask
 *
 * See file_replace() for the temporary file, and why the directory may be another user's. Allocates
 * nothing. Returns 0, or -errno with @failure (status 1), which names the file and a remedy; the
 * file is then unchanged.
 */
int metrics_file_write(struct metrics_file *file, const struct summary_view *view,
		       const struct metrics_process *process, struct failure *failure);

/**
 * metrics_file_changed - has the result of the last write another errno than the one before it?
 *
 * For logging a failure once, and its end. Before the first write the result counts as success.
 */
bool metrics_file_changed(const struct metrics_file *file);

/** metrics_file_is_collected - does node_exporter read a file of this name (NAME.prom)? */
bool metrics_file_is_collected(const char *path);

#endif
