/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_H
#define ALLOCFILT_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"

/*
 * What is there: where tracefs is mounted, what this kernel offers. Reads only, changes nothing.
 */

struct kernel {
	char *dir;	       /* the top-level tracing directory, no slash at its end */
	char *release;	       /* uname -r */
	bool function_graph;   /* in available_tracers */
	bool function_enabled; /* kernel.ftrace_enabled; true where there is no such sysctl */
	char **functions;      /* of available_filter_functions those that the catalog or the
				 * request names, NULL ends; several of one name stand as often */
	unsigned int *indexes; /* place of each in that file, from 1: what set_ftrace_filter takes
				 * for a name at a hundredth of the time; 0: unknown */
	int nr_functions;
};

/* What a directory given with -s is. */
enum source_kind {
	SOURCE_TRACEFS, /* the top-level tracing directory of a running kernel */
	SOURCE_CAPTURE, /* a directory that is not on tracefs */
};

/**
 * kernel_source_kind - look at a directory (statfs)
 *
 * Returns 0, or -errno with @failure (status 2): not there, no directory, on tracefs but not the
 * top level (an instance), not readable (3 where it is on tracefs).
 */
int kernel_source_kind(const char *dir, enum source_kind *ret_kind, struct failure *failure);

/**
 * kernel_open - find tracefs (dir NULL: /proc/self/mounts; nothing gets mounted) and read it
 * @request: what plan_make() will get; NULL: the catalog's functions alone
 *
 * Returns 0, or -errno with @failure: status 3 without a mount (names the mount command), without
 * the right to it (root; lockdown where EPERM as root). Release with kernel_close().
 */
int kernel_open(struct kernel **kernel, const char *dir, const struct plan_request *request,
		struct failure *failure);
void kernel_close(struct kernel *kernel);

/** kernel_offer - for plan_make(); valid as long as the kernel is open */
void kernel_offer(struct kernel *kernel, struct plan_offer *offer);

/** kernel_find_dir - where tracefs is mounted (/proc/self/mounts), free() it; NULL: nowhere */
char *kernel_find_dir(void);

/** kernel_has_word - is a word among those of a text that spaces or newlines part? */
bool kernel_has_word(const char *text, const char *word);

/** kernel_lockdown - text of the active mode ("none", "integrity", …) or NULL; static */
const char *kernel_lockdown(void);

/*
 * The raw buffers of all CPUs of a running kernel: per_cpu/cpuN/trace_pipe_raw, read without
 * blocking. CPUs are those of the directory, whatever their numbers; one that cannot be opened
 * (offline) does not stop the rest.
 */

struct cpu_buffers;

/**
 * cpu_buffers_open
 * @dir: tracing directory or instance
 * @page_size: bytes of a page (sub-buffer)
 *
 * Returns 0, or -errno with @failure (status 1) when there is no CPU at all or none opens.
 */
int cpu_buffers_open(struct cpu_buffers **buffers, const char *dir, size_t page_size,
		     struct failure *failure);
void cpu_buffers_close(struct cpu_buffers *buffers);

/**
 * cpu_buffers_reopen - try again those CPUs that could not be opened, once a second is plenty
 *
 * Returns how many opened now.
 */
int cpu_buffers_reopen(struct cpu_buffers *buffers);

/** cpu_buffers_starved - CPUs that are not open for want of a descriptor (RLIMIT_NOFILE) */
unsigned int cpu_buffers_starved(const struct cpu_buffers *buffers);

/** cpu_buffers_count, _fd - for epoll: descriptor of the i-th CPU, -1 for one that is not open */
int cpu_buffers_count(const struct cpu_buffers *buffers);
int cpu_buffers_fd(const struct cpu_buffers *buffers, int i);
int cpu_buffers_cpu(const struct cpu_buffers *buffers, int i);

