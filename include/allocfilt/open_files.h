/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OPEN_FILES_H
#define ALLOCFILT_OPEN_FILES_H

#include "failure.h"

/*
 * How many files may be open at a time: RLIMIT_NOFILE, getrlimit(2). Each CPU takes one (with -w
 * two) for as long as the run lasts. Nothing here may use select(2), which ends at 1024.
 */

#define OPEN_FILES_SPARE	16	/* that come and go: /proc, undo file, control files */
#define OPEN_FILES_OTHERS	(OPEN_FILES_SPARE + 32)	/* besides the CPUs' */

/**
 * open_files_allow - set the soft limit
 * @limit: what it is to be; 0: as it was found, raised as far as the hard one where @needed is more
 * @needed: how many the run takes at most
 *
 * A @limit above the hard one raises that as well, which takes CAP_SYS_RESOURCE. Returns 0, or
 * -errno with @failure: -EPERM where @limit was not allowed (the soft limit is then the hard one),
 * -EMFILE where fewer than @needed may be open. The run may go on with what there is.
 */
int open_files_allow(unsigned int limit, unsigned int needed, struct failure *failure);

/**
 * open_files_for_cpus - open_files_allow() for the CPUs of a tracing directory or a capture
 * @limit: as there
 * @dir: whose per_cpu is counted; without one nothing but @limit is seen to
 * @each: files that a CPU takes
 *
 * Warns where that is too few; those CPUs that find no descriptor are not read.
 */
void open_files_for_cpus(unsigned int limit, const char *dir, unsigned int each);

/**
 * open_files_leave_spare - what open(2) returned, unless it is one of the last OPEN_FILES_SPARE
 *
 * The lowest descriptor that is free is given out (open(2)), so a high one means that hardly any
 * is left. It is closed, so that what comes and goes finds one. Returns @fd, or -errno: of errno
 * where @fd is -1, -EMFILE where it was closed.
 */
int open_files_leave_spare(int fd);

#endif
