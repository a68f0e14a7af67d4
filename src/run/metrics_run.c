// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "allocfilt/base.h"
#include "run/metrics_run.h"

struct source {
	struct pipeline *pipeline;
	const struct metrics_process *process;
};

static int fill(void *context, struct writer *writer)
{
	const struct source *source = context;

	return pipeline_metrics(source->pipeline, writer, source->process);
}

int metrics_start(struct metrics_file **file, const char *path, struct failure *failure)
{
	if (!metrics_file_is_collected(path))
		log_warning("--metrics %s: node_exporter reads only files that end with .prom",
			    path);
	*file = metrics_file_new(path);
	if (!*file)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	return 0;
}

int metrics_write(struct metrics_file *file, struct pipeline *pipeline,
		  const struct metrics_process *process, struct failure *failure)
{
	struct source source = { pipeline, process };

	return metrics_file_write(file, fill, &source, failure);
}

void metrics_keep_up(struct metrics_file *file, struct pipeline *pipeline,
		     const struct metrics_process *process)
{
	struct failure failure;
	int ret = metrics_write(file, pipeline, process, &failure);

	if (!metrics_file_changed(file))
		return;
	if (ret)
		log_warning("%s; trying again", failure.text);
	else
		log_notice("metrics are written again");
}
