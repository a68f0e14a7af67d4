// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output/account.h"
#include "output/json.h"
#include "output/tree.h"

/* The two tables of an account: as text, in place of the summary, as JSON, and call sites folded. */

#define NAME_COLUMNS  34 /* of a call site */
#define CACHE_COLUMNS 17
#define TASK_COLUMNS  20
#define TOP_MAX	      128 /* of --top */

static int tables_of(const struct summary_view *view, struct account_tables *ret_tables)
{
	return account_tables(view->account, view->is_interval, view->sort, ret_tables);
}

static uint64_t duration_of(const struct summary_view *view)
{
	return view->ts > view->since ? view->ts - view->since : 0;
}

static const char *event_of(const struct account_site *site)
{
	return site->cache ? "kmem_cache_alloc" : "kmalloc";
}

/* ---- text ---- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_size(struct line *line, uint64_t bytes)
{
	if (bytes < 1 << 20)
		line_add(line, "%.1f KiB", (double)bytes / (1 << 10));
	else
		line_add(line, "%.1f MiB", (double)bytes / (1 << 20));
}

static void add_name(struct line *line, const char *name, int columns)
{
	size_t start = line->used;

	line_add_escaped(line, name, TEXT_PRINTABLE);
	line_add_spaces(line, columns - (int)text_columns(line->text + start));
}

static void put_more(struct writer *writer, size_t count, size_t shown, const char *what)
{
	struct line line;

	if (count <= shown)
		return;
	line_clear(&line);
	line_add(&line, "  %zu more %s (--top)", count - shown, what);
	line_put(&line, writer);
}

/* What a full table of the kernel left out. */
static void put_dropped(struct writer *writer, uint64_t dropped, uint64_t counted, const char *what)
{
	struct line line;

	if (!dropped)
		return;
	line_clear(&line);
	line_add(&line,
		 "incomplete: a table of the kernel was full, and no row has another %" PRIu64
		 " %s (%.1f %% of all)",
		 dropped, what, percent(dropped, counted + dropped));
	line_put(&line, writer);
}

static void put_sites(struct writer *writer, const struct summary_view *view,
		      const struct account_tables *tables)
{
	const struct account_site *all = &tables->all_sites;
	char time[TEXT_DURATION_MAX];
	struct line line;
	size_t rows = 0;

	line_clear(&line);
	line_add(&line, "slab: %" PRIu64 " allocations in %s; ", all->count,
		 text_duration(time, duration_of(view)));
	add_size(&line, all->requested);
	line_add(&line, " asked for, ");
	add_size(&line, all->allocated);
	line_add(&line, " allocated, ");
	add_size(&line, account_wasted(all));
	line_add(&line, " wasted (%.1f %%)", percent(account_wasted(all), all->allocated));
	line_put(&line, writer);
	put_dropped(writer, tables->dropped.sites, all->count, "allocations");
	if (!tables->nr_sites)
		return;
	line_clear(&line);
	line_add(&line, "%-*s %-*s %9s %10s %11s %11s %5s", NAME_COLUMNS, "call site",
		 CACHE_COLUMNS, "cache", "count", "asked KiB", "alloc. KiB", "wasted KiB", "%");
	line_put(&line, writer);
	for (; rows < tables->nr_sites && rows < view->top; rows++) {
		const struct account_site *site = &tables->sites[rows];

		line_clear(&line);
		add_name(&line, site->name, NAME_COLUMNS);
		line_add(&line, " ");
		add_name(&line,
			 !site->cache ? "(kmalloc)" :
			 *site->cache ? site->cache :
					"?",
			 CACHE_COLUMNS);
		line_add(&line, " %9" PRIu64 " %10.1f %11.1f %11.1f %5.1f", site->count,
			 (double)site->requested / 1024, (double)site->allocated / 1024,
			 (double)account_wasted(site) / 1024,
			 percent(account_wasted(site), site->allocated));
		line_put(&line, writer);
	}
	put_more(writer, tables->nr_sites, rows, "call sites");
}

/* The least time waited that is among the @top longest ones; UINT64_MAX: nothing waited. */
static uint64_t long_wait(const struct account_tables *tables, size_t top)
{
	uint64_t longest[TOP_MAX] = { 0 };

	for (size_t i = 0; i < tables->nr_processes; i++) {
		uint64_t waited = tables->processes[i].waited;

		for (size_t j = 0; j < top && j < TOP_MAX; j++) {
			uint64_t other = longest[j];

			if (waited <= other)
				continue;
			longest[j] = waited;
			waited = other;
		}
	}
	for (size_t j = top < TOP_MAX ? top : TOP_MAX; j > 0; j--)
		if (longest[j - 1])
			return longest[j - 1];
	return UINT64_MAX;
}

