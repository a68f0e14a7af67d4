// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "journal/socket.h"

#define LENGTH_BYTES 8

struct journal_socket {
	int fd;
	struct sockaddr_un address;
	uint64_t sent;
	uint64_t dropped;
	size_t first; /* place of the oldest in ring */
	size_t count; /* entries in ring */
	struct journal_entry ring[JOURNAL_WAITING_MAX];
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

/*
 * Passes the address each time, because a connected socket would keep the inode of a journald that
 * has exited. Every error may be temporary: no socket, no listener, a full queue, no memory.
 */
static bool send_entry(struct journal_socket *journal, const struct journal_entry *entry)
{
	ssize_t sent;

	do {
		sent = sendto(journal->fd, entry->bytes, entry->used, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (const struct sockaddr *)&journal->address, sizeof(journal->address));
	} while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		journal->sent++;
	return sent >= 0;
}

size_t journal_socket_flush(struct journal_socket *journal)
{
	while (journal->count && send_entry(journal, &journal->ring[journal->first])) {
		journal->first = (journal->first + 1) % JOURNAL_WAITING_MAX;
		journal->count--;
	}
	return journal->count;
}

void journal_socket_put(struct journal_socket *journal, const struct journal_entry *entry)
{
	struct journal_entry *waiting;

	if (!journal_socket_flush(journal) && send_entry(journal, entry))
		return;
	if (journal->count == JOURNAL_WAITING_MAX) {
		journal->dropped++;
		return;
	}
	waiting = &journal->ring[(journal->first + journal->count++) % JOURNAL_WAITING_MAX];
	waiting->used = entry->used;
	memcpy(waiting->bytes, entry->bytes, entry->used);
}

void journal_socket_drop(struct journal_socket *journal)
{
	journal->dropped += journal->count;
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
