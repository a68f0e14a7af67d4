// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/live.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"
#include "allocfilt/journal/journal.h"
#include "allocfilt/output/metrics.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/signals.h"
#include "run/guard.h"
#include "run/recorder.h"
#include "run/report.h"
#include "run/service.h"
#include "run/tracing.h"

#define BUSY_TICK	 (110 * NS_PER_MS)
#define IDLE_TICK	 (5 * NS_PER_SECOND)
#define IDLE_AFTER	 20 /* ticks without data */
#define QUIET_TICKS	 10 /* the same: no record came for a second */
#define ALARM_PERCENT	 50 /* percent of a buffer at which it wakes us between two ticks */
#define METRICS_INTERVAL (15 * NS_PER_SECOND)
#define CALM		 (GUARD_QUIET * GUARD_MINUTE) /* without waits functions are not traced */
#define RETRY		 (60 * NS_PER_SECOND)	      /* after the tracer could not be had */
#define SHORT_SHARE	 100 /* memory is short while tasks wait for 1/SHORT_SHARE of the time */

struct live {
	struct tracing tracing; /* its pipeline: NULL with -w */
	struct probe probe;
	bool has_probe; /* probe is defined; session_has_probe() says whether it is installed */
	struct recorder *recorder;    /* NULL without -w */
	struct metrics_file *metrics; /* NULL: none */
	uint64_t next_metrics;	      /* ns, as are all times here: CLOCK_MONOTONIC */
	bool has_traced;
	bool broken;  /* the output failed: print no summary */
	bool changes; /* tracing begins again, with functions, or without: see wants_functions() */
	uint64_t looked_at, short_at; /* memory was looked at, and was short */
	uint64_t no_functions_until;

	/* valid during one live_trace() */
	struct guard guard;
	bool idle;
	int empty_ticks;
	uint64_t set_up_from;
};

/* ---- reading the buffers ---- */

/*
 * While records arrive, a tick reads the buffers. On an idle machine the first record wakes us, or a
 * slower tick with -w, which reads full pages only.
 */

static int set_idle(struct live *live, bool idle)
{
	/*
	 * With -w only full pages are read, so at 0 percent a partly filled page would leave the
	 * descriptor ready. Wake up only when a buffer fills.
	 */
	bool all = !live->recorder || live->tracing.run->options->until;
	/* An interval ends at most a second late. */
	uint64_t tick = live->recorder || live->tracing.next_interval ? NS_PER_SECOND : IDLE_TICK;

	live->idle = idle;
	live->empty_ticks = 0;
	if (live->tracing.next_interval && live->tracing.run->options->interval < tick)
		tick = live->tracing.run->options->interval;
	return tracing_set_tick(&live->tracing, idle ? tick : BUSY_TICK,
				idle && all ? 0 : ALARM_PERCENT);
}

/* The buffers hold what is recorded meanwhile. Returns 0, or -errno of a file. */
static int next_segment(struct live *live)
{
	struct data_source *source = &live->tracing.source;
	const struct memory_pressure before = source->pressure_before;
	int ret;

	memory_pressure_read(&source->pressure_after);
	ret = recorder_end_segment(live->recorder);
	if (ret)
		return ret;
	source->pressure_before = source->pressure_after;
	source->pressure_after.known = false;
	ret = recorder_begin_segment(live->recorder);
	if (ret) {
		source->pressure_before = before;
		return ret;
	}
	session_mark_clock(live->tracing.session);
	recorder_begin_pressure(live->recorder);
	return 0;
}

