// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/tracing.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/trace_dir.h"
#include "allocfilt/output/file.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/signals.h"

#define MARK_INTERVAL (60 * NS_PER_SECOND)

/* ---- resources ---- */

/* @dir: an instance may have sub-buffers of another size. */
static int read_layout(struct data_source *source, const char *dir, struct failure *failure)
{
	char *text = NULL;
	size_t length;
	int ret = file_read(dir, "events/header_page", &text, &length);

	if (!ret)
		ret = page_layout_parse(&source->layout, text, length,
					__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	free(text);
	return ret ? failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s/events/header_page: %m",
				 dir) :
		     0;
}

/* Describes the running kernel as a source of data. */
static int describe_source(struct tracing *tracing)
{
	const struct kernel *kernel = tracing->kernel;
	struct command *command = tracing->run->command;
	int count, ret;

	tracing->source = (struct data_source){
		.dir = kernel->dir,
		.proc = "/proc",
		.cgroups = kernel_enter_cgroups(),
		.host = kernel->system.nodename,
		.release = kernel->system.release,
		.machine = kernel->system.machine,
		.clock = "local",
		.local_clock = true,
		.own = getpid(),
		.command = command ? command_pid(command) : 0,
	};
	ret = read_layout(&tracing->source, kernel->dir, tracing->failure);
	if (ret)
		return ret;
	/* An instance has the same CPUs as the top level. */
	count = cpu_directories(kernel->dir, &tracing->cpu_numbers);
	if (count <= 0)
		return failure_set(tracing->failure, EXIT_STATUS_RUN_TIME, ENOENT,
				   "%s/per_cpu: no CPU to read", kernel->dir);
	tracing->source.cpus = (struct cpu_list){ tracing->cpu_numbers, count };
	return 0;
}

int tracing_plan(struct tracing *tracing, unsigned int files)
{
	const struct options *options = tracing->run->options;
	int ret = kernel_plan(&tracing->kernel, &tracing->plan, options, tracing->failure);

	if (!ret)
		ret = describe_source(tracing);
	if (!ret)
		ret = kernel_check_processes(options, tracing->failure);
	if (!ret)
		cpu_buffers_allow_files(tracing->kernel->dir, files);
	return ret;
}

void tracing_free(struct tracing *tracing)
{
	pipeline_free(tracing->pipeline);
	plan_free(tracing->plan);
	free(tracing->cpu_numbers);
	kernel_close(tracing->kernel);
}

/* ---- set-up ---- */

/* The plan has no event without a probe. */
static bool drop_events(const struct tracing *tracing)
{
	bool any = false;

	for (int id = EVENT_WAIT_BEGIN; id <= EVENT_REFAULT; id++)
		any |= session_lacks_event(tracing->session, id) &&
		       plan_drop_event(tracing->plan, id);
	return any;
}

int tracing_set_up(struct tracing *tracing, const struct session_request *extra)
{
	const struct options *options = tracing->run->options;
	const pid_t command_pids[] = { tracing->source.command, 0 };
	struct session_request request = *extra;
	const char *dir;
	int ret;

	request.kernel = tracing->kernel;
	request.plan = tracing->plan;
	request.buffer = options->buffer;
	/* A recording knows its tasks from saved_cmdlines alone. */
	tracing->source.no_saved_names = !tracing->plan->function_graph && !options->write &&
					 options->function_graph != FUNCTIONS_YES;
	request.no_saved_names = tracing->source.no_saved_names;
	request.pids = tracing->run->command ? command_pids : options->pids;
	request.force = options->force;
	request.run_dir = tracing->run->run_dir;
	ret = session_start(&tracing->session, &request, tracing->failure);
	if (ret)
		return ret;
	/* Whoever disables ftrace may enable it again: the next set-up looks for itself. */
	tracing->kernel->function_enabled = true;
	drop_events(tracing);
	if (tracing->pipeline)
		pipeline_read_probes(tracing->pipeline);
	dir = session_dir(tracing->session);
	ret = read_layout(&tracing->source, dir, tracing->failure);
	if (!ret)
		ret = cpu_buffers_open(&tracing->buffers, dir, &tracing->source.cpus,
				       tracing->source.layout.size, tracing->failure);
	if (!ret && tracing->pipeline)
		pipeline_read_buffers(tracing->pipeline, tracing->buffers, NULL);
	return ret;
}

