// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/base.h"

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

/* A stop that has been asked for: readable, as a signalfd is. */
static int stop_asked(void)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	assert_true(fd >= 0);
	return fd;
}

static void fill_pipe(int fd)
{
	char bytes[PIPE_BUF] = { 0 };

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
}

/* Lines that tell where they stand: their order shows in what arrives. */
static void put_lines(struct writer *writer, int from, int to)
{
	for (int i = from; i < to; i++) {
		char line[64];
		int length = snprintf(line, sizeof(line), "%d of a long output\n", i);

		assert_int_equal(writer_put(writer, line, length), 0);
	}
}

static void check_lines(FILE *in, int count)
{
	char line[64];
	char expected[64];

	for (int i = 0; i < count; i++) {
		snprintf(expected, sizeof(expected), "%d of a long output\n", i);
		assert_non_null(fgets(line, sizeof(line), in));
		assert_string_equal(line, expected);
	}
	assert_null(fgets(line, sizeof(line), in));
}

static void test_file(void **state)
{
	int fd = open_file();
	struct writer *writer = writer_new(fd, -1);
	FILE *in;

	(void)state;
	put_lines(writer, 0, 100000);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(writer_flush(writer), 0);
	writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	in = fdopen(fd, "r");
	check_lines(in, 100000);
	fclose(in);
	writer_free(NULL);
}

/* Nothing leaves before the buffer is full or flushed. */
static void test_buffer_border(void **state)
{
	static char bytes[2 * WRITER_BUFFER + 2];
	int fd = open_file();
	struct writer *writer = writer_new(fd, -1);

	(void)state;
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

static void test_slow_reader_gets_all_in_order(void **state)
{
	int fds[2];
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child) {
		struct writer *writer = writer_new(fds[1], -1);

		close(fds[0]);
		put_lines(writer, 0, 50000);
		_exit(writer_flush(writer) ? 1 : 0);
	}
	close(fds[1]);
	usleep(100000);
	check_lines(fdopen(fds[0], "r"), 50000);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(fds[0]);
}

static void test_full_device(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct writer *writer = writer_new(fd, -1);

	(void)state;
	assert_int_equal(writer_put(writer, "x", 1), 0);
	assert_int_equal(writer_flush(writer), -ENOSPC);
	assert_int_equal(writer_put(writer, "x", 1), -ENOSPC);
	assert_int_equal(writer_flush(writer), -ENOSPC);
	writer_free(writer);
	close(fd);
}

static void test_reader_has_gone(void **state)
{
	static char bytes[WRITER_BUFFER];
	struct writer *writer;
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	writer = writer_new(fds[1], -1);
	assert_int_equal(writer_put(writer, bytes, sizeof(bytes)), -EPIPE);
	assert_int_equal(writer_flush(writer), -EPIPE);
	writer_free(writer);
	close(fds[1]);
}

/* The reader goes while the writer waits for room. */
static void test_reader_goes_while_waiting(void **state)
{
	struct writer *writer;
	int fds[2];
	pid_t child;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	fill_pipe(fds[1]);
	child = fork();
	if (!child) {
		close(fds[1]);
		usleep(100000);
		_exit(0);
	}
	close(fds[0]);
	writer = writer_new(fds[1], -1);
	assert_int_equal(writer_put(writer, "x", 1), 0);
	assert_int_equal(writer_flush(writer), -EPIPE);
	waitpid(child, NULL, 0);
	writer_free(writer);
	close(fds[1]);
}

/* Nobody reads, and a stop is asked for: it ends when the grace is over, and for good. */
static void test_nobody_reads_and_stop(void **state)
{
	int stop = stop_asked();
	struct writer *writer;
	int64_t start, took;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fill_pipe(fds[1]);
	writer = writer_new(fds[1], stop);
	assert_int_equal(writer_put(writer, "x", 1), 0);
	start = now_ms();
	assert_int_equal(writer_flush(writer), -ETIMEDOUT);
	took = now_ms() - start;
	assert_in_range(took, WRITER_GRACE_MS - 50, WRITER_GRACE_MS + 1000);
	assert_int_equal(writer_put(writer, "x", 1), -ETIMEDOUT);
	assert_in_range(now_ms() - start - took, 0, 500);
	writer_free(writer);
	close(fds[0]);
	close(fds[1]);
	close(stop);
}

