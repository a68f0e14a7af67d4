/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_REPLAY_H
#define ALLOCFILT_RUN_REPLAY_H

#include "allocfilt/capture/read.h"
#include "allocfilt/run/run.h"

/**
 * replay_open - open a capture, FILE or FILE:BUFFER, whose output is to be another file
 * @option: what names it, for messages
 *
 * A message names the other buffers of a FILE. Returns 0, or -errno with @failure as capture_open().
 */
int replay_open(const struct run_context *run, const char *option, const char *path,
		struct capture **capture, struct failure *failure);

struct longest;

/**
 * replay_json - filter a capture in the form json
 * @path: a directory, or FILE or FILE:BUFFER
 * @fd: gets the output
 * @longest: the stalls that are shown, see pipeline_longest()
 *
 * Returns 0, or -errno with @failure as replay_run().
 */
int replay_json(const struct run_context *run, char *path, int fd, struct longest *longest,
		struct failure *failure);

#endif
