// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <time.h>

#include "allocfilt/names.h"

#define NS_PER_SECOND 1000000000u

void clock_mark(struct clock_anchor *anchor, uint64_t ts, uint64_t realtime)
{
	anchor->known = true;
	anchor->ts = ts;
	anchor->realtime = realtime;
}

bool clock_text(const struct clock_anchor *anchor, uint64_t ts, char text[CLOCK_TEXT_MAX])
{
	uint64_t now = anchor->realtime + (ts - anchor->ts);
	time_t seconds = (time_t)(now / NS_PER_SECOND);
	struct tm tm;
	size_t length;

	text[0] = '\0';
	if (!anchor->known || !gmtime_r(&seconds, &tm))
		return false;
	length = strftime(text, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + length, CLOCK_TEXT_MAX - length, ".%09uZ",
		 (unsigned int)(now % NS_PER_SECOND));
	return length;
}
