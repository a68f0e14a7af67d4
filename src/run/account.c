// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/account/account.h"
#include "allocfilt/base/log.h"
#include "allocfilt/output/file.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/run/signals.h"
#include "allocfilt/tracing/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "run/memory.h"
#include "run/pipeline.h"
#include "run/report.h"
#include "run/start.h"

#define TICK		   (110 * NS_PER_MS) /* a task's process is read while the task is there */
#define ALARM_PERCENT	   50		     /* how full a buffer wakes us between two ticks */
#define MARK_INTERVAL	   (60 * NS_PER_SECOND)
#define MEMORY_INTERVAL	   (10 * NS_PER_SECOND)
#define HISTOGRAM_TRIES	   20 /* while memory is short: 2 s */
#define HISTOGRAM_PAUSE_US 100000

/* The run of `allocfilt account`. The kernel counts; records tell who stalls. */
struct counting {
	const struct run_context *run;
	struct failure *failure;
	struct kernel *kernel;
	struct plan *plan;
	struct data_source source;
	int *cpu_numbers; /* of the source */
	struct pipeline *pipeline;
	struct account *account;
	bool has_tables; /* and they are those of the end */
	struct session *session;
	struct cpu_buffers *buffers;
	struct loop *loop;
	bool locked;	      /* all memory, as far as that is possible */
	uint64_t next_second; /* ns, CLOCK_MONOTONIC, as the next ones */
	uint64_t next_mark;
	uint64_t next_memory;
	uint64_t next_interval;	 /* 0: there are none */
	uint64_t interval_began; /* ns, trace clock; 0: with the first record */
};

/* ---- tables ---- */

static int read_texts(struct counting *counting)
{
	char *texts[HISTOGRAM_COUNT] = { NULL };
	struct summary_view view;
	int ret = 0;

	for (int id = 0; id < HISTOGRAM_COUNT && !ret; id++)
		if (counting->plan->histograms & HISTOGRAM_BIT(id))
			ret = session_read_histogram(counting->session, id, &texts[id]);
	if (!ret) {
		pipeline_view(counting->pipeline, &view);
		return account_read(counting->account, texts, view.ts);
	}
	for (int id = 0; id < HISTOGRAM_COUNT; id++)
		free(texts[id]);
	return ret;
}

/* Returns 0, or -errno with the failure. */
static int read_tables(struct counting *counting)
{
	int ret = read_texts(counting);

	/* Memory comes back. */
	for (int i = 0; (ret == -EAGAIN || ret == -ENOMEM) && i < HISTOGRAM_TRIES; i++) {
		usleep(HISTOGRAM_PAUSE_US);
		ret = read_texts(counting);
	}
	if (ret == -ESTALE || ret == -ENOENT)
		return failure_set(counting->failure, EXIT_STATUS_IN_USE, EBUSY,
				   "tracing was taken away by somebody else: a histogram of ours "
				   "is gone, and with it what it had counted");
	return ret ? failure_set(counting->failure, EXIT_STATUS_RUN_TIME, -ret,
				 "histograms cannot be read: %s",
				 ret == -EAGAIN ? "the kernel has no memory to print them" :
						  strerror(-ret)) :
		     0;
}

/* Returns 0 or -errno of the writer. */
static int print_tables(struct counting *counting, const struct summary_view *view,
			struct writer *writer, const char *form, bool is_interval)
{
	const struct options *options = counting->run->options;
	struct account_tables tables;
	struct account_view shown = {
		.tables = &tables,
		.sort = options->sort,
		.top = options->top,
		.is_interval = is_interval,
		.threshold = counting->plan->threshold,
	};
	uint64_t began, unknown;
	int ret = account_tables(counting->account, is_interval, options->sort, &tables);

	if (ret)
		return ret;
	began = is_interval && counting->interval_began ? counting->interval_began : view->since;
	shown.ts = view->ts;
	shown.realtime = resolver_realtime(view->resolver, view->ts);
	shown.duration = view->ts > began ? view->ts - began : 0;
	shown.lost = losses_total(view->losses, &unknown);
	shown.is_loss_unknown = unknown;
	return account_print(writer, form, &shown);
}

/* The pipeline's output takes stalls, and prints the tables of the whole run in place of a summary. */

static int take_account_stall(struct output *output, const struct named_stall *named)
{
	struct counting *counting = output->form;

	account_stall(counting->account, named);
	return 0;
}

