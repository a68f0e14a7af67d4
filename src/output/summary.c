// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/names/shrinkers.h"
#include "allocfilt/output/facts.h"
#include "allocfilt/output/view.h"
#include "output/tree.h"

/* The summary for people. It is ASCII except for names, as it goes to files and terminals alike. */

#define STARS		 40  /* columns of a histogram's bar, as in bcc */
#define SUPERBLOCKS_MAX	 20  /* lines under a shrinker; the others share one */
#define SHORT_ROWS	 5   /* of each table in the short form, which has at most 40 lines */
#define SHORT_REASONS	 4   /* of memory waits, in the same */
#define NAME_COLUMNS	 19  /* of the names in the tables, at least */
#define NAME_COLUMNS_MAX 40  /* a longer one moves the rest of its row */
#define SHARE_COLUMNS	 100 /* of a row of where it went: parts without room are left out */

#define MS "%" PRIu64 ".%06" PRIu64 " ms"

static void put_text(struct writer *writer, const char *text)
{
	writer_put(writer, text, strlen(text));
}

/* The most that may be missing in the total of an entry that evicted another one. */
static void add_error(struct line *line, uint64_t ns)
{
	if (!ns)
		return;
	line_add(line, " (up to ");
	line_add_ms(line, 0, ns);
	line_add(line, " ms more)");
}

static void put_total(struct writer *writer, const char *name, const struct shrinker_total *total)
{
	struct line line;

	line_clear(&line);
	line_add_name(&line, writer, name);
	line_add(&line, " : total time = " MS ", max latency = " MS, total->ranked.total / 1000000,
		 total->ranked.total % 1000000, total->max / 1000000, total->max % 1000000);
	add_error(&line, total->ranked.error);
	line_put(&line, writer);
}

/*
 * Writes a line for each superblock and one for the others; they add up to @all of the callback, unless
 * a capture that was tampered with has a superblock with two callbacks. Of superblocks that made room for
 * later ones only their part in the sum is known, which no run of theirs exceeds.
 */
static void put_superblocks(struct writer *writer, const struct summary_view *view,
			    const struct shrinker_total *all)
{
	struct shrinker_total others = *all;
	const struct shrinker_total *total;
	char name[SHRINKER_LABEL_MAX + 2] = "  ";
	size_t count = 0;
	uint64_t unknown = all->count, max = 0; /* runs that are in no superblock's total */

	for (size_t i = 0; (total = summary_shrinker_at(view->summary, SUMMARY_SUPERBLOCKS, i));
	     i++) {
		bool listed = count < SUPERBLOCKS_MAX;

		if (total->callback != all->callback ||
		    !shrinker_names_label(view->shrinker_names, (int)total->ranked.id, name + 2,
					  sizeof(name) - 2))
			continue;
		count++;
		unknown -= total->count;
		if (listed) {
			others.count -= total->count;
			others.ranked.total -= total->ranked.total;
			put_total(writer, name, total);
		} else if (total->max > max) {
			max = total->max;
		}
	}
	if (!count || (int64_t)others.count <= 0 || (int64_t)others.ranked.total < 0)
		return;
	if (unknown) {
		strcpy(name + 2, "super_cache_scan[others]");
		if (others.max > others.ranked.total)
			others.max = others.ranked.total;
	} else {
		others.max = max;
		snprintf(name + 2, sizeof(name) - 2, "super_cache_scan[%zu others]",
			 count - SUPERBLOCKS_MAX);
	}
	put_total(writer, name, &others);
}

/* Are stalls of some tasks left out, but not their records? */
static bool is_choice(const struct options *options)
{
	return options->comm || options->cgroup || options->min_order || options->cause ||
	       options->from || options->to;
}

