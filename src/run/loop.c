// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/file.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/run/signals.h"

#define EVENTS_MAX 16

enum {
	EPOLL,
	TIMER,
	CLOCK,	 /* ready when the wall clock is set, and after a resume */
	BUFFERS, /* epoll over the buffers: one descriptor, however many of them are ready */
	LOOP_FDS
};

/* The data of an epoll_event: a descriptor, and the value with which it ends the loop. */
#define DATA(fd, ret)  ((uint64_t)(uint32_t)(ret) << 32 | (uint32_t)(fd))
#define DATA_FD(data)  ((int)(uint32_t)(data))
#define DATA_RET(data) ((int)((data) >> 32))

struct loop {
	struct loop_callbacks callbacks;
	void *context;
	struct signals *signals;
	int fds[LOOP_FDS];
	uint64_t wakeups;
};

uint64_t loop_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* @ret: for loop_run(); 0: the loop goes on */
static int add_descriptor(int epoll, int fd, uint32_t events, int ret)
{
	struct epoll_event event = { .events = events, .data.u64 = DATA(fd, ret) };

	/* errno is still that of a descriptor that could not be opened. */
	return epoll < 0 || fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* The timer itself never ends. fs/timerfd.c: timerfd_clock_was_set(), timerfd_resume() */
static int open_clock(void)
{
	const struct itimerspec never = { .it_value.tv_sec = LONG_MAX };
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
	return fd;
}

struct loop *loop_new(const struct loop_callbacks *callbacks, void *context,
		      struct signals *signals)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int ret;

	if (!loop)
		return NULL;
	loop->callbacks = *callbacks;
	loop->context = context;
	loop->signals = signals;
	loop->fds[EPOLL] = epoll_create1(EPOLL_CLOEXEC);
	loop->fds[TIMER] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->fds[CLOCK] = open_clock();
	loop->fds[BUFFERS] = epoll_create1(EPOLL_CLOEXEC);
	ret = add_descriptor(loop->fds[EPOLL], signals_fd(signals), EPOLLIN, 0);
	for (int i = TIMER; !ret && i < LOOP_FDS; i++)
		ret = add_descriptor(loop->fds[EPOLL], loop->fds[i], EPOLLIN, 0);
	if (!ret)
		return loop;
	loop_free(loop);
	errno = -ret;
	return NULL;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	for (int i = 0; i < LOOP_FDS; i++)
		file_close(loop->fds[i]);
	free(loop);
}

int loop_set_tick(struct loop *loop, uint64_t interval)
{
	struct timespec time = { interval / NS_PER_SECOND, interval % NS_PER_SECOND };
	struct itimerspec timer = { time, time };

	return timerfd_settime(loop->fds[TIMER], 0, &timer, NULL) ? -errno : 0;
}

int loop_watch(struct loop *loop, int fd, uint32_t events, int ret)
{
	return add_descriptor(loop->fds[EPOLL], fd, events, ret);
}

void loop_watch_buffer(struct loop *loop, int fd)
{
	epoll_ctl(loop->fds[BUFFERS], EPOLL_CTL_DEL, fd, NULL);
	add_descriptor(loop->fds[BUFFERS], fd, EPOLLIN, 0);
}

/* A buffer with an error, as that of a CPU that is offline, stays ready with nothing to read. */
static void forget_broken_buffers(struct loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(loop->fds[BUFFERS], events, EVENTS_MAX, 0);

	for (int i = 0; i < count; i++)
		if (events[i].events & (EPOLLERR | EPOLLHUP))
			epoll_ctl(loop->fds[BUFFERS], EPOLL_CTL_DEL, DATA_FD(events[i].data.u64),
				  NULL);
}

static int clock_was_set(struct loop *loop)
{
	uint64_t expirations;

	/* ECANCELED tells of a change, and ends it: the next one makes it ready again. */
	if (read(loop->fds[CLOCK], &expirations, sizeof(expirations)) < 0 && errno == EAGAIN)
		return 0;
	return loop->callbacks.clock_set ? loop->callbacks.clock_set(loop->context) : 0;
}

static int dispatch_signals(struct loop *loop)
{
	int number, ret = 0;

	while (!ret && (number = signals_next(loop->signals)))
		ret = loop->callbacks.signal(loop->context, number);
	return ret;
}

/* The buffers are last: a turn reads them once at most, be it in the tick or because they are ready. */
static int run_turn(struct loop *loop, const struct epoll_event *events, int count)
{
	bool has_buffers = false, has_ticked = false;
	uint64_t expirations;
	/* Signals first: a stop takes precedence over an error of another callback. */
	int ret = dispatch_signals(loop);

	for (int i = 0; !ret && i < count; i++) {
		int fd = DATA_FD(events[i].data.u64);

		if (fd == loop->fds[BUFFERS])
			has_buffers = true;
		else if (fd == loop->fds[TIMER])
			has_ticked = read(fd, &expirations, sizeof(expirations)) > 0;
		else if (fd == loop->fds[CLOCK])
			ret = clock_was_set(loop);
		else
			ret = DATA_RET(events[i].data.u64);
	}
	if (has_buffers)
		forget_broken_buffers(loop);
	if (!ret && has_ticked)
		ret = loop->callbacks.tick(loop->context, loop_now());
	else if (!ret && has_buffers)
		ret = loop->callbacks.buffers(loop->context, loop_now());
	return ret ? ret : dispatch_signals(loop);
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	/* The writer may have read a signal already, while it waited for room. */
	int ret = dispatch_signals(loop);

	while (!ret) {
		int count = epoll_wait(loop->fds[EPOLL], events, EVENTS_MAX, -1);

		if (count < 0 && errno != EINTR)
			return -errno;
		loop->wakeups++;
		ret = run_turn(loop, events, count);
	}
	return ret < 0 ? ret : 0;
}

uint64_t loop_wakeups(const struct loop *loop)
{
	return loop->wakeups;
}
