/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_FORM_H
#define ALLOCFILT_OUTPUT_FORM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/output/view.h"

/*
 * The output in one of several forms (-f). A form implements the callbacks of struct output_ops
 * that it needs; the caller does not know the form.
 */

/* A form that replaces that of -f. */
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
	void *form;			     /* the form's own state */
	bool is_terminal;		     /* what the writer writes to */
	const struct journal_counts *counts; /* kept by a form that writes entries; NULL: none */
};

/* A form. Any member may be NULL. Functions with a result return 0 or -errno. */
struct output_ops {
	int (*make)(struct output *output);	/* allocate output->form */
	void (*release)(struct output *output); /* NULL: free(3), if make() allocated */
	int (*begin)(struct output *output);	/* the first call of a run */
	int (*stall)(struct output *output, const struct named_stall *named);
	/* about once a second */
	void (*tick)(struct output *output, uint64_t now, const struct summary_view *view);
	/* the last call; NULL: the summary as text */
	int (*summary)(struct output *output, const struct summary_view *view);
	bool has_so_far; /* summary() is also called while the run goes on, with view->so_far */
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

/** output_so_far - write the summary so far to another writer: as text, or in a form that can */
int output_so_far(const struct output *output, struct writer *writer,
		  const struct summary_view *view);

/** output_has_intervals - with --interval: does the form end with a summary as text? */
bool output_has_intervals(const struct output *output);

/** output_form_is_text - does this form of -f end with the summary as text? */
bool output_form_is_text(const char *name);

/** output_tick - to be called about once a second; @now: ns, CLOCK_MONOTONIC */
void output_tick(struct output *output, uint64_t now, const struct summary_view *view);

/** output_counts - numbers of journal entries; false, and all 0, where none are written */
bool output_counts(const struct output *output, struct journal_counts *ret_counts);

#endif