/* Returns 0, 1 where the run is to end (--until), or -errno of the output. */
static int read_buffers(void *context, uint64_t now)
{
	struct live *live = context;
	int64_t got = live->recorder ? recorder_drain(live->recorder) :
				       pipeline_read_all(live->tracing.pipeline);
	bool idle;
	int ret = got < 0 ? (int)got : 0;

	live->empty_ticks = got ? 0 : live->empty_ticks + 1;
	if (live->tracing.pipeline && live->empty_ticks == QUIET_TICKS)
		ret = pipeline_quiet(live->tracing.pipeline, QUIET_TICKS * BUSY_TICK);
	if (!ret)
		ret = writer_flush(live->tracing.run->output);
	if (!ret && live->recorder && recorder_has_seen_stall(live->recorder)) {
		if (live->tracing.run->command)
			command_signal(live->tracing.run->command, SIGTERM, false);
		return 1;
	}
	if (!ret && live->recorder && recorder_segment_is_full(live->recorder))
		ret = next_segment(live);
	if (ret)
		return ret;
	if (live->tracing.pipeline)
		losses_report(pipeline_losses(live->tracing.pipeline), now);
	idle = !got && (live->idle || live->empty_ticks >= IDLE_AFTER);
	return idle == live->idle ? 0 : set_idle(live, idle);
}

/* ---- once a second, on an idle machine at each tick ---- */

static void write_metrics(struct live *live, uint64_t now, bool last)
{
	struct failure failure;
	int ret;

	if (!live->metrics)
		return;
	live->next_metrics = now + METRICS_INTERVAL;
	ret = metrics_write(live->metrics, live->tracing.pipeline, live->tracing.run,
			    live->tracing.session, last, &failure);
	if (!metrics_file_changed(live->metrics))
		return;
	if (ret)
		log_warning("%s; trying again", failure.text);
	else
		log_notice("metrics are written again");
}

void live_tick(struct live *live, uint64_t now)
{
	struct summary_view view;

	if (!live->tracing.pipeline)
		return;
	pipeline_view(live->tracing.pipeline, &view);
	output_tick(pipeline_output(live->tracing.pipeline), now, &view);
	if (now >= live->next_metrics)
		write_metrics(live, now, false);
}

static int each_second(struct live *live, uint64_t now)
{
	const struct options *options = live->tracing.run->options;
	bool marks = now >= live->tracing.next_mark;
	int ret = tracing_second(&live->tracing, now);

	if (ret)
		return ret;
	if (live->recorder)
		ret = recorder_second(live->recorder, now);
	/* The order of an allocation is known from events. */
	if (live->tracing.pipeline && options->max_cpu && !options->min_order)
		guard_second(&live->guard, live->tracing.plan, options->max_cpu, now,
			     live->tracing.session, live->tracing.pipeline);
	live_tick(live, now);
	if (live->tracing.run->service)
		service_second(live->tracing.run->service, live->tracing.pipeline, now);
	/* On an idle machine the mark is read at once: the machine stays idle. */
	if (marks && live->idle && live->tracing.pipeline) {
		ret = pipeline_read_all(live->tracing.pipeline);
		ret = ret < 0 ? ret : writer_flush(live->tracing.run->output);
	}
	return ret;
}

/* ---- function-graph = auto ---- */

/* The kernel follows the children of some tasks alone, and a restart would lose them. */
static bool is_auto(const struct live *live)
{
	const struct options *options = live->tracing.run->options;

	return options->function_graph == FUNCTIONS_AUTO && options->journal &&
	       live->tracing.plan->nr_functions && !options->pids && !live->tracing.run->command;
}

/*
 * function_graph makes each switch of tasks slower, so it is on from the first long wait, or many short
 * ones, until there were none for ten minutes.
 */
static bool wants_functions(struct live *live, uint64_t now)
{
	uint64_t longest, waited = pipeline_waited(live->tracing.pipeline, &longest);

	if (longest >= live->tracing.plan->threshold ||
	    waited > (now - live->looked_at) / SHORT_SHARE)
		live->short_at = now;
	live->looked_at = now;
	return live->short_at && now - live->short_at < CALM && now >= live->no_functions_until;
}

static void announce_change(struct live *live)
{
	bool on = live->tracing.plan->function_graph;

	/* goes_on_without() has told a refusal. */
	if (on || !live->no_functions_until)
		log_notice(
			on ? "tasks wait for memory: functions are traced, until none does for %d minutes" :
			     "functions are not traced: no task waited for memory for %d minutes",
			GUARD_QUIET);
	if (on)
		live->no_functions_until = 0;
}

