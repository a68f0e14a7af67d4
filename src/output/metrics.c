// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base/hash.h"
#include "allocfilt/base/line.h"
#include "allocfilt/names/shrinkers.h"
#include "allocfilt/output/metrics.h"

/*
 * The summary in Prometheus' text format 0.0.4.
 *
 * https://prometheus.io/docs/instrumenting/exposition_formats/: the samples of a family follow
 * its HELP and TYPE lines without others between them, and no two have the same labels. Prometheus
 * refuses the whole text otherwise.
 */

#define FIRST_SAMPLES (60 * NS_PER_SECOND)

/*
 * A machine has at most 400 series with the default configuration, as a fleet has many machines;
 * tests/unit/metrics_test.c counts the worst case.
 */
#define UNIT_KEYS	  6  /* causes of a unit, and reasons; the rest is "other" */
#define SHRINKER_SERIES	  12 /* the rest is "other" */
#define SUPERBLOCK_SERIES 6  /* the rest is in the series of the shrinker */

/* A metric family whose HELP and TYPE lines are written. */
struct metric {
	struct writer *writer;
	const char *name;
};

struct metric_text {
	const char *name;
	const char *type;
	const char *help;
};

static struct metric metrics_begin(struct writer *writer, const char *name, const char *type,
				   const char *help)
{
	line_write(writer, "# HELP %s %s\n# TYPE %s %s", name, help, name, type);
	return (struct metric){ writer, name };
}

/* Adds a label to those between the braces. An empty value is the same as no label. */
static void add_label(struct line *labels, const char *name, const char *value)
{
	if (!*value)
		return;
	line_add(labels, "%s%s=\"", labels->used ? "," : "", name);
	line_add_escaped(labels, value, TEXT_LABEL);
	line_add(labels, "\"");
}

/* @suffix: of the family's name; @labels: NULL for none */
static void begin_sample(struct line *line, const struct metric *metric, const char *suffix,
			 const struct line *labels)
{
	line_clear(line);
	line_add(line, "%s%s", metric->name, suffix);
	if (labels && labels->used)
		line_add(line, "{%s}", labels->text);
	line_add(line, " ");
}

/* Adds seconds without trailing zeros. */
static void add_seconds(struct line *line, uint64_t ns)
{
	unsigned int fraction = ns % NS_PER_SECOND;
	int digits = 9;

	line_add(line, "%" PRIu64, ns / NS_PER_SECOND);
	if (!fraction)
		return;
	for (; fraction % 10 == 0; fraction /= 10)
		digits--;
	line_add(line, ".%0*u", digits, fraction);
}

/* Writes a number, or a time in ns where the name of the family says seconds. */
static void metrics_sample(const struct metric *metric, const struct line *labels, uint64_t value)
{
	struct line line;

	begin_sample(&line, metric, "", labels);
	if (strstr(metric->name, "_seconds"))
		add_seconds(&line, value);
	else
		line_add(&line, "%" PRIu64, value);
	line_put(&line, metric->writer);
}

/* Writes a family that has one sample, without labels. */
static void metrics_one(struct writer *writer, const char *name, const char *type, const char *help,
			uint64_t value)
{
	struct metric metric = metrics_begin(writer, name, type, help);

	metrics_sample(&metric, NULL, value);
}

static void metrics_histogram(struct writer *writer, const char *name, const char *help,
			      const struct latency *latency)
{
	struct metric metric = metrics_begin(writer, name, "histogram", help);
	uint64_t count = 0;
	struct line line, edges;

	for (unsigned int edge = 0; edge <= LATENCY_EDGES; edge++) {
		line_clear(&edges);
		line_add(&edges, "le=\"");
		if (edge < LATENCY_EDGES)
			add_seconds(&edges, latency_edge(edge));
		line_add(&edges, edge < LATENCY_EDGES ? "\"" : "+Inf\"");
		count += latency_below(latency, edge);
		begin_sample(&line, &metric, "_bucket", &edges);
		line_add(&line, "%" PRIu64, count);
		line_put(&line, writer);
	}
	begin_sample(&line, &metric, "_sum", NULL);
	add_seconds(&line, latency->total);
	line_put(&line, writer);
	begin_sample(&line, &metric, "_count", NULL);
	line_add(&line, "%" PRIu64, latency->count);
	line_put(&line, writer);
}

