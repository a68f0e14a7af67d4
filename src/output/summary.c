// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/output.h"
#include "output/tree.h"

/* The summary for people. It is ASCII except for names, as it goes to files and terminals alike. */

#define STARS		40 /* columns of a histogram's bar, as in bcc */
#define SUPERBLOCKS_MAX 20 /* lines under a shrinker; the others share one */

#define MS "%" PRIu64 ".%06" PRIu64 " ms"

static const struct terminal plain;

static void put_text(struct writer *writer, const char *text)
{
	writer_put(writer, text, strlen(text));
}

/* What is missing at most in the total of an entry that evicted another. */
static void add_error(struct line *line, uint64_t ns)
{
	if (!ns)
		return;
	line_add(line, " (up to ");
	tree_add_ms(line, 0, ns);
	line_add(line, " ms more)");
}

static void put_total(struct writer *writer, const char *name, const struct shrinker_total *total)
{
	struct line line;

	line_clear(&line);
	line_add(&line, "%s : total time = " MS ", max latency = " MS, name, total->total / 1000000,
		 total->total % 1000000, total->max / 1000000, total->max % 1000000);
	line_put(&line, writer);
}

/*
 * Writes a line for each superblock and one for the others; they add up to @all of the callback,
 * unless that was evicted before.
 */
static void put_superblocks(struct writer *writer, const struct summary_view *view,
			    const struct shrinker_total *all)
{
	const struct superblock_total *superblocks;
	size_t count = shrinkers_superblocks(view->shrinkers, all->callback, &superblocks);
	struct shrinker_total others = *all, listed = { 0 };
	char name[SHRINKER_LABEL_MAX + 2] = "  ";

	if (!count)
		return;
	/* The others include pairs that the full table did not count: only @all limits their maximum. */
	if (count > SUPERBLOCKS_MAX)
		others.max = 0;
	for (size_t i = 0; i < count; i++) {
		const struct shrinker_total *total = &superblocks[i].total;

		if (i >= SUPERBLOCKS_MAX) {
			if (total->max > others.max)
				others.max = total->max;
			continue;
		}
		listed.total += total->total;
		listed.count += total->count;
		shrinker_names_label(view->shrinker_names, superblocks[i].superblock, name + 2,
				     sizeof(name) - 2);
		put_total(writer, name, total);
	}
	if (all->count <= listed.count || all->total < listed.total)
		return;
	others.total -= listed.total;
	snprintf(name, sizeof(name), "  super_cache_scan[%zu others]",
		 count > SUPERBLOCKS_MAX ? count - SUPERBLOCKS_MAX : 0);
	put_total(writer, name, &others);
}

static void put_no_stall(struct writer *writer, const struct summary_view *view)
{
	static const char *const units[] = { "us", "ms", "s" };
	uint64_t threshold = view->plan->threshold / 1000;
	char time[TEXT_DURATION_MAX];
	int unit = 0;
	size_t pids = 0;
	struct line line;

	while (view->pids && view->pids[pids])
		pids++;
	line_clear(&line);
	line_add(&line, "\nno stall of ");
	if (pids == 1)
		line_add(&line, "process %d of ", view->pids[0]);
	else if (pids)
		line_add(&line, "these %zu processes of ", pids);
	for (; unit < 2 && !(threshold % 1000); unit++)
		threshold /= 1000;
	line_add(&line, "%" PRIu64 " %s or more", threshold, units[unit]);
	if (view->ts > view->since)
		line_add(&line, " in %s", text_duration(time, view->ts - view->since));
	line_put(&line, writer);
}

static void put_shrinkers(struct writer *writer, const struct summary_view *view)
{
	const struct shrinker_total *totals;
	size_t count = shrinkers_sorted(view->shrinkers, &totals);

	put_text(writer, count ? "\n" : "\nno shrinker ran\n");
	for (size_t i = 0; i < count; i++) {
		char name[SHRINKER_LABEL_MAX] = "";

		resolver_symbol(view->resolver, totals[i].callback, 's', name, sizeof(name));
		name[strcspn(name, " ")] = '\0'; /* without its module */
		put_total(writer, name, &totals[i]);
		if (totals[i].error) {
			struct line line;

			line_clear(&line);
			line_add(&line, " ");
			add_error(&line, totals[i].error);
			line_put(&line, writer);
		}
		put_superblocks(writer, view, &totals[i]);
	}
}

/* The format is that of bcc: src/python/bcc/table.py, _print_log2_hist(), _stars(). */
static void put_histogram(struct writer *writer, const struct latency *latency)
{
	unsigned int first = LATENCY_POWERS, last = 0;
	uint32_t most = 0;

	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		uint32_t count = latency_power(latency, power);

		if (count && first == LATENCY_POWERS)
			first = power;
		if (count)
			last = power;
		if (count > most)
			most = count;
	}
	put_text(writer, "     usecs               : count     distribution\n");
	for (unsigned int power = first; power <= last; power++) {
		uint32_t count = latency_power(latency, power);
		int stars = (int)((uint64_t)count * STARS / most);
		struct line line;

		line_clear(&line);
		line_add(&line, "%10" PRIu64 " -> %-10" PRIu64 " : %-8" PRIu32 " |%.*s%*s|",
			 power ? (uint64_t)1 << power : 0, ((uint64_t)2 << power) - 1, count, stars,
			 "****************************************", STARS - stars, "");
		line_put(&line, writer);
	}
}

static void add_latency(struct line *line, const struct latency *latency)
{
	const struct {
		const char *title;
		uint64_t ns;
	} times[] = {
		{ "total", latency->total },
		{ "p50", latency_percentile(latency, 50) },
		{ "p99", latency_percentile(latency, 99) },
		{ "max", latency->max },
	};

	line_add(line, "count %" PRIu64, latency->count);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		line_add(line, ", %s ", times[i].title);
		tree_add_ms(line, 0, times[i].ns);
		line_add(line, " ms");
	}
}

