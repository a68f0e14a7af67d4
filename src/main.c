// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "allocfilt/output.h"
#include "allocfilt/run.h"
#include "allocfilt/tracing.h"

/* A descriptor 0, 1 or 2 that is closed would become that of the next file we open. On one for
 * reading only, a write fails as it does on a closed one. */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", O_RDONLY);
}

static void set_log_level(const struct options *options)
{
	if (options->quiet)
		log_set_level(LOG_LEVEL_ERROR);
	else if (options->verbose)
		log_set_level(LOG_LEVEL_DEBUG);
}

static int check_threshold(const struct options *options, struct failure *failure)
{
	if (options->threshold_given)
		return 0;
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
			   "no threshold: give one with -t TIME, as -t 134 for 134 us");
}

static int choose_source(const struct run_context *run, struct failure *failure)
{
	const struct options *options = run->options;
	enum source_kind kind = SOURCE_TRACEFS;
	int ret;

	if (options->source) {
		ret = kernel_source_kind(options->source, &kind, failure);
		if (ret)
			return ret;
	}
	if (kind == SOURCE_CAPTURE && options->write)
		return failure_set(
			failure, EXIT_STATUS_USAGE, EINVAL,
			"-w %s: %s is a capture already, -w keeps one of a running kernel",
			options->write, options->source);
	if (kind == SOURCE_CAPTURE && options->journal)
		return failure_set(
			failure, EXIT_STATUS_USAGE, EINVAL,
			"--journal: %s is a capture, the journal is for a running kernel",
			options->source);
	if (kind == SOURCE_CAPTURE)
		return replay_run(run, failure);
	ret = check_threshold(options, failure);
	if (ret)
		return ret;
	return options->journal ? service_run(run, failure) : live_run(run, failure);
}

static int run_with_output(struct run_context *run, struct failure *failure)
{
	int ret = output_file_open(&run->output_fd, run->options->output, failure);

	if (ret)
		return ret;
	run->output = writer_new(run->output_fd, run->signal_fd);
	if (run->output)
		ret = choose_source(run, failure);
	else
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	writer_free(run->output);
	return output_file_close(run->output_fd, run->options->output, ret, failure);
}

static void set_oom_score(const struct options *options)
{
	int ret = options->oom_score_given ? oom_score_set(options->oom_score) : 0;

	if (ret)
		log_warning("oom-score-adjust %d: %s, it stays as it is", options->oom_score,
			    strerror(-ret));
}

static int run_with_signals(struct run_context *run, struct failure *failure)
{
	int ret;

	set_oom_score(run->options);
	run->signal_fd = loop_block_signals();
	run->request_fd = run->signal_fd < 0 ? run->signal_fd : loop_block_requests();
	if (run->request_fd < 0)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -run->request_fd, "signals: %s",
				   strerror(-run->request_fd));
	ret = run_with_output(run, failure);
	close(run->request_fd);
	close(run->signal_fd);
	return ret;
}

static int print(const char *text, struct failure *failure)
{
	if (fputs(text, stdout) != EOF && fflush(stdout) != EOF)
		return 0;
	if (errno == EPIPE)
		return 0;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "stdout: %s", strerror(errno));
}

static int check_config(const struct options *options, struct failure *failure)
{
	int ret = config_check(options, failure);

	if (!ret)
		ret = kernel_plan_check(options, failure);
	if (ret || options->quiet)
		return ret;
	ret = print(config_path(options), failure);
	return ret ? ret : print(": no mistake found\n", failure);
}

static int do_task(const struct options *options, int argc, char **argv, struct failure *failure)
{
	struct run_context run = {
		.options = options,
		.argc = argc,
		.argv = argv,
		.started = loop_now(),
	};

	switch (options->task) {
	case TASK_HELP:
		return print(options_usage(), failure);
	case TASK_VERSION:
		return print("allocfilt " ALLOCFILT_VERSION "\n", failure);
	case TASK_RESTORE:
		return session_restore(SESSION_RUN_DIR, options->source, failure);
	case TASK_PROBE:
		return probe_run(options, failure);
	case TASK_CHECK_CONFIG:
		return check_config(options, failure);
	default:
		return run_with_signals(&run, failure);
	}
}

static bool reads_config(const struct options *options)
{
	return options->task == TASK_RUN || options->task == TASK_PROBE ||
	       options->task == TASK_CHECK_CONFIG;
}

int main(int argc, char **argv)
{
	struct failure failure = { 0 };
	struct options options;
	int ret;

	fill_standard_descriptors();
	log_look_for_journal();
	ret = options_parse(&options, argc, argv, &failure);
	if (!ret && reads_config(&options))
		ret = config_load(&options, options.config, CONFIG_DEFAULT, &failure);
	if (!ret) {
		set_log_level(&options);
		ret = do_task(&options, argc, argv, &failure);
	}
	options_free(&options);
	if (!ret)
		return EXIT_STATUS_DONE;
	log_error("%s", failure.text);
	return failure.status;
}
