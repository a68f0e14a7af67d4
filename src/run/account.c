// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/account/account.h"
#include "allocfilt/base/memory.h"
#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/report.h"
#include "run/tracing.h"

#define TICK		   (110 * NS_PER_MS) /* a task's process is read meanwhile */
#define ALARM_PERCENT	   50 /* percent of a buffer at which it wakes us between two ticks */
#define HISTOGRAM_TRIES	   20 /* while memory is short: 2 s */
#define HISTOGRAM_PAUSE_US 100000

/* The run of `allocfilt account`. The kernel counts; records tell who stalls. */
struct counting {
	struct tracing tracing;
	struct account *account;
	bool has_tables;		     /* and they are those of the end */
	struct summary_view interval_before; /* when the interval began */
};

/* ---- tables ---- */

static int read_texts(struct counting *counting)
{
	char *texts[HISTOGRAM_COUNT] = { NULL };
	struct summary_view view;
	int ret = 0;

	for (int id = 0; id < HISTOGRAM_COUNT && !ret; id++)
		if (counting->tracing.plan->histograms & HISTOGRAM_BIT(id))
			ret = session_read_histogram(counting->tracing.session, id, &texts[id]);
	if (!ret) {
		pipeline_view(counting->tracing.pipeline, &view);
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
		return failure_set(counting->tracing.failure, EXIT_STATUS_IN_USE, EBUSY,
				   "tracing was taken away by somebody else: a histogram of ours "
				   "is gone, and with it what it had counted");
	return ret ? failure_set(counting->tracing.failure, EXIT_STATUS_RUN_TIME, -ret,
				 "histograms cannot be read: %s",
				 ret == -EAGAIN ? "the kernel has no memory to print them" :
						  strerror(-ret)) :
		     0;
}

/* Returns 0 or -errno of the writer. */
static int print_tables(struct counting *counting, const struct summary_view *view,
			struct writer *writer, const char *form)
{
	struct account_tables tables;
	int ret =
		account_tables(counting->account, view->is_interval, view->options->sort, &tables);

	return ret ? ret : account_print(writer, form, view, &tables);
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
	return print_tables(output->form, view, output->setup.writer, view->options->format);
}

static const struct output_ops account_output = {
	.stall = take_account_stall,
	.summary = put_account_summary,
};

/* Prints the tables that were read last. */
static int print_tables_to_stderr(struct counting *counting, const char *form)
{
	struct writer *writer = writer_beside(counting->tracing.run->output, STDERR_FILENO);
	struct summary_view view;
	int ret;

	pipeline_view(counting->tracing.pipeline, &view);
	ret = writer ? print_tables(counting, &view, writer, form) : -ENOMEM;
	writer_free(writer);
	return ret;
}

/* Prints the tables of an interval that has ended, unless nothing happened, and begins the next one. */
static int print_interval(struct counting *counting)
{
	struct summary_view view, before;
	int ret = 0;

	pipeline_view(counting->tracing.pipeline, &view);
	before = view;
	summary_view_since(&view, &counting->interval_before);
	view.is_interval = true;
	if (view.ts > counting->interval_before.ts)
		ret = print_tables(counting, &view, counting->tracing.run->output,
				   view.options->format);
	account_begin_interval(counting->account);
	counting->interval_before = before;
	return ret;
}

/* ---- the loop ---- */

static int drain_account(void *context, uint64_t now)
{
	struct counting *counting = context;
	int pages = pipeline_read_all(counting->tracing.pipeline);

	losses_report(pipeline_losses(counting->tracing.pipeline), now);
	return pages < 0 ? pages : 0;
}

static int account_tick(void *context, uint64_t now)
{
	struct counting *counting = context;
	bool ends = tracing_interval_ends(&counting->tracing, now);
	int ret = drain_account(counting, now);

	if (!ret && ends)
		ret = read_tables(counting);
	if (!ret && ends)
		ret = print_interval(counting);
	if (!ret && now >= counting->tracing.next_second)
		ret = tracing_second(&counting->tracing, now);
	return ret;
}

/*
 * JSON has a line for the tables so far; the other forms have none, and nobody reads them so early.
 */
static int print_so_far(struct counting *counting)
{
	bool is_json = !strcmp(counting->tracing.run->options->format, "json");
	int ret;

	/*
	 * The mark is a record with the present time: with it the tables cover all the time until
	 * now.
	 */
	session_mark_clock(counting->tracing.session);
	ret = drain_account(counting, loop_now());
	if (!ret)
		ret = read_tables(counting);
	if (!ret)
		print_tables_to_stderr(counting, is_json ? "json" : "text");
	return ret;
}

static int account_signal(void *context, int number)
{
	struct counting *counting = context;

	if (number == SIGUSR1)
		return print_so_far(counting);
	return tracing_signal(&counting->tracing, number);
}

/* ---- the run ---- */

/* Does all slow or fallible work before the first change of tracing. */
static int prepare_account(struct counting *counting)
{
	const struct run_context *run = counting->tracing.run;
	const struct output_form form = { &account_output, counting };
	int ret = tracing_plan(&counting->tracing, 1);

	if (ret)
		return ret;
	ret = pipeline_new(&counting->tracing.pipeline, run->options, counting->tracing.plan,
			   &counting->tracing.source, run->output, &form,
			   counting->tracing.failure);
	if (ret)
		return ret;
	counting->account = account_new(counting->tracing.plan, run->options->pids,
					pipeline_resolver(counting->tracing.pipeline));
	return counting->account ? 0 : failure_no_memory(counting->tracing.failure);
}

static int set_up_account(struct counting *counting)
{
	static const struct loop_callbacks callbacks = { account_tick, account_signal,
							 drain_account };
	const struct session_request request = { 0 };
	struct tracing *tracing = &counting->tracing;
	int ret = tracing_set_up(tracing, &request);

	if (!ret)
		ret = tracing_make_loop(tracing, &callbacks, counting, true);
	return ret ? ret : tracing_set_tick(tracing, TICK, ALARM_PERCENT);
}

/* Tasks are read once forks are counted, so none is missed. */
static int count_and_trace(struct counting *counting)
{
	int ret = session_on(counting->tracing.session, counting->tracing.failure);

	if (ret)
		return ret;
	session_mark_clock(counting->tracing.session);
	resolver_read_symbols(pipeline_resolver(counting->tracing.pipeline));
	ret = account_see_tasks(counting->account, counting->tracing.source.proc);
	return ret ? failure_no_memory(counting->tracing.failure) : 0;
}

static int begin_account(struct counting *counting)
{
	struct tracing *tracing = &counting->tracing;
	int ret;

	memory_lock();
	ret = count_and_trace(counting);
	if (!ret)
		ret = tracing_begin(tracing);
	if (!ret && tracing->run->options->interval)
		tracing->next_interval = loop_now() + tracing->run->options->interval;
	if (ret)
		return ret;
	kernel_log_unavailable(tracing->plan);
	tracing_announce(tracing);
	return 0;
}

/* Counts what is left in the buffers, once tracing is off. */
static int read_last_counts(struct counting *counting)
{
	int ret = tracing_read_rest(&counting->tracing, pipeline_flush);

	if (!ret)
		ret = read_tables(counting);
	counting->has_tables = !ret;
	if (!ret && counting->tracing.next_interval)
		ret = print_interval(counting);
	return ret;
}

/* If tracing was taken away, the counts before that are valid, as far as they are still there. */
static int finish_account(struct counting *counting, int error)
{
	bool taken = counting->tracing.failure->status == EXIT_STATUS_IN_USE;
	struct failure failure = *counting->tracing.failure;
	int ret = error;

	tracing_stop(&counting->tracing);
	/* SIGUSR1 may have come just before the end. */
	if (signals_summary_asked(counting->tracing.run->signals) && !error)
		ret = print_so_far(counting);
	if (!ret || taken)
		ret = read_last_counts(counting);
	if (taken) {
		*counting->tracing.failure = failure;
		return error;
	}
	return ret && !*counting->tracing.failure->text ?
		       output_failed(ret, counting->tracing.failure) :
		       ret;
}

/* Prints the tables of the whole run. With `> out` a user at a terminal still sees them. */
static int print_last_tables(struct counting *counting)
{
	struct summary_view view;
	int ret, shown = 0;

	pipeline_view(counting->tracing.pipeline, &view);
	ret = output_summary(pipeline_output(counting->tracing.pipeline), &view);
	if (!counting->tracing.run->options->quiet && isatty(STDERR_FILENO) &&
	    !isatty(writer_fd(counting->tracing.run->output)))
		shown = print_tables_to_stderr(counting, "text");
	return ret ? ret : shown;
}

int account_run(const struct run_context *run, struct failure *failure)
{
	struct counting counting = { .tracing = { .run = run, .failure = failure } };
	int ret = prepare_account(&counting), end = 0;

	if (!ret) {
		ret = set_up_account(&counting);
		if (!ret)
			ret = begin_account(&counting);
		if (!ret)
			ret = finish_account(&counting, loop_run(counting.tracing.loop));
		ret = tracing_end(&counting.tracing, ret);
		if (counting.has_tables)
			end = print_last_tables(&counting);
		if (!ret && end)
			ret = output_failed(end, failure);
		pipeline_log_end(counting.tracing.pipeline);
	}
	account_free(counting.account);
	tracing_free(&counting.tracing);
	return ret;
}
