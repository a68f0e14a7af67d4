// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/live.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "allocfilt/names.h"
#include "allocfilt/output.h"
#include "run/guard.h"
#include "run/manager.h"
#include "run/memory.h"
#include "run/pipeline.h"
#include "run/recorder.h"
#include "run/report.h"
#include "run/start.h"

#define BUSY_TICK	 (110 * NS_PER_MS)
#define IDLE_TICK	 (5 * NS_PER_SECOND)
#define IDLE_AFTER	 20 /* ticks without data */
#define ALARM_PERCENT	 50 /* how full a buffer wakes us between two ticks */
#define METRICS_INTERVAL (15 * NS_PER_SECOND)
#define MARK_INTERVAL	 (60 * NS_PER_SECOND)
#define MEMORY_INTERVAL	 (10 * NS_PER_SECOND)

struct live {
	const struct run_context *run;
	struct failure *failure;
	struct kernel *kernel;
	struct plan *plan;
	struct data_source source;
	int *cpu_numbers; /* of the source */
	int pressure;	  /* memory_pressure_open() */
	struct probe probe;
	bool has_probe; /* probe is defined; session_has_probe() says whether it is installed */
	struct pipeline *pipeline;    /* NULL with -w */
	struct recorder *recorder;    /* NULL without -w */
	struct metrics_file *metrics; /* NULL: none */
	uint64_t next_metrics;	      /* ns, as are all times here: CLOCK_MONOTONIC */
	bool has_traced;
	bool incomplete; /* the rest of the kernel's list has functions for the plan */
	bool broken;	 /* the output failed: print no summary */

	/* valid during one live_trace() */
	struct session *session;
	struct cpu_buffers *buffers;
	struct loop *loop;
	struct guard guard;
	bool idle;
	int empty_ticks;
	uint64_t set_up_from;
	uint64_t next_second;
	uint64_t next_mark;
	uint64_t next_interval; /* 0: there are none */
	uint64_t next_memory;
	bool locked; /* all memory, as far as that is possible */
};

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
	/* Which is no failure. */
	if (!live->has_probe && *failure.text)
		log_notice("superblocks have no names: %s", failure.text);
	/* The configuration file may set metrics, but with -w nothing is filtered. */
	if (live->pipeline && options->metrics)
		ret = metrics_start(&live->metrics, options->metrics, live->failure);
	return ret;
}

/* @whole: -w keeps a list of functions, and one that is read in parts may be incomplete. */
static int make_plan(struct live *live, bool whole)
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
	ret = make_plan(live, run->options->write);
	if (ret)
		live_free(live);
	else
		*ret_live = live;
	return ret;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	free_plan(live);
	kernel_close(live->kernel);
	if (live->pressure >= 0)
		close(live->pressure);
	free(live);
}

struct pipeline *live_pipeline(struct live *live)
{
	return live->pipeline;
}

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
	bool all = !live->recorder || live->run->options->until;
	int percent = idle && all ? 0 : ALARM_PERCENT;
	/* An interval ends at most a second late. */
	uint64_t idle_tick = live->recorder || live->next_interval ? NS_PER_SECOND : IDLE_TICK;

	live->idle = idle;
	live->empty_ticks = 0;
	session_set_buffer_percent(live->session, percent);
	if (idle && live->next_interval && live->run->options->interval < idle_tick)
		idle_tick = live->run->options->interval;
	return loop_set_tick(live->loop, idle ? idle_tick : BUSY_TICK);
}

static int on_buffer(void *context, int fd, uint32_t events);

/*
 * A descriptor waits on the queue that buffer_percent selected when epoll added it, so it is added
 * again after each change. kernel/trace/ring_buffer.c: ring_buffer_poll_wait().
 */
