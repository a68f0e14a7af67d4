/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_FILE_SYNC_H
#define ALLOCFILT_CAPTURE_FILE_SYNC_H

#include <linux/aio_abi.h>
#include <stdbool.h>

/*
 * fsync(2) without waiting for it: on a busy disk it takes seconds, in which a ring buffer runs over.
 * sync_file_range(2) does not wait either, but leaves out how long a file is and where it lies;
 * aio_fsync(3) starts threads, and each file has to stay open.
 */
struct file_sync {
	aio_context_t context; /* 0: the kernel gave us none, and each sync is waited for */
	int pending;
	int error; /* -errno of the first one that failed, until it was returned */
};

/** file_sync_init - @sync can be used also where the kernel refuses this */
void file_sync_init(struct file_sync *sync);

/** file_sync_end - waits for what is pending */
void file_sync_end(struct file_sync *sync);

/** file_sync_start - sync a file or directory, which may be closed at once */
void file_sync_start(struct file_sync *sync, int fd);

/** file_sync_result - 0, or -errno of one that failed since the last call; @wait: for all of them */
int file_sync_result(struct file_sync *sync, bool wait);

#endif
