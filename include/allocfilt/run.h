/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_H
#define ALLOCFILT_RUN_H

#include <stdint.h>

#include "failure.h"
#include "options.h"
#include "writer.h"

/* The two ways to run: on a running kernel, and over a capture. */

struct run_context {
	const struct options *options;
	int argc;		/* where the options came from, to read them again */
	char **argv;
	uint64_t started;	/* ns, CLOCK_MONOTONIC: of the program; a reload is no start */
	struct writer *output;
	int output_fd;		/* watched for a reader that goes */
	int signal_fd;		/* of loop_block_signals() */
	int request_fd;		/* of loop_block_requests() */
};

/**
 * live_run - trace a running kernel until a signal, -d, or the reader of the output ends it
 *
 * Puts tracing back on every road. Returns 0, or -errno with @failure.
 */
int live_run(const struct run_context *run, struct failure *failure);

/** probe_run - --probe: print what this kernel offers and what would be traced; writes nothing */
int probe_run(const struct options *options, struct failure *failure);

/** replay_run - filter a capture; returns 0, or -errno with @failure */
int replay_run(const struct run_context *run, struct failure *failure);

/** summary_print - to the output, and to stderr where a person would otherwise not see it */
struct pipeline;
int summary_print(const struct run_context *run, struct pipeline *pipeline);

/** summary_answer - SIGUSR1, where one has come: the summary so far, to stderr */
void summary_answer(const struct run_context *run, struct pipeline *pipeline);

#endif
