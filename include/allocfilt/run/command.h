/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_COMMAND_H
#define ALLOCFILT_RUN_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "allocfilt/run/run.h"

/*
 * COMMAND: a child in our process group that waits until tracing is on.
 */

/**
 * command_new - fork the child, with all that it inherits as it is now
 * @argv: COMMAND and its arguments, NULL ends
 *
 * To be called before a signal is blocked or ignored, a limit raised, a score set: it inherits them.
 * A child that cannot be executed says so on stderr and ends with 126, or with 127 if it is not found,
 * as env(1) does. Returns 0, or -errno with @failure (status 1).
 */
int command_new(struct command **command, char *const *argv, struct failure *failure);

/** command_free - a child that was not started is ended */
void command_free(struct command *command);

pid_t command_pid(const struct command *command);

/** command_fd - readable (EPOLLIN) when the child has ended */
int command_fd(const struct command *command);

/** command_start - let the child execute COMMAND */
void command_start(struct command *command);

bool command_started(const struct command *command);

/** command_failed - could the child, which was started and has ended, not execute COMMAND? */
bool command_failed(const struct command *command);

/** command_signal - pass a signal on, unless the child got it from the terminal as well */
void command_signal(struct command *command, int number, bool from_terminal);

/**
 * command_watch - a descriptor for writer_new(), with command_stop_asked()
 *
 * Returns a descriptor, valid until command_free(): readable when the child has ended or an unread
 * signal is pending; or -errno.
 */
int command_watch(struct command *command, struct signals *signals);

/**
 * command_stop_asked - has the child ended, or the time of -d?
 *
 * Passes the other signals on: what they do is up to the child.
 */
bool command_stop_asked(void *command);

/**
 * command_wait - wait until a child that was started has ended; to be called once
 * @signals: those that come meanwhile are passed on
 *
 * Returns its exit status; 128 + N if signal N ended it, as a shell has it.
 */
int command_wait(struct command *command, struct signals *signals);

#endif
