// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"
#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "allocfilt/run.h"
#include "allocfilt/tracing.h"
#include "run/drain.h"
#include "run/live.h"
#include "run/metrics_run.h"
#include "run/own_usage.h"
#include "run/pipeline.h"
#include "run/recorder.h"
#include "run/unavailable.h"

#define NS_PER_SECOND	 1000000000u
#define METRICS_INTERVAL (15ull * NS_PER_SECOND)
#define MARK_INTERVAL	 (60ull * NS_PER_SECOND)

struct live {
	const struct run_context *run;
	struct live_hooks hooks;
	struct failure *failure;
	struct kernel *kernel;
	struct plan *plan;
	struct probe probe;
	bool has_probe; /* its definition; session_has_probe() tells of itself */
	struct session *session;
	struct drain *drain;
	struct pipeline *pipeline; /* NULL with -w */
	struct recorder *recorder; /* NULL without -w */
	struct data_source source;
	int *cpu_numbers; /* of the source */
	struct loop *loop;
	bool has_traced;
	bool broken;		      /* the output is: nothing more is to be printed */
	uint64_t set_up_from;	      /* ns */
	uint64_t began;		      /* ns: tracing on */
	struct metrics_file *metrics; /* NULL: none */
	uint64_t next_metrics;	      /* ns */
	uint64_t next_second;
	uint64_t next_mark;
};

/* The pipeline has read the symbols already; without one it takes a pass of our own. */
static uint64_t probed_address(const struct live *live)
{
	if (live->pipeline)
		return pipeline_address(live->pipeline, PROBE_CALLBACK);
	return kallsyms_address("/proc/kallsyms", PROBE_CALLBACK);
}

/* Before the tables are made: for a moment it takes as much memory as they do. */
static void find_probe(struct live *live, struct failure *failure)
{
	if (plan_event_of(live->plan, EVENT_SLAB_START) < 0)
		return;
	live->has_probe = !probe_find(&live->probe, live->kernel, failure);
}

/* A run without names of superblocks is a good run. */
static void define_probe(struct live *live, const struct failure *failure)
{
	if (live->has_probe)
		probe_define(&live->probe, probed_address(live));
	else if (failure->text[0])
		log_notice("superblocks have no names: %s", failure->text);
}

static int start_session(struct live *live)
{
	struct session_request request = {
		.kernel = live->kernel,
		.plan = live->plan,
		.buffer = live->run->options->buffer,
		.pids = live->run->options->pids,
		.force = live->run->options->force,
		.probe = live->has_probe ? &live->probe : NULL,
		.stack = live->run->options->stack,
		.run_dir = SESSION_RUN_DIR,
	};

	return session_start(&live->session, &request, live->failure);
}

static int read_layout(struct live *live)
{
	size_t length;
	char *text = NULL;
	int ret = file_read(live->kernel->dir, "events/header_page", &text, &length);

	if (!ret)
		ret = page_layout_parse(&live->source.layout, text, length,
					__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	free(text);
	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret,
				   "%s/events/header_page: %s", live->kernel->dir, strerror(-ret));
	return 0;
}

static int check_taken(struct live *live)
{
	char what[256];

	if (!session_taken(live->session, what, sizeof(what)))
		return 0;
	return failure_set(live->failure, EXIT_STATUS_IN_USE, EBUSY,
			   "tracing was taken away by somebody else: %s", what);
}

/* What cannot be read is told: its records are as good as lost. */
static void count_unread(struct live *live)
{
	if (live->pipeline)
		pipeline_unread(live->pipeline, cpu_buffers_starved(drain_buffers(live->drain)));
}

static int each_second(struct live *live, uint64_t now)
{
	live->next_second = now + NS_PER_SECOND;
	drain_reopen(live->drain);
	count_unread(live);
	if (live->recorder) {
		recorder_note_names(live->recorder, now);
		recorder_report_losses(live->recorder, drain_buffers(live->drain), now);
	}
	live_tell(live, now);
	if (live->hooks.second)
		live->hooks.second(live->hooks.context, now);
	if (now >= live->next_mark) {
		session_mark_clock(live->session);
		live->next_mark = now + MARK_INTERVAL;
	}
	return check_taken(live);
}

static int on_tick(void *context, uint64_t now)
{
	struct live *live = context;
	uint64_t duration = live->run->options->duration;
	int ret = drain_tick(live->drain, now);

	if (!ret && now >= live->next_second)
		ret = each_second(live, now);
	if (ret)
		return ret;
	return duration && now - live->began >= duration;
}

static int on_signal(void *context, int signal_number)
{
	struct live *live = context;

	if (live->hooks.signal)
		return live->hooks.signal(live->hooks.context, signal_number, loop_now());
	log_debug("%s: stopping", strsignal(signal_number));
	return 1;
}

static int on_buffer(void *context, int fd, uint32_t events)
{
	struct live *live = context;

	return drain_ready(live->drain, fd, events, loop_now());
}

static int on_output(void *context, int fd, uint32_t events)
{
	(void)context;
	(void)fd;
	(void)events;
	return -EPIPE;
}

