// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "journal/socket.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* include/uapi/linux/memfd.h, from 6.3 */
#endif

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct waiting {
	size_t length;
	char bytes[JOURNAL_ENTRY_MAX];
};

struct journal_socket {
	int fd;
	struct sockaddr_un address;
	uint64_t sent;
	uint64_t dropped;
	size_t first; /* of those that wait, the oldest */
	size_t count;
	struct waiting ring[JOURNAL_WAITING_MAX];
};

/* The send buffer stays as it is: what does not fit waits here, where it is counted. */
struct journal_socket *journal_socket_new(const char *path)
{
	struct journal_socket *journal = calloc(1, sizeof(*journal));

	if (!journal)
		return NULL;
	if (!path)
		path = JOURNAL_SOCKET_PATH;
	journal->fd = -1;
	journal->address.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(journal->address.sun_path)) {
		errno = ENAMETOOLONG;
	} else {
		strcpy(journal->address.sun_path, path);
		journal->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	if (journal->fd >= 0)
		return journal;
	free(journal);
	return NULL;
}

void journal_socket_free(struct journal_socket *journal)
{
	if (!journal)
		return;
	close(journal->fd);
	free(journal);
}

/* With the address each time: a connected socket would stay with the inode of a journald that has
 * gone. Returns 0 or -errno. */
static int send_message(struct journal_socket *journal, struct msghdr *message)
{
	message->msg_name = &journal->address;
	message->msg_namelen = sizeof(journal->address);
	while (sendmsg(journal->fd, message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Without MFD_NOEXEC_SEAL newer kernels write a warning of ours to the kernel's log. */
int journal_memfd(void)
{
	int fd = memfd_create("journal-entry", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("journal-entry", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

static int send_file(struct journal_socket *journal, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct msghdr message = { .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return send_message(journal, &message);
}

static int seal(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals >= 0 && (seals & ALL_SEALS) == ALL_SEALS)
		return 0;
	return fcntl(fd, F_ADD_SEALS, ALL_SEALS) ? -errno : 0;
}

static int fill_file(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			bytes += written;
			length -= written;
		}
	}
	return seal(fd);
}

static int send_by_file(struct journal_socket *journal, const char *entry, size_t length)
{
	int fd = journal_memfd();
	int ret;

	if (fd < 0)
		return fd;
	ret = fill_file(fd, entry, length);
	if (!ret)
		ret = send_file(journal, fd);
	close(fd);
	return ret;
}

/* unix(7): EMSGSIZE is a datagram larger than the send buffer; ENOBUFS is no memory for one in one
 * slice. A memfd needs neither. */
static int send_entry(struct journal_socket *journal, const char *entry, size_t length)
{
	union {
		const char *from;
		char *base; /* sendmsg(2) does not write there */
	} bytes = { .from = entry };
	struct iovec slice = { .iov_base = bytes.base, .iov_len = length };
	struct msghdr message = { .msg_iov = &slice, .msg_iovlen = 1 };
	int ret = send_message(journal, &message);

	if (ret == -EMSGSIZE || ret == -ENOBUFS)
		ret = send_by_file(journal, entry, length);
	if (!ret)
		journal->sent++;
	return ret;
}

/* Whatever the error was, it may be over at the next try: no socket there, nobody behind it, its
 * queue full, no memory, no descriptor. */
size_t journal_socket_flush(struct journal_socket *journal)
{
	while (journal->count) {
		const struct waiting *waiting = &journal->ring[journal->first];

		if (send_entry(journal, waiting->bytes, waiting->length))
			break;
		journal->first = (journal->first + 1) % JOURNAL_WAITING_MAX;
		journal->count--;
	}
	return journal->count;
}

static void let_wait(struct journal_socket *journal, const char *entry, size_t length)
{
	struct waiting *waiting;

	if (journal->count == JOURNAL_WAITING_MAX || length > JOURNAL_ENTRY_MAX) {
		journal->dropped++;
		return;
	}
	waiting = &journal->ring[(journal->first + journal->count++) % JOURNAL_WAITING_MAX];
	waiting->length = length;
	memcpy(waiting->bytes, entry, length);
}

void journal_socket_put(struct journal_socket *journal, const char *entry, size_t length)
{
	if (journal_socket_flush(journal) || send_entry(journal, entry, length))
		let_wait(journal, entry, length);
}

int journal_socket_put_file(struct journal_socket *journal, int fd)
{
	int ret = journal_socket_flush(journal) ? -EAGAIN : 0;

	if (!ret)
		ret = seal(fd);
	if (!ret)
		ret = send_file(journal, fd);
	if (!ret)
		journal->sent++;
	return ret;
}

void journal_socket_give_up(struct journal_socket *journal, size_t more)
{
	journal->dropped += journal->count + more;
	journal->count = 0;
}

uint64_t journal_socket_sent(const struct journal_socket *journal)
{
	return journal->sent;
}

uint64_t journal_socket_dropped(const struct journal_socket *journal)
{
	return journal->dropped;
}
