/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_EVENT_DIRECTORIES_H
#define ALLOCFILT_EVENT_DIRECTORIES_H

/**
 * event_directories - each events/SYSTEM/NAME of a tracing directory or a capture
 * @dir: the directory in which `events` is
 * @visit: called until it returns non-zero; on file systems that do not tell directories from
 *         files it also gets names of files
 *
 * In no order. Returns 0, what @visit returned, or -errno where there is no `events` to read.
 */
int event_directories(const char *dir,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context);

#endif
