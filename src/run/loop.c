// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "allocfilt/base/base.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/run/signals.h"

#define EVENTS_MAX 16

typedef int (*ready_callback)(void *context, int fd, uint32_t events);

struct loop {
	struct loop_callbacks callbacks;
	void *context;
	struct signals *signals;
	int epoll;
	int timer;
	ready_callback *ready; /* by descriptor */
	int nr_ready;
	uint64_t wakeups;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

uint64_t loop_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t loop_cpu_time(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static int add_descriptor(struct loop *loop, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
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
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->epoll < 0 || loop->timer < 0)
		ret = -errno;
	else
		ret = add_descriptor(loop, loop->timer, EPOLLIN);
	if (!ret)
		ret = add_descriptor(loop, signals_fd(signals), EPOLLIN);
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
	if (loop->timer >= 0)
		close(loop->timer);
	if (loop->epoll >= 0)
		close(loop->epoll);
	free(loop->ready);
	free(loop);
}

int loop_set_tick(struct loop *loop, uint64_t interval)
{
	struct timespec time = { interval / NS_PER_SECOND, interval % NS_PER_SECOND };
	struct itimerspec timer = { time, time };

	return timerfd_settime(loop->timer, 0, &timer, NULL) ? -errno : 0;
}

int loop_watch(struct loop *loop, int fd, uint32_t events, ready_callback ready)
{
	int ret;

	if (fd < 0)
		return -EBADF;
	if (fd >= loop->nr_ready) {
		ready_callback *more = realloc(loop->ready, (fd + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		loop->ready = more;
		while (loop->nr_ready <= fd)
			loop->ready[loop->nr_ready++] = NULL;
	}
	ret = add_descriptor(loop, fd, events);
	if (!ret)
		loop->ready[fd] = ready;
	return ret;
}

int loop_end(void *context, int fd, uint32_t events)
{
	(void)context;
	(void)fd;
	(void)events;
	return 1;
}

void loop_forget(struct loop *loop, int fd)
{
	if (fd < 0 || fd >= loop->nr_ready || !loop->ready[fd])
		return;
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
	loop->ready[fd] = NULL;
}

static int dispatch(struct loop *loop, const struct epoll_event *event)
{
	int fd = event->data.fd;
	uint64_t expirations;

	if (fd == loop->timer)
		return read(fd, &expirations, sizeof(expirations)) == sizeof(expirations) ?
			       loop->callbacks.tick(loop->context, loop_now()) :
			       0;
	/* An earlier callback may have removed it. */
	if (fd >= loop->nr_ready || !loop->ready[fd])
		return 0;
	return loop->ready[fd](loop->context, fd, event->events);
}

static int dispatch_signals(struct loop *loop)
{
	int number, ret = 0;

	while (!ret && (number = signals_next(loop->signals)))
		ret = loop->callbacks.signal(loop->context, number);
	return ret;
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	/* The writer may have read a signal already, while it waited for room. */
	int ret = dispatch_signals(loop);

	while (!ret) {
		int count = epoll_wait(loop->epoll, events, EVENTS_MAX, -1);

		if (count < 0 && errno != EINTR)
			return -errno;
		loop->wakeups++;
		/* Signals first: a stop takes precedence over an error of another callback. */
		ret = dispatch_signals(loop);
		for (int i = 0; !ret && i < count; i++)
			ret = dispatch(loop, &events[i]);
		if (!ret)
			ret = dispatch_signals(loop);
	}
	return ret < 0 ? ret : 0;
}

uint64_t loop_wakeups(const struct loop *loop)
{
	return loop->wakeups;
}
