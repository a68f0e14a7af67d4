// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"

uint64_t memory_available(void)
{
	static const char key[] = "MemAvailable:";
	uint64_t available = UINT64_MAX;
	char *text, *found;

	if (file_read(NULL, "/proc/meminfo", &text, NULL))
		return available;
	found = strstr(text, key);
	if (found)
		available = strtoull(found + strlen(key), NULL, 10) * 1024;
	free(text);
	return available;
}