static void put_shrinkers(struct writer *writer, const struct summary_view *view)
{
	const struct shrinker_total *total =
		summary_shrinker_at(view->summary, SUMMARY_SHRINKERS, 0);

	put_text(writer, total ? "\n" : "\nno shrinker ran\n");
	if (total && is_choice(view->options))
		put_text(writer, "shrinkers, for all tasks:\n");
	for (size_t i = 0; (total = summary_shrinker_at(view->summary, SUMMARY_SHRINKERS, i));
	     i++) {
		char name[SHRINKER_LABEL_MAX];

		resolver_symbol(view->resolver, total->callback, 's', name, sizeof(name));
		name[strcspn(name, " ")] = '\0'; /* without its module */
		put_total(writer, name, total);
		put_superblocks(writer, view, total);
	}
}

/* ---- the full form ---- */

/* The format is that of bcc: src/python/bcc/table.py, _print_log2_hist(), _stars(). */
static void put_histogram(struct writer *writer, const struct latency *latency)
{
	unsigned int first = LATENCY_POWERS, last = 0;
	uint64_t most = 0;

	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		uint64_t count = latency_power(latency, power);

		if (count && first == LATENCY_POWERS)
			first = power;
		if (count)
			last = power;
		if (count > most)
			most = count;
	}
	put_text(writer, "     usecs               : count     distribution\n");
	for (unsigned int power = first; power <= last; power++) {
		uint64_t count = latency_power(latency, power);
		int stars = (int)(count * STARS / most);

		line_write(writer, "%10" PRIu64 " -> %-10" PRIu64 " : %-8" PRIu64 " |%.*s%*s|",
			   power ? (uint64_t)1 << power : 0, ((uint64_t)2 << power) - 1, count,
			   stars, "****************************************", STARS - stars, "");
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
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		line_add(line, ", %s ", times[i].title);
		line_add_ms(line, 0, times[i].ns);
		line_add(line, " ms");
	}
}

static void put_functions(struct writer *writer, const struct summary_view *view)
{
	const struct summary_total *total;

	for (size_t i = 0; (total = summary_at(view->summary, SUMMARY_FUNCTIONS, i)); i++) {
		const char *title = catalog_role_title(total->role);
		char name[STALL_FUNCTION_MAX];
		struct line line;

		line_clear(&line);
		line_add(&line, "\n");
		if (total->function) {
			resolver_symbol(view->resolver, total->function, 's', name, sizeof(name));
			line_add_name(&line, writer, name);
		}
		if (title)
			line_add(&line, total->function ? " (%s)" : "%s", title);
		line_add(&line, ": ");
		add_latency(&line, &total->latency);
		add_error(&line, total->ranked.error);
		line_put(&line, writer);
		put_histogram(writer, &total->latency);
	}
}

static void put_stall(struct writer *writer, const struct summary_view *view,
		      const struct named_stall *named, const char *title)
{
	const struct terminal plain = { .names = text_rule_of(writer_fd(writer)) };

	put_text(writer, title);
	tree_stall(writer, &plain, view->resolver, named);
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

static void put_phases(struct writer *writer, const struct summary_view *view, enum stall_side side,
		       const char *title)
{
	const struct summary_stalls *stalls = summary_stalls(view->summary, side);
	const struct terminal plain = { .names = text_rule_of(writer_fd(writer)) };
	struct line line;

	if (!stalls->latency.count)
		return;
	line_clear(&line);
	line_add(&line, "\n%s: ", title);
	add_latency(&line, &stalls->latency);
	line_put(&line, writer);
	tree_phases(writer, &plain, view->resolver, &stalls->phases, NULL);
}

/* ---- the short form ---- */

/* Adds a time in ms, right-aligned, with two digits that count: 0.078, 0.13, 1.9, 328. */
static void add_ms(struct line *line, int width, uint64_t ns)
{
	static const struct {
		uint64_t below, unit, per_ms;
		int digits;
	} steps[] = {
		{ 9950, 1000, 1000, 3 },
		{ 995000, 10000, 100, 2 },
		{ 9950000, 100000, 10, 1 },
	};
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, ns / 1000000 + (ns % 1000000 >= 500000));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		uint64_t count = (ns + steps[i].unit / 2) / steps[i].unit;

		if (!ns || ns >= steps[i].below)
			continue;
		snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64, count / steps[i].per_ms,
			 steps[i].digits, count % steps[i].per_ms);
		break;
	}
	line_add(line, "%*s", width, text);
}

