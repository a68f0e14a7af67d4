// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "allocfilt/base/writer.h"
#include "unit_test.h"

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int open_file(void)
{
	char path[] = P_tmpdir "/allocfilt-test-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

/* A full pipe, and a stop that was requested: readable, as a signalfd is. */
static struct {
	int reader, pipe;
	int stop;
	pid_t child;
} setup;

static int set_up(void **state)
{
	char bytes[PIPE_BUF] = { 0 };
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	setup.reader = fds[0];
	setup.pipe = fds[1];
	setup.stop = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	setup.child = 0;
	assert_true(setup.stop >= 0);
	assert_int_equal(fcntl(setup.pipe, F_SETFL, O_NONBLOCK), 0);
	while (write(setup.pipe, bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(fcntl(setup.pipe, F_SETFL, 0), 0);
	alarm(120); /* for a writer that waits for ever */
	return 0;
}

static int tear_down(void **state)
{
	alarm(0);
	if (setup.child > 0) {
		kill(setup.child, SIGKILL);
		waitpid(setup.child, NULL, 0);
	}
	close(setup.reader);
	close(setup.pipe);
	close(setup.stop);
	return 0;
}

/* A reader that reads a page each @pause us until the pipe is closed, or none and goes. */
static void start_reader(useconds_t pause, bool reads)
{
	char bytes[PIPE_BUF];

	setup.child = fork();
	assert_true(setup.child >= 0);
	if (setup.child)
		return;
	close(setup.pipe);
	do
		usleep(pause);
	while (reads && read(setup.reader, bytes, sizeof(bytes)) > 0);
	_exit(0);
}

/* What comes of @length bytes and a flush. */
static int write_all(int stop, size_t length)
{
	static char bytes[WRITER_BUFFER];
	struct writer *writer = writer_new(setup.pipe, stop);
	int ret = writer_put(writer, bytes, length);

	if (!ret)
		ret = writer_flush(writer);
	writer_free(writer);
	return ret;
}

/* Nothing leaves before the buffer is full or flushed. */
UNIT_TEST(test_buffer_border)
{
	static char bytes[2 * WRITER_BUFFER + 2];
	int fd = open_file();
	struct writer *writer = writer_new(fd, -1);

	assert_int_equal(writer_put(writer, bytes, WRITER_BUFFER - 1), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	assert_int_equal(writer_put(writer, bytes, 1), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), WRITER_BUFFER);
	assert_int_equal(writer_put(writer, bytes, sizeof(bytes)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 3 * WRITER_BUFFER);
	assert_int_equal(writer_put(writer, bytes, 0), 0);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 3 * WRITER_BUFFER + 2);
	writer_free(writer);
	close(fd);
}

/* Numbered lines, of which the reader sees the order. */
UNIT_TEST(test_reader_gets_all_in_order)
{
	char line[64], expected[64];
	int fds[2], status;
	pid_t child;
	FILE *in;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child) {
		struct writer *writer = writer_new(fds[1], -1);

		close(fds[0]);
		for (int i = 0; i < 50000; i++)
			if (writer_put(writer, line, snprintf(line, sizeof(line), "line %d\n", i)))
				_exit(1);
		_exit(writer_flush(writer) ? 1 : 0);
	}
	close(fds[1]);
	in = fdopen(fds[0], "r");
	for (int i = 0; i < 50000; i++) {
		snprintf(expected, sizeof(expected), "line %d\n", i);
		assert_non_null(fgets(line, sizeof(line), in));
		assert_string_equal(line, expected);
	}
	assert_null(fgets(line, sizeof(line), in));
	fclose(in);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* What failed stays failed. */
static void check_failure(int fd, int error)
{
	struct writer *writer = writer_new(fd, -1);

	assert_int_equal(writer_put(writer, "x", 1), 0);
	assert_int_equal(writer_flush(writer), error);
	assert_int_equal(writer_put(writer, "x", 1), error);
	assert_int_equal(writer_flush(writer), error);
	writer_free(writer);
}

#define PIPE(test) UNIT_TEST_WITH(test, set_up, tear_down)

PIPE(test_failures)
{
	int fd = open("/dev/full", O_WRONLY);

	check_failure(fd, -ENOSPC);
	close(fd);
	check_failure(fd, -EBADF);
	close(setup.reader);
	check_failure(setup.pipe, -EPIPE);
}

/* The reader goes while the writer waits for room. */
PIPE(test_reader_goes_while_waiting)
{
	start_reader(100000, false);
	close(setup.reader);
	assert_int_equal(write_all(-1, 1), -EPIPE);
}

/* Nobody reads: a stop ends it after the grace, and for good. */
PIPE(test_nobody_reads_and_stop)
{
	struct writer *writer = writer_new(setup.pipe, setup.stop);
	int64_t start = now_ms();

	assert_int_equal(fcntl(setup.pipe, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(writer_put(writer, "x", 1), 0);
	assert_int_equal(writer_flush(writer), -ETIMEDOUT);
	assert_true(now_ms() - start >= WRITER_SILENCE_MS - 50);
	start = now_ms();
	assert_int_equal(writer_put(writer, "x", 1), -ETIMEDOUT);
	assert_true(now_ms() - start < WRITER_SILENCE_MS / 2);
	writer_free(writer);
}

/*
 * A terminal is ready for poll(2) with room for one byte, a socket with room for less than a buffer:
 * neither may hold a program that is told to stop. The description is shared with other programs, so
 * it goes on to block.
 */
static void check_unread(int fd)
{
	static char bytes[4 * WRITER_BUFFER];
	struct writer *writer = writer_new(fd, setup.stop);

	memset(bytes, '\n', sizeof(bytes));
	assert_int_equal(writer_put(writer, bytes, sizeof(bytes)), -ETIMEDOUT);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	writer_free(writer);
	close(fd);
}

PIPE(test_terminal_that_nobody_reads)
{
	int other = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	assert_true(other >= 0);
	assert_int_equal(grantpt(other), 0);
	assert_int_equal(unlockpt(other), 0);
	check_unread(open(ptsname(other), O_RDWR | O_NOCTTY | O_CLOEXEC));
	close(other);
}

PIPE(test_socket_that_nobody_reads)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	check_unread(fds[0]);
	close(fds[1]);
}

/*
 * A console with room for one byte is ready for as long as its other end does not read, and
 * takes no newline. So does an eventfd(2): it is ready, and has no room for a number that large.
 */
PIPE(test_ready_without_room)
{
	int fd = eventfd(2, EFD_CLOEXEC | EFD_NONBLOCK);
	struct writer *writer = writer_new(fd, -1);
	uint64_t number = UINT64_MAX - 1;

	writer_stop(writer);
	assert_int_equal(writer_put(writer, (char *)&number, sizeof(number)), 0);
	assert_int_equal(writer_flush(writer), -ETIMEDOUT);
	writer_free(writer);
	close(fd);
}

/* A reader that reads all within the grace gets all after a stop as well. */
PIPE(test_stop_with_a_slow_reader)
{
	start_reader(1000, true);
	assert_int_equal(write_all(setup.stop, 3 * PIPE_BUF), 0);
}

/*
 * A reader that reads a page now and then holds the program no longer than one that reads none:
 * all waits share one grace, and write(2) does not block on more than the page there is room for.
 */
PIPE(test_stop_with_a_lazy_reader)
{
	start_reader(WRITER_SILENCE_MS * 350, true);
	assert_int_equal(write_all(setup.stop, WRITER_BUFFER), -ETIMEDOUT);
}

/* With room a stop changes nothing, and the writer leaves it to be read by others. */
PIPE(test_stop_with_room)
{
	char bytes[8 * PIPE_BUF];

	assert_true(read(setup.reader, bytes, sizeof(bytes)) > 0);
	assert_int_equal(write_all(setup.stop, 3), 0);
	assert_int_equal(read(setup.stop, bytes, sizeof(bytes)), 8);
}

/* Pieces that are written in place come out as those that are copied, whatever their sizes. */
UNIT_TEST(test_room)
{
	static char expected[4 * WRITER_BUFFER], text[sizeof(expected)];
	struct writer *writer;
	size_t at = 0, size = 1;
	int fd = open_file();

	for (size_t i = 0; i < sizeof(expected); i++)
		expected[i] = (char)('a' + i % 23);
	writer = writer_new(fd, -1);
	for (; at + size <= sizeof(expected); at += size, size = size * 7 % 9973) {
		char *to = writer_room(writer, size + 100);

		assert_non_null(to);
		memcpy(to, expected + at, size);
		writer_advance(writer, to + size);
	}
	assert_int_equal(writer_put(writer, expected + at, sizeof(expected) - at), 0);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), sizeof(text));
	assert_int_equal(pread(fd, text, sizeof(text), 0), sizeof(text));
	assert_memory_equal(text, expected, sizeof(text));
	writer_free(writer);
	writer_free(NULL);
	close(fd);
}

UNIT_TEST(test_no_room)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct writer *writer = writer_new(-1, -1);

	writer_advance(writer, writer_room(writer, WRITER_BUFFER) + WRITER_BUFFER - 1);
	assert_non_null(writer_room(writer, 1));
	assert_null(writer_room(writer, 2));
	assert_int_equal(writer_status(writer), -EFBIG);
	writer_attach(writer, full);
	writer_advance(writer, writer_room(writer, 2) + 2);
	assert_null(writer_room(writer, WRITER_BUFFER));
	assert_int_equal(writer_status(writer), -ENOSPC);
	assert_null(writer_room(writer, 0));
	writer_free(writer);
	close(full);
}

/* Queued bytes and the error stay with the old descriptor. */
UNIT_TEST(test_attach)
{
	int full = open("/dev/full", O_WRONLY);
	int fd = open_file();
	struct writer *writer = writer_new(full, -1);
	char text[16] = "";

	assert_int_equal(writer_put(writer, "lost", 4), 0);
	assert_int_equal(writer_flush(writer), -ENOSPC);
	assert_int_equal(writer_put(writer, "lost", 4), -ENOSPC);
	writer_attach(writer, full);
	assert_int_equal(writer_put(writer, "queued", 6), 0);
	writer_attach(writer, fd);
	assert_int_equal(writer_put(writer, "new", 3), 0);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 3);
	assert_string_equal(text, "new");
	writer_free(writer);
	close(full);
	close(fd);
}

UNIT_TEST_MAIN(NULL, NULL)
