// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/account.h"

#include <errno.h>
#include <glob.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "account/histogram.h"

#define WAITERS_MAX 4096 /* processes with stalls */

/* A process with stalls; it stays. */
struct waiter {
	struct hash_link hash; /* by pid */
	int pid;
	uint64_t stalls;
	uint64_t waited; /* ns */
};

struct task {
	int tid;
	int parent;	  /* of a fork: the task that made it; of one that runs: its process */
	bool thread;	  /* of a fork: it is in its parent's process */
	int process;	  /* of a fork; 0: not found yet */
	const char *name; /* of an exit */
};

struct tasks {
	struct task *task; /* by tid */
	size_t count;
};

/* What was read at one time. Rows are sorted by what they are of. */
struct snapshot {
	char *texts[HISTOGRAM_COUNT]; /* which names are in */
	struct tasks forks, exits;    /* while it is read */
	struct account_site *sites;
	size_t nr_sites;
	struct account_process *processes;
	size_t nr_processes;
	struct account_dropped dropped;
	uint64_t unreadable;
};

struct account {
	const struct plan *plan;
	const pid_t *pids;
	struct resolver *resolver;
	struct tasks running; /* before forks were counted */
	struct hash waiters;
	struct waiter waiter[WAITERS_MAX];
	uint64_t dropped_stalls;
	struct snapshot now, before; /* before: when the interval began */
	bool begins_interval;	     /* now does */
	struct snapshot shown;	     /* the tables of account_tables(), with the names of now */
};

struct account *account_new(const struct plan *plan, const pid_t *pids, struct resolver *resolver)
{
	struct account *account = calloc(1, sizeof(*account));

	if (!account)
		return NULL;
	account->plan = plan;
	account->pids = pids;
	account->resolver = resolver;
	if (hash_init(&account->waiters, &account->waiter[0].hash, sizeof(account->waiter[0]),
		      WAITERS_MAX)) {
		free(account);
		errno = ENOMEM;
		return NULL;
	}
	return account;
}

static void tasks_free(struct tasks *tasks)
{
	free(tasks->task);
	*tasks = (struct tasks){ .count = 0 };
}

static void snapshot_free(struct snapshot *snapshot)
{
	for (int id = 0; id < HISTOGRAM_COUNT; id++)
		free(snapshot->texts[id]);
	tasks_free(&snapshot->forks);
	tasks_free(&snapshot->exits);
	free(snapshot->sites);
	free(snapshot->processes);
	*snapshot = (struct snapshot){ .nr_sites = 0 };
}

void account_free(struct account *account)
{
	if (!account)
		return;
	snapshot_free(&account->now);
	snapshot_free(&account->before);
	snapshot_free(&account->shown);
	tasks_free(&account->running);
	hash_destroy(&account->waiters);
	free(account);
}

uint64_t account_wasted(const struct account_site *site)
{
	return site->allocated > site->requested ? site->allocated - site->requested : 0;
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
	if (!link) {
		link = hash_insert(&account->waiters, (uint64_t)pid);
		waiter = container_of(link, struct waiter, hash);
		waiter->pid = pid;
		waiter->stalls = 0;
		waiter->waited = 0;
	}
	waiter = container_of(link, struct waiter, hash);
	waiter->stalls++;
	waiter->waited += stall->end - stall->start;
}

/* Makes room for one more element, which is all zeros; NULL: no memory. */
static void *append(void *array_pointer, size_t *count, size_t size)
{
	void **array = array_pointer;
	char *element;

	/* Its size is the next power of two. */
	if (!(*count & (*count - 1))) {
		void *longer = reallocarray(*array, *count ? 2 * *count : 1, size);

		if (!longer)
			return NULL;
		*array = longer;
	}
	element = (char *)*array + (*count)++ * size;
	return memset(element, 0, size);
}

/* Sorts rows, and makes one of those that compare as equal. */
static void merge_rows(void *rows, size_t *count, size_t size,
		       int (*compare)(const void *one, const void *other),
		       void (*add)(void *to, const void *of))
{
	char *kept = rows, *row = rows;

	if (!*count)
		return;
	qsort(rows, *count, size, compare);
	for (size_t i = 1; i < *count; i++) {
		row += size;
		if (!compare(kept, row)) {
			add(kept, row);
			continue;
		}
		kept += size;
		memmove(kept, row, size);
	}
	*count = (size_t)(kept - (char *)rows) / size + 1;
}

