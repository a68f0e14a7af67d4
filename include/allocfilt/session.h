/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_SESSION_H
#define ALLOCFILT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "failure.h"
#include "kernel.h"
#include "plan.h"

/*
 * The only writer of tracefs, with undo: takes tracing, sets it up, and puts everything back as it
 * was found. One table of steps serves the set-up, the normal end, the error path and --restore.
 */

#define SESSION_RUN_DIR		"/run/allocfilt"
#define SESSION_INSTANCE	"allocfilt"

struct probe;

struct session_request {
	const struct kernel *kernel;
	const struct plan *plan;
	uint64_t buffer;	/* bytes per CPU */
	const pid_t *pids;	/* -p: processes; 0 ends; NULL: all */
	bool force;
	const struct probe *probe;	/* for names of superblocks; NULL: none */
	bool stack;			/* --stack: the kernel stack behind each begin */
	const char *run_dir;	/* SESSION_RUN_DIR, or another one for a test */
};

struct session;

/**
 * session_start - all of DESIGN 5.9 up to, not including, tracing_on
 *
 * Finishes first what the undo file of a killed run says (and says so with log_notice()). Raw
 * files are opened by the caller between session_start() and session_on(). On failure everything
 * that was changed is put back already. Returns 0, or -errno with @failure: 3, 4, 5, 1, or 6 when
 * something could not be put back.
 */
int session_start(struct session **session, const struct session_request *request,
		  struct failure *failure);

/** session_on - tracing_on; the last step of the set-up */
int session_on(struct session *session, struct failure *failure);

/** session_off - tracing off, so that the buffers can be drained; raw files may stay open */
int session_off(struct session *session);

/**
 * session_end - put everything back, newest step first; raw files are closed by then
 *
 * Frees the session in every case. Returns 0, or -errno with @failure (status 6: file, value
 * found, value wanted). A value that somebody else changed meanwhile is left alone and reported
 * with log_warning(); that alone is no failure.
 */
int session_end(struct session *session, struct failure *failure);

/** session_dir - where our buffers are: the instance, or the top level */
const char *session_dir(const struct session *session);
bool session_is_instance(const struct session *session);

/** session_has_probe - is the probe in place? (one that was refused is told with log_notice()) */
bool session_has_probe(const struct session *session);

/**
 * session_taken - has somebody taken tracing away? (tracer, tracing_on, threshold against ours)
 *
 * Cheap, for once a second. Returns false, or true with @what: "current_tracer is nop, ours was
 * function_graph".
 */
bool session_taken(struct session *session, char *what, size_t size);

/**
 * session_mark_clock - write CLOCK_REALTIME into our own buffer (trace_marker)
 *
 * "allocfilt: realtime SECONDS.NANOSECONDS", nine digits behind the point. Returns 0 or -errno.
 */
int session_mark_clock(struct session *session);

/** session_set_buffer_percent - 0: any record wakes poll, else when that much is full */
int session_set_buffer_percent(struct session *session, int percent);

/**
 * session_restore - --restore: what an undo file says, and an instance of our name without one
 * @dir: the tracing directory to look for that instance; NULL: where tracefs is mounted, if it is
 *
 * Returns 0 also when there is nothing to do (log_notice() says which). Status 4 with the pid of
 * a live owner, 1 for a damaged, foreign, symlinked or other user's undo file (never acted on), 6
 * as session_end().
 */
int session_restore(const char *run_dir, const char *dir, struct failure *failure);

#endif
