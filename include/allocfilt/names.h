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
 * The resolver: names of functions, tasks, cgroups and shrinkers, texts of events and times. Other
 * stages use it. A returned pointer is valid until the next call, and never NULL unless documented.
 */

#define CLOCK_TEXT_MAX TEXT_TIME_MAX /* of resolver_time() */

#define TASK_COMM_MAX	16 /* TASK_COMM_LEN */
#define TASK_UNNAMED	"<...>"
#define TASK_CGROUP_MAX 256 /* bytes with the NUL; of a longer path the end is kept */

/* A task's process and cgroup. */
struct task_info {
	int tid; /* thread */
	int pid; /* process (thread group); 0: nothing is known of the task */
	bool kernel_thread;
	char process[TASK_COMM_MAX];  /* name of the process, any bytes; "" if unknown */
	char cgroup[TASK_CGROUP_MAX]; /* path below the mount of cgroup2, or of the memory
					 * controller of v1; any bytes; "" if unknown */
};

struct shrinker_names;
struct resolver;

/**
 * resolver_new - open the sources of names, read the formats of the plan's events; in a capture, read
 * symbols
 * @source: paths of the files with names; it has to outlive the resolver
 * @options: whether stacks are kept, and the limits; not used after the call
 *
 * Returns 0, or -errno with @failure (exit status 3 if kallsyms shows no addresses in a live run,
 * else 1).
 */
int resolver_new(struct resolver **resolver, const struct plan *plan,
		 const struct data_source *source, const struct options *options,
		 struct failure *failure);
void resolver_free(struct resolver *resolver);

/**
 * resolver_read_symbols - in a running kernel, read the symbols of all functions
 *
 * Takes up to a second under emulation, so tracing is on by then.
 */
void resolver_read_symbols(struct resolver *resolver);

/** resolver_stacks - the table of stacks; NULL without option stack */
struct stacks *resolver_stacks(const struct resolver *resolver);

/** resolver_superblocks - names of superblocks by number */
struct shrinker_names *resolver_superblocks(const struct resolver *resolver);

/** resolver_see - read the names of a record's task, which may soon exit */
void resolver_see(struct resolver *resolver, const struct record *record);

/**
 * resolver_mark_clock - set the offset between the trace clock and wall-clock time
 * @ts: ns of the trace clock
 * @realtime: ns since the epoch at @ts; times up to the next mark are computed from it
 */
void resolver_mark_clock(struct resolver *resolver, uint64_t ts, uint64_t realtime);

/** resolver_role - enum role of the function at an address, or ROLE_NONE; the answers are cached */
int resolver_role(struct resolver *resolver, uint64_t function);

/** resolver_symbol - print an address as %ps ('s') or %pS ('S') does; returns the length */
int resolver_symbol(void *resolver, uint64_t address, char style, char *text, size_t size);

/**
 * resolver_sleeps_in - the function in which a task sleeps that has this stack
 * @frames: return addresses, the innermost first
 *
 * The innermost one that is neither the scheduler's nor waits for anybody who asks. Reads no file.
 * Returns an address in it, 0 if it is not known.
 */
uint64_t resolver_sleeps_in(const struct resolver *resolver, const uint64_t *frames, size_t count);

/** resolver_function - the start of the function that contains an address, or the address */
uint64_t resolver_function(struct resolver *resolver, uint64_t address);

/** resolver_address - address of a function among the symbols that were read; 0: none */
uint64_t resolver_address(const struct resolver *resolver, const char *function);

/** kallsyms_address - address of a function, from a text of kallsyms, which is closed; 0: none */
uint64_t kallsyms_address(int fd, const char *function);

/** resolver_task_name - see task_cache_name() */
const char *resolver_task_name(struct resolver *resolver, int tid, uint64_t ts);

/** resolver_task - see task_cache_info() */
const struct task_info *resolver_task(struct resolver *resolver, int tid, uint64_t ts);

/** resolver_memcg - path of a cgroup by the memcg_id of events, "" if unknown */
const char *resolver_memcg(struct resolver *resolver, uint64_t memcg_id);

