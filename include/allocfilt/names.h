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
 * Names of kernel addresses, from the text of kallsyms. A fixed table, filled at the start with
 * what is likely to be asked; an address that is not in it is looked up in the file at its first
 * sight, by streaming through a fixed buffer, so that nothing is allocated on the path of an event.
 */

#define SYMBOLS_MAX	  2048
#define SYMBOL_NAME_MAX	  96 /* with the NUL; a longer one is cut */
#define SYMBOL_MODULE_MAX 56 /* MODULE_NAME_LEN of a 64-bit kernel */

struct symbol {
	uint64_t address;
	uint64_t size; /* bytes up to the next symbol; 0: unknown */
	char name[SYMBOL_NAME_MAX];
	char module[SYMBOL_MODULE_MAX]; /* empty for the kernel itself */
};

struct symbols;

/**
 * symbols_new - open @path ("/proc/kallsyms", "DIR/kallsyms") and fill the table in one pass
 * @wanted: for each name of the file: keep it? NULL keeps none
 *
 * A path that is not there or all of whose addresses are zero (no CAP_SYSLOG) leaves an empty
 * table: symbols_readable() tells, and addresses print as the kernel prints unknown ones (0x…).
 * Returns NULL with errno ENOMEM only.
 */
struct symbols *symbols_new(const char *path, int (*wanted)(void *context, const char *name),
			    void *context);
void symbols_free(struct symbols *symbols);

/** symbols_readable - 0, or the -errno of the opening; -EPERM for addresses that are zeros */
int symbols_readable(const struct symbols *symbols);

/**
 * symbols_find - the symbol that contains @address, NULL for none
 *
 * Valid until symbols_free(). A table that is full answers from the file without keeping it (the
 * result is then valid until the next call); symbols_overflow() counts that.
 */
const struct symbol *symbols_find(struct symbols *symbols, uint64_t address);
/**
 * symbols_look_up - of several addresses that are about to be asked for, as those of a stack
 *
 * Those that the table does not have are looked up in one pass over the file, the first 32 of them.
 */
void symbols_look_up(struct symbols *symbols, const uint64_t *addresses, size_t count);

/** symbols_address - where the first symbol of that name that symbols_new() kept begins; 0: none */
uint64_t symbols_address(const struct symbols *symbols, const char *name);
uint64_t symbols_overflow(const struct symbols *symbols);

/**
 * symbols_text - an address as the kernel prints it with %ps or %pS
 * @style: 's' or 'S'
 *
 * "name", "name [module]"; "name+0x0/0x1d0", "name+0x0/0x110 [module]"; "0x…" for an unknown one.
 * lib/vsprintf.c: symbol_string(); kernel/kallsyms.c: __sprint_symbol(). Returns the length.
 */
int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size);

/*
 * Names of tasks: the cache of what a task was called when it was first seen, so that one that
 * has gone by the time it is printed still has its name.
 */

#define NAMES_MAX     32000 /* as many as a table can have */
#define NAME_MAX_COMM 16    /* TASK_COMM_LEN */

struct names;

/**
 * names_new
 * @proc: "/proc" for a live run, NULL for a capture: then only saved_cmdlines counts, as for the
 *	kernel's own text
 * @size: how many names are kept, 1 … NAMES_MAX; the one unused for longest goes first
 * @saved: path of a saved_cmdlines file, read when a task is not in @proc; may be NULL or absent
 *
 * Returns NULL with errno ENOMEM.
 */
struct names *names_new(const char *proc, const char *saved, unsigned int size);
void names_free(struct names *names);

/** names_see - note a task at its first sight; ts in ns of the trace clock; allocates nothing */
void names_see(struct names *names, int pid, uint64_t ts);

/**
 * names_of - the task's name, "<idle>" for 0, "<...>" at the very last; never NULL
 *
 * Any bytes but NUL; at most 15; valid until the next call. A name older than a second of the
 * trace clock is read again first, because exec changes it.
 */
const char *names_of(struct names *names, int pid, uint64_t ts);

/** names_evicted - names that made room for others: most are never asked for again */
uint64_t names_evicted(const struct names *names);

/**
 * names_missed - times that a name was asked for, had made room, and could not be read again
 *
 * Whether it was known before, nobody knows. 0 with a capture, which is there to be read again.
 */
uint64_t names_missed(const struct names *names);

/*
 * Whose a task is: its process, and its cgroup, which names a systemd unit or a container. Read
 * from /proc while the task is there, from the file `tasks` for a capture.
 */

/* Tasks; one that hashes to the same places pushes out the older. */
#define WHO_LIVE_MAX	512  /* locked in memory */
#define WHO_SAVED_MAX	8192 /* of a capture */
#define TASK_COMM_MAX	16
#define TASK_CGROUP_MAX 256 /* bytes with the NUL; of a longer path the end is kept */

