// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "output/json.h"
#include "output/stall_json.h"

static void put_latency(struct json *json, const struct latency *latency)
{
	json_number(json, "count", latency->count);
	json_number(json, "total_ns", latency->total);
	json_number(json, "p50_ns", latency_percentile(latency, 50));
	json_number(json, "p99_ns", latency_percentile(latency, 99));
	json_number(json, "max_ns", latency->max);
}

static void put_superblocks(struct json *json, const struct summary_view *view, uint64_t callback)
{
	const struct superblock_total *totals;
	size_t count = shrinkers_superblocks(view->shrinkers, callback, &totals);

	json_open(json, "superblocks", '[');
	for (size_t i = 0; view->shrinker_names && i < count; i++) {
		char label[SHRINKER_LABEL_MAX];

		shrinker_names_label(view->shrinker_names, totals[i].superblock, label,
				     sizeof(label));
		json_open(json, NULL, '{');
		json_string(json, "name", label);
		json_number(json, "count", totals[i].total.count);
		json_number(json, "total_ns", totals[i].total.total);
		json_number(json, "max_ns", totals[i].total.max);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_shrinkers(struct json *json, const struct summary_view *view)
{
	const struct shrinker_total *totals;
	size_t count = shrinkers_sorted(view->shrinkers, &totals);

	json_open(json, "shrinkers", '[');
	for (size_t i = 0; i < count; i++) {
		char name[STALL_FUNCTION_MAX];

		resolver_symbol(view->resolver, totals[i].callback, 's', name, sizeof(name));
		json_open(json, NULL, '{');
		json_string(json, "name", name);
		json_address(json, "callback", totals[i].callback);
		json_number(json, "count", totals[i].count);
		json_number(json, "total_ns", totals[i].total);
		json_number(json, "max_ns", totals[i].max);
		put_superblocks(json, view, totals[i].callback);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_histogram(struct json *json, const struct latency *latency)
{
	json_open(json, "histogram", '[');
	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		uint32_t count = latency_power(latency, power);

		if (!count)
			continue;
		json_open(json, NULL, '{');
		json_number(json, "from_ns", power ? 1000ull << power : 0);
		json_number(json, "to_ns", 2000ull << power);
		json_number(json, "count", count);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_function(struct json *json, struct resolver *resolver,
			 const struct summary_function *function)
{
	const char *title = catalog_role_title(function->role);
	char name[STALL_FUNCTION_MAX];

	json_open(json, NULL, '{');
	if (function->function)
		resolver_symbol(resolver, function->function, 's', name, sizeof(name));
	json_string(json, "function", function->function ? name : NULL);
	json_string(json, "role", title);
	put_latency(json, &function->latency);
	put_histogram(json, &function->latency);
	json_close(json, '}');
}

static void put_functions(struct json *json, const struct summary_view *view)
{
	const struct summary_function *functions;
	size_t count = summary_functions(view->summary, &functions);

	json_open(json, "functions", '[');
	for (size_t i = 0; i < count; i++)
		put_function(json, view->resolver, &functions[i]);
	json_close(json, ']');
}

static void put_waiters(struct json *json, const char *key, const struct summary_view *view,
			enum summary_who who)
{
	const struct summary_waiter *waiters;
	size_t count = summary_waiters(view->summary, who, &waiters);

	json_open(json, key, '[');
	for (size_t i = 0; i < count && i < view->top; i++) {
		json_open(json, NULL, '{');
		if (who != SUMMARY_CGROUPS)
			json_signed(json, "pid", waiters[i].pid);
		json_string(json, who == SUMMARY_CGROUPS ? "cgroup" : "name", waiters[i].name);
		put_latency(json, &waiters[i].latency);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_stall(struct json *json, const char *key, const struct named_stall *named,
		      struct resolver *resolver)
{
	if (!named) {
		json_null(json, key);
		return;
	}
	json_open(json, key, '{');
	stall_json_fields(json, named, resolver);
	json_close(json, '}');
}

static void put_stalls(struct json *json, const char *key, const struct summary_stalls *stalls)
{
	json_open(json, key, '{');
	put_latency(json, &stalls->latency);
	stall_json_phases(json, "phases", &stalls->phases);
	json_close(json, '}');
}

static void put_losses(struct json *json, const struct summary_view *view)
{
	json_open(json, "lost", '[');
	for (int i = 0; i < view->cpus.count; i++) {
		int cpu = view->cpus.numbers[i];
		uint64_t unknown;
		uint64_t records = losses_of(view->losses, cpu, &unknown);

		if (!records && !unknown)
			continue;
		json_open(json, NULL, '{');
		json_signed(json, "cpu", cpu);
		json_number(json, "records", records);
		json_number(json, "times_unknown", unknown);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_overflows(struct json *json, const struct summary_view *view)
{
	json_open(json, "overflows", '{');
	for (size_t i = 0; i < view->nr_overflows; i++)
		json_number(json, view->overflows[i].key, view->overflows[i].count);
	json_close(json, '}');
}

static void put_journal(struct json *json, const struct summary_view *view)
{
	if (!view->has_journal) {
		json_null(json, "journal");
		return;
	}
	json_open(json, "journal", '{');
	json_number(json, "entries", view->journal.entries);
	json_number(json, "held_back", view->journal.held_back);
	json_number(json, "dropped", view->journal.dropped);
	json_close(json, '}');
}

static void put_head(struct json *json, const struct summary_view *view, bool final)
{
	json_string(json, "type", "summary");
	json_number(json, "schema", OUTPUT_SCHEMA);
	json_bool(json, "final", final);
	stall_json_time(json, view->resolver, view->ts);
	json_number(json, "ts_ns", view->ts);
	json_number(json, "threshold_ns", view->plan->threshold);
}

int summary_json(struct writer *writer, const struct summary_view *view, bool final)
{
	struct summary *summary = view->summary;
	struct json json;

	json_init(&json, writer);
	json_open(&json, NULL, '{');
	put_head(&json, view, final);
	put_shrinkers(&json, view);
	put_functions(&json, view);
	put_stalls(&json, "stalls", summary_stalls(summary, STALLS_WAITING));
	put_stalls(&json, "background", summary_stalls(summary, STALLS_BACKGROUND));
	put_stall(&json, "worst", summary_most_explained(summary), view->resolver);
	put_stall(&json, "longest", summary_longest(summary), view->resolver);
	put_waiters(&json, "tasks", view, SUMMARY_TASKS);
	put_waiters(&json, "cgroups", view, SUMMARY_CGROUPS);
	put_waiters(&json, "kernel_threads", view, SUMMARY_KERNEL_THREADS);
	json_number(&json, "incomplete", summary_incomplete(summary));
	put_losses(&json, view);
	put_overflows(&json, view);
	put_journal(&json, view);
	json_close(&json, '}');
	json_raw(&json, "\n");
	return json.failed ? json.failed : writer_flush(writer);
}
