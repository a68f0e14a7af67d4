// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "allocfilt/names/shrinkers.h"
#include "allocfilt/output/facts.h"
#include "allocfilt/output/view.h"
#include "output/tree.h"

/* The summary for people. It is ASCII except for names, as it goes to files and terminals alike. */

#define STARS		 40 /* columns of a histogram's bar, as in bcc */
#define SUPERBLOCKS_MAX	 20 /* lines under a shrinker; the others share one */
#define SHORT_ROWS	 4  /* of each table in the short form, at most 40 lines beside OOM kills */
#define TITLE_COLUMNS	 25 /* of the reasons, at least: those of the states */
#define NAME_COLUMNS	 16 /* of the names of those who waited, at least */
#define NAME_COLUMNS_MAX 40 /* a longer one moves the rest of its row */
#define SHARE_COLUMNS	 110 /* of a row of why: parts without room are left out */
#define WIDTH		 80 /* columns of a terminal: a row has its second cause if there is room */
#define CAUSES_SHOWN	 2  /* of a row, and cgroups whose memory was reclaimed */
#define LINE_CAUSE	 66 /* column of the cause in an interval's line */
#define RUNNERS_SHOWN	 3  /* of those who had the CPU */
#define TIME_ZONE	 29 /* where the zone begins in a time with nanoseconds */
#define SCREEN_LINES	 24 /* where none of a terminal are known */
#define REFAULT_COST	 (100 * NS_PER_US) /* ns of a page that is read again, see was_short() */

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
	line_add_duration(line, 0, ns);
	line_add(line, " more)");
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

	for (size_t i = 0; (total = summary_at(view->summary, SUMMARY_SUPERBLOCKS, i)); i++) {
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
		others.max = MIN(others.max, others.ranked.total);
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
	return options->comm || options->cgroup || options->min_order || options->cause;
}

