/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_DRAIN_H
#define ALLOCFILT_RUN_DRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/record.h"
#include "allocfilt/run.h"

/*
 * When the raw buffers of a running kernel are read: by a tick while records come, and by the first
 * record on an idle machine; with -w by a slower tick there, as only full pages are taken. What is
 * read goes through the pipeline to the output, or to the files of a capture.
 */

struct drain;
struct cpu_buffers;
struct recorder;
struct pipeline;
struct session;

/**
 * drain_new - opens the buffers, between session_start() and session_on(); 0 or -errno
 * @pipeline: NULL with -w
 * @recorder: NULL without
 * @writer: of the pipeline; flushed when all has been read
 */
int drain_new(struct drain **drain, struct session *session, const struct data_source *source,
	      struct pipeline *pipeline, struct recorder *recorder, struct writer *writer,
	      struct failure *failure);

/** drain_free - closes the buffers, before session_end() */
void drain_free(struct drain *drain);

/**
 * drain_start - have a loop wake up for the buffers and by its tick; tracing is not on yet
 * @ready: the loop's callback for a buffer, which is to call drain_ready()
 *
 * Returns 0, or -errno of the loop.
 */
int drain_start(struct drain *drain, struct loop *loop,
		int (*ready)(void *context, int fd, uint32_t events));

/** drain_tick - read what there is; @now: ns, CLOCK_MONOTONIC; 0, or -errno of the output */
int drain_tick(struct drain *drain, uint64_t now);

/** drain_ready - the same, when a buffer's descriptor told of something */
int drain_ready(struct drain *drain, int fd, uint32_t events, uint64_t now);

/** drain_reopen - try again the CPUs that could not be opened; once a second is plenty */
void drain_reopen(struct drain *drain);

/** drain_rest - all that is left once tracing is off, not with -w; 0, or -errno of the output */
int drain_rest(struct drain *drain);

/** drain_buffers - the buffers, for what is to be told of them; never NULL */
const struct cpu_buffers *drain_buffers(const struct drain *drain);

#endif
