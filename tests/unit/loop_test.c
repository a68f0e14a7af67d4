// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "allocfilt/run/loop.h"
#include "allocfilt/run/signals.h"
#include "unit_test.h"

#define MS 1000000ull

static struct {
	struct loop *loop;
	struct signals *signals;
	int ticks;
	uint64_t last_tick;
	int last_signal;
	int tick_returns;
	int ticks_wanted;
	int reads; /* of buffers, since the last tick */
	int most_reads;
	int clock; /* stands for the timer of the wall clock; 0: no test asks for it */
	int clock_flags;
	int clock_changes;
} run;

/* Nobody may set the clock of the machine that tests. */
int timerfd_create(clockid_t clock, int flags)
{
	if (clock != CLOCK_REALTIME)
		return (int)syscall(SYS_timerfd_create, clock, flags);
	return run.clock = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *time, struct itimerspec *old)
{
	if (fd != run.clock)
		return (int)syscall(SYS_timerfd_settime, fd, flags, time, old);
	run.clock_flags = flags;
	return 0;
}

static int got_tick(void *context, uint64_t now)
{
	assert_ptr_equal(context, &run);
	assert_true(now >= run.last_tick);
	run.last_tick = now;
	run.reads = 0;
	return ++run.ticks == run.ticks_wanted ? run.tick_returns : 0;
}

static int got_signal(void *context, int signal_number)
{
	assert_ptr_equal(context, &run);
	run.last_signal = signal_number;
	return 1;
}

/* Takes longer than a tick. */
static int read_slowly(void *context, uint64_t now)
{
	assert_ptr_equal(context, &run);
	assert_true(now >= run.last_tick && now <= loop_now());
	usleep(2000);
	if (++run.reads > run.most_reads)
		run.most_reads = run.reads;
	return 0;
}

static int got_clock_set(void *context)
{
	assert_ptr_equal(context, &run);
	return ++run.clock_changes == 2;
}

static int set_up(void **state)
{
	const struct loop_callbacks callbacks = { got_tick, got_signal, read_slowly,
						  got_clock_set };

	memset(&run, 0, sizeof(run));
	run.tick_returns = 1;
	run.ticks_wanted = 1;
	signal(SIGHUP, SIG_DFL); /* also below nohup */
	assert_int_equal(signals_block(&run.signals), 0);
	run.loop = loop_new(&callbacks, &run, run.signals);
	assert_non_null(run.loop);
	return 0;
}

static int tear_down(void **state)
{
	loop_free(run.loop);
	signals_free(run.signals);
	return 0;
}

#define RUN(test) UNIT_TEST_WITH(test, set_up, tear_down)

RUN(test_tick)
{
	uint64_t before = loop_now();

	run.ticks_wanted = 5;
	assert_int_equal(loop_set_tick(run.loop, 10 * MS), 0);
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.ticks, 5);
	assert_true(run.last_tick - before >= 50 * MS);
	assert_true(run.last_tick <= loop_now());
	assert_true(loop_wakeups(run.loop) >= 5);
	run.ticks_wanted = 6;
	run.tick_returns = -ENOSPC;
	assert_int_equal(loop_run(run.loop), -ENOSPC);
}

RUN(test_no_tick_no_wakeup)
{
	uint64_t wakeups;

	assert_int_equal(loop_set_tick(run.loop, MS), 0);
	assert_int_equal(loop_set_tick(run.loop, 0), 0);
	wakeups = loop_wakeups(run.loop);
	if (!fork()) {
		usleep(100000);
		_exit(kill(getppid(), SIGTERM));
	}
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.ticks, 0);
	assert_int_equal(loop_wakeups(run.loop) - wakeups, 1);
	assert_int_equal(run.last_signal, SIGTERM);
	wait(NULL);
}

/* It does not need a tick, and one that has passed unseen ends no later run. */
RUN(test_deadline)
{
	struct itimerval timer;

	assert_int_equal(loop_set_tick(run.loop, 3600000 * MS), 0);
	signals_set_deadline(run.signals, 5 * MS);
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.last_signal, SIGALRM);
	assert_int_equal(run.ticks, 0);
	signals_set_deadline(run.signals, 1);
	while (!signals_stop_asked(run.signals))
		;
	signals_set_deadline(run.signals, 0);
	assert_false(signals_stop_asked(run.signals));
	/* in s and us; with a time_t of 32 bits too */
	signals_set_deadline(run.signals, 7000 * MS);
	assert_int_equal(getitimer(ITIMER_REAL, &timer), 0);
	assert_in_range(timer.it_value.tv_sec * 1000000 + timer.it_value.tv_usec, 6000000, 7000000);
	signals_set_deadline(run.signals, INT64_MAX);
	assert_int_equal(getitimer(ITIMER_REAL, &timer), 0);
	assert_true(timer.it_value.tv_sec > INT_MAX - 60);
	signals_set_deadline(run.signals, 0);
}

