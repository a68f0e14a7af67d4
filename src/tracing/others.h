/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_OTHERS_H
#define ALLOCFILT_TRACING_OTHERS_H

#include <stdbool.h>

#include "allocfilt/base.h"
#include "tracing/settings.h"

/*
 * Is tracing in use by somebody else? What is in the way is named, or with --force set to its
 * default, and restored at the end.
 */

/**
 * others_everywhere - what would disturb us, or we it, wherever our buffers are
 *
 * tracing_thresh, a tracer that reads it, the top level's max_graph_depth, set_graph_function and
 * set_graph_notrace, which act on every instance. Returns 0, or -EBUSY with @failure (status 4:
 * file and value), or what settings_set() returned.
 */
int others_everywhere(struct settings *settings, bool force, struct failure *failure);

/**
 * others_at_top - what else is in the way at the top level
 *
 * A tracer, events, entries in the buffer, a snapshot. With @force the entries are lost, which a
 * log_warning() says.
 */
int others_at_top(struct settings *settings, bool force, struct failure *failure);

#endif
