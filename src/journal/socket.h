/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_SOCKET_H
#define ALLOCFILT_JOURNAL_SOCKET_H

#include <stddef.h>
#include <stdint.h>

/*
 * Entries on their way to journald, by its native protocol
 * (https://systemd.io/JOURNAL_NATIVE_PROTOCOL): a datagram each, or, for one that is too large, an
 * empty datagram with a sealed memfd. journald may be stopped, restarted or gone: sending never
 * blocks, and what is not taken waits.
 */

#define JOURNAL_SOCKET_PATH "/run/systemd/journal/socket"
#define JOURNAL_WAITING_MAX 64	       /* entries */
#define JOURNAL_ENTRY_MAX   (8u << 10) /* bytes of an entry that can wait */

struct journal_socket;

/**
 * journal_socket_new - nothing is sent, and nobody needs to listen yet
 * @path: of journald's socket; NULL: JOURNAL_SOCKET_PATH
 *
 * All that it will ever take is allocated here. Returns NULL with errno: ENOMEM, ENAMETOOLONG, or
 * that of socket(2).
 */
struct journal_socket *journal_socket_new(const char *path);
void journal_socket_free(struct journal_socket *journal);

/**
 * journal_socket_put - send an entry, behind those that wait
 *
 * One that is not taken now waits; it is counted as dropped where JOURNAL_WAITING_MAX wait already
 * or where it is longer than JOURNAL_ENTRY_MAX.
 */
void journal_socket_put(struct journal_socket *journal, const char *entry, size_t length);

/**
 * journal_socket_put_file - send an entry that is the whole content of a memfd
 * @fd: made with MFD_ALLOW_SEALING; sealed here, and still the caller's to close
 *
 * It cannot wait. Returns 0, -EAGAIN where others wait before it or journald's queue is full, or
 * the -errno of fcntl(2) or sendmsg(2); the caller may try again.
 */
int journal_socket_put_file(struct journal_socket *journal, int fd);

/** journal_socket_flush - send what waits, in order, as far as it is taken; how many still wait */
size_t journal_socket_flush(struct journal_socket *journal);

/** journal_socket_give_up - at the end: what waits is dropped, and @more that the caller had */
void journal_socket_give_up(struct journal_socket *journal, size_t more);

/** journal_socket_sent, _dropped - entries since the start */
uint64_t journal_socket_sent(const struct journal_socket *journal);
uint64_t journal_socket_dropped(const struct journal_socket *journal);

/** journal_memfd - an empty memfd for an entry; -errno of memfd_create(2) */
int journal_memfd(void);

#endif
