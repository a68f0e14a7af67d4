/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_SERVICE_H
#define ALLOCFILT_RUN_SERVICE_H

#include "run/pipeline.h"

/*
 * A service for the run that goes on: readiness, status, watchdog, stop and reload. A reload ends the
 * run, and another one begins with the new options. Without a service manager (NOTIFY_SOCKET) nobody is
 * told. Times are ns, CLOCK_MONOTONIC.
 */

struct service;

/** service_tracing - tracing is on: the service is ready */
void service_tracing(struct service *service, struct pipeline *pipeline, uint64_t now);

/** service_second - call about once a second, tracing or not */
void service_second(struct service *service, struct pipeline *pipeline, uint64_t now);

/**
 * service_signal - a signal to the service; SIGHUP reads and checks the settings again
 *
 * Settings that are wrong are logged, and the run goes on. Returns 0, or 1 where the run is to end.
 */
int service_signal(struct service *service, int number, uint64_t now);

#endif
