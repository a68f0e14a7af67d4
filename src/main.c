// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/account/account.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"
#include "allocfilt/output/file.h"
#include "allocfilt/output/form.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/run/signals.h"
#include "allocfilt/tracing/guardian.h"
#include "allocfilt/tracing/kernel.h"

/* Traces a running kernel, or filters a capture. */
static int run_source(const struct run_context *run, struct failure *failure)
{
	const struct options *options = run->options;
	const char *source = options->read ? options->read : options->source;
	struct guardian guardian;
	int live = !options->read, ret;

	if (options->task == TASK_DIFF)
		return diff_run(run, failure);
	if (options->verify)
		return verify_run(run, failure);
	if (live && options->source)
		live = kernel_is_source(options->source, failure);
	if (live < 0)
		return live;
	if (options->task != TASK_ACCOUNT && options_on_command_line(options, "interval") &&
	    options_on_command_line(options, "format") && !output_form_is_text(options->format))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "--interval prints text: not with -f %s", options->format);
	if (!live) {
		ret = options_check_capture(options, source, failure);
		return ret ? ret : replay_run(run, failure);
	}
	ret = options_check_live(options, failure);
	if (!ret)
		ret = config_check_report(options, false, options->threshold, failure);
	if (!ret)
		ret = kernel_check_pid_namespace(failure);
	if (ret)
		return ret;
	memory_map_tables();
	guardian_start(&guardian, run->run_dir);
	if (options->task == TASK_ACCOUNT)
		ret = account_run(run, failure);
	else if (options->journal && !options->command)
		ret = service_run(run, failure);
	else
		ret = live_run(run, failure);
	guardian_end(&guardian);
	return ret;
}

/* Tracing has ended, but COMMAND may go on. */
static int wait_for_command(const struct run_context *run, int ret, struct failure *failure)
{
	int status;

	if (ret)
		log_error("%s", failure->text);
	*failure->text = '\0';
	status = command_wait(run->command, run->signals);
	if (ret)
		return ret;
	failure->status = status;
	return status ? -ECHILD : 0;
}

static int run_with_signals(struct run_context *run, int fd, struct failure *failure)
{
	struct command *command = run->command;
	int ret = signals_block(&run->signals), stop;

	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "signals: %m");
	stop = command ? command_watch(command, run->signals) : signals_fd(run->signals);
	run->output = stop < 0 ? NULL : writer_new(fd, stop);
	if (run->output) {
		writer_on_stop(run->output, command ? command_stop_asked : signals_stop_asked,
			       command ? (void *)command : run->signals);
		ret = run_source(run, failure);
	} else {
		ret = stop < 0 ? -stop : ENOMEM;
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ret, "output: %m");
	}
	if (command && command_started(command))
		ret = wait_for_command(run, ret, failure);
	writer_free(run->output);
	signals_free(run->signals);
	return ret;
}

/* The score by which the OOM killer selects a process: oom_score_adj in proc(5). */
static void set_oom_score(int score)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "we");
	bool failed = !file || fprintf(file, "%d", score) < 0;

	if (file && fclose(file))
		failed = true;
	if (failed)
		log_warning("oom-score-adjust %d: %m, left unchanged", score);
}

static int run_with_output(struct run_context *run, struct failure *failure)
{
	const char *path = run->options->output;
	int score = run->options->oom_score, fd, ret;

	if (score != OPTIONS_OOM_SCORE_UNSET)
		set_oom_score(score);
	/* Opening a FIFO waits for its reader, so signals are not blocked yet. */
	ret = output_file_open(&fd, path, failure);
	if (ret)
		return ret;
	ret = run_with_signals(run, fd, failure);
	return output_file_close(fd, path, ret, failure);
}

/* A closed pipe is no failure. */
static int flush_stdout(struct failure *failure)
{
	if (!ferror(stdout) && !fflush(stdout))
		return 0;
	if (errno == EPIPE)
		return 0;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "stdout: %m");
}

static int do_task(struct run_context *run, struct failure *failure)
{
	const struct options *options = run->options;
	int ret;

	switch (options->task) {
	case TASK_HELP:
		options_print_help(stdout, options->formats);
		return flush_stdout(failure);
	case TASK_VERSION:
		puts("allocfilt " ALLOCFILT_VERSION "\nbuilt with " BUILT_WITH);
		return flush_stdout(failure);
	case TASK_RESTORE:
		return session_restore(run->run_dir, options->source, failure);
	case TASK_PROBE:
		ret = kernel_check_run(options, failure);
		return ret ? ret : flush_stdout(failure);
	case TASK_CHECK_CONFIG:
		ret = config_check_report(options, false, options->threshold, failure);
		if (!ret)
			ret = kernel_plan_check(options, failure);
		if (ret < 0 || options->quiet)
			return ret < 0 ? ret : 0;
		if (ret)
			log_warning("%s: function and event are not checked: %s",
				    config_path(options), failure->text);
		printf("%s: no mistake found\n", config_path(options));
		return flush_stdout(failure);
	default:
		return run_with_output(run, failure);
	}
}

int main(int argc, char **argv)
{
	struct failure failure = { 0 };
	const char *subcommand = argc > 1 ? argv[1] : "";
	struct options options;
	struct run_context run = {
		.options = &options,
		.argc = argc,
		.argv = argv,
		.started = loop_now(),
		.run_dir = SESSION_RUN_DIR,
	};
	int ret;

	/*
	 * If descriptor 0, 1 or 2 is closed, the next file to be opened would become stdin, stdout or
	 * stderr. /dev/null takes its place, read-only so that a write fails as on a closed descriptor.
	 */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", O_RDONLY);
	log_open();
	ret = options_parse(&options, argc, argv,
			    !strcmp(subcommand, "account") ? account_form_names() :
			    !strcmp(subcommand, "diff")	   ? diff_forms :
							     output_form_names(),
			    &failure);
	if (!ret && (options.task == TASK_RUN || options.task == TASK_ACCOUNT ||
		     options.task == TASK_PROBE || options.task == TASK_CHECK_CONFIG))
		ret = config_load(&options, &failure);
	/* Fork COMMAND before signals are changed: it inherits them as they were found. */
	if (!ret && options.command)
		ret = command_new(&run.command, options.command, &failure);
	/* A closed stderr must not stop a restore. */
	signal(SIGPIPE, SIG_IGN);
	/* A file that reaches the limit of its size gets EFBIG, as a full disk ENOSPC. */
	signal(SIGXFSZ, SIG_IGN);
	/* A shell script ignores both signals for a background job. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	/* With SIGCHLD ignored, wait() would lose COMMAND's status. */
	signal(SIGCHLD, SIG_DFL);
	if (!ret) {
		if (options.quiet)
			log_set_level(LOG_LEVEL_ERROR);
		else if (options.verbose)
			log_set_level(LOG_LEVEL_DEBUG);
		ret = do_task(&run, &failure);
	}
	command_free(run.command);
	options_free(&options);
	if (!ret)
		return EXIT_STATUS_DONE;
	/* The status of COMMAND has no text. */
	if (*failure.text)
		log_error("%s", failure.text);
	return failure.status;
}
