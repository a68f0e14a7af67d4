/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NOTIFY_H
#define ALLOCFILT_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a service manager is told: readiness, status, signs of life. A datagram each, after
 * sd_notify(3), to the socket that NOTIFY_SOCKET names. Without it nothing is sent.
 */

struct notify;

/**
 * notify_new - look at NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID
 *
 * The variables are taken out of the environment: no child is to speak for us. Returns NULL with
 * errno ENOMEM.
 */
struct notify *notify_new(void);
void notify_free(struct notify *notify);

/** notify_wanted - is there a service manager that listens? */
bool notify_wanted(const struct notify *notify);

/**
 * notify_state - say what we are at from now on; each is sent once, and again until it is taken
 * @now: ns, CLOCK_MONOTONIC
 */
enum notify_state { NOTIFY_READY, NOTIFY_RELOADING, NOTIFY_STOPPING };
void notify_state(struct notify *notify, enum notify_state state, uint64_t now);

/** notify_status - a line for `systemctl status`; one that was said already is not sent again */
void notify_status(struct notify *notify, const char *text);

/** notify_tick - once a second or so: a sign of life when it is due, and what could not be sent */
void notify_tick(struct notify *notify, uint64_t now);

#endif
