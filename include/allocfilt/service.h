/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_SERVICE_H
#define ALLOCFILT_SERVICE_H

#include "failure.h"
#include "run.h"

/*
 * A run for months: with --journal, most often under a service manager. SIGHUP reads the
 * configuration again. Where a manager waits to hear from us, tracing that is in use by somebody
 * else is waited for, at the start and later.
 */

/** service_run - until a signal ends it; returns 0, or -errno with @failure */
int service_run(const struct run_context *run, struct failure *failure);

#endif
