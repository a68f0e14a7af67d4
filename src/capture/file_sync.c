// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file_sync.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS_MAX 1024 /* at once; with more of them file_sync_start() waits for one */

/* A file that cannot be synced, as in memory, is as safe as it can be. */
static void keep_error(struct file_sync *sync, int64_t result)
{
	if (result < 0 && result != -EINVAL && !sync->error)
		sync->error = (int)result;
}

void file_sync_init(struct file_sync *sync)
{
	*sync = (struct file_sync){ 0 };
	if (syscall(SYS_io_setup, REQUESTS_MAX, &sync->context))
		sync->context = 0;
}

void file_sync_end(struct file_sync *sync)
{
	if (sync->context)
		syscall(SYS_io_destroy, sync->context);
	sync->context = 0;
}

/* @most: requests that may stay pending; @wait: until no more do */
static void take_results(struct file_sync *sync, int most, bool wait)
{
	struct timespec now = { 0 };
	struct io_event event;

	while (sync->pending > most &&
	       syscall(SYS_io_getevents, sync->context, 1, 1, &event, wait ? NULL : &now) == 1) {
		sync->pending--;
		keep_error(sync, event.res);
	}
}

void file_sync_start(struct file_sync *sync, int fd)
{
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_FSYNC, .aio_fildes = fd };
	struct iocb *requests[] = { &request };

	take_results(sync, REQUESTS_MAX - 1, true);
	if (sync->context && syscall(SYS_io_submit, sync->context, 1, requests) == 1)
		sync->pending++;
	else if (fsync(fd))
		keep_error(sync, -errno);
}

int file_sync_result(struct file_sync *sync, bool wait)
{
	int error;

	take_results(sync, 0, wait);
	error = sync->error;
	sync->error = 0;
	return error;
}
