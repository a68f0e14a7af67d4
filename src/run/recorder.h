/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_RECORDER_H
#define ALLOCFILT_RUN_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "allocfilt/tracing.h"

/* -w: keep the raw data of a run and all that it takes to read it, instead of filtering. */

struct recorder;

/**
 * recorder_new - make the directory, before anything of tracing is changed
 * @probe: may be defined later; without a definition there is none
 *
 * Returns 0, or -errno with @failure (as capture_create()). What it gets has to live as long.
 */
int recorder_new(struct recorder **recorder, const struct options *options,
		 const struct kernel *kernel, const struct plan *plan,
		 const struct data_source *source, const struct probe *probe,
		 struct failure *failure);

/** recorder_free - a directory in which nothing has been kept yet is removed again */
void recorder_free(struct recorder *recorder);

/**
 * recorder_describe - once tracing is set up: formats, filters, clock, symbols, `capture`
 * @dir: session_dir()
 *
 * Returns 0, or -errno with @failure (status 1).
 */
int recorder_describe(struct recorder *recorder, const char *dir, const struct cpu_buffers *buffers,
		      struct failure *failure);

/** recorder_drain - move whole pages to the files; returns bytes, or -errno of a file */
int64_t recorder_drain(struct recorder *recorder, const struct cpu_buffers *buffers);

/** recorder_drain_rest - at the end: pages that are not full as well; 0, or -errno of a file */
int recorder_drain_rest(struct recorder *recorder, const struct cpu_buffers *buffers);

/** recorder_note_names - note names of tasks before they are gone; @now: ns */
void recorder_note_names(struct recorder *recorder, uint64_t now);

/**
 * recorder_report_losses - what each CPU lost since the last call, at most once a second
 * @now: ns, about once a second
 */
void recorder_report_losses(struct recorder *recorder, const struct cpu_buffers *buffers,
			    uint64_t now);

/**
 * recorder_finish - write what only the end knows: names, symbols that the data refers to, losses
 *
 * Tracing need not be ours any more, but @dir has to be there (stats). Returns 0 or -errno with
 * @failure (status 1). Says bytes and losses on stderr, the losses of each CPU as well.
 */
int recorder_finish(struct recorder *recorder, const char *dir, const struct cpu_buffers *buffers,
		    struct failure *failure);

#endif
