/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_CGROUPS_H
#define ALLOCFILT_NAMES_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Cgroups of cgroup2: their paths by the memcg_id of events, the inode number of the directory, and their
 * memory pressure (PSI) over the run, by how much the "some total" of memory.pressure grew, which the
 * kernel brings up to date when it is read (kernel/sched/psi.c: psi_show()); their memory at its end; and
 * how often they were at memory.max or memory.high in it, by memory.events.local.
 */

#define CGROUPS_MAX	2048 /* in the table of a live run */
#define CGROUP_PATH_MAX 256  /* bytes with the NUL; of a longer path the end is kept */

struct cgroups;

/**
 * cgroups_new
 * @process: whose mounts have the cgroups of a live run, as "/proc/self"; NULL for a capture
 * @saved: a capture's file cgroups, which stays open, or -1
 * @size: limit of paths in a live run, at least 1; the least recently used one is evicted. A capture
 *	is read as a whole, up to 65536 cgroups.
 *
 * Returns NULL if there is no memory. Without cgroup2, or the right to open a directory by its number
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

/**
 * cgroup_matches - does a glob match the path or the name of a cgroup, or of one above it?
 *
 * A backslash is itself: names of units have some (systemd-escape(1)).
 */
bool cgroup_matches(const char *glob, const char *cgroup);

/** cgroups_check - warn if a glob matches no cgroup that was there at CGROUPS_BEGIN, if all are known */
void cgroups_check(const struct cgroups *cgroups, const char *glob);

/** cgroups_is_inner - are there others below it? Then it has no tasks, or is the root. */
bool cgroups_is_inner(const struct cgroups *cgroups, const char *path);

/**
 * cgroups_limit - the only one of a task's cgroup and those above it that was at a limit in the run
 *
 * Where it is not known whether a cgroup was at a limit, one that has a limit counts. Allocates nothing; reads
 * a task's cgroups at most once a second. @ts: ns, the trace clock: a stall's end. Returns @limit, with its
 * path; "": not known.
 */
const char *cgroups_limit(struct cgroups *cgroups, const char *path, uint64_t ts,
			  char limit[CGROUP_PATH_MAX]);

/** cgroups_missed - lookups of cgroups that are gone and may have been evicted before */
uint64_t cgroups_missed(const struct cgroups *cgroups);

enum cgroups_walk {
	CGROUPS_NAMES, /* read no pressure */
	CGROUPS_BEGIN, /* the run begins now */
	CGROUPS_NOW,   /* the run lasts until now */
};

/**
 * cgroups_walk - read the pressure of all cgroups of a running kernel, as many as there is room for
 * @stream: gets the lines of a capture's file cgroups; NULL: none are wanted
 *
 * A cgroup made since the start begins at 0. One that is gone keeps what was read last. In the file a path
 * has behind it, with CGROUPS_NOW: its pressure, in us, -1: not known; then its memory, in bytes, or 0; then
 * how often it was at a limit, where that is not known 1 or 0: it has a limit, or none; -1: it is gone.
 */
void cgroups_walk(struct cgroups *cgroups, enum cgroups_walk which, FILE *stream);

/**
 * cgroups_pressure - the pressure of a cgroup over the run
 * @path: below the mount
 * Returns false if it is not known: the cgroup, or one before it that had the same path, was gone
 * before a walk came; not all cgroups of the start were read; the kernel has no PSI, or no cgroup2.
 */
bool cgroups_pressure(const struct cgroups *cgroups, const char *path, uint64_t *ret_ns);

/** cgroups_most_memory - path of the cgroup, without others below, that has most; NULL: not known */
const char *cgroups_most_memory(const struct cgroups *cgroups, uint64_t *ret_bytes);

#endif
