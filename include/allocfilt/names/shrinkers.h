/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_SHRINKERS_H
#define ALLOCFILT_NAMES_SHRINKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/names/resolver.h"

/*
 * Names of shrinkers: the callback's, and for the shrinker of a superblock also the superblock's,
 * which comes from our probe (probe.h). A file system that is mounted again in the same way is the
 * same superblock. In a full table a new superblock takes the place of the one that was not seen for
 * longest.
 */

#define SHRINKER_NAMES_MAX 1024 /* superblocks, a power of two */
#define SHRINKER_LABEL_MAX 256	/* with the NUL; a longer one is cut */

/**
 * shrinker_names_new
 * @mounts: a text of mountinfo, or negative: none; belongs to the names from now on
 * @resolver: names callbacks
 *
 * Returns NULL if there is no memory.
 */
struct shrinker_names *shrinker_names_new(int mounts, struct resolver *resolver);
void shrinker_names_free(struct shrinker_names *names);

/** shrinker_names_see - accept a record of our probe, in order: it names a shrinker from now on */
void shrinker_names_see(struct shrinker_names *names, const struct record *record);

/**
 * shrinker_names_superblock - number of the superblock of a slab event, as it is now
 * @record: mm_shrink_slab_start or …_end
 *
 * No other superblock has that number, and of two with the same number modulo SHRINKER_NAMES_MAX the
 * later one has taken the place of the other. Returns -1 for a shrinker of no superblock.
 */
int shrinker_names_superblock(struct shrinker_names *names, const struct record *record);

/**
 * shrinker_names_label - "super_cache_scan[vda]", "super_cache_scan[tmpfs 0:25 /run]"
 *
 * Device number and mount point are added if two superblocks have the same name. An unknown name
 * becomes the address. Control characters become '?'. Returns the length, at most size - 1; 0 for
 * a superblock whose place was taken.
 */
size_t shrinker_names_label(struct shrinker_names *names, int superblock, char *text, size_t size);

#define SUPERBLOCK_NAME_MAX 36	/* s_id has 32 */
#define MOUNT_POINT_MAX	    128 /* with the NUL; a longer one is cut */

struct superblock_name {
	char name[SUPERBLOCK_NAME_MAX]; /* "vda", "tmpfs" */
	uint32_t major;
	uint32_t minor;
	char mount[MOUNT_POINT_MAX]; /* mount point when first seen; "": unknown */
};

/**
 * shrinker_names_parts - name, device and mount point of a superblock; NULL if unknown
 *
 * They do not change, and no two superblocks have the same. Valid until the next
 * shrinker_names_see().
 */
const struct superblock_name *shrinker_names_parts(const struct shrinker_names *names,
						   int superblock);

/**
 * shrinker_names_of - the part of a label in brackets, "vda", "tmpfs 0:25 /run"
 *
 * It names the superblock that has the address now. Returns NULL if that is unknown. Valid until the
 * next call.
 */
const char *shrinker_names_of(struct shrinker_names *names, uint64_t shrinker);

/** shrinker_names_unavailable - superblocks were seen, but the name of none is known */
bool shrinker_names_unavailable(const struct shrinker_names *names);

/** shrinker_names_overflow - superblocks whose place was taken */
uint64_t shrinker_names_overflow(const struct shrinker_names *names);

#endif