static int put_account_summary(struct output *output, const struct summary_view *view)
{
	return print_tables(output->form, view, output->setup.writer, output->setup.options->format,
			    false);
}

static const struct output_ops account_output = {
	.stall = take_account_stall,
	.summary = put_account_summary,
};

/* Prints the tables that were read last. */
static int print_tables_to_stderr(struct counting *counting, const char *form)
{
	struct writer *writer = report_stderr(counting->run);
	struct summary_view view;
	int ret;

	pipeline_view(counting->pipeline, &view);
	ret = writer ? print_tables(counting, &view, writer, form, false) : -ENOMEM;
	writer_free(writer);
	return ret;
}

/* Prints the tables of an interval that has ended, unless nothing happened, and begins the next one. */
static int print_interval(struct counting *counting)
{
	struct summary_view view;
	int ret = 0;

	pipeline_view(counting->pipeline, &view);
	if (view.ts > counting->interval_began)
		ret = print_tables(counting, &view, counting->run->output,
				   counting->run->options->format, true);
	account_begin_interval(counting->account);
	counting->interval_began = view.ts;
	return ret;
}

/* ---- the loop ---- */

static int drain_account(struct counting *counting, uint64_t now)
{
	int pages = pipeline_read_all(counting->pipeline);

	losses_report(pipeline_losses(counting->pipeline), now);
	return pages < 0 ? pages : 0;
}

/* The mark is a record with the present time: the tables are of all the time until now. */
static int read_all_counts(struct counting *counting, uint64_t now)
{
	int ret;

	session_mark_clock(counting->session);
	ret = drain_account(counting, now);
	return ret ? ret : read_tables(counting);
}

static int account_buffer_ready(void *context, int fd, uint32_t events)
{
	struct counting *counting = context;

	/* An offline CPU's descriptor may stay ready with nothing to read. */
	if (events & (EPOLLERR | EPOLLHUP))
		loop_forget(counting->loop, fd);
	return drain_account(counting, loop_now());
}

static void watch_account_buffers(struct counting *counting)
{
	for (int i = 0; i < cpu_buffers_count(counting->buffers); i++) {
		int fd = cpu_buffers_fd(counting->buffers, i);

		loop_forget(counting->loop, fd);
		loop_watch(counting->loop, fd, EPOLLIN, account_buffer_ready);
	}
}

static int account_second(struct counting *counting, uint64_t now)
{
	char what[256];

	counting->next_second = now + NS_PER_SECOND;
	if (cpu_buffers_reopen(counting->buffers))
		watch_account_buffers(counting);
	pipeline_count_unread(counting->pipeline, cpu_buffers_starved(counting->buffers));
	if (now >= counting->next_mark) {
		session_mark_clock(counting->session);
		counting->next_mark = now + MARK_INTERVAL;
	}
	if (now >= counting->next_memory) {
		counting->locked = counting->locked || memory_lock();
		session_grow_buffer(counting->session);
		counting->next_memory = now + MEMORY_INTERVAL;
	}
	if (!session_taken(counting->session, what, sizeof(what)))
		return 0;
	return failure_set(counting->failure, EXIT_STATUS_IN_USE, EBUSY,
			   "tracing was taken away by somebody else: %s", what);
}

static int account_tick(void *context, uint64_t now)
{
	struct counting *counting = context;
	int ret;

	if (counting->next_interval && now >= counting->next_interval) {
		ret = read_all_counts(counting, now);
		if (!ret)
			ret = print_interval(counting);
		while (counting->next_interval <= now)
			counting->next_interval += counting->run->options->interval;
	} else {
		ret = drain_account(counting, now);
	}
	return !ret && now >= counting->next_second ? account_second(counting, now) : ret;
}

/* JSON has a line for the tables so far, and the other forms are no text to look at. */
static int print_so_far(struct counting *counting)
{
	bool is_json = !strcmp(counting->run->options->format, "json");
	int ret = read_all_counts(counting, loop_now());

	if (!ret)
		print_tables_to_stderr(counting, is_json ? "json" : "text");
	return ret;
}

static int account_signal(void *context, int number)
{
	struct counting *counting = context;
	struct command *command = counting->run->command;

	if (number == SIGUSR1)
		return print_so_far(counting);
	if (command && number != SIGALRM) {
		command_signal(command, number,
			       signals_from_terminal(counting->run->signals, number));
		return 0;
	}
	/* The time of -d is over. */
	if (command)
		command_signal(command, SIGTERM, false);
	log_debug("%s: stopping", strsignal(number));
	return 1;
}

