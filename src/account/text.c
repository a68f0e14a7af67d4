// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "account/forms.h"
#include "allocfilt/base/line.h"
#include "allocfilt/stats/ranking.h"

#define NAME_COLUMNS  34 /* of a call site */
#define CACHE_COLUMNS 17
#define TASK_COLUMNS  20

static double percentage(uint64_t part, uint64_t whole)
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

static void add_name(struct line *line, const struct writer *writer, const char *name, int columns)
{
	size_t start = text_columns(line->text);

	line_add_name(line, writer, name);
	line_pad(line, start + (size_t)columns);
}

static void put_more(struct writer *writer, size_t count, size_t shown, const char *what)
{
	if (count > shown)
		line_write(writer, "  %zu more %s (--top)", count - shown, what);
}

/* Says how much a full table of the kernel left out. */
static void put_dropped(struct writer *writer, uint64_t dropped, uint64_t counted, const char *what)
{
	if (dropped)
		line_write(writer,
			   "incomplete: a table of the kernel was full, and no row has another "
			   "%" PRIu64 " %s (%.1f %% of all)",
			   dropped, what, percentage(dropped, counted + dropped));
}

static void put_sites(struct writer *writer, const struct summary_view *view,
		      const struct account_tables *tables)
{
	const struct account_site *all = &tables->all_sites;
	char time[TEXT_DURATION_MAX], counted[TEXT_COUNTED_MAX];
	struct line line;
	size_t rows = 0;

	line_clear(&line);
	line_add(&line, "slab: %s in %s; ", text_counted(counted, all->count, "allocation{s}"),
		 text_duration(time, view->ts - view->since));
	add_size(&line, all->requested);
	line_add(&line, " asked for, ");
	add_size(&line, all->allocated);
	line_add(&line, " allocated, ");
	add_size(&line, account_wasted(all));
	line_add(&line, " wasted (%.1f %%)", percentage(account_wasted(all), all->allocated));
	line_put(&line, writer);
	put_dropped(writer, tables->dropped.sites, all->count, "allocations");
	if (!tables->nr_sites)
		return;
	line_write(writer, "%-*s %-*s %9s %10s %11s %11s %5s", NAME_COLUMNS, "call site",
		   CACHE_COLUMNS, "cache", "count", "asked KiB", "alloc. KiB", "wasted KiB", "%");
	for (; rows < tables->nr_sites && rows < view->top; rows++) {
		const struct account_site *site = &tables->sites[rows];

		line_clear(&line);
		add_name(&line, writer, site->name, NAME_COLUMNS);
		line_add(&line, " ");
		add_name(&line, writer,
			 !site->cache ? "(kmalloc)" :
			 *site->cache ? site->cache :
					"?",
			 CACHE_COLUMNS);
		line_add(&line, " %9" PRIu64 " %10.1f %11.1f %11.1f %5.1f", site->count,
			 (double)site->requested / 1024, (double)site->allocated / 1024,
			 (double)account_wasted(site) / 1024,
			 percentage(account_wasted(site), site->allocated));
		line_put(&line, writer);
	}
	put_more(writer, tables->nr_sites, rows, "call sites");
}

/* The least of the @top longest times waited; UINT64_MAX: nobody waited. */
static uint64_t long_wait(const struct account_tables *tables, size_t top)
{
	const struct account_process *processes = tables->processes;
	uint64_t least = UINT64_MAX;
	int i = -1;

	while (top-- && (i = ranking_next(&processes->waited, sizeof(*processes),
					  (int)tables->nr_processes, i)) >= 0)
		if (processes[i].waited)
			least = processes[i].waited;
	return least;
}

static void put_process_row(struct writer *writer, const struct account_process *process)
{
	char name[TASK_COMM_MAX + 16];
	struct line line;

	snprintf(name, sizeof(name), "%s-%d", process->name, process->pid);
	line_clear(&line);
	add_name(&line, writer, name, TASK_COLUMNS);
	line_add(&line, " %10" PRIu64 " %9.1f %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %7" PRIu64 " ",
		 process->pages, (double)process->pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20),
		 process->fallbacks, process->refilled, process->drained, process->stalls);
	line_add_ms(&line, 7, process->waited);
	line_add(&line, " ");
	for (int order = 0; order < ACCOUNT_ORDERS; order++)
		if (process->orders[order])
			line_add(&line, " %d:%" PRIu64, order, process->orders[order]);
	line_put(&line, writer);
}

/* The processes with most pages are shown, and those that waited longest. */
static void put_processes(struct writer *writer, const struct summary_view *view,
			  const struct account_tables *tables)
{
	const struct account_process *all = &tables->all_processes;
	uint64_t wait;
	char time[TEXT_DURATION_MAX], counted[TEXT_COUNTED_MAX];
	struct line line;
	size_t rows = 0;

	line_clear(&line);
	line_add(&line,
		 "pages: %" PRIu64 " in %s; %" PRIu64 " fallback%s, %" PRIu64 " refilled, %" PRIu64
		 " drained; ",
		 all->pages, text_counted(counted, all->count, "allocation{s}"), all->fallbacks,
		 all->fallbacks == 1 ? "" : "s", all->refilled, all->drained);
	line_add(&line, "%s of %s or more waited ", text_counted(counted, all->stalls, "stall{s}"),
		 text_duration(time, view->plan->threshold));
	line_add_ms(&line, 0, all->waited);
	line_add(&line, " ms");
	line_put(&line, writer);
	put_dropped(writer, tables->dropped.pages,
		    all->count + all->fallbacks + all->refilled + all->drained,
		    "allocations, fallbacks, refills or drains");
	put_dropped(writer, tables->dropped.processes, all->stalls, "stalls");
	if (tables->dropped.tasks)
		line_write(writer,
			   "incomplete: %s not counted, so some rows lack a name, or are of a "
			   "thread",
			   text_counted(counted, tables->dropped.tasks,
					"{forks and exits were|fork or exit was}"));
	if (!tables->nr_processes)
		return;
	wait = long_wait(tables, view->top);
	line_write(writer, "%-*s %10s %9s %9s %9s %9s %7s %11s  %s", TASK_COLUMNS, "process",
		   "pages", "MiB", "fallbacks", "refilled", "drained", "stalls", "waited ms",
		   "by order");
	for (size_t i = 0; i < tables->nr_processes; i++) {
		const struct account_process *process = &tables->processes[i];

		if (i >= view->top && process->waited < wait)
			continue;
		put_process_row(writer, process);
		rows++;
	}
	put_more(writer, tables->nr_processes, rows, "processes");
}

void account_text(struct writer *writer, const struct summary_view *view,
		  const struct account_tables *tables)
{
	char counted[TEXT_COUNTED_MAX];

	writer_put(writer, "\n", 1);
	put_sites(writer, view, tables);
	writer_put(writer, "\n", 1);
	put_processes(writer, view, tables);
	if (view->lost || view->lost_times)
		line_write(writer, "incomplete: records were lost, and so may be stalls");
	if (tables->unreadable)
		line_write(writer, "incomplete: %s of the kernel's text cannot be read",
			   text_counted(counted, tables->unreadable, "row{s}"));
}
