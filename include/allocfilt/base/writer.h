/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_WRITER_H
#define ALLOCFILT_BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Buffered output to stdout or a file. A reader that does not read must not block a signal: a pipe,
 * terminal or socket is written without blocking (file_reopen()), and waiting for room ends soon after
 * a stop.
 */

#define WRITER_BUFFER	  (128u << 10) /* bytes */
#define WRITER_SILENCE_MS 2000	       /* longest wait after a stop was asked for */
#define WRITER_GRACE_MS	  5000	       /* longest sum of such waits */

struct writer;

/**
 * writer_new - a writer with an empty buffer
 * @fd: not closed by writer_free(); -1: the text stays in the buffer, and -EFBIG is returned once
 *	that is full
 * @stop_fd: readable when the run is to stop (a signalfd, which is not read here), -1 for none
 *
 * Returns NULL if there is no memory.
 */
struct writer *writer_new(int fd, int stop_fd);

/**
 * writer_on_stop - set a function that tells whether a readable stop descriptor asks for a stop
 * @asked: reads the descriptor, so it has to remember its answer until the run has ended
 */
void writer_on_stop(struct writer *writer, bool (*asked)(void *context), void *context);

/** writer_beside - writer_new() with the stop of another writer, also where that has come already */
struct writer *writer_beside(const struct writer *other, int fd);

/** writer_stop - limit all further waits as after a stop, because the run has ended */
void writer_stop(struct writer *writer);

/** writer_free - discard queued bytes */
void writer_free(struct writer *writer);

/** writer_fd - the descriptor that it writes to */
int writer_fd(const struct writer *writer);

/** writer_attach - use another descriptor; discard queued bytes and an earlier failure */
void writer_attach(struct writer *writer, int fd);

/**
 * writer_put - queue bytes; writes when the buffer is full
 *
 * Returns 0, -EPIPE when the reader has gone, -ETIMEDOUT when it did not read in time after a stop,
 * or the -errno of write(2). After a failure every call returns it again and writes nothing.
 */
int writer_put(struct writer *writer, const char *text, size_t length);

/**
 * writer_room - where up to @size bytes can be put without a copy; writer_advance() queues them
 * @size: WRITER_BUFFER at most
 *
 * Writes if the buffer has less room. Returns NULL after a failure; see writer_status().
 */
char *writer_room(struct writer *writer, size_t size);

/** writer_advance - queue the bytes from writer_room() to @end */
void writer_advance(struct writer *writer, const char *end);

/** writer_flush - write all queued bytes; returns as writer_put() */
int writer_flush(struct writer *writer);

/** writer_status - -errno of the first call that failed, or 0 */
int writer_status(const struct writer *writer);

/** writer_queued - the queued bytes and a NUL, until more are queued */
const char *writer_queued(struct writer *writer);

#endif
