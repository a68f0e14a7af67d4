// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/journal.h"
#include "allocfilt/stall.h"
#include "run/report.h"

struct report {
	const struct options *options;
	const struct plan *plan;
	const struct data_source *source;
	struct resolver *resolver;
	const struct losses *losses;
	struct output *output;
	struct shrinkers *shrinkers;
	struct stalls *stalls;
	struct summary *summary;
	uint64_t newest; /* ns: time of the newest record */
};

/* A name alone is no proof: any program may call itself so. */
static bool is_background(const char *name, const struct task_info *who)
{
	static const char *const names[] = { "kswapd", "kcompactd" };

	if (who->tgid && !who->kernel_thread)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(name, names[i], length) && isdigit((unsigned char)name[length]))
			return true;
	}
	return false;
}

static void name_function(const struct report *report, const struct stall *stall,
			  char name[STALL_FUNCTION_MAX])
{
	const char *title = catalog_role_title(stall->role);

	if (stall->function)
		resolver_symbol(report->resolver, stall->function, 's', name, STALL_FUNCTION_MAX);
	else
		snprintf(name, STALL_FUNCTION_MAX, "%s", title ? title : "");
}

static int stall_ended(void *context, const struct stall *stall)
{
	struct report *report = context;
	struct resolver *resolver = report->resolver;
	struct named_stall named = {
		.stall = stall,
		.who = resolver_task(resolver, stall->pid, stall->end),
		.name = resolver_task_name(resolver, stall->pid, stall->end),
		.interrupt = stall->key.kind != OWNER_TASK && stall->key.kind != OWNER_IDLE,
		.memcg = resolver_memcg(report->resolver, stall->memcg_id),
	};
	char function[STALL_FUNCTION_MAX];

	name_function(report, stall, function);
	named.function = function;
	named.background = !named.interrupt && is_background(named.name, named.who);
	summary_stall(report->summary, &named);
	return output_stall(report->output, &named);
}

int report_window(void *context, const struct task_window *window)
{
	struct report *report = context;
	int ret = output_window(report->output, window);

	summary_window(report->summary, window);
	return ret ? ret : stalls_window(report->stalls, window);
}

static void count_shrinker(struct report *report, const struct task_pair *pair)
{
	struct shrinker_names *names = resolver_superblocks(report->resolver);

	shrinkers_pair(report->shrinkers, pair);
	shrinkers_superblock(report->shrinkers, pair, shrinker_names_superblock(names, pair->end));
}

int report_pair(void *context, const struct task_pair *pair)
{
	struct report *report = context;
	int ret = output_pair(report->output, pair);

	if (report->plan->events[pair->end->event].id == EVENT_SLAB_END)
		count_shrinker(report, pair);
	summary_pair(report->summary, pair);
	return ret ? ret : stalls_pair(report->stalls, pair);
}

int report_record(struct report *report, const struct record *record)
{
	if (record->ts > report->newest)
		report->newest = record->ts;
	if (record->kind == RECORD_LOST)
		stalls_lost(report->stalls, record->ts);
	if (record->kind == RECORD_SUPERBLOCK)
		resolver_see_superblock(report->resolver, record);
	if (record->kind == RECORD_CLOCK)
		resolver_mark_clock(report->resolver, record->ts, record->realtime);
	return stalls_time(report->stalls, record->ts);
}

int report_flush(struct report *report)
{
	return stalls_flush(report->stalls);
}

static size_t event_text(void *context, const struct record *record, char *text, size_t size)
{
	const struct report *report = context;

	return resolver_event(report->resolver, record, text, size);
}

static bool make_stages(struct report *report, struct writer *writer)
{
	const struct output_setup output = {
		.options = report->options,
		.plan = report->plan,
		.source = report->source,
		.resolver = report->resolver,
		.writer = writer,
	};
	const struct stalls_callbacks stalls = {
		.event = event_text,
		.stall = stall_ended,
		.context = report,
	};

	report->output = output_new(&output);
	report->shrinkers = shrinkers_new();
	report->stalls = stalls_new(report->plan, &stalls);
	report->summary = summary_new(report->plan);
	return report->output && report->shrinkers && report->stalls && report->summary;
}

