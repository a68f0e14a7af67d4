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

#include "allocfilt/cpu_buffers.h"
#include "allocfilt/keep.h"
#include "allocfilt/kernel.h"
#include "allocfilt/log.h"
#include "allocfilt/loop.h"
#include "allocfilt/pipeline.h"
#include "allocfilt/plan.h"
#include "allocfilt/probes.h"
#include "allocfilt/run.h"
#include "allocfilt/session.h"
#include "allocfilt/symbols.h"

#define NS_PER_MS	1000000u
#define NS_PER_SECOND	1000000000u
#define BUSY_TICK	(110 * NS_PER_MS)
#define IDLE_TICK	NS_PER_SECOND
#define IDLE_AFTER	20		/* ticks without a page */
#define MARK_INTERVAL	(60ull * NS_PER_SECOND)
#define ROUNDS_A_TICK	64		/* then signals and timers are looked at */
#define ALARM_PERCENT	50		/* of a buffer, while the tick drains it */

struct live {
	const struct run_context *run;
	struct failure *failure;
	struct kernel *kernel;
	struct plan *plan;
	struct probe probe;
	bool has_probe;			/* its definition; session_has_probe() tells of itself */
	struct session *session;
	struct cpu_buffers *buffers;
	struct pipeline *pipeline;	/* NULL with -w */
	struct keep *keep;		/* NULL without -w */
	struct page_layout layout;
	struct source_sink sink;
	struct loop *loop;
	bool idle;
	int empty_ticks;
	uint64_t started;		/* ns */
	uint64_t set_up_from;		/* ns */
	uint64_t deadline;		/* ns, 0: none */
	uint64_t next_second;
	uint64_t next_mark;
};


static void say_missing_roles(const struct plan *plan)
{
	char text[512] = "";

	for (int role = 0; role < plan_roles_end(plan); role++) {
		size_t used = strlen(text);

		if (plan_role_missing(plan, role))
			snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
				 plan_role_title(plan, role));
	}
	if (*text)
		log_notice("not to be traced on this kernel, left out: %s", text);
	if (!plan->function_graph)
		log_warning("this kernel has no function_graph: only reclaim, compaction and slab are timed, from their pairs of events");
}

static void say_missing_events(const struct plan *plan)
{
	char text[512] = "";

	for (int i = 0; plan->missing_events && plan->missing_events[i]; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
			 plan->missing_events[i]);
	}
	if (*text)
		log_notice("no such events on this kernel, left out: %s", text);
}

static int make_plan(struct live *live)
{
	const struct options *options = live->run->options;
	struct plan_request request = {
		.threshold = options->threshold,
		.functions = options->functions,
		.events = options->events,
		.definitions = options->definitions,
		.nr_definitions = options->nr_definitions,
		.no_page_allocation = !options->page_allocation,
	};
	struct plan_offer offer;
	int ret = kernel_open(&live->kernel, options->source, &request, live->failure);

	if (ret)
		return ret;
	kernel_offer(live->kernel, &offer);
	return plan_make(&live->plan, &request, &offer, live->failure);
}

static int is_probed(void *context, const char *name)
{
	(void)context;
	return !strcmp(name, PROBE_CALLBACK);
}

/* The pipeline has read the symbols already; without one it takes a pass of our own. */
static uint64_t probed_address(const struct live *live)
{
	struct symbols *symbols;
	uint64_t address;

	if (live->pipeline)
		return pipeline_address(live->pipeline, PROBE_CALLBACK);
	symbols = symbols_new("/proc/kallsyms", is_probed, NULL);
	address = symbols ? symbols_address(symbols, PROBE_CALLBACK) : 0;
	symbols_free(symbols);
	return address;
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
	char *text = kernel_read_file(live->kernel->dir, "events/header_page", &length);
	int ret = text ? page_layout_parse(&live->layout, text, length,
					   __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) : -errno;

	free(text);
	if (ret)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, -ret,
				   "%s/events/header_page: %s", live->kernel->dir, strerror(-ret));
	return 0;
}

static int make_keep(struct live *live)
{
	struct keep_setup setup = {
		.dir = live->run->options->write,
		.kernel = live->kernel,
		.plan = live->plan,
		.layout = &live->layout,
		.full = live->run->options->full,
		.probe = &live->probe,
	};

	return keep_new(&live->keep, &setup, live->failure);
}