/* Wall-clock time to the millisecond where it is known, else that of the trace clock. */
static void add_time(struct line *line, const struct resolver *resolver, uint64_t ts)
{
	char time[TEXT_TIME_MAX];
	bool known = resolver_time(resolver, ts, time);

	line_add(line, known ? "%.23sZ" : "%s", time);
}

static void add_choice(struct line *line, const struct writer *writer, const char *what,
		       const char *glob)
{
	if (!glob)
		return;
	line_add(line, "%s'", what);
	line_add_name(line, writer, glob);
	line_add(line, "', of ");
}

static void add_report(struct line *line, const struct summary_view *view)
{
	static const char *const units[] = { "us", "ms", "s" };
	uint64_t report = view->report / 1000;
	int unit = 0;

	for (; unit < 2 && !(report % 1000); unit++)
		report /= 1000;
	line_add(line, "%" PRIu64 " %s", report, units[unit]);
}

/* The number of stalls, their times, and the time covered. */
static void put_head(struct writer *writer, const struct summary_view *view)
{
	const struct latency *latency = &summary_stalls(view->summary, STALLS_WAITING)->latency;
	char time[TEXT_DURATION_MAX];
	size_t pids = 0;
	struct line line;

	while (view->pids && view->pids[pids])
		pids++;
	line_clear(&line);
	if (view->is_interval) {
		add_time(&line, view->resolver, view->ts);
		line_add(&line, ": ");
	}
	if (latency->count)
		line_add(&line, "%" PRIu64 " stall%s of ", latency->count,
			 latency->count == 1 ? "" : "s");
	else
		line_add(&line, "no stall of ");
	if (pids == 1)
		line_add(&line, "process %d of ", view->pids[0]);
	else if (pids)
		line_add(&line, "these %zu processes of ", pids);
	add_choice(&line, writer, "threads named ", view->options->comm);
	add_choice(&line, writer, "cgroup ", view->options->cgroup);
	add_choice(&line, writer, "cause ", view->options->cause);
	if (view->options->min_order)
		line_add(&line, "order %d or more, of ", view->options->min_order);
	add_report(&line, view);
	line_add(&line, " or more");
	if (view->ts > view->since)
		line_add(&line, " in %s", text_duration(time, view->ts - view->since));
	if (latency->count) {
		line_add(&line, "; waited ");
		add_ms(&line, 0, latency->total);
		line_add(&line, " ms; p50 ");
		add_ms(&line, 0, latency_percentile(latency, 50));
		line_add(&line, " ms, p99 ");
		add_ms(&line, 0, latency_percentile(latency, 99));
		line_add(&line, " ms, max ");
		add_ms(&line, 0, latency->max);
		line_add(&line, " ms");
	}
	line_put(&line, writer);
}

static void add_not_shown(struct line *line, uint64_t count, const char *which)
{
	if (count)
		line_add(line, "; %" PRIu64 " %s stall%s not shown", count, which,
			 count == 1 ? " is" : "s are");
}

/* "(older records were dropped)", "(3: a switch of the task was not recorded, 1: …)" */
static void add_lacks(struct line *line, const struct summary *summary)
{
	uint64_t incomplete = summary_incomplete(summary, LACKS_NOTHING);
	const char *before = " (";

	for (int i = LACKS_NOTHING + 1; i < STALL_LACKS; i++) {
		uint64_t count = summary_incomplete(summary, i);

		if (!count)
			continue;
		line_add(line, "%s", before);
		if (count < incomplete)
			line_add(line, "%" PRIu64 ": ", count);
		line_add(line, "%s", stall_lack_names[i].title);
		before = ", ";
	}
	line_add(line, ")");
}