struct report *report_new(const struct options *options, const struct plan *plan,
			  const struct data_source *source, struct resolver *resolver,
			  const struct losses *losses, struct writer *writer)
{
	struct report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->options = options;
	report->plan = plan;
	report->source = source;
	report->resolver = resolver;
	report->losses = losses;
	if (make_stages(report, writer))
		return report;
	report_free(report);
	errno = ENOMEM;
	return NULL;
}

void report_free(struct report *report)
{
	if (!report)
		return;
	summary_free(report->summary);
	stalls_free(report->stalls);
	shrinkers_free(report->shrinkers);
	output_free(report->output);
	free(report);
}

size_t report_overflows(const struct report *report, struct overflow *overflows)
{
	const struct shrinker_names *names = resolver_superblocks(report->resolver);
	const struct stacks *stacks = resolver_stacks(report->resolver);

	overflows[0] = (struct overflow){ "stalls", "stalls were cut short or lack details",
					  stalls_dropped(report->stalls) };
	overflows[1] = (struct overflow){ "summary", "entries are missing in the summary",
					  summary_overflow(report->summary) +
						  shrinkers_overflow(report->shrinkers) +
						  shrinker_names_overflow(names) };
	overflows[2] = (struct overflow){ "stacks", "stacks are not shown",
					  stacks ? stacks_overflow(stacks) : 0 };
	return REPORT_OVERFLOWS;
}

static void fill_view(const struct report *report, struct summary_view *view,
		      const struct overflow *overflows, size_t nr_overflows)
{
	*view = (struct summary_view){
		.plan = report->plan,
		.resolver = report->resolver,
		.summary = report->summary,
		.shrinkers = report->shrinkers,
		.shrinker_names = resolver_superblocks(report->resolver),
		.losses = report->losses,
		.cpus = report->source->cpus,
		.overflows = overflows,
		.nr_overflows = nr_overflows,
		.top = report->options->top,
		.ts = report->newest,
	};
	view->has_journal = report_journal(report, &view->journal);
}

void report_tick(struct report *report, uint64_t now)
{
	struct summary_view view;

	fill_view(report, &view, NULL, 0);
	output_tick(report->output, now, &view);
}

void report_change(struct report *report, const struct options *options)
{
	report->options = options;
	output_change(report->output, options);
}

bool report_journal(const struct report *report, struct journal_counts *ret_counts)
{
	return output_counts(report->output, ret_counts);
}

size_t report_status(const struct report *report, char *text, size_t size)
{
	struct summary_view view;

	fill_view(report, &view, NULL, 0);
	return status_line(text, size, &view);
}

int report_end(struct report *report, const struct overflow *overflows, size_t nr_overflows)
{
	struct summary_view view;

	fill_view(report, &view, overflows, nr_overflows);
	return output_summary(report->output, &view);
}

int report_so_far(struct report *report, struct writer *writer, const struct overflow *overflows,
		  size_t nr_overflows)
{
	struct summary_view view;

	fill_view(report, &view, overflows, nr_overflows);
	return output_so_far(report->output, writer, &view);
}

int report_metrics(struct report *report, struct writer *writer, const struct overflow *overflows,
		   size_t nr_overflows, const struct metrics_process *process)
{
	struct summary_view view;

	fill_view(report, &view, overflows, nr_overflows);
	return metrics_text(writer, &view, process);
}

int report_for_people(struct report *report, struct writer *writer,
		      const struct overflow *overflows, size_t nr_overflows)
{
	struct summary_view view;

	fill_view(report, &view, overflows, nr_overflows);
	return summary_text(writer, &view);
}