/**
 * cpu_buffers_round - read each CPU up to its quota
 *
 * Returns how many pages were read, or the -errno of the sink. Errors of a single CPU (an offline
 * one, short memory) end its turn and nothing else; cpu_buffers_errors() counts those that were
 * neither EAGAIN nor ENODEV, which is that of a CPU that was not online since the buffers were made
 * (kernel/trace/ring_buffer.c: ring_buffer_alloc_read_page()).
 */
int cpu_buffers_round(struct cpu_buffers *buffers, const struct source_sink *sink);
uint64_t cpu_buffers_errors(const struct cpu_buffers *buffers);

/**
 * cpu_buffers_lost - records that the i-th CPU lost since cpu_buffers_open(), by its stats file
 * cpu_buffers_dropped - of them, those of which no page tells
 *
 * 0 where there is no such file. The kernel overwrites the oldest page, and the next page that is
 * read tells how many records that were; it drops new ones where options/overwrite is off, or where
 * one interrupt fills the whole buffer.
 */
uint64_t cpu_buffers_lost(const struct cpu_buffers *buffers, int i);
uint64_t cpu_buffers_dropped(const struct cpu_buffers *buffers, int i);

/*
 * How many files may be open at a time: RLIMIT_NOFILE, getrlimit(2). Each CPU takes one (with -w
 * two) for as long as the run lasts. Nothing here may use select(2), which ends at 1024.
 */

#define OPEN_FILES_SPARE  16 /* that come and go: /proc, undo file, control files */
#define OPEN_FILES_OTHERS (OPEN_FILES_SPARE + 32) /* besides the CPUs' */

/**
 * open_files_allow - set the soft limit
 * @limit: what it is to be; 0: as it was found, raised as far as the hard one where @needed is more
 * @needed: how many the run takes at most
 *
 * A @limit above the hard one raises that as well, which takes CAP_SYS_RESOURCE. Returns 0, or
 * -errno with @failure: -EPERM where @limit was not allowed (the soft limit is then the hard one),
 * -EMFILE where fewer than @needed may be open. The run may go on with what there is.
 */
int open_files_allow(unsigned int limit, unsigned int needed, struct failure *failure);

/**
 * open_files_for_cpus - open_files_allow() for the CPUs of a tracing directory or a capture
 * @limit: as there
 * @dir: whose per_cpu is counted; without one nothing but @limit is seen to
 * @each: files that a CPU takes
 *
 * Warns where that is too few; those CPUs that find no descriptor are not read.
 */
void open_files_for_cpus(unsigned int limit, const char *dir, unsigned int each);

/**
 * open_files_leave_spare - what open(2) returned, unless it is one of the last OPEN_FILES_SPARE
 *
 * The lowest descriptor that is free is given out (open(2)), so a high one means that hardly any
 * is left. It is closed, so that what comes and goes finds one. Returns @fd, or -errno: of errno
 * where @fd is -1, -EMFILE where it was closed.
 */
int open_files_leave_spare(int fd);

/*
 * The probe that tells whose a superblock shrinker is: an event probe on mm_shrink_slab_start, or
 * a kprobe event on super_cache_scan where the kernel has no event probes. It fetches the
 * shrinker's address and the superblock's s_id and s_dev, at offsets that BTF tells. Dynamic events
 * are global; ours goes through the table of steps and is enabled in our own buffer only.
 */

#define PROBE_SYSTEM   "allocfilt"
#define PROBE_NAME     "shrinker"
#define PROBE_CALLBACK "super_cache_scan" /* the scan function of all superblocks */
#define PROBE_EVENT    PROBE_SYSTEM "/" PROBE_NAME

struct probe {
	char definition[512];  /* the line for dynamic_events */
	char filter[64];       /* for the probe's filter file, "" where the definition has it */
	bool on_event;	       /* an event probe, else a kprobe event */
	bool filtered;	       /* an event probe's definition may have its filter in it */
	bool has_private_data; /* from 6.7: the shrinker points to the superblock */
	uint32_t private_data; /* bytes: shrinker.private_data */
	uint32_t s_shrink;     /* super_block.s_shrink, where the shrinker lies within */
	uint32_t s_id;
	uint32_t s_dev;
};

