/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_RESOLVER_H
#define ALLOCFILT_NAMES_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base/text.h"
#include "allocfilt/config/options.h"
#include "allocfilt/names/cgroups.h"
#include "allocfilt/names/tasks.h"
#include "allocfilt/plan/plan.h"
#include "allocfilt/record/record.h"
#include "allocfilt/record/stacks.h"

/*
 * The resolver: names of functions, tasks, cgroups and shrinkers, texts of events and times. Other
 * stages use it. A returned pointer is valid until the next call, and never NULL unless documented.
 */

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

/** resolver_cgroups - the cgroups, for their paths, limits, pressure and memory */
struct cgroups *resolver_cgroups(struct resolver *resolver);

/** resolver_superblocks - names of superblocks by number */
struct shrinker_names *resolver_superblocks(const struct resolver *resolver);

/** resolver_see - read what is shown of a record's task, which may soon exit */
void resolver_see(struct resolver *resolver, const struct record *record);

/**
 * resolver_learn - accept an event, in order, that may tell the cgroup of a task which is gone
 * @record: a fork, the begin of a reclaim at a cgroup's limit, or an OOM kill, with its fields
 */
void resolver_learn(struct resolver *resolver, enum event_id id, const struct record *record);

/**
 * resolver_mark_clock - set the offset between the trace clock and wall-clock time
 * @ts: ns of the trace clock
 * @realtime: ns since the epoch at @ts; times up to the next mark are computed from it
 */
void resolver_mark_clock(struct resolver *resolver, uint64_t ts, uint64_t realtime);

/** resolver_role - enum role of the function at an address, or ROLE_NONE; the answers are cached */
int resolver_role(struct resolver *resolver, uint64_t function);

/** resolver_wait_role - enum role: the reason of a memory wait, from the return address in its caller */
int resolver_wait_role(struct resolver *resolver, uint64_t caller);

/** resolver_read_event - read the format of one event of the plan again; 0 or -errno */
int resolver_read_event(struct resolver *resolver, int event, const struct plan_event *described);

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

/**
 * modules_hash - a number for the modules of a kernel and their places
 * @fd: a text of /proc/modules; -errno: there is none
 *
 * While it is the same, so are /proc/kallsyms and the numbers of events.
 */
uint64_t modules_hash(int fd);

/** resolver_task_name - see task_cache_name() */
const char *resolver_task_name(struct resolver *resolver, int tid, uint64_t ts);

/** resolver_task - see task_cache_info() */
const struct task_info *resolver_task(struct resolver *resolver, int tid, uint64_t ts);

/** resolver_awaits_kill - does a task now wait for an OOM kill of its cgroup (version 1, oom_kill_disable)? */
bool resolver_awaits_kill(const struct resolver *resolver, int tid);

/** resolver_event - print an event, "name: fields", or one field of it; see event_text() */
size_t resolver_event(struct resolver *resolver, const struct record *record, const char *field,
		      char *text, size_t size);

/** resolver_shrinker_label - the superblock of a shrinker ("vda"), NULL if unknown */
const char *resolver_shrinker_label(struct resolver *resolver, uint64_t shrinker);

/** resolver_shrinker - "super_cache_scan[vda]", "super_cache_scan"; any bytes */
void resolver_shrinker(struct resolver *resolver, uint64_t shrinker, uint64_t callback, char *text,
		       size_t size);

/** resolver_stack - frames of a stack, the innermost first, without those of tracing; returns how many */
size_t resolver_stack(struct resolver *resolver, uint32_t number, const uint64_t **ret_frames);

#define ASKED_BY_MAX 64

/**
 * resolver_asked_by - the system call that a stack is in, "write(2)", or "page fault"
 *
 * The names are those of SYSCALL_DEFINE() on each architecture (include/linux/syscalls.h and
 * asm/syscall_wrapper.h), and of the functions that they call at once. Returns @text, or NULL for
 * a kernel thread, and where no name tells.
 */
const char *resolver_asked_by(struct resolver *resolver, uint32_t number, char text[ASKED_BY_MAX]);

/** resolver_realtime - ns since the epoch of a time of the trace clock; 0: not known */
uint64_t resolver_realtime(const struct resolver *resolver, uint64_t ts);

/**
 * resolver_time - wall-clock time as text_time() prints it, local with --local
 *
 * Returns false before the first resolver_mark_clock(): the text is seconds of the trace clock then,
 * "7.882123".
 */
bool resolver_time(const struct resolver *resolver, uint64_t ts, char text[TEXT_TIME_MAX]);

/** resolver_migrate_column - does the kernel's text have a column for disabled migration (5.15)? */
bool resolver_migrate_column(const struct resolver *resolver);

/** resolver_missed - lookups of tasks and cgroups that are gone and may have been evicted before */
uint64_t resolver_missed(const struct resolver *resolver);

#endif
