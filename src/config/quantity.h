/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_QUANTITY_H
#define ALLOCFILT_CONFIG_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

/* Whole numbers, with a unit or without, as people write them. */

enum quantity {
	QUANTITY_GOOD,
	QUANTITY_EMPTY,
	QUANTITY_NEGATIVE,
	QUANTITY_NO_NUMBER,
	QUANTITY_UNIT,
	QUANTITY_ZERO,
	QUANTITY_TOO_SMALL,
	QUANTITY_TOO_LARGE,
};

struct quantity_unit {
	const char *name;
	uint64_t factor;
};

struct quantity_units {
	const struct quantity_unit *units;
	size_t count;
	const char *bare; /* unit of a number without one */
};

extern const struct quantity_units quantity_short_time; /* ns us ms s, bare us; value in ns */
extern const struct quantity_units quantity_long_time;	/* ms s m h, bare s; value in ns */
extern const struct quantity_units quantity_size;	/* K M G, bare K; value in bytes */

/**
 * quantity_scan - read a number
 * @units: NULL: a bare number
 * @ret_value: in the units' own measure; untouched on failure
 */
enum quantity quantity_scan(const char *text, const struct quantity_units *units,
			    uint64_t *ret_value);

/** quantity_scan_signed - read a bare number that may be below zero */
enum quantity quantity_scan_signed(const char *text, int64_t *ret_value);

/** quantity_reason - what is wrong, as in "it is empty" behind the value */
const char *quantity_reason(enum quantity quantity);

/** quantity_error - 0, -EINVAL (not of that form) or -ERANGE (does not fit) */
int quantity_error(enum quantity quantity);

#endif