static int epoll_failed(struct tracing *tracing, int error)
{
	return failure_set(tracing->failure, EXIT_STATUS_RUN_TIME, -error, "epoll: %m");
}

int tracing_make_loop(struct tracing *tracing, const struct loop_callbacks *callbacks,
		      void *context, bool output)
{
	const struct run_context *run = tracing->run;
	int ret = 0;

	tracing->loop = loop_new(callbacks, context, run->signals);
	if (!tracing->loop)
		ret = -errno;
	else if (run->command)
		ret = loop_watch(tracing->loop, command_fd(run->command), EPOLLIN, 1);
	if (ret)
		return epoll_failed(tracing, ret);
	if (output)
		loop_watch(tracing->loop, writer_fd(run->output), 0, -EPIPE);
	return 0;
}

/*
 * A descriptor waits on the queue that buffer_percent selected when epoll added it, so it is added
 * again after each change. kernel/trace/ring_buffer.c: ring_buffer_poll_wait().
 */
static void watch_buffers(struct tracing *tracing)
{
	for (int i = 0; i < cpu_buffers_count(tracing->buffers); i++)
		loop_watch_buffer(tracing->loop, cpu_buffers_fd(tracing->buffers, i));
}

/* Counts the CPUs whose buffers could not be opened: their records are lost. */
static void count_unread(struct tracing *tracing)
{
	if (tracing->pipeline)
		pipeline_count_unread(tracing->pipeline, cpu_buffers_starved(tracing->buffers));
}

int tracing_set_tick(struct tracing *tracing, uint64_t interval, int percent)
{
	int ret = loop_set_tick(tracing->loop, interval);

	session_set_buffer_percent(tracing->session, percent);
	watch_buffers(tracing);
	count_unread(tracing);
	return ret ? epoll_failed(tracing, ret) : 0;
}

/* The time of -d begins with COMMAND. Without -d the SIGALRM of our parent is left alone. */
static int set_deadline(struct tracing *tracing)
{
	const struct options *options = tracing->run->options;
	char setting[CONFIG_SETTING_NAME_MAX];
	uint64_t now = loop_now();
	int ret = 0;

	if (options->duration && !tracing->ends)
		tracing->ends = now + options->duration;
	if (options->duration)
		ret = signals_set_deadline(tracing->run->signals,
					   tracing->ends > now ? tracing->ends - now : 1);
	return ret ? failure_set(tracing->failure, EXIT_STATUS_RUN_TIME, -ret,
				 "%s: cannot set a timer: %m; leave it out, or permit "
				 "setitimer(2) (SystemCallFilter= of a unit)",
				 config_setting_name(options, "duration", setting)) :
		     0;
}

int tracing_begin(struct tracing *tracing)
{
	const struct options *options = tracing->run->options;
	int ret = output_file_begin(writer_fd(tracing->run->output), options->output);
	uint64_t now = loop_now();

	if (ret)
		return failure_set(tracing->failure, EXIT_STATUS_RUN_TIME, -ret, "-o %s: %m",
				   options->output);
	tracing->next_second = now + NS_PER_SECOND;
	tracing->next_mark = now + MARK_INTERVAL;
	return set_deadline(tracing);
}

void tracing_announce(struct tracing *tracing)
{
	struct command *command = tracing->run->command;

	log_notice("tracing in %s, threshold %" PRIu64 " us; %s", session_dir(tracing->session),
		   tracing->plan->threshold / 1000,
		   command ? "it ends with COMMAND" : "Ctrl-C ends it");
	if (tracing->pipeline)
		pipeline_log_flaws(tracing->pipeline);
	if (command)
		command_start(command);
}

/* ---- while tracing is on ---- */