/*
 * Losses, incomplete stalls, stalls not shown, rows that limits left out, and the events that
 * --off-cpu recorded (they cost each switch of tasks), in one line.
 */
static void put_losses(struct writer *writer, const struct summary_view *view)
{
	uint64_t incomplete = summary_incomplete(view->summary, LACKS_NOTHING);
	uint64_t records = view->lost, times = view->lost_times;
	const struct overflow others[] = {
		{ .text = "stalls have no entry of their own in the journal",
		  .count = view->journal.held_back },
		{ .text = "entries were not taken by the journal", .count = view->journal.dropped },
	};
	struct line line;

	line_clear(&line);
	if (incomplete && (records || times))
		line_add(&line, "%" PRIu64 " stall%s incomplete: ", incomplete,
			 incomplete == 1 ? " is" : "s are");
	if (records)
		line_add(&line, "%s%" PRIu64 " event%s lost", times ? "at least " : "", records,
			 records == 1 ? " was" : "s were");
	else
		line_add(&line, times ? "events were lost" : "nothing lost");
	if (!incomplete) {
		line_add(&line, ", 0 incomplete");
	} else if (!records && !times) {
		line_add(&line, ", %" PRIu64 " stall%s incomplete", incomplete,
			 incomplete == 1 ? " is" : "s are");
		add_lacks(&line, view->summary);
	}
	for (size_t i = 0; i < view->nr_overflows; i++)
		if (view->overflows[i].count)
			line_add(&line, "; %" PRIu64 " %s", view->overflows[i].count,
				 view->overflows[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].count)
			line_add(&line, "; %" PRIu64 " %s", others[i].count, others[i].text);
	if (view->cost.had_events_off)
		line_add(&line, "; events were switched off for some time (max-cpu)");
	add_not_shown(&line, view->not_shown.shorter, "shorter");
	add_not_shown(&line, view->not_shown.others, "other");
	if (view->has_sched)
		line_add(&line,
			 "; --off-cpu recorded %" PRIu64 " switch%s and %" PRIu64
			 " wake-up%s of tasks",
			 view->sched.switches, view->sched.switches == 1 ? "" : "es",
			 view->sched.wakeups, view->sched.wakeups == 1 ? "" : "s");
	line_put(&line, writer);
}

/* A row of "where it went", and a part in it. */
struct share {
	const char *title;
	uint64_t ns;
	int group;
	unsigned int percent;
};

/* Most time first; equal ones stay in their order. */
static void sort_shares(struct share *shares, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t at = i; at && shares[at].ns > shares[at - 1].ns; at--) {
			struct share share = shares[at];

			shares[at] = shares[at - 1];
			shares[at - 1] = share;
		}
}

/* Rounds down, and up where most was cut off, so that the percentages add up to 100. */
static void set_percentages(struct share *shares, size_t count, uint64_t whole)
{
	int scale = whole > UINT64_MAX / 128 ? 128 : 1, left = 100;

	whole /= scale;
	for (size_t i = 0; i < count; i++) {
		shares[i].percent = whole ? shares[i].ns / scale * 100 / whole : 0;
		left -= (int)shares[i].percent;
	}
	for (; left > 0; left--) {
		struct share *most = NULL;
		uint64_t most_cut = 0;

		for (size_t i = 0; i < count; i++) {
			uint64_t of = shares[i].ns / scale * 100, up_to = shares[i].percent * whole;
			uint64_t cut = of > up_to ? of - up_to : 0;

			if (!most || cut > most_cut) {
				most = &shares[i];
				most_cut = cut;
			}
		}
		most->percent++;
	}
}

