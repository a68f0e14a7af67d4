// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A client that times each of its requests, of Redis or by HTTP; linked statically for the virtual
 * machine.
 *
 *   client PORT CONNECTIONS PER_SECOND SECONDS REQUEST NUMBERS...
 *
 * REQUEST is sent with a number for its %d. Each of the NUMBERS is a range "FROM-TO", and the next
 * request takes a number from the next of them. A connection has a request due at regular times, from
 * which the latency counts: one that is late, as the reply before it was, has waited as well. Prints
 * of each request the wall-clock time of its end and its latency, in ns.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000LL
#define HEAD_MAX      4096

struct reply {
	char head[HEAD_MAX + 1];
	size_t length; /* as far as it is read */
	size_t whole;  /* 0: not known yet */
};

static void die(const char *what)
{
	fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * NS_PER_SECOND + time.tv_nsec;
}

static void sleep_until(int64_t ns)
{
	struct timespec time = { .tv_sec = ns / NS_PER_SECOND, .tv_nsec = ns % NS_PER_SECOND };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static int connect_to(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		die("connect");
	return fd;
}

/* "+OK", "$-1" or "$LENGTH" and a string, each with its line's end */
static size_t whole_of_redis(const char *head)
{
	const char *end = strstr(head, "\r\n");
	long length = head[0] == '$' ? atol(head + 1) : -1;

	if (!end)
		return 0;
	return end + 2 - head + (length < 0 ? 0 : length + 2);
}

static size_t whole_of_http(const char *head)
{
	const char *end = strstr(head, "\r\n\r\n"),
		   *length = strcasestr(head, "\r\nContent-Length:");

	if (!end || !length)
		return 0;
	return end + 4 - head + strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
}

static void read_reply(int fd)
{
	static char rest[1 << 16];
	struct reply reply = { .length = 0 };

	while (!reply.whole || reply.length < reply.whole) {
		char *to = reply.whole ? rest : reply.head + reply.length;
		ssize_t got = read(fd, to, reply.whole ? sizeof(rest) : HEAD_MAX - reply.length);

		if (got <= 0)
			die("read");
		reply.length += got;
		if (reply.whole)
			continue;
		reply.head[reply.length] = '\0';
		reply.whole = strncmp(reply.head, "HTTP/", 5) ? whole_of_redis(reply.head) :
								whole_of_http(reply.head);
	}
}

static void send_request(int fd, const char *request, const char *range)
{
	const char *place = strstr(request, "%d");
	unsigned long from = strtoul(range, NULL, 10),
		      to = strtoul(strchr(range, '-') + 1, NULL, 10);
	int before = place ? (int)(place - request) : (int)strlen(request);
	const char *end = strstr(request, " HTTP/") ? "\r\nHost: localhost\r\n\r\n" : "\r\n";
	char text[HEAD_MAX];
	int length = snprintf(text, sizeof(text), "%.*s%lu%s%s", before, request,
			      from + random() % (to - from + 1), place ? place + 2 : "", end);

	if (write(fd, text, length) != length)
		die("write");
}

/* Its requests are due between those of the other connections. */
static void one_connection(char **argv, int number, int64_t start)
{
	int connections = atoi(argv[2]), fd = connect_to(atoi(argv[1])), ranges = 0, next = number;
	int64_t period = NS_PER_SECOND * connections / atoi(argv[3]), ns;
	int64_t due = start + period * number / connections;

	while (argv[6 + ranges])
		ranges++;
	srandom(number + 1);
	while (due < start + atoi(argv[4]) * NS_PER_SECOND) {
		sleep_until(due);
		send_request(fd, argv[5], argv[6 + next++ % ranges]);
		read_reply(fd);
		ns = now(CLOCK_MONOTONIC) - due;
		printf("%" PRId64 " %" PRId64 "\n", now(CLOCK_REALTIME), ns);
		due += period;
	}
}

int main(int argc, char **argv)
{
	int64_t start = now(CLOCK_MONOTONIC) + NS_PER_SECOND;
	int status, failed = 0;

	if (argc < 7)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (fork() == 0) {
			if (mlockall(MCL_CURRENT | MCL_FUTURE))
				die("mlockall");
			one_connection(argv, i, start);
			return 0;
		}
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
