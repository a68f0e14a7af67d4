/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_METRICS_H
#define ALLOCFILT_OUTPUT_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/output/view.h"

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

/** metrics_file_new - allocate all buffers, open nothing; NULL if there is no memory */
struct metrics_file *metrics_file_new(const char *path);
void metrics_file_free(struct metrics_file *file);

/**
 * metrics_file_check - can the directory be written to? Returns 0, or -errno with @failure (status 2)
 */
int metrics_file_check(const struct metrics_file *file, struct failure *failure);

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

#endif
