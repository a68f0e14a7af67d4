// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/output/file.h"
#include "allocfilt/run/signals.h"
#include "run/pipeline.h"
#include "run/replay.h"
#include "run/report.h"

/*
 * The threshold of a configuration file is for live runs: that of the capture comes first. @functions: it has
 * no shorter ones, while its pairs of events have any length
 */
static uint64_t choose_threshold(const struct run_context *run, const struct capture *capture,
				 bool functions)
{
	uint64_t recorded = capture_info(capture)->threshold;
	uint64_t threshold = run->options->threshold;

	if (!options_on_command_line(run->options, "threshold")) {
		if (recorded && (capture_info(capture)->described || recorded > threshold))
			return recorded;
		log_notice("%s has no threshold of its own: stalls of %" PRIu64
			   " us or more are shown",
			   capture_source(capture)->dir, threshold / 1000);
	} else if (functions && threshold < recorded) {
		log_warning(
			"threshold %" PRIu64 " us is below the %" PRIu64
			" us of the capture, which is used: it has no shorter runs of functions",
			threshold / 1000, recorded / 1000);
		return recorded;
	}
	return threshold;
}

static int plan_replay(const struct run_context *run, struct capture *capture, struct plan **plan,
		       struct failure *failure)
{
	char events[CONFIG_SETTING_NAME_MAX];
	struct plan_request request = {
		.functions = NULL, /* the capture lists what was traced */
		.leave_out = options_on_command_line(run->options, "function-graph") &&
					     run->options->function_graph == FUNCTIONS_NO ?
				     PLAN_ALL_ROLES :
				     0,
		.events = run->options->events,
		.event_setting = config_setting_name(run->options, "event", events),
		.children = capture_source(capture)->command,
		.off_cpu = true,
	};
	struct plan_offer offer;
	int ret;

	capture_offer(capture, &offer);
	request.threshold =
		choose_threshold(run, capture, offer.function_graph && !request.leave_out);
	ret = config_check_report(run->options, true, request.threshold, failure) ?:
		      plan_make(plan, &request, &offer, failure);
	if (ret && failure->status == EXIT_STATUS_NO_FEATURE && capture_info(capture)->flaws)
		return failure_set(failure, EXIT_STATUS_USAGE, -ret,
				   "%s: damaged: %s; there is nothing left to show",
				   capture_source(capture)->dir, capture_info(capture)->first_flaw);
	/* The plan's message about a kernel is no help: the capture may only lack files. */
	if (ret && failure->status == EXIT_STATUS_NO_FEATURE)
		return failure_set(
			failure, EXIT_STATUS_USAGE, -ret,
			"%s: it has %s the vmscan and compaction events, so there is nothing to show",
			capture_source(capture)->dir,
			request.leave_out ? "none of" : "neither function_graph nor");
	if (!ret && options_on_command_line(run->options, "off-cpu") && !plan_off_cpu(*plan))
		log_notice("--off-cpu is ignored: the capture was taken without it");
	return ret;
}

static int replay_data(const struct run_context *run, struct capture *capture,
		       struct pipeline *pipeline)
{
	int more, ret;

	pipeline_read_capture(pipeline, capture);
	do {
		more = pipeline_read(pipeline);
		if (more < 0)
			return more;
		if (signals_summary_asked(run->signals))
			summary_print_so_far(run, pipeline);
	} while (more && !signals_stop_asked(run->signals));
	ret = pipeline_flush(pipeline);
	if (!ret && signals_summary_asked(run->signals))
		summary_print_so_far(run, pipeline);
	return ret;
}

static int check_flaws(const struct capture *capture, const struct pipeline *pipeline,
		       struct failure *failure)
{
	struct line data_flaw;
	const struct capture_info *info = capture_info(capture);
	uint64_t data = pipeline_flaws(pipeline, &data_flaw);

	if (!info->flaws && !data)
		return 0;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, EBADMSG,
			   "%s: damaged: %s%s%s; what could be read is shown",
			   capture_source(capture)->dir, info->first_flaw,
			   info->flaws && data ? ", " : "", data_flaw.text);
}

/* @file: NULL: no metrics */
static int replay(const struct run_context *run, struct capture *capture, struct pipeline *pipeline,
		  struct metrics_file *file, struct failure *failure)
{
	int ret = output_begin(pipeline_output(pipeline)), metrics = 0;

	if (!ret)
		ret = replay_data(run, capture, pipeline);
	if (!ret)
		ret = summary_print(run, pipeline);
	pipeline_log_end(pipeline);
	if (ret && ret != -EPIPE)
		return output_failed(ret, failure);
	if (file)
		metrics = metrics_write(file, pipeline, NULL, false, true, failure);
	if (metrics)
		return metrics;
	/* Nobody reads what else there is. */
	return ret == -EPIPE ? 1 : check_flaws(capture, pipeline, failure);
}

/* The clocks that count something other than ns are counter, uptime, x86-tsc and ppc-tb. */
static int check_clock(const struct capture *capture, struct failure *failure)
{
	static const char *const ns[] = {
		"", "local", "global", "perf", "mono", "mono_raw", "boot", "tai",
	};
	const char *clock = capture_source(capture)->clock;

	for (size_t i = 0; i < ARRAY_SIZE(ns); i++)
		if (!strcmp(clock, ns[i]))
			return 0;
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
			   "%s: its times are of the trace clock %.32s, whose unit is not ns; "
			   "record with local or mono (trace-cmd record -C mono)",
			   capture_source(capture)->dir, clock);
}

