/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_BUFFERS_H
#define ALLOCFILT_RUN_BUFFERS_H

#include <limits.h>
#include <stdbool.h>

#include "allocfilt/base.h"
#include "allocfilt/capture.h"
#include "allocfilt/run.h"

/* The ring buffers of a trace.dat, one after the other; a capture in a directory has one. */

#define BUFFERS_TOP "top" /* what the buffer without a name is called */

/* What is done with each. */
struct buffers_visit {
	/*
	 * @several: it is one of several, all of which are visited. Returns as buffers_visit() does; 1:
	 * no other is to be visited; -ENODATA: there is nothing in this one.
	 */
	int (*buffer)(void *context, struct capture *capture, bool several,
		      struct failure *failure);
	void *context;
};

/**
 * buffers_visit - open each buffer and pass it on
 * @run: a signal ends the visits, too; what is read is not to be its output
 * @path: a capture, FILE, or FILE:BUFFER for that one alone
 * @option: its name in messages
 *
 * What is damaged in one (-EBADMSG) does not keep the next from being visited: it is logged, and
 * returned at the end. Returns 0, or -errno with @failure as capture_open(), or that of @visit;
 * -ENODATA if it was that of all.
 */
int buffers_visit(const struct run_context *run, const char *path, const char *option,
		  const struct buffers_visit *visit, struct failure *failure);

#define BUFFERS_NAME_MAX 256 /* with the NUL; a longer one is cut */

/** buffers_name - the name of the buffer for a terminal; false where it is the only one */
bool buffers_name(const struct capture *capture, char name[BUFFERS_NAME_MAX]);

#define BUFFERS_PATH_MAX (PATH_MAX + BUFFERS_NAME_MAX)

/** buffers_path - FILE:BUFFER, or the capture where it is the only one; returns @path */
const char *buffers_path(const struct capture *capture, char path[BUFFERS_PATH_MAX]);

#endif
