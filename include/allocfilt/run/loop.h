/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_LOOP_H
#define ALLOCFILT_RUN_LOOP_H

#include <stdint.h>

#include "allocfilt/run/run.h"

/*
 * The place where a run waits for records: epoll over descriptors, a timer tick and signals.
 */

struct loop;

/* Each returns 0 to continue, 1 to end the loop, -errno to end it with that error. */
struct loop_callbacks {
	/* now: ns, CLOCK_MONOTONIC; NULL where no tick is set */
	int (*tick)(void *context, uint64_t now);
	int (*signal)(void *context, int signal_number);
	/* buffers have records: once a turn, after all others; a tick is to read them itself */
	int (*buffers)(void *context, uint64_t now); /* NULL where no buffer is watched */
	/* the wall clock was set, or the machine has resumed; NULL: it does not matter */
	int (*clock_set)(void *context);
};

/** loop_new - the arguments must outlive the loop; NULL and errno on failure */
struct loop *loop_new(const struct loop_callbacks *callbacks, void *context,
		      struct signals *signals);
void loop_free(struct loop *loop);

/** loop_set_tick - @interval: ns between ticks, 0: none; returns 0 or -errno */
int loop_set_tick(struct loop *loop, uint64_t interval);

/**
 * loop_watch - end the loop when a descriptor is ready
 * @events: EPOLL* of epoll_ctl(2); 0: only EPOLLERR and EPOLLHUP
 * @ret: as a callback returns it, 1 or -errno
 *
 * Returns 0 or -errno; -EPERM for a regular file.
 */
int loop_watch(struct loop *loop, int fd, uint32_t events, int ret);

/**
 * loop_watch_buffer - wake up for a buffer, in place of an earlier call for it
 *
 * However many of them are ready, they take one turn. One that cannot be watched is left to the tick.
 */
void loop_watch_buffer(struct loop *loop, int fd);

/** loop_run - run until a callback ends it; returns 0 or its -errno */
int loop_run(struct loop *loop);

/** loop_wakeups - the number of wakeups */
uint64_t loop_wakeups(const struct loop *loop);

/** loop_now - ns, CLOCK_MONOTONIC */
uint64_t loop_now(void);

#endif
