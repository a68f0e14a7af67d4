/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_H
#define ALLOCFILT_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include "allocfilt/base.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"

/*
 * The running kernel's tracing, the only user of libtracefs: what the kernel offers, the session
 * that changes its settings and restores them, and the ring buffers of all CPUs.
 */

/* What this kernel offers. Reads only. */
struct kernel {
	char *dir;	       /* the top-level tracing directory, no slash at its end */
	struct utsname system; /* uname(2) */
	bool function_graph;   /* in available_tracers */
	bool function_enabled; /* kernel.ftrace_enabled; true where there is no such sysctl */
	/* Those that the catalog or the request names, without modules; several may have one name. */
	char **functions; /* NULL ends; NULL: none */
	/* their lines in available_filter_functions, from 1: Documentation/trace/ftrace.rst */
	unsigned int *indexes;
	int nr_functions;
	FILE *list; /* the rest of available_filter_functions; NULL: it was read as a whole */
	unsigned int lines; /* of it that were read */
};

/** kernel_on_tracefs - is a directory on tracefs? Mounts it where that is automatic (debugfs). */
bool kernel_on_tracefs(const char *dir);

/* What a directory given with -s is. */
enum source_kind {
	SOURCE_TRACEFS, /* the top-level tracing directory of a running kernel */
	SOURCE_CAPTURE, /* a directory that is not on tracefs */
};

/**
 * kernel_source_kind - look at a directory (statfs)
 *
 * Returns 0, or -errno with @failure (status 2): it does not exist, is no directory, is on tracefs
 * but not the top level (an instance), is not readable (3 where it is on tracefs).
 */
int kernel_source_kind(const char *dir, enum source_kind *ret_kind, struct failure *failure);

/**
 * kernel_open - read what a tracing directory offers
 * @dir: NULL: where tracefs is mounted; nothing gets mounted
 * @request: what plan_make() will get; NULL: the catalog's functions alone
 * @whole: the list of functions as a whole, which the kernel takes long to print; else as far as
 *	functions of memory management are expected
 *
 * Returns 0, or -errno with @failure: status 3 without a mount (names the mount command), without
 * permission (root; lockdown where EPERM as root). Release with kernel_close().
 */
int kernel_open(struct kernel **kernel, const char *dir, const struct plan_request *request,
		bool whole, struct failure *failure);

/**
 * kernel_read_rest - read the rest of the list of functions, where that was left
 *
 * Returns 1 if the catalog names one there: then a plan has to be made again. 0 if not, or -errno with
 * @failure as kernel_open().
 */
int kernel_read_rest(struct kernel *kernel, struct failure *failure);

/** kernel_close - NULL is allowed */
void kernel_close(struct kernel *kernel);

/** kernel_offer - for plan_make(); valid as long as the kernel is open */
void kernel_offer(struct kernel *kernel, struct plan_offer *offer);

/*
 * The probe that says whose a superblock shrinker is: an event probe on mm_shrink_slab_start, or a
 * kprobe event on super_cache_scan where the kernel has no event probes. It fetches the shrinker's
 * address and the superblock's s_id and s_dev, at offsets from BTF. Dynamic events are global; ours
 * is made by the session and enabled in our own buffer only.
 */

#define PROBE_SYSTEM   "allocfilt"
#define PROBE_NAME     "shrinker"
#define PROBE_CALLBACK "super_cache_scan" /* the scan function of all superblocks */
#define PROBE_EVENT    PROBE_SYSTEM "/" PROBE_NAME

struct probe {
	char definition[512];  /* the line for dynamic_events */
	bool on_event;	       /* an event probe, else a kprobe event */
	bool has_private_data; /* from 6.7: the shrinker points to the superblock */
	uint32_t private_data; /* bytes: shrinker.private_data */
	uint32_t s_shrink;     /* super_block.s_shrink, where the shrinker lies in it */
	uint32_t s_id;
	uint32_t s_dev;
};

/**
 * probe_find - look at what this kernel has and where the members lie, and define a probe
 *
 * Needs memory for a moment, for the names in the kernel's BTF: 2 MB on 5.10, 3 MB on 7.3. Changes
 * nothing. Returns 0, or -errno with @failure: why there will be no names of superblocks.
 */
int probe_find(struct probe *probe, const struct kernel *kernel, struct failure *failure);

/** probe_define - write the definition of a probe whose members are known */
void probe_define(struct probe *probe);

