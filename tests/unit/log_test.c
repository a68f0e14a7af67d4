// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <time.h>

#include "allocfilt/base/log.h"
#include "unit_test.h"

/* Fills what nobody reads; its description stays one that blocks. */
static void fill(int fd)
{
	char bytes[PIPE_BUF] = { 0 };

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (write(fd, bytes, sizeof(bytes)) > 0 || write(fd, bytes, 1) > 0)
		;
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
}

/*
 * A pipe or socket as stderr, full: lines are dropped, soon and without a wait for each, and once
 * there is room a line says how many.
 */
static void check_full(int reader, int full)
{
	static char text[1 << 20];
	int kept = dup(STDERR_FILENO);
	struct timespec from, now;
	size_t length = 0;
	ssize_t got;

	fill(full);
	dup2(full, STDERR_FILENO);
	log_open();
	alarm(60);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 1000; i++)
		log_notice("line %d", i);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_in_range(now.tv_sec - from.tv_sec, 0, 20);
	assert_int_equal(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
	while ((got = read(reader, text, sizeof(text))) > 0)
		;
	log_notice("there is room again for %s", "a\033[8mb\nallocfilt: c");
	while ((got = read(reader, text + length, sizeof(text) - length)) > 0)
		length += got;
	text[length] = '\0';
	assert_string_equal(text, "allocfilt: 1000 messages are missing here: nobody read them\n"
				  "allocfilt: there is room again for "
				  "a\\x1b[8mb\\x0aallocfilt: c\n");
	alarm(0);
	dup2(kept, STDERR_FILENO);
	log_open();
	close(kept);
	close(reader);
	close(full);
}

UNIT_TEST(test_full_pipe)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	check_full(fds[0], fds[1]);
}

UNIT_TEST(test_full_socket)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	check_full(fds[0], fds[1]);
}

UNIT_TEST_MAIN(NULL, NULL)
