/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_DAT_FILE_H
#define ALLOCFILT_RUN_DAT_FILE_H

#include "allocfilt/capture/write.h"
#include "allocfilt/run/run.h"

/*
 * -w FILE.dat: `trace-cmd restore` makes the file from the capture FILE.dat.parts. libtracecmd has
 * no call for it.
 */

/** dat_file_wanted - is the path of -w a file? It ends in .dat, and is no directory */
bool dat_file_wanted(const char *path);

/** dat_file_check - can FILE.dat be made? Returns 0, or -errno with @failure (status 2) */
int dat_file_check(const char *path, struct failure *failure);

/**
 * dat_file_make - make FILE.dat of a capture whose files are complete, and remove the capture
 *
 * A stop that is asked for ends it. Returns 0, or -errno with @failure (status 1): the capture stays.
 */
int dat_file_make(const char *path, struct capture_writer *writer, const struct cpu_list *cpus,
		  struct signals *signals, struct failure *failure);

#endif
