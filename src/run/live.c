// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocfilt/base/log.h"
#include "allocfilt/output/file.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/signals.h"
#include "run/live_loop.h"
#include "run/manager.h"
#include "run/memory.h"
#include "run/report.h"
#include "run/start.h"

/* ---- resources ---- */

/* Does all slow or fallible work before the first change of tracing. */
static int prepare(struct live *live)
{
	const struct options *options = live->run->options;
	struct failure failure = { 0 };
	int ret = start_source(&live->source, &live->cpu_numbers, live->kernel, live->run,
			       live->failure);

	if (!ret)
		ret = kernel_check_processes(live->run->options, live->failure);
	if (ret)
		return ret;
	cpu_buffers_allow_files(live->kernel->dir, options->max_size ? 3 : options->write ? 2 : 1);
	/* Before the tables are allocated: the names in BTF take memory for a moment. */
	if (plan_event_of(live->plan, EVENT_SLAB_START) >= 0)
		live->has_probe = !probe_find(&live->probe, live->kernel, &failure);
	if (options->write)
		ret = recorder_new(&live->recorder, options, live->kernel, live->plan,
				   &live->source, &live->probe, live->failure);
	else
		ret = pipeline_new(&live->pipeline, options, live->plan, &live->source,
				   live->run->output, NULL, live->failure);
	if (ret)
		return ret;
	/* The run goes on without these names. */
	if (!live->has_probe && *failure.text)
		log_notice("superblocks have no names: %s", failure.text);
	/* The configuration file may set metrics, but with -w nothing is filtered. */
	if (live->pipeline && options->metrics)
		ret = metrics_start(&live->metrics, options->metrics, live->failure);
	return ret;
}

/* @whole: -w keeps a list of functions, and one that is read in parts may be incomplete. */
static int plan_run(struct live *live, bool whole)
{
	int ret = kernel_plan(&live->kernel, &live->plan, live->run->options, whole, live->failure);

	return ret ? ret : prepare(live);
}

static void free_plan(struct live *live)
{
	metrics_file_free(live->metrics);
	pipeline_free(live->pipeline);
	recorder_free(live->recorder);
	plan_free(live->plan);
	free(live->cpu_numbers);
	live->metrics = NULL;
	live->pipeline = NULL;
	live->recorder = NULL;
	live->plan = NULL;
	live->cpu_numbers = NULL;
}

static void live_free(struct live *live)
{
	free_plan(live);
	kernel_close(live->kernel);
	if (live->pressure >= 0)
		close(live->pressure);
	free(live);
}

int live_new(struct live **ret_live, const struct run_context *run, struct failure *failure)
{
	struct live *live = calloc(1, sizeof(*live));
	int ret;

	if (!live)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	live->run = run;
	/* Now, because memory may be short later. */
	live->pressure = memory_pressure_open();
	live->failure = failure;
	ret = plan_run(live, run->options->write);
	if (ret)
		live_free(live);
	else
		*ret_live = live;
	return ret;
}

struct pipeline *live_pipeline(struct live *live)
{
	return live->pipeline;
}

/* ---- one run of tracing ---- */

static int set_up_tracing(struct live *live)
{
	const struct options *options = live->run->options;
	const struct command *command = live->run->command;
	const pid_t command_pids[] = { live->source.command, 0 };
	const struct session_request request = {
		.kernel = live->kernel,
		.plan = live->plan,
		.buffer = options->buffer,
		.pids = command ? command_pids : options->pids,
		.force = options->force,
		.probe = live->has_probe ? &live->probe : NULL,
		.stack = options->stack,
		/* Our own task is rare in all other events and functions: the pipeline drops it. */
		.exclude_own = options->functions || options->events || options->off_cpu,
		.run_dir = live->run->run_dir,
	};
	int ret;

	live->set_up_from = loop_now();
	ret = session_start(&live->session, &request, live->failure);
	if (!ret)
		ret = start_layout(&live->source, session_dir(live->session), live->failure);
	if (ret)
		return ret;
	if (live->pipeline && session_has_probe(live->session))
		pipeline_read_probe(live->pipeline);
	ret = cpu_buffers_open(&live->buffers, session_dir(live->session), &live->source.cpus,
			       live->source.layout.size, live->failure);
	if (!ret && live->pipeline)
		pipeline_read_buffers(live->pipeline, live->buffers, NULL);
	if (!ret && live->recorder)
		ret = recorder_describe(live->recorder, session_dir(live->session), live->buffers,
					live->failure);
	if (ret)
		return ret;
	ret = live_loop_new(live);
	return ret ? failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %s",
				 strerror(-ret)) :
		     0;
}

