/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TOLD_H
#define ALLOCFILT_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "stall.h"
#include "who.h"

/*
 * A stall with the names that belong to it: what the outputs and the summary take.
 */

#define TOLD_NAME_MAX	96

struct told_stall {
	const struct stall *stall;
	const char *name;		/* of the task, any bytes */
	const struct who_task *who;
	bool interrupt;			/* of an interrupt: the task only happened to be there */
	bool background;		/* kswapd, kcompactd: nobody waited */
	const char *function;		/* "__alloc_pages", or the role's title for a pair */
	const char *memcg;		/* path of the cgroup that was reclaimed, "" where not known */
};

/* Names that the outputs ask for. */
struct namer {
	/* a task's name, any bytes */
	const char *(*task)(void *context, int pid, uint64_t ts);
	/* address as %ps; returns the length */
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	/* an event's text, "name: fields"; returns the length */
	size_t (*event)(void *context, const struct record *record, char *text, size_t size);
	/* whose a task is; never NULL; valid until the next call */
	const struct who_task *(*who)(void *context, int pid, uint64_t ts);
	/* what a shrinker is of ("vda"), NULL where nothing tells it */
	const char *(*shrinker)(void *context, uint64_t shrinker);
	/* frames of a stack, the innermost first; returns how many */
	size_t (*stack)(void *context, uint32_t number, const uint64_t **ret_frames);
	/* title of a role that is not the catalog's (enum role), but of the user's own */
	const char *(*role)(void *context, int role);
	bool migrate_column;	/* of the kernel's generic columns, from 5.15 */
	/* RFC 3339; false where the data has no mark of time */
	bool (*time)(void *context, uint64_t ts, char *text);
	void *context;
};

/** told_role - title of what a function does ("page allocation"); NULL for ROLE_NONE */
const char *told_role(const struct namer *namer, int role);

/** told_shrinker - "super_cache_scan[vda]", "super_cache_scan"; any bytes */
void told_shrinker(const struct namer *namer, uint64_t shrinker, uint64_t callback, char *text,
		   size_t size);

/** told_frames - return addresses of a stall's stack, the innermost first; returns how many */
size_t told_frames(const struct namer *namer, const struct stall *stall,
		   const uint64_t **ret_frames);

/**
 * told_source - what most probably made a stall slow, in a few words
 *
 * The place that took most; of slab the shrinker that took most.
 */
void told_source(const struct namer *namer, const struct phases *phases,
		 const struct stall_shrinker *shrinkers, size_t nr_shrinkers, char *text,
		 size_t size);

#endif
