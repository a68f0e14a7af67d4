/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_SHRINKER_LINES_H
#define ALLOCFILT_OUTPUT_SHRINKER_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"
#include "allocfilt/stall.h"

/*
 * The shrinkers' part of the summary: a line for each callback, and below that of the superblocks,
 * indented by two blanks, one for each superblock, which add up to it.
 */

#define SHRINKER_LINES_SUPERBLOCKS_MAX 20 /* the rest in one line */

struct shrinker_lines_setup {
	struct shrinkers *shrinkers;
	struct shrinker_names *names; /* NULL: no lines of superblocks */
	/* text of an address, as the kernel's %ps ('s'); returns its length */
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	void *context;
};

/** shrinker_lines_put - all lines, or "no shrinker ran"; 0 or the writer's -errno */
int shrinker_lines_put(const struct shrinker_lines_setup *setup, struct writer *writer);

#endif
