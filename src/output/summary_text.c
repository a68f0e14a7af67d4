// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base.h"
#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "output/shrinker_lines.h"
#include "output/stall_text.h"

#define STARS 40 /* columns of the histogram's bar, as bcc has it */

/* The summary is in ASCII but for names: it goes to files and terminals alike. */
static const struct terminal plain;

static int put_text(struct writer *writer, const char *text)
{
	return writer_put(writer, text, strlen(text));
}

static int put_shrinkers(struct writer *writer, const struct summary_view *view)
{
	struct shrinker_lines_setup lines = {
		.shrinkers = view->shrinkers,
		.names = view->shrinker_names,
		.symbol = resolver_symbol,
		.context = view->resolver,
	};
	int ret = put_text(writer, "\n");

	return ret ? ret : shrinker_lines_put(&lines, writer);
}

/* bcc, src/python/bcc/table.py: _stars() */
static void add_stars(struct line *line, uint32_t count, uint32_t most)
{
	int stars = (int)((uint64_t)count * STARS / most);

	line_add(line, "|%.*s%*s|", stars, "****************************************",
		 STARS - stars, "");
}

static int put_bar(struct writer *writer, unsigned int power, uint32_t count, uint32_t most)
{
	uint64_t from = power ? (uint64_t)1 << power : 0;
	uint64_t to = ((uint64_t)2 << power) - 1;
	struct line line;

	line_clear(&line);
	line_add(&line, "%10" PRIu64 " -> %-10" PRIu64 " : %-8" PRIu32 " ", from, to, count);
	add_stars(&line, count, most);
	return line_put(&line, writer);
}

/* bcc, src/python/bcc/table.py: _print_log2_hist() */
static int put_histogram(struct writer *writer, const struct latency *latency)
{
	unsigned int first = LATENCY_POWERS;
	unsigned int last = 0;
	uint32_t most = 0;
	int ret;

	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		uint32_t count = latency_power(latency, power);

		if (count && first == LATENCY_POWERS)
			first = power;
		if (count)
			last = power;
		if (count > most)
			most = count;
	}
	ret = put_text(writer, "     usecs               : count     distribution\n");
	for (unsigned int power = first; !ret && power <= last; power++)
		ret = put_bar(writer, power, latency_power(latency, power), most);
	return ret;
}

static void add_latency(struct line *line, const struct latency *latency)
{
	char total[STALL_TEXT_MS], p50[STALL_TEXT_MS], p99[STALL_TEXT_MS], max[STALL_TEXT_MS];

	line_add(line, "count %" PRIu64 ", total %s, p50 %s, p99 %s, max %s", latency->count,
		 stall_text_ms(total, latency->total),
		 stall_text_ms(p50, latency_percentile(latency, 50)),
		 stall_text_ms(p99, latency_percentile(latency, 99)),
		 stall_text_ms(max, latency->max));
}

static int put_function(struct writer *writer, struct resolver *resolver,
			const struct summary_function *function)
{
	const char *title = catalog_role_title(function->role);
	char name[STALL_FUNCTION_MAX];
	struct line line;
	int ret;

	line_clear(&line);
	if (function->function) {
		resolver_symbol(resolver, function->function, 's', name, sizeof(name));
		line_add(&line, "%s", name);
	}
	if (title)
		line_add(&line, function->function ? " (%s)" : "%s", title);
	line_add(&line, ": ");
	add_latency(&line, &function->latency);
	ret = put_text(writer, "\n");
	if (!ret)
		ret = line_put(&line, writer);
	return ret ? ret : put_histogram(writer, &function->latency);
}

static int put_functions(struct writer *writer, const struct summary_view *view)
{
	const struct summary_function *functions;
	size_t count = summary_functions(view->summary, &functions);
	int ret = 0;

	for (size_t i = 0; !ret && i < count; i++)
		ret = put_function(writer, view->resolver, &functions[i]);
	return ret;
}

static int put_one_stall(struct writer *writer, const struct summary_view *view,
			 const struct named_stall *named, const char *title)
{
	char source[256];
	struct line line;
	int ret = put_text(writer, title);

	if (!ret)
		ret = stall_text(writer, &plain, view->resolver, named);
	if (ret)
		return ret;
	stall_source(view->resolver, &named->stall->phases, named->stall->shrinkers,
		     named->stall->nr_shrinkers, source, sizeof(source));
	line_clear(&line);
	line_add(&line, "most probable source: %s", source);
	return line_put(&line, writer);
}

static bool is_same(const struct stall *a, const struct stall *b)
{
	return a->start == b->start && a->pid == b->pid;
}

static int put_longest(struct writer *writer, const struct summary_view *view)
{
	const struct named_stall *explained = summary_most_explained(view->summary);
	const struct named_stall *longest = summary_longest(view->summary);
	int ret = 0;

	if (explained)
		ret = put_one_stall(writer, view, explained, "\nworst stall:\n");
	if (!ret && longest && !(explained && is_same(explained->stall, longest->stall)))
		ret = put_one_stall(writer, view, longest, "\nlongest stall:\n");
	return ret;
}

