/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_KERNEL_PLAN_H
#define ALLOCFILT_KERNEL_PLAN_H

#include "failure.h"
#include "kernel.h"
#include "options.h"
#include "plan.h"

/**
 * kernel_plan - what the options ask for, of what a running kernel has
 *
 * Changes nothing. Returns 0, or -errno with @failure as kernel_open() and plan_make(); the kernel
 * may be open then too. Release with plan_free() and kernel_close().
 */
int kernel_plan(struct kernel **kernel, struct plan **plan, const struct options *options,
		struct failure *failure);

/**
 * kernel_plan_check - is what the options ask for there?
 *
 * Changes nothing. Returns 0, also where the tracing directory cannot be read, or -errno with
 * @failure as plan_make().
 */
int kernel_plan_check(const struct options *options, struct failure *failure);

#endif
