// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"

#define LOCK_SHARE 8 /* 1/LOCK_SHARE of the available memory is locked in advance, at most */
#define HEAP_ROOM  (16 << 10) /* bytes left free: without them the next malloc() adds 128 KiB */

/* Returns the bytes of our address space; 0: not known */
static unsigned long long own_size(void)
{
	unsigned long long pages;
	char *text;

	if (file_read(NULL, "/proc/self/statm", &text, NULL))
		return 0;
	pages = strtoull(text, NULL, 10);
	free(text);
	return pages * sysconf(_SC_PAGESIZE);
}

bool memory_lock(void)
{
	unsigned long long size;
	bool all;

	malloc_trim(HEAP_ROOM); /* else memory that start-up has freed is locked as well */
	size = own_size();
	if (!size)
		return false;
	all = size <= memory_available() / LOCK_SHARE;
	if (!mlockall(MCL_CURRENT | MCL_FUTURE | (all ? 0 : MCL_ONFAULT)))
		return all;
	log_warning("cannot lock memory (%s): under memory pressure records may be lost, ignoring",
		    strerror(errno));
	return true;
}