static void metrics_functions(struct writer *writer, const struct plan *plan)
{
	struct metric metric = metrics_begin(writer, "allocfilt_function_info", "gauge",
					     "Always 1; a function of this kernel that is timed.");

	for (int i = 0; i < plan->nr_functions; i++) {
		struct line labels;

		line_clear(&labels);
		add_label(&labels, "role", catalog_role_key(plan->functions[i].role));
		add_label(&labels, "function", plan->functions[i].name);
		metrics_sample(&metric, &labels, 1);
	}
}

static void metrics_phases(const struct metric *metric, const struct phases *phases)
{
	for (int group = 0; group < PHASE_GROUPS; group++) {
		for (int part = 0; part < phases_parts(group); part++) {
			struct line labels;

			line_clear(&labels);
			add_label(&labels, "group", phase_group_names[group].key);
			add_label(&labels, "part", phase_part_names[part].key);
			metrics_sample(metric, &labels, phases_part(phases, group, part));
		}
	}
}

enum unit_family {
	UNIT_STALLS,
	UNIT_SECONDS,
	UNIT_RECENT_MAX,
	UNIT_WAITS,
	UNIT_WAIT_SECONDS,
	UNIT_OOM_KILLS,
	UNIT_FAMILIES
};

/* Stalls of a unit with one cause, or its memory waits with one reason. */
struct unit_sum {
	const char *key;
	uint64_t count, ns;
	uint64_t since; /* ns: end of the first one */
};

#define UNIT_SUMS_MAX (ROLE_COUNT + CAUSES)

/* Lists the causes or the reasons of a unit in the order of their first stalls, so each keeps its place. */
static size_t unit_sums(const struct unit_series *unit, enum unit_family which,
			struct unit_sum sums[UNIT_SUMS_MAX])
{
	bool waits = which > UNIT_RECENT_MAX;
	size_t count = 0;

	for (int i = 0; i < (waits ? ROLE_COUNT : CAUSES); i++) {
		struct unit_sum sum = { .count = 0 };
		size_t at = count;

		if (waits)
			sum = (struct unit_sum){ catalog_role_key(i), unit->waits.of[i].count,
						 unit->waits.of[i].total, unit->waits.of[i].since };
		else
			sum = (struct unit_sum){ cause_name(i)->key, unit->causes[i].count,
						 unit->causes[i].total, unit->since[i] };
		if (!sum.count || (waits && (i == ROLE_OOM_KILLER) != (which == UNIT_OOM_KILLS)))
			continue;
		for (; at && sums[at - 1].since > sum.since; at--)
			sums[at] = sums[at - 1];
		sums[at] = sum;
		count++;
	}
	return count;
}

/* Adds up those from a place on. Returns how many there are now. */
static size_t unit_sums_fold(struct unit_sum *sums, size_t count, size_t from, const char *key)
{
	if (count <= from)
		return count;
	sums[from].key = key;
	for (size_t i = from + 1; i < count; i++) {
		sums[from].count += sums[i].count;
		sums[from].ns += sums[i].ns;
	}
	return from + 1;
}

/*
 * Prometheus sees the increase between two samples. A counter that begins with its first stall
 * would hide it, so it is 0 for a minute: by then every scraper has a sample. @ts: ns; 0: the text
 * is not written again
 */
