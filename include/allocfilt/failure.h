/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_FAILURE_H
#define ALLOCFILT_FAILURE_H

/*
 * What a function that failed tells its caller, so that the caller can decide and main alone
 * prints: the exit status of its class and one line that names the thing and the way out.
 */

enum exit_status {
	EXIT_STATUS_DONE = 0,
	EXIT_STATUS_RUN_TIME = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_NO_TRACEFS = 3,	/* none mounted, or no right to it */
	EXIT_STATUS_IN_USE = 4,		/* tracing is in use by somebody else */
	EXIT_STATUS_NO_FEATURE = 5,	/* the kernel lacks what it takes */
	EXIT_STATUS_NOT_RESTORED = 6,
};

#define FAILURE_TEXT_MAX 512

struct failure {
	enum exit_status status;
	char text[FAILURE_TEXT_MAX];	/* without a newline */
};

/**
 * failure_set - note what went wrong
 * @failure: filled; a text that is too long is cut
 * @status: exit status of its class
 * @error: a positive errno value; 0 stands for EINVAL
 *
 * Returns -@error, so that a caller can write `return failure_set(...)`.
 */
int failure_set(struct failure *failure, enum exit_status status, int error,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * failure_status_of_path - of a path of the command line that cannot be made or opened
 * @error: a positive errno value
 *
 * A full disk, or no room for one more descriptor, is no mistake of who gave the path.
 */
enum exit_status failure_status_of_path(int error);

#endif
