/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_H
#define ALLOCFILT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/plan.h"
#include "allocfilt/tracing.h"

/* The two ways to run: on a running kernel, and over a capture. */

struct signals;

struct run_context {
	const struct options *options;
	int argc; /* where the options came from, to read them again */
	char **argv;
	uint64_t started; /* ns, CLOCK_MONOTONIC: of the program; a reload is no start */
	struct writer *output;
	struct signals *signals;
	const char *run_dir; /* of the session: SESSION_RUN_DIR */
};

/**
 * live_run - trace a running kernel until a signal, -d, or the reader of the output ends it
 *
 * Puts tracing back on every road. Returns 0, or -errno with @failure.
 */
int live_run(const struct run_context *run, struct failure *failure);

/**
 * service_run - the same for months, with --journal, most often under a service manager
 *
 * SIGHUP reads the configuration again. Where a manager waits to hear from us, tracing that is in
 * use by somebody else is waited for, at the start and later. Returns 0, or -errno with @failure.
 */
int service_run(const struct run_context *run, struct failure *failure);

/** replay_run - filter a capture; returns 0, or -errno with @failure */
int replay_run(const struct run_context *run, struct failure *failure);

/** kernel_check_run - --probe: print what this kernel offers and what would be traced */
int kernel_check_run(const struct options *options, struct failure *failure);

/**
 * kernel_plan - what the options ask for, of what a running kernel has
 *
 * Changes nothing. Returns 0, or -errno with @failure as kernel_open() and plan_make(); the kernel
 * may be open then too. Release with plan_free() and kernel_close().
 */
int kernel_plan(struct kernel **kernel, struct plan **plan, const struct options *options,
		struct failure *failure);

/**
 * kernel_plan_check - has this kernel what the options ask for?
 *
 * Changes nothing. Returns 0, also where the tracing directory cannot be read, or -errno with
 * @failure as plan_make().
 */
int kernel_plan_check(const struct options *options, struct failure *failure);

/*
 * Signals arrive through one signalfd. SIGINT, SIGTERM, SIGQUIT and SIGHUP ask for an end (SIGHUP
 * of a service for a reload), SIGUSR1 for the summary so far.
 */

/**
 * signals_block - from here on signals are read
 *
 * SIGHUP not where it is ignored already (nohup). A SIGINT or SIGQUIT that a shell set to ignored
 * for its background job counts all the same. SIGPIPE is ignored. To be called before anything is
 * changed that has to be put back. Returns 0 or -errno.
 */
int signals_block(struct signals **signals);
void signals_free(struct signals *signals);

/** signals_fd - readable when a signal has come that was not read yet */
int signals_fd(const struct signals *signals);

/** signals_next - a signal that has come and was not returned before, SIGUSR1 last; 0: none */
int signals_next(struct signals *signals);

/** signals_summary_asked - has SIGUSR1 come, and was not returned before? */
bool signals_summary_asked(struct signals *signals);

/** signals_stop_asked - has one come, other than SIGUSR1? signals_next() still returns it */
bool signals_stop_asked(void *signals);

/*
 * The one place where the program waits: epoll over descriptors, a timer tick and signals.
 */

struct loop;

/* Each: 0 to go on, 1 to end the loop in good order, -errno to end it with that error. */
struct loop_callbacks {
	int (*tick)(void *context, uint64_t now); /* now: ns, CLOCK_MONOTONIC */
	int (*signal)(void *context, int signal_number);
};

/** loop_new - what it gets has to live as long; NULL and errno */
struct loop *loop_new(const struct loop_callbacks *callbacks, void *context,
		      struct signals *signals);
void loop_free(struct loop *loop);

/** loop_set_tick - nanoseconds between ticks, 0: none; 0 or -errno */
int loop_set_tick(struct loop *loop, uint64_t interval);

/**
 * loop_watch - wake up for a descriptor
 * @events: EPOLL* of epoll_ctl(2); 0 watches for its end only (EPOLLERR, EPOLLHUP)
 * @ready: called with the context of the loop; returns as tick and signal do
 *
 * Returns 0 or -errno; a regular file gives -EPERM.
 */
int loop_watch(struct loop *loop, int fd, uint32_t events,
	       int (*ready)(void *context, int fd, uint32_t events));
void loop_forget(struct loop *loop, int fd);

/** loop_run - until a callback ends it; 0 or its -errno */
int loop_run(struct loop *loop);

/** loop_wakeups - how often the loop has woken up */
uint64_t loop_wakeups(const struct loop *loop);

/** loop_now - ns, CLOCK_MONOTONIC */
uint64_t loop_now(void);

#endif
