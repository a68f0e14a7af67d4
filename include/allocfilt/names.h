/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_H
#define ALLOCFILT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"

/*
 * What is known of a task: its name, its process and its cgroup. It is read when the task is first
 * seen, as it may have exited by the time it is printed.
 */

#define TASK_COMM_MAX	16  /* TASK_COMM_LEN */
#define TASK_CGROUP_MAX 256 /* bytes with the NUL; of a longer path the end is kept */

struct task_info {
	int tid;
	int tgid; /* process; 0: nothing is known of the task */
	bool kernel_thread;
	char process[TASK_COMM_MAX];  /* name of the process, any bytes; "" where not known */
	char cgroup[TASK_CGROUP_MAX]; /* path below the mount of cgroup2, or of the memory
					 * controller of v1; any bytes; "" where not known */
};

struct task_cache;

/**
 * task_cache_new
 * @proc: "/proc" for a live run, NULL for a capture
 * @names_dir: where the file saved_cmdlines is, which has names of tasks that have exited
 * @dir: of a capture: where its file tasks is
 * @size: tasks that are remembered in a live run; the least recently used one is evicted. A
 *        capture is read as a whole, up to 65536 tasks.
 *
 * A file that does not exist is no error. Returns NULL with errno ENOMEM.
 */
struct task_cache *task_cache_new(const char *proc, const char *names_dir, const char *dir,
				  size_t size);
void task_cache_free(struct task_cache *cache);

/**
 * task_cache_see_name - read the name of a task that has not been seen
 * @ts: ns of the trace clock, here and below
 */
void task_cache_see_name(struct task_cache *cache, int tid, uint64_t ts);

/** task_cache_see - read all of a task, unless that was done in the last ten seconds */
void task_cache_see(struct task_cache *cache, int tid, uint64_t ts);

/**
 * task_cache_name - "<idle>" for 0, "<...>" where not known; never NULL
 *
 * Any bytes but NUL; valid until the next call. A name that is older than a second is read again
 * first, because exec changes it.
 */
const char *task_cache_name(struct task_cache *cache, int tid, uint64_t ts);

/**
 * task_cache_info - process and cgroup; never NULL; valid until the next call
 *
 * What is older than a second is read again first, as a task may move, and an id may be reused. A
 * task that has exited stays as it was last seen.
 */
const struct task_info *task_cache_info(struct task_cache *cache, int tid, uint64_t ts);

/** task_cache_missed - times that a task was asked for which may have been evicted and is gone */
uint64_t task_cache_missed(const struct task_cache *cache);

/** task_cache_print - all tasks, as the files saved_cmdlines and tasks of a capture */
void task_cache_print(struct task_cache *cache, FILE *names, FILE *tasks);

/** cgroups_print - all cgroups on the cgroup2 that @mounts names, as a capture's file cgroups */
void cgroups_print(FILE *stream, const char *mounts);

/*
 * Names of shrinkers: that of the callback, and for a superblock's that of the superblock as well,
 * which our probe reports. The key is the shrinker's address, the name a label: an address that is
 * reused by another superblock is a new entry.
 */

#define SHRINKER_NAMES_MAX 1024 /* superblocks */
#define SHRINKER_LABEL_MAX 256	/* with the NUL; a longer one is cut */

struct shrinker_names;

/**
 * shrinker_names_new
 * @mounts: path of a file like /proc/self/mountinfo, opened at once; NULL: none
 * @symbol: text of an address as resolver_symbol() makes it; for callbacks
 *
 * Returns NULL with errno ENOMEM.
 */
struct shrinker_names *shrinker_names_new(const char *mounts,
					  int (*symbol)(void *context, uint64_t address, char style,
							char *text, size_t size),
					  void *context);
void shrinker_names_free(struct shrinker_names *names);

/** shrinker_names_see - a record of our probe, in order: names the shrinker from now on */
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
 * With device number and mount point where two superblocks have one name, with the address where no
 * name is known. Control characters are '?'. Returns the length, cut to size - 1.
 */
size_t shrinker_names_label(struct shrinker_names *names, int superblock, char *text, size_t size);

struct superblock_name {
	const char *name; /* "vda", "tmpfs" */
	uint32_t major;
	uint32_t minor;
	const char *mount; /* mount point when it was first seen; "": not known */
};

/**
 * shrinker_names_parts - name, device and mount point of a superblock; false where not known
 *
 * They stay the same for the run. Two superblocks, one after the other, may have the same. Valid as
 * long as the names.
 */
bool shrinker_names_parts(const struct shrinker_names *names, int superblock,
			  struct superblock_name *ret_parts);