static void metrics_unit(const struct metric *metric, const struct line *unit_labels,
			 const struct unit_series *unit, enum unit_family which, uint64_t ts)
{
	bool waits = which > UNIT_RECENT_MAX,
	     is_count = which != UNIT_SECONDS && which != UNIT_WAIT_SECONDS;
	struct unit_sum sums[UNIT_SUMS_MAX];
	size_t count = unit_sums(unit, which, sums);

	count = unit_sums_fold(sums, count, is_count ? 0 : UNIT_KEYS, is_count ? "" : "other");
	for (size_t i = 0; i < count; i++) {
		bool is_new = ts && ts < sums[i].since + FIRST_SAMPLES;
		struct line labels = *unit_labels;

		add_label(&labels, waits ? "reason" : "cause", sums[i].key);
		metrics_sample(metric, &labels, is_new ? 0 : is_count ? sums[i].count : sums[i].ns);
	}
}

/* Series of all units together have no label for units. @goes_on: the text is written again */
static void metrics_units(struct writer *writer, const struct summary_view *view, bool goes_on)
{
	static const struct metric_text families[UNIT_FAMILIES] = {
		{ "allocfilt_stalls_total", "counter", "Stalls of tasks that waited, by unit." },
		{ "allocfilt_stall_seconds_total", "counter",
		  "Time of stalls of tasks that waited, by unit and by cause: what took at least half." },
		{ "allocfilt_stall_recent_max_seconds", "gauge",
		  "The longest stall of a unit that ended in this minute or the two before." },
		{ "allocfilt_memory_waits_total", "counter",
		  "Memory waits as the kernel counts them for PSI, the short ones too, and refaults that it does not count, by unit." },
		{ "allocfilt_memory_wait_seconds_total", "counter",
		  "Time of memory waits, by unit and by reason." },
		{ "allocfilt_oom_kills_total", "counter",
		  "Tasks that the OOM killer took, by unit." },
	};

	for (int which = 0; which < UNIT_FAMILIES; which++) {
		struct metric metric = metrics_begin(writer, families[which].name,
						     families[which].type, families[which].help);
		struct unit_sum sums[UNIT_SUMS_MAX];
		const struct unit_series *unit;

		for (size_t i = 0; (unit = units_series(view->units, i)); i++) {
			struct line labels;

			line_clear(&labels);
			add_label(&labels, "unit", unit->name);
			if (which != UNIT_RECENT_MAX)
				metrics_unit(&metric, &labels, unit, which, goes_on ? view->ts : 0);
			else if (unit_sums(unit, which, sums))
				metrics_sample(&metric, &labels, units_recent_max(unit, view->ts));
		}
	}
}

static void metrics_stalls(struct writer *writer, const struct summary_view *view, bool goes_on)
{
	const struct summary_stalls *waiting = summary_stalls(view->summary, STALLS_WAITING);
	const struct summary_stalls *background = summary_stalls(view->summary, STALLS_BACKGROUND);
	struct metric metric;

	metrics_histogram(writer, "allocfilt_stall_duration_seconds",
			  "Stalls of tasks that waited.", &waiting->latency);
	metrics_histogram(writer, "allocfilt_background_duration_seconds",
			  "Slow runs of kswapd, kcompactd and khugepaged.", &background->latency);
	metrics_one(writer, "allocfilt_on_purpose_seconds_total", "counter",
		    "Reclaim and compaction that somebody asked for, while no task waited.",
		    summary_stalls(view->summary, STALLS_ON_PURPOSE)->latency.total);
	metrics_functions(writer, view->plan);
	metrics_units(writer, view, goes_on);
	metrics_one(writer, "allocfilt_incomplete_stalls_total", "counter",
		    "Stalls of which records may be missing, of kernel threads and on purpose too.",
		    summary_incomplete(view->summary, LACKS_NOTHING));
	metric = metrics_begin(writer, "allocfilt_phase_seconds_total", "counter",
			       "Where the time of stalls of tasks that waited went.");
	metrics_phases(&metric, &waiting->phases);
	metric = metrics_begin(writer, "allocfilt_background_phase_seconds_total", "counter",
			       "Where the time of slow runs of kernel threads went.");
	for (int group = 0; group < PHASE_GROUPS; group++) {
		struct line labels;

		line_clear(&labels);
		add_label(&labels, "group", phase_group_names[group].key);
		metrics_sample(&metric, &labels, phases_group(&background->phases, group));
	}
}