/* ---- tasks ---- */

static int compare_tasks(const void *one, const void *other)
{
	const struct task *a = one, *b = other;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static struct task *find_task(const struct tasks *tasks, int tid)
{
	const struct task key = { .tid = tid };

	if (!tasks->count)
		return NULL;
	return bsearch(&key, tasks->task, tasks->count, sizeof(*tasks->task), compare_tasks);
}

static bool number_of(const struct histogram_row *row, const char *key, int *ret_number)
{
	uint64_t number;

	if (!histogram_number(row->keys, key, &number))
		return false;
	*ret_number = (int)number;
	return true;
}

/* As read_row() */
static int add_task(struct tasks *tasks, const struct task *task)
{
	struct task *added = append(&tasks->task, &tasks->count, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = *task;
	return 1;
}

static int order_tasks(const void *one, const void *other)
{
	const struct task *a = one, *b = other;
	int order = compare_tasks(a, b);

	if (order || a->thread != b->thread)
		return order ? order : a->thread - b->thread;
	return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

/* Of tasks with one number, which was used again, one stays, and each time the same. */
static void sort_tasks(struct tasks *tasks)
{
	size_t kept = 0;

	if (!tasks->count)
		return;
	qsort(tasks->task, tasks->count, sizeof(*tasks->task), order_tasks);
	for (size_t i = 1; i < tasks->count; i++)
		if (tasks->task[i].tid != tasks->task[kept].tid)
			tasks->task[++kept] = tasks->task[i];
	tasks->count = kept + 1;
}

/* A name is that of a directory: digits. */
static int add_running(struct account *account, const char *path)
{
	struct task task = { .tid = 0 };

	if (sscanf(path, "/%d/task/%d", &task.parent, &task.tid) != 2)
		return 0;
	return add_task(&account->running, &task);
}

int account_see_tasks(struct account *account, const char *proc)
{
	char pattern[PATH_MAX];
	glob_t threads;
	int ret;

	snprintf(pattern, sizeof(pattern), "%s/[0-9]*/task/[0-9]*", proc);
	ret = glob(pattern, GLOB_NOSORT, NULL, &threads) == GLOB_NOSPACE ? -ENOMEM : 0;
	for (size_t i = 0; ret >= 0 && i < threads.gl_pathc; i++)
		ret = add_running(account, threads.gl_pathv[i] + strlen(proc));
	globfree(&threads);
	sort_tasks(&account->running);
	return ret < 0 ? ret : 0;
}

static int read_fork(struct snapshot *snapshot, struct histogram_row *row)
{
	struct task task = { .tid = 0 };
	uint64_t flags;

	if (!number_of(row, "common_pid", &task.parent) || !number_of(row, "pid", &task.tid) ||
	    !histogram_number(row->keys, "clone_flags", &flags))
		return 0;
	task.thread = flags & CLONE_THREAD;
	return add_task(&snapshot->forks, &task);
}

static int read_exit(struct snapshot *snapshot, struct histogram_row *row)
{
	struct task task = { .name = histogram_string(row->keys, "comm") };

	if (!task.name || !number_of(row, "common_pid", &task.tid))
		return 0;
	return add_task(&snapshot->exits, &task);
}

static int process_of(const struct account *account, const struct snapshot *snapshot, int tid,
		      uint64_t ts)
{
	const struct task *fork = find_task(&snapshot->forks, tid);
	const struct task *running = find_task(&account->running, tid);
	int pid;

	if (fork)
		return fork->process;
	pid = running ? running->parent : resolver_task(account->resolver, tid, ts)->pid;
	return pid ? pid : tid;
}

/*
 * A thread may be made by one that was made by another: up to the first whose process is known, which all
 * of them get. A number that was used again may make a circle of them, of no more steps than forks.
 */
static void find_processes(const struct account *account, struct snapshot *snapshot, uint64_t ts)
{
	for (size_t i = 0; i < snapshot->forks.count; i++) {
		struct task *first = &snapshot->forks.task[i], *fork = first;
		int process = 0;

		for (size_t step = 0; !process; step++) {
			struct task *parent = find_task(&snapshot->forks, fork->parent);

			if (fork->process)
				process = fork->process;
			else if (!fork->thread || step == snapshot->forks.count)
				process = fork->tid;
			else if (!parent)
				process = process_of(account, snapshot, fork->parent, ts);
			else
				fork = parent;
		}
		for (fork = first; fork && !fork->process;
		     fork = fork->thread ? find_task(&snapshot->forks, fork->parent) : NULL)
			fork->process = process;
	}
}

static bool is_wanted(const struct account *account, const struct snapshot *snapshot, int tid,
		      uint64_t ts)
{
	const pid_t *pids = account->pids;
	int pid;

	if (!pids)
		return true;
	pid = process_of(account, snapshot, tid, ts);
	while (*pids && *pids != pid)
		pids++;
	return *pids;
}

/* ---- call sites ---- */

/* The cache may be another one by now: that of the largest object so far. */
static int compare_sites(const void *one, const void *other)
{
	const struct account_site *a = one, *b = other;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->cache != NULL) - (b->cache != NULL);
}

static void add_site(void *to, const void *of)
{
	struct account_site *sum = to;
	const struct account_site *site = of;

	sum->count += site->count;
	sum->requested += site->requested;
	sum->allocated += site->allocated;
}

static int read_site(const struct account *account, struct snapshot *snapshot, enum histogram_id id,
		     struct histogram_row *row, uint64_t ts)
{
	bool is_cache = id == HISTOGRAM_CACHE || id == HISTOGRAM_CACHE_NODE;
	struct account_site site = { .count = row->count };
	struct account_site *added;
	int tid;

	if (account->plan->sites_by_task) {
		if (!number_of(row, "common_pid", &tid))
			return 0;
		if (!is_wanted(account, snapshot, tid, ts))
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
	added = append(&snapshot->sites, &snapshot->nr_sites, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = site;
	return 1;
}

/* ---- processes ---- */

static int compare_processes(const void *one, const void *other)
{
	const struct account_process *a = one, *b = other;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static void add_process(void *to, const void *of)
{
	struct account_process *sum = to;
	const struct account_process *process = of;

	sum->count += process->count;
	sum->pages += process->pages;
	for (int order = 0; order < ACCOUNT_ORDERS; order++)
		sum->orders[order] += process->orders[order];
	sum->fallbacks += process->fallbacks;
	sum->refilled += process->refilled;
	sum->drained += process->drained;
	sum->stalls += process->stalls;
	sum->waited += process->waited;
}

static int read_process(const struct account *account, struct snapshot *snapshot,
			enum histogram_id id, struct histogram_row *row, uint64_t ts)
{
	struct account_process *process;
	uint64_t order = 0;
	int tid;

	if (!number_of(row, "common_pid", &tid) ||
	    (id == HISTOGRAM_PAGES &&
	     (!histogram_number(row->keys, "order", &order) || order > 63)))
		return 0;
	if (!is_wanted(account, snapshot, tid, ts))
		return 1;
	process = append(&snapshot->processes, &snapshot->nr_processes, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->pid = process_of(account, snapshot, tid, ts);
	if (id == HISTOGRAM_PAGES) {
		process->count = row->count;
		process->pages = row->count << order;
		process->orders[order < ACCOUNT_ORDERS ? order : ACCOUNT_ORDERS - 1] = row->count;
	} else if (id == HISTOGRAM_FALLBACKS) {
		process->fallbacks = row->count;
	} else if (id == HISTOGRAM_REFILLS) {
		process->refilled = row->count;
	} else {
		process->drained = row->count;
	}
	return 1;
}

static int add_waiters(struct account *account, struct snapshot *snapshot, uint64_t ts)
{
	struct hash_link *link;

	TAILQ_FOREACH(link, &account->waiters.used, use) {
		const struct waiter *waiter = container_of(link, struct waiter, hash);
		struct account_process *process;

		process = append(&snapshot->processes, &snapshot->nr_processes, sizeof(*process));
		if (!process)
			return -ENOMEM;
		process->pid = process_of(account, snapshot, waiter->pid, ts);
		process->stalls = waiter->stalls;
		process->waited = waiter->waited;
	}
	return 0;
}

/* That of its exit is the last one that it had; what procfs had was perhaps before exec. */
static void name_process(const struct account *account, const struct snapshot *snapshot,
			 struct account_process *process, uint64_t ts)
{
	const struct task *exit = find_task(&snapshot->exits, process->pid);
	const char *name =
		exit ? exit->name : resolver_task_name(account->resolver, process->pid, ts);

	snprintf(process->name, sizeof(process->name), "%s", name);
}

/* ---- reading ---- */

/* Returns 1, 0 where the row cannot be read, or -ENOMEM. */
static int read_row(const struct account *account, struct snapshot *snapshot, enum histogram_id id,
		    struct histogram_row *row, uint64_t ts)
{
	if (id == HISTOGRAM_FORKS)
		return read_fork(snapshot, row);
	if (id == HISTOGRAM_EXITS)
		return read_exit(snapshot, row);
	if (HISTOGRAM_SITES & HISTOGRAM_BIT(id))
		return read_site(account, snapshot, id, row, ts);
	return read_process(account, snapshot, id, row, ts);
}

static int read_histogram(const struct account *account, struct snapshot *snapshot,
			  enum histogram_id id, uint64_t ts)
{
	struct histogram_text histogram;
	struct histogram_row row;
	char name[64];
	bool has_rows = false;
	int ret = 1;

	snprintf(name, sizeof(name), HISTOGRAM_PREFIX "%s", catalog_histograms[id].event);
	if (!histogram_begin(&histogram, snapshot->texts[id], name))
		return -ESTALE;
	while (ret >= 0 && histogram_next(&histogram, &row)) {
		ret = read_row(account, snapshot, id, &row, ts);
		snapshot->unreadable += !ret;
		has_rows = true;
	}
	/* hist_trigger_show() sorts them first, and goes on without rows where it cannot. */
	if (ret >= 0 && histogram.hits && !has_rows && !histogram.unreadable)
		return -EAGAIN;
	snapshot->unreadable += histogram.unreadable;
	if (id == HISTOGRAM_FORKS || id == HISTOGRAM_EXITS)
		snapshot->dropped.tasks += histogram.dropped;
	else if (HISTOGRAM_SITES & HISTOGRAM_BIT(id))
		snapshot->dropped.sites += histogram.dropped;
	else
		snapshot->dropped.pages += histogram.dropped;
	return ret < 0 ? ret : 0;
}

int account_read(struct account *account, char *texts[HISTOGRAM_COUNT], uint64_t ts)
{
	struct snapshot snapshot = { .nr_sites = 0 };
	int ret = 0;

	memcpy(snapshot.texts, texts, sizeof(snapshot.texts));
	for (int id = 0; id < HISTOGRAM_COUNT && !ret; id++) {
		if (snapshot.texts[id])
			ret = read_histogram(account, &snapshot, id, ts);
		/* What comes next looks tasks up. */
		if (id == HISTOGRAM_EXITS) {
			sort_tasks(&snapshot.forks);
			sort_tasks(&snapshot.exits);
			find_processes(account, &snapshot, ts);
		}
	}
	if (!ret)
		ret = add_waiters(account, &snapshot, ts);
	if (ret) {
		snapshot_free(&snapshot);
		return ret;
	}
	/* A call site has a row for each task with -p, and for each of two events before 6.1. */
	merge_rows(snapshot.sites, &snapshot.nr_sites, sizeof(*snapshot.sites), compare_sites,
		   add_site);
	merge_rows(snapshot.processes, &snapshot.nr_processes, sizeof(*snapshot.processes),
		   compare_processes, add_process);
	for (size_t i = 0; i < snapshot.nr_processes; i++)
		name_process(account, &snapshot, &snapshot.processes[i], ts);
	tasks_free(&snapshot.forks);
	tasks_free(&snapshot.exits);
	snapshot.dropped.processes = account->dropped_stalls;
	snapshot_free(account->begins_interval ? &account->before : &account->now);
	if (account->begins_interval)
		account->before = account->now;
	account->begins_interval = false;
	account->now = snapshot;
	return 0;
}

/* ---- tables ---- */

void account_begin_interval(struct account *account)
{
	account->begins_interval = true;
}

static int by_wasted(const void *one, const void *other)
{
	uint64_t a = account_wasted(one), b = account_wasted(other);

	return a != b ? (a < b ? 1 : -1) : compare_sites(one, other);
}

static int by_allocated(const void *one, const void *other)
{
	const struct account_site *a = one, *b = other;

	if (a->allocated != b->allocated)
		return a->allocated < b->allocated ? 1 : -1;
	return compare_sites(one, other);
}

static int by_count(const void *one, const void *other)
{
	const struct account_site *a = one, *b = other;

	return a->count != b->count ? (a->count < b->count ? 1 : -1) : compare_sites(one, other);
}

static int by_pages(const void *one, const void *other)
{
	const struct account_process *a = one, *b = other;

	if (a->pages != b->pages)
		return a->pages < b->pages ? 1 : -1;
	if (a->waited != b->waited)
		return a->waited < b->waited ? 1 : -1;
	return compare_processes(one, other);
}

/*
 * Somebody may have cleared the kernel's counts, and what a thread took moves to another row once procfs
 * no longer tells its process.
 */
static void subtract(uint64_t *count, uint64_t before)
{
	*count = *count > before ? *count - before : 0;
}

static void subtract_site(struct account_site *site, const struct account_site *before)
{
	subtract(&site->count, before->count);
	subtract(&site->requested, before->requested);
	subtract(&site->allocated, before->allocated);
}

static void subtract_process(struct account_process *process, const struct account_process *before)
{
	subtract(&process->count, before->count);
	subtract(&process->pages, before->pages);
	for (int order = 0; order < ACCOUNT_ORDERS; order++)
		subtract(&process->orders[order], before->orders[order]);
	subtract(&process->fallbacks, before->fallbacks);
	subtract(&process->refilled, before->refilled);
	subtract(&process->drained, before->drained);
	subtract(&process->stalls, before->stalls);
	subtract(&process->waited, before->waited);
}

static bool is_empty(const struct account_process *process)
{
	return !process->count && !process->fallbacks && !process->refilled && !process->drained &&
	       !process->stalls;
}

static const void *find_row(const void *row, const void *rows, size_t count, size_t size,
			    int (*compare)(const void *one, const void *other))
{
	return count ? bsearch(row, rows, count, size, compare) : NULL;
}

static void show_sites(struct snapshot *shown, const struct snapshot *now,
		       const struct snapshot *before)
{
	for (size_t i = 0; i < now->nr_sites; i++) {
		struct account_site site = now->sites[i];
		const struct account_site *old = find_row(&site, before->sites, before->nr_sites,
							  sizeof(site), compare_sites);

		if (old)
			subtract_site(&site, old);
		if (site.count)
			shown->sites[shown->nr_sites++] = site;
	}
}

static void show_processes(struct snapshot *shown, const struct snapshot *now,
			   const struct snapshot *before)
{
	for (size_t i = 0; i < now->nr_processes; i++) {
		struct account_process process = now->processes[i];
		const struct account_process *old =
			find_row(&process, before->processes, before->nr_processes, sizeof(process),
				 compare_processes);

		if (old)
			subtract_process(&process, old);
		if (!is_empty(&process))
			shown->processes[shown->nr_processes++] = process;
	}
}

int account_tables(struct account *account, bool interval, enum account_sort sort,
		   struct account_tables *ret_tables)
{
	static int (*const orders[])(const void *one, const void *other) = {
		[SORT_WASTED] = by_wasted,
		[SORT_ALLOCATED] = by_allocated,
		[SORT_COUNT] = by_count,
	};
	static const struct snapshot none;
	const struct snapshot *now = &account->now;
	const struct snapshot *before = !interval		 ? &none :
					account->begins_interval ? now :
								   &account->before;
	struct snapshot *shown = &account->shown;

	snapshot_free(shown);
	shown->sites = calloc(now->nr_sites + 1, sizeof(*shown->sites));
	shown->processes = calloc(now->nr_processes + 1, sizeof(*shown->processes));
	if (!shown->sites || !shown->processes)
		return -ENOMEM;
	show_sites(shown, now, before);
	show_processes(shown, now, before);
	qsort(shown->sites, shown->nr_sites, sizeof(*shown->sites), orders[sort]);
	qsort(shown->processes, shown->nr_processes, sizeof(*shown->processes), by_pages);
	*ret_tables = (struct account_tables){
		.sites = shown->sites,
		.nr_sites = shown->nr_sites,
		.processes = shown->processes,
		.nr_processes = shown->nr_processes,
		.dropped = now->dropped,
		.unreadable = now->unreadable,
	};
	subtract(&ret_tables->dropped.sites, before->dropped.sites);
	subtract(&ret_tables->dropped.pages, before->dropped.pages);
	subtract(&ret_tables->dropped.tasks, before->dropped.tasks);
	subtract(&ret_tables->dropped.processes, before->dropped.processes);
	for (size_t i = 0; i < shown->nr_sites; i++)
		add_site(&ret_tables->all_sites, &shown->sites[i]);
	for (size_t i = 0; i < shown->nr_processes; i++)
		add_process(&ret_tables->all_processes, &shown->processes[i]);
	return 0;
}
