// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/run/signals.h"

/* env(1) ends with these, too. */
#define STATUS_CANNOT_EXECUTE 126
#define STATUS_NOT_FOUND      127

/* SIGUSR1 asks for the summary so far, and SIGALRM ends -d; all others are for COMMAND. */
#define SIGNALS_OF_RUN (SIGNAL_BIT(SIGUSR1) | SIGNAL_BIT(SIGALRM))

struct command {
	pid_t pid;
	int start; /* the socket on which COMMAND waits, and says that it cannot be executed */
	bool started;
	int ended; /* pidfd, readable then; -1: none */
	int news;  /* ready when COMMAND has ended or a signal has come; -1: none */
	struct signals *signals;
};

/* ---- the child ---- */

static void __attribute__((noreturn)) run_command(char *const *argv, int start)
{
	char byte;
	int error;

	/* The socket is at its end: tracing has failed, or we were killed. */
	if (read(start, &byte, 1) != 1)
		_exit(STATUS_CANNOT_EXECUTE);
	execvp(*argv, argv);
	error = errno;
	send(start, "", 1, MSG_NOSIGNAL);
	log_error("%s: %s", *argv, strerror(error));
	_exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE);
}

/* ---- its parent ---- */

static int cannot_run(struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "cannot run COMMAND: %m");
}

int command_new(struct command **ret_command, char *const *argv, struct failure *failure)
{
	struct command *command;
	int sockets[2], ret;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return cannot_run(failure);
	command = calloc(1, sizeof(*command));
	if (command)
		command->pid = fork();
	if (!command || command->pid < 0) {
		ret = cannot_run(failure);
		close(sockets[0]);
		close(sockets[1]);
		free(command);
		return ret;
	}
	if (!command->pid) {
		close(sockets[1]);
		run_command(argv, sockets[0]);
	}
	close(sockets[0]);
	command->start = sockets[1];
	command->news = -1;
	command->ended = pidfd_open(command->pid, 0);
	if (command->ended < 0) {
		ret = cannot_run(failure);
		command_free(command);
		return ret;
	}
	*ret_command = command;
	return 0;
}

void command_free(struct command *command)
{
	if (!command)
		return;
	close(command->start);
	if (!command->started) {
		kill(command->pid, SIGKILL);
		waitpid(command->pid, NULL, 0);
	}
	file_close(command->ended);
	file_close(command->news);
	free(command);
}

pid_t command_pid(const struct command *command)
{
	return command->pid;
}

int command_fd(const struct command *command)
{
	return command->ended;
}

void command_start(struct command *command)
{
	/* A signal may have ended COMMAND already: then this fails. */
	(void)!write(command->start, "", 1);
	command->started = true;
}

bool command_started(const struct command *command)
{
	return command->started;
}

bool command_failed(const struct command *command)
{
	char byte;

	return recv(command->start, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
}

void command_signal(struct command *command, int number, bool from_terminal)
{
	/* The terminal sends SIGINT to all of its foreground process group. */
	if (!from_terminal || getpgid(command->pid) != getpgrp())
		kill(command->pid, number);
}

static int pass_signal(void *context, int number)
{
	struct command *command = context;

	if (!(SIGNALS_OF_RUN & SIGNAL_BIT(number)))
		command_signal(command, number, signals_from_terminal(command->signals, number));
	return 0;
}

int command_watch(struct command *command, struct signals *signals)
{
	struct epoll_event event = { .events = EPOLLIN };

	command->signals = signals;
	command->news = epoll_create1(EPOLL_CLOEXEC);
	if (command->news < 0 || epoll_ctl(command->news, EPOLL_CTL_ADD, command->ended, &event) ||
	    epoll_ctl(command->news, EPOLL_CTL_ADD, signals_fd(signals), &event))
		return -errno;
	return command->news;
}

bool command_stop_asked(void *context)
{
	struct command *command = context;
	struct pollfd ended = { .fd = command->ended, .events = POLLIN };
	int number;

	while ((number = signals_next_of(command->signals, ~SIGNALS_OF_RUN)))
		pass_signal(command, number);
	return signals_stop_asked(command->signals) || poll(&ended, 1, 0) == 1;
}

int command_wait(struct command *command, struct signals *signals)
{
	static const struct loop_callbacks callbacks = { .signal = pass_signal };
	struct loop *loop;
	int status;

	command->signals = signals;
	loop = loop_new(&callbacks, command, signals);
	if (loop && !loop_watch(loop, command->ended, EPOLLIN, 1))
		loop_run(loop);
	loop_free(loop);
	while (waitpid(command->pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_STATUS_RUN_TIME;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