static void put_functions(struct writer *writer, const struct summary_view *view)
{
	const struct summary_function *functions;
	size_t count = summary_functions(view->summary, &functions);

	for (size_t i = 0; i < count; i++) {
		const char *title = catalog_role_title(functions[i].role);
		char name[STALL_FUNCTION_MAX];
		struct line line;

		line_clear(&line);
		line_add(&line, "\n");
		if (functions[i].function) {
			resolver_symbol(view->resolver, functions[i].function, 's', name,
					sizeof(name));
			line_add(&line, "%s", name);
		}
		if (title)
			line_add(&line, functions[i].function ? " (%s)" : "%s", title);
		line_add(&line, ": ");
		add_latency(&line, &functions[i].latency);
		add_error(&line, functions[i].error);
		line_put(&line, writer);
		put_histogram(writer, &functions[i].latency);
	}
}

static void put_stall(struct writer *writer, const struct summary_view *view,
		      const struct named_stall *named, const char *title)
{
	char source[STALL_SOURCE_MAX];
	struct line line;

	put_text(writer, title);
	tree_stall(writer, &plain, view->resolver, named);
	stall_source(view->resolver, named->stall, source);
	line_clear(&line);
	line_add(&line, "most probable source: %s", source);
	line_put(&line, writer);
}

static void put_longest(struct writer *writer, const struct summary_view *view)
{
	const struct named_stall *explained = summary_most_explained(view->summary);
	const struct named_stall *longest = summary_longest(view->summary, 0);

	if (explained)
		put_stall(writer, view, explained, "\nmost explained stall:\n");
	if (explained && longest && explained->stall->start == longest->stall->start &&
	    explained->stall->tid == longest->stall->tid)
		return;
	if (longest)
		put_stall(writer, view, longest, "\nlongest stall:\n");
}

static void put_waiters(struct writer *writer, const struct summary_view *view,
			enum waiter_kind kind, const char *title)
{
	const struct summary_waiter *waiters;
	size_t count = summary_waiters(view->summary, kind, &waiters);
	struct line line;

	if (!count)
		return;
	line_clear(&line);
	line_add(&line, "\n%s", title);
	if (count > view->top)
		line_add(&line, " (%u of %zu)", view->top, count);
	line_add(&line, ":\n   count         total ms        p99 ms        max ms");
	line_put(&line, writer);
	for (size_t i = 0; i < count && i < view->top; i++) {
		const struct latency *latency = &waiters[i].latency;

		line_clear(&line);
		line_add(&line, "%8" PRIu64, latency->count);
		tree_add_ms(&line, 13, latency->total);
		tree_add_ms(&line, 10, latency_percentile(latency, 99));
		tree_add_ms(&line, 10, latency->max);
		line_add(&line, "  ");
		line_add_escaped(&line, waiters[i].name, TEXT_PRINTABLE);
		if (waiters[i].tid)
			line_add(&line, "-%d", waiters[i].tid);
		add_error(&line, waiters[i].error);
		line_put(&line, writer);
	}
}

static void put_phases(struct writer *writer, const struct summary_view *view, enum stall_side side,
		       const char *title)
{
	const struct summary_stalls *stalls = summary_stalls(view->summary, side);
	struct line line;

	if (!stalls->latency.count)
		return;
	line_clear(&line);
	line_add(&line, "\n%s: ", title);
	add_latency(&line, &stalls->latency);
	line_put(&line, writer);
	tree_phases(writer, &plain, view->resolver, &stalls->phases, NULL, 0);
}

/* Numbers of what is lost or incomplete: a line for each that is not 0, after a blank line. */
struct flaws {
	struct writer *writer;
	bool any; /* was a line written? */
};

static void put_flaw(struct flaws *flaws, uint64_t count, const char *text)
{
	struct line line;

	if (!count)
		return;
	line_clear(&line);
	line_add(&line, "%s%" PRIu64 " %s", flaws->any ? "" : "\n", count, text);
	line_put(&line, flaws->writer);
	flaws->any = true;
}

static void put_flaws(struct writer *writer, const struct summary_view *view)
{
	struct flaws flaws = { .writer = writer };
	uint64_t times;
	uint64_t records = losses_total(view->losses, &times);

	put_flaw(&flaws, records, "records were lost");
	put_flaw(&flaws, times, "times records were lost, nobody knows how many");
	put_flaw(&flaws, summary_incomplete(view->summary), "stalls are incomplete");
	for (size_t i = 0; i < view->nr_overflows; i++)
		put_flaw(&flaws, view->overflows[i].count, view->overflows[i].text);
	put_flaw(&flaws, view->journal.held_back,
		 "stalls have no entry of their own in the journal");
	put_flaw(&flaws, view->journal.dropped, "entries were not taken by the journal");
}

int summary_text(struct writer *writer, const struct summary_view *view)
{
	if (!summary_stalls(view->summary, STALLS_WAITING)->latency.count)
		put_no_stall(writer, view);
	put_shrinkers(writer, view);
	put_functions(writer, view);
	put_longest(writer, view);
	put_waiters(writer, view, SUMMARY_TASKS, "tasks that waited most");
	put_waiters(writer, view, SUMMARY_CGROUPS, "cgroups that waited most");
	put_waiters(writer, view, SUMMARY_KERNEL_THREADS, "kernel threads at work for all");
	put_phases(writer, view, STALLS_WAITING, "where the time of stalls went");
	put_phases(writer, view, STALLS_BACKGROUND, "where the time of kernel threads went");
	put_flaws(writer, view);
	return writer_flush(writer);
}
