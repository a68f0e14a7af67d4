/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_KERNEL_H
#define ALLOCFILT_TRACING_KERNEL_H

#include <stdbool.h>
#include <sys/utsname.h>

#include "allocfilt/plan/plan.h"

/*
 * The running kernel's tracing, the only user of libtracefs: what the kernel offers, the session
 * that changes its settings and restores them, and the ring buffers of all CPUs.
 */

/* The offer of the kernel. Nothing is written to find it. */
struct kernel {
	char *dir;	       /* the top-level tracing directory, no slash at its end */
	struct utsname system; /* uname(2) */
	bool function_graph;   /* in available_tracers */
	bool function_enabled; /* kernel.ftrace_enabled; true where there is no such sysctl */
	/* Functions that the catalog or the request names, without modules; several may have one name. */
	char **functions; /* NULL ends; NULL: none */
	/* their lines in available_filter_functions, from 1: Documentation/trace/ftrace.rst */
	unsigned int *indexes;
	int nr_functions;
};

/** kernel_on_tracefs - is a directory on tracefs? Mounts it where that is automatic (debugfs). */
bool kernel_on_tracefs(const char *dir);

/**
 * kernel_check_pid_namespace - are numbers of tasks here those that the kernel records?
 *
 * Not in a container with a PID namespace of its own: -EPERM with @failure (status 3). Nor would the
 * NSpid of /proc/self/status tell where /proc is the container's.
 */
int kernel_check_pid_namespace(struct failure *failure);

/**
 * kernel_enter_cgroups - enter the machine's cgroup namespace, where /proc has whole paths of cgroups
 *
 * Returns a process, as "/proc/1", whose mounts have its cgroups: see cgroups_new(). Logs where we were
 * in another namespace, and stays there without the right to leave it.
 */
const char *kernel_enter_cgroups(void);

/**
 * kernel_is_source - is the directory of -s that of a running kernel's tracing, or a capture?
 *
 * Returns 1, 0 for a capture: it is not on tracefs (statfs), or -errno with @failure (status 2): it does
 * not exist, is no directory, is on tracefs but not the top level (an instance), is not readable (3
 * where it is on tracefs).
 */
int kernel_is_source(const char *dir, struct failure *failure);

/**
 * kernel_open - read what a tracing directory offers
 * @dir: NULL: where tracefs is mounted; nothing gets mounted
 * @request: what plan_make() will get; NULL: the catalog's functions alone
 *
 * Returns 0, or -errno with @failure: status 3 without a mount (names the mount command), without
 * permission (root; lockdown where EPERM as root). Release with kernel_close().
 */
int kernel_open(struct kernel **kernel, const char *dir, const struct plan_request *request,
		struct failure *failure);
void kernel_close(struct kernel *kernel);

/** kernel_offer - for plan_make(); valid as long as the kernel is open */
void kernel_offer(struct kernel *kernel, struct plan_offer *offer);

#endif