/* The kernel takes long to print these. The buffers hold the records that arrive meanwhile. */
static int read_slow_files(struct live *live)
{
	uint64_t callback = 0;
	int ret = kernel_read_rest(live->kernel, live->failure);

	live->incomplete = ret > 0;
	if (ret)
		return ret < 0 ? ret : -EAGAIN;
	if (live->pipeline && !live->has_traced)
		pipeline_read_symbols(live->pipeline);
	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "out of memory");
	if (session_has_probe(live->session) && live->probe.on_event)
		callback = live->pipeline ? pipeline_address(live->pipeline, PROBE_CALLBACK) :
					    kallsyms_address(source_open(&live->source, "kallsyms"),
							     PROBE_CALLBACK);
	if (callback)
		session_filter_probe(live->session, callback);
	return 0;
}

static int turn_on(struct live *live)
{
	static const bool none_off[PLAN_EVENTS_MAX];
	struct timespec realtime;
	int ret;

	clock_gettime(CLOCK_REALTIME, &realtime);
	live->source.started = realtime.tv_sec * NS_PER_SECOND + realtime.tv_nsec;
	/*
	 * The guard may have switched some off when we traced before. The mark below tells the pipeline
	 * when all were on again.
	 */
	if (live->has_traced && live->pipeline)
		pipeline_switch_events(live->pipeline, none_off);
	ret = session_on(live->session, live->failure);
	if (ret)
		return ret;
	session_mark_clock(live->session);
	log_debug("set up in %" PRIu64 " us, from the first step to tracing on; %" PRIu64
		  " us since the program's start",
		  (loop_now() - live->set_up_from) / 1000,
		  (loop_now() - live->run->started) / 1000);
	if (!live->has_traced)
		memory_pressure_read(live->pressure, &live->source.pressure_before);
	return 0;
}

/* COMMAND has all the time of -d. Without -d the SIGALRM of whoever started us is left alone. */
static int set_deadline(struct live *live)
{
	const struct options *options = live->run->options;
	char setting[CONFIG_SETTING_NAME_MAX];
	int ret = 0;

	if (options->duration)
		ret = signals_set_deadline(live->run->signals, options->duration);
	return ret ? failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret,
				 "%s: cannot set a timer: %s; leave it out, or permit "
				 "setitimer(2) (SystemCallFilter= of a unit)",
				 config_setting_name(options, "duration", setting),
				 strerror(-ret)) :
		     0;
}

/* Says that tracing is on, to all who wait for it. */
static void announce(struct live *live)
{
	const struct run_context *run = live->run;

	if (!live->has_traced)
		kernel_log_unavailable(live->plan);
	/* A failure stays in the writer. */
	if (!live->has_traced && live->pipeline)
		output_begin(pipeline_output(live->pipeline));
	live->has_traced = true;
	log_notice("tracing in %s, threshold %" PRIu64 " us; %s", session_dir(live->session),
		   live->plan->threshold / 1000,
		   run->command ? "it ends with COMMAND" : "Ctrl-C ends it");
	if (run->manager)
		manager_tracing(run->manager, live->pipeline, loop_now());
	if (run->command)
		command_start(run->command);
}

static int begin_tracing(struct live *live)
{
	const struct run_context *run = live->run;
	int ret;

	/* Lock now: later page allocations of ours would be traced. */
	live->locked = live->locked || memory_lock();
	/* A recording must not spend buffer on its own start: it reads these files first. */
	ret = live->recorder ? read_slow_files(live) : 0;
	if (!ret)
		ret = turn_on(live);
	if (!ret && live->pipeline)
		ret = read_slow_files(live);
	if (ret)
		return ret;
	ret = output_file_begin(writer_fd(run->output), run->options->output);
	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "-o %s: %s",
				   run->options->output, strerror(-ret));
	live_loop_start_times(live);
	ret = set_deadline(live);
	if (!ret)
		announce(live);
	return ret;
}