static void put_process(struct writer *writer, const struct account_process *process)
{
	char name[TASK_COMM_MAX + 16];
	struct line line;

	snprintf(name, sizeof(name), "%s-%d", process->name, process->pid);
	line_clear(&line);
	add_name(&line, name, TASK_COLUMNS);
	line_add(&line, " %10" PRIu64 " %9.1f %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %7" PRIu64 " ",
		 process->pages, (double)process->pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20),
		 process->fallbacks, process->refilled, process->drained, process->stalls);
	tree_add_ms(&line, 7, process->waited);
	line_add(&line, " ");
	for (int order = 0; order < ACCOUNT_ORDERS; order++)
		if (process->orders[order])
			line_add(&line, " %d:%" PRIu64, order, process->orders[order]);
	line_put(&line, writer);
}

/* Who takes most and who waits longest: both are in it. */
static void put_processes(struct writer *writer, const struct summary_view *view,
			  const struct account_tables *tables)
{
	const struct account_process *all = &tables->all_processes;
	uint64_t wait = long_wait(tables, view->top);
	char time[TEXT_DURATION_MAX];
	struct line line;
	size_t rows = 0;

	line_clear(&line);
	line_add(&line,
		 "pages: %" PRIu64 " in %" PRIu64 " allocations; %" PRIu64 " fallbacks, %" PRIu64
		 " refilled, %" PRIu64 " drained; ",
		 all->pages, all->count, all->fallbacks, all->refilled, all->drained);
	line_add(&line, "%" PRIu64 " stalls of %s or more waited ", all->stalls,
		 text_duration(time, view->report));
	tree_add_ms(&line, 0, all->waited);
	line_add(&line, " ms");
	line_put(&line, writer);
	put_dropped(writer, tables->dropped.pages,
		    all->count + all->fallbacks + all->refilled + all->drained,
		    "allocations, fallbacks, refills or drains");
	put_dropped(writer, tables->dropped.processes, all->stalls, "stalls");
	if (tables->dropped.tasks) {
		line_clear(&line);
		line_add(&line,
			 "incomplete: %" PRIu64 " forks and exits were not counted, so some rows "
			 "lack a name, or are of a thread",
			 tables->dropped.tasks);
		line_put(&line, writer);
	}
	if (!tables->nr_processes)
		return;
	line_clear(&line);
	line_add(&line, "%-*s %10s %9s %9s %9s %9s %7s %11s  %s", TASK_COLUMNS, "process", "pages",
		 "MiB", "fallbacks", "refilled", "drained", "stalls", "waited ms", "by order");
	line_put(&line, writer);
	for (size_t i = 0; i < tables->nr_processes; i++) {
		const struct account_process *process = &tables->processes[i];

		if (i >= view->top && process->waited < wait)
			continue;
		put_process(writer, process);
		rows++;
	}
	put_more(writer, tables->nr_processes, rows, "processes");
}

int account_text(struct writer *writer, const struct summary_view *view)
{
	struct account_tables tables;
	int ret = tables_of(view, &tables);
	uint64_t unknown = 0;
	struct line line;

	if (ret)
		return ret;
	writer_put(writer, "\n", 1);
	put_sites(writer, view, &tables);
	writer_put(writer, "\n", 1);
	put_processes(writer, view, &tables);
	if (view->losses && losses_total(view->losses, &unknown) + unknown) {
		line_clear(&line);
		line_add(&line, "incomplete: records were lost, and so may be stalls");
		line_put(&line, writer);
	}
	if (tables.unreadable) {
		line_clear(&line);
		line_add(&line, "incomplete: %" PRIu64 " rows of the kernel's text cannot be read",
			 tables.unreadable);
		line_put(&line, writer);
	}
	return writer_flush(writer);
}

/* ---- JSON ---- */

static void put_site_object(struct json *json, const struct account_site *site)
{
	char address[24];

	snprintf(address, sizeof(address), "0x%" PRIx64, site->address);
	json_open(json, NULL, '{');
	json_string(json, "call_site", site->name);
	json_string(json, "address", address);
	json_string(json, "event", event_of(site));
	json_string(json, "cache", site->cache && *site->cache ? site->cache : NULL);
	json_number(json, "count", site->count);
	json_number(json, "bytes_requested", site->requested);
	json_number(json, "bytes_allocated", site->allocated);
	json_number(json, "bytes_wasted", account_wasted(site));
	json_close(json, '}');
}

