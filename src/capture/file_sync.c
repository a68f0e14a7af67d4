// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file_sync.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "allocfilt/base.h"

#define REQUESTS_MAX 1024 /* at once; with more of them file_sync_start() waits */
#define RESULTS	     16	  /* read at once */

/* What cannot be synced, such as a file of a file system in memory, is as safe as it can be. */
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

/* @wait: until no more than @most are under way */
static void read_results(struct file_sync *sync, bool wait, int most)
{
	struct io_event events[RESULTS];
	struct timespec now = { 0 };
	int got = 1;

	while (sync->pending > most && got > 0) {
		got = (int)syscall(SYS_io_getevents, sync->context, wait, RESULTS, events,
				   wait ? NULL : &now);
		if (got < 0 && errno == EINTR)
			got = 1;
		else
			for (int i = 0; i < got; i++, sync->pending--)
				keep_error(sync, events[i].res);
	}
}

void file_sync_start(struct file_sync *sync, int fd)
{
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_FSYNC, .aio_fildes = fd };
	struct iocb *requests[] = { &request };

	if (sync->pending == REQUESTS_MAX)
		read_results(sync, true, REQUESTS_MAX - 1);
	if (sync->context && syscall(SYS_io_submit, sync->context, 1, requests) == 1)
		sync->pending++;
	else if (fsync(fd))
		keep_error(sync, -errno);
}

int file_sync_result(struct file_sync *sync, bool wait)
{
	int error;

	read_results(sync, wait, 0);
	error = sync->error;
	sync->error = 0;
	return error;
}