/* The largest parts of a row; a part below 1 % of @whole explains nothing. */
static void add_shares(struct line *line, struct share *shares, size_t count, uint64_t whole)
{
	sort_shares(shares, count);
	for (size_t i = 0; i < count && shares[i].ns * 100 >= whole; i++) {
		struct line share;

		line_clear(&share);
		line_add(&share, "%s%s ", i ? ", " : "   ", shares[i].title);
		add_ms(&share, 0, shares[i].ns);
		if (line->used + share.used > SHARE_COLUMNS)
			return;
		line_add(line, "%s", share.text);
	}
}

/* The parts of a group; the states of the tasks in a group that has none. */
static void add_parts(struct line *line, const struct phases *phases, enum phase_group group)
{
	struct share parts[PHASE_PARTS + PHASE_STATES];
	bool has_parts = phases_is_reclaim(group);
	int count = has_parts ? PHASE_PARTS : PHASE_STATES;

	for (int i = 0; i < count; i++)
		parts[i] = (struct share){
			.title = (has_parts ? phase_part_names : phase_state_names)[i].title,
			.ns = has_parts ? phases_part(phases, group, i) :
					  phases->ns[group][PART_ITSELF][i],
		};
	add_shares(line, parts, (size_t)count, phases_total(phases));
}

static void put_where(struct writer *writer, const struct summary_view *view)
{
	const struct phases *phases = &summary_stalls(view->summary, STALLS_WAITING)->phases;
	struct share groups[PHASE_GROUPS];
	size_t count = 0;
	int columns = 16;
	struct line line;

	for (int group = 0; group < PHASE_GROUPS; group++) {
		uint64_t ns = phases_group(phases, group);

		if (ns && (int)strlen(phase_group_names[group].title) > columns)
			columns = (int)strlen(phase_group_names[group].title);
		if (ns)
			groups[count++] = (struct share){ .title = phase_group_names[group].title,
							  .ns = ns,
							  .group = group };
	}
	if (!count)
		return;
	sort_shares(groups, count);
	set_percentages(groups, count, phases_total(phases));
	line_write(writer, "\n%-*s%9s%5s", columns + 2, "where it went", "ms", "%");
	for (size_t i = 0; i < count; i++) {
		line_clear(&line);
		line_add(&line, "  %-*s", columns, groups[i].title);
		add_ms(&line, 9, groups[i].ns);
		line_add(&line, "%5u", groups[i].percent);
		if (phases_is_reclaim(groups[i].group) || view->has_sched)
			add_parts(&line, phases, groups[i].group);
		else if (groups[i].group == PHASE_OUTSIDE)
			line_add(&line, "   not explained; record with --off-cpu to split it");
		line_put(&line, writer);
	}
}

/* Those with 1 % of the time that tasks waited for a CPU, as far as there is room. */
static void put_had_cpu(struct writer *writer, const struct summary_view *view)
{
	const struct phases *phases = &summary_stalls(view->summary, STALLS_WAITING)->phases;
	uint64_t waited = phases_state(phases, STATE_WAITED);
	uint64_t unknown = summary_had_cpu_unknown(view->summary);
	const struct ranked *runner;
	struct line line;

	if (!waited)
		return;
	line_clear(&line);
	line_add(&line, "  waiting for a CPU, who had it:");
	for (size_t i = 0; (runner = summary_had_cpu_at(view->summary, i)) &&
			   runner->total >= waited / 100 && line.used < SHARE_COLUMNS - 20;
	     i++) {
		line_add(&line, i ? ", " : " ");
		line_add_name(&line, writer,
			      runner->id == SUMMARY_IDLE ? "nobody (idle)" : runner->name);
		line_add(&line, " %.0f %%", (double)runner->total * 100 / (double)waited);
	}
	if (unknown)
		line_add(&line, "; not recorded %.0f %%", (double)unknown * 100 / (double)waited);
	line_put(&line, writer);
}

