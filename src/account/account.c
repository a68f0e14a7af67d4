// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "account/histogram.h"
#include "account/snapshot.h"
#include "allocfilt/account/account.h"
#include "allocfilt/base/rows.h"

struct account *account_new(const struct plan *plan, const pid_t *pids, struct resolver *resolver)
{
	struct account *account = calloc(1, sizeof(*account));

	if (!account)
		return NULL;
	account->plan = plan;
	account->pids = pids;
	account->family.resolver = resolver;
	if (hash_init(&account->waiters, &account->waiter[0].hash, sizeof(account->waiter[0]),
		      ACCOUNT_WAITERS_MAX)) {
		free(account);
		return NULL;
	}
	return account;
}

void account_free(struct account *account)
{
	if (!account)
		return;
	snapshot_free(&account->now);
	snapshot_free(&account->before);
	snapshot_free(&account->shown);
	family_free(&account->family);
	hash_destroy(&account->waiters);
	free(account);
}

int account_see_tasks(struct account *account, const char *proc)
{
	return family_see_running(&account->family, proc);
}

void account_stall(struct account *account, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	int pid = named->task_info->pid ? named->task_info->pid : stall->tid;
	struct hash_link *link;
	struct waiter *waiter;

	if (named->background || task_key_in_interrupt(stall->key))
		return;
	link = hash_find(&account->waiters, (uint64_t)pid);
	if (!link && hash_is_full(&account->waiters)) {
		account->dropped_stalls++;
		return;
	}
	waiter = container_of(link ? link : hash_insert(&account->waiters, (uint64_t)pid),
			      struct waiter, hash);
	if (!link)
		waiter->stalls = waiter->waited = 0;
	waiter->stalls++;
	waiter->waited += stall->end - stall->start;
}

static bool is_task_wanted(const struct account *account, int tid, uint64_t ts)
{
	const pid_t *pids = account->pids;
	int pid;

	if (!pids)
		return true;
	pid = family_process(&account->family, tid, ts);
	while (*pids && *pids != pid)
		pids++;
	return *pids;
}

static int read_site_row(const struct account *account, struct account_tables *tables,
			 enum histogram_id id, struct histogram_row *row, uint64_t ts)
{
	bool is_cache = id == HISTOGRAM_CACHE || id == HISTOGRAM_CACHE_NODE;
	struct account_site site = { .count = row->count };
	int tid;

	if (account->plan->sites_by_task) {
		if (!histogram_tid(row, "common_pid", &tid))
			return 0;
		if (!is_task_wanted(account, tid, ts))
			return 1;
	}
	if (!histogram_number(row->values, "bytes_req", &site.requested) ||
	    !histogram_number(row->values, "bytes_alloc", &site.allocated))
		return 0;
	if (is_cache)
		site.cache = row->saved ? histogram_string(row->saved, "name") : NULL;
	if (is_cache && !site.cache)
		site.cache = "";
	site.name = histogram_symbol(row->keys, "call_site", &site.address);
	if (!site.name)
		return 0;
	return rows_append(&tables->sites, &tables->nr_sites, &site, sizeof(site));
}

static int read_process_row(const struct account *account, struct account_tables *tables,
			    enum histogram_id id, struct histogram_row *row, uint64_t ts)
{
	struct account_process process = { .pid = 0 };
	uint64_t order = 0;
	int tid;

	if (!histogram_tid(row, "common_pid", &tid) ||
	    (id == HISTOGRAM_PAGES &&
	     (!histogram_number(row->keys, "order", &order) || order > 63)))
		return 0;
	if (!is_task_wanted(account, tid, ts))
		return 1;
	process.pid = family_process(&account->family, tid, ts);
	if (id == HISTOGRAM_PAGES) {
		process.count = row->count;
		process.pages = row->count << order;
		process.orders[order < ACCOUNT_ORDERS ? order : ACCOUNT_ORDERS - 1] = row->count;
	} else if (id == HISTOGRAM_FALLBACKS) {
		process.fallbacks = row->count;
	} else if (id == HISTOGRAM_REFILLS) {
		process.refilled = row->count;
	} else {
		process.drained = row->count;
	}
	return rows_append(&tables->processes, &tables->nr_processes, &process, sizeof(process));
}

