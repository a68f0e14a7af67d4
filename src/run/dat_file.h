/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_DAT_FILE_H
#define ALLOCFILT_RUN_DAT_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "allocfilt/base.h"
#include "allocfilt/capture.h"
#include "allocfilt/run.h"

/*
 * -w FILE.dat: a trace.dat, for trace-cmd report and KernelShark, is made of a capture at the end, by
 * trace-cmd restore: libtracecmd 1.3 has no call for it in its header.
 */

struct dat_file {
	const char *path;
	char program[PATH_MAX]; /* trace-cmd */
	char parts[PATH_MAX];	/* the capture that it is made of: FILE.dat.parts */
};

/** dat_file_wanted - is the path of -w a file? It ends in .dat, and is no directory */
bool dat_file_wanted(const char *path);

/**
 * dat_file_init - look for trace-cmd, and whether the file exists
 * @path: not copied
 *
 * Returns 0, or -errno with @failure (status 2).
 */
int dat_file_init(struct dat_file *file, const char *path, struct failure *failure);

/**
 * dat_file_make - make the file of a capture whose files are complete, and remove that
 * @signals: a stop that is asked for ends it
 *
 * Says how large it is. Returns 0, or -errno with @failure (status 1), which names the capture: it
 * stays.
 */
int dat_file_make(const struct dat_file *file, struct capture_writer *writer,
		  const struct cpu_list *cpus, struct signals *signals, struct failure *failure);

#endif
