// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "allocfilt/base/base.h"
#include "allocfilt/run/signals.h"

struct signals {
	int fd;
	uint64_t pending;  /* mask of signals that were read and not returned yet */
	uint64_t terminal; /* mask of those that the kernel sent */
};

/* They do not end a process, cannot be blocked, or tell of an instruction that must not go on. */
static const int not_read[] = {
	SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP,
	SIGKILL, SIGSEGV, SIGBUS, SIGILL,   SIGFPE,  SIGTRAP, SIGABRT, SIGSYS,
};

int signals_block(struct signals **ret_signals)
{
	struct signals *signals = calloc(1, sizeof(*signals));
	struct sigaction found;
	sigset_t set;
	int error;

	if (!signals)
		return -ENOMEM;
	sigfillset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(not_read); i++)
		sigdelset(&set, not_read[i]);
	for (int number = 1; number <= SIGRTMAX; number++) {
		bool needed = number == SIGINT || number == SIGTERM || number == SIGQUIT ||
			      number == SIGALRM || number == SIGUSR1;

		if (!needed && !sigaction(number, NULL, &found) && found.sa_handler == SIG_IGN)
			sigdelset(&set, number);
	}
	signals->fd = sigprocmask(SIG_BLOCK, &set, NULL) ?
			      -1 :
			      signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0) {
		error = errno;
		free(signals);
		return -error;
	}
	*ret_signals = signals;
	return 0;
}

void signals_free(struct signals *signals)
{
	if (!signals)
		return;
	close(signals->fd);
	free(signals);
}

int signals_fd(const struct signals *signals)
{
	return signals->fd;
}

static void read_signals(struct signals *signals)
{
	struct signalfd_siginfo info;

	while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
		uint64_t bit = SIGNAL_BIT(info.ssi_signo);

		signals->pending |= bit;
		signals->terminal &= ~bit;
		signals->terminal |= info.ssi_code == SI_KERNEL ? bit : 0;
	}
}

int signals_next_of(struct signals *signals, uint64_t mask)
{
	uint64_t pending, stops;
	int number;

	read_signals(signals);
	pending = signals->pending & mask;
	stops = pending & ~SIGNAL_BIT(SIGUSR1);
	if (!pending)
		return 0;
	number = 1 + __builtin_ctzll(stops ? stops : pending);
	signals->pending &= ~SIGNAL_BIT(number);
	return number;
}

int signals_next(struct signals *signals)
{
	return signals_next_of(signals, UINT64_MAX);
}

bool signals_from_terminal(const struct signals *signals, int number)
{
	return signals->terminal & SIGNAL_BIT(number);
}

bool signals_summary_asked(struct signals *signals)
{
	return signals_next_of(signals, SIGNAL_BIT(SIGUSR1));
}

bool signals_stop_asked(void *context)
{
	struct signals *signals = context;

	read_signals(signals);
	return signals->pending & ~SIGNAL_BIT(SIGUSR1);
}

int signals_set_deadline(struct signals *signals, uint64_t after)
{
	uint64_t us = (after + 999) / 1000, seconds = us / 1000000;
	struct itimerval timer = { 0 };

	if (setitimer(ITIMER_REAL, &timer, NULL))
		return -errno;
	read_signals(signals);
	signals->pending &= ~SIGNAL_BIT(SIGALRM);
	/* time_t may have 32 bits */
	timer.it_value.tv_sec = seconds < INT_MAX ? (time_t)seconds : INT_MAX;
	timer.it_value.tv_usec = us % 1000000;
	return setitimer(ITIMER_REAL, &timer, NULL) ? -errno : 0;
}