static void watch_buffers(struct live *live)
{
	for (int i = 0; i < cpu_buffers_count(live->buffers); i++) {
		int fd = cpu_buffers_fd(live->buffers, i);

		loop_forget(live->loop, fd);
		loop_watch(live->loop, fd, EPOLLIN, on_buffer);
	}
}

/* The buffers hold what is recorded meanwhile. Returns 0, or -errno of a file. */
static int next_segment(struct live *live)
{
	const char *dir = session_dir(live->session);
	struct data_source *source = &live->source;
	const struct memory_pressure before = source->pressure_before;
	int ret;

	memory_pressure_read(live->pressure, &source->pressure_after);
	ret = recorder_end_segment(live->recorder, dir, live->buffers);
	if (ret)
		return ret;
	source->pressure_before = source->pressure_after;
	source->pressure_after.known = false;
	ret = recorder_begin_segment(live->recorder, dir, live->buffers);
	if (ret)
		source->pressure_before = before;
	else
		session_mark_clock(live->session);
	return ret;
}

/* Returns 0, 1 where the run is to end (--until), or -errno of the output. */
static int read_buffers(struct live *live, uint64_t now)
{
	int64_t got = live->recorder ? recorder_drain(live->recorder, live->buffers) :
				       pipeline_read_all(live->pipeline);
	bool idle = live->idle;
	int ret = got < 0 ? (int)got : writer_flush(live->run->output);

	if (!ret && live->recorder && recorder_has_seen_stall(live->recorder)) {
		if (live->run->command)
			command_signal(live->run->command, SIGTERM, false);
		return 1;
	}
	if (!ret && live->recorder && recorder_segment_is_full(live->recorder))
		ret = next_segment(live);
	if (ret)
		return ret;
	if (live->pipeline)
		losses_report(pipeline_losses(live->pipeline), now);
	live->empty_ticks = got ? 0 : live->empty_ticks + 1;
	if (got)
		idle = false;
	else if (live->empty_ticks >= IDLE_AFTER)
		idle = true;
	if (idle == live->idle)
		return 0;
	ret = set_idle(live, idle);
	watch_buffers(live);
	return ret;
}

static int on_buffer(void *context, int fd, uint32_t events)
{
	struct live *live = context;
	int ret = read_buffers(live, loop_now());

	/* An offline CPU's descriptor may stay ready with nothing to read. */
	if (!ret && (events & (EPOLLERR | EPOLLHUP)))
		loop_forget(live->loop, fd);
	return ret;
}

/* Reads all data left in the buffers once tracing is off; not with -w. */
static int read_rest(struct live *live)
{
	struct losses *losses = pipeline_losses(live->pipeline);
	int pages, ret;

	do {
		pages = pipeline_read_all(live->pipeline);
		if (pages < 0)
			return pages;
	} while (pages);
	/* The pages report overwritten records, but not dropped ones. */
	for (int i = 0; i < cpu_buffers_count(live->buffers); i++) {
		uint64_t dropped = cpu_buffers_dropped(live->buffers, i);

		if (dropped)
			losses_add(losses, cpu_buffers_cpu(live->buffers, i), (int64_t)dropped);
	}
	ret = pipeline_flush(live->pipeline);
	if (!ret)
		ret = pipeline_end_interval(live->pipeline);
	return ret ? ret : writer_flush(live->run->output);
}

/* ---- once a second, on an idle machine at each tick ---- */

/* A failure does not end the run. */
static void write_metrics(struct live *live, uint64_t now, bool last)
{
	struct failure failure;
	int ret;

	if (!live->metrics)
		return;
	live->next_metrics = now + METRICS_INTERVAL;
	ret = metrics_write(live->metrics, live->pipeline, live->run, live->session, last,
			    &failure);
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

	if (!live->pipeline)
		return;
	pipeline_view(live->pipeline, &view);
	output_tick(pipeline_output(live->pipeline), now, &view);
	if (now >= live->next_metrics)
		write_metrics(live, now, false);
}

