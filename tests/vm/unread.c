// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command with a descriptor that is full and that nobody reads, for the tests in a virtual
 * machine; linked statically.
 *
 *   unread FD KIND COMMAND...	the command takes this process; a child keeps the other end
 *
 * FD is 1 or 2; KIND is terminal, pipe, socket (a stream), or journal: then FD is not used, and a
 * datagram socket is at journald's place.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define JOURNAL "/run/systemd/journal/socket"

static void die(const char *what)
{
	fprintf(stderr, "unread: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int other = -1; /* end of a terminal */

static int make_terminal(void)
{
	int fd;

	other = posix_openpt(O_RDWR | O_NOCTTY);
	if (other < 0 || grantpt(other) || unlockpt(other))
		die("posix_openpt");
	fd = open(ptsname(other), O_RDWR | O_NOCTTY);
	if (fd < 0)
		die("terminal");
	return fd;
}

static int make_pair(int (*make)(int fds[2]), int end)
{
	int fds[2];

	if (make(fds))
		die("pair");
	return fds[end];
}

static int make_sockets(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}

static int make_journal(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = JOURNAL };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	mkdir("/run/systemd", 0755);
	mkdir("/run/systemd/journal", 0755);
	unlink(JOURNAL);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)))
		die(JOURNAL);
	return -1;
}

/*
 * A terminal moves what it has on to the reader's side, and has room again; on a busy machine it takes
 * its time. In the end it is left with some: poll(2) says that it is ready, and a longer write(2) would wait.
 */
static void fill(int fd)
{
	char bytes[4096] = { 0 };

	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int full = 0; full < 50; full++) {
		while (write(fd, bytes, sizeof(bytes)) > 0 || write(fd, bytes, 1) > 0)
			full = 0;
		usleep(20000);
	}
	fcntl(fd, F_SETFL, 0);
	if (other >= 0 && read(other, bytes, 600) < 0)
		die("terminal");
}

int main(int argc, char **argv)
{
	pid_t child, own = getpid();
	int fd;

	if (argc < 4) {
		fprintf(stderr, "usage: unread FD KIND COMMAND...\n");
		return 2;
	}
	if (!strcmp(argv[2], "terminal"))
		fd = make_terminal();
	else if (!strcmp(argv[2], "pipe"))
		fd = make_pair(pipe, 1);
	else if (!strcmp(argv[2], "socket"))
		fd = make_pair(make_sockets, 1);
	else
		fd = make_journal();
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == own)
			pause();
		_exit(0);
	}
	if (fd >= 0) {
		fill(fd);
		dup2(fd, atoi(argv[1]));
	}
	for (int more = 3; more < 64; more++)
		close(more);
	execvp(argv[3], argv + 3);
	die(argv[3]);
}
