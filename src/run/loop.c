// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "allocfilt/run.h"

#define NS_PER_SECOND 1000000000u
#define EVENTS_MAX    16

typedef int (*ready_callback)(void *context, int fd, uint32_t events);

struct loop {
	struct loop_setup setup;
	int epoll;
	int timer;
	int signals;
	ready_callback *ready; /* by descriptor */
	int nr_ready;
	uint64_t wakeups;
};

uint64_t loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static bool is_ignored(int signal_number)
{
	struct sigaction action;

	return !sigaction(signal_number, NULL, &action) && action.sa_handler == SIG_IGN;
}

int loop_block_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	if (!is_ignored(SIGHUP))
		sigaddset(&set, SIGHUP);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int loop_block_requests(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int take_tick(void *context, int fd, uint32_t events)
{
	struct loop *loop = context;
	uint64_t expirations;

	(void)events;
	if (read(fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return 0;
	return loop->setup.tick(loop->setup.context, loop_now());
}

static int take_signal(void *context, int fd, uint32_t events)
{
	struct loop *loop = context;
	struct signalfd_siginfo info;

	(void)events;
	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return loop->setup.signal(loop->setup.context, info.ssi_signo);
}

static int make_place(struct loop *loop, int fd)
{
	ready_callback *more;

	if (fd < loop->nr_ready)
		return 0;
	more = realloc(loop->ready, (fd + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	loop->ready = more;
	while (loop->nr_ready <= fd)
		loop->ready[loop->nr_ready++] = NULL;
	return 0;
}

int loop_watch(struct loop *loop, int fd, uint32_t events, ready_callback ready)
{
	struct epoll_event event = { .events = events, .data.fd = fd };
	int ret = fd < 0 ? -EBADF : make_place(loop, fd);

	if (ret)
		return ret;
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	loop->ready[fd] = ready;
	return 0;
}

void loop_forget(struct loop *loop, int fd)
{
	if (fd < 0 || fd >= loop->nr_ready || !loop->ready[fd])
		return;
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
	loop->ready[fd] = NULL;
}

struct loop *loop_new(const struct loop_setup *setup, int signal_fd)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->setup = *setup;
	loop->signals = signal_fd;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->epoll < 0 || loop->timer < 0 ||
	    loop_watch(loop, loop->timer, EPOLLIN, take_tick) ||
	    loop_watch(loop, signal_fd, EPOLLIN, take_signal)) {
		int error = errno;

		loop_free(loop);
		errno = error;
		return NULL;
	}
	return loop;
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

static int dispatch(struct loop *loop, const struct epoll_event *event)
{
	int fd = event->data.fd;
	ready_callback ready = loop->ready[fd];

	if (!ready)
		return 0;
	if (fd == loop->timer || fd == loop->signals)
		return ready(loop, fd, event->events);
	return ready(loop->setup.context, fd, event->events);
}

/* A signal comes before all else: what it ends need not be found in a state that is still good. */
static void signal_first(const struct loop *loop, struct epoll_event *events, int count)
{
	for (int i = 1; i < count; i++) {
		struct epoll_event event = events[i];

		if (event.data.fd != loop->signals)
			continue;
		events[i] = events[0];
		events[0] = event;
	}
}

static int dispatch_all(struct loop *loop, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		int ret = dispatch(loop, &events[i]);

		if (ret)
			return ret;
	}
	return 0;
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	int ret = 0;

	while (!ret) {
		int count = epoll_wait(loop->epoll, events, EVENTS_MAX, -1);

		if (count < 0 && errno != EINTR)
			return -errno;
		loop->wakeups++;
		signal_first(loop, events, count);
		ret = dispatch_all(loop, events, count);
	}
	return ret < 0 ? ret : 0;
}

uint64_t loop_wakeups(const struct loop *loop)
{
	return loop->wakeups;
}