/* Counts the CPUs whose buffers could not be opened: their records are lost. */
static void count_unread(struct live *live)
{
	if (live->pipeline)
		pipeline_count_unread(live->pipeline, cpu_buffers_starved(live->buffers));
}

/* On an idle machine it is read at once: the machine stays idle. */
static int mark_clock(struct live *live)
{
	int pages;

	session_mark_clock(live->session);
	if (!live->idle || live->recorder)
		return 0;
	pages = pipeline_read_all(live->pipeline);
	return pages < 0 ? pages : writer_flush(live->run->output);
}

static int each_second(struct live *live, uint64_t now)
{
	const struct options *options = live->run->options;
	char what[256];
	int ret = 0;

	live->next_second = now + NS_PER_SECOND;
	if (cpu_buffers_reopen(live->buffers))
		watch_buffers(live);
	count_unread(live);
	if (live->recorder)
		ret = recorder_second(live->recorder, live->buffers, now);
	/* The order of an allocation is known from events. */
	if (live->pipeline && options->max_cpu && !options->min_order)
		guard_second(&live->guard, live->plan, options->max_cpu, now, live->session,
			     live->pipeline);
	live_tick(live, now);
	if (live->run->manager)
		manager_second(live->run->manager, live->pipeline, now);
	if (!ret && now >= live->next_mark) {
		ret = mark_clock(live);
		live->next_mark = now + MARK_INTERVAL;
	}
	if (now >= live->next_memory) {
		live->locked = live->locked || memory_lock();
		session_grow_buffer(live->session);
		live->next_memory = now + MEMORY_INTERVAL;
	}
	if (ret || !session_taken(live->session, what, sizeof(what)))
		return ret;
	return failure_set(live->failure, EXIT_STATUS_IN_USE, EBUSY,
			   "tracing was taken away by somebody else: %s", what);
}

/* The mark is a record with the present time: an interval is that long without any other. */
static int end_interval(struct live *live, uint64_t now)
{
	int ret;

	session_mark_clock(live->session);
	ret = read_buffers(live, now);
	while (live->next_interval <= now)
		live->next_interval += live->run->options->interval;
	return ret ? ret : pipeline_end_interval(live->pipeline);
}

static int on_tick(void *context, uint64_t now)
{
	struct live *live = context;
	int ret;

	if (live->next_interval && now >= live->next_interval)
		ret = end_interval(live, now);
	else
		ret = read_buffers(live, now);
	return !ret && now >= live->next_second ? each_second(live, now) : ret;
}

/* ---- one run of tracing ---- */

static int on_signal(void *context, int number)
{
	struct live *live = context;
	struct command *command = live->run->command;
	int ret;

	if (number == SIGUSR1) {
		if (!live->pipeline)
			return 0;
		session_mark_clock(live->session); /* the time until now counts */
		memory_pressure_read(live->pressure, &live->source.pressure_after);
		ret = read_buffers(live, loop_now());
		summary_print_so_far(live->run, live->pipeline);
		return ret;
	}
	if (live->run->manager)
		return manager_signal(live->run->manager, number, loop_now());
	if (command && number != SIGALRM) {
		command_signal(command, number, signals_from_terminal(live->run->signals, number));
		return 0;
	}
	/* The time of -d is over. */
	if (command)
		command_signal(command, SIGTERM, false);
	log_debug("%s: stopping", strsignal(number));
	return 1;
}

static int on_output(void *context, int fd, uint32_t events)
{
	(void)context;
	(void)fd;
	(void)events;
	return -EPIPE;
}

static int set_up(struct live *live)
{
	static const struct loop_callbacks callbacks = { on_tick, on_signal };
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
		/* In what every run traces our own task is rare, and the pipeline drops it. */
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
	live->loop = loop_new(&callbacks, live, live->run->signals);
	if (!live->loop)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, errno, "epoll: %s",
				   strerror(errno));
	/* A recording has its data in its files. */
	if (!options->journal && !live->recorder)
		loop_watch(live->loop, writer_fd(live->run->output), 0, on_output);
	ret = command ? loop_watch(live->loop, command_fd(command), EPOLLIN, loop_end) : 0;
	return ret ? failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %s",
				 strerror(-ret)) :
		     0;
}

