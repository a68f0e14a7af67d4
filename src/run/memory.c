// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"

#define LOCK_SHARE 8 /* 1/LOCK_SHARE of the available memory is locked in advance, at most */
#define HEAP_ROOM  (16 << 10) /* bytes left free: without them the next malloc() adds 128 KiB */

/* No stdio: fopen(3) allocates. */
uint64_t memory_own(uint64_t *ret_resident)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128]; /* seven numbers of pages: proc(5) */
	uint64_t size = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
	ssize_t length;

	*ret_resident = 0;
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	sscanf(text, "%" SCNu64 " %" SCNu64, &size, ret_resident);
	*ret_resident *= page;
	return size * page;
}

bool memory_lock(void)
{
	uint64_t size, resident;
	bool all;

	malloc_trim(HEAP_ROOM); /* else memory that start-up has freed is locked as well */
	size = memory_own(&resident);
	if (!size)
		return false;
	all = size <= memory_available() / LOCK_SHARE;
	if (!mlockall(MCL_CURRENT | MCL_FUTURE | (all ? 0 : MCL_ONFAULT)))
		return all;
	log_warning("cannot lock memory (%s); going on, but records may be lost under pressure",
		    strerror(errno));
	return true;
}
