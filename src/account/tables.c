// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "account/snapshot.h"
#include "allocfilt/base/rows.h"

uint64_t account_wasted(const struct account_site *site)
{
	return site->allocated > site->requested ? site->allocated - site->requested : 0;
}

uint64_t account_number(const struct account_site *site, enum account_sort sort)
{
	if (sort == SORT_WASTED)
		return account_wasted(site);
	return sort == SORT_ALLOCATED ? site->allocated : site->count;
}

/* The name of a cache is no part of the key: the kernel saves that of the largest object so far. */
static int compare_sites(const void *one, const void *other)
{
	const struct account_site *a = one, *b = other;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->cache != NULL) - (b->cache != NULL);
}

static void increase(uint64_t *count, uint64_t by)
{
	*count += by;
}

/*
 * A count may be lower than before: somebody cleared the kernel's counts, or procfs no longer tells
 * the process of a thread and its counts moved to another row.
 */
static void subtract(uint64_t *count, uint64_t before)
{
	*count = *count > before ? *count - before : 0;
}

static void change_site(struct account_site *site, const struct account_site *by,
			void (*change)(uint64_t *count, uint64_t by))
{
	change(&site->count, by->count);
	change(&site->requested, by->requested);
	change(&site->allocated, by->allocated);
}

static void add_site(void *to, const void *of)
{
	change_site(to, of, increase);
}

static int compare_processes(const void *one, const void *other)
{
	const struct account_process *a = one, *b = other;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static void change_process(struct account_process *process, const struct account_process *by,
			   void (*change)(uint64_t *count, uint64_t by))
{
	change(&process->count, by->count);
	change(&process->pages, by->pages);
	for (int order = 0; order < ACCOUNT_ORDERS; order++)
		change(&process->orders[order], by->orders[order]);
	change(&process->fallbacks, by->fallbacks);
	change(&process->refilled, by->refilled);
	change(&process->drained, by->drained);
	change(&process->stalls, by->stalls);
	change(&process->waited, by->waited);
}

static void add_process(void *to, const void *of)
{
	change_process(to, of, increase);
}

void snapshot_free(struct snapshot *snapshot)
{
	for (int id = 0; id < HISTOGRAM_COUNT; id++)
		free(snapshot->texts[id]);
	free(snapshot->tables.sites);
	free(snapshot->tables.processes);
	*snapshot = (struct snapshot){ .texts = { NULL } };
}

void snapshot_merge(struct snapshot *snapshot)
{
	struct account_tables *tables = &snapshot->tables;

	rows_merge(tables->sites, &tables->nr_sites, sizeof(*tables->sites), compare_sites,
		   add_site);
	rows_merge(tables->processes, &tables->nr_processes, sizeof(*tables->processes),
		   compare_processes, add_process);
}

static int largest_first(uint64_t one, uint64_t other)
{
	return (one < other) - (one > other);
}

static int by_number(const void *one, const void *other, void *sort)
{
	const enum account_sort *by = sort;
	int order = largest_first(account_number(one, *by), account_number(other, *by));

	return order ? order : compare_sites(one, other);
}

static int by_pages(const void *one, const void *other)
{
	const struct account_process *a = one, *b = other;

	return largest_first(a->pages, b->pages)	   ?:
		       largest_first(a->waited, b->waited) ?:
							     compare_processes(a, b);
}

static void show_sites(struct account_tables *shown, const struct account_tables *now,
		       const struct account_tables *before)
{
	for (size_t i = 0; i < now->nr_sites; i++) {
		struct account_site site = now->sites[i];
		const struct account_site *old = rows_find(&site, before->sites, before->nr_sites,
							   sizeof(site), compare_sites);

		if (old)
			change_site(&site, old, subtract);
		if (site.count)
			shown->sites[shown->nr_sites++] = site;
	}
}

static void show_processes(struct account_tables *shown, const struct account_tables *now,
			   const struct account_tables *before)
{
	for (size_t i = 0; i < now->nr_processes; i++) {
		struct account_process process = now->processes[i];
		const struct account_process *old =
			rows_find(&process, before->processes, before->nr_processes,
				  sizeof(process), compare_processes);

		if (old)
			change_process(&process, old, subtract);
		if (process.count || process.fallbacks || process.refilled || process.drained ||
		    process.stalls)
			shown->processes[shown->nr_processes++] = process;
	}
}

int account_tables(struct account *account, bool interval, enum account_sort sort,
		   struct account_tables *ret_tables)
{
	static const struct account_tables none;
	const struct account_tables *now = &account->now.tables;
	const struct account_tables *before = !interval		       ? &none :
					      account->begins_interval ? now :
									 &account->before.tables;
	struct account_tables *shown = &account->shown.tables;

	snapshot_free(&account->shown);
	shown->sites = calloc(now->nr_sites + 1, sizeof(*shown->sites));
	shown->processes = calloc(now->nr_processes + 1, sizeof(*shown->processes));
	if (!shown->sites || !shown->processes)
		return -ENOMEM;
	show_sites(shown, now, before);
	show_processes(shown, now, before);
	qsort_r(shown->sites, shown->nr_sites, sizeof(*shown->sites), by_number, &sort);
	qsort(shown->processes, shown->nr_processes, sizeof(*shown->processes), by_pages);
	shown->dropped = now->dropped;
	subtract(&shown->dropped.sites, before->dropped.sites);
	subtract(&shown->dropped.pages, before->dropped.pages);
	subtract(&shown->dropped.tasks, before->dropped.tasks);
	subtract(&shown->dropped.processes, before->dropped.processes);
	shown->unreadable = now->unreadable;
	for (size_t i = 0; i < shown->nr_sites; i++)
		add_site(&shown->all_sites, &shown->sites[i]);
	for (size_t i = 0; i < shown->nr_processes; i++)
		add_process(&shown->all_processes, &shown->processes[i]);
	*ret_tables = *shown;
	return 0;
}
