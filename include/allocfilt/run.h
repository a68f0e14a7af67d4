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

struct run_context {
	const struct options *options;
	int argc; /* where the options came from, to read them again */
	char **argv;
	uint64_t started; /* ns, CLOCK_MONOTONIC: of the program; a reload is no start */
	struct writer *output;
	int output_fd;	/* watched for a reader that goes */
	int signal_fd;	/* of loop_block_signals() */
	int request_fd; /* of loop_block_requests() */
};

/**
 * live_run - trace a running kernel until a signal, -d, or the reader of the output ends it
 *
 * Puts tracing back on every road. Returns 0, or -errno with @failure.
 */
int live_run(const struct run_context *run, struct failure *failure);

/** probe_run - --probe: print what this kernel offers and what would be traced; writes nothing */
int probe_run(const struct options *options, struct failure *failure);

/** replay_run - filter a capture; returns 0, or -errno with @failure */
int replay_run(const struct run_context *run, struct failure *failure);

/** summary_print - to the output, and to stderr where a person would otherwise not see it */
struct pipeline;
int summary_print(const struct run_context *run, struct pipeline *pipeline);

/** summary_answer - SIGUSR1, where one has come: the summary so far, to stderr */
void summary_answer(const struct run_context *run, struct pipeline *pipeline);

/**
 * kernel_plan - what the options ask for, of what a running kernel has
 *
 * Changes nothing. Returns 0, or -errno with @failure as kernel_open() and plan_make(); the kernel
 * may be open then too. Release with plan_free() and kernel_close().
 */
int kernel_plan(struct kernel **kernel, struct plan **plan, const struct options *options,
		struct failure *failure);

/**
 * kernel_plan_check - is what the options ask for there?
 *
 * Changes nothing. Returns 0, also where the tracing directory cannot be read, or -errno with
 * @failure as plan_make().
 */
int kernel_plan_check(const struct options *options, struct failure *failure);

/*
 * The one place where the program waits: epoll over descriptors, a timer tick and signals.
 */

struct loop;

struct loop_setup {
	void *context;
	/* each: 0 to go on, 1 to end the loop in good order, -errno to end it with that error */
	int (*tick)(void *context, uint64_t now); /* now: ns, CLOCK_MONOTONIC */
	int (*signal)(void *context, int signal_number);
};

/**
 * loop_block_signals - from here on signals arrive through the loop only
 *
 * SIGINT, SIGTERM, SIGQUIT and SIGHUP; SIGHUP not where it is ignored already (nohup). A SIGINT or
 * SIGQUIT that a shell set to ignored for its background job counts all the same. SIGPIPE is
 * ignored. To be called before anything is changed that has to be put back. Returns the signalfd,
 * or -errno; it stays readable until the loop has taken the signal.
 */
int loop_block_signals(void);

/**
 * loop_block_requests - from here on SIGUSR1 arrives through the descriptor returned, or -errno
 *
 * It is apart from the others because it does not ask for an end.
 */
int loop_block_requests(void);

/** loop_new - @signal_fd from loop_block_signals(), not closed by loop_free(); NULL and errno */
struct loop *loop_new(const struct loop_setup *setup, int signal_fd);
void loop_free(struct loop *loop);

/** loop_set_tick - nanoseconds between ticks, 0: none; 0 or -errno */
int loop_set_tick(struct loop *loop, uint64_t interval);

/**
 * loop_watch - wake up for a descriptor
 * @events: EPOLL* of epoll_ctl(2); 0 watches for its end only (EPOLLERR, EPOLLHUP)
 * @ready: called with the context of the setup; returns as tick and signal do
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

/**
 * oom_score_set - how ready the OOM killer is to take us
 * @score: -1000 … 1000, as oom_score_adj in proc(5); below the present one only with
 *	   CAP_SYS_RESOURCE
 *
 * Returns 0 or -errno.
 */
int oom_score_set(int score);

/*
 * A run for months: with --journal, most often under a service manager. SIGHUP reads the
 * configuration again. Where a manager waits to hear from us, tracing that is in use by somebody
 * else is waited for, at the start and later.
 */

/** service_run - until a signal ends it; returns 0, or -errno with @failure */
int service_run(const struct run_context *run, struct failure *failure);

#endif