/* Returns 0, 1 if it was stopped, or -errno with @failure. */
static int find_traced(const struct run_context *run, struct capture *capture,
		       struct failure *failure)
{
	int ret = capture_find_traced(capture, signals_stop_asked, run->signals);
	const char *name = capture_source(capture)->dir;

	if (ret == -ENOMEM)
		return failure_no_memory(failure);
	if (ret == -EBADMSG)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, EBADMSG,
				   "%s: damaged: %s; no event of slow allocations is left", name,
				   capture_info(capture)->first_flaw);
	if (ret != -ENODATA)
		return ret;
	return failure_set(failure, EXIT_STATUS_USAGE, ENODATA, "%s: " CAPTURE_NO_EVENTS, name);
}

int replay_open(const struct run_context *run, const char *option, const char *path,
		struct capture **ret_capture, struct failure *failure)
{
	struct capture *capture;
	const char *others;
	int ret;

	cpu_buffers_allow_files(path, 1);
	ret = capture_open(&capture, path, failure);
	if (ret)
		return ret;
	/* A write there would destroy the capture that is read. */
	if (capture_is_file(capture, writer_fd(run->output))) {
		capture_close(capture);
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "%s %s: the output is the same file", option, path);
	}
	others = capture_info(capture)->others;
	if (*others)
		log_notice("%s is read; other buffers of the file: %s",
			   capture_source(capture)->dir, others);
	*ret_capture = capture;
	return 0;
}

static int replay_capture(const struct run_context *run, struct capture *capture,
			  struct longest *longest, struct failure *failure)
{
	struct metrics_file *metrics = NULL;
	struct pipeline *pipeline = NULL;
	struct plan *plan = NULL;
	int ret = find_traced(run, capture, failure);

	if (!ret)
		ret = check_clock(capture, failure);
	if (!ret)
		ret = plan_replay(run, capture, &plan, failure);
	if (!ret)
		ret = pipeline_new(&pipeline, run->options, plan, capture_source(capture),
				   run->output, NULL, failure);
	if (!ret)
		pipeline_longest(pipeline, longest);
	/* metrics in the configuration file is for live runs. */
	if (!ret && (!longest || longest->known) &&
	    options_on_command_line(run->options, "metrics"))
		ret = metrics_start(&metrics, run->options, failure);
	if (!ret)
		ret = output_failed(output_file_begin(writer_fd(run->output), run->options->output),
				    failure);
	if (!ret)
		ret = replay(run, capture, pipeline, metrics, failure);
	metrics_file_free(metrics);
	pipeline_free(pipeline);
	plan_free(plan);
	return ret > 0 ? 0 : ret;
}

/* @longest: NULL: all stalls are shown */
static int replay_once(const struct run_context *run, struct longest *longest,
		       struct failure *failure)
{
	const struct options *options = run->options;
	struct capture *capture;
	int ret = replay_open(run, options->read ? "-r" : "-s",
			      options->read ? options->read : options->source, &capture, failure);

	if (ret)
		return ret;
	ret = replay_capture(run, capture, longest, failure);
	capture_close(capture);
	return ret;
}

int replay_json(const struct run_context *run, char *path, int fd, struct longest *longest,
		struct failure *failure)
{
	struct options options = *run->options;
	struct run_context json = *run;
	int ret;

	options.quiet = true;
	options.format = "json";
	options.top = SUMMARY_CGROUPS_MAX;
	options.read = path; /* or a directory: replay_run() alone would refuse it */
	json.options = &options;
	json.output = fd < 0 ? NULL : writer_beside(run->output, fd);
	if (!json.output)
		return failure_no_memory(failure);
	ret = replay_once(&json, longest, failure);
	writer_free(json.output);
	return ret;
}

/* The data is read twice: how long the longest stalls are is known at its end. */
static int replay_longest(const struct run_context *run, struct failure *failure)
{
	const struct options *options = run->options;
	struct longest longest = { .most = options->longest };
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	/* The second reading says all that there is to say. */
	enum log_level level = log_set_level(LOG_LEVEL_ERROR);

	replay_json(run, options->read ? options->read : options->source, fd, &longest, failure);
	log_set_level(level);
	file_close(fd);
	longest.known = true;
	while (longest.equal < longest.count &&
	       longest.ns[longest.count - 1 - longest.equal] == longest.ns[longest.count - 1])
		longest.equal++;
	return replay_once(run, &longest, failure);
}

int replay_run(const struct run_context *run, struct failure *failure)
{
	const struct options *options = run->options;
	struct stat status;

	if (options->read && !stat(options->read, &status) && S_ISDIR(status.st_mode))
		return failure_set(failure, EXIT_STATUS_USAGE, EISDIR,
				   "-r %s: a directory; -s reads a capture, -r a trace.dat",
				   options->read);
	return options->longest ? replay_longest(run, failure) : replay_once(run, NULL, failure);
}