/*
 * The only writer of tracefs: sets tracing up, and restores everything as it was found.
 * One table of settings serves the set-up, the normal end, the error path and --restore.
 */

#define SESSION_RUN_DIR	 "/run/allocfilt"
#define SESSION_INSTANCE "allocfilt"

struct session_request {
	const struct kernel *kernel;
	const struct plan *plan;
	uint64_t buffer;   /* bytes per CPU at most: less while memory is short */
	const pid_t *pids; /* -p: processes; 0 ends; NULL: all */
	bool force;
	const struct probe *probe; /* for names of superblocks; NULL: none */
	bool stack;		   /* --stack: the kernel stack after each begin */
	bool exclude_own;    /* no records of our own task; makes each switch of tasks slower */
	const char *run_dir; /* SESSION_RUN_DIR, or another one for a test */
};

struct session;

/**
 * session_start - the whole set-up but tracing_on
 * @request: with what it points to, used during the call only
 *
 * First finishes what the undo file of a killed run says, with a log_notice(); sizes of buffers for
 * which there is no memory yet wait for the end of this run. Raw files are opened
 * by the caller between session_start() and session_on(). After a failure everything that was
 * changed is restored already. Returns 0, or -errno with @failure: 3, 4, 5, 1, or 6 when something
 * could not be restored.
 */
int session_start(struct session **session, const struct session_request *request,
		  struct failure *failure);

/** session_on - histograms and tracing_on; the last step of the set-up */
int session_on(struct session *session, struct failure *failure);

/** session_off - tracing off, so that the buffers can be drained; raw files may stay open */
int session_off(struct session *session);

/**
 * session_end - restore everything, newest setting first; raw files are closed by then
 *
 * Frees the session in every case. Returns 0, or -errno with @failure (status 6: file, value
 * found, value wanted). A value that somebody else changed meanwhile is left alone and reported
 * with log_warning(); that alone is no failure.
 */
int session_end(struct session *session, struct failure *failure);

/** session_dir - where our buffers are: the instance, or the top level */
const char *session_dir(const struct session *session);

/**
 * session_try_probe - does the kernel accept the probe? For --probe
 *
 * Defines it for a moment, under the lock of a session. Returns 0, or -errno with @failure: why the
 * kernel refuses it, 4 where another allocfilt is running, 6 when it could not be removed again. A
 * run that is killed meanwhile leaves it to the next one, see session_restore().
 */
int session_try_probe(const struct kernel *kernel, const struct probe *probe, const char *run_dir,
		      struct failure *failure);

/**
 * session_filter_probe - keep records of other shrinkers than superblocks' out of our buffer
 * @callback: address of PROBE_CALLBACK, for a probe on the event
 *
 * Without it each shrinker writes a record, and those of no superblock are dropped when they are
 * read. Returns 0 or -errno.
 */
int session_filter_probe(struct session *session, uint64_t callback);

/** session_has_probe - is the probe in place? (if the kernel refused it, a log_notice() said so) */
bool session_has_probe(const struct session *session);

/**
 * session_taken - has somebody taken tracing away? (tracer, tracing_on, threshold against ours, and
 *	the size of the sub-buffers, at whose change the kernel drops what is in them)
 *
 * Cheap, for once a second. Returns false, or true with @what: "current_tracer is nop, ours was
 * function_graph".
 */
bool session_taken(struct session *session, char *what, size_t size);

/**
 * session_read_histogram - the text of an event's histograms, ours and others'; free() it
 *
 * Returns 0, -ENOENT if there is none, or -errno.
 */
int session_read_histogram(struct session *session, enum histogram_id id, char **ret_text);

/**
 * session_mark_clock - write CLOCK_REALTIME into our own buffer (trace_marker)
 *
 * "allocfilt: realtime SECONDS.NANOSECONDS", with nine digits of nanoseconds. Returns 0 or -errno.
 */
int session_mark_clock(struct session *session);

/** session_set_buffer_percent - 0: any record wakes poll, else when that much is full */
int session_set_buffer_percent(struct session *session, int percent);

/**
 * session_switch_event - switch an event off during the run, or on again
 *
 * With its stack, and the probe that sits on it. Returns 0, -ESTALE if it is somebody else's, or was
 * changed by somebody (then it is left alone), or -errno: call it again later.
 */
int session_switch_event(struct session *session, const struct plan_event *event, bool on);

/**
 * session_grow_buffer - try to get the size that was asked for, where there was no memory for it
 *
 * By a factor of two at least, or not at all; for once in some seconds. Newer kernels record nothing
 * while they allocate, and do not count that: kernel/trace/trace.c, __tracing_resize_ring_buffer().
 */