/* Somebody else has the tracer, or took it, or there is no memory for it: the run goes on with events alone. */
static bool goes_on_without(struct live *live)
{
	struct failure *failure = live->tracing.failure;

	if (!is_auto(live) || !live->tracing.plan->function_graph ||
	    failure->status == EXIT_STATUS_NOT_RESTORED)
		return false;
	if (!live->no_functions_until)
		log_warning("functions are not traced for now: %s", failure->text);
	*failure = (struct failure){ 0 };
	plan_trace_functions(live->tracing.plan, false);
	live->no_functions_until = loop_now() + RETRY;
	return true;
}

static int on_tick(void *context, uint64_t now)
{
	struct live *live = context;
	int ret;

	tracing_interval_ends(&live->tracing, now);
	ret = read_buffers(live, now);
	if (!ret && now >= live->tracing.next_second)
		ret = each_second(live, now);
	if (!ret && is_auto(live))
		live->changes = wants_functions(live, now) != live->tracing.plan->function_graph;
	return live->changes ? 1 : ret;
}

/* The run lasts until now. A recorder reads the pressure of cgroups when it writes it. */
static void read_pressure_after(struct live *live)
{
	memory_pressure_read(&live->tracing.source.pressure_after);
	if (live->tracing.pipeline)
		cgroups_walk(resolver_cgroups(pipeline_resolver(live->tracing.pipeline)),
			     CGROUPS_NOW, NULL);
}

/* ---- signals and descriptors ---- */

static int on_signal(void *context, int number)
{
	struct live *live = context;
	int ret;

	if (number == SIGUSR1) {
		if (!live->tracing.pipeline)
			return 0;
		session_mark_clock(live->tracing.session); /* the time until now counts */
		read_pressure_after(live);
		ret = read_buffers(live, loop_now());
		summary_print_so_far(live->tracing.run, live->tracing.pipeline);
		return ret;
	}
	if (live->tracing.run->service)
		return service_signal(live->tracing.run->service, number, loop_now());
	return tracing_signal(&live->tracing, number);
}

/* Stalls from now on have the new time. */
static int on_clock_set(void *context)
{
	struct live *live = context;

	session_mark_clock(live->tracing.session);
	return 0;
}

static int make_live_loop(struct live *live)
{
	static const struct loop_callbacks callbacks = { on_tick, on_signal, read_buffers,
							 on_clock_set };
	/* A recording has its data in its files. */
	bool output = !live->tracing.run->options->journal && !live->recorder;
	int ret = tracing_make_loop(&live->tracing, &callbacks, live, output);

	return ret ? ret : set_idle(live, false);
}

/* ---- resources ---- */

/* Does all fallible work before the first change of tracing. */
static int plan_run(struct live *live)
{
	struct tracing *tracing = &live->tracing;
	const struct options *options = tracing->run->options;
	struct failure failure = { 0 };
	int ret = tracing_plan(tracing, options->max_size ? 3 : options->write ? 2 : 1);

	if (ret)
		return ret;
	/* Before the tables are allocated: the names in BTF take memory for a moment. */
	if (plan_event_of(tracing->plan, EVENT_SLAB_START) >= 0)
		live->has_probe = !probe_find(&live->probe, tracing->kernel, &failure);
	if (options->write)
		ret = recorder_new(&live->recorder, options, tracing->kernel, tracing->plan,
				   &tracing->source, &live->probe, tracing->failure);
	else
		ret = pipeline_new(&tracing->pipeline, options, tracing->plan, &tracing->source,
				   tracing->run->output, NULL, tracing->failure);
	if (ret)
		return ret;
	if (is_auto(live))
		plan_trace_functions(tracing->plan, false);
	/* The run goes on without these names. */
	if (!live->has_probe && *failure.text)
		log_notice("superblocks have no names: %s", failure.text);
	/* The configuration file may set metrics, but with -w nothing is filtered. */
	if (tracing->pipeline && options->metrics)
		ret = metrics_start(&live->metrics, options, tracing->failure);
	return ret;
}