/**
 * shrinker_names_of - what stands in the brackets of a label, "vda", "tmpfs 0:25 /run"
 *
 * Of the superblock that the address has now; NULL where no name is known. Valid until the next
 * call.
 */
const char *shrinker_names_of(struct shrinker_names *names, uint64_t shrinker);

/** shrinker_names_missing - were there superblocks, and is no name of any known? */
bool shrinker_names_missing(const struct shrinker_names *names);

/** shrinker_names_overflow - times that a superblock found no place in the table */
uint64_t shrinker_names_overflow(const struct shrinker_names *names);

/*
 * All names that a run needs: of functions, tasks, cgroups, shrinkers, events, and of times. What a
 * function returns as a pointer is never NULL, unless that is said, and valid until the next call.
 */

#define CLOCK_TEXT_MAX 40

struct resolver;

/**
 * resolver_new - read what can be read before the data
 * @source: where the files are that names come from; it lives as long as the resolver
 * @options: whether stacks are kept, and how many names; not looked at later
 *
 * Returns 0, or -errno with @failure (3 where kallsyms shows no addresses in a live run, else 1).
 */
int resolver_new(struct resolver **resolver, const struct plan *plan,
		 const struct data_source *source, const struct options *options,
		 struct failure *failure);
void resolver_free(struct resolver *resolver);

/** resolver_set_decode - what prints the text of an event; it lives as long as events are named */
void resolver_set_decode(struct resolver *resolver, struct decode *decode);

/** resolver_stacks - where decode puts the frames of stacks; NULL where they are not kept */
struct stacks *resolver_stacks(const struct resolver *resolver);

/** resolver_superblocks - the names of superblocks by their number */
struct shrinker_names *resolver_superblocks(const struct resolver *resolver);

/** resolver_see - a record was read: note its task, which may soon exit */
void resolver_see(struct resolver *resolver, const struct record *record);

/** resolver_see_superblock - a record of our probe, in order: a shrinker's name from now on */
void resolver_see_superblock(struct resolver *resolver, const struct record *record);

/**
 * resolver_mark_clock - a mark of wall-clock time in the data
 * @ts: ns of the trace clock
 * @realtime: ns since the epoch; it is valid from here on, and for earlier times too
 */
void resolver_mark_clock(struct resolver *resolver, uint64_t ts, uint64_t realtime);

/** resolver_role - enum role of a function's address; for decode: the context is the resolver */
int resolver_role(void *resolver, uint64_t function);

/** resolver_symbol - address as %ps ('s') or %pS ('S') prints it; returns the length */
int resolver_symbol(void *resolver, uint64_t address, char style, char *text, size_t size);

/** resolver_address - of a function that resolver_new() looked for (shrinkers' are); 0: none */
uint64_t resolver_address(const struct resolver *resolver, const char *function);

/** kallsyms_address - the same without a resolver, from a file like /proc/kallsyms */
uint64_t kallsyms_address(const char *path, const char *function);

/** resolver_task_name - a task's name at that time, any bytes */
const char *resolver_task_name(struct resolver *resolver, int tid, uint64_t ts);

/** resolver_task - process and cgroup of a task */
const struct task_info *resolver_task(struct resolver *resolver, int tid, uint64_t ts);

/** resolver_memcg - path of a cgroup by the number that events carry, "" where not known */
const char *resolver_memcg(struct resolver *resolver, uint64_t memcg_id);

/** resolver_event - an event's text, "name: fields"; returns the length */
size_t resolver_event(struct resolver *resolver, const struct record *record, char *text,
		      size_t size);

/** resolver_shrinker_label - the superblock of a shrinker ("vda"), NULL where not known */
const char *resolver_shrinker_label(struct resolver *resolver, uint64_t shrinker);

/** resolver_shrinker - "super_cache_scan[vda]", "super_cache_scan"; any bytes */
void resolver_shrinker(struct resolver *resolver, uint64_t shrinker, uint64_t callback, char *text,
		       size_t size);

/** resolver_stack - frames of a stack, the innermost first; returns how many */
size_t resolver_stack(struct resolver *resolver, uint32_t number, const uint64_t **ret_frames);

/**
 * resolver_time - RFC 3339, UTC, with nanoseconds: "2026-11-21T14:45:00.123456789Z"
 *
 * Returns false, and an empty text, before the first mark of time.
 */
bool resolver_time(const struct resolver *resolver, uint64_t ts, char text[CLOCK_TEXT_MAX]);

/** resolver_migrate_column - is it one of the kernel's generic columns (from 5.15)? */
bool resolver_migrate_column(const struct resolver *resolver);

/** resolver_missed - times that a name had made room and was not found again */
uint64_t resolver_missed(const struct resolver *resolver);

#endif
