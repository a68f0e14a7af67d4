/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_QUANTITY_H
#define ALLOCFILT_CONFIG_QUANTITY_H

#include <stdint.h>

/* Numbers as people write them, with a unit or without: whole ones of the smallest unit, so 1.5ms is one. */

struct quantity_unit {
	const char *name; /* NULL ends */
	int64_t factor;
};

struct quantity_units {
	const struct quantity_unit *units;
	const char *bare; /* unit of a number without one */
};

extern const struct quantity_units quantity_short_time; /* ns us ms s, bare us; value in ns */
extern const struct quantity_units quantity_long_time;	/* ms s m h, bare s; value in ns */
extern const struct quantity_units quantity_size;	/* K M G, bare K; value in bytes */
extern const struct quantity_units quantity_share;	/* %, bare as well; value in percent */

/**
 * quantity_parse - read a number
 * @units: NULL: none is allowed
 * @ret_value: untouched on failure
 *
 * Returns NULL, or the reason why @text is refused, as in "'3x' has an unknown unit".
 */
const char *quantity_parse(const char *text, const struct quantity_units *units,
			   int64_t *ret_value);

#endif