static int on_request(void *context, int fd, uint32_t events)
{
	(void)fd;
	(void)events;
	live_answer(context);
	return 0;
}

static int make_loop(struct live *live)
{
	struct loop_setup setup = { .context = live, .tick = on_tick, .signal = on_signal };

	live->loop = loop_new(&setup, live->run->signal_fd);
	if (!live->loop)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, errno, "epoll: %s",
				   strerror(errno));
	if (!live->run->options->journal)
		loop_watch(live->loop, live->run->output_fd, 0, on_output);
	if (live->pipeline)
		loop_watch(live->loop, live->run->request_fd, EPOLLIN, on_request);
	return 0;
}

/* An instance has the same CPUs as the top level. */
static int list_cpus(struct live *live)
{
	int count = cpu_directories(live->kernel->dir, &live->cpu_numbers);

	if (count <= 0)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, ENOENT,
				   "%s/per_cpu: no CPU to read", live->kernel->dir);
	live->source.cpus = (struct cpu_list){ live->cpu_numbers, count };
	return 0;
}

/* All that takes long or may fail comes before the first change. */
static int prepare(struct live *live)
{
	struct failure failure = { 0 };
	const struct options *options = live->run->options;
	int ret;

	live->source = (struct data_source){
		.dir = live->kernel->dir,
		.names_dir = live->kernel->dir,
		.symbols = "/proc/kallsyms",
		.mounts = "/proc/self/mountinfo",
		.proc = "/proc",
		.release = live->kernel->release,
		.local_clock = true,
		.own = getpid(),
	};
	ret = read_layout(live);
	if (!ret)
		ret = list_cpus(live);
	if (ret)
		return ret;
	cpu_buffers_allow_files(live->kernel->dir, options->write ? 2 : 1);
	find_probe(live, &failure);
	if (options->write)
		ret = recorder_new(&live->recorder, options, live->kernel, live->plan,
				   &live->source, &live->probe, live->failure);
	else
		ret = pipeline_new(&live->pipeline, options, live->plan, &live->source,
				   live->run->output, live->failure);
	if (!ret)
		define_probe(live, &failure);
	/* The configuration may have metrics, where -w keeps a capture and nothing is filtered. */
	if (!ret && live->pipeline && live->run->options->metrics)
		ret = metrics_start(&live->metrics, live->run->options->metrics, live->failure);
	return ret;
}

static int set_up(struct live *live)
{
	int ret;

	live->set_up_from = loop_now();
	ret = start_session(live);
	if (!ret && live->pipeline && session_has_probe(live->session))
		pipeline_read_probe(live->pipeline);
	if (!ret)
		ret = drain_new(&live->drain, live->session, &live->source, live->pipeline,
				live->recorder, live->run->output, live->failure);
	if (!ret && live->recorder)
		ret = recorder_describe(live->recorder, session_dir(live->session),
					drain_buffers(live->drain), live->failure);
	return ret ? ret : make_loop(live);
}

static int begin(struct live *live, uint64_t now)
{
	int ret;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		log_warning(
			"cannot lock memory (%s): under memory pressure records may be lost, ignoring",
			strerror(errno));
	ret = drain_start(live->drain, live->loop, on_buffer);
	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %s",
				   strerror(-ret));
	count_unread(live);
	ret = session_on(live->session, live->failure);
	if (ret)
		return ret;
	ret = output_file_begin(live->run->output_fd, live->run->options->output);
	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "-o %s: %s",
				   live->run->options->output, strerror(-ret));
	log_debug("set up in %" PRIu64 " us, from the first step to tracing on; %" PRIu64
		  " us since the program's start",
		  (loop_now() - live->set_up_from) / 1000,
		  (loop_now() - live->run->started) / 1000);
	session_mark_clock(live->session);
	live->began = now;
	live->next_second = now + NS_PER_SECOND;
	live->next_mark = now + MARK_INTERVAL;
	log_notice("tracing in %s, threshold %" PRIu64 " us; Ctrl-C ends it",
		   session_dir(live->session), live->plan->threshold / 1000);
	if (live->hooks.tracing)
		live->hooks.tracing(live->hooks.context, now);
	return 0;
}

/* On a full disk what is written stays readable, so the rest is tried all the same. */
static int finish_recorder(struct live *live, int error)
{
	struct failure failure = { 0 };
	const struct cpu_buffers *buffers = drain_buffers(live->drain);
	int ret = error ? error : recorder_drain_rest(live->recorder, buffers);
	int end = recorder_finish(live->recorder, session_dir(live->session), buffers, &failure);

	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret, "-w %s: %s",
				   live->run->options->write, strerror(-ret));
	if (end)
		*live->failure = failure;
	return end;
}

/* What is in the buffers when tracing stops is shown as well, also when tracing was taken away:
 * what came before is still good. */
