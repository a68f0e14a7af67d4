/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_LOOP_H
#define ALLOCFILT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The one place where the program waits: epoll over descriptors, a timer tick and signals.
 */

struct loop;

struct loop_setup {
	void *context;
	/* each: 0 to go on, 1 to end the loop in good order, -errno to end it with that error */
	int (*tick)(void *context, uint64_t now);	/* now: ns, CLOCK_MONOTONIC */
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

#endif
