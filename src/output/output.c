// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "allocfilt/output.h"

static const struct output_ops *const forms[] = {
	[FORMAT_TRACE] = &trace_form,
	[FORMAT_TREE] = &tree_form,
	[FORMAT_JSON] = &json_form,
	[FORMAT_PERFETTO] = &perfetto_form,
};

struct output *output_new(const struct output_setup *setup)
{
	struct output *output = calloc(1, sizeof(*output));
	int ret;

	if (!output)
		return NULL;
	output->setup = *setup;
	output->ops = setup->options->journal ? &journal_form : forms[setup->options->format];
	ret = output->ops->make ? output->ops->make(output) : 0;
	if (!ret)
		return output;
	free(output);
	errno = -ret;
	return NULL;
}

void output_free(struct output *output)
{
	if (!output)
		return;
	if (output->ops->release)
		output->ops->release(output);
	free(output);
}

int output_window(struct output *output, const struct task_window *window)
{
	return output->ops->window ? output->ops->window(output, window) : 0;
}

int output_pair(struct output *output, const struct task_pair *pair)
{
	return output->ops->pair && pair->slow ? output->ops->pair(output, pair) : 0;
}

int output_stall(struct output *output, const struct named_stall *named)
{
	return output->ops->stall ? output->ops->stall(output, named) : 0;
}

int output_summary(struct output *output, const struct summary_view *view)
{
	return output->ops->summary(output, view);
}

void output_tick(struct output *output, uint64_t now, const struct summary_view *view)
{
	if (output->ops->tick)
		output->ops->tick(output, now, view);
}

void output_change(struct output *output, const struct options *options)
{
	if (output->ops->change)
		output->ops->change(output, options);
	output->setup.options = options;
}

bool output_counts(const struct output *output, struct journal_counts *ret_counts)
{
	*ret_counts = (struct journal_counts){ .entries = 0 };
	if (output->ops->counts)
		output->ops->counts(output, ret_counts);
	return output->ops->counts;
}