void session_grow_buffer(struct session *session);

/**
 * session_restore - --restore: what an undo file says, and an instance of our name without one
 * @dir: the tracing directory to look for that instance; NULL: where tracefs is mounted, if it is
 *
 * Returns 0 also when there is nothing to do (log_notice() says which). Status 2 where @dir is not
 * on tracefs, 3 where the undo file's directory is not (unmounted: the file stays), 4 with the pid
 * of a live owner, 1 for a damaged, foreign, symlinked or other user's undo file (never acted on),
 * 6 as session_end().
 */
int session_restore(const char *run_dir, const char *dir, struct failure *failure);

/*
 * The raw buffers of all CPUs of a running kernel: per_cpu/cpuN/trace_pipe_raw, read without
 * blocking. One that cannot be opened (offline) does not stop the rest. Nothing here calls select(2), which ends at descriptor 1023.
 */

struct cpu_buffers;

#define CPU_BUFFERS_FILES_SPARE	 16 /* descriptors left to what comes and goes: control files */
#define CPU_BUFFERS_FILES_OTHERS (CPU_BUFFERS_FILES_SPARE + 32) /* besides the CPUs' */

/**
 * cpu_buffers_allow_files - raise the soft limit of open files (RLIMIT_NOFILE) to what CPUs need
 * @dir: a tracing directory or a capture, whose CPUs are counted
 * @each: files that each of them has open for as long as the run lasts
 *
 * As far as the hard limit goes, with a log_warning() where that is too low: then some CPUs are not
 * read.
 */
void cpu_buffers_allow_files(const char *dir, unsigned int each);

/**
 * cpu_buffers_open - open the raw buffer of each CPU
 * @dir: tracing directory or instance
 * @cpus: the i-th is that at place i of this list
 * @page_size: bytes of a page (sub-buffer)
 *
 * Returns 0, or -errno with @failure (status 1) when none opens.
 */
int cpu_buffers_open(struct cpu_buffers **buffers, const char *dir, const struct cpu_list *cpus,
		     size_t page_size, struct failure *failure);

/** cpu_buffers_close - NULL is allowed */
void cpu_buffers_close(struct cpu_buffers *buffers);

/**
 * cpu_buffers_reopen - try again those CPUs that could not be opened; once a second is plenty
 *
 * Returns how many opened now.
 */
int cpu_buffers_reopen(struct cpu_buffers *buffers);

/** cpu_buffers_starved - CPUs that are not open for want of a descriptor (RLIMIT_NOFILE) */
unsigned int cpu_buffers_starved(const struct cpu_buffers *buffers);

/** cpu_buffers_count, _fd, _cpu - the i-th CPU's descriptor (for epoll; -1: not open), number */
int cpu_buffers_count(const struct cpu_buffers *buffers);
int cpu_buffers_fd(const struct cpu_buffers *buffers, int i);
int cpu_buffers_cpu(const struct cpu_buffers *buffers, int i);

/**
 * cpu_buffers_read - read the next page of the i-th CPU
 *
 * Returns its bytes, with @ret_page valid until this CPU is read again; 0: there is none now, or
 * the read failed.
 */
size_t cpu_buffers_read(struct cpu_buffers *buffers, int i, const void **ret_page);

/**
 * cpu_buffers_errors - reads that failed, but for EAGAIN and ENODEV
 *
 * ENODEV is that of a CPU that was not online since the buffers were made
 * (kernel/trace/ring_buffer.c: ring_buffer_alloc_read_page()).
 */
uint64_t cpu_buffers_errors(const struct cpu_buffers *buffers);

/**
 * cpu_buffers_lost - records that the i-th CPU lost since cpu_buffers_open(), by its stats file
 * cpu_buffers_dropped - those of them that no page mentions
 *
 * 0 if there is no such file. The kernel overwrites the oldest page, and the next page that is read
 * says how many records that were; it drops new ones while options/overwrite is off, or when one
 * interrupt fills the whole buffer.
 */
uint64_t cpu_buffers_lost(const struct cpu_buffers *buffers, int i);
uint64_t cpu_buffers_dropped(const struct cpu_buffers *buffers, int i);

/** cpu_buffers_records_read - records of the i-th CPU that anybody read since then, by its stats file */
uint64_t cpu_buffers_records_read(const struct cpu_buffers *buffers, int i);

#endif
