// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"
#include "allocfilt/record.h"
#include "allocfilt/stall.h"
#include "allocfilt/tracing.h"
#include "run/pipeline.h"
#include "run/report.h"

struct pipeline {
	const struct options *options;
	const struct plan *plan;
	const struct data_source *source;
	struct resolver *resolver;
	bool by_pid; /* only processes of options->pids are shown */
	struct page_reader *pages;
	struct decode *decode;
	struct merge *merge;
	struct claims *claims;
	struct report *report;
	struct losses *losses;
	size_t page_bytes; /* at most, of the records of a page in merge */
	bool left_with_data;
	bool said_ragged_end;
	uint64_t *newest; /* ns, by place: where a damaged page's loss is put */
	uint64_t unread_cpus;
	uint64_t damaged_pages;
	int first_damaged; /* CPU */
	uint64_t bad_formats;
	char first_bad_format[160];
};

static bool has_pid(const pid_t *pids, pid_t pid)
{
	while (*pids && *pids != pid)
		pids++;
	return *pids;
}

static bool is_asked_for(struct pipeline *pipeline, const struct record *record)
{
	const pid_t *recorded = pipeline->source->recorded;
	const struct task_info *task;

	if (pipeline->source->own && record->pid == pipeline->source->own)
		return false;
	if (!pipeline->by_pid && !recorded)
		return true;
	task = resolver_task(pipeline->resolver, record->pid, record->ts);
	if (pipeline->by_pid)
		return !record_in_interrupt(record) &&
		       has_pid(pipeline->options->pids, task->tgid ? task->tgid : record->pid);
	/* The kernel left others out, but for functions on some kernels. A task of which nothing
	 * is known is more likely a thread that soon ended. */
	return !task->tgid || has_pid(recorded, task->tgid);
}

static int record_in_order(void *context, const struct record *record)
{
	struct pipeline *pipeline = context;
	int ret = report_record(pipeline->report, record);

	if (ret)
		return ret;
	if (record->kind == RECORD_SUPERBLOCK)
		return 0;
	if (record->kind == RECORD_LOST)
		losses_add(pipeline->losses, record->cpu, record->lost);
	else if (!is_asked_for(pipeline, record))
		return 0;
	return claims_record(pipeline->claims, record);
}

static uint64_t *newest_of(struct pipeline *pipeline, int cpu)
{
	return &pipeline->newest[cpu_list_place(&pipeline->source->cpus, cpu)];
}

/* A task may be gone by the time its record is in order, so its name is noted here. */
static int record_decoded(void *context, const struct record *record)
{
	struct pipeline *pipeline = context;

	*newest_of(pipeline, record->cpu) = record->ts;
	resolver_see(pipeline->resolver, record);
	return merge_put(pipeline->merge, record);
}

static bool cpu_ready(void *context, int cpu)
{
	struct pipeline *pipeline = context;

	return merge_has_room(pipeline->merge, cpu, pipeline->page_bytes);
}

static void cpu_left_with_data(void *context, int cpu)
{
	struct pipeline *pipeline = context;

	pipeline->left_with_data = true;
	merge_left_with_data(pipeline->merge, cpu);
}

/* The last page of a file may be cut or of zeros: so copying a live buffer ends. */
static int ragged_end(struct pipeline *pipeline, int cpu, enum page_state state)
{
	if (!pipeline->said_ragged_end)
		log_warning("%s/per_cpu/cpu%d/trace_pipe_raw: the last page is %s, ignoring",
			    pipeline->source->dir, cpu, state == PAGE_CUT ? "cut" : "of zeros");
	pipeline->said_ragged_end = true;
	return 0;
}

static int damaged_page(struct pipeline *pipeline, int cpu)
{
	if (!pipeline->damaged_pages++)
		pipeline->first_damaged = cpu;
	return decode_lost(pipeline->decode, cpu, *newest_of(pipeline, cpu), RECORD_LOST_UNKNOWN);
}