/* Descriptions are written after a failure too, so that a capture on a full disk can be read. */
static int finish_recorder(struct live *live, int error)
{
	struct failure failure = { 0 };
	int ret = error ? error : recorder_drain_rest(live->recorder, live->buffers);
	int end = recorder_finish(live->recorder, session_dir(live->session), live->buffers,
				  &failure);

	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "-w %s: %s",
				   live->run->options->write, strerror(-ret));
	if (end)
		*live->failure = failure;
	return end;
}

/*
 * Shows or records what is left in the buffers. If tracing was taken away, the records before that
 * are still valid.
 */
static int finish_tracing(struct live *live, int error)
{
	bool taken = live->failure->status == EXIT_STATUS_IN_USE;
	struct failure failure = *live->failure;
	int ret = error;

	if (live->run->options->duration)
		signals_set_deadline(live->run->signals, 0);
	/* SIGUSR1 may have come just before the end. */
	if (signals_summary_asked(live->run->signals) && live->pipeline)
		summary_print_so_far(live->run, live->pipeline);
	/* A run without other records shows by this mark how long it was. */
	if (!taken)
		session_mark_clock(live->session);
	memory_pressure_read(live->pressure, &live->source.pressure_after);
	session_off(live->session);
	writer_stop(live->run->output);
	live->broken = error && !taken;
	if (live->recorder)
		ret = finish_recorder(live, taken ? 0 : error);
	else if (!error || taken)
		ret = live_loop_read_rest(live);
	if (taken && (!ret || ret == -EPIPE)) {
		*live->failure = failure;
		return error;
	}
	return ret && !*live->failure->text ? output_failed(ret, live->failure) : ret;
}

/* Restores tracing. Its failure replaces that of the run, which is then logged here. */
static int end_session(struct live *live, int ret)
{
	struct failure failure = { 0 };
	int end;

	if (live->buffers && cpu_buffers_errors(live->buffers))
		log_warning("%" PRIu64 " reads of the raw buffers failed, ignoring",
			    cpu_buffers_errors(live->buffers));
	cpu_buffers_close(live->buffers);
	live->buffers = NULL;
	if (!live->session)
		return ret;
	end = session_end(live->session, &failure);
	live->session = NULL;
	if (!end)
		return ret;
	if (ret && *live->failure->text)
		log_error("%s", live->failure->text);
	*live->failure = failure;
	return end;
}

static int trace_once(struct live *live)
{
	int ret = set_up_tracing(live);

	if (!ret)
		ret = begin_tracing(live);
	if (!ret)
		ret = finish_tracing(live, loop_run(live->loop));
	ret = end_session(live, ret);
	if (live->recorder)
		ret = recorder_close(live->recorder, ret, live->run->signals, live->failure);
	if (live->loop)
		log_debug("woke up %" PRIu64 " times", loop_wakeups(live->loop));
	loop_free(live->loop);
	live->loop = NULL;
	return ret;
}

int live_trace(struct live *live, struct failure *failure)
{
	int ret;

	live->failure = failure;
	ret = trace_once(live);
	if (ret != -EAGAIN || !live->incomplete)
		return ret;
	log_debug("this kernel has functions that lie apart: tracing is set up again with them");
	free_plan(live);
	ret = plan_run(live, true);
	return ret ? ret : trace_once(live);
}

int live_end(struct live *live, int error, struct failure *failure)
{
	int ret = 0;

	if (live->pipeline && live->has_traced) {
		if (!live->broken)
			ret = summary_print(live->run, live->pipeline);
		live_loop_write_metrics(live, loop_now(), true);
		pipeline_log_end(live->pipeline);
	}
	live_free(live);
	if (error || !ret)
		return error;
	return output_failed(ret, failure);
}

int live_run(const struct run_context *run, struct failure *failure)
{
	struct live *live;
	int ret = live_new(&live, run, failure);

	return ret ? ret : live_end(live, live_trace(live, failure), failure);
}
