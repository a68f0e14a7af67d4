/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_OTHERS_H
#define ALLOCFILT_TRACING_OTHERS_H

#include <stdbool.h>

#include "tracing/settings.h"

/*
 * The check whether somebody else uses tracing. A setting in the way is named in a failure (status
 * 4), or with --force is set to its default and restored at the end.
 */

/**
 * others_check_global - settings that act on every instance
 *
 * tracing_thresh, a tracer that reads it, the top level's max_graph_depth, set_graph_function and
 * set_graph_notrace. Returns 0, or -EBUSY with @failure (file and value), or what settings_set()
 * returned.
 */
int others_check_global(struct settings *settings, bool force, struct failure *failure);

/**
 * others_check_top_level - what else is in the way where our buffers are at the top level
 *
 * @pids: set_event_pid is going to be set, which others' histograms heed as well
 *
 * A tracer, events, entries in the buffer, a snapshot. With @force the entries are lost, with a
 * log_warning(). Returns as others_check_global().
 */
int others_check_top_level(struct settings *settings, bool pids, bool force,
			   struct failure *failure);

#endif
