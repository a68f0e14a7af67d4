/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_FILE_H
#define ALLOCFILT_OUTPUT_FILE_H

#include "allocfilt/base/failure.h"

/*
 * The file of -o. It is truncated at the first write: a run that fails before leaves the old output
 * in place.
 */

/**
 * output_file_open - open for writing, create it if necessary
 * @path: NULL for stdout; a new file has mode 0600
 *
 * In a directory that another user can change (his own, or writable by group or others) a file of
 * that name may be his trap: a link to a file that he cannot write. There an existing file has to be
 * ours or the directory owner's, without another hard link, and a symbolic link is not followed. Returns
 * 0 with the descriptor, or -errno with @failure (failure_status_of_path(), or 2 for such a file).
 */
int output_file_open(int *ret_fd, const char *path, struct failure *failure);

/**
 * output_file_begin - truncate the file; to be called before the first write
 *
 * Does nothing where @path is NULL or not a regular file. Returns 0 or -errno.
 */
int output_file_begin(int fd, const char *path);

/**
 * output_file_close - close the file; some file systems report a full disk only here
 * @ret: result of the run; an error is returned unchanged
 *
 * Returns @ret, or -errno with @failure.
 */
int output_file_close(int fd, const char *path, int ret, struct failure *failure);

#endif