/* The reasons of memory waits, most time first; the short ones are in no stall. */
static void put_reasons(struct writer *writer, const struct summary_view *view)
{
	const struct waits *waits = &summary_stalls(view->summary, STALLS_WAITING)->waits;
	size_t rows = view->form == SUMMARY_FULL ? ROLE_COUNT : SHORT_REASONS;
	int role = view->has_waits ? waits_next(waits, -1) : -1;
	struct line line;

	if (role < 0)
		return;
	put_text(writer, "\nmemory waits             ms   number   short (ms)   number\n");
	for (; role >= 0 && rows; role = waits_next(waits, role), rows--) {
		const struct wait_sum *sum = &waits->of[role];

		line_clear(&line);
		line_add(&line, "  %-18s", catalog_role_title(role));
		add_ms(&line, 7, sum->total);
		line_add(&line, "%9" PRIu64, sum->count);
		add_ms(&line, 13, sum->total - sum->long_total);
		line_add(&line, "%9" PRIu64, sum->count - sum->long_count);
		line_put(&line, writer);
	}
}

/*
 * The name of a unit is the last component of its cgroup's path; two that share it show the path.
 */
static const char *cgroup_label(const struct summary_view *view, const char *path)
{
	const struct summary_total *cgroup;
	const char *slash = strrchr(path, '/');

	if (!slash || !slash[1])
		return path;
	for (size_t i = 0; (cgroup = summary_at(view->summary, SUMMARY_CGROUPS, i)); i++) {
		const char *other = strrchr(cgroup->ranked.name, '/');

		if (other && !strcmp(slash, other) && strcmp(path, cgroup->ranked.name))
			return path;
	}
	return slash + 1;
}

static void waiter_name(struct line *name, const struct writer *writer,
			const struct summary_view *view, enum summary_table kind,
			const struct summary_total *waiter)
{
	const char *text = waiter->ranked.name;

	line_clear(name);
	line_add_name(name, writer, kind == SUMMARY_CGROUPS ? cgroup_label(view, text) : text);
	if (kind != SUMMARY_CGROUPS)
		line_add(name, "-%d", (int)waiter->ranked.id);
}

/* The rows of each table, at most. */
static size_t rows_of(const struct summary_view *view)
{
	return view->form == SUMMARY_FULL || view->top < SHORT_ROWS ? view->top : SHORT_ROWS;
}

/* The columns of the names, the same in all tables. */
static size_t name_columns(const struct writer *writer, const struct summary_view *view)
{
	size_t columns = NAME_COLUMNS;

	for (int kind = SUMMARY_CGROUPS; kind <= SUMMARY_KERNEL_THREADS; kind++) {
		const struct summary_total *waiter;

		for (size_t i = 0;
		     i < rows_of(view) && (waiter = summary_at(view->summary, kind, i)); i++) {
			struct line name;

			waiter_name(&name, writer, view, kind, waiter);
			if (text_columns(name.text) > columns)
				columns = text_columns(name.text);
		}
	}
	return columns < NAME_COLUMNS_MAX ? columns : NAME_COLUMNS_MAX;
}

bool view_pressure(const struct summary_view *view, enum summary_table kind, size_t rank,
		   uint64_t *ret_ns)
{
	const struct summary_total *waiter = summary_at(view->summary, kind, rank);

	return waiter && kind == SUMMARY_CGROUPS && !view->is_interval &&
	       resolver_pressure(view->resolver, waiter->ranked.name, ret_ns);
}

static void put_waiters(struct writer *writer, const struct summary_view *view,
			enum summary_table kind, const char *title)
{
	size_t count = summary_count(view->summary, kind);
	size_t rows = rows_of(view), columns = name_columns(writer, view);
	bool has_psi = false;
	struct line line, name;
	uint64_t psi;