/*
 * What the kernel takes long to print is read once tracing is on; the buffers hold what arrives
 * meanwhile.
 */
static int read_slow_files(struct live *live)
{
	uint64_t callback = 0;
	int ret = kernel_read_rest(live->kernel, live->failure);

	live->incomplete = ret > 0;
	if (ret)
		return ret < 0 ? ret : -EAGAIN;
	if (live->pipeline && !live->has_traced)
		pipeline_read_symbols(live->pipeline);
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

/* -d begins now as well: COMMAND has all of it. */
static int start_times(struct live *live)
{
	uint64_t now = loop_now();

	live->next_second = now + NS_PER_SECOND;
	live->next_mark = now + MARK_INTERVAL;
	live->next_memory = now + MEMORY_INTERVAL;
	guard_begin(&live->guard, now, loop_cpu_time());
	if (live->pipeline && output_has_intervals(pipeline_output(live->pipeline)))
		live->next_interval = now + live->run->options->interval;
	return start_deadline(live->run, live->failure);
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

static int begin(struct live *live)
{
	const struct run_context *run = live->run;
	int ret;

	/* What we allocate later is in the trace where the kernel does not leave our task out. */
	live->locked = live->locked || memory_lock();
	ret = set_idle(live, false);
	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %s",
				   strerror(-ret));
	watch_buffers(live);
	count_unread(live);
	/* A recording keeps what happens meanwhile, and has all the time before it. */
	if (live->recorder)
		ret = read_slow_files(live);
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
	ret = start_times(live);
	if (!ret)
		announce(live);
	return ret;
}

/* The descriptions are written after a failure too: what is on a full disk stays readable. */
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
static int finish(struct live *live, int error)
{
	bool taken = live->failure->status == EXIT_STATUS_IN_USE;
	struct failure failure = *live->failure;
	int ret = error;

	if (live->run->options->duration)
		signals_set_deadline(live->run->signals, 0);
	/* SIGUSR1 may have come just before the end. */
	if (signals_summary_asked(live->run->signals) && live->pipeline)
		summary_print_so_far(live->run, live->pipeline);
	/* Without records nothing else shows how long the run was. */
	if (!taken)
		session_mark_clock(live->session);
	memory_pressure_read(live->pressure, &live->source.pressure_after);
	session_off(live->session);
	writer_stop(live->run->output);
	live->broken = error && !taken;
	if (live->recorder)
		ret = finish_recorder(live, taken ? 0 : error);
	else if (!error || taken)
		ret = read_rest(live);
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
	int ret = set_up(live);

	if (!ret)
		ret = begin(live);
	if (!ret)
		ret = finish(live, loop_run(live->loop));
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
	ret = make_plan(live, true);
	return ret ? ret : trace_once(live);
}

int live_end(struct live *live, struct failure *failure)
{
	int ret = 0;

	live->failure = failure;
	if (!live->pipeline || !live->has_traced)
		return 0;
	if (!live->broken)
		ret = summary_print(live->run, live->pipeline);
	write_metrics(live, loop_now(), true);
	pipeline_log_end(live->pipeline);
	return ret ? output_failed(ret, failure) : 0;
}

int live_run(const struct run_context *run, struct failure *failure)
{
	struct failure end_failure = { 0 };
	struct live *live = NULL;
	int ret = live_new(&live, run, failure);
	int end;

	if (ret)
		return ret;
	ret = live_trace(live, failure);
	end = live_end(live, &end_failure);
	live_free(live);
	if (ret || !end)
		return ret;
	*failure = end_failure;
	return end;
}