static int page_arrived(void *context, int cpu, const void *page, size_t length, bool last)
{
	struct pipeline *pipeline = context;
	enum page_state state;
	int ret = page_read(pipeline->pages, cpu, page, length, &state);

	if (ret || state == PAGE_GOOD || state == PAGE_EMPTY)
		return ret;
	if (last && state != PAGE_DAMAGED)
		return ragged_end(pipeline, cpu, state);
	return damaged_page(pipeline, cpu);
}

void pipeline_source_sink(struct pipeline *pipeline, struct source_sink *sink)
{
	sink->context = pipeline;
	sink->ready = cpu_ready;
	sink->page = page_arrived;
	sink->left_with_data = cpu_left_with_data;
}

static int add_event_formats(struct pipeline *pipeline, struct failure *failure)
{
	const struct plan *plan = pipeline->plan;

	for (int i = 0; i < plan->nr_events; i++) {
		const struct plan_event *event = &plan->events[i];
		int ret = decode_read_format(pipeline->decode, i, event->id, event->system,
					     event->name);

		if (ret == -ENOMEM)
			return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
		if (ret && !pipeline->bad_formats++)
			snprintf(pipeline->first_bad_format, sizeof(pipeline->first_bad_format),
				 "events/%s/%s/format", event->system, event->name);
	}
	return 0;
}

void pipeline_read_probe(struct pipeline *pipeline)
{
	decode_read_format(pipeline->decode, DECODE_SUPERBLOCK, EVENT_USER, PROBE_SYSTEM,
			   PROBE_NAME);
}

uint64_t pipeline_address(const struct pipeline *pipeline, const char *function)
{
	return resolver_address(pipeline->resolver, function);
}

static int add_formats(struct pipeline *pipeline, struct failure *failure)
{
	int ret = add_event_formats(pipeline, failure);

	if (ret)
		return ret;
	decode_read_format(pipeline->decode, DECODE_PRINT, EVENT_USER, "ftrace", "print");
	pipeline_read_probe(pipeline);
	decode_read_format(pipeline->decode, DECODE_STACK, EVENT_USER, "ftrace", "kernel_stack");
	if (!pipeline->plan->function_graph)
		return 0;
	ret = decode_read_format(pipeline->decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace",
				 "funcgraph_exit");
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "%s/events/ftrace/funcgraph_exit/format: %s",
				   pipeline->source->dir, strerror(-ret));
	return 0;
}

static bool make_record_stages(struct pipeline *pipeline)
{
	const struct data_source *source = pipeline->source;
	const struct decode_callbacks callbacks = {
		.role_of = resolver_role,
		.symbol = resolver_symbol,
		.context = pipeline->resolver,
		.sink = record_decoded,
		.sink_context = pipeline,
	};
	struct page_sink pages = { .record = decode_record, .lost = decode_lost };
	size_t share = merge_share(source->cpus.count, source->layout.size);

	pipeline->page_bytes = merge_page_bytes(source->layout.size);
	pipeline->decode = decode_new(source, resolver_stacks(pipeline->resolver), &callbacks);
	resolver_set_decode(pipeline->resolver, pipeline->decode);
	pages.context = pipeline->decode;
	pipeline->pages = page_reader_new(&source->layout, &pages);
	pipeline->merge = merge_new(&source->cpus, share, record_in_order, pipeline);
	return pipeline->decode && pipeline->pages && pipeline->merge;
}

static bool make_task_stages(struct pipeline *pipeline, struct writer *writer)
{
	const struct data_source *source = pipeline->source;
	const struct options *options = pipeline->options;
	struct claims_sink sink = { .window = report_window, .pair = report_pair };

	/* Those of a configuration file are of live runs. */
	pipeline->by_pid =
		options->pids && (source->proc || options_on_command_line(options, "pid"));
	pipeline->newest = calloc(source->cpus.count, sizeof(*pipeline->newest));
	pipeline->losses = losses_new(&source->cpus);
	if (!pipeline->newest || !pipeline->losses)
		return false;
	pipeline->report = report_new(options, pipeline->plan, source, pipeline->resolver,
				      pipeline->losses, writer);
	if (!pipeline->report)
		return false;
	sink.context = pipeline->report;
	pipeline->claims = claims_new(pipeline->plan, source, &options->limits, &sink);
	return pipeline->claims;
}