/* Each of these would end the process and leave tracing on. */
RUN(test_every_other_signal)
{
	const int numbers[] = { SIGHUP,	   SIGUSR2, SIGXCPU, SIGVTALRM, SIGPROF,
				SIGSTKFLT, SIGPWR,  SIGIO,   SIGRTMIN,	SIGRTMAX };

	for (size_t i = 0; i < COUNT(numbers); i++) {
		kill(getpid(), numbers[i]);
		assert_true(signals_stop_asked(run.signals));
		assert_int_equal(signals_next(run.signals), numbers[i]);
		assert_false(signals_stop_asked(run.signals));
	}
}

/* A timer's signal is the kernel's, as a terminal's is. */
RUN(test_who_sent_a_signal)
{
	kill(getpid(), SIGINT);
	assert_int_equal(signals_next(run.signals), SIGINT);
	assert_false(signals_from_terminal(run.signals, SIGINT));
	signals_set_deadline(run.signals, 1);
	while (!signals_stop_asked(run.signals))
		;
	assert_int_equal(signals_next(run.signals), SIGALRM);
	assert_true(signals_from_terminal(run.signals, SIGALRM));
	kill(getpid(), SIGALRM);
	assert_int_equal(signals_next(run.signals), SIGALRM);
	assert_false(signals_from_terminal(run.signals, SIGALRM));
}

/* A wait for room in the output also reads signals; none is lost. */
RUN(test_signals_that_others_read)
{
	assert_false(signals_stop_asked(run.signals));
	kill(getpid(), SIGUSR1);
	assert_false(signals_stop_asked(run.signals));
	kill(getpid(), SIGTERM);
	assert_true(signals_stop_asked(run.signals));
	assert_true(signals_stop_asked(run.signals));
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.last_signal, SIGTERM);
	assert_false(signals_stop_asked(run.signals));
	assert_true(signals_summary_asked(run.signals));
	assert_false(signals_summary_asked(run.signals));
	assert_int_equal(signals_next(run.signals), 0);
}

struct slow_reader {
	struct signals *signals;
	int pipe;
	int asked;
};

/* Reads from the full pipe when asked again, after a signal that is no stop. */
static bool stop_asked(void *context)
{
	struct slow_reader *reader = context;
	char text[PIPE_BUF];
	bool stop = signals_stop_asked(reader->signals);

	if (!reader->asked++)
		kill(getpid(), SIGUSR1);
	else if (!stop)
		assert_int_equal(read(reader->pipe, text, sizeof(text)), sizeof(text));
	return stop;
}

/* A full pipe: SIGUSR1 does not end the wait for room, SIGTERM does. */
RUN(test_output_waits_until_a_stop)
{
	char text[PIPE_BUF] = "";
	struct slow_reader reader = { .signals = run.signals };
	struct writer *writer;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	reader.pipe = fds[0];
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, PIPE_BUF) > 0);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	while (write(fds[1], text, sizeof(text)) > 0)
		;
	writer = writer_new(fds[1], signals_fd(run.signals));
	writer_on_stop(writer, stop_asked, &reader);
	assert_int_equal(writer_put(writer, text, sizeof(text)), 0);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(reader.asked, 2);
	assert_true(signals_summary_asked(run.signals));
	kill(getpid(), SIGTERM);
	assert_int_equal(writer_put(writer, text, sizeof(text)), 0);
	assert_int_equal(writer_flush(writer), -ETIMEDOUT);
	assert_int_equal(signals_next(run.signals), SIGTERM);
	writer_free(writer);
	close(fds[0]);
	close(fds[1]);
}

static int ask_for_a_stop(void *context, uint64_t now)
{
	kill(getpid(), SIGTERM);
	assert_true(signals_stop_asked(run.signals));
	return 0;
}

/* A signal that a callback read is dispatched right after it, not at the next tick. */
RUN(test_signal_that_a_callback_read)
{
	const struct loop_callbacks callbacks = { ask_for_a_stop, got_signal };
	struct loop *loop = loop_new(&callbacks, &run, run.signals);

	assert_int_equal(loop_set_tick(loop, MS), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(run.last_signal, SIGTERM);
	assert_int_equal(loop_wakeups(loop), 1);
	loop_free(loop);
}

RUN(test_watch)
{
	int fd = eventfd(1, EFD_NONBLOCK), other = eventfd(0, EFD_NONBLOCK);

	assert_int_equal(loop_watch(run.loop, other, EPOLLIN, -EIO), 0);
	assert_int_equal(loop_set_tick(run.loop, 10 * MS), 0);
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.ticks, 1);
	assert_int_equal(loop_set_tick(run.loop, 0), 0);
	assert_int_equal(loop_watch(run.loop, fd, EPOLLIN, 1), 0);
	assert_int_equal(loop_run(run.loop), 0);
	close(fd);
	assert_int_equal(eventfd_write(other, 1), 0);
	assert_int_equal(loop_run(run.loop), -EIO);
	assert_int_equal(run.ticks, 1);
	close(other);
}

