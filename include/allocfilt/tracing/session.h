/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_SESSION_H
#define ALLOCFILT_TRACING_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/tracing/probe.h"

/*
 * The only writer of tracefs: sets tracing up, and restores everything as it was found.
 * One table of settings serves the set-up, the normal end, the error path and --restore.
 */

#define SESSION_RUN_DIR	 "/run/allocfilt"
#define SESSION_INSTANCE "allocfilt"

struct session_request {
	const struct kernel *kernel;
	const struct plan *plan;
	uint64_t buffer;   /* bytes per CPU at most: less while memory is short */
	const pid_t *pids; /* -p: processes; 0 ends; NULL: all */
	bool force;
	const struct probe *probe; /* for names of superblocks; NULL: none */
	bool stack;		   /* --stack: the kernel stack after each begin */
	bool no_saved_names; /* saved_cmdlines gets none in an instance: it makes switches slower */
	bool exclude_own;    /* no records of our own task; makes each switch of tasks slower */
	const char *run_dir; /* SESSION_RUN_DIR, or another one for a test */
};

enum session_probe {
	PROBE_SUPERBLOCKS,
	PROBE_WAITS,
	PROBE_REFAULTS,
	SESSION_PROBES,
};

struct session;

/**
 * session_start - the whole set-up but tracing_on
 * @request: with what it points to, used during the call only
 *
 * First finishes what the undo file of a killed run says, with a log_notice(); sizes of buffers for
 * which there is no memory yet wait for the end of this run. Raw files are opened
 * by the caller between session_start() and session_on(). After a failure everything that was
 * changed is restored already. Returns 0, or -errno with @failure: 3, 4, 5, 1, or 6 when something
 * could not be restored.
 */
int session_start(struct session **session, const struct session_request *request,
		  struct failure *failure);

/** session_on - histograms and tracing_on; the last step of the set-up */
int session_on(struct session *session, struct failure *failure);

/** session_off - tracing off, so that the buffers can be drained; raw files may stay open */
void session_off(struct session *session);

/**
 * session_end - restore everything, newest setting first; raw files are closed by then
 *
 * Frees the session in every case. Returns 0, or -errno with @failure (status 6: file, value
 * found, value wanted). A value that somebody else changed meanwhile is left alone and reported
 * with log_warning(); that alone is no failure.
 */
int session_end(struct session *session, struct failure *failure);

/** session_dir - where our buffers are: the instance, or the top level */
const char *session_dir(const struct session *session);

/**
 * session_try_probe - does the kernel accept a probe? For --probe
 * @name: of its event, in PROBE_SYSTEM
 *
 * Defines it for a moment, under the lock of a session. Returns 0, or -errno with @failure: why the
 * kernel refuses it, 4 where another allocfilt is running, 6 when it could not be removed again. A
 * run that is killed meanwhile leaves it to the next one, see session_restore().
 */
int session_try_probe(const struct kernel *kernel, const char *name, const char *definition,
		      const char *run_dir, struct failure *failure);

/**
 * session_filter_probe - keep records of other shrinkers than superblocks' out of our buffer
 * @callback: address of PROBE_CALLBACK, for a probe on the event
 *
 * Without it each shrinker writes a record, and those of no superblock are dropped when they are
 * read.
 */
void session_filter_probe(struct session *session, uint64_t callback);

/**
 * session_has_probe - are the plan's probes of a kind in place?
 *
 * If the kernel refused one, a log_notice() said so.
 */
bool session_has_probe(const struct session *session, enum session_probe which);

/** session_lacks_event - is it an event of such a probe, which is not in place? */
bool session_lacks_event(const struct session *session, enum event_id id);

/**
 * session_taken - has somebody taken tracing away? (tracer, tracing_on, threshold against ours, and
 *	the size of the sub-buffers, at whose change the kernel drops what is in them)
 *
 * Cheap, for once a second. Returns false, or true with @what: "current_tracer is nop, ours was
 * function_graph".
 */
bool session_taken(struct session *session, char *what, size_t size);

/**
 * session_read_histogram - the text of an event's histograms, ours and others'; free() it
 *
 * Returns 0, -ENOENT if there is none, or -errno.
 */
int session_read_histogram(struct session *session, enum histogram_id id, char **ret_text);

/**
 * session_mark_clock - write CLOCK_REALTIME into our own buffer (trace_marker)
 *
 * "allocfilt: realtime SECONDS.NANOSECONDS", with nine digits of nanoseconds.
 */
void session_mark_clock(struct session *session);

/** session_set_buffer_percent - 0: any record wakes poll, else when that much is full */
void session_set_buffer_percent(struct session *session, int percent);

/**
 * session_switch_event - switch an event off during the run, or on again
 *
 * With its stack, and the probe that sits on it. Returns 0, -ESTALE if it is somebody else's, or was
 * changed by somebody (then it is left alone), or -errno: call it again later.
 */
int session_switch_event(struct session *session, const struct plan_event *event, bool on);

/**
 * session_grow_buffer - try once, a minute after the start, the size that could not be had then
 *
 * Call it every few seconds. Newer kernels record nothing while they allocate, and do not count that:
 * kernel/trace/trace.c, __tracing_resize_ring_buffer().
 */
void session_grow_buffer(struct session *session);

/**
 * session_restore - --restore: what an undo file says, and an instance of our name without one
 * @dir: the tracing directory to look for that instance; NULL: where tracefs is mounted, if it is
 *
 * Returns 0 also when there is nothing to do (log_notice() says which). Status 2 where @dir is not
 * on tracefs, 3 where the undo file's directory is not (unmounted: the file stays), 4 with the pid
 * of a live owner, 1 for a damaged, foreign, symlinked or other user's undo file (never acted on),
 * 6 as session_end().
 */
int session_restore(const char *run_dir, const char *dir, struct failure *failure);

#endif
