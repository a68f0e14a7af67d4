// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>

#include "allocfilt/base.h"

static uint64_t rounded(uint64_t ns, uint64_t unit)
{
	return ns / unit + (ns % unit >= unit / 2);
}

const char *duration_text(char text[DURATION_TEXT_MAX], uint64_t ns)
{
	uint64_t us = rounded(ns, 1000);
	uint64_t tenths = rounded(ns, 100000); /* of a ms */
	const char *unit = "ms";

	if (us < 1000) {
		snprintf(text, DURATION_TEXT_MAX, "%" PRIu64 " us", us);
		return text;
	}
	if (tenths >= 10000) {
		tenths = rounded(ns, 100000000);
		unit = "s";
	}
	snprintf(text, DURATION_TEXT_MAX, "%" PRIu64 ".%u %s", tenths / 10,
		 (unsigned int)(tenths % 10), unit);
	return text;
}
