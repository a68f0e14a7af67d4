// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stall.h"

struct waiters {
	struct summary_waiter *table;
	size_t room;
	size_t count;
	uint64_t overflow;
};

/* The place behind the last is for the stalls of all functions that found none. */
struct outermost {
	struct summary_outermost table[SUMMARY_OUTERMOST_MAX + 1];
	size_t count;
};

struct summary {
	const struct plan *plan;
	struct summary_function functions[SUMMARY_FUNCTIONS_MAX];
	size_t nr_functions;
	struct waiters waiters[SUMMARY_WHO_COUNT];
	struct latency stalls;
	struct latency background;
	struct outermost outermost;
	struct outermost background_outermost;
	struct phases phases;
	struct phases background_phases;
	struct summary_worst worst;
	struct summary_worst longest;
	uint64_t incomplete;
	uint64_t functions_overflow;
};

struct summary *summary_new(const struct plan *plan, size_t cgroups)
{
	const size_t room[SUMMARY_WHO_COUNT] = {
		[SUMMARY_TASKS] = SUMMARY_TASKS_MAX,
		[SUMMARY_CGROUPS] = cgroups,
		[SUMMARY_KERNEL_THREADS] = SUMMARY_KERNEL_MAX,
	};
	struct summary *summary = calloc(1, sizeof(*summary));

	if (!summary)
		return NULL;
	summary->plan = plan;
	for (int who = 0; who < SUMMARY_WHO_COUNT; who++) {
		struct waiters *waiters = &summary->waiters[who];

		waiters->room = room[who];
		waiters->table = calloc(waiters->room, sizeof(*waiters->table));
		if (!waiters->table) {
			summary_free(summary);
			errno = ENOMEM;
			return NULL;
		}
	}
	return summary;
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	for (int who = 0; who < SUMMARY_WHO_COUNT; who++)
		free(summary->waiters[who].table);
	free(summary);
}

static void add_function(struct summary *summary, uint64_t function, int role, uint64_t ns)
{
	struct summary_function *entry = summary->functions;
	struct summary_function *end = entry + summary->nr_functions;

	while (entry < end && (entry->function != function || entry->role != role))
		entry++;
	if (entry == end) {
		if (summary->nr_functions == SUMMARY_FUNCTIONS_MAX) {
			summary->functions_overflow++;
			return;
		}
		summary->nr_functions++;
		entry->function = function;
		entry->role = role;
	}
	latency_add(&entry->latency, ns);
}

void summary_window(struct summary *summary, const struct task_window *window)
{
	const struct record_window *exit = &window->exit->window;

	add_function(summary, exit->function, exit->role, exit->rettime - exit->calltime);
}

/* Slab has the shrinkers' own lines. */
void summary_pair(struct summary *summary, const struct task_pair *pair)
{
	const struct plan_event *event = &summary->plan->events[pair->end->event];

	if (!pair->slow || event->id == EVENT_SLAB_END)
		return;
	for (int role = 0; role < ROLE_COUNT; role++)
		if (event->id < EVENT_COUNT &&
		    (catalog_events[event->id].owners & ROLE_BIT(role))) {
			add_function(summary, 0, role, pair->duration);
			return;
		}
}

static struct summary_waiter *find_waiter(struct waiters *waiters, int pid, const char *name)
{
	for (size_t i = 0; i < waiters->count; i++)
		if (waiters->table[i].pid == pid && !strcmp(waiters->table[i].name, name))
			return &waiters->table[i];
	return NULL;
}

static struct summary_waiter *least_waiter(struct waiters *waiters)
{
	struct summary_waiter *least = &waiters->table[0];

	for (size_t i = 1; i < waiters->count; i++)
		if (waiters->table[i].latency.total < least->latency.total)
			least = &waiters->table[i];
	return least;
}

