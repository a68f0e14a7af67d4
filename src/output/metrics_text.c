// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "output/exposition.h"

#define SERIES_MAX SHRINKERS_MAX /* of one family: shrinkers, superblocks */

_Static_assert(SHRINKER_NAMES_MAX <= SERIES_MAX, "a key for each");

/* An address that no symbol names is not told: it would give away where the kernel lies. */
static void label_symbol(const struct summary_view *view, struct line *labels, const char *name,
			 uint64_t address)
{
	char text[STALL_FUNCTION_MAX] = "";

	resolver_symbol(view->resolver, address, 's', text, sizeof(text));
	exposition_label(labels, name, strncmp(text, "0x", 2) ? text : "unknown");
}

static void label_cpu(struct line *labels, int cpu)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", cpu);
	exposition_label(labels, "cpu", text);
}

/* Two addresses may have one name: the first of a key stands for all of them. */
static bool is_first(const uint64_t *keys, size_t place)
{
	for (size_t i = 0; i < place; i++)
		if (keys[i] == keys[place])
			return false;
	return true;
}

static void put_info(struct exposition *exposition, const struct summary_view *view)
{
	struct line labels = { .used = 0 };

	exposition_label(&labels, "version", ALLOCFILT_VERSION);
	exposition_family(exposition, "allocfilt_build_info", "gauge",
			  "Always 1; the version that runs.");
	exposition_number(exposition, &labels, 1);
	exposition_family(exposition, "allocfilt_threshold_seconds", "gauge",
			  "A run of a function that took at least that long is slow.");
	exposition_seconds(exposition, NULL, view->plan->threshold);
}

static void label_outermost(const struct summary_view *view,
			    const struct summary_outermost *outermost, struct line *labels)
{
	const char *title = catalog_role_title(outermost->role);

	labels->used = 0;
	if (outermost->function)
		label_symbol(view, labels, "function", outermost->function);
	else
		exposition_label(labels, "function", title ? title : "other");
}

static void put_outermost(struct exposition *exposition, const struct summary_view *view,
			  const struct summary_stalls *stalls)
{
	const struct summary_outermost *outermost = stalls->outermost;
	size_t count = stalls->nr_outermost;
	uint64_t keys[SUMMARY_OUTERMOST_MAX + 1];
	struct line labels;

	for (size_t i = 0; i < count; i++) {
		label_outermost(view, &outermost[i], &labels);
		keys[i] = exposition_labels_key(&labels);
	}
	for (size_t i = 0; i < count; i++) {
		struct histogram sum = outermost[i].histogram;

		if (!is_first(keys, i))
			continue;
		for (size_t j = i + 1; j < count; j++)
			if (keys[j] == keys[i])
				histogram_merge(&sum, &outermost[j].histogram);
		label_outermost(view, &outermost[i], &labels);
		exposition_histogram(exposition, &labels, &sum);
	}
}

static void put_stalls(struct exposition *exposition, const struct summary_view *view)
{
	exposition_family(exposition, "allocfilt_stall_duration_seconds", "histogram",
			  "Stalls of tasks that waited, by their outermost function.");
	put_outermost(exposition, view, summary_stalls(view->summary, STALLS_WAITING));
	exposition_family(exposition, "allocfilt_background_duration_seconds", "histogram",
			  "Slow runs of kswapd and kcompactd, by their outermost function.");
	put_outermost(exposition, view, summary_stalls(view->summary, STALLS_BACKGROUND));
	exposition_family(exposition, "allocfilt_incomplete_stalls_total", "counter",
			  "Stalls during which records were lost, of kswapd and kcompactd too.");
	exposition_number(exposition, NULL, summary_incomplete(view->summary));
}

static void put_phases(struct exposition *exposition, const struct phases *phases)
{
	for (int group = 0; group < PHASE_GROUPS; group++) {
		int parts = phases_is_reclaim(group) ? PHASE_PARTS : PART_OWN + 1;

		for (int part = 0; part < parts; part++) {
			struct line labels = { .used = 0 };

			exposition_label(&labels, "group", phase_group_names[group].key);
			exposition_label(&labels, "part", phase_part_names[part].key);
			exposition_seconds(exposition, &labels, phases->ns[group][part]);
		}
	}
}