static int account_output_gone(void *context, int fd, uint32_t events)
{
	(void)context;
	(void)fd;
	(void)events;
	return -EPIPE;
}

/* ---- the run ---- */

/* Does all slow or fallible work before the first change of tracing. */
static int prepare_account(struct counting *counting)
{
	const struct run_context *run = counting->run;
	const struct output_form form = { &account_output, counting };
	struct summary_view view;
	int ret = kernel_plan(&counting->kernel, &counting->plan, run->options, true,
			      counting->failure);

	if (!ret)
		ret = start_source(&counting->source, &counting->cpu_numbers, counting->kernel, run,
				   counting->failure);
	if (!ret)
		ret = kernel_check_processes(run->options, counting->failure);
	if (ret)
		return ret;
	cpu_buffers_allow_files(counting->kernel->dir, 1);
	ret = pipeline_new(&counting->pipeline, run->options, counting->plan, &counting->source,
			   run->output, &form, counting->failure);
	if (ret)
		return ret;
	pipeline_view(counting->pipeline, &view);
	counting->account = account_new(counting->plan, run->options->pids, view.resolver);
	return counting->account ? 0 :
				   failure_set(counting->failure, EXIT_STATUS_RUN_TIME, ENOMEM,
					       "out of memory");
}

static int make_account_loop(struct counting *counting)
{
	static const struct loop_callbacks callbacks = { account_tick, account_signal };
	const struct run_context *run = counting->run;
	int ret = 0;

	counting->loop = loop_new(&callbacks, counting, run->signals);
	if (!counting->loop)
		ret = -errno;
	if (!ret && run->command)
		ret = loop_watch(counting->loop, command_fd(run->command), EPOLLIN, loop_end);
	if (!ret)
		ret = loop_set_tick(counting->loop, TICK);
	if (ret)
		return failure_set(counting->failure, EXIT_STATUS_RUN_TIME, -ret, "epoll: %s",
				   strerror(-ret));
	loop_watch(counting->loop, writer_fd(run->output), 0, account_output_gone);
	watch_account_buffers(counting);
	return 0;
}

static int set_up_account(struct counting *counting)
{
	const struct options *options = counting->run->options;
	const pid_t command_pids[] = { counting->source.command, 0 };
	const struct session_request request = {
		.kernel = counting->kernel,
		.plan = counting->plan,
		.buffer = options->buffer,
		.pids = counting->run->command ? command_pids : options->pids,
		.force = options->force,
		.run_dir = counting->run->run_dir,
	};
	int ret = session_start(&counting->session, &request, counting->failure);
	const char *dir;

	if (ret)
		return ret;
	dir = session_dir(counting->session);
	ret = start_layout(&counting->source, dir, counting->failure);
	if (!ret)
		ret = cpu_buffers_open(&counting->buffers, dir, &counting->source.cpus,
				       counting->source.layout.size, counting->failure);
	if (ret)
		return ret;
	pipeline_read_buffers(counting->pipeline, counting->buffers, NULL);
	session_set_buffer_percent(counting->session, ALARM_PERCENT);
	return make_account_loop(counting);
}

static int start_account_times(struct counting *counting)
{
	uint64_t interval = counting->run->options->interval, now = loop_now();

	counting->next_second = now + NS_PER_SECOND;
	counting->next_mark = now + MARK_INTERVAL;
	counting->next_memory = now + MEMORY_INTERVAL;
	if (interval)
		counting->next_interval = now + interval;
	return start_deadline(counting->run, counting->failure);
}

/* Tasks are read once forks are counted, so none is missed. */
static int count_and_trace(struct counting *counting)
{
	int ret = session_on(counting->session, counting->failure);

	if (ret)
		return ret;
	session_mark_clock(counting->session);
	pipeline_read_symbols(counting->pipeline);
	ret = account_see_tasks(counting->account, counting->source.proc);
	return ret ? failure_set(counting->failure, EXIT_STATUS_RUN_TIME, -ret, "out of memory") :
		     0;
}