int tracing_second(struct tracing *tracing, uint64_t now)
{
	static const bool all_off[PLAN_EVENTS_MAX] = { [0 ... PLAN_EVENTS_MAX - 1] = true };
	char what[256];

	tracing->next_second = now + NS_PER_SECOND;
	if (cpu_buffers_reopen(tracing->buffers))
		watch_buffers(tracing);
	count_unread(tracing);
	if (now >= tracing->next_mark) {
		session_mark_clock(tracing->session);
		tracing->next_mark = now + MARK_INTERVAL;
	}
	session_grow_buffer(tracing->session);
	if (!session_taken(tracing->session, what, sizeof(what))) {
		/* A recording keeps what came of them before. */
		if (tracing->pipeline && drop_events(tracing)) {
			pipeline_lose_events(tracing->pipeline);
			session_mark_clock(tracing->session);
		}
		return 0;
	}
	if (tracing->pipeline)
		pipeline_switch_events(tracing->pipeline, all_off);
	return failure_set(tracing->failure, EXIT_STATUS_IN_USE, EBUSY,
			   "tracing was taken away by somebody else: %s", what);
}

bool tracing_interval_ends(struct tracing *tracing, uint64_t now)
{
	if (!tracing->next_interval || now < tracing->next_interval)
		return false;
	session_mark_clock(tracing->session);
	while (tracing->next_interval <= now)
		tracing->next_interval += tracing->run->options->interval;
	return true;
}

int tracing_signal(struct tracing *tracing, int number)
{
	struct command *command = tracing->run->command;

	if (command && number != SIGALRM) {
		command_signal(command, number,
			       signals_from_terminal(tracing->run->signals, number));
		return 0;
	}
	/* The time of -d is over. */
	if (command)
		command_signal(command, SIGTERM, false);
	log_debug("%s: stopping", strsignal(number));
	return 1;
}

/* ---- the end ---- */

void tracing_stop(struct tracing *tracing)
{
	if (tracing->run->options->duration)
		signals_set_deadline(tracing->run->signals, 0);
	/* A run without other records shows by this mark how long it was. */
	if (tracing->failure->status != EXIT_STATUS_IN_USE)
		session_mark_clock(tracing->session);
	session_off(tracing->session);
	writer_stop(tracing->run->output);
}

uint64_t tracing_rest(const struct tracing *tracing)
{
	uint64_t buffer = tracing->run->options->buffer / tracing->source.layout.size;

	/* The kernel rounds up, one page is outside of its buffer, and one may be read in two parts. */
	return 2 * (buffer + 4) * (uint64_t)tracing->source.cpus.count;
}

int tracing_read_rest(struct tracing *tracing, int (*end)(struct pipeline *pipeline))
{
	struct losses *losses = pipeline_losses(tracing->pipeline);
	uint64_t rest = tracing_rest(tracing), before = 0;
	int ret; /* or pages */

	do {
		ret = pipeline_read_all(tracing->pipeline);
		if (ret < 0)
			return ret;
		/* One of them may be a turn that ended early. */
		before += (uint64_t)ret;
	} while (ret && before / 2 < rest);
	/* The pages report overwritten records, but not dropped ones. */
	for (int i = 0; i < cpu_buffers_count(tracing->buffers); i++) {
		uint64_t dropped = cpu_buffers_records(tracing->buffers, i, CPU_DROPPED);

		if (dropped)
			losses_add(losses, cpu_buffers_cpu(tracing->buffers, i), (int64_t)dropped);
	}
	ret = end(tracing->pipeline);
	return ret ? ret : writer_flush(tracing->run->output);
}

int tracing_end(struct tracing *tracing, int ret)
{
	struct failure failure = { 0 };
	char counted[TEXT_COUNTED_MAX];
	int end = 0;

	if (tracing->buffers && cpu_buffers_errors(tracing->buffers))
		log_warning("%s of the raw buffers failed, ignoring",
			    text_counted(counted, cpu_buffers_errors(tracing->buffers), "read{s}"));
	cpu_buffers_close(tracing->buffers);
	tracing->buffers = NULL;
	if (tracing->session)
		end = session_end(tracing->session, &failure);
	tracing->session = NULL;
	if (tracing->loop)
		log_debug("woke up %" PRIu64 " times", loop_wakeups(tracing->loop));
	loop_free(tracing->loop);
	tracing->loop = NULL;
	if (!end)
		return ret;
	if (ret && *tracing->failure->text)
		log_error("%s", tracing->failure->text);
	*tracing->failure = failure;
	return end;
}