static void put_all_phases(struct exposition *exposition, const struct summary_view *view)
{
	exposition_family(exposition, "allocfilt_phase_seconds_total", "counter",
			  "Where the time of stalls of tasks that waited went.");
	put_phases(exposition, &summary_stalls(view->summary, STALLS_WAITING)->phases);
	exposition_family(exposition, "allocfilt_background_phase_seconds_total", "counter",
			  "Where the time of slow runs of kswapd and kcompactd went.");
	put_phases(exposition, &summary_stalls(view->summary, STALLS_BACKGROUND)->phases);
}

/* The totals of shrinkers, or of superblocks, as series. */
struct totals {
	const struct summary_view *view;
	size_t count;
	const struct shrinker_total *(*of)(const struct totals *totals, size_t place);
	/* false: nothing to show */
	bool (*label)(const struct totals *totals, size_t place, struct line *labels);
	uint64_t keys[SERIES_MAX]; /* of their labels, 0 for what is not shown */
};

enum totals_what { TOTALS_SECONDS, TOTALS_RUNS, TOTALS_MAX, TOTALS_WHAT_COUNT };

struct totals_family {
	const char *name;
	const char *type;
	const char *help;
};

static const struct shrinker_total *of_shrinker(const struct totals *totals, size_t place)
{
	const struct shrinker_total *all;

	shrinkers_all(totals->view->shrinkers, &all);
	return &all[place];
}

static bool label_shrinker(const struct totals *totals, size_t place, struct line *labels)
{
	label_symbol(totals->view, labels, "shrinker", of_shrinker(totals, place)->callback);
	return true;
}

static const struct shrinker_total *of_superblock(const struct totals *totals, size_t place)
{
	return shrinkers_of_superblock(totals->view->shrinkers, (int)place);
}

static bool label_superblock(const struct totals *totals, size_t place, struct line *labels)
{
	struct superblock_name parts;
	char device[24];

	if (!of_superblock(totals, place)->count ||
	    !shrinker_names_parts(totals->view->shrinker_names, (int)place, &parts))
		return false;
	snprintf(device, sizeof(device), "%u:%u", parts.major, parts.minor);
	exposition_label(labels, "superblock", parts.name);
	exposition_label(labels, "device", device);
	exposition_label(labels, "mountpoint", parts.mount);
	return true;
}

static void make_keys(struct totals *totals)
{
	for (size_t i = 0; i < totals->count; i++) {
		struct line labels = { .used = 0 };
		bool shown = totals->label(totals, i, &labels);

		totals->keys[i] = shown ? exposition_labels_key(&labels) : 0;
	}
}

static struct shrinker_total sum_of(const struct totals *totals, size_t place)
{
	struct shrinker_total sum = *totals->of(totals, place);

	for (size_t i = place + 1; i < totals->count; i++) {
		const struct shrinker_total *more = totals->of(totals, i);

		if (totals->keys[i] != totals->keys[place])
			continue;
		sum.total += more->total;
		sum.count += more->count;
		if (more->max > sum.max)
			sum.max = more->max;
	}
	return sum;
}

static void put_total(struct exposition *exposition, const struct totals *totals, size_t place,
		      enum totals_what what)
{
	struct shrinker_total sum = sum_of(totals, place);
	struct line labels = { .used = 0 };

	totals->label(totals, place, &labels);
	if (what == TOTALS_RUNS)
		exposition_number(exposition, &labels, sum.count);
	else
		exposition_seconds(exposition, &labels, what == TOTALS_MAX ? sum.max : sum.total);
}

static void put_totals(struct exposition *exposition, struct totals *totals,
		       const struct totals_family families[TOTALS_WHAT_COUNT])
{
	make_keys(totals);
	for (int what = 0; what < TOTALS_WHAT_COUNT; what++) {
		exposition_family(exposition, families[what].name, families[what].type,
				  families[what].help);
		for (size_t i = 0; i < totals->count; i++)
			if (totals->keys[i] && is_first(totals->keys, i))
				put_total(exposition, totals, i, what);
	}
}

static void put_shrinkers(struct exposition *exposition, const struct summary_view *view)
{
	static const struct totals_family families[TOTALS_WHAT_COUNT] = {
		{ "allocfilt_shrinker_seconds_total", "counter",
		  "Time in runs of a shrinker, slow or not." },
		{ "allocfilt_shrinker_runs_total", "counter", "Runs of a shrinker." },
		{ "allocfilt_shrinker_max_seconds", "gauge",
		  "The longest run of a shrinker since the start." },
	};
	const struct shrinker_total *all;
	struct totals totals = {
		.view = view,
		.count = shrinkers_all(view->shrinkers, &all),
		.of = of_shrinker,
		.label = label_shrinker,
	};

	put_totals(exposition, &totals, families);
}