	line_clear(&line);
	line_add(&line, "%s", title);
	if (count > rows)
		line_add(&line, " (%zu of %zu)", rows, count);
	for (size_t i = 0; i < rows; i++)
		has_psi |= view_pressure(view, kind, i, &psi);
	line_add(&line, "%*s%6s%11s%11s%11s%s%s   (ms)",
		 line.used < columns + 2 ? (int)(columns + 2 - line.used) : 0, "", "stalls",
		 "total", "p99", "max", view->has_waits ? "      waits" : "",
		 has_psi ? "        PSI" : "");
	line_put(&line, writer);
	for (size_t i = 0; i < count && i < rows; i++) {
		const struct summary_total *waiter = summary_at(view->summary, kind, i);
		const struct latency *latency = &waiter->latency;
		int missing;

		waiter_name(&name, writer, view, kind, waiter);
		missing = (int)columns - (int)text_columns(name.text);
		line_clear(&line);
		line_add(&line, "  %s%*s%6" PRIu64, name.text, missing > 0 ? missing : 0, "",
			 latency->count);
		add_ms(&line, 11, latency->total);
		add_ms(&line, 11, latency_percentile(latency, 99));
		add_ms(&line, 11, latency->max);
		if (view->has_waits)
			add_ms(&line, 11, waits_all(&waiter->waits).total);
		if (view_pressure(view, kind, i, &psi))
			add_ms(&line, 11, psi);
		else if (has_psi)
			line_add(&line, "%11s", "-");
		add_error(&line, waiter->ranked.error);
		line_put(&line, writer);
	}
}

static void put_tables(struct writer *writer, const struct summary_view *view)
{
	static const char *const titles[] = {
		[SUMMARY_CGROUPS] = "cgroup",
		[SUMMARY_TASKS] = "task",
		[SUMMARY_KERNEL_THREADS] = "kernel thread",
	};
	int last = view->form == SUMMARY_FULL ? SUMMARY_KERNEL_THREADS : SUMMARY_TASKS;
	bool any = false;

	for (int which = SUMMARY_CGROUPS; which <= last; which++) {
		if (!summary_count(view->summary, which))
			continue;
		if (!any)
			put_text(writer, "\n");
		any = true;
		put_waiters(writer, view, which, titles[which]);
	}
}

/* The longest stall, and why. */
static void put_worst(struct writer *writer, const struct summary_view *view)
{
	const struct task_style style = {
		text_rule_of(writer_fd(writer)), false, "", "", " in ", ""
	};
	const struct named_stall *named = summary_longest(view->summary, 0);
	const struct stall *stall;
	char text[STALL_CAUSE_MAX];
	struct line line;

	if (!named)
		return;
	stall = named->stall;
	line_clear(&line);
	line_add(&line, "\nworst: ");
	add_time(&line, view->resolver, stall->start);
	line_add(&line, " ");
	stall_task(&line, named, cgroup_label(view, named->task_info->cgroup), &style);
	line_add(&line, ", ");
	add_ms(&line, 0, stall->end - stall->start);
	line_add(&line, " ms");
	if (stall->order >= 0)
		line_add(&line, ", order %d", stall->order);
	line_put(&line, writer);
	cause_text(view->resolver, stall, text);
	line_clear(&line);
	line_add(&line, "  ");
	line_add_name(&line, writer, text);
	line_put(&line, writer);
}

static void put_background(struct writer *writer, const struct summary_view *view)
{
	size_t count = summary_count(view->summary, SUMMARY_KERNEL_THREADS);
	size_t rows = rows_of(view);
	struct line line;

	if (!count)
		return;
	line_clear(&line);
	line_add(&line, "background:");
	for (size_t i = 0; i < count && i < rows; i++) {
		const struct summary_total *thread =
			summary_at(view->summary, SUMMARY_KERNEL_THREADS, i);

		line_add(&line, "%s ", i ? ";" : "");
		line_add_name(&line, writer, thread->ranked.name);
		line_add(&line, " %" PRIu64 " run%s, ", thread->latency.count,
			 thread->latency.count == 1 ? "" : "s");
		add_ms(&line, 0, thread->latency.total);
		line_add(&line, " ms");
	}
	if (count > rows)
		line_add(&line, "; %zu more", count - rows);
	line_put(&line, writer);
}

