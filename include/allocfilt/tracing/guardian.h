/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_GUARDIAN_H
#define ALLOCFILT_TRACING_GUARDIAN_H

#include "allocfilt/tracing/session.h"

/*
 * A child that restores tracing when its parent is killed, by SIGKILL, the OOM killer or a fault. Until
 * then it sleeps, with all signals blocked, in a session of its own.
 */

struct guardian {
	pid_t pid; /* -1: there is none */
	int pipe;
};

/**
 * guardian_start - start the child, before the first change of tracing
 *
 * Call it while the process is small: the child has the memory that it had then. Without memory for a
 * child a log_warning() says so, and the run goes on.
 */
void guardian_start(struct guardian *guardian, const char *run_dir);

/** guardian_end - the process ends by itself, so there is nothing left to restore; waits for the child */
void guardian_end(struct guardian *guardian);

#endif