static void put_superblocks(struct exposition *exposition, const struct summary_view *view)
{
	static const struct totals_family families[TOTALS_WHAT_COUNT] = {
		{ "allocfilt_superblock_shrink_seconds_total", "counter",
		  "Time in runs of the shrinker of a superblock; part of its shrinker's." },
		{ "allocfilt_superblock_shrink_runs_total", "counter",
		  "Runs of the shrinker of a superblock." },
		{ "allocfilt_superblock_shrink_max_seconds", "gauge",
		  "The longest run of the shrinker of a superblock since the start." },
	};
	struct totals totals = {
		.view = view,
		.count = view->shrinker_names ? SHRINKER_NAMES_MAX : 0,
		.of = of_superblock,
		.label = label_superblock,
	};

	put_totals(exposition, &totals, families);
}

static void put_lost(struct exposition *exposition, const struct summary_view *view)
{
	exposition_family(exposition, "allocfilt_lost_records_total", "counter",
			  "Records that the kernel's ring buffer of a CPU had no room for.");
	for (int i = 0; i < view->cpus.count; i++) {
		int cpu = view->cpus.numbers[i];
		struct line labels = { .used = 0 };
		uint64_t unknown;

		label_cpu(&labels, cpu);
		exposition_number(exposition, &labels, losses_of(view->losses, cpu, &unknown));
	}
}

static void put_unknown_losses(struct exposition *exposition, const struct summary_view *view)
{
	exposition_family(exposition, "allocfilt_unknown_losses_total", "counter",
			  "Times that records of a CPU were lost and nothing tells how many.");
	for (int i = 0; i < view->cpus.count; i++) {
		int cpu = view->cpus.numbers[i];
		struct line labels = { .used = 0 };
		uint64_t unknown;

		losses_of(view->losses, cpu, &unknown);
		label_cpu(&labels, cpu);
		exposition_number(exposition, &labels, unknown);
	}
}

static void put_overflows(struct exposition *exposition, const struct summary_view *view)
{
	exposition_family(exposition, "allocfilt_table_overflows_total", "counter",
			  "What found no place in a table of allocfilt, or lost it.");
	for (size_t i = 0; i < view->nr_overflows; i++) {
		struct line labels = { .used = 0 };

		exposition_label(&labels, "table", view->overflows[i].key);
		exposition_number(exposition, &labels, view->overflows[i].count);
	}
}

static void put_journal(struct exposition *exposition, const struct metrics_process *process)
{
	exposition_family(exposition, "allocfilt_journal_entries_held_back_total", "counter",
			  "Entries that the journal was spared, because there were too many.");
	exposition_number(exposition, NULL, process->held_back);
	exposition_family(exposition, "allocfilt_journal_entries_dropped_total", "counter",
			  "Entries that the journal did not take.");
	exposition_number(exposition, NULL, process->dropped);
}

/* Not process_…: those of node_exporter itself, in whose output this is to stand. */
static void put_process(struct exposition *exposition, const struct metrics_process *process)
{
	exposition_family(exposition, "allocfilt_tracing_active", "gauge",
			  "1 while the kernel is traced, 0 while somebody else has tracing.");
	exposition_number(exposition, NULL, process->tracing);
	exposition_family(exposition, "allocfilt_uptime_seconds", "gauge",
			  "Time since the start of allocfilt.");
	exposition_seconds(exposition, NULL, process->uptime);
	exposition_family(exposition, "allocfilt_process_cpu_seconds_total", "counter",
			  "CPU time of allocfilt itself, user and system.");
	exposition_seconds(exposition, NULL, process->cpu);
	if (!process->resident)
		return;
	exposition_family(exposition, "allocfilt_process_resident_memory_bytes", "gauge",
			  "Resident memory of allocfilt itself.");
	exposition_number(exposition, NULL, process->resident);
}

int metrics_text(struct writer *writer, const struct summary_view *view,
		 const struct metrics_process *process)
{
	struct exposition exposition;

	exposition_init(&exposition, writer);
	put_info(&exposition, view);
	put_stalls(&exposition, view);
	put_all_phases(&exposition, view);
	put_shrinkers(&exposition, view);
	put_superblocks(&exposition, view);
	put_lost(&exposition, view);
	put_unknown_losses(&exposition, view);
	put_overflows(&exposition, view);
	if (process) {
		put_journal(&exposition, process);
		put_process(&exposition, process);
	}
	return exposition.failed;
}