static int add_waiters(struct account *account, struct account_tables *tables, uint64_t ts)
{
	struct hash_link *link;

	TAILQ_FOREACH(link, &account->waiters.used, use) {
		const struct waiter *waiter = container_of(link, struct waiter, hash);
		const struct account_process process = {
			.pid = family_process(&account->family, (int)link->key, ts),
			.stalls = waiter->stalls,
			.waited = waiter->waited,
		};

		if (rows_append(&tables->processes, &tables->nr_processes, &process,
				sizeof(process)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- reading ---- */

/* Returns 1, 0 for a row that cannot be read, or -ENOMEM. */
static int read_row(struct account *account, struct account_tables *tables, enum histogram_id id,
		    struct histogram_row *row, uint64_t ts)
{
	if (id == HISTOGRAM_FORKS)
		return family_read_fork(&account->family, row);
	if (id == HISTOGRAM_EXITS)
		return family_read_exit(&account->family, row);
	if (HISTOGRAM_SITES & HISTOGRAM_BIT(id))
		return read_site_row(account, tables, id, row, ts);
	return read_process_row(account, tables, id, row, ts);
}

static int read_histogram(struct account *account, struct snapshot *snapshot, enum histogram_id id,
			  uint64_t ts)
{
	struct account_tables *tables = &snapshot->tables;
	struct histogram_text histogram;
	struct histogram_row row;
	char name[64];
	bool has_rows = false;
	int ret = 1;

	snprintf(name, sizeof(name), HISTOGRAM_PREFIX "%s", catalog_histograms[id].event);
	if (!histogram_begin(&histogram, snapshot->texts[id], name))
		return -ESTALE;
	while (ret >= 0 && histogram_next(&histogram, &row)) {
		ret = read_row(account, tables, id, &row, ts);
		tables->unreadable += !ret;
		has_rows = true;
	}
	/*
	 * hist_trigger_show() sorts the rows first, and prints none if there is no memory for that.
	 */
	if (ret >= 0 && histogram.hits && !has_rows && !histogram.unreadable)
		return -EAGAIN;
	tables->unreadable += histogram.unreadable;
	if (id == HISTOGRAM_FORKS || id == HISTOGRAM_EXITS)
		tables->dropped.tasks += histogram.dropped;
	else if (HISTOGRAM_SITES & HISTOGRAM_BIT(id))
		tables->dropped.sites += histogram.dropped;
	else
		tables->dropped.pages += histogram.dropped;
	return ret < 0 ? ret : 0;
}

static int read_histograms(struct account *account, struct snapshot *snapshot, uint64_t ts)
{
	int ret = 0;

	for (int id = 0; id < HISTOGRAM_COUNT && !ret; id++) {
		if (snapshot->texts[id])
			ret = read_histogram(account, snapshot, id, ts);
		/* The histograms after these two need the process of each task. */
		if (id == HISTOGRAM_EXITS)
			family_settle(&account->family, ts);
	}
	return ret ? ret : add_waiters(account, &snapshot->tables, ts);
}

int account_read(struct account *account, char *texts[HISTOGRAM_COUNT], uint64_t ts)
{
	struct snapshot snapshot = { .texts = { NULL } };
	int ret;

	memcpy(snapshot.texts, texts, sizeof(snapshot.texts));
	ret = read_histograms(account, &snapshot, ts);
	/* A call site has a row for each task with -p, and for each of two events before 6.1. */
	snapshot_merge(&snapshot);
	for (size_t i = 0; i < snapshot.tables.nr_processes; i++) {
		struct account_process *process = &snapshot.tables.processes[i];

		snprintf(process->name, sizeof(process->name), "%s",
			 family_name(&account->family, process->pid, ts));
	}
	family_forget(&account->family);
	snapshot.tables.dropped.processes = account->dropped_stalls;
	if (ret) {
		snapshot_free(&snapshot);
		return ret;
	}
	snapshot_free(account->begins_interval ? &account->before : &account->now);
	if (account->begins_interval)
		account->before = account->now;
	account->begins_interval = false;
	account->now = snapshot;
	return 0;
}

void account_begin_interval(struct account *account)
{
	account->begins_interval = true;
}
