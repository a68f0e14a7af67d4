/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_TRACEABLE_H
#define ALLOCFILT_CONFIG_TRACEABLE_H

#include <stdbool.h>

/*
 * Words that can name what is traced. In set_ftrace_filter a colon or a blank would make a command
 * of a name (Documentation/trace/ftrace.rst), and a slash in an event's name would leave the
 * folder of events.
 */

/** traceable_function - can it be a kernel function's name, compiler suffix and all? */
bool traceable_function(const char *text);

/** traceable_pattern - can it be such a name, or a glob of such names? */
bool traceable_pattern(const char *text);

/** traceable_event - is it SYSTEM:NAME, each of which can be the name of a folder? */
bool traceable_event(const char *text);

#endif
