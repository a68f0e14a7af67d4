/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_SIGNALS_H
#define ALLOCFILT_RUN_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/run/run.h"

/*
 * Signals are read from one signalfd: all that would end the process and can be blocked, but for those
 * of a fault in the program. SIGUSR1 asks for the summary so far, SIGHUP has a service reload, and each
 * other one requests a stop.
 */

#define SIGNAL_BIT(number) (1ull << ((number)-1)) /* in a mask of signals */

/**
 * signals_block - block the signals and read them from a signalfd from now on
 *
 * A signal stays ignored if it is already, as SIGHUP by nohup. SIGINT, SIGQUIT, SIGTERM, SIGALRM and
 * SIGUSR1 are read even then, as a shell ignores the first two for a background job: the kernel
 * ignores no signal that is blocked (kernel/signal.c, sig_ignored()). Call it before any change that
 * has to be restored. Returns 0 or -errno.
 */
int signals_block(struct signals **signals);
void signals_free(struct signals *signals);

/** signals_fd - readable when an unread signal is pending */
int signals_fd(const struct signals *signals);

/** signals_next - the next pending signal, SIGUSR1 last; 0: none */
int signals_next(struct signals *signals);

/** signals_next_of - signals_next(), but only those in @mask: SIGNAL_BIT() of each */
int signals_next_of(struct signals *signals, uint64_t mask);

/**
 * signals_from_terminal - did the kernel send the signal that signals_next() returned last?
 *
 * As it does for Ctrl-C and when a terminal is gone, to a whole process group (SI_KERNEL).
 */
bool signals_from_terminal(const struct signals *signals, int number);

/** signals_summary_asked - is SIGUSR1 pending? Consumes it */
bool signals_summary_asked(struct signals *signals);

/** signals_stop_asked - is a signal other than SIGUSR1 pending? signals_next() still returns it */
bool signals_stop_asked(void *signals);

/**
 * signals_set_deadline - request a stop, by SIGALRM, when a time has passed
 * @after: ns; 0: never
 *
 * Replaces an earlier deadline, also one that has passed and was not returned yet. Returns 0, or
 * -errno with the earlier one in place (-EPERM: a seccomp filter).
 */
int signals_set_deadline(struct signals *signals, uint64_t after);

#endif