static void live_free(struct live *live)
{
	metrics_file_free(live->metrics);
	recorder_free(live->recorder);
	tracing_free(&live->tracing);
	free(live);
}

int live_new(struct live **ret_live, const struct run_context *run, struct failure *failure)
{
	struct live *live = calloc(1, sizeof(*live));
	int ret;

	if (!live)
		return failure_no_memory(failure);
	live->tracing.run = run;
	live->tracing.failure = failure;
	if (run->options->journal && access(journal_socket_path, F_OK))
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, errno,
				  "--journal: %s: %m: no systemd-journald here",
				  journal_socket_path);
	else
		ret = plan_run(live);
	if (ret)
		live_free(live);
	else
		*ret_live = live;
	return ret;
}

struct pipeline *live_pipeline(struct live *live)
{
	return live->tracing.pipeline;
}

/* ---- one run of tracing ---- */

static int set_up_tracing(struct live *live)
{
	const struct options *options = live->tracing.run->options;
	const struct session_request request = {
		.probe = live->has_probe ? &live->probe : NULL,
		.stack = options->stack,
		/* Our own task is rare in all other events and functions: the pipeline drops it. */
		.exclude_own = options->functions || options->events || options->off_cpu,
	};
	int ret;

	live->set_up_from = loop_now();
	ret = tracing_set_up(&live->tracing, &request);
	if (ret)
		return ret;
	if (live->recorder)
		ret = recorder_describe(live->recorder, session_dir(live->tracing.session),
					live->tracing.buffers, live->tracing.failure);
	return ret ? ret : make_live_loop(live);
}

/* The kernel takes long to print all symbols, so the buffers would fill if tracing was on. */
static void read_symbols(struct live *live)
{
	struct pipeline *pipeline = live->tracing.pipeline;
	struct resolver *resolver = pipeline ? pipeline_resolver(pipeline) : NULL;
	uint64_t start = loop_now(), callback = 0;

	if (resolver && !live->has_traced)
		resolver_read_symbols(resolver);
	if (session_has_probe(live->tracing.session, PROBE_SUPERBLOCKS) && live->probe.on_event)
		callback = resolver ?
				   resolver_address(resolver, PROBE_CALLBACK) :
				   kallsyms_address(source_open(&live->tracing.source, "kallsyms"),
						    PROBE_CALLBACK);
	log_debug("%6" PRIu64 " us: symbols", (loop_now() - start) / NS_PER_US);
	if (callback)
		session_filter_probe(live->tracing.session, callback);
}

static int turn_on(struct live *live)
{
	static const bool none_off[PLAN_EVENTS_MAX];
	struct cgroups *cgroups;
	int ret;

	live->tracing.source.started = clock_ns(CLOCK_REALTIME);
	/*
	 * The guard may have switched events off when we traced before. The mark below tells the
	 * pipeline when all were on again.
	 */
	if (live->has_traced && live->tracing.pipeline && !live->changes)
		pipeline_switch_events(live->tracing.pipeline, none_off);
	ret = session_on(live->tracing.session, live->tracing.failure);
	if (ret)
		return ret;
	session_mark_clock(live->tracing.session);
	if (live->tracing.pipeline && output_has_intervals(pipeline_output(live->tracing.pipeline)))
		live->tracing.next_interval = loop_now() + live->tracing.run->options->interval;
	log_debug("set up in %" PRIu64 " us, from the first step to tracing on; %" PRIu64
		  " us since the program's start",
		  (loop_now() - live->set_up_from) / 1000,
		  (loop_now() - live->tracing.run->started) / 1000);
	if (live->has_traced)
		return 0;
	memory_pressure_read(&live->tracing.source.pressure_before);
	if (live->recorder) {
		recorder_begin_pressure(live->recorder);
		return 0;
	}
	cgroups = resolver_cgroups(pipeline_resolver(live->tracing.pipeline));
	cgroups_walk(cgroups, CGROUPS_BEGIN, NULL);
	if (live->tracing.run->options->cgroup)
		cgroups_check(cgroups, live->tracing.run->options->cgroup);
	return 0;
}