static int finish(struct live *live, int error)
{
	bool taken = live->failure->status == EXIT_STATUS_IN_USE;
	struct failure failure = *live->failure;
	int ret = error;

	session_off(live->session);
	live->broken = error && !taken;
	if (live->recorder)
		ret = finish_recorder(live, taken ? 0 : error);
	else if (!error || taken)
		ret = drain_rest(live->drain);
	if (!taken || (ret && ret != -EPIPE))
		return ret;
	*live->failure = failure;
	return error;
}

static int output_failed(struct live *live, int error)
{
	if (error == -EPIPE)
		return 0;
	if (live->failure->text[0])
		return error;
	return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -error, "output: %s",
			   strerror(-error));
}

static int run_loop(struct live *live)
{
	int ret = begin(live, loop_now());

	if (ret)
		return ret;
	ret = loop_run(live->loop);
	/* One that came just before the end would go unanswered. */
	live_answer(live);
	ret = finish(live, ret);
	return ret ? output_failed(live, ret) : 0;
}

/* Puts everything back; its failure outranks the one of the run, which has been said by then. */
static int end_session(struct live *live, int ret)
{
	struct failure failure = { 0 };
	int end;

	if (live->drain && cpu_buffers_errors(drain_buffers(live->drain)))
		log_warning("%" PRIu64 " reads of the raw buffers failed, ignoring",
			    cpu_buffers_errors(drain_buffers(live->drain)));
	drain_free(live->drain);
	live->drain = NULL;
	if (!live->session)
		return ret;
	end = session_end(live->session, &failure);
	live->session = NULL;
	if (!end)
		return ret;
	if (ret)
		log_error("%s", live->failure->text);
	*live->failure = failure;
	return end;
}

int live_new(struct live **ret_live, const struct run_context *run, const struct live_hooks *hooks,
	     struct failure *failure)
{
	struct live *live = calloc(1, sizeof(*live));
	int ret;

	if (!live)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	live->run = run;
	live->hooks = *hooks;
	live->failure = failure;
	ret = kernel_plan(&live->kernel, &live->plan, run->options, failure);
	if (!ret)
		ret = prepare(live);
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
	metrics_file_free(live->metrics);
	pipeline_free(live->pipeline);
	recorder_free(live->recorder);
	plan_free(live->plan);
	kernel_close(live->kernel);
	free(live->cpu_numbers);
	free(live);
}

int live_trace(struct live *live, struct failure *failure)
{
	int ret;

	live->failure = failure;
	ret = set_up(live);
	if (!ret) {
		if (!live->has_traced)
			unavailable_report(live->plan);
		live->has_traced = true;
		ret = run_loop(live);
	}
	ret = end_session(live, ret);
	if (live->loop)
		log_debug("woke up %" PRIu64 " times", loop_wakeups(live->loop));
	loop_free(live->loop);
	live->loop = NULL;
	return ret;
}

static void write_metrics(struct live *live, uint64_t now)
{
	struct metrics_process process = {
		.tracing = live->session != NULL,
		.uptime = now - live->run->started,
		.resident = own_resident(),
		.cpu = own_cpu(),
	};
	struct journal_counts journal;

	if (!live->metrics)
		return;
	pipeline_journal(live->pipeline, &journal);
	process.held_back = journal.held_back;
	process.dropped = journal.dropped;
	live->next_metrics = now + METRICS_INTERVAL;
	metrics_keep_up(live->metrics, live->pipeline, &process);
}

int live_end(struct live *live, struct failure *failure)
{
	int ret = 0;

	live->failure = failure;
	if (!live->pipeline || !live->has_traced)
		return 0;
	if (!live->broken)
		ret = summary_print(live->run, live->pipeline);
	write_metrics(live, loop_now());
	pipeline_say_end(live->pipeline);
	return ret ? output_failed(live, ret) : 0;
}

/* Another file is begun at once; without one the old file stays, as node_exporter tells its age. */
static void change_metrics(struct live *live, const char *old)
{
	const char *path = live->run->options->metrics;
	struct failure failure;

	if (old && path && !strcmp(old, path))
		return;
	metrics_file_free(live->metrics);
	live->metrics = NULL;
	live->next_metrics = 0;
	if (path && metrics_start(&live->metrics, path, &failure))
		log_error("%s", failure.text);
}

void live_set_run(struct live *live, const struct run_context *run)
{
	const char *old = live->run->options->metrics;

	live->run = run;
	pipeline_change(live->pipeline, run->options);
	change_metrics(live, old);
}

void live_tell(struct live *live, uint64_t now)
{
	if (!live->pipeline)
		return;
	pipeline_tick(live->pipeline, now);
	if (now >= live->next_metrics)
		write_metrics(live, now);
}

void live_answer(struct live *live)
{
	if (live->pipeline)
		summary_answer(live->run, live->pipeline);
}

void live_status(const struct live *live, char *text, size_t size)
{
	pipeline_status(live->pipeline, text, size);
}

int live_run(const struct run_context *run, struct failure *failure)
{
	static const struct live_hooks no_hooks;
	struct failure end_failure = { 0 };
	struct live *live = NULL;
	int ret = live_new(&live, run, &no_hooks, failure);
	int end = 0;

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
