// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "allocfilt/output.h"
#include "output/stall_text.h"
#include "output/terminal.h"

/* The form `tree`: a block for each stall, for people. */

static int make(struct output *output)
{
	output->form = malloc(sizeof(struct terminal));
	if (!output->form)
		return -ENOMEM;
	terminal_look(output->form, writer_fd(output->setup.writer));
	return 0;
}

static void release(struct output *output)
{
	free(output->form);
}

static int stall(struct output *output, const struct named_stall *named)
{
	struct writer *writer = output->setup.writer;
	int ret = stall_text(writer, output->form, output->setup.resolver, named);

	return ret ? ret : writer_put(writer, "\n", 1);
}

static int summary(struct output *output, const struct summary_view *view)
{
	return summary_text(output->setup.writer, view);
}

const struct output_ops tree_form = {
	.make = make,
	.release = release,
	.stall = stall,
	.summary = summary,
};
