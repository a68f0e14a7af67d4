/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_KERNEL_LOOK_H
#define ALLOCFILT_TRACING_KERNEL_LOOK_H

#include <stdbool.h>
#include <tracefs.h>

/** kernel_find_dir - where tracefs is mounted, free() it; NULL: nowhere. Nothing gets mounted. */
char *kernel_find_dir(void);

/**
 * kernel_online_cpus - CPUs that have ring buffers
 *
 * The kernel allocates a buffer when its CPU comes online for the first time
 * (kernel/trace/ring_buffer.c, trace_rb_cpu_prepare()); possible CPUs may be a hundred more.
 */
int kernel_online_cpus(void);

/** kernel_functions_enabled - kernel.ftrace_enabled; true where there is no such sysctl */
bool kernel_functions_enabled(void);

/** kernel_has_function_graph - is it in that file, an available_tracers? 1, 0, or -errno */
int kernel_has_function_graph(struct tracefs_instance *top, const char *path);

/** kernel_has_word - is a word among those of a text, separated by blanks and newlines? */
bool kernel_has_word(const char *text, const char *word);

#endif