/* Shrinkers have a family for each of these, and so have superblocks. */
enum total { TOTAL_SECONDS, TOTAL_RUNS, TOTAL_MAX, TOTALS };

static void metrics_total(const struct metric *metric, const struct line *labels,
			  const struct shrinker_total *total, enum total which)
{
	const uint64_t values[TOTALS] = {
		[TOTAL_SECONDS] = total->ranked.total,
		[TOTAL_RUNS] = total->count,
		[TOTAL_MAX] = total->max,
	};

	metrics_sample(metric, labels, values[which]);
}

/* An address in place of a symbol would reveal where the kernel is loaded (KASLR). */
static void shrinker_name(const struct summary_view *view, const struct shrinker_total *total,
			  char name[STALL_FUNCTION_MAX])
{
	resolver_symbol(view->resolver, total->callback, 's', name, STALL_FUNCTION_MAX);
	if (!strncmp(name, "0x", 2))
		strcpy(name, "unknown");
}

static void metrics_shrinkers(struct writer *writer, const struct summary_view *view)
{
	static const struct metric_text families[TOTALS] = {
		{ "allocfilt_shrinker_seconds_total", "counter",
		  "Time in runs of a shrinker, slow or not." },
		{ "allocfilt_shrinker_runs_total", "counter", "Runs of a shrinker." },
		{ "allocfilt_shrinker_max_seconds", "gauge",
		  "The longest run of a shrinker since the start." },
	};
	const struct shrinker_total *order[SHRINKERS_MAX], *total;
	struct shrinker_total sums[SHRINKER_SERIES + 1] = { 0 };
	uint64_t names[SHRINKER_SERIES]; /* hash_text() */
	char name[STALL_FUNCTION_MAX];
	size_t nr = 0, count = 0;

	/* The first that ran have series: a ranking by time would move counts between series. */
	for (size_t at; (total = summary_at(view->summary, SUMMARY_SHRINKERS, nr)); nr++) {
		for (at = nr; at && order[at - 1]->number > total->number; at--)
			order[at] = order[at - 1];
		order[at] = total;
	}
	/* Functions of one name share a series: those without a symbol, or of two modules or files. */
	for (size_t i = 0, at; i < nr; i++) {
		shrinker_name(view, order[i], name);
		for (at = 0; at < count && names[at] != hash_text(name); at++)
			;
		if (at == count && count < SHRINKER_SERIES) {
			names[count++] = hash_text(name);
			sums[at].callback = order[i]->callback;
		}
		sums[at].ranked.total += order[i]->ranked.total;
		sums[at].count += order[i]->count;
		sums[at].max = MAX(sums[at].max, order[i]->max);
	}
	for (int which = 0; which < TOTALS; which++) {
		struct metric metric = metrics_begin(writer, families[which].name,
						     families[which].type, families[which].help);

		for (size_t i = 0; i <= SHRINKER_SERIES && sums[i].count; i++) {
			struct line labels;

			shrinker_name(view, &sums[i], name);
			line_clear(&labels);
			add_label(&labels, "shrinker", i < SHRINKER_SERIES ? name : "other");
			metrics_total(&metric, &labels, &sums[i], which);
		}
	}
}