/** resolver_event - print an event, "name: fields"; see event_text() */
size_t resolver_event(struct resolver *resolver, const struct record *record, char *text,
		      size_t size);

/** resolver_event_field - see event_text_field() */
size_t resolver_event_field(struct resolver *resolver, const struct record *record,
			    const char *field, char *text, size_t size);

/** resolver_shrinker_label - the superblock of a shrinker ("vda"), NULL if unknown */
const char *resolver_shrinker_label(struct resolver *resolver, uint64_t shrinker);

/** resolver_shrinker - "super_cache_scan[vda]", "super_cache_scan"; any bytes */
void resolver_shrinker(struct resolver *resolver, uint64_t shrinker, uint64_t callback, char *text,
		       size_t size);

/** resolver_stack - frames of a stack, the innermost first; returns how many */
size_t resolver_stack(struct resolver *resolver, uint32_t number, const uint64_t **ret_frames);

/** resolver_realtime - ns since the epoch of a time of the trace clock; 0: not known */
uint64_t resolver_realtime(const struct resolver *resolver, uint64_t ts);

/**
 * resolver_time - wall-clock time as text_time() prints it
 *
 * Returns false before the first resolver_mark_clock(): the text is seconds of the trace clock then,
 * "7.882123".
 */
bool resolver_time(const struct resolver *resolver, uint64_t ts, char text[CLOCK_TEXT_MAX]);

/** resolver_migrate_column - does the kernel's text have a column for disabled migration (5.15)? */
bool resolver_migrate_column(const struct resolver *resolver);

/** resolver_missed - lookups of tasks and cgroups that are gone and may have been evicted before */
uint64_t resolver_missed(const struct resolver *resolver);

/*
 * Tasks: name, process and cgroup, for the resolver and for a recording. They are read when a task is
 * first seen, as it may have exited by the time it is printed.
 */

struct task_cache;

/**
 * task_cache_new
 * @source: a running kernel's saved_cmdlines has names of tasks that have exited
 * @size: limit of tasks in a live run; the least recently used one is evicted. A capture is read as
 *	a whole, up to 65536 tasks.
 *
 * A file that does not exist is no error. Returns NULL with errno ENOMEM.
 */
struct task_cache *task_cache_new(const struct data_source *source, size_t size);
void task_cache_free(struct task_cache *cache);

/**
 * task_cache_see_name - read the name of a task that has not been seen
 * @ts: ns of the trace clock, here and below
 */
void task_cache_see_name(struct task_cache *cache, int tid, uint64_t ts);

/** task_cache_is_full - does the next task that is new evict one? */
bool task_cache_is_full(const struct task_cache *cache);

/** task_cache_see - read name, process and cgroup, unless that was done in the last ten seconds */
void task_cache_see(struct task_cache *cache, int tid, uint64_t ts);

/**
 * task_cache_see_saved - see all tasks of saved_cmdlines, with the names that they have there
 *
 * Process and cgroup are read the first time, and when the name has changed.
 */
void task_cache_see_saved(struct task_cache *cache, uint64_t ts);

/**
 * task_cache_name - "<idle>" for 0, TASK_UNNAMED if unknown; never NULL
 *
 * Any bytes but NUL; valid until the next call. A name older than a second is read again, because
 * exec changes it.
 */
const char *task_cache_name(struct task_cache *cache, int tid, uint64_t ts);

/**
 * task_cache_info - process and cgroup; never NULL; valid until the next call
 *
 * Information older than a second is read again, as a task may move and an id may be reused. That of
 * a task that has exited stays.
 */
const struct task_info *task_cache_info(struct task_cache *cache, int tid, uint64_t ts);

/** task_cache_missed - lookups of tasks that are gone and may have been evicted before */
uint64_t task_cache_missed(const struct task_cache *cache);

/** task_cache_print - print all tasks, as the files saved_cmdlines and tasks of a capture */
void task_cache_print(struct task_cache *cache, FILE *names, FILE *tasks);