static int make_pipeline(struct live *live, int cpus)
{
	struct pipeline_setup setup = {
		.plan = live->plan,
		.layout = live->layout,
		.dir = live->kernel->dir,
		.names_dir = live->kernel->dir,
		.symbols = "/proc/kallsyms",
		.proc = "/proc",
		.mounts = "/proc/self/mountinfo",
		.release = live->kernel->release,
		.stack = live->run->options->stack,
		.pids = live->run->options->pids,
		.own = getpid(),
		.cpus = cpus,
		.local_clock = true,
		.format = live->run->options->format,
		.top = live->run->options->top,
		.writer = live->run->output,
		.output_fd = live->run->output_fd,
	};
	int ret = pipeline_new(&live->pipeline, &setup, live->failure);

	if (!ret)
		pipeline_source_sink(live->pipeline, &live->sink);
	return ret;
}

/* Reads rounds until no CPU is left with data, and one more behind a round that read something: it
 * lets go what that one read. Returns pages read, or -errno of the output. */
static int filter_rounds(struct live *live)
{
	int pages = 0;
	int more = 1;

	for (int round = 0; more && round < ROUNDS_A_TICK; round++) {
		int read = cpu_buffers_round(live->buffers, &live->sink);

		if (read < 0)
			return read;
		pages += read;
		more = pipeline_end_round(live->pipeline);
		if (more < 0)
			return more;
		more |= !round && read;
	}
	return pages;
}

/* Returns 0 when there was nothing, more when there was something, or -errno of the output. */
static int drain(struct live *live)
{
	int64_t bytes;

	if (!live->keep)
		return filter_rounds(live);
	bytes = keep_drain(live->keep, live->buffers);
	return bytes < 0 ? (int)bytes : bytes > 0;
}

static int on_buffer(void *context, int fd, uint32_t events);

/* A descriptor waits on the queue that buffer_percent named when it was added, so it is added anew
 * after each change. kernel/trace/ring_buffer.c: ring_buffer_poll_wait(). */
static void watch_buffers(struct live *live)
{
	for (int i = 0; i < cpu_buffers_count(live->buffers); i++) {
		int fd = cpu_buffers_fd(live->buffers, i);

		loop_forget(live->loop, fd);
		loop_watch(live->loop, fd, EPOLLIN, on_buffer);
	}
}

static int be_idle(struct live *live, bool idle)
{
	if (live->idle == idle)
		return 0;
	live->idle = idle;
	live->empty_ticks = 0;
	session_set_buffer_percent(live->session, idle ? 0 : ALARM_PERCENT);
	watch_buffers(live);
	return loop_set_tick(live->loop, idle ? IDLE_TICK : BUSY_TICK);
}

static int drain_and_write(struct live *live, uint64_t now)
{
	int pages = drain(live);
	int ret = pages < 0 ? pages : writer_flush(live->run->output);

	if (ret)
		return ret;
	if (live->pipeline)
		pipeline_say_losses(live->pipeline, now);
	live->empty_ticks = pages ? 0 : live->empty_ticks + 1;
	if (pages)
		return be_idle(live, false);
	/* One more round has to find nothing before all that is held has gone. */
	return live->empty_ticks >= IDLE_AFTER ? be_idle(live, true) : 0;
}

static int check_taken(struct live *live)
{
	char what[256];

	if (!session_taken(live->session, what, sizeof(what)))
		return 0;
	return failure_set(live->failure, EXIT_STATUS_IN_USE, EBUSY,
			   "tracing was taken away by somebody else: %s", what);
}

static int each_second(struct live *live, uint64_t now)
{
	live->next_second = now + NS_PER_SECOND;
	if (cpu_buffers_reopen(live->buffers))
		watch_buffers(live);
	if (live->keep)
		keep_names(live->keep, now);
	if (now >= live->next_mark) {
		session_mark_clock(live->session);
		live->next_mark = now + MARK_INTERVAL;
	}
	return check_taken(live);
}

static int on_tick(void *context, uint64_t now)
{
	struct live *live = context;
	int ret = drain_and_write(live, now);

	if (!ret && now >= live->next_second)
		ret = each_second(live, now);
	if (ret)
		return ret;
	return live->deadline && now >= live->deadline;
}

static int on_signal(void *context, int signal_number)
{
	(void)context;
	log_debug("%s: stopping", strsignal(signal_number));
	return 1;
}

static int on_buffer(void *context, int fd, uint32_t events)
{
	struct live *live = context;
	int ret = drain_and_write(live, loop_now());

	/* An offline CPU's descriptor may be ready for ever with nothing to read. */
	if (!ret && (events & (EPOLLERR | EPOLLHUP)))
		loop_forget(live->loop, fd);
	return ret;
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
	struct live *live = context;

	(void)fd;
	(void)events;
	if (live->pipeline)
		summary_answer(live->run, live->pipeline);
	return 0;
}

