/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_MOUNTS_H
#define ALLOCFILT_NAMES_MOUNTS_H

#include <stddef.h>
#include <stdint.h>

/* Where a file system is mounted, by its device number: /proc/self/mountinfo, or a copy of it. */

#define MOUNT_POINT_MAX 128 /* with the NUL; a longer one is cut */

struct mounts;

/**
 * mounts_new
 * @path: of the text, opened at once and read again for each question; NULL or not there: no answer
 *
 * Returns NULL with errno ENOMEM.
 */
struct mounts *mounts_new(const char *path);
void mounts_free(struct mounts *mounts);

/**
 * mounts_find - the mount point of the whole file system, else of a part of it; "" for none
 *
 * With several the first in the file. Spaces and the like are as the file has them (\040).
 * Allocates nothing.
 */
void mounts_find(struct mounts *mounts, uint32_t major, uint32_t minor, char *point, size_t size);

#endif