/* Says that tracing is on, to all who wait for it. */
static void announce(struct live *live)
{
	const struct run_context *run = live->tracing.run;

	if (!live->has_traced)
		kernel_log_unavailable(live->tracing.plan);
	/* A failure stays in the writer. */
	if (!live->has_traced && live->tracing.pipeline)
		output_begin(pipeline_output(live->tracing.pipeline));
	live->has_traced = true;
	if (run->service)
		service_tracing(run->service, live->tracing.pipeline, loop_now());
	if (live->changes)
		announce_change(live);
	else
		tracing_announce(&live->tracing);
	live->changes = false;
}

static int begin_tracing(struct live *live)
{
	int ret;

	memory_lock();
	read_symbols(live);
	ret = turn_on(live);
	if (ret)
		return ret;
	guard_begin(&live->guard, loop_now(), clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	ret = tracing_begin(&live->tracing);
	if (!ret)
		announce(live);
	return ret;
}

/* Descriptions are written after a failure too, so that a capture on a full disk can be read. */
static int finish_recorder(struct live *live, int error)
{
	struct failure failure = { 0 };
	int ret = error ? error : recorder_drain_rest(live->recorder, tracing_rest(&live->tracing));
	int end = recorder_finish(live->recorder, &failure);

	if (ret)
		return failure_set(live->tracing.failure, EXIT_STATUS_RUN_TIME, -ret, "-w %s: %m",
				   live->tracing.run->options->write);
	if (end)
		*live->tracing.failure = failure;
	return end;
}

/*
 * Shows or records what is left in the buffers. If tracing was taken away, the records before that
 * are still valid.
 */
static int finish_tracing(struct live *live, int error)
{
	bool taken = live->tracing.failure->status == EXIT_STATUS_IN_USE;
	struct failure failure = *live->tracing.failure;
	int ret = error;

	read_pressure_after(live);
	tracing_stop(&live->tracing);
	/* SIGUSR1 may have come just before the end. */
	if (signals_summary_asked(live->tracing.run->signals) && live->tracing.pipeline)
		summary_print_so_far(live->tracing.run, live->tracing.pipeline);
	live->broken = error && !taken;
	if (live->recorder)
		ret = finish_recorder(live, taken ? 0 : error);
	else if (!error || taken)
		ret = tracing_read_rest(&live->tracing,
					live->changes ? pipeline_pause : pipeline_flush);
	if (taken && (!ret || ret == -EPIPE)) {
		*live->tracing.failure = failure;
		return error;
	}
	return ret && !*live->tracing.failure->text ? output_failed(ret, live->tracing.failure) :
						      ret;
}

static int trace_once(struct live *live)
{
	int ret = set_up_tracing(live);

	if (!ret)
		ret = begin_tracing(live);
	if (!ret)
		ret = finish_tracing(live, loop_run(live->tracing.loop));
	ret = tracing_end(&live->tracing, ret);
	if (live->recorder)
		ret = recorder_close(live->recorder, ret, live->tracing.run->signals,
				     live->tracing.failure);
	return ret;
}

int live_trace(struct live *live, struct failure *failure)
{
	bool again;
	int ret;

	live->tracing.failure = failure;
	do {
		ret = trace_once(live);
		again = !ret && live->changes;
		if (again)
			plan_trace_functions(live->tracing.plan,
					     !live->tracing.plan->function_graph);
		else if (ret)
			again = goes_on_without(live);
	} while (again);
	live->changes = false;
	return ret;
}

int live_end(struct live *live, int error, struct failure *failure)
{
	int ret = 0;

	if (live->tracing.pipeline && live->has_traced) {
		if (!live->broken)
			ret = summary_print(live->tracing.run, live->tracing.pipeline);
		write_metrics(live, loop_now(), true);
		pipeline_log_end(live->tracing.pipeline);
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
