/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_H
#define ALLOCFILT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/plan.h"
#include "allocfilt/tracing.h"

/* Runs on a running kernel (live, service) and over a capture (replay). */

struct command;
struct manager;
struct signals;

/* A run needs these, and they have to outlive it. */
struct run_context {
	const struct options *options;
	int argc; /* the command line, to parse it again on a reload */
	char **argv;
	uint64_t started; /* ns, CLOCK_MONOTONIC: start of the program */
	struct writer *output;
	struct signals *signals;
	struct command *command; /* NULL: none */
	struct manager *manager; /* of a service; NULL: none */
	const char
		*run_dir; /* of the lock and the undo file: SESSION_RUN_DIR; tests have their own */
};

/**
 * live_run - trace a running kernel until a signal, -d, or the reader of the output ends it
 *
 * Restores tracing on every path. Returns 0, or -errno with @failure.
 */
int live_run(const struct run_context *run, struct failure *failure);

/**
 * service_run - trace with --journal for months, usually under a service manager
 *
 * SIGHUP reads the configuration again: without a mistake the run ends, and another one begins with it.
 * Under a service manager (NOTIFY_SOCKET) it waits while another user traces, at the start and later.
 * Returns 0, or -errno with @failure.
 */
int service_run(const struct run_context *run, struct failure *failure);

/**
 * account_run - count who takes memory, until a signal, -d, or the reader of the output ends it
 *
 * As live_run(), with tables of its own in place of stalls.
 */
int account_run(const struct run_context *run, struct failure *failure);

/** replay_run - filter a capture; returns 0, or -errno with @failure */
int replay_run(const struct run_context *run, struct failure *failure);

/**
 * verify_run - for --verify, check a capture and print what was found
 *
 * Returns 0 if it is clean, or -errno with @failure (1 if it is not clean, 2 if it is no capture).
 */
int verify_run(const struct run_context *run, struct failure *failure);

/**
 * kernel_check_run - for --probe, print what this kernel offers and what would be traced
 *
 * Leaves nothing changed: the probe for superblocks is defined for a moment. Returns 0, or -errno
 * with @failure as kernel_plan(); a capture is refused (status 2); 6 where that probe could not be
 * removed.
 */
int kernel_check_run(const struct options *options, struct failure *failure);

/**
 * kernel_plan - open the kernel and plan what to trace with these options
 * @kernel: a kernel that is open already, or NULL
 * @whole: see kernel_open(); with functions of the user's the list is read as a whole
 *
 * Changes nothing. Returns 0, or -errno with @failure as kernel_open() and plan_make(); *@kernel
 * may be open also after a failure. Release with plan_free() and kernel_close().
 */
int kernel_plan(struct kernel **kernel, struct plan **plan, const struct options *options,
		bool whole, struct failure *failure);

/**
 * kernel_plan_check - can this kernel trace what the options request?
 *
 * Changes nothing. Returns 0; 1 if the options name functions or events and the tracing directory
 * cannot be read, with the reason in @failure; or -errno with @failure as plan_make().
 */
int kernel_plan_check(const struct options *options, struct failure *failure);

/**
 * kernel_check_processes - do the processes of -p exist?
 *
 * Warns of those that do not. If none does, returns -ESRCH with @failure (status 2), but not for a
 * service, which may name a process that comes later.
 */
int kernel_check_processes(const struct options *options, struct failure *failure);

/** kernel_log_unavailable - log which roles this kernel cannot trace */
void kernel_log_unavailable(const struct plan *plan);

/*
 * Signals are read from one signalfd. SIGINT, SIGTERM, SIGQUIT, SIGALRM and SIGHUP request a stop
 * (SIGHUP of a service a reload), SIGUSR1 the summary so far.
 */

/**
 * signals_block - block the signals and read them from a signalfd from now on
 *
 * SIGHUP stays ignored if it is already (nohup). Others are read even if they are ignored, as a shell
 * has it for a background job: the kernel ignores no signal that is blocked (kernel/signal.c,
 * sig_ignored()). Call it before any change that has to be restored. Returns 0 or -errno.
 */
int signals_block(struct signals **signals);
void signals_free(struct signals *signals);

/** signals_fd - readable when an unread signal is pending */
int signals_fd(const struct signals *signals);

/** signals_next - the next pending signal, SIGUSR1 last; 0: none */
int signals_next(struct signals *signals);

/** signals_next_of - signals_next(), but only those in @mask: 1 << number for each */
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

/** command_free - a child that was not started is ended; NULL is allowed */
void command_free(struct command *command);

pid_t command_pid(const struct command *command);

/** command_fd - readable (EPOLLIN) when the child has ended */
int command_fd(const struct command *command);

/** command_start - let the child execute COMMAND */
void command_start(struct command *command);

bool command_started(const struct command *command);

/** command_signal - pass a signal on, unless the child got it from the terminal as well */
void command_signal(struct command *command, int number, bool from_terminal);

/**
 * command_watch - what a writer of the run waits for, with command_stop_asked()
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

/*
 * The one place where the program waits: epoll over descriptors, a timer tick and signals.
 */

struct loop;

/* Each returns 0 to continue, 1 to end the loop, -errno to end it with that error. */
struct loop_callbacks {
	/* now: ns, CLOCK_MONOTONIC; NULL where no tick is set */
	int (*tick)(void *context, uint64_t now);
	int (*signal)(void *context, int signal_number);
};

/** loop_new - the arguments must outlive the loop; NULL and errno on failure */
struct loop *loop_new(const struct loop_callbacks *callbacks, void *context,
		      struct signals *signals);
void loop_free(struct loop *loop);

/** loop_set_tick - @interval: ns between ticks, 0: none; returns 0 or -errno */
int loop_set_tick(struct loop *loop, uint64_t interval);

/**
 * loop_watch - wake up for a descriptor
 * @events: EPOLL* of epoll_ctl(2); 0: only EPOLLERR and EPOLLHUP
 * @ready: called with the context of the loop; returns as tick and signal do
 *
 * Returns 0 or -errno; -EPERM for a regular file.
 */
int loop_watch(struct loop *loop, int fd, uint32_t events,
	       int (*ready)(void *context, int fd, uint32_t events));

/** loop_end - a @ready that ends the loop */
int loop_end(void *context, int fd, uint32_t events);

/** loop_forget - do not wake up for a descriptor any longer; ignored if it is not watched */
void loop_forget(struct loop *loop, int fd);

/** loop_run - run until a callback ends it; returns 0 or its -errno */
int loop_run(struct loop *loop);

/** loop_wakeups - the number of wakeups */
uint64_t loop_wakeups(const struct loop *loop);

/** loop_now - ns, CLOCK_MONOTONIC */
uint64_t loop_now(void);

/** loop_cpu_time - ns: CPU time of our process, user and system */
uint64_t loop_cpu_time(void);

#endif