struct task_info {
	int pid;
	int tgid; /* process; 0: not known */
	bool kernel_thread;
	char process[TASK_COMM_MAX];  /* name of the process, any bytes; "" where not known */
	char cgroup[TASK_CGROUP_MAX]; /* path below the mount of cgroup2, or of the memory
					 * controller of v1; any bytes; "" where not known */
};

struct who;

/**
 * who_new
 * @proc: "/proc" for a live run, NULL for a capture
 * @saved: path of a capture's file `tasks`; NULL or not there: nothing is known
 *
 * Returns NULL with errno ENOMEM.
 */
struct who *who_new(const char *proc, const char *saved);
void who_free(struct who *who);

/**
 * who_see - look at a task now, it may soon be gone; @ts: ns of the trace clock
 *
 * One that was looked at within ten seconds is left as it is, so this may be called often.
 */
void who_see(struct who *who, int pid, uint64_t ts);

/**
 * who_of - what is known of a task, never NULL; valid until the next call
 *
 * What is older than a second of the trace clock is read again first, as a task may move, and an
 * id may come back. A task that has gone stays as it was last seen.
 */
const struct task_info *who_of(struct who *who, int pid, uint64_t ts);

/** who_evicted - tasks that made room for others: most are never asked for again, or read again */
uint64_t who_evicted(const struct who *who);

/**
 * who_missed - times that nothing was known of a task, and it may be one that had made room
 *
 * Of a live task that is still there all is read again, so it has to have gone.
 */
uint64_t who_missed(const struct who *who);

/** who_print - a line of the file `tasks`; nothing for a task of which nothing is known */
void who_print(FILE *stream, const struct task_info *task);

/* -p: is a task a thread of one of these processes? */

#define PROCESSES_TASKS 4096 /* tasks whose process is remembered */

struct processes;

/**
 * processes_new
 * @pids: 0 ends; copied
 * @proc: "/proc" for a live run; NULL for a capture, which does not tell of what process a task
 *	is: then only the ids themselves count
 *
 * Returns NULL with errno ENOMEM.
 */
struct processes *processes_new(const pid_t *pids, const char *proc);
void processes_free(struct processes *processes);

/**
 * processes_have - is this task's process asked for?
 * @ts: ns of the trace clock; what is older than a second is looked up again, as an id can come
 *	back with another process. A task that has gone keeps its last known process.
 */
bool processes_have(struct processes *processes, int tid, uint64_t ts);

/*
 * Paths of cgroups by the number that events carry (memcg_id): the inode number of the cgroup's
 * directory on cgroup2.
 */

#define CGROUP_PATH_MAX 256 /* bytes with the NUL; of a longer path the end is kept */

struct cgroups;

/**
 * cgroups_new
 * @mounts: "/proc/self/mounts" for a live run, NULL for a capture
 * @saved: path of a capture's file `cgroups`, or NULL
 * @size: paths that are remembered, at least 1; the one unused for longest makes room
 *
 * Returns NULL with errno ENOMEM. Without cgroup2, or the right to open a directory by its number
 * (CAP_DAC_READ_SEARCH), no path is known.
 */
struct cgroups *cgroups_new(const char *mounts, const char *saved, size_t size);
void cgroups_free(struct cgroups *cgroups);

/**
 * cgroups_path - path below the mount ("/" for the root), "" where not known; never NULL
 *
 * Valid until the next call.
 */
const char *cgroups_path(struct cgroups *cgroups, uint64_t id);

/** cgroups_evicted - paths that made room for others; one whose cgroup is there is read again */
uint64_t cgroups_evicted(const struct cgroups *cgroups);

/**
 * cgroups_missed - times that a cgroup was gone when it was asked for and paths had made room
 *
 * Whether its path was among them, nobody knows. 0 with a capture, which is there to be read again.
 */
uint64_t cgroups_missed(const struct cgroups *cgroups);

/** cgroups_print - all cgroups that there are, as the lines of the file `cgroups` */
void cgroups_print(FILE *stream, const char *mounts);

/* Wall-clock time of a time of the trace clock, by the marks that are in the data. */

#define CLOCK_TEXT_MAX 40

struct clock_anchor {
	bool known;
	uint64_t ts;	   /* ns, trace clock */
	uint64_t realtime; /* ns since the epoch */
};

/** clock_mark - a mark in the data: from here on it is the one that counts, also backwards */
void clock_mark(struct clock_anchor *anchor, uint64_t ts, uint64_t realtime);

/**
 * clock_text - RFC 3339, UTC, with nanoseconds: "2026-11-21T14:45:00.123456789Z"
 *
 * Returns false, and an empty text, before the first mark.
 */
bool clock_text(const struct clock_anchor *anchor, uint64_t ts, char text[CLOCK_TEXT_MAX]);

/*
 * What a shrinker is called: by its callback, and a superblock's by its superblock as well, which
 * our probe tells. The key is the shrinker's address, the name a label: an address that comes back
 * with another superblock is a new entry.
 */