static int begin_account(struct counting *counting)
{
	const struct run_context *run = counting->run;
	int ret;

	counting->locked = memory_lock();
	ret = count_and_trace(counting);
	if (ret)
		return ret;
	ret = output_file_begin(writer_fd(run->output), run->options->output);
	if (ret)
		return failure_set(counting->failure, EXIT_STATUS_RUN_TIME, -ret, "-o %s: %s",
				   run->options->output, strerror(-ret));
	ret = start_account_times(counting);
	if (ret)
		return ret;
	kernel_log_unavailable(counting->plan);
	log_notice("tracing in %s, threshold %" PRIu64 " us; %s", session_dir(counting->session),
		   counting->plan->threshold / 1000,
		   run->command ? "it ends with COMMAND" : "Ctrl-C ends it");
	if (run->command)
		command_start(run->command);
	return 0;
}

/* Counts what is left in the buffers, once tracing is off. */
static int read_last_counts(struct counting *counting)
{
	struct losses *losses = pipeline_losses(counting->pipeline);
	int pages, ret;

	do {
		pages = pipeline_read_all(counting->pipeline);
	} while (pages > 0);
	if (pages < 0)
		return pages;
	/* The pages report overwritten records, but not dropped ones. */
	for (int i = 0; i < cpu_buffers_count(counting->buffers); i++) {
		uint64_t dropped = cpu_buffers_dropped(counting->buffers, i);

		if (dropped)
			losses_add(losses, cpu_buffers_cpu(counting->buffers, i), (int64_t)dropped);
	}
	ret = pipeline_flush(counting->pipeline);
	if (!ret)
		ret = read_tables(counting);
	counting->has_tables = !ret;
	if (!ret && counting->next_interval)
		ret = print_interval(counting);
	return ret;
}

/* If tracing was taken away, the counts before that are still valid, where they are. */
static int finish_account(struct counting *counting, int error)
{
	bool taken = counting->failure->status == EXIT_STATUS_IN_USE;
	struct failure failure = *counting->failure;
	int ret = error;

	if (counting->run->options->duration)
		signals_set_deadline(counting->run->signals, 0);
	/* SIGUSR1 may have come just before the end. */
	if (signals_summary_asked(counting->run->signals) && !error)
		ret = print_so_far(counting);
	if (!taken)
		session_mark_clock(counting->session);
	session_off(counting->session);
	writer_stop(counting->run->output);
	if (!ret || taken)
		ret = read_last_counts(counting);
	if (taken) {
		*counting->failure = failure;
		return error;
	}
	return ret && !*counting->failure->text ? output_failed(ret, counting->failure) : ret;
}

/* Restores tracing. Its failure replaces that of the run, which is then logged here. */
static int end_account(struct counting *counting, int ret)
{
	struct failure failure = { 0 };
	int end;

	if (counting->buffers && cpu_buffers_errors(counting->buffers))
		log_warning("%" PRIu64 " reads of the raw buffers failed, ignoring",
			    cpu_buffers_errors(counting->buffers));
	cpu_buffers_close(counting->buffers);
	loop_free(counting->loop);
	end = counting->session ? session_end(counting->session, &failure) : 0;
	if (!end)
		return ret;
	if (ret && *counting->failure->text)
		log_error("%s", counting->failure->text);
	*counting->failure = failure;
	return end;
}

/* Prints the tables of the whole run. With `> out` a user at a terminal still sees them. */
static int print_last_tables(struct counting *counting)
{
	struct summary_view view;
	int ret, shown = 0;

	pipeline_view(counting->pipeline, &view);
	ret = output_summary(pipeline_output(counting->pipeline), &view);
	if (!counting->run->options->quiet && isatty(STDERR_FILENO) &&
	    !isatty(writer_fd(counting->run->output)))
		shown = print_tables_to_stderr(counting, "text");
	return ret ? ret : shown;
}

int account_run(const struct run_context *run, struct failure *failure)
{
	struct counting counting = { .run = run, .failure = failure };
	int ret = prepare_account(&counting), end = 0;

	if (!ret) {
		ret = set_up_account(&counting);
		if (!ret)
			ret = begin_account(&counting);
		if (!ret)
			ret = finish_account(&counting, loop_run(counting.loop));
		ret = end_account(&counting, ret);
		if (counting.has_tables)
			end = print_last_tables(&counting);
		if (!ret && end)
			ret = output_failed(end, failure);
		pipeline_log_end(counting.pipeline);
	}
	account_free(counting.account);
	pipeline_free(counting.pipeline);
	plan_free(counting.plan);
	kernel_close(counting.kernel);
	free(counting.cpu_numbers);
	return ret;
}