/** cgroups_print - print all cgroups of the cgroup2 listed in @mounts, as a capture's file cgroups */
void cgroups_print(FILE *stream, const char *mounts);

/*
 * Names of shrinkers: the callback's, and for the shrinker of a superblock also the superblock's,
 * which comes from our kprobe. The key is the shrinker's address; if another superblock reuses an
 * address, it gets a new entry.
 */

#define SHRINKER_NAMES_MAX 1024 /* superblocks */
#define SHRINKER_LABEL_MAX 256	/* with the NUL; a longer one is cut */

/**
 * shrinker_names_new
 * @mounts: a text of mountinfo, or negative: none; belongs to the names from now on
 * @resolver: names callbacks
 *
 * Returns NULL with errno ENOMEM.
 */
struct shrinker_names *shrinker_names_new(int mounts, struct resolver *resolver);
void shrinker_names_free(struct shrinker_names *names);

/** shrinker_names_see - accept a record of our kprobe, in order: it names a shrinker from now on */
void shrinker_names_see(struct shrinker_names *names, const struct record *record);

/**
 * shrinker_names_superblock - number of the superblock of a slab event, as it is now
 * @record: mm_shrink_slab_start or …_end
 *
 * The number stays valid for the run, even if another superblock reuses the address. Returns -1 for
 * a shrinker of no superblock, and if the table is full.
 */
int shrinker_names_superblock(struct shrinker_names *names, const struct record *record);

/**
 * shrinker_names_label - "super_cache_scan[vda]", "super_cache_scan[tmpfs 0:25 /run]"
 *
 * Device number and mount point are added if two superblocks have the same name. An unknown name
 * becomes the address. Control characters become '?'. Returns the length, at most size - 1.
 */
size_t shrinker_names_label(struct shrinker_names *names, int superblock, char *text, size_t size);

struct superblock_name {
	const char *name; /* "vda", "tmpfs" */
	uint32_t major;
	uint32_t minor;
	const char *mount; /* mount point when first seen; "": unknown */
};

/**
 * shrinker_names_parts - name, device and mount point of a superblock; false if unknown
 *
 * They do not change during the run. Two superblocks may have the same, one after the other. The
 * strings are valid until shrinker_names_free().
 */
bool shrinker_names_parts(const struct shrinker_names *names, int superblock,
			  struct superblock_name *ret_parts);

/**
 * shrinker_names_of - the part of a label in brackets, "vda", "tmpfs 0:25 /run"
 *
 * It names the superblock that has the address now. Returns NULL if that is unknown. Valid until the
 * next call.
 */
const char *shrinker_names_of(struct shrinker_names *names, uint64_t shrinker);

/** shrinker_names_unavailable - superblocks were seen, but the name of none is known */
bool shrinker_names_unavailable(const struct shrinker_names *names);

/** shrinker_names_overflow - superblocks that were left out because the table was full */
uint64_t shrinker_names_overflow(const struct shrinker_names *names);

/* Units of systemd, from the path of a cgroup. */

#define UNIT_NAME_BYTES 256 /* with the NUL; systemd.unit(5): at most 255 characters */

/**
 * unit_name_of_cgroup - the system unit that a cgroup belongs to, by systemd's own rule
 * @cgroup: path below the root of the hierarchy, any bytes
 *
 * The unit is the first directory below the slices, so all units of a user are in user@UID.service.
 * A "_" before a name avoids a clash with the kernel's files and is not part of the name. (systemd,
 * src/basic/cgroup-util.c: cg_path_get_unit(); names: unit_name_is_valid().)
 *
 * Returns false, with "" in @unit, if it belongs to none, and for a path that was cut.
 */
bool unit_name_of_cgroup(const char *cgroup, char unit[UNIT_NAME_BYTES]);

/**
 * unit_name_of_user_cgroup - the unit of a user's service manager that a cgroup belongs to
 *
 * It is the first directory below the slices inside user@UID.service (systemd: cg_path_get_user_unit()).
 * Returns as unit_name_of_cgroup().
 */
bool unit_name_of_user_cgroup(const char *cgroup, char unit[UNIT_NAME_BYTES]);

#endif