#define SHRINKER_NAMES_MAX 1024 /* superblocks */
#define SHRINKER_LABEL_MAX 256	/* with the NUL; a longer one is cut */

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
size_t shrinker_names_label(struct shrinker_names *names, int superblock, char *text, size_t size);

/* What tells a superblock from others, each for itself. */
struct superblock_name {
	const char *name; /* "vda", "tmpfs" */
	uint32_t major;
	uint32_t minor;
	const char *mount; /* mount point when it was first seen; "": not known */
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

/*
 * The lines of kallsyms that a capture keeps: each symbol that is asked for with the next one, so
 * that its size is known.
 */

/** kallsyms_cut_by_name - symbols whose name is wanted, to @stream; 0 or -errno */
int kallsyms_cut_by_name(const char *path, bool (*wanted)(void *context, const char *name),
			 void *context, FILE *stream);

/**
 * kallsyms_cut_by_address - symbols that contain one of the addresses, to @stream; 0 or -errno
 * @addresses: ascending
 */
int kallsyms_cut_by_address(const char *path, const uint64_t *addresses, size_t count,
			    FILE *stream);

/* All names that a run needs: of functions, tasks, processes, cgroups, events, and of times. */

struct resolver;

/**
 * resolver_new - read what can be read before the data
 * @options: whether stacks are kept, and how many names; not looked at later
 *
 * Returns 0, or -errno with @failure (3 where kallsyms shows no addresses in a live run, else 1).
 */
int resolver_new(struct resolver **resolver, const struct plan *plan,
		 const struct data_source *source, const struct options *options,
		 struct failure *failure);
void resolver_free(struct resolver *resolver);

/** resolver_set_decode - who makes the text of an event; it lives as long as events are named */
void resolver_set_decode(struct resolver *resolver, struct decode *decode);

/** resolver_role - enum role of a function's address; for decode: the context is the resolver */
int resolver_role(void *resolver, uint64_t function);

/** resolver_symbol - address as %ps ('s') or %pS ('S') prints it; returns the length */
int resolver_symbol(void *resolver, uint64_t address, char style, char *text, size_t size);

/** resolver_task_name - a task's name at that time, any bytes */
const char *resolver_task_name(struct resolver *resolver, int pid, uint64_t ts);

/** resolver_task - whose a task is; never NULL; valid until the next call */
const struct task_info *resolver_task(struct resolver *resolver, int pid, uint64_t ts);

/** resolver_event - an event's text, "name: fields"; returns the length */
size_t resolver_event(struct resolver *resolver, const struct record *record, char *text,
		      size_t size);

/** resolver_shrinker_label - what a shrinker is of ("vda"), NULL where nothing tells it */
const char *resolver_shrinker_label(struct resolver *resolver, uint64_t shrinker);

/** resolver_shrinker - "super_cache_scan[vda]", "super_cache_scan"; any bytes */
void resolver_shrinker(struct resolver *resolver, uint64_t shrinker, uint64_t callback, char *text,
		       size_t size);

/** resolver_stack - frames of a stack, the innermost first; returns how many */
size_t resolver_stack(struct resolver *resolver, uint32_t number, const uint64_t **ret_frames);

/** resolver_time - RFC 3339; false where the data has no mark of time */
bool resolver_time(const struct resolver *resolver, uint64_t ts, char *text);

/** resolver_migrate_column - is it one of the kernel's generic columns (from 5.15)? */
bool resolver_migrate_column(const struct resolver *resolver);

/** resolver_see - a record has been read: note its task, which may soon be gone */
void resolver_see(struct resolver *resolver, const struct record *record);

/** resolver_mark_clock - a mark of wall-clock time in the data */
void resolver_mark_clock(struct resolver *resolver, uint64_t ts, uint64_t realtime);

/** resolver_stacks - where decode puts the frames of stacks; NULL where they are not kept */
struct stacks *resolver_stacks(const struct resolver *resolver);

/** resolver_see_superblock - a record of our probe, in order: whose a shrinker is from now on */
void resolver_see_superblock(struct resolver *resolver, const struct record *record);

/** resolver_superblocks - names of superblocks */
struct shrinker_names *resolver_superblocks(const struct resolver *resolver);

/** resolver_address - of a function that resolver_new() looked for (shrinkers' are); 0: none */
uint64_t resolver_address(const struct resolver *resolver, const char *function);

/* The tables of names that may have been full. */
#define RESOLVER_OVERFLOWS 6

/** resolver_overflows - fills an array of at least RESOLVER_OVERFLOWS; returns how many */
size_t resolver_overflows(const struct resolver *resolver, struct overflow *overflows);

/** resolver_memcg - path of a cgroup by the number that events carry, "" where not known */
const char *resolver_memcg(struct resolver *resolver, uint64_t memcg_id);

#endif