static int fill_pipeline(struct pipeline *pipeline, struct writer *writer, struct failure *failure)
{
	int ret = resolver_new(&pipeline->resolver, pipeline->plan, pipeline->source,
			       pipeline->options, failure);

	if (ret)
		return ret;
	if (!make_record_stages(pipeline) || !make_task_stages(pipeline, writer))
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	return add_formats(pipeline, failure);
}

int pipeline_new(struct pipeline **ret_pipeline, const struct options *options,
		 const struct plan *plan, const struct data_source *source, struct writer *writer,
		 struct failure *failure)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int ret;

	if (!pipeline)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	pipeline->options = options;
	pipeline->plan = plan;
	pipeline->source = source;
	ret = fill_pipeline(pipeline, writer, failure);
	if (ret) {
		pipeline_free(pipeline);
		return ret;
	}
	*ret_pipeline = pipeline;
	return 0;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	free(pipeline->newest);
	claims_free(pipeline->claims);
	report_free(pipeline->report);
	losses_free(pipeline->losses);
	merge_free(pipeline->merge);
	decode_free(pipeline->decode);
	page_reader_free(pipeline->pages);
	resolver_free(pipeline->resolver);
	free(pipeline);
}

int pipeline_end_round(struct pipeline *pipeline)
{
	bool left = pipeline->left_with_data;
	int ret = merge_end_round(pipeline->merge);

	pipeline->left_with_data = false;
	return ret ? ret : left;
}

int pipeline_flush(struct pipeline *pipeline)
{
	int ret = merge_flush(pipeline->merge);

	return ret ? ret : report_flush(pipeline->report);
}

#define OVERFLOWS (4 + RESOLVER_OVERFLOWS + REPORT_OVERFLOWS)

static size_t list_overflows(const struct pipeline *pipeline, struct overflow overflows[OVERFLOWS])
{
	const struct claims_drops *drops = claims_drops(pipeline->claims);
	size_t count = 0;

	overflows[count++] = (struct overflow){ "tasks", "tasks with waiting events were forgotten",
						drops->tasks };
	overflows[count++] =
		(struct overflow){ "window_events",
				   "slow windows lack events that made room for newer ones",
				   drops->windows };
	overflows[count++] = (struct overflow){ "merge", "records went out before their turn",
						merge_forced(pipeline->merge) };
	overflows[count++] = (struct overflow){ "cpus", "CPUs were not read: too few open files",
						pipeline->unread_cpus };
	count += resolver_overflows(pipeline->resolver, &overflows[count]);
	return count + report_overflows(pipeline->report, &overflows[count]);
}

void pipeline_unread(struct pipeline *pipeline, unsigned int cpus)
{
	if (cpus > pipeline->unread_cpus)
		pipeline->unread_cpus = cpus;
}

int pipeline_end(struct pipeline *pipeline)
{
	struct overflow overflows[OVERFLOWS];
	size_t count = list_overflows(pipeline, overflows);

	return report_end(pipeline->report, overflows, count);
}

int pipeline_so_far(struct pipeline *pipeline, struct writer *writer)
{
	struct overflow overflows[OVERFLOWS];
	size_t count = list_overflows(pipeline, overflows);

	return report_so_far(pipeline->report, writer, overflows, count);
}

int pipeline_metrics(struct pipeline *pipeline, struct writer *writer,
		     const struct metrics_process *process)
{
	struct overflow overflows[OVERFLOWS];
	size_t count = list_overflows(pipeline, overflows);

	return report_metrics(pipeline->report, writer, overflows, count, process);
}

