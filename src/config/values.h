/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_VALUES_H
#define ALLOCFILT_CONFIG_VALUES_H

#include "config/keys.h"

/* Values of settings, from their text to the fields of struct options. */

/**
 * value_parse - read a value into its field
 * @setting: its name in messages: option or key
 *
 * A value that is set again replaces the first; a list is added to it. Returns 0 or -errno with
 * @failure (status 2), which names setting, value and the allowed values.
 */
int value_parse(struct options *options, const struct key *key, const char *setting,
		const char *value, struct failure *failure);

/** value_free - free what a key's field points to */
void value_free(const struct key *key, struct options *options);

#define VALUE_SHOWN_MAX 96

/** value_shown - a value as messages repeat it: cut, and without control characters */
const char *value_shown(const char *value, char text[VALUE_SHOWN_MAX]);

/* Numbers as people write them, with a unit or without: whole ones of the smallest unit, so 1.5ms is one. */

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
