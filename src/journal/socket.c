// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "journal/socket.h"

#define LENGTH_BYTES 8
#define SEND_BYTES   (1 << 20) /* bytes of entries that journald has not read yet */

struct journal_socket {
	int fd;
	struct sockaddr_un address;
};

/* ---- an entry ---- */

void journal_entry_clear(struct journal_entry *entry)
{
	entry->used = 0;
}

static void add_bytes(struct journal_entry *entry, const char *bytes, size_t length)
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
	add_bytes(entry, name, strlen(name));
	if (memchr(value, '\n', length)) {
		uint64_t whole = length + strlen(cut);

		add_bytes(entry, "\n", 1);
		for (int i = 0; i < LENGTH_BYTES; i++)
			entry->bytes[entry->used++] = (char)(whole >> (8 * i));
	} else {
		add_bytes(entry, "=", 1);
	}
	add_bytes(entry, value, length);
	add_bytes(entry, cut, strlen(cut));
	add_bytes(entry, "\n", 1);
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
		add_bytes(entry, more->bytes, more->used);
}

/* ---- the socket ---- */

/*
 * While journald restarts, systemd-journald.socket keeps its queue, so the kernel holds what fits into
 * our send buffer. Without CAP_NET_ADMIN that is at most twice net.core.wmem_max.
 */
struct journal_socket *journal_socket_new(const char *path)
{
	struct journal_socket *journal = calloc(1, sizeof(*journal));
	const int bytes = SEND_BYTES;

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
	if (journal->fd < 0) {
		free(journal);
		return NULL;
	}
	/* A smaller buffer drops more entries, and each of them is counted. */
	setsockopt(journal->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return journal;
}

void journal_socket_free(struct journal_socket *journal)
{
	if (!journal)
		return;
	close(journal->fd);
	free(journal);
}

/* The address is passed each time: a connected socket would keep that of a journald that has exited. */
bool journal_socket_send(const struct journal_socket *journal, const struct journal_entry *entry)
{
	return TEMP_FAILURE_RETRY(sendto(
		       journal->fd, entry->bytes, entry->used, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (const struct sockaddr *)&journal->address, sizeof(journal->address))) >= 0;
}
