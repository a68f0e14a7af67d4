/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_RECORDER_H
#define ALLOCFILT_RUN_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/record/source.h"
#include "allocfilt/run/run.h"
#include "allocfilt/tracing/cpu_buffers.h"
#include "allocfilt/tracing/probe.h"

/* -w: record the raw data of a run, with the files needed to read it, instead of filtering. */

struct recorder;

/**
 * recorder_new - create the directory, see that FILE.dat can be made; changes nothing of tracing
 * @probe: may be defined later; an empty definition means no probe
 *
 * The arguments must outlive the recorder. Returns 0, or -errno with @failure (as
 * capture_create()).
 */
int recorder_new(struct recorder **recorder, const struct options *options,
		 const struct kernel *kernel, const struct plan *plan,
		 const struct data_source *source, const struct probe *probe,
		 struct failure *failure);

/** recorder_free - release it; removes the directory if recorder_describe() was not called */
void recorder_free(struct recorder *recorder);

/**
 * recorder_describe - write formats, filters, clock, symbols and `capture`, and sync them
 * @buffers: of the session, whose set-up is complete; used up to recorder_finish(), as is @dir
 * @dir: session_dir()
 *
 * Returns 0, or -errno with @failure (status 1).
 */
int recorder_describe(struct recorder *recorder, const char *dir, struct cpu_buffers *buffers,
		      struct failure *failure);

/**
 * recorder_segment_is_full - is it time for another segment (--max-size)?
 *
 * Then end the present one and begin the next, without reading the buffers in between.
 */
bool recorder_segment_is_full(const struct recorder *recorder);

/**
 * recorder_end_segment - drain its records, write the files that are complete only at its end
 *
 * Returns 0, or -errno of a file.
 */
int recorder_end_segment(struct recorder *recorder);

/**
 * recorder_begin_segment - begin the next one, and remove the oldest (--keep)
 *
 * Returns 0, or -errno of a file, and the present one goes on.
 */
int recorder_begin_segment(struct recorder *recorder);

/** recorder_begin_pressure - read the pressure of all cgroups: the recording, or a segment, begins */
void recorder_begin_pressure(struct recorder *recorder);

/** recorder_drain - move full pages to the files; returns bytes, or -errno of a file */
int64_t recorder_drain(struct recorder *recorder);

/** recorder_has_seen_stall - was there a stall of --until? Says whose it was */
bool recorder_has_seen_stall(struct recorder *recorder);

/**
 * recorder_drain_rest - move all pages, also partly filled ones; 0, or -errno of a file
 * @rest: tracing_rest()
 */
int recorder_drain_rest(struct recorder *recorder, uint64_t rest);

/**
 * recorder_second - once a second: see tasks before they exit, warn of losses, write names now and
 *	then, and sync what was written
 *
 * Waits for no disk, unless the kernel refuses io_setup(2). Returns 0, or -errno of a file.
 */
int recorder_second(struct recorder *recorder, uint64_t now);

/**
 * recorder_finish - write the files that are complete only at the end: tasks, mounts, cgroups, losses
 *
 * Works also after tracing was taken away, if the directory still exists (stats). Logs the bytes recorded
 * and the records lost by each CPU. Returns 0 or -errno with @failure (status 1).
 */
int recorder_finish(struct recorder *recorder, struct failure *failure);

/**
 * recorder_close - once tracing is restored: wait until all is on the disk, make FILE.dat
 * @error: -errno of the run, with @failure; 0: none
 * @signals: see dat_file_make()
 *
 * Returns @error, or -errno with @failure (status 1).
 */
int recorder_close(struct recorder *recorder, int error, struct signals *signals,
		   struct failure *failure);

#endif