static int make_loop(struct live *live)
{
	struct loop_setup setup = { .context = live, .tick = on_tick, .signal = on_signal };

	live->loop = loop_new(&setup, live->run->signal_fd);
	if (!live->loop)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, errno, "epoll: %s",
				   strerror(errno));
	loop_watch(live->loop, live->run->output_fd, 0, on_output);
	if (live->pipeline)
		loop_watch(live->loop, live->run->request_fd, EPOLLIN, on_request);
	return 0;
}

/* The highest CPU's number and one; an instance has the same CPUs as the top level. */
static int count_cpus(const struct live *live)
{
	int *cpus = NULL;
	int count = cpu_directories(live->kernel->dir, &cpus);

	if (count > 0)
		count = cpus[count - 1] + 1;
	free(cpus);
	return count;
}

/* All that takes long or may fail comes before the first change. */
static int prepare(struct live *live)
{
	struct failure failure = { 0 };
	int cpus = count_cpus(live);
	int ret = read_layout(live);

	if (ret)
		return ret;
	if (cpus <= 0)
		return failure_set(live->failure, EXIT_STATUS_RUN_TIME, ENOENT,
				   "%s/per_cpu: no CPU to read", live->kernel->dir);
	find_probe(live, &failure);
	ret = live->run->options->write ? make_keep(live) : make_pipeline(live, cpus);
	if (!ret)
		define_probe(live, &failure);
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
		ret = cpu_buffers_open(&live->buffers, session_dir(live->session),
				       live->layout.size, live->failure);
	if (!ret && live->keep)
		ret = keep_describe(live->keep, session_dir(live->session), live->buffers,
				    live->failure);
	return ret ? ret : make_loop(live);
}

static int begin(struct live *live, uint64_t now)
{
	uint64_t duration = live->run->options->duration;
	int ret;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		log_warning("cannot lock memory (%s): under memory pressure records may be lost, ignoring",
			    strerror(errno));
	session_set_buffer_percent(live->session, ALARM_PERCENT);
	watch_buffers(live);
	ret = session_on(live->session, live->failure);
	if (ret)
		return ret;
	log_debug("set up in %" PRIu64 " us, from the first step to tracing on; %" PRIu64
		  " us since the program's start", (loop_now() - live->set_up_from) / 1000,
		  (loop_now() - live->started) / 1000);
	session_mark_clock(live->session);
	live->deadline = duration ? now + duration : 0;
	live->next_second = now + NS_PER_SECOND;
	live->next_mark = now + MARK_INTERVAL;
	log_notice("tracing in %s, threshold %" PRIu64 " us; Ctrl-C ends it",
		   session_dir(live->session), live->plan->threshold / 1000);
	return loop_set_tick(live->loop, BUSY_TICK);
}

static int finish_filter(struct live *live)
{
	int pages;
	int ret;

	do {
		pages = drain(live);
		if (pages < 0)
			return pages;
	} while (pages);
	ret = pipeline_flush(live->pipeline);
	return ret ? ret : summary_print(live->run, live->pipeline);
}

/* On a full disk what is written stays readable, so the rest is tried all the same. */
static int finish_keep(struct live *live, int error)
{
	struct failure failure = { 0 };
	int ret = error ? error : keep_drain_rest(live->keep, live->buffers);
	int end = keep_finish(live->keep, session_dir(live->session), live->buffers, &failure);

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
	if (live->keep)
		ret = finish_keep(live, taken ? 0 : error);
	else if (!error || taken)
		ret = finish_filter(live);
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
	ret = finish(live, loop_run(live->loop));
	return ret ? output_failed(live, ret) : 0;
}

/* Puts everything back; its failure outranks the one of the run, which has been said by then. */
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
	if (ret)
		log_error("%s", live->failure->text);
	*live->failure = failure;
	return end;
}

static void say_end(struct live *live)
{
	if (live->pipeline && live->loop)
		pipeline_say_end(live->pipeline);
	if (live->loop)
		log_debug("woke up %" PRIu64 " times", loop_wakeups(live->loop));
}

int live_run(const struct run_context *run, struct failure *failure)
{
	struct live live = { .run = run, .failure = failure, .started = loop_now() };
	int ret = make_plan(&live);

	if (!ret)
		ret = prepare(&live);
	if (!ret)
		ret = set_up(&live);
	if (!ret) {
		say_missing_roles(live.plan);
		say_missing_events(live.plan);
		ret = run_loop(&live);
	}
	ret = end_session(&live, ret);
	say_end(&live);
	loop_free(live.loop);
	pipeline_free(live.pipeline);
	keep_free(live.keep);
	plan_free(live.plan);
	kernel_close(live.kernel);
	return ret;
}
