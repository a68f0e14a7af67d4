/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_OVERFLOW_H
#define ALLOCFILT_BASE_OVERFLOW_H

#include <stdint.h>

/* Counts how often a table was full, for the summary. */
struct overflow {
	const char *key;  /* for programs */
	const char *text; /* for people: "waiting events were dropped" */
	uint64_t count;
};

#endif
