/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_H
#define ALLOCFILT_CONFIG_H

#include "failure.h"
#include "options.h"

/*
 * The configuration file: lines of `key = value`, with the keys of keys.h; empty lines, and lines
 * that begin with #, are skipped.
 */

#define CONFIG_DEFAULT	"/etc/allocfilt.conf"

/**
 * config_load - take from a file what the command line left open
 * @path: -c; NULL: @fallback, which need not be there
 *
 * Call it once for what options_parse() filled; for a reload do both again, into another struct
 * options. Returns 0, or -errno with @failure (status 2), which names file, line and what is
 * allowed.
 */
int config_load(struct options *options, const char *path, const char *fallback,
		struct failure *failure);

/** config_path - the file of -c, or the default one */
const char *config_path(const struct options *options);

#define CONFIG_SAID_MAX	4128

/**
 * config_said - how a message names a setting: by its option, or by file and key
 * @name: of a key that has an option
 *
 * Returns @text.
 */
const char *config_said(const struct options *options, const char *name,
			char text[CONFIG_SAID_MAX]);

/**
 * config_check - is what was parsed and loaded enough for a live run?
 *
 * Returns 0, or -errno with @failure (status 2).
 */
int config_check(const struct options *options, struct failure *failure);

#endif
