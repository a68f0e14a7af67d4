/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_CGROUPS_H
#define ALLOCFILT_NAMES_CGROUPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Paths of cgroups by the memcg_id of events: the inode number of the cgroup's directory on cgroup2.
 */

#define CGROUP_PATH_MAX 256 /* bytes with the NUL; of a longer path the end is kept */

struct cgroups;

/**
 * cgroups_new
 * @mounts: "/proc/self/mounts" for a live run, NULL for a capture
 * @saved: a capture's file cgroups, which stays open, or -1
 * @size: limit of paths in a live run, at least 1; the least recently used one is evicted. A capture
 *	is read as a whole, up to 65536 cgroups.
 *
 * Returns NULL with errno ENOMEM. Without cgroup2, or the right to open a directory by its number
 * (CAP_DAC_READ_SEARCH), no path is known.
 */
struct cgroups *cgroups_new(const char *mounts, int saved, size_t size);
void cgroups_free(struct cgroups *cgroups);

/**
 * cgroups_path - path below the mount ("/" for the root), "" if unknown; never NULL
 *
 * Valid until the next call.
 */
const char *cgroups_path(struct cgroups *cgroups, uint64_t id);

/** cgroups_missed - lookups of cgroups that are gone and may have been evicted before */
uint64_t cgroups_missed(const struct cgroups *cgroups);

#endif
