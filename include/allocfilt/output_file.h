/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_FILE_H
#define ALLOCFILT_OUTPUT_FILE_H

#include "failure.h"

/*
 * The file of -o. Somebody may still want what an earlier run wrote there, so it stays until this
 * run has something to say: a run that is refused loses nothing.
 */

/**
 * output_file_open - for writing, made if there is none
 * @path: NULL for stdout
 *
 * Returns 0 with the descriptor, or -errno with @failure (failure_status_of_path()).
 */
int output_file_open(int *ret_fd, const char *path, struct failure *failure);

/**
 * output_file_begin - what was in the file goes; to be called before the first write
 *
 * Does nothing where @path is NULL, or names something that is no regular file. Returns 0 or
 * -errno.
 */
int output_file_begin(int fd, const char *path);

/**
 * output_file_close - a file system may tell of a full disk only here
 * @ret: what the run came to, which is returned where it is a failure
 *
 * Returns @ret, or -errno with @failure.
 */
int output_file_close(int fd, const char *path, int ret, struct failure *failure);

#endif
