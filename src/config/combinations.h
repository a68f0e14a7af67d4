/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_COMBINATIONS_H
#define ALLOCFILT_CONFIG_COMBINATIONS_H

#include <stdbool.h>

#include "config/keys.h"

/* The table of keys tells which options go with each other. */

/** combinations_task_name - the option of a task, or "account" */
const char *combinations_task_name(enum options_task task);

/**
 * combinations_check - does each option of the command line go with the others?
 *
 * Returns 0, or -errno with @failure (status 2), which names the two that do not.
 */
int combinations_check(const struct options *options, struct failure *failure);

/** combinations_file_decides - is a key's value in the configuration file used? */
bool combinations_file_decides(const struct options *options, const struct key *key);

#endif
