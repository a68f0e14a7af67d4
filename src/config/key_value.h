/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_KEY_VALUE_H
#define ALLOCFILT_CONFIG_KEY_VALUE_H

#include <stdbool.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "config/keys.h"

/* Values of settings, between their texts and the fields of struct options. */

enum key_from { KEY_FROM_OPTION, KEY_FROM_FILE };

/**
 * key_value_take - read a value into its field of @options
 * @from: whose words a message uses
 *
 * A list that is set again adds up. Returns 0 or -errno with @failure (status 2), whose text names
 * key or option, value and what is allowed.
 */
int key_value_take(struct options *options, const struct key *key, enum key_from from,
		   const char *value, struct failure *failure);

/** key_value_take_path - the path of an option that is no key; frees what was in @slot */
int key_value_take_path(char **slot, const char *option, const char *value,
			struct failure *failure);

/** key_value_same - has a key the same value in both? */
bool key_value_same(const struct key *key, const struct options *a, const struct options *b);

#define KEY_VALUE_SHOWN_MAX 96

/** key_value_shown - what a message repeats of a value: cut, and on one line whatever is in it */
const char *key_value_shown(const char *value, char text[KEY_VALUE_SHOWN_MAX]);

#endif
