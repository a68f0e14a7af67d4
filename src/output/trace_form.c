// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>

#include "allocfilt/output.h"
#include "output/trace_output.h"

/* The form `trace`: the kernel's own lines, then the summary for people. */

static int put_line(void *context, const char *line, size_t length)
{
	struct output *output = context;

	return writer_put(output->setup.writer, line, length);
}

static const char *task_name(void *context, int pid, uint64_t ts)
{
	struct resolver *resolver = ((struct output *)context)->setup.resolver;

	return resolver_task_name(resolver, pid, ts);
}

static int symbol_text(void *context, uint64_t address, char style, char *text, size_t size)
{
	struct resolver *resolver = ((struct output *)context)->setup.resolver;

	return resolver_symbol(resolver, address, style, text, size);
}

static size_t event_text(void *context, const struct record *record, char *text, size_t size)
{
	struct resolver *resolver = ((struct output *)context)->setup.resolver;

	return resolver_event(resolver, record, text, size);
}

static size_t stack_frames(void *context, uint32_t number, const uint64_t **ret_frames)
{
	struct resolver *resolver = ((struct output *)context)->setup.resolver;

	return resolver_stack(resolver, number, ret_frames);
}

static int make(struct output *output)
{
	struct trace_output_setup setup = {
		.cpu_width = snprintf(NULL, 0, "%d", cpu_list_highest(&output->setup.source->cpus)),
		.name = task_name,
		.symbol = symbol_text,
		.event = event_text,
		.stack = stack_frames,
		.migrate_column = resolver_migrate_column(output->setup.resolver),
		.line = put_line,
		.context = output,
	};

	output->form = trace_output_new(&setup);
	return output->form ? 0 : -ENOMEM;
}

static void release(struct output *output)
{
	trace_output_free(output->form);
}

static int window(struct output *output, const struct task_window *task_window)
{
	return trace_output_window(output->form, task_window);
}

static int pair(struct output *output, const struct task_pair *task_pair)
{
	return trace_output_pair(output->form, task_pair);
}

static int summary(struct output *output, const struct summary_view *view)
{
	return summary_text(output->setup.writer, view);
}

const struct output_ops trace_form = {
	.make = make,
	.release = release,
	.window = window,
	.pair = pair,
	.summary = summary,
};