static void metrics_superblocks(struct writer *writer, const struct summary_view *view)
{
	static const struct metric_text families[TOTALS] = {
		{ "allocfilt_superblock_shrink_seconds_total", "counter",
		  "Time in runs of the shrinker of a superblock; part of its shrinker's." },
		{ "allocfilt_superblock_shrink_runs_total", "counter",
		  "Runs of the shrinker of a superblock." },
		{ "allocfilt_superblock_shrink_max_seconds", "gauge",
		  "The longest run of the shrinker of a superblock since the start." },
	};
	const struct shrinker_total *total;

	for (int which = 0; which < TOTALS; which++) {
		struct metric metric = metrics_begin(writer, families[which].name,
						     families[which].type, families[which].help);

		for (size_t i = 0, shown = 0;
		     shown < SUPERBLOCK_SERIES &&
		     (total = summary_at(view->summary, SUMMARY_SUPERBLOCKS, i));
		     i++) {
			const struct superblock_name *is =
				shrinker_names_parts(view->shrinker_names, (int)total->ranked.id);
			struct line labels;
			char device[24];

			if (!is)
				continue;
			shown++;
			snprintf(device, sizeof(device), "%u:%u", is->major, is->minor);
			line_clear(&labels);
			add_label(&labels, "superblock", is->name);
			add_label(&labels, "device", device);
			add_label(&labels, "mountpoint", is->mount);
			metrics_total(&metric, &labels, total, which);
		}
	}
}

/* Not process_…: those names are node_exporter's own, and its output includes this text. */
static void metrics_own(struct writer *writer, const struct summary_view *view,
			const struct metrics_process *process)
{
	metrics_one(writer, "allocfilt_journal_entries_held_back_total", "counter",
		    "Journal entries held back by the rate limit.", view->journal.held_back);
	metrics_one(writer, "allocfilt_journal_entries_dropped_total", "counter",
		    "Journal entries that could not be sent.", view->journal.dropped);
	metrics_one(writer, "allocfilt_tracing_active", "gauge",
		    "1 while the kernel is traced, 0 while somebody else has tracing.",
		    process->tracing);
	metrics_one(writer, "allocfilt_uptime_seconds", "gauge",
		    "Time since the start of allocfilt.", process->uptime);
	metrics_one(writer, "allocfilt_process_cpu_seconds_total", "counter",
		    "CPU time of allocfilt itself, user and system.", process->cpu);
	metrics_one(writer, "allocfilt_records_total", "counter",
		    "Records read from the kernel's ring buffers.", view->cost.records);
	metrics_one(writer, "allocfilt_events_switched_off", "gauge",
		    "Events that are off because allocfilt took more CPU time than max-cpu allows.",
		    view->cost.events_off);
	if (process->resident)
		metrics_one(writer, "allocfilt_process_resident_memory_bytes", "gauge",
			    "Resident memory of allocfilt itself.", process->resident);
}

int metrics_text(struct writer *writer, const struct summary_view *view,
		 const struct metrics_process *process)
{
	struct metric metric;
	struct line labels;

	line_clear(&labels);
	add_label(&labels, "version", ALLOCFILT_VERSION);
	metric = metrics_begin(writer, "allocfilt_build_info", "gauge",
			       "Always 1; the version that runs.");
	metrics_sample(&metric, &labels, 1);
	metrics_one(writer, "allocfilt_threshold_seconds", "gauge",
		    "A run of a function that took at least that long is slow.",
		    view->plan->threshold);
	metrics_stalls(writer, view, process && !process->last);
	metrics_shrinkers(writer, view);
	metrics_superblocks(writer, view);
	metrics_one(writer, "allocfilt_lost_records_total", "counter",
		    "Records that the kernel's ring buffers had no room for.", view->lost);
	metrics_one(writer, "allocfilt_unknown_losses_total", "counter",
		    "Times that an unknown number of records was lost.", view->lost_times);
	metric = metrics_begin(writer, "allocfilt_table_overflows_total", "counter",
			       "What full tables of allocfilt dropped or merged.");
	for (size_t i = 0; i < view->nr_overflows; i++) {
		line_clear(&labels);
		add_label(&labels, "table", view->overflows[i].key);
		metrics_sample(&metric, &labels, view->overflows[i].count);
	}
	if (process)
		metrics_own(writer, view, process);
	return writer_status(writer);
}