static void add_waiter(struct summary *summary, enum summary_who who, int pid, const char *name,
		       uint64_t ns)
{
	struct waiters *waiters = &summary->waiters[who];
	struct summary_waiter *waiter = find_waiter(waiters, pid, name);

	if (!waiter) {
		if (waiters->count < waiters->room) {
			waiter = &waiters->table[waiters->count++];
		} else {
			waiter = least_waiter(waiters);
			waiters->overflow++;
		}
		memset(waiter, 0, sizeof(*waiter));
		waiter->pid = pid;
		snprintf(waiter->name, sizeof(waiter->name), "%s", name);
	}
	latency_add(&waiter->latency, ns);
}

static struct summary_outermost *find_outermost(struct outermost *outermost,
						const struct stall *stall)
{
	for (size_t i = 0; i < outermost->count; i++)
		if (outermost->table[i].function == stall->function &&
		    (stall->function || outermost->table[i].role == stall->role))
			return &outermost->table[i];
	return NULL;
}

static struct summary_outermost *add_outermost(struct summary *summary, struct outermost *outermost,
					       const struct stall *stall)
{
	struct summary_outermost *entry;

	if (outermost->count < SUMMARY_OUTERMOST_MAX) {
		entry = &outermost->table[outermost->count++];
		entry->function = stall->function;
		entry->role = stall->role;
		return entry;
	}
	summary->functions_overflow++;
	outermost->count = SUMMARY_OUTERMOST_MAX + 1;
	entry = &outermost->table[SUMMARY_OUTERMOST_MAX];
	entry->role = ROLE_NONE;
	return entry;
}

static void count_outermost(struct summary *summary, struct outermost *outermost,
			    const struct stall *stall)
{
	struct summary_outermost *entry = find_outermost(outermost, stall);

	if (!entry)
		entry = add_outermost(summary, outermost, stall);
	histogram_add(&entry->histogram, stall->end - stall->start);
}

static void keep_worst_shrinkers(struct summary_worst *worst)
{
	if (worst->stall.nr_shrinkers > SUMMARY_WORST_SHRINKERS)
		worst->stall.nr_shrinkers = SUMMARY_WORST_SHRINKERS;
	for (size_t i = 0; i < worst->stall.nr_shrinkers; i++)
		worst->shrinkers[i] = worst->stall.shrinkers[i];
	worst->stall.shrinkers = worst->shrinkers;
}

/* All that a stall points to goes, so it is copied. */
static void keep_worst(struct summary_worst *worst, const struct named_stall *named)
{
	worst->any = true;
	worst->stall = *named->stall;
	worst->named = *named;
	worst->who = *named->who;
	keep_worst_shrinkers(worst);
	snprintf(worst->name, sizeof(worst->name), "%s", named->name);
	snprintf(worst->function, sizeof(worst->function), "%s", named->function);
	snprintf(worst->memcg, sizeof(worst->memcg), "%s", named->memcg);
	snprintf(worst->gfp_names, sizeof(worst->gfp_names), "%s", named->stall->gfp_names);
	snprintf(worst->compaction, sizeof(worst->compaction), "%s", named->stall->compaction);
	worst->stall.gfp_names = worst->gfp_names;
	worst->stall.compaction = worst->compaction;
	worst->named.stall = &worst->stall;
	worst->named.who = &worst->who;
	worst->named.name = worst->name;
	worst->named.function = worst->function;
	worst->named.memcg = worst->memcg;
}

static void count_background(struct summary *summary, const struct named_stall *named, uint64_t ns)
{
	latency_add(&summary->background, ns);
	count_outermost(summary, &summary->background_outermost, named->stall);
	phases_add(&summary->background_phases, &named->stall->phases);
	add_waiter(summary, SUMMARY_KERNEL_THREADS, named->stall->pid, named->name, ns);
}

static uint64_t length_of(const struct stall *stall)
{
	return stall->end - stall->start;
}

static uint64_t explained(const struct stall *stall)
{
	return length_of(stall) - stall->phases.ns[PHASE_REST][PART_OWN];
}

