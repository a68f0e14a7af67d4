// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/tracing/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocfilt/base/log.h"

/* Keeps nothing that others wait for: the reader of stdout, COMMAND, a file system to be unmounted. */
static void let_go(int pipe)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	FILE *score;

	dup2(pipe, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	log_open();
	/* The signals of a terminal and of `kill -9 -GROUP` go to a session or a group. */
	if (setsid() < 0 || chdir("/"))
		errno = 0;
	prctl(PR_SET_NAME, "tracing-guard");
	/* The service has no capability for it, and the filter of its unit no such call. */
	if (prctl(PR_CAPBSET_READ, CAP_SYS_NICE) == 1)
		setpriority(PRIO_PROCESS, 0, -20);
	score = fopen("/proc/self/oom_score_adj", "we");
	if (score) {
		fputs("-1000", score);
		fclose(score);
	}
}

static void __attribute__((noreturn)) guard(int pipe, const char *run_dir, pid_t parent)
{
	struct failure failure;
	sigset_t all;
	char done;
	int ret;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	let_go(pipe);
	if (TEMP_FAILURE_RETRY(read(STDIN_FILENO, &done, 1)) == 1)
		_exit(EXIT_STATUS_DONE);
	log_warning("process %d was killed", parent);
	ret = session_restore(run_dir, NULL, &failure);
	/* Another run that has begun has restored it already. */
	if (ret && failure.status != EXIT_STATUS_IN_USE)
		log_error("%s", failure.text);
	_exit(ret ? failure.status : EXIT_STATUS_DONE);
}

void guardian_start(struct guardian *guardian, const char *run_dir)
{
	pid_t self = getpid();
	int fds[2];

	guardian->pid = -1;
	if (!pipe2(fds, O_CLOEXEC)) {
		guardian->pid = fork();
		if (!guardian->pid) {
			close(fds[1]);
			guard(fds[0], run_dir, self);
		}
		guardian->pipe = fds[1];
		close(fds[0]);
		if (guardian->pid > 0)
			return;
		close(fds[1]);
	}
	log_warning("nobody restores tracing if this process is killed: %m");
}

void guardian_end(struct guardian *guardian)
{
	if (guardian->pid < 0)
		return;
	(void)!write(guardian->pipe, "", 1);
	close(guardian->pipe);
	(void)TEMP_FAILURE_RETRY(waitpid(guardian->pid, NULL, 0));
}