static int put_waiter(struct writer *writer, const struct summary_waiter *waiter)
{
	struct line line;
	const struct latency *latency = &waiter->latency;
	uint64_t p99 = latency_percentile(latency, 99);

	line_clear(&line);
	line_add(&line, "%8" PRIu64 " %12" PRIu64 ".%03u %9" PRIu64 ".%03u %9" PRIu64 ".%03u  ",
		 latency->count, latency->total / 1000000,
		 (unsigned int)(latency->total / 1000 % 1000), p99 / 1000000,
		 (unsigned int)(p99 / 1000 % 1000), latency->max / 1000000,
		 (unsigned int)(latency->max / 1000 % 1000));
	line_add_escaped(&line, waiter->name, TEXT_PRINTABLE);
	if (waiter->pid)
		line_add(&line, "-%d", waiter->pid);
	return line_put(&line, writer);
}

static int put_waiters(struct writer *writer, const struct summary_view *view, enum summary_who who,
		       const char *title)
{
	const struct summary_waiter *waiters;
	size_t count = summary_waiters(view->summary, who, &waiters);
	struct line line;
	int ret;

	if (!count)
		return 0;
	line_clear(&line);
	line_add(&line, "\n%s", title);
	if (count > view->top)
		line_add(&line, " (%u of %zu)", view->top, count);
	line_add(&line, ":\n   count         total ms        p99 ms        max ms");
	ret = line_put(&line, writer);
	for (size_t i = 0; !ret && i < count && i < view->top; i++)
		ret = put_waiter(writer, &waiters[i]);
	return ret;
}

static int put_where(struct writer *writer, const struct summary_view *view, const char *title,
		     const struct summary_stalls *stalls)
{
	struct line line;
	int ret;

	if (!stalls->latency.count)
		return 0;
	line_clear(&line);
	line_add(&line, "\n%s: ", title);
	add_latency(&line, &stalls->latency);
	ret = line_put(&line, writer);
	return ret ? ret :
		     stall_text_phases(writer, &plain, view->resolver, &stalls->phases, NULL, 0);
}

static int put_line_of(struct writer *writer, uint64_t count, const char *text)
{
	struct line line;

	line_clear(&line);
	line_add(&line, "%" PRIu64 " %s", count, text);
	return line_put(&line, writer);
}

static int put_lost(struct writer *writer, const struct summary_view *view)
{
	uint64_t records = 0;
	uint64_t times = 0;
	int ret = 0;

	for (int i = 0; i < view->cpus.count; i++) {
		int cpu = view->cpus.numbers[i];
		uint64_t unknown;

		records += losses_of(view->losses, cpu, &unknown);
		times += unknown;
	}
	if (records)
		ret = put_line_of(writer, records, "records were lost");
	if (!ret && times)
		ret = put_line_of(writer, times, "times records were lost, nobody knows how many");
	return ret;
}

static int put_journal(struct writer *writer, const struct summary_view *view)
{
	int ret = 0;

	if (view->journal.held_back)
		ret = put_line_of(writer, view->journal.held_back,
				  "stalls have no entry of their own in the journal");
	if (!ret && view->journal.dropped)
		ret = put_line_of(writer, view->journal.dropped,
				  "entries were not taken by the journal");
	return ret;
}

static bool is_said(const struct overflow *overflow)
{
	return overflow->count && !overflow->harmless;
}

static int put_flaws(struct writer *writer, const struct summary_view *view)
{
	uint64_t incomplete = summary_incomplete(view->summary);
	int ret = put_lost(writer, view);

	if (!ret && incomplete)
		ret = put_line_of(writer, incomplete, "stalls are incomplete");
	for (size_t i = 0; !ret && i < view->nr_overflows; i++)
		if (is_said(&view->overflows[i]))
			ret = put_line_of(writer, view->overflows[i].count,
					  view->overflows[i].text);
	return ret ? ret : put_journal(writer, view);
}

/* A blank line before what there may be nothing of. */
static bool has_flaws(const struct summary_view *view)
{
	for (size_t i = 0; i < view->nr_overflows; i++)
		if (is_said(&view->overflows[i]))
			return true;
	return losses_any(view->losses) || summary_incomplete(view->summary) ||
	       view->journal.held_back || view->journal.dropped;
}

static int put_who(struct writer *writer, const struct summary_view *view)
{
	int ret = put_waiters(writer, view, SUMMARY_TASKS, "tasks that waited most");

	if (!ret)
		ret = put_waiters(writer, view, SUMMARY_CGROUPS, "cgroups that waited most");
	if (!ret)
		ret = put_waiters(writer, view, SUMMARY_KERNEL_THREADS,
				  "kernel threads at work for all");
	return ret;
}

static int put_where_all(struct writer *writer, const struct summary_view *view)
{
	int ret = put_where(writer, view, "where the time of stalls went",
			    summary_stalls(view->summary, STALLS_WAITING));

	if (!ret)
		ret = put_where(writer, view, "where the time of kernel threads went",
				summary_stalls(view->summary, STALLS_BACKGROUND));
	return ret;
}

int summary_text(struct writer *writer, const struct summary_view *view)
{
	int ret = put_shrinkers(writer, view);

	if (!ret)
		ret = put_functions(writer, view);
	if (!ret)
		ret = put_longest(writer, view);
	if (!ret)
		ret = put_who(writer, view);
	if (!ret)
		ret = put_where_all(writer, view);
	if (!ret && has_flaws(view))
		ret = put_text(writer, "\n");
	if (!ret)
		ret = put_flaws(writer, view);
	return ret ? ret : writer_flush(writer);
}
