/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_KERNEL_PLAN_H
#define ALLOCFILT_RUN_KERNEL_PLAN_H

#include "allocfilt/config/options.h"
#include "allocfilt/tracing/kernel.h"

/**
 * kernel_plan - open the kernel and plan what to trace with these options
 * @kernel: points to NULL
 *
 * Changes nothing. Returns 0, or -errno with @failure as kernel_open() and plan_make(); *@kernel
 * may be open also after a failure. Release with plan_free() and kernel_close().
 */
int kernel_plan(struct kernel **kernel, struct plan **plan, const struct options *options,
		struct failure *failure);

/**
 * kernel_plan_check - can this kernel trace what the options request?
 *
 * Changes nothing. Returns 0; 1 if the options name functions or events and the tracing directory
 * cannot be read, with the reason in @failure; or -errno with @failure as plan_make().
 */
int kernel_plan_check(const struct options *options, struct failure *failure);

/**
 * kernel_check_processes - do the processes of -p exist?
 *
 * Warns of those that do not. If none does, returns -ESRCH with @failure (status 2), but not for a
 * service, which may name a process that comes later.
 */
int kernel_check_processes(const struct options *options, struct failure *failure);

/** kernel_log_unavailable - log which roles this kernel cannot trace */
void kernel_log_unavailable(const struct plan *plan);

#endif