static void compare_with_worst(struct summary *summary, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	uint64_t ns = explained(stall);

	if (ns && (!summary->worst.any || ns > explained(&summary->worst.stall)))
		keep_worst(&summary->worst, named);
	if (!summary->longest.any || length_of(stall) > length_of(&summary->longest.stall))
		keep_worst(&summary->longest, named);
}

static void count_waiting(struct summary *summary, const struct named_stall *named, uint64_t ns)
{
	latency_add(&summary->stalls, ns);
	count_outermost(summary, &summary->outermost, named->stall);
	phases_add(&summary->phases, &named->stall->phases);
	compare_with_worst(summary, named);
	if (named->interrupt)
		return;
	add_waiter(summary, SUMMARY_TASKS, named->stall->pid, named->name, ns);
	if (*named->who->cgroup)
		add_waiter(summary, SUMMARY_CGROUPS, 0, named->who->cgroup, ns);
}

void summary_stall(struct summary *summary, const struct named_stall *named)
{
	uint64_t ns = length_of(named->stall);

	if (named->stall->incomplete)
		summary->incomplete++;
	if (named->background)
		count_background(summary, named, ns);
	else
		count_waiting(summary, named, ns);
}

static int by_total(const struct latency *a, const struct latency *b)
{
	return (a->total < b->total) - (a->total > b->total);
}

static int compare_functions(const void *left, const void *right)
{
	const struct summary_function *a = left;
	const struct summary_function *b = right;
	int order = by_total(&a->latency, &b->latency);

	return order ? order : (a->function > b->function) - (a->function < b->function);
}

static int compare_waiters(const void *left, const void *right)
{
	const struct summary_waiter *a = left;
	const struct summary_waiter *b = right;
	int order = by_total(&a->latency, &b->latency);

	if (order)
		return order;
	return a->pid != b->pid ? a->pid - b->pid : strcmp(a->name, b->name);
}

size_t summary_functions(struct summary *summary, const struct summary_function **ret_functions)
{
	qsort(summary->functions, summary->nr_functions, sizeof(summary->functions[0]),
	      compare_functions);
	*ret_functions = summary->functions;
	return summary->nr_functions;
}

size_t summary_waiters(struct summary *summary, enum summary_who who,
		       const struct summary_waiter **ret_waiters)
{
	struct waiters *waiters = &summary->waiters[who];

	qsort(waiters->table, waiters->count, sizeof(waiters->table[0]), compare_waiters);
	*ret_waiters = waiters->table;
	return waiters->count;
}

const struct summary_worst *summary_worst(const struct summary *summary)
{
	return &summary->worst;
}

const struct summary_worst *summary_longest(const struct summary *summary)
{
	return &summary->longest;
}

const struct latency *summary_stalls(const struct summary *summary)
{
	return &summary->stalls;
}

const struct latency *summary_background(const struct summary *summary)
{
	return &summary->background;
}

size_t summary_outermost(const struct summary *summary,
			 const struct summary_outermost **ret_outermost)
{
	*ret_outermost = summary->outermost.table;
	return summary->outermost.count;
}

size_t summary_background_outermost(const struct summary *summary,
				    const struct summary_outermost **ret_outermost)
{
	*ret_outermost = summary->background_outermost.table;
	return summary->background_outermost.count;
}

const struct phases *summary_phases(const struct summary *summary)
{
	return &summary->phases;
}

const struct phases *summary_background_phases(const struct summary *summary)
{
	return &summary->background_phases;
}

uint64_t summary_incomplete(const struct summary *summary)
{
	return summary->incomplete;
}

uint64_t summary_overflow(const struct summary *summary)
{
	return summary->functions_overflow + summary->waiters[SUMMARY_TASKS].overflow +
	       summary->waiters[SUMMARY_KERNEL_THREADS].overflow;
}

uint64_t summary_cgroups_overflow(const struct summary *summary)
{
	return summary->waiters[SUMMARY_CGROUPS].overflow;
}