static void put_process_numbers(struct json *json, const struct account_process *process)
{
	int orders = ACCOUNT_ORDERS;

	json_number(json, "count", process->count);
	json_number(json, "pages", process->pages);
	while (orders && !process->orders[orders - 1])
		orders--;
	json_open(json, "orders", '[');
	for (int order = 0; order < orders; order++)
		json_number(json, NULL, process->orders[order]);
	json_close(json, ']');
	json_number(json, "fallbacks", process->fallbacks);
	json_number(json, "refilled", process->refilled);
	json_number(json, "drained", process->drained);
	json_number(json, "stalls", process->stalls);
	json_number(json, "waited_ns", process->waited);
}

static int account_json(struct writer *writer, const struct summary_view *view)
{
	uint64_t realtime = resolver_realtime(view->resolver, view->ts), unknown = 0;
	uint64_t lost = view->losses ? losses_total(view->losses, &unknown) : 0;
	struct account_tables tables;
	char time[TEXT_TIME_MAX];
	struct json json;
	int ret = tables_of(view, &tables);

	if (ret)
		return ret;
	json_begin_line(&json, writer, "account");
	json_bool(&json, "interval", view->is_interval);
	json_string(&json, "time", text_time(time, realtime) ? time : NULL);
	json_number(&json, "ts_ns", view->ts);
	json_number(&json, "duration_ns", duration_of(view));
	json_number(&json, "threshold_ns", view->plan->threshold);
	json_open(&json, "slab", '{');
	json_number(&json, "count", tables.all_sites.count);
	json_number(&json, "bytes_requested", tables.all_sites.requested);
	json_number(&json, "bytes_allocated", tables.all_sites.allocated);
	json_number(&json, "bytes_wasted", account_wasted(&tables.all_sites));
	json_number(&json, "dropped", tables.dropped.sites);
	json_open(&json, "call_sites", '[');
	for (size_t i = 0; i < tables.nr_sites; i++)
		put_site_object(&json, &tables.sites[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	json_open(&json, "pages", '{');
	put_process_numbers(&json, &tables.all_processes);
	json_number(&json, "dropped", tables.dropped.pages);
	json_number(&json, "dropped_stalls", tables.dropped.processes);
	json_number(&json, "dropped_tasks", tables.dropped.tasks);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < tables.nr_processes; i++) {
		const struct account_process *process = &tables.processes[i];

		json_open(&json, NULL, '{');
		json_signed(&json, "pid", process->pid);
		json_string(&json, "process",
			    strcmp(process->name, TASK_UNNAMED) ? process->name : NULL);
		put_process_numbers(&json, process);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	if (unknown)
		json_null(&json, "lost_records");
	else
		json_number(&json, "lost_records", lost);
	json_number(&json, "unreadable_rows", tables.unreadable);
	json_end(&json);
	return writer_flush(writer);
}

static int json_summary_of(struct output *output, const struct summary_view *view)
{
	return account_json(output->setup.writer, view);
}

const struct output_ops account_json_form = {
	.summary = json_summary_of,
	.interval = account_json,
	.so_far = account_json,
};

/* ---- folded ---- */

/* A frame for the event, one for its cache, one for the call site; a semicolon ends a frame. */
static void put_frame(struct line *line, const char *name)
{
	char text[TEXT_ESCAPED_MAX * 64];

	text_escape(text, sizeof(text), name, TEXT_PRINTABLE);
	for (char *end = text; (end = strchr(end, ';'));)
		*end = ':';
	line_add(line, "%s", text);
}

static int account_folded(struct output *output, const struct summary_view *view)
{
	struct writer *writer = output->setup.writer;
	struct account_tables tables;
	int ret = tables_of(view, &tables);

	for (size_t i = 0; !ret && i < tables.nr_sites; i++) {
		const struct account_site *site = &tables.sites[i];
		const uint64_t numbers[] = {
			[SORT_WASTED] = account_wasted(site),
			[SORT_ALLOCATED] = site->allocated,
			[SORT_COUNT] = site->count,
		};
		struct line line;

		if (!numbers[view->sort])
			continue;
		line_clear(&line);
		line_add(&line, "%s;", event_of(site));
		if (site->cache && *site->cache) {
			put_frame(&line, site->cache);
			line_add(&line, ";");
		}
		put_frame(&line, site->name);
		line_add(&line, " %" PRIu64, numbers[view->sort]);
		line_put(&line, writer);
	}
	if (!ret && tables.dropped.sites)
		log_warning("incomplete: a table of the kernel was full, and no line has another "
			    "%" PRIu64 " allocations",
			    tables.dropped.sites);
	return ret ? ret : writer_flush(writer);
}

const struct output_ops account_folded_form = {
	.summary = account_folded,
};