#define MANY_BUFFERS 1024

static int watch_many_buffers(int *fds)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < MANY_BUFFERS; i++) {
		fds[i] = eventfd(1, EFD_NONBLOCK);
		loop_watch_buffer(run.loop, fds[i]);
	}
	return fds[MANY_BUFFERS - 1];
}

/* Buffers that no reading empties, as many as a large machine has: ticks come after each read. */
RUN(test_many_buffers)
{
	int fds[MANY_BUFFERS], end = eventfd(1, EFD_NONBLOCK);

	assert_true(watch_many_buffers(fds) >= MANY_BUFFERS);
	run.ticks_wanted = 20;
	assert_int_equal(loop_set_tick(run.loop, MS), 0);
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.ticks, 20);
	assert_int_equal(run.most_reads, 1);
	/* and so does the end of COMMAND */
	assert_int_equal(loop_set_tick(run.loop, 0), 0);
	assert_int_equal(loop_watch(run.loop, end, EPOLLIN, 1), 0);
	run.reads = 0;
	assert_int_equal(loop_run(run.loop), 0);
	assert_in_range(run.reads, 0, 1);
	close(end);
	for (int i = 0; i < MANY_BUFFERS; i++)
		close(fds[i]);
}

/* The buffer of a CPU that goes offline wakes once, and is watched again when somebody asks. */
RUN(test_buffer_with_an_error)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	loop_watch_buffer(run.loop, fds[0]);
	loop_watch_buffer(run.loop, -1);
	close(fds[1]);
	run.ticks_wanted = 2;
	assert_int_equal(loop_set_tick(run.loop, 20 * MS), 0);
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.most_reads, 1);
	assert_int_equal(run.reads, 0);
	/* On a busy machine ticks come together with the buffer, or late; awake all the time are thousands. */
	assert_in_range(loop_wakeups(run.loop), 2, 10);
	close(fds[0]);
}

/* timerfd_create(2): such a timer becomes ready when the clock is set. */
RUN(test_clock_that_is_set)
{
	uint64_t change = 1;

	assert_int_equal(run.clock_flags, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
	assert_int_equal(write(run.clock, &change, sizeof(change)), sizeof(change));
	run.ticks_wanted = 3;
	assert_int_equal(loop_set_tick(run.loop, 5 * MS), 0);
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.clock_changes, 1);
	assert_int_equal(write(run.clock, &change, sizeof(change)), sizeof(change));
	assert_int_equal(loop_run(run.loop), 0);
	assert_int_equal(run.clock_changes, 2);
}

/* With no events requested, closing the other end still wakes. A plain file cannot be watched. */
RUN(test_watch_for_the_end)
{
	FILE *plain = tmpfile();
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(loop_watch(run.loop, fds[1], 0, -EPIPE), 0);
	close(fds[0]);
	assert_int_equal(loop_run(run.loop), -EPIPE);
	close(fds[1]);
	assert_int_equal(loop_watch(run.loop, fileno(plain), EPOLLIN, 1), -EPERM);
	fclose(plain);
	assert_int_equal(loop_watch(run.loop, fds[1], EPOLLIN, 1), -EBADF);
	assert_int_equal(loop_watch(run.loop, -1, EPOLLIN, 1), -EBADF);
}

/* With nohup SIGHUP stays ignored; what a shell ignores for a script's background job does not. */
static const struct {
	int number, read;
} ignored[] = { { SIGHUP, 0 },
		{ SIGUSR2, 0 },
		{ SIGINT, SIGINT },
		{ SIGQUIT, SIGQUIT },
		{ SIGALRM, SIGALRM } };

static int signals_that_were_ignored(void)
{
	struct signals *signals;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < COUNT(ignored); i++)
		signal(ignored[i].number, SIG_IGN);
	if (signals_block(&signals))
		return 1;
	for (size_t i = 0; i < COUNT(ignored); i++) {
		kill(getpid(), ignored[i].number);
		if (signals_next(signals) != ignored[i].read)
			return 1;
	}
	return 0;
}

/* In a process of its own, as the change is permanent. */
UNIT_TEST(test_signals_that_were_ignored)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(signals_that_were_ignored());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

RUN(test_no_descriptors)
{
	const struct loop_callbacks callbacks = { NULL, got_signal };
	struct rlimit limit, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	errno = 0;
	assert_null(loop_new(&callbacks, &run, run.signals));
	assert_int_equal(errno, EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

UNIT_TEST_MAIN(NULL, NULL)
