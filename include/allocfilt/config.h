/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_H
#define ALLOCFILT_CONFIG_H

#include "failure.h"
#include "options.h"

/*
 * The configuration file: lines of `key = value`, where a key is the long name of an option and a
 * value is what that takes; empty lines, and lines that begin with #, are skipped.
 */

#define CONFIG_DEFAULT	"/etc/allocfilt.conf"

/**
 * config_load - take from a file what the command line left open
 * @path: -c; NULL: @fallback, which need not be there
 *
 * Returns 0, or -errno with @failure (status 2), which names file, line and what is allowed.
 */
int config_load(struct options *options, const char *path, const char *fallback,
		struct failure *failure);

#endif
