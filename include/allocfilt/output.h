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

/*
 * What is shown, in one of several forms. Each form takes of windows, pairs, stalls and the summary
 * what it needs; who drives it need not know which form it is.
 */

struct journal_counts {
	uint64_t entries;   /* that the journal has taken */
	uint64_t held_back; /* stalls without an entry of their own */
	uint64_t dropped;   /* entries that the journal did not take and that could not wait */
};

/* All that a summary is made of. */
struct summary_view {
	const struct plan *plan;
	struct resolver *resolver;
	struct summary *summary;
	struct shrinkers *shrinkers;
	struct shrinker_names *shrinker_names; /* of superblocks; NULL: none */
	const struct losses *losses;
	struct cpu_list cpus;
	const struct overflow *overflows;
	size_t nr_overflows;
	unsigned int top; /* how many tasks and cgroups */
	uint64_t ts;	  /* ns: newest time seen; 0: none */
	bool has_journal; /* entries are written */
	struct journal_counts journal;
};

struct output_setup {
	const struct options *options; /* until output_change() brings others */
	const struct plan *plan;
	const struct data_source *source;
	struct resolver *resolver;
	struct writer *writer;
};

struct output {
	const struct output_ops *ops;
	struct output_setup setup;
	void *form; /* what the form keeps */
};

/* A form. Members that are NULL have nothing to do; each returns 0, or -errno of the writer. */
struct output_ops {
	/* allocates what the form needs; 0 or -errno */
	int (*make)(struct output *output);
	void (*release)(struct output *output);
	int (*window)(struct output *output, const struct task_window *window);
	/* slow ones only */
	int (*pair)(struct output *output, const struct task_pair *pair);
	int (*stall)(struct output *output, const struct named_stall *named);
	/* about once a second */
	void (*tick)(struct output *output, uint64_t now, const struct summary_view *view);
	void (*counts)(const struct output *output, struct journal_counts *ret_counts);
	/* other rules from now on; the socket stays */
	void (*change)(struct output *output, const struct options *options);
	/* the last call */
	int (*summary)(struct output *output, const struct summary_view *view);
	/* the summary as it stands, to another writer; NULL: as text */
	int (*so_far)(struct writer *writer, const struct summary_view *view);
};

extern const struct output_ops journal_form;

/** output_form_names - those that -f can name, NULL ends; the first is the default */
const char *const *output_form_names(void);

/** output_new - what the setup points to has to live as long; NULL with errno ENOMEM, or what the form failed with */
struct output *output_new(const struct output_setup *setup);
void output_free(struct output *output);

/* Each returns 0, or -errno of the writer. */
int output_window(struct output *output, const struct task_window *window);
int output_pair(struct output *output, const struct task_pair *pair);
int output_stall(struct output *output, const struct named_stall *named);
int output_summary(struct output *output, const struct summary_view *view);

/** output_so_far - the summary as it stands, to another writer; in JSON where that is the form */
int output_so_far(const struct output *output, struct writer *writer,
		  const struct summary_view *view);

/** output_tick - about once a second; @now: ns of a clock that never goes back */
void output_tick(struct output *output, uint64_t now, const struct summary_view *view);

/** output_change - other options from now on: how entries of the journal are made */
void output_change(struct output *output, const struct options *options);

/** output_counts - how the journal went; false, and all 0, where no entries are written */
bool output_counts(const struct output *output, struct journal_counts *ret_counts);

/* What is known of a stall beside its time: a row here is shown by every form and the journal. */

#define STALL_FACTS 7

struct stall_fact {
	const char *key;	   /* in JSON */
	const char *journal_field; /* NULL: not in the journal */
	bool for_people;	   /* in text, with what goes before and after the value */
	const char *before;
	const char *after;
	bool known;
	const char *text; /* NULL: the number */
	uint64_t number;
	bool is_flags; /* bits, shown in hexadecimal */
};

/** stall_facts - fill in the facts of a stall, in the order in which they are shown */
void stall_facts(const struct named_stall *named, struct stall_fact facts[STALL_FACTS]);

/** summary_text - the summary for people, a blank line first; 0 or -errno of the writer */
int summary_text(struct writer *writer, const struct summary_view *view);

/*
 * The file of -o. Somebody may still want what an earlier run wrote there, so it stays until this
 * run has something to say: a run that is refused loses nothing.
 */

/**
 * output_file_open - for writing, made if there is none
 * @path: NULL for stdout
 *
 * Returns 0 with the descriptor, or -errno with @failure (failure_status_of_path()).
 */
int output_file_open(int *ret_fd, const char *path, struct failure *failure);

/**
 * output_file_begin - what was in the file goes; to be called before the first write
 *
 * Does nothing where @path is NULL, or names something that is no regular file. Returns 0 or
 * -errno.
 */
int output_file_begin(int fd, const char *path);

/**
 * output_file_close - a file system may tell of a full disk only here
 * @ret: what the run came to, which is returned where it is a failure
 *
 * Returns @ret, or -errno with @failure.
 */
int output_file_close(int fd, const char *path, int ret, struct failure *failure);

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

/*
 * A file that is written anew every time, for the textfile collector of node_exporter, which may
 * read it at any moment: it has the old text or the new one, whole. One process writes it.
 */

struct metrics_file;

/** metrics_file_new - opens nothing; all that it takes is allocated here; NULL: errno ENOMEM */
struct metrics_file *metrics_file_new(const char *path);
void metrics_file_free(struct metrics_file *file);

/**
 * metrics_file_write - the file anew, mode 0644 whatever the umask
 * @fill: gives the text to a writer, which need not be flushed; 0 or -errno
 *
 * The text goes to .NAME.allocfilt beside it, which is gone when this returns; one that a killed
 * run left there is replaced. Nothing is allocated. Returns 0, or -errno with @failure (status 1),
 * which names the file and the way out; then the file has what it had before.
 */
int metrics_file_write(struct metrics_file *file, int (*fill)(void *context, struct writer *writer),
		       void *context, struct failure *failure);

/**
 * metrics_file_changed - did the last write fail in another way than the one before, or work again?
 *
 * For saying a failure once, and its end; before the first write all was well.
 */
bool metrics_file_changed(const struct metrics_file *file);

/** metrics_file_is_collected - has a path the name that node_exporter looks for: NAME.prom? */
bool metrics_file_is_collected(const char *path);

#endif