/* What to do: for each finding its share of all time, what it means, and what to change. */
static void put_remedies(struct writer *writer, const struct summary_view *view)
{
	const struct remedies *remedies = &summary_stalls(view->summary, STALLS_WAITING)->remedies;
	const struct remedy *remedy;
	uint64_t ns;

	for (int i = 0; (remedy = remedies_at(remedies, i, &ns)); i++)
		line_write(writer, "%snext: (%.0f %%) %s\n      %s", i ? "" : "\n",
			   (double)ns * 100 / (double)remedies->total, remedy->finding,
			   remedy->change);
}

/* The time that a shortage of memory cost: the kernel's own account of it, and the memory waits. */
static void put_pressure(struct writer *writer, const struct summary_view *view)
{
	const struct memory_pressure *before = &view->pressure_before;
	const struct memory_pressure *after = &view->pressure_after;
	const struct waits *waits = &summary_stalls(view->summary, STALLS_WAITING)->waits;
	struct wait_sum all = waits_all(waits);
	uint64_t some = (after->some - before->some) * 1000, time = view->ts - view->since;
	char text[TEXT_DURATION_MAX];
	struct line line;

	line_clear(&line);
	if (before->known && after->known && after->some >= before->some) {
		line_add(&line, "memory pressure by the kernel's own count (PSI)%s: %s",
			 view->pids || is_choice(view->options) ? ", of all tasks" : "",
			 text_duration(text, some));
		if (view->ts > view->since)
			line_add(&line, " of %s, %.0f %%", text_duration(text, time),
				 (double)some * 100 / (double)time);
	}
	if (view->has_waits && line.used)
		line_add(&line, "; ");
	if (view->has_waits && !all.count)
		line_add(&line, "no memory wait");
	if (view->has_waits && all.count) {
		line_add(&line, "%s in %" PRIu64 " memory wait%s of ",
			 text_duration(text, all.long_total), all.long_count,
			 all.long_count == 1 ? "" : "s");
		add_report(&line, view);
		line_add(&line, " or more, %s in %" PRIu64 " shorter one%s",
			 text_duration(text, all.total - all.long_total),
			 all.count - all.long_count, all.count - all.long_count == 1 ? "" : "s");
		if (waits->parts)
			line_add(&line, "; of %" PRIu64 " only a part is in the run", waits->parts);
	}
	if (line.used)
		line_put(&line, writer);
}

void summary_view_since(struct summary_view *view, const struct summary_view *before)
{
	if (before->ts)
		view->since = before->ts;
	view->lost -= before->lost;
	view->lost_times -= before->lost_times;
	view->not_shown.shorter -= before->not_shown.shorter;
	view->not_shown.others -= before->not_shown.others;
	view->sched.switches -= before->sched.switches;
	view->sched.wakeups -= before->sched.wakeups;
	for (size_t i = 0; i < view->nr_overflows; i++)
		view->overflows[i].count -= before->overflows[i].count;
}

int summary_text(struct writer *writer, const struct summary_view *view)
{
	if (view->form == SUMMARY_NONE)
		return writer_flush(writer);
	put_text(writer, "\n");
	put_head(writer, view);
	put_losses(writer, view);
	put_pressure(writer, view);
	put_where(writer, view);
	put_had_cpu(writer, view);
	put_reasons(writer, view);
	put_tables(writer, view);
	put_worst(writer, view);
	put_shrinkers(writer, view);
	put_background(writer, view);
	put_remedies(writer, view);
	if (view->form == SUMMARY_FULL) {
		put_functions(writer, view);
		put_longest(writer, view);
		put_phases(writer, view, STALLS_WAITING, "where the time of stalls went");
		put_phases(writer, view, STALLS_BACKGROUND,
			   "where the time of kernel threads went");
	}
	return writer_flush(writer);
}
