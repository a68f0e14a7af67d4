// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/file.h"
#include "allocfilt/base/writer.h"

struct writer {
	int fd;
	int own; /* file_reopen() of it, or -errno */
	int stop_fd;
	bool (*stop_asked)(void *context); /* NULL: a readable stop_fd asks for a stop */
	void *context;
	bool stopped; /* a stop was asked for, or writer_stop() called */
	int grace;    /* ms left to wait for room after a stop */
	int failed;   /* -errno of the first failure, after which nothing is written; or 0 */
	size_t used;
	char buffer[WRITER_BUFFER + 1]; /* with a NUL for writer_queued() */
};

struct writer *writer_new(int fd, int stop_fd)
{
	struct writer *writer = malloc(sizeof(*writer));

	if (!writer)
		return NULL;
	writer->own = -1;
	writer->stop_fd = stop_fd;
	writer->stop_asked = NULL;
	writer_attach(writer, fd);
	return writer;
}

struct writer *writer_beside(const struct writer *other, int fd)
{
	struct writer *writer = writer_new(fd, other->stop_fd);

	if (writer) {
		writer_on_stop(writer, other->stop_asked, other->context);
		writer->stopped = other->stopped;
	}
	return writer;
}

void writer_attach(struct writer *writer, int fd)
{
	file_close(writer->own);
	writer->fd = fd;
	writer->own = file_reopen(fd);
	writer->stopped = false;
	writer->grace = WRITER_GRACE_MS;
	writer->failed = 0;
	writer->used = 0;
}

void writer_free(struct writer *writer)
{
	if (writer)
		file_close(writer->own);
	free(writer);
}

void writer_on_stop(struct writer *writer, bool (*asked)(void *context), void *context)
{
	writer->stop_asked = asked;
	writer->context = context;
}

void writer_stop(struct writer *writer)
{
	writer->stopped = true;
}

int writer_fd(const struct writer *writer)
{
	return writer->fd;
}

static int wait_ready(struct pollfd fds[2], int timeout)
{
	int ready = (int)TEMP_FAILURE_RETRY(poll(fds, 2, timeout));

	return ready < 0 ? -errno : ready;
}

/* Returns 0 when there may be room, or when write(2) will report the failure. */
static int wait_for_room(struct writer *writer)
{
	struct pollfd fds[2] = {
		{ .fd = writer->fd, .events = POLLOUT },
		{ .fd = writer->stop_fd, .events = POLLIN },
	};
	uint64_t from;
	int ready, grace;

	while (!writer->stopped) {
		writer->stopped = writer->stop_asked && writer->stop_asked(writer->context);
		if (writer->stopped)
			break;
		ready = wait_ready(fds, -1);
		if (ready < 0 || fds[0].revents)
			return ready < 0 ? ready : 0;
		writer->stopped = !writer->stop_asked;
	}
	/*
	 * All waits after a stop share one limit: a reader of a page a second would delay the exit
	 * for minutes.
	 */
	if (writer->grace <= 0)
		return -ETIMEDOUT;
	fds[1].fd = -1;
	grace = writer->grace < WRITER_SILENCE_MS ? writer->grace : WRITER_SILENCE_MS;
	from = clock_ns(CLOCK_MONOTONIC);
	ready = wait_ready(fds, grace);
	writer->grace -= (int)((clock_ns(CLOCK_MONOTONIC) - from) / NS_PER_MS);
	return ready > 0 ? 0 : ready ? ready : -ETIMEDOUT;
}

static int write_out(struct writer *writer, const char *text, size_t length)
{
	int fd = writer->own < 0 ? writer->fd : writer->own, ret;
	/* A pipe of another user cannot be reopened: if it is ready it has room for PIPE_BUF bytes. */
	bool blocks = writer->own < 0 && writer->own != -EINVAL, full = false;

	while (length) {
		size_t part = blocks && length > PIPE_BUF ? PIPE_BUF : length;
		ssize_t written;

		if ((blocks || full) && (ret = wait_for_room(writer)))
			return ret;
		written = file_write_now(fd, text, part);
		if (written < 0 && written != -EINTR && written != -EAGAIN)
			return written;
		/* A terminal with room for one byte is ready, and does not take a newline: "\r\n". */
		if (written == -EAGAIN && full) {
			poll(NULL, 0, 1);
			writer->grace -= writer->stopped;
		}
		full = written == -EAGAIN;
		if (written > 0) {
			text += written;
			length -= written;
		}
	}
	return 0;
}

int writer_status(const struct writer *writer)
{
	return writer->failed;
}

int writer_flush(struct writer *writer)
{
	if (writer->failed)
		return writer->failed;
	if (writer->fd < 0) {
		if (writer->used == WRITER_BUFFER)
			writer->failed = -EFBIG;
		return writer->failed;
	}
	writer->failed = write_out(writer, writer->buffer, writer->used);
	writer->used = 0;
	return writer->failed;
}

const char *writer_queued(struct writer *writer)
{
	writer->buffer[writer->used] = '\0';
	return writer->buffer;
}

int writer_put(struct writer *writer, const char *text, size_t length)
{
	if (writer->failed)
		return writer->failed;
	while (length) {
		size_t part = MIN(WRITER_BUFFER - writer->used, length);

		memcpy(writer->buffer + writer->used, text, part);
		writer->used += part;
		text += part;
		length -= part;
		if (writer->used == WRITER_BUFFER && writer_flush(writer))
			break;
	}
	return writer->failed;
}

char *writer_room(struct writer *writer, size_t size)
{
	if (size > WRITER_BUFFER - writer->used && !writer_flush(writer) && writer->used)
		writer->failed = -EFBIG; /* the text stays in the buffer: there is no descriptor */
	return writer->failed ? NULL : writer->buffer + writer->used;
}

void writer_advance(struct writer *writer, const char *end)
{
	writer->used = (size_t)(end - writer->buffer);
}