/* Room for a little only: what is more than that must not block in write(2). */
static void test_little_room_and_stop(void **state)
{
	static char bytes[WRITER_BUFFER];
	int stop = stop_asked();
	struct writer *writer;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fill_pipe(fds[1]);
	assert_int_equal(read(fds[0], bytes, PIPE_BUF), PIPE_BUF);
	writer = writer_new(fds[1], stop);
	alarm(10);
	assert_int_equal(writer_put(writer, bytes, sizeof(bytes)), -ETIMEDOUT);
	alarm(0);
	writer_free(writer);
	close(fds[0]);
	close(fds[1]);
	close(stop);
}

/* One who reads all within the grace gets all after a stop as well. */
static void test_stop_with_a_slow_reader(void **state)
{
	static char bytes[8 * PIPE_BUF];
	int stop = stop_asked();
	struct writer *writer;
	int fds[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fill_pipe(fds[1]);
	child = fork();
	if (!child) {
		close(fds[1]);
		do
			usleep(20000);
		while (read(fds[0], bytes, PIPE_BUF) > 0);
		_exit(0);
	}
	writer = writer_new(fds[1], stop);
	assert_int_equal(writer_put(writer, bytes, sizeof(bytes)), 0);
	assert_int_equal(writer_flush(writer), 0);
	writer_free(writer);
	close(fds[0]);
	close(fds[1]);
	close(stop);
	waitpid(child, NULL, 0);
}

/* One who takes a page now and then does not hold the program longer than one who takes none. */
static void test_stop_with_a_lazy_reader(void **state)
{
	static char bytes[WRITER_BUFFER];
	int stop = stop_asked();
	struct writer *writer;
	int fds[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fill_pipe(fds[1]);
	child = fork();
	if (!child) {
		close(fds[1]);
		do
			usleep(700000);
		while (read(fds[0], bytes, PIPE_BUF) > 0);
		_exit(0);
	}
	writer = writer_new(fds[1], stop);
	alarm(5);
	assert_int_equal(writer_put(writer, bytes, sizeof(bytes)), -ETIMEDOUT);
	alarm(0);
	writer_free(writer);
	close(fds[0]);
	close(fds[1]);
	close(stop);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* With room, a stop that is asked for changes nothing: all that is queued gets out. */
static void test_stop_with_room(void **state)
{
	int stop = stop_asked();
	struct writer *writer;
	char byte[8];
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	writer = writer_new(fds[1], stop);
	assert_int_equal(writer_put(writer, "all", 3), 0);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(read(fds[0], byte, sizeof(byte)), 3);
	assert_int_equal(read(stop, byte, sizeof(byte)), 8); /* not read by the writer */
	writer_free(writer);
	close(fds[0]);
	close(fds[1]);
	close(stop);
}

static void test_pipe_without_blocking(void **state)
{
	int stop = stop_asked();
	struct writer *writer;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fill_pipe(fds[1]);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	writer = writer_new(fds[1], stop);
	assert_int_equal(writer_put(writer, "x", 1), 0);
	assert_int_equal(writer_flush(writer), -ETIMEDOUT);
	writer_free(writer);
	close(fds[0]);
	close(fds[1]);
	close(stop);
}

static void test_closed_descriptor(void **state)
{
	int fd = open_file();
	struct writer *writer;

	(void)state;
	close(fd);
	writer = writer_new(fd, -1);
	assert_int_equal(writer_put(writer, "x", 1), 0);
	assert_int_equal(writer_flush(writer), -EBADF);
	writer_free(writer);
}

/* What is queued and what failed stays with the old descriptor. */
static void test_attach(void **state)
{
	int full = open("/dev/full", O_WRONLY);
	int fd = open_file();
	struct writer *writer = writer_new(full, -1);
	char text[16] = "";

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_buffer_border),
		cmocka_unit_test(test_slow_reader_gets_all_in_order),
		cmocka_unit_test(test_full_device),
		cmocka_unit_test(test_reader_has_gone),
		cmocka_unit_test(test_reader_goes_while_waiting),
		cmocka_unit_test(test_nobody_reads_and_stop),
		cmocka_unit_test(test_little_room_and_stop),
		cmocka_unit_test(test_stop_with_a_slow_reader),
		cmocka_unit_test(test_stop_with_a_lazy_reader),
		cmocka_unit_test(test_stop_with_room),
		cmocka_unit_test(test_pipe_without_blocking),
		cmocka_unit_test(test_closed_descriptor),
		cmocka_unit_test(test_attach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
