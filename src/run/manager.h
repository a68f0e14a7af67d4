/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_MANAGER_H
#define ALLOCFILT_RUN_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/run/run.h"
#include "run/pipeline.h"

/*
 * A service between its runs and the service manager: readiness, status, watchdog, stop and reload. A
 * reload ends the run that goes on, and another one begins with the new options. Without a service
 * manager (NOTIFY_SOCKET) nobody is told. Times are ns, CLOCK_MONOTONIC.
 */

struct manager;

/** manager_new - @run: its command line is read again on a reload; NULL with errno ENOMEM */
struct manager *manager_new(const struct run_context *run);
void manager_free(struct manager *manager);

/** manager_tracing - tracing is on: the service is ready */
void manager_tracing(struct manager *manager, struct pipeline *pipeline, uint64_t now);

/** manager_second - call about once a second, tracing or not */
void manager_second(struct manager *manager, struct pipeline *pipeline, uint64_t now);

/**
 * manager_signal - a signal to the service; SIGHUP reads and checks the settings again
 *
 * Settings that are wrong are logged, and the run goes on. Returns 0, or 1 where the run is to end.
 */
int manager_signal(struct manager *manager, int number, uint64_t now);

/**
 * manager_waits - does the service wait while somebody else uses tracing?
 * @reason: logged once, and the status
 *
 * It does under a service manager, for which a service that waits is ready, unless it is to stop.
 */
bool manager_waits(struct manager *manager, const char *reason);

/** manager_run_ends - is the service to stop, or to begin a run with other options? */
bool manager_run_ends(const struct manager *manager);

/**
 * manager_take_options - the options of the next run
 * @options: with what they had before, which is freed
 *
 * Returns whether there is a next run.
 */
bool manager_take_options(struct manager *manager, struct options *options);

#endif
