/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_FAILURE_H
#define ALLOCFILT_BASE_FAILURE_H

#include <stdio.h>

/*
 * A failure that is returned to main(), which alone prints it and exits: the exit status, and one
 * line that names the file or value that failed, and a remedy.
 */

enum exit_status {
	EXIT_STATUS_DONE = 0,
	EXIT_STATUS_RUN_TIME = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_NO_TRACEFS = 3, /* not mounted, or no right to it */
	EXIT_STATUS_IN_USE = 4,	    /* tracing is in use by somebody else */
	EXIT_STATUS_NO_FEATURE = 5, /* the kernel lacks a feature that the run needs */
	EXIT_STATUS_NOT_RESTORED = 6,
};

#define FAILURE_TEXT_MAX 512

struct failure {
	enum exit_status status;
	char text[FAILURE_TEXT_MAX]; /* without a newline */
};

/**
 * failure_set - fill in a failure; a text that is too long is cut
 * @error: a positive errno value, of which %m in @format is the text; 0 stands for EINVAL
 *
 * Returns -@error, so that a caller can write `return failure_set(...)`. Logs nothing.
 */
int failure_set(struct failure *failure, enum exit_status status, int error, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/** failure_no_memory - the failure where an allocation of ours fails; returns -ENOMEM */
int failure_no_memory(struct failure *failure);

/**
 * failure_status_of_path - exit status for a path of the command line that cannot be opened
 * @error: a positive errno value
 *
 * A full disk or a lack of descriptors or memory is a run-time error; all else is an error of usage.
 */
enum exit_status failure_status_of_path(int error);

#endif