static void put_shrinkers(struct writer *writer, const struct summary_view *view)
{
	const struct shrinker_total *total = summary_at(view->summary, SUMMARY_SHRINKERS, 0);

	put_text(writer, !total			  ? "\nno shrinker ran\n" :
			 is_choice(view->options) ? "\nshrinkers, of the whole machine:\n" :
						    "\nshrinkers, all runs:\n");
	for (size_t i = 0; (total = summary_at(view->summary, SUMMARY_SHRINKERS, i)); i++) {
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

		if (!count)
			continue;
		first = MIN(first, power);
		last = power;
		most = MAX(most, count);
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
	line_add(line, "count %" PRIu64 ", total ", latency->count);
	line_add_duration(line, 0, latency->total);
	line_add(line, ", p50 ");
	line_add_duration(line, 0, latency_percentile(latency, 50));
	line_add(line, ", p99 ");
	line_add_duration(line, 0, latency_percentile(latency, 99));
	line_add(line, ", max ");
	line_add_duration(line, 0, latency->max);
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
	const struct named_stall *longest = summary_longest(view->summary);

	if (explained)
		put_stall(writer, view, explained, "\nlongest stall that is explained:\n");
	if (explained && longest && explained->stall->start == longest->stall->start &&
	    explained->stall->tid == longest->stall->tid)
		return;
	if (longest)
		put_stall(writer, view, longest, "\nlongest stall:\n");
}

/* ---- the short form ---- */

/* Adds a time in ms, right-aligned, with two digits that count: 0.078, 0.13, 1.9, 328. */
static void add_ms(struct line *line, int width, uint64_t ns)
{
	int digits = !ns || ns >= 9950000 ? 0 : ns >= 995000 ? 1 : ns >= 99500 ? 2 : 3;

	line_add(line, "%*.*f", width, digits, (double)ns / 1e6);
}

/* Wall-clock time to the millisecond, without its date in a run of less than a day; else that of the trace clock. */
static void add_time(struct line *line, const struct summary_view *view, uint64_t ts)
{
	char time[TEXT_TIME_MAX];

	if (!resolver_time(view->resolver, ts, time))
		line_add(line, "%s", time);
	else if (view->ts - view->since < 24 * 3600 * NS_PER_SECOND)
		line_add(line, "%.12s%s", strchr(time, 'T') + 1, time + TIME_ZONE);
	else
		line_add(line, "%.23s%s", time, time + TIME_ZONE);
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
	const struct data_source *machine = view->is_interval ? NULL : view->source;
	const char *host = machine && machine->host ? machine->host : "";
	const char *release = machine && machine->release ? machine->release : "";
	size_t pids = 0;
	struct line line;

	while (view->pids && view->pids[pids])
		pids++;
	line_clear(&line);
	if (view->is_interval) {
		add_time(&line, view, view->ts);
		line_add(&line, ": ");
	}
	line_add_counted(&line, "", latency->count, "stall{s} of ");
	line_add_text(&line, latency->count ? "" : "no stall of ");
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
	if (view->ts > view->since) {
		line_add(&line, " in ");
		line_add_duration(&line, 0, view->ts - view->since);
	}
	/* A machine without a name calls itself that: DEFAULT_HOSTNAME of the kernel's init/Kconfig. */
	if (!strcmp(host, "(none)"))
		host = "";
	line_add(&line, "%s", *host || *release ? " on " : "");
	line_add_name(&line, writer, host);
	line_add(&line, "%s", *host && *release ? ", " : "");
	line_add_name(&line, writer, release);
	line_put(&line, writer);
	if (!latency->count)
		return;
	line_clear(&line);
	line_add(&line, latency->count == 1 ? "it took " : "they took ");
	line_add_duration(&line, 0, latency->total);
	line_add(&line,
		 latency->count == 1 ? ", waiting or running" : " together, waiting or running");
	if (latency->count > 1) {
		line_add(&line, "; median ");
		line_add_duration(&line, 0, latency_percentile(latency, 50));
		line_add(&line, ", longest ");
		line_add_duration(&line, 0, latency->max);
	}
	line_put(&line, writer);
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

/* Losses, incomplete stalls, stalls not shown, and rows that limits left out, in one line. */
static void put_losses(struct writer *writer, const struct summary_view *view)
{
	uint64_t incomplete = summary_incomplete(view->summary, LACKS_NOTHING);
	uint64_t records = view->lost, times = view->lost_times;
	const struct overflow others[] = {
		{ .text = "stall{s have| has} no entry of {their|its} own in the journal",
		  .count = view->journal.held_back },
		{ .text = "entr{ies were|y was} not taken by the journal",
		  .count = view->journal.dropped },
	};
	bool taken = false; /* these are in no gap that a capture's pages tell */
	struct line line;

	line_clear(&line);
	line_add_text(&line, records ? "" : times ? "records were lost" : "no records lost");
	line_add_counted(&line, times ? "at least " : "", records, "record{s were| was} lost");
	for (size_t i = 0; i < view->nr_overflows; i++)
		taken |= view->overflows[i].count && !strcmp(view->overflows[i].key, "taken");
	line_add_counted(&line, "; ", incomplete, "stall{s are| is} incomplete");
	if (incomplete) {
		add_lacks(&line, view->summary);
	} else if (summary_stalls(view->summary, STALLS_WAITING)->latency.count &&
		   !view->cost.had_events_off && !taken) {
		line_add(&line, ", all stalls complete");
	}
	for (size_t i = 0; i < view->nr_overflows; i++)
		line_add_counted(&line, "; ", view->overflows[i].count, view->overflows[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		line_add_counted(&line, "; ", others[i].count, others[i].text);
	if (view->cost.had_events_off)
		line_add(&line, "; events were switched off for some time");
	line_add_counted(&line, "; ", view->not_shown.shorter,
			 "shorter stall{s are| is} not shown");
	line_add_counted(&line, "; ", view->not_shown.others, "other stall{s are| is} not shown");
	line_put(&line, writer);
}

/*
 * Adds where the time of a state was, or that of a group: in which parts of reclaim, in which other
 * groups, most time first. Below 1 % of all of it explains nothing.
 * @only: PHASE_GROUPS for all groups; @state: PHASE_STATES for all states
 */
static void add_places(struct line *line, const struct phases *phases, int only, int state)
{
	uint64_t ns[PHASE_PARTS + PHASE_GROUPS] = { 0 }, least = phases_total(phases) / 100;
	const char *before = "   ";
	int place = -1;

	PHASES_FOREACH(group, phases) {
		for (int part = 0; part < phases_parts(group); part++)
			if (only == PHASE_GROUPS || group == only)
				add_ns(&ns[phases_is_reclaim(group) ? part : PHASE_PARTS + group],
				       state == PHASE_STATES ? phases_part(phases, group, part) :
							       phases->ns[group][part][state]);
	}
	while ((place = ranking_next(ns, sizeof(*ns), ARRAY_SIZE(ns), place)) >= 0 && ns[place] &&
	       ns[place] >= least) {
		struct line share;

		line_clear(&share);
		line_add(&share, "%s%s ", before,
			 (place < PHASE_PARTS ? phase_part_names + place :
						phase_group_names + place - PHASE_PARTS)
				 ->title);
		add_ms(&share, 0, ns[place]);
		if (line->used + share.used > SHARE_COLUMNS)
			return;
		line_add_text(line, share.text);
		before = ", ";
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

static void add_cgroup(struct line *line, const struct writer *writer,
		       const struct summary_view *view, const char *before, const char *path)
{
	line_add_text(line, before);
	line_add_name(line, writer, cgroup_label(view, path));
}

/* Adds who had the CPUs that tasks waited for, with the shares of the @waited ns. */
static void add_had_cpu(struct line *line, const struct writer *writer,
			const struct summary_view *view, uint64_t waited)
{
	uint64_t unknown = summary_had_cpu_unknown(view->summary), reclaiming = 0;
	const struct runner_total *runner;
	const char *before = "";

	for (size_t i = 0; (runner = summary_at(view->summary, SUMMARY_RUNNERS, i)); i++)
		reclaiming += runner->reclaiming;
	line_add(line, "   had it");
	if (reclaiming >= waited / 100 && reclaiming)
		line_add(line, " (%.0f %% in reclaim)", (double)reclaiming * 100 / (double)waited);
	line_add(line, ": ");

	for (size_t rank = 0; rank < RUNNERS_SHOWN; rank++, before = ", ") {
		struct line share;

		runner = summary_at(view->summary, SUMMARY_RUNNERS, rank);
		if (!runner || runner->ranked.total < waited / 100)
			break;
		line_clear(&share);
		line_add_text(&share, before);
		line_add_name(&share, writer,
			      runner->ranked.id == SUMMARY_IDLE ? "nobody (waking up)" :
								  runner->ranked.name);
		if (strlen(runner->cgroup) > 1)
			add_cgroup(&share, writer, view, " in ", runner->cgroup);
		line_add(&share, " %.0f %%", (double)runner->ranked.total * 100 / (double)waited);
		if (rank && line->used + share.used > SHARE_COLUMNS)
			break;
		line_add_text(line, share.text);
	}
	if (unknown && unknown >= waited / 100)
		line_add(line, "%snot recorded %.0f %%", before,
			 (double)unknown * 100 / (double)waited);
}

/* The states of the tasks, or the groups of phases, most time first. Their percentages add up to 100. */
static void put_why_rows(struct writer *writer, const struct summary_view *view,
			 enum stall_side side, bool states, int columns)
{
	const struct phases *phases = &summary_stalls(view->summary, side)->phases;
	const struct phase_name *names = states ? phase_state_names : phase_group_names;
	int count = states ? PHASE_STATES : PHASE_GROUPS, row = -1, rows = 0;
	uint64_t ns[PHASE_STATES + PHASE_GROUPS], total = phases_total(phases), above = 0;
	int percents = 0; /* of the rows above */
	bool others = false;

	for (int i = 0; i < count; i++)
		ns[i] = states ? phases_state(phases, i) : phases_group(phases, i);
	while (!others && (row = ranking_next(ns, sizeof(*ns), count, row)) >= 0 && ns[row]) {
		uint64_t shown = ns[row];
		struct line line;
		int percent;

		others =
			!states && view->has_sched && ++rows == SHORT_ROWS && total - above > shown;
		shown = others ? total - above : shown;
		add_ns(&above, shown);
		percent = (int)((double)above * 100 / (double)total + 0.5) - percents;
		percents += percent;
		line_clear(&line);
		line_add(&line, "  %-*s", columns, others ? "others" : names[row].title);
		add_ms(&line, 9, shown);
		line_add(&line, "%5d", percent);
		if (states && row == STATE_WAITED && side == STALLS_WAITING)
			add_had_cpu(&line, writer, view, shown);
		else if (states || (phases_is_reclaim(row) && !others))
			add_places(&line, phases, states ? PHASE_GROUPS : row,
				   states ? row : PHASE_STATES);
		line_put(&line, writer);
	}
}

/*
 * Where the time went. With --off-cpu it is told twice, and by state first: a phase may be long for want
 * of a CPU.
 */
static void put_why(struct writer *writer, const struct summary_view *view, enum stall_side side,
		    const char *title)
{
	const struct phases *phases = &summary_stalls(view->summary, side)->phases;
	int columns = TITLE_COLUMNS;

	PHASES_FOREACH(group, phases)
		columns = MAX(columns, (int)strlen(phase_group_names[group].title));
	if (!phases_total(phases))
		return;
	line_write(writer, "\n%-*s%9s%5s", columns + 2, title, "ms", "%");
	if (view->has_sched) {
		put_why_rows(writer, view, side, true, columns);
		line_write(writer, "%-*s%9s%5s", columns + 2, "in", "ms", "%");
	}
	put_why_rows(writer, view, side, false, columns);
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
			columns = MAX(columns, text_columns(name.text));
		}
	}
	return columns < NAME_COLUMNS_MAX ? columns : NAME_COLUMNS_MAX;
}

bool view_pressure(const struct summary_view *view, enum summary_table kind, size_t rank,
		   uint64_t *ret_ns)
{
	const struct summary_total *waiter = summary_at(view->summary, kind, rank);

	return waiter && kind == SUMMARY_CGROUPS && !view->is_part &&
	       strcmp(waiter->ranked.name, "/") != 0 &&
	       cgroups_pressure(resolver_cgroups(view->resolver), waiter->ranked.name, ret_ns);
}

/* The causes whose stalls took most of its time, @most of them. */
static void main_cause(struct line *line, const struct summary_total *waiter, int most)
{
	const uint64_t *first = &waiter->causes[0].total;
	int cause = -1;

	line_clear(line);
	for (int i = 0; i < most; i++) {
		uint64_t ns;

		cause = ranking_next(first, sizeof(waiter->causes[0]), CAUSES, cause);
		ns = waiter->causes[cause].total;
		if (!ns || ns < waiter->latency.total / 100)
			break;
		line_add(line, "%s%s %.0f %%", i ? ", " : "",
			 cause == CAUSE_MIXED ? "several causes" : cause_name(cause)->title,
			 (double)ns * 100 / (double)waiter->latency.total);
	}
}

/* Whose memory its stalls reclaimed; "itself" is its own. */
static void reclaimed_from(struct line *line, const struct writer *writer,
			   const struct summary_view *view, const struct summary_total *cgroup)
{
	const struct ranked *from;
	size_t rank = 0, count = 0;

	line_clear(line);
	while ((from = summary_reclaimed(view->summary, cgroup, &rank)) && count++ < CAUSES_SHOWN) {
		line_add(line, "%s", count > 1 ? ", " : "");
		if (!strcmp(from->name, cgroup->ranked.name))
			line_add(line, "itself");
		else
			line_add_name(line, writer, cgroup_label(view, from->name));
	}
}

/* A table of those who waited. */
struct waiters {
	enum summary_table kind;
	size_t columns; /* of the names */
	size_t causes;	/* columns of the main causes; 0: no row tells whose memory was reclaimed */
	bool has_short; /* a row has short waits of 1 % of its time or more */
	bool has_psi;
	bool has_io; /* a row has other waits for I/O, of 1 % of its time or more */
};

static uint64_t short_waits(const struct summary_total *waiter)
{
	struct wait_sum waits = waits_all(&waiter->waits);

	return waits.total - waits.long_total;
}

static void put_waiter(struct writer *writer, const struct summary_view *view,
		       const struct waiters *table, size_t rank)
{
	const struct summary_total *waiter = summary_at(view->summary, table->kind, rank);
	struct line line, more;
	uint64_t psi;
	size_t used;

	waiter_name(&more, writer, view, table->kind, waiter);
	line_clear(&line);
	line_add(&line, "  %s", more.text);
	line_pad(&line, table->columns + 2);
	line_add(&line, "%8" PRIu64, waiter->latency.count);
	line_add_duration(&line, 10, waiter->latency.total);
	line_add_duration(&line, 10, waiter->latency.max);
	if (table->has_short)
		line_add_duration(&line, 10, short_waits(waiter));
	if (view_pressure(view, table->kind, rank, &psi))
		line_add_duration(&line, 10, psi);
	else if (table->has_psi)
		line_add(&line, "%10s", "-");
	if (table->has_io)
		line_add_duration(&line, 10, waiter->waits.of[ROLE_IO].total);
	used = text_columns(line.text);
	main_cause(&more, waiter, CAUSES_SHOWN);
	if (used + 3 + more.used > WIDTH)
		main_cause(&more, waiter, 1);
	if (more.used)
		line_add(&line, "   %s", more.text);
	line_clear(&more);
	if (table->causes)
		reclaimed_from(&more, writer, view, waiter);
	if (more.used) {
		line_pad(&line, used + 3 + table->causes);
		line_add(&line, "   %s", more.text);
	}
	add_error(&line, waiter->ranked.error);
	line_put(&line, writer);
}

static void put_waiters(struct writer *writer, const struct summary_view *view,
			enum summary_table kind, const char *title)
{
	size_t count = summary_count(view->summary, kind), rows = rows_of(view);
	struct waiters table = {
		.kind = kind,
		.columns = name_columns(writer, view),
		.causes = strlen("stalls by main cause"),
	};
	bool has_from = false;
	struct line line;
	uint64_t psi;

	if (!count)
		return;
	for (size_t i = 0; i < rows && i < count; i++) {
		const struct summary_total *waiter = summary_at(view->summary, kind, i);

		main_cause(&line, waiter, 1);
		table.causes = MAX(table.causes, line.used);
		if (kind == SUMMARY_CGROUPS)
			reclaimed_from(&line, writer, view, waiter);
		has_from |= kind == SUMMARY_CGROUPS && line.used;
		table.has_short |=
			short_waits(waiter) * 100 >= waiter->ranked.total && short_waits(waiter);
		table.has_psi |= view_pressure(view, kind, i, &psi);
		table.has_io |= waiter->waits.of[ROLE_IO].total > waiter->ranked.total / 100;
	}
	line_clear(&line);
	line_add(&line, "%s", title);
	if (count > rows)
		line_add(&line, " (%zu of %zu)", rows, count);
	line_pad(&line, table.columns + 2);
	line_add(&line, "%8s%10s%10s%s%s%s", "stalls", "total", "max",
		 table.has_short ? "   shorter" : "", table.has_psi ? "       PSI" : "",
		 table.has_io ? " other I/O" : "");
	if (kind != SUMMARY_KERNEL_THREADS)
		line_add(&line, "   %-*s", has_from ? (int)table.causes : 0,
			 "stalls by main cause");
	line_add(&line, "%s", has_from ? "   reclaimed from" : "");
	line_put(&line, writer);
	if (!has_from)
		table.causes = 0;
	for (size_t i = 0; i < count && i < rows; i++)
		put_waiter(writer, view, &table, i);
}

/* Does each cgroup have one task that waited, whose row would say the same? */
static bool is_task_each(const struct summary_view *view)
{
	const struct summary_total *cgroup, *task;

	for (size_t i = 0; (cgroup = summary_at(view->summary, SUMMARY_CGROUPS, i)); i++) {
		task = summary_at(view->summary, SUMMARY_TASKS, i);
		if (i < rows_of(view) && (!task || task->ranked.total != cgroup->ranked.total))
			return false;
	}
	return summary_count(view->summary, SUMMARY_CGROUPS);
}

static void put_tables(struct writer *writer, const struct summary_view *view)
{
	if (summary_count(view->summary, SUMMARY_TASKS))
		put_text(writer, "\n");
	put_waiters(writer, view, SUMMARY_CGROUPS, "who");
	if (view->form == SUMMARY_FULL || !is_task_each(view))
		put_waiters(writer, view, SUMMARY_TASKS, "task");
	if (view->form == SUMMARY_FULL)
		put_waiters(writer, view, SUMMARY_KERNEL_THREADS, "kernel thread");
}

/* The longest stall, and why. */
static void put_worst(struct writer *writer, const struct summary_view *view)
{
	const struct task_style style = {
		text_rule_of(writer_fd(writer)), false, "", "", " in ", ""
	};
	const struct named_stall *named = summary_longest(view->summary);
	const struct stall *stall;
	char text[STALL_CAUSE_MAX];
	struct line line;

	if (!named)
		return;
	stall = named->stall;
	line_clear(&line);
	line_add(&line, "\nlongest: ");
	add_time(&line, view, stall->start);
	line_add(&line, " ");
	stall_task(&line, named, cgroup_label(view, named->task_info->cgroup), &style);
	line_add(&line, ", ");
	line_add_duration(&line, 0, stall->end - stall->start);
	if (stall->order >= 0)
		line_add(&line, ", order %d", stall->order);
	line_add(&line, ": ");
	cause_text(view->resolver, stall, text);
	line_add_name(&line, writer, text);
	line_put(&line, writer);
}

static void put_background(struct writer *writer, const struct summary_view *view,
			   enum summary_table kind, const char *title)
{
	size_t count = summary_count(view->summary, kind), rows = rows_of(view);
	struct line line;

	if (!count)
		return;
	line_clear(&line);
	line_add(&line, "%s (nobody waited):", title);
	for (size_t i = 0; i < count && i < rows; i++) {
		const struct summary_total *thread = summary_at(view->summary, kind, i);

		line_add(&line, "%s ", i ? ";" : "");
		line_add_name(&line, writer, thread->ranked.name);
		line_add(&line, " %" PRIu64 " run%s, ", thread->latency.count,
			 thread->latency.count == 1 ? "" : "s");
		line_add_duration(&line, 0, thread->latency.total);
	}
	if (count > rows)
		line_add(&line, "; %zu more", count - rows);
	line_put(&line, writer);
}

/* A remedy tells its share of all time, who has half of that, what it means, and what to change. */
static void put_remedies(struct writer *writer, const struct summary_view *view)
{
	const struct remedies *remedies = &summary_stalls(view->summary, STALLS_WAITING)->remedies;
	const struct runner_total *runner = summary_at(view->summary, SUMMARY_RUNNERS, 0);
	const struct summary_total *cgroup;
	const struct remedy *remedy;
	struct line line;
	uint64_t ns, bytes;
	const char *most = cgroups_most_memory(resolver_cgroups(view->resolver), &bytes);

	for (int i = 0; (remedy = remedies_at(remedies, i, &ns)); i++) {
		line_clear(&line);
		line_add(&line, "%snext: (", i ? "" : "\n");
		if (ns < remedies->total / 100)
			line_add(&line, "an event");
		else
			line_add(&line, "%.0f %%", (double)ns * 100 / (double)remedies->total);
		cgroup = summary_remedy_cgroup(view->summary, remedy);
		if (cgroup && remedies_ns(&cgroup->remedies, remedy) >= ns - ns / 2)
			add_cgroup(&line, writer, view, ", felt by ", cgroup->ranked.name);
		if (runner && !strcmp(remedy->key, "cpu") &&
		    strcmp(runner->ranked.name, "allocfilt") &&
		    runner->ranked.total - runner->reclaiming >= ns - ns / 2 &&
		    strlen(runner->cgroup) > 1)
			add_cgroup(&line, writer, view, ", caused by ", runner->cgroup);
		if (bytes >> 20 && !view->is_part &&
		    (!strcmp(remedy->key, "direct_reclaim") || !strcmp(remedy->key, "throttled") ||
		     !strcmp(remedy->key, "dirty"))) {
			line_add(&line, ", most memory: %" PRIu64 " MiB in ", bytes >> 20);
			line_add_name(&line, writer, cgroup_label(view, most));
		}
		line_add(&line, ") %s\n      %s", remedy->finding, remedy->change);
		line_put(&line, writer);
	}
}

/* The reasons of memory waits that are in no stall, most time first. */
static void add_short_reasons(struct line *line, const struct waits *waits)
{
	uint64_t ns[ROLE_COUNT];
	int role = -1;

	for (int i = 0; i < ROLE_COUNT; i++)
		ns[i] = i == ROLE_IO ? 0 : waits->of[i].total - waits->of[i].long_total;
	for (int i = 0; i < CAUSES_SHOWN; i++) {
		role = ranking_next(ns, sizeof(*ns), ROLE_COUNT, role);
		if (!ns[role])
			break;
		line_add(line, "%s%s ", i ? ", " : " (", catalog_role_title(role));
		line_add_duration(line, 0, ns[role]);
	}
	line_add(line, ")");
}

/* Where the kernel counts more, with -p or without the event, that is told: no record is of these. */
static uint64_t count_kills(const struct summary_view *view, uint64_t *ret_recorded)
{
	const struct memory_pressure *before = &view->pressure_before;
	const struct memory_pressure *after = &view->pressure_after;

	*ret_recorded =
		summary_stalls(view->summary, STALLS_WAITING)->waits.of[ROLE_OOM_KILLER].count;
	return !view->is_part && after->known &&
			       after->oom_kills > before->oom_kills + *ret_recorded ?
		       after->oom_kills - before->oom_kills :
		       *ret_recorded;
}

/* Whom the OOM killer took, whoever called it, and whatever else is shown. */
static void put_kills(struct writer *writer, const struct summary_view *view)
{
	uint64_t more, counted = count_kills(view, &more);
	const struct task_total *victim;
	struct line line;

	if (!counted)
		return;
	line_clear(&line);
	line_add(&line, "OOM kills: %" PRIu64, counted);
	if (counted > more)
		line_add(&line, " by the kernel's count, %" PRIu64 " recorded", more);
	line_put(&line, writer);
	for (size_t i = 0;
	     i < rows_of(view) && (victim = summary_at(view->summary, SUMMARY_VICTIMS, i)); i++) {
		char limit[TASK_CGROUP_MAX];

		snprintf(limit, sizeof(limit), "%.*s", victim->last.limit, victim->last.cgroup);
		line_clear(&line);
		line_add(&line, "  %" PRIu64 " of ", victim->ranked.total);
		line_add_name(&line, writer, victim->ranked.name);
		line_add(&line, *victim->last.cgroup ? " in " : ", cgroup not known");
		line_add_name(&line, writer, cgroup_label(view, victim->last.cgroup));
		line_add(&line, !*limit	 ? ", limit not known" :
				limit[1] ? ", at the limit of " :
					   ", at no cgroup's limit");
		line_add_name(&line, writer, *limit && limit[1] ? cgroup_label(view, limit) : "");
		line_add(&line, "; the last: %d", victim->last.tid);
		line_put(&line, writer);
		more -= victim->ranked.total;
	}
	if (more)
		line_write(writer, "  %" PRIu64 " more", more);
}

static void add_not_ended(struct line *line, const struct writer *writer,
			  const struct summary_view *view, const struct waits *waits)
{
	const struct task_total *task;

	line_add(line, "; %" PRIu64 " more had not ended, ", waits->in_progress);
	line_add_duration(line, 0, waits->in_progress_ns);
	line_add(line, " so far");
	for (size_t i = 0;
	     i < CAUSES_SHOWN && (task = summary_at(view->summary, SUMMARY_NOT_ENDED, i)); i++) {
		line_add(line, i ? "; " : ": ");
		line_add_name(line, writer, task->ranked.name);
		line_add(line, "-%d", task->last.tid);
		line_add(line, *task->last.cgroup ? " in " : "");
		line_add_name(line, writer, cgroup_label(view, task->last.cgroup));
		line_add(line, " (%s) since ", catalog_role_title(task->role));
		add_time(line, view, task->since);
	}
}

/*
 * Was memory short by the kernel's counts: did it cost 1 % of the time, by PSI or by pages that were read
 * again? A read takes a disk some 100 us, so these are 100 a second. Where it reads many at once they cost
 * less, and too little is said. An idle run has a few, of pages that were taken long before.
 */
static bool was_short(const struct summary_view *view, uint64_t some, uint64_t time)
{
	uint64_t kills, before = view->pressure_before.refaults;
	uint64_t after = view->is_part ? before : view->pressure_after.refaults;

	return count_kills(view, &kills) || some > time / 100 ||
	       (after > before && (after - before) * REFAULT_COST > time / 100);
}

static void put_part(struct writer *writer, const char *name, uint64_t ns, const char *meaning)
{
	struct line line;

	if (!ns)
		return;
	line_clear(&line);
	line_add(&line, "%s: ", name);
	line_add_duration(&line, 0, ns);
	line_add(&line, "%s", meaning);
	line_put(&line, writer);
}

/* The time that a shortage of memory cost: the kernel's own account of it, and the memory waits. */
static void put_pressure(struct writer *writer, const struct summary_view *view)
{
	const struct memory_pressure *before = &view->pressure_before;
	const struct memory_pressure *after = &view->pressure_after;
	const struct waits *waits = &summary_stalls(view->summary, STALLS_WAITING)->waits;
	struct wait_sum all = waits_all(waits);
	bool known = before->known && after->known && after->some >= before->some && !view->is_part;
	uint64_t some = known ? (after->some - before->some) * 1000 : 0;
	uint64_t time = view->ts - view->since;
	struct line line;

	line_clear(&line);
	if (known) {
		line_add(&line, "memory pressure%s, as the kernel counts it (PSI some): ",
			 view->pids || is_choice(view->options) ? " of the whole machine" : "");
		line_add_duration(&line, 0, some);
		if (view->ts > view->since) {
			line_add(&line, " of ");
			line_add_duration(&line, 0, time);
			line_add(&line, ", %.1f %%", (double)some * 100 / (double)time);
		}
		line_put(&line, writer);
	}
	if (!view->has_waits)
		return;
	line_clear(&line);
	line_add(&line, "waits for memory: ");
	if (all.count) {
		uint64_t nr_short = all.count - all.long_count;

		line_add_duration(&line, 0, all.long_total);
		line_add(&line, " in these stalls, ");
		line_add_duration(&line, 0, all.total - all.long_total);
		line_add(&line, " in %" PRIu64 " shorter one%s", nr_short,
			 nr_short == 1 ? "" : "s");
		if (all.total > all.long_total)
			add_short_reasons(&line, waits);
	} else {
		line_add(&line, "none%s",
			 summary_stalls(view->summary, STALLS_WAITING)->latency.count &&
					 !view->lost && !view->lost_times && !waits->in_progress &&
					 !was_short(view, some, time) ?
				 ", so these stalls are no shortage of memory" :
				 "");
	}
	if (waits->in_progress)
		add_not_ended(&line, writer, view, waits);
	line_put(&line, writer);
	put_part(writer, "not in PSI", waits->of[ROLE_REFAULT_NOT_IN_PSI].total,
		 " of these, reads of pages that were not in use when taken");
	put_part(writer, "other waits for I/O", waits->of[ROLE_IO].total,
		 ", first reads among them; these are not for memory");
}

/* Direct reclaim and kswapd run for the whole machine. Cgroups whose limits tasks were at are named. */
static void put_reclaim(struct writer *writer, const struct summary_view *view)
{
	const struct phases *tasks = &summary_stalls(view->summary, STALLS_WAITING)->phases;
	const struct phases *threads = &summary_stalls(view->summary, STALLS_BACKGROUND)->phases;
	bool limits = tasks->groups & (1u << PHASE_MEMCG_RECLAIM | 1u << PHASE_MEMORY_HIGH);
	bool machine = (tasks->groups | threads->groups) & 1u << PHASE_DIRECT_RECLAIM ||
		       threads->groups & 1u << PHASE_OTHER_RECLAIM;
	const struct ranked *limit;
	struct line line;

	if (!limits && !machine)
		return;
	line_clear(&line);
	line_add(&line, "reclaim ran for %scgroups at their limits",
		 limits ? "" : "the machine, not for ");
	for (size_t i = 0;
	     i < rows_of(view) && (limit = summary_at(view->summary, SUMMARY_LIMITS, i)); i++) {
		add_cgroup(&line, writer, view, i ? ", " : " (", limit->name);
		line_add(&line, "%s", limit->id ? "" : " or above it");
	}
	if (limits)
		line_add(&line, "%s, %s for the machine",
			 summary_count(view->summary, SUMMARY_LIMITS) ? ")" : "",
			 machine ? "and" : "not");
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
	put_kills(writer, view);
	put_pressure(writer, view);
	put_reclaim(writer, view);
	put_why(writer, view, STALLS_WAITING, "why");
	put_tables(writer, view);
	put_worst(writer, view);
	put_shrinkers(writer, view);
	put_background(writer, view, SUMMARY_KERNEL_THREADS, "background");
	put_background(writer, view, SUMMARY_PURPOSES, "work done on purpose");
	put_remedies(writer, view);
	if (view->form == SUMMARY_FULL) {
		put_longest(writer, view);
		put_why(writer, view, STALLS_BACKGROUND, "background: why");
		put_functions(writer, view);
	}
	return writer_flush(writer);
}

int summary_line(struct writer *writer, const struct summary_view *view, unsigned int *lines)
{
	const struct latency *latency = &summary_stalls(view->summary, STALLS_WAITING)->latency;
	enum summary_table kind =
		summary_count(view->summary, SUMMARY_CGROUPS) ? SUMMARY_CGROUPS : SUMMARY_TASKS;
	const struct summary_total *waiter = summary_at(view->summary, kind, 0);
	struct winsize size = { .ws_row = 0 };
	char time[TEXT_TIME_MAX];
	bool known = resolver_time(view->resolver, view->ts, time);
	struct line line, text;

	ioctl(writer_fd(writer), TIOCGWINSZ, &size);
	if (!((*lines)++ % ((size.ws_row > 1 ? size.ws_row : SCREEN_LINES) - 1)))
		line_write(writer, "%-12.10s%8s%9s%9s%9s  %-*s main cause", known ? time : "time",
			   "stalls", "waited", "median", "longest", NAME_COLUMNS, "who");
	line_clear(&line);
	line_add(&line, "%-12.12s%8" PRIu64, known ? strchr(time, 'T') + 1 : time, latency->count);
	if (latency->count) {
		line_add_duration(&line, 9, latency->total);
		line_add_duration(&line, 9, latency_percentile(latency, 50));
		line_add_duration(&line, 9, latency->max);
	}
	if (latency->count && waiter) {
		waiter_name(&text, writer, view, kind, waiter);
		line_add(&line, "  %s", text.text);
		line_pad(&line, LINE_CAUSE - 1);
		main_cause(&text, waiter, 1);
		line_add(&line, " %s", text.used ? text.text : "short waits");
	}
	line_put(&line, writer);
	return writer_flush(writer);
}
