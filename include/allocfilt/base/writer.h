/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_WRITER_H
#define ALLOCFILT_BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Buffered output to stdout or a file. A reader that does not read must not block a signal: a pipe
 * or terminal is written only when it has room, and waiting for room ends soon after a stop.
 */

#define WRITER_BUFFER	  (128u << 10) /* bytes */
#define WRITER_SILENCE_MS 2000	       /* for one wait, once a stop is asked for */
#define WRITER_GRACE_MS	  5000	       /* for all waits from then on */

struct writer;

/**
 * writer_new - a writer with an empty buffer
 * @fd: not closed by writer_free(); -1: the text stays in the buffer, and -EFBIG is returned once
 *	that is full
 * @stop_fd: readable when the run is to stop (a signalfd, which is not read here), -1 for none
 *
 * Returns NULL with errno ENOMEM.
 */
struct writer *writer_new(int fd, int stop_fd);

/**
 * writer_on_stop - not all that makes the stop descriptor readable asks for a stop
 * @asked: is one asked for? It reads the descriptor, so it has to know until the run has ended
 */
void writer_on_stop(struct writer *writer, bool (*asked)(void *context), void *context);

/** writer_stop - the run has ended: from now on waiting for room is limited as after a stop */
void writer_stop(struct writer *writer);

/** writer_free - what is queued is discarded; NULL is allowed */
void writer_free(struct writer *writer);

/** writer_fd - where it writes */
int writer_fd(const struct writer *writer);

/** writer_attach - use another descriptor; queued text and an earlier failure are discarded */
void writer_attach(struct writer *writer, int fd);

/**
 * writer_put - queue bytes; writes when the buffer is full
 *
 * Returns 0, -EPIPE when the reader has gone, -ETIMEDOUT when it did not read in time after a stop,
 * or the -errno of write(2) (-ENOSPC, …). After a failure every call returns it again
 * and writes nothing more.
 */
int writer_put(struct writer *writer, const char *text, size_t length);

/**
 * writer_room - where to put up to @size bytes without a copy; writer_advance() queues them
 * @size: WRITER_BUFFER at most
 *
 * Writes if the buffer has less room. Returns NULL after a failure, which writer_status() tells.
 */
char *writer_room(struct writer *writer, size_t size);

/** writer_advance - queue what was put at writer_room(), up to @end */
void writer_advance(struct writer *writer, const char *end);

/** writer_flush - write all that is queued; returns as writer_put() */
int writer_flush(struct writer *writer);

/** writer_status - -errno of the first call that failed, or 0 */
int writer_status(const struct writer *writer);

/** writer_queued - the bytes that are queued, without a NUL */
const char *writer_queued(const struct writer *writer, size_t *ret_length);

#endif
