/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_WRITER_H
#define ALLOCFILT_WRITER_H

#include <stddef.h>

/*
 * Bytes on their way to stdout or a file. A reader who does not read must not make the program
 * deaf to a signal: a pipe or terminal is written only when it has room, and who waits for room
 * watches the stop descriptor as well.
 */

#define WRITER_BUFFER	(128u << 10)	/* bytes */
#define WRITER_GRACE_MS	2000		/* waits for room, in all, once a stop is asked for */

struct writer;

/**
 * writer_new
 * @fd: not closed by writer_free()
 * @stop_fd: readable when the run is to stop (a signalfd, which is not read here), -1 for none
 *
 * Returns NULL with errno ENOMEM.
 */
struct writer *writer_new(int fd, int stop_fd);
void writer_free(struct writer *writer);

/** writer_attach - begin anew on another descriptor: what is queued and what failed is forgotten */
void writer_attach(struct writer *writer, int fd);

/**
 * writer_put - queue bytes; writes when the buffer is full
 *
 * Returns 0, -EPIPE when the reader has gone, -ETIMEDOUT when it did not read within the grace
 * after a stop, or the -errno of write(2) (-ENOSPC, …). After a failure every call gives it again
 * and writes nothing more.
 */
int writer_put(struct writer *writer, const char *text, size_t length);

/** writer_flush - write all that is queued; returns as writer_put() */
int writer_flush(struct writer *writer);

#endif
