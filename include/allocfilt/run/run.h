/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_RUN_H
#define ALLOCFILT_RUN_RUN_H

#include <stdint.h>

#include "allocfilt/base/writer.h"
#include "allocfilt/config/options.h"

/* Runs on a running kernel (live, service) and over a capture (replay). */

struct command;
struct service;
struct signals;

/* Facts about the process that a run needs; they have to outlive it. */
struct run_context {
	const struct options *options;
	int argc; /* the command line, to parse it again on a reload */
	char **argv;
	uint64_t started; /* ns, CLOCK_MONOTONIC: start of the program */
	struct writer *output;
	struct signals *signals;
	struct command *command; /* NULL: none */
	struct service *service; /* that it is a run of; NULL: none */
	const char
		*run_dir; /* of the lock and the undo file: SESSION_RUN_DIR; tests have their own */
};

/**
 * live_run - trace a running kernel until a signal, -d, or the reader of the output ends it
 *
 * Restores tracing on every path. Returns 0, or -errno with @failure.
 */
int live_run(const struct run_context *run, struct failure *failure);

/**
 * service_run - trace with --journal for months, usually under a service manager
 *
 * SIGHUP reads the configuration again: without a mistake the run ends, and another one begins with it.
 * Under a service manager (NOTIFY_SOCKET) it waits while another user traces, at the start and later.
 * Returns 0, or -errno with @failure.
 */
int service_run(const struct run_context *run, struct failure *failure);

/**
 * account_run - count who takes memory, until a signal, -d, or the reader of the output ends it
 *
 * As live_run(), with tables of its own in place of stalls.
 */
int account_run(const struct run_context *run, struct failure *failure);

/** replay_run - filter a capture; returns 0, or -errno with @failure */
int replay_run(const struct run_context *run, struct failure *failure);

/**
 * diff_run - for `allocfilt diff`, compare two captures, or outputs of the form json
 *
 * Returns 0, or -errno with @failure as replay_run().
 */
int diff_run(const struct run_context *run, struct failure *failure);

extern const char *const diff_forms[]; /* NULL ends; the first is the default */

/**
 * verify_run - for --verify, check a capture and print what was found
 *
 * Returns 0 if it is clean, or -errno with @failure (1 if it is not clean, 2 if it is no capture).
 */
int verify_run(const struct run_context *run, struct failure *failure);

/**
 * kernel_check_run - for --probe, print what this kernel offers and what would be traced
 *
 * Leaves nothing changed: the probe for superblocks is defined for a moment. Returns 0, or -errno
 * with @failure as kernel_plan(); a capture is refused (status 2); 6 where that probe could not be
 * removed.
 */
int kernel_check_run(const struct options *options, struct failure *failure);

#endif
