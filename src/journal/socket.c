// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "journal/socket.h"

#define LENGTH_BYTES 8

struct journal_socket {
	int fd;
	struct sockaddr_un address;
	uint64_t sent;
	uint64_t dropped;
	size_t count;			     /* of the entries that wait */
	size_t oldest;			     /* its place in lengths */
	size_t lengths[JOURNAL_WAITING_MAX]; /* bytes; a ring, as the next */
	size_t first;			     /* byte of the oldest in ring */
	size_t used;			     /* bytes of ring */
	char ring[JOURNAL_WAITING_BYTES];
};

/* ---- an entry ---- */

void journal_entry_clear(struct journal_entry *entry)
{
	entry->used = 0;
}

static void add(struct journal_entry *entry, const char *bytes, size_t length)
{
	memcpy(entry->bytes + entry->used, bytes, length);
	entry->used += length;
}

/* `NAME=value`; a value with a newline is preceded by its length, 8 bytes in little-endian order. */
void journal_entry_text(struct journal_entry *entry, const char *name, const char *value)
{
	size_t overhead = entry->used + strlen(name) + 1 + LENGTH_BYTES + strlen("\n");
	size_t room = overhead < sizeof(entry->bytes) ? sizeof(entry->bytes) - overhead : 0;
	size_t length = strlen(value);
	const char *cut = "";

	if (length > room) {
		if (room < strlen(JOURNAL_CUT))
			return;
		cut = JOURNAL_CUT;
		length = room - strlen(JOURNAL_CUT);
		/* not inside a UTF-8 character */
		while (length && (value[length] & 0xc0) == 0x80)
			length--;
	}
	add(entry, name, strlen(name));
	if (memchr(value, '\n', length)) {
		uint64_t whole = length + strlen(cut);

		add(entry, "\n", 1);
		for (int i = 0; i < LENGTH_BYTES; i++)
			entry->bytes[entry->used++] = (char)(whole >> (8 * i));
	} else {
		add(entry, "=", 1);
	}
	add(entry, value, length);
	add(entry, cut, strlen(cut));
	add(entry, "\n", 1);
}

void journal_entry_number(struct journal_entry *entry, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	journal_entry_text(entry, name, text);
}

void journal_entry_fields(struct journal_entry *entry, const struct journal_entry *more)
{
	if (more->used <= sizeof(entry->bytes) - entry->used)
		add(entry, more->bytes, more->used);
}

/* ---- the socket ---- */

/* The send buffer is not enlarged: entries that do not fit wait in the ring and are counted. */
struct journal_socket *journal_socket_new(const char *path)
{
	struct journal_socket *journal = calloc(1, sizeof(*journal));

	if (!journal)
		return NULL;
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

/* How many of @length bytes of the ring from @place on are before its end. */
static size_t bytes_at_end(size_t place, size_t length)
{
	size_t at_end = JOURNAL_WAITING_BYTES - place;

	return length < at_end ? length : at_end;
}

/*
 * Passes the address each time, because a connected socket would keep the inode of a journald that
 * has exited. Every error may be temporary: no socket, no listener, a full queue, no memory.
 */
static bool send_oldest(struct journal_socket *journal)
{
	size_t length = journal->lengths[journal->oldest];
	size_t at_end = bytes_at_end(journal->first, length);
	struct iovec parts[] = {
		{ journal->ring + journal->first, at_end },
		{ journal->ring, length - at_end },
	};
	const struct msghdr message = {
		.msg_name = &journal->address,
		.msg_namelen = sizeof(journal->address),
		.msg_iov = parts,
		.msg_iovlen = ARRAY_SIZE(parts),
	};
	ssize_t sent;

	do
		sent = sendmsg(journal->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

size_t journal_socket_flush(struct journal_socket *journal)
{
	while (journal->count && send_oldest(journal)) {
		size_t length = journal->lengths[journal->oldest];

		journal->sent++;
		journal->count--;
		journal->oldest = (journal->oldest + 1) % JOURNAL_WAITING_MAX;
		journal->used -= length;
		journal->first = (journal->first + length) % JOURNAL_WAITING_BYTES;
	}
	return journal->count;
}

void journal_socket_put(struct journal_socket *journal, const struct journal_entry *entry)
{
	size_t waiting = journal_socket_flush(journal);
	size_t end = (journal->first + journal->used) % JOURNAL_WAITING_BYTES;
	size_t at_end = bytes_at_end(end, entry->used);

	if (waiting == JOURNAL_WAITING_MAX || entry->used > JOURNAL_WAITING_BYTES - journal->used) {
		journal->dropped++;
		return;
	}
	memcpy(journal->ring + end, entry->bytes, at_end);
	memcpy(journal->ring, entry->bytes + at_end, entry->used - at_end);
	journal->used += entry->used;
	journal->lengths[(journal->oldest + journal->count++) % JOURNAL_WAITING_MAX] = entry->used;
	if (!waiting)
		journal_socket_flush(journal);
}

void journal_socket_drop(struct journal_socket *journal)
{
	journal->dropped += journal->count;
	journal->count = 0;
	journal->used = 0;
}

uint64_t journal_socket_sent(const struct journal_socket *journal)
{
	return journal->sent;
}

uint64_t journal_socket_dropped(const struct journal_socket *journal)
{
	return journal->dropped;
}
