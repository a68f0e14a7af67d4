/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_NOTIFY_H
#define ALLOCFILT_JOURNAL_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/output/view.h"

/*
 * Messages to the service manager: readiness, status, watchdog. Each is a datagram (sd_notify(3)) to
 * the socket in NOTIFY_SOCKET. Without this variable nothing is sent.
 */

struct notify;

/**
 * notify_new - read NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID
 *
 * The variables are removed from the environment, so that no child sends notifications for us.
 * Returns NULL if there is no memory.
 */
struct notify *notify_new(void);
void notify_free(struct notify *notify);

/** notify_wanted - is there a service manager to notify? */
bool notify_wanted(const struct notify *notify);

enum notify_state { NOTIFY_READY, NOTIFY_RELOADING, NOTIFY_STOPPING };

/**
 * notify_state - set our state; it is sent again until the manager accepts it
 * @now: ns, CLOCK_MONOTONIC
 */
void notify_state(struct notify *notify, enum notify_state state, uint64_t now);

/** notify_status - set the line in `systemctl status`; the same line is not sent twice */
void notify_status(struct notify *notify, const char *text);

/** notify_tick - call about once a second: sends WATCHDOG=1 when due, and repeats refused messages */
void notify_tick(struct notify *notify, uint64_t now);

/**
 * status_line - "312 stalls, worst 1.2 s (nginx[812]), 0 records lost": one printable line
 *
 * It counts the stalls of tasks that waited. Returns the length.
 */
size_t status_line(char *text, size_t size, const struct summary_view *view);

#endif
