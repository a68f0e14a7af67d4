// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/trace_dir.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/signals.h"

int start_layout(struct data_source *source, const char *dir, struct failure *failure)
{
	char *text = NULL;
	size_t length;
	int ret = file_read(dir, "events/header_page", &text, &length);

	if (!ret)
		ret = page_layout_parse(&source->layout, text, length,
					__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	free(text);
	return ret ? failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s/events/header_page: %s",
				 dir, strerror(-ret)) :
		     0;
}

int start_source(struct data_source *source, int **ret_cpus, const struct kernel *kernel,
		 const struct run_context *run, struct failure *failure)
{
	int count, ret;

	*source = (struct data_source){
		.dir = kernel->dir,
		.proc = "/proc",
		.host = kernel->system.nodename,
		.release = kernel->system.release,
		.machine = kernel->system.machine,
		.clock = "local",
		.local_clock = true,
		.own = getpid(),
		.command = run->command ? command_pid(run->command) : 0,
	};
	ret = start_layout(source, kernel->dir, failure);
	if (ret)
		return ret;
	/* An instance has the same CPUs as the top level. */
	count = cpu_directories(kernel->dir, ret_cpus);
	if (count <= 0)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOENT,
				   "%s/per_cpu: no CPU to read", kernel->dir);
	source->cpus = (struct cpu_list){ *ret_cpus, count };
	return 0;
}

int start_deadline(const struct run_context *run, struct failure *failure)
{
	const struct options *options = run->options;
	char setting[CONFIG_SETTING_NAME_MAX];
	int ret = options->duration ? signals_set_deadline(run->signals, options->duration) : 0;

	return ret ? failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				 "%s: cannot set a timer: %s; leave it out, or permit "
				 "setitimer(2) (SystemCallFilter= of a unit)",
				 config_setting_name(options, "duration", setting),
				 strerror(-ret)) :
		     0;
}
