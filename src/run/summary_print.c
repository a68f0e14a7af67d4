// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/run.h"
#include "run/pipeline.h"

static int print_to_stderr(const struct run_context *run, struct pipeline *pipeline,
			   int (*print)(struct pipeline *pipeline, struct writer *writer))
{
	struct writer *writer = writer_new(STDERR_FILENO, run->signal_fd);
	int ret;

	if (!writer)
		return -ENOMEM;
	ret = print(pipeline, writer);
	writer_free(writer);
	return ret;
}

/* `> out.dat` leaves a person at the terminal something to read. */
static bool is_for_stderr(const struct run_context *run)
{
	if (run->options->quiet || !isatty(STDERR_FILENO))
		return false;
	return run->options->journal || !isatty(run->output_fd);
}

int summary_print(const struct run_context *run, struct pipeline *pipeline)
{
	int ret = pipeline_end(pipeline);
	int shown = 0;

	if (!ret)
		ret = writer_flush(run->output);
	if (is_for_stderr(run))
		shown = print_to_stderr(run, pipeline, pipeline_for_people);
	return ret ? ret : shown;
}

void summary_answer(const struct run_context *run, struct pipeline *pipeline)
{
	struct signalfd_siginfo info;

	if (read(run->request_fd, &info, sizeof(info)) != sizeof(info))
		return;
	print_to_stderr(run, pipeline, pipeline_so_far);
}
