// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/report.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/loop.h"

/* ---- summaries ---- */

/* Prints the summary so far. @output: in its form; NULL: as text */
static int print_to_stderr(const struct run_context *run, const struct summary_view *view,
			   const struct output *output)
{
	struct writer *writer = writer_beside(run->output, STDERR_FILENO);
	int ret;

	if (!writer)
		return -ENOMEM;
	ret = output ? output_so_far(output, writer, view) : summary_text(writer, view);
	writer_free(writer);
	return ret;
}

int summary_print(const struct run_context *run, struct pipeline *pipeline)
{
	struct summary_view view;
	int ret, shown = 0;

	pipeline_view(pipeline, &view);
	/* Nothing ran that it could be about. */
	if (run->command && command_failed(run->command))
		view.form = SUMMARY_NONE;
	ret = output_summary(pipeline_output(pipeline), &view);
	if (!ret)
		ret = writer_flush(run->output);
	/* With `> out.dat` a user at a terminal still sees the summary. */
	if (!run->options->quiet && view.form != SUMMARY_NONE && isatty(STDERR_FILENO) &&
	    (run->options->journal || !isatty(writer_fd(run->output)))) {
		pipeline_view(pipeline, &view);
		shown = print_to_stderr(run, &view, NULL);
	}
	return ret ? ret : shown;
}

void summary_print_so_far(const struct run_context *run, struct pipeline *pipeline)
{
	struct summary_view view;

	pipeline_view(pipeline, &view);
	if (view.form == SUMMARY_NONE)
		view.form = SUMMARY_SHORT;
	print_to_stderr(run, &view, pipeline_output(pipeline));
}

int output_failed(int error, struct failure *failure)
{
	if (!error || error == -EPIPE)
		return 0;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, -error, "output: %s",
			   error == -ETIMEDOUT ? "not read after the end, the rest of it is lost" :
						 strerror(-error));
}

/* ---- metrics ---- */

int metrics_start(struct metrics_file **file, const struct options *options,
		  struct failure *failure)
{
	const char *path = options->metrics;

	if (fnmatch("*.prom", path, 0))
		log_warning("--metrics %s: node_exporter reads only files that end with .prom",
			    path);
	*file = metrics_file_new(path);
	if (!*file)
		return failure_no_memory(failure);
	if (options->journal || !options_on_command_line(options, "metrics"))
		return 0;
	return metrics_file_check(*file, failure);
}

int metrics_write(struct metrics_file *file, struct pipeline *pipeline,
		  const struct run_context *run, bool tracing, bool last, struct failure *failure)
{
	struct metrics_process process = { .tracing = tracing, .last = last };
	struct summary_view view;

	pipeline_view(pipeline, &view);
	if (run) {
		process.uptime = loop_now() - run->started;
		memory_own(&process.resident);
		process.cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	}
	return metrics_file_write(file, &view, run ? &process : NULL, failure);
}
