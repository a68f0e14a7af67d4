/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_SOCKET_H
#define ALLOCFILT_JOURNAL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Journal entries, sent with journald's native protocol as one datagram each
 * (https://systemd.io/JOURNAL_NATIVE_PROTOCOL). An entry is smaller than any send buffer, so no file
 * descriptor has to be passed. journald may be stopped, restarted or absent: sending never blocks,
 * and an entry that is not accepted is dropped.
 */

#define JOURNAL_SOCKET_PATH "/run/systemd/journal/socket"
#define JOURNAL_ENTRY_MAX   (12u << 10) /* bytes */

#define JOURNAL_CUT " [cut]" /* ends a value that was too long */

/* Fields in the order in which they are added. */
struct journal_entry {
	size_t used;
	char bytes[JOURNAL_ENTRY_MAX];
};

/** journal_entry_clear - start an entry without fields */
void journal_entry_clear(struct journal_entry *entry);

/**
 * journal_entry_text - add a field
 * @value: any bytes up to the NUL; "" is a field too
 *
 * A value that is too long is cut and ends with JOURNAL_CUT. If not even that fits, the field is left
 * out.
 */
void journal_entry_text(struct journal_entry *entry, const char *name, const char *value);

/** journal_entry_number - add a field with a decimal number; see journal_entry_text() */
void journal_entry_number(struct journal_entry *entry, const char *name, uint64_t number);

/** journal_entry_fields - append the fields of another entry, all or none */
void journal_entry_fields(struct journal_entry *entry, const struct journal_entry *more);

struct journal_socket;

/**
 * journal_socket_new - open a socket; nothing is sent, and journald need not run yet
 * @path: of journald's socket
 *
 * Nothing is allocated later. Returns NULL with errno: ENOMEM, ENAMETOOLONG, or that of socket(2).
 */
struct journal_socket *journal_socket_new(const char *path);
void journal_socket_free(struct journal_socket *journal);

/**
 * journal_socket_send - send an entry; false: the kernel did not accept it at once, and it is dropped
 *
 * The kernel queues entries while journald is stopped or restarts, until its queue or the send buffer
 * is full.
 */
bool journal_socket_send(const struct journal_socket *journal, const struct journal_entry *entry);

#endif