int pipeline_for_people(struct pipeline *pipeline, struct writer *writer)
{
	struct overflow overflows[OVERFLOWS];
	size_t count = list_overflows(pipeline, overflows);

	return report_for_people(pipeline->report, writer, overflows, count);
}

void pipeline_tick(struct pipeline *pipeline, uint64_t now)
{
	report_tick(pipeline->report, now);
}

void pipeline_change(struct pipeline *pipeline, const struct options *options)
{
	pipeline->options = options;
	report_change(pipeline->report, options);
}

bool pipeline_journal(const struct pipeline *pipeline, struct journal_counts *ret_counts)
{
	return report_journal(pipeline->report, ret_counts);
}

size_t pipeline_status(const struct pipeline *pipeline, char *text, size_t size)
{
	return report_status(pipeline->report, text, size);
}

void pipeline_dropped(struct pipeline *pipeline, int cpu, uint64_t count)
{
	if (count)
		losses_add(pipeline->losses, cpu, count);
}

void pipeline_say_losses(struct pipeline *pipeline, uint64_t now)
{
	losses_report(pipeline->losses, now);
}

static void say_drops(const struct pipeline *pipeline)
{
	struct overflow overflows[OVERFLOWS];
	size_t count = list_overflows(pipeline, overflows);

	for (size_t i = 0; i < count; i++) {
		const struct overflow *overflow = &overflows[i];

		if (overflow->count && overflow->harmless)
			log_debug("%" PRIu64 " %s", overflow->count, overflow->text);
		else if (overflow->count)
			log_warning("a limit was reached: %" PRIu64 " %s", overflow->count,
				    overflow->text);
	}
}

static void say_journal(const struct pipeline *pipeline)
{
	struct journal_counts counts;

	pipeline_journal(pipeline, &counts);
	if (counts.dropped)
		log_warning("the journal did not take %" PRIu64 " entries, they are dropped",
			    counts.dropped);
}

void pipeline_say_end(const struct pipeline *pipeline)
{
	say_drops(pipeline);
	say_journal(pipeline);
	if (pipeline->source->proc || losses_any(pipeline->losses))
		losses_report_all(pipeline->losses, pipeline->source->proc != NULL);
	/* Of a running kernel it was said at the start. */
	if (!pipeline->source->proc &&
	    shrinker_names_missing(resolver_superblocks(pipeline->resolver)))
		log_notice("superblocks have no names: the capture was taken without our probe");
}

struct flaw_text {
	char *text;
	size_t size;
	size_t used;
	uint64_t count;
};

__attribute__((format(printf, 3, 4))) static void add_flaw(struct flaw_text *flaws, uint64_t count,
							   const char *format, ...)
{
	va_list arguments;

	if (!count || flaws->used >= flaws->size)
		return;
	flaws->count += count;
	if (flaws->used)
		flaws->used += snprintf(flaws->text + flaws->used, flaws->size - flaws->used, ", ");
	if (flaws->used >= flaws->size)
		return;
	va_start(arguments, format);
	flaws->used +=
		vsnprintf(flaws->text + flaws->used, flaws->size - flaws->used, format, arguments);
	va_end(arguments);
}

uint64_t pipeline_flaws(const struct pipeline *pipeline, char *text, size_t size)
{
	struct flaw_text flaws = { .text = text, .size = size };
	int type = 0;
	uint64_t unknown = decode_unknown(pipeline->decode, &type);
	uint64_t damaged = decode_damaged(pipeline->decode);

	add_flaw(&flaws, pipeline->damaged_pages,
		 "%" PRIu64 " damaged pages (the first of CPU %d) skipped and counted as lost",
		 pipeline->damaged_pages, pipeline->first_damaged);
	add_flaw(&flaws, pipeline->bad_formats, "%s cannot be read", pipeline->first_bad_format);
	add_flaw(&flaws, unknown, "%" PRIu64 " records of a type without a format (the first: %d)",
		 unknown, type);
	add_flaw(&flaws, damaged, "%" PRIu64 " records shorter than their format says", damaged);
	return flaws.count;
}
