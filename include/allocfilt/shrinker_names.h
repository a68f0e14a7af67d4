/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_SHRINKER_NAMES_H
#define ALLOCFILT_SHRINKER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

/*
 * What a shrinker is called: by its callback, and a superblock's by its superblock as well, which
 * our probe tells. The key is the shrinker's address, the name a label: an address that comes back
 * with another superblock is a new entry.
 */

#define SHRINKER_NAMES_MAX	1024	/* superblocks */
#define SHRINKER_LABEL_MAX	256	/* with the NUL; a longer one is cut */

struct shrinker_names;

struct shrinker_names_setup {
	/* path of a text of mountinfo, looked into when a superblock is first seen; NULL: none */
	const char *mounts;
	/* text of an address, as the kernel's %ps ('s'); returns its length */
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	void *context;
};

/** shrinker_names_new - mounts is opened at once; NULL with errno ENOMEM */
struct shrinker_names *shrinker_names_new(const struct shrinker_names_setup *setup);
void shrinker_names_free(struct shrinker_names *names);

/** shrinker_names_see - a record of our probe, in order: whose shrinker that is from now on */
void shrinker_names_see(struct shrinker_names *names, const struct record *record);

/**
 * shrinker_names_superblock - number of the superblock of a slab event, as it is now
 * @record: mm_shrink_slab_start or …_end
 *
 * The number stays the same for the run, also after the address got another superblock. Returns -1
 * for a shrinker that is no superblock's, or where the table is full.
 */
int shrinker_names_superblock(struct shrinker_names *names, const struct record *record);

/**
 * shrinker_names_label - "super_cache_scan[vda]", "super_cache_scan[tmpfs 0:25 /run]"
 *
 * By device number and mount point where two superblocks have one name, by its address where no
 * probe told a name. Control characters are '?'. Returns the length, cut to size - 1.
 */
size_t shrinker_names_label(struct shrinker_names *names, int superblock, char *text,
			    size_t size);

/* What tells a superblock from others, each for itself. */
struct superblock_name {
	const char *name;	/* "vda", "tmpfs" */
	uint32_t major;
	uint32_t minor;
	const char *mount;	/* mount point when it was first seen; "": not known */
};

/**
 * shrinker_names_parts - of a superblock by its number; false where no probe told a name
 *
 * Once there they stay the same for the run; two superblocks, one after the other, may have the
 * same. Valid as long as the names.
 */
bool shrinker_names_parts(const struct shrinker_names *names, int superblock,
			  struct superblock_name *ret_parts);

/**
 * shrinker_names_of - what stands in the brackets of a label, "vda", "tmpfs 0:25 /run"
 *
 * By address, as it is now; NULL for a shrinker of which no probe told anything. Valid until the
 * next call.
 */
const char *shrinker_names_of(struct shrinker_names *names, uint64_t shrinker);

/** shrinker_names_text - the label of a slab event's shrinker, whatever it is; returns as above */
size_t shrinker_names_text(struct shrinker_names *names, const struct record *record, char *text,
			   size_t size);

/** shrinker_names_missing - were there superblocks, and the probe told no name at all? */
bool shrinker_names_missing(const struct shrinker_names *names);

/** shrinker_names_overflow - superblocks that found no place in the table */
uint64_t shrinker_names_overflow(const struct shrinker_names *names);

#endif