/**
 * probe_find - look at what this kernel has, and where the members lie
 *
 * Takes as much memory for a moment as the kernel's BTF is long (6 MB). Changes nothing. Returns 0,
 * or -errno with @failure: why there will be no names of superblocks.
 */
int probe_find(struct probe *probe, const struct kernel *kernel, struct failure *failure);

/**
 * probe_define - write the definition of a probe that was found
 * @callback: address of PROBE_CALLBACK; 0 where it is not known: then each shrinker writes a
 *	record, and those of no superblock are left out when they are read
 */
void probe_define(struct probe *probe, uint64_t callback);

/*
 * The only writer of tracefs, with undo: takes tracing, sets it up, and puts everything back as it
 * was found. One table of steps serves the set-up, the normal end, the error path and --restore.
 */

#define SESSION_RUN_DIR	 "/run/allocfilt"
#define SESSION_INSTANCE "allocfilt"

struct probe;

struct session_request {
	const struct kernel *kernel;
	const struct plan *plan;
	uint64_t buffer;   /* bytes per CPU */
	const pid_t *pids; /* -p: processes; 0 ends; NULL: all */
	bool force;
	const struct probe *probe; /* for names of superblocks; NULL: none */
	bool stack;		   /* --stack: the kernel stack behind each begin */
	const char *run_dir;	   /* SESSION_RUN_DIR, or another one for a test */
};

struct session;

/**
 * session_start - all of DESIGN 5.9 up to, not including, tracing_on
 *
 * Finishes first what the undo file of a killed run says (and says so with log_notice()). Raw
 * files are opened by the caller between session_start() and session_on(). On failure everything
 * that was changed is put back already. Returns 0, or -errno with @failure: 3, 4, 5, 1, or 6 when
 * something could not be put back.
 */
int session_start(struct session **session, const struct session_request *request,
		  struct failure *failure);

/** session_on - tracing_on; the last step of the set-up */
int session_on(struct session *session, struct failure *failure);

/** session_off - tracing off, so that the buffers can be drained; raw files may stay open */
int session_off(struct session *session);

/**
 * session_end - put everything back, newest step first; raw files are closed by then
 *
 * Frees the session in every case. Returns 0, or -errno with @failure (status 6: file, value
 * found, value wanted). A value that somebody else changed meanwhile is left alone and reported
 * with log_warning(); that alone is no failure.
 */
int session_end(struct session *session, struct failure *failure);

/** session_dir - where our buffers are: the instance, or the top level */
const char *session_dir(const struct session *session);

/** session_has_probe - is the probe in place? (one that was refused is told with log_notice()) */
bool session_has_probe(const struct session *session);

/**
 * session_taken - has somebody taken tracing away? (tracer, tracing_on, threshold against ours)
 *
 * Cheap, for once a second. Returns false, or true with @what: "current_tracer is nop, ours was
 * function_graph".
 */
bool session_taken(struct session *session, char *what, size_t size);

/**
 * session_mark_clock - write CLOCK_REALTIME into our own buffer (trace_marker)
 *
 * "allocfilt: realtime SECONDS.NANOSECONDS", nine digits behind the point. Returns 0 or -errno.
 */
int session_mark_clock(struct session *session);

/** session_set_buffer_percent - 0: any record wakes poll, else when that much is full */
int session_set_buffer_percent(struct session *session, int percent);

/**
 * session_restore - --restore: what an undo file says, and an instance of our name without one
 * @dir: the tracing directory to look for that instance; NULL: where tracefs is mounted, if it is
 *
 * Returns 0 also when there is nothing to do (log_notice() says which). Status 4 with the pid of
 * a live owner, 1 for a damaged, foreign, symlinked or other user's undo file (never acted on), 6
 * as session_end().
 */
int session_restore(const char *run_dir, const char *dir, struct failure *failure);

#endif
