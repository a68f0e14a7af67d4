/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_TRACE_OUTPUT_H
#define ALLOCFILT_OUTPUT_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/record.h"
#include "allocfilt/stall.h"

/*
 * The form `trace`: each record as the line that the kernel prints for it in `trace`, with
 * function_graph, funcgraph-abstime and funcgraph-proc on. kernel/trace/trace_functions_graph.c:
 * print_graph_prologue(), print_graph_return(), print_graph_comment(). A stack is no business of
 * function_graph and has the generic columns: trace_output.c: trace_print_context(),
 * trace_stack_print().
 */

#define TRACE_LINE_MAX 4096 /* bytes; a longer text is cut */

struct trace_output_setup {
	int cpu_width; /* columns of the highest possible CPU's number */
	/* task's name, any bytes */
	const char *(*name)(void *context, int pid, uint64_t ts);
	/* address as %ps; returns the length */
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	/* an event's text, "name: fields"; returns the length */
	size_t (*event)(void *context, const struct record *record, char *text, size_t size);
	/* frames of a stack; returns how many */
	size_t (*stack)(void *context, uint32_t number, const uint64_t **ret_frames);
	bool migrate_column; /* of the kernel's generic columns, from 5.15 */
	/* takes a whole line; 0 or -errno to stop */
	int (*line)(void *context, const char *line, size_t length);
	void *context;
};

struct trace_output;

/** trace_output_new - the setup is copied; NULL with errno ENOMEM */
struct trace_output *trace_output_new(const struct trace_output_setup *setup);
void trace_output_free(struct trace_output *output);

/** trace_output_window - a window's events, then the function's line; 0 or the line's -errno */
int trace_output_window(struct trace_output *output, const struct task_window *window);

/** trace_output_pair - what a slow pair claimed stands between its begin and its end */
int trace_output_pair(struct trace_output *output, const struct task_pair *pair);

#endif
