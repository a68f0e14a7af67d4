// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stall.h"

#define KEPT_SLICES 8

/* A copy of a stall with everything it points to. */
struct kept_stall {
	struct named_stall named; /* its stall is NULL before the first one */
	struct stall stall;
	struct stall_slice shrinkers[KEPT_SLICES];
	struct stall_slice sleeps[KEPT_SLICES];
	struct task_info task_info;
	char name[TASK_COMM_MAX];
	char function[STALL_FUNCTION_MAX];
	char gfp_names[160];
	char compaction[160];
	char memcg[TASK_CGROUP_MAX];
};

#define RECENT 64

struct table {
	struct summary_total *totals; /* of summary.totals */
	size_t count;
	struct summary_total *recent[RECENT]; /* of an id: where it was last, and most likely is */
};

static size_t recent_place(uint64_t id)
{
	return (id ^ id >> 4) % RECENT; /* functions are aligned */
}

static const size_t totals_max[SUMMARY_TABLES] = {
	[SUMMARY_FUNCTIONS] = SUMMARY_FUNCTIONS_MAX,
	[SUMMARY_CGROUPS] = SUMMARY_CGROUPS_MAX,
	[SUMMARY_TASKS] = SUMMARY_TASKS_MAX,
	[SUMMARY_KERNEL_THREADS] = SUMMARY_KERNEL_MAX,
};

/* Bytes with the NUL. */
static const size_t name_max[SUMMARY_TABLES] = {
	[SUMMARY_FUNCTIONS] = 1,
	[SUMMARY_CGROUPS] = TASK_CGROUP_MAX,
	[SUMMARY_TASKS] = TASK_COMM_MAX,
	[SUMMARY_KERNEL_THREADS] = TASK_COMM_MAX,
};

struct summary {
	const struct plan *plan;
	struct table tables[SUMMARY_TABLES];
	struct summary_total totals[SUMMARY_FUNCTIONS_MAX + SUMMARY_TASKS_MAX +
				    SUMMARY_CGROUPS_MAX + SUMMARY_KERNEL_MAX];
	char names[SUMMARY_FUNCTIONS_MAX + SUMMARY_CGROUPS_MAX * TASK_CGROUP_MAX +
		   (SUMMARY_TASKS_MAX + SUMMARY_KERNEL_MAX) * TASK_COMM_MAX];
	struct summary_stalls stalls[STALL_SIDES];
	struct kept_stall long_stalls[SUMMARY_LONGEST_MAX];
	struct kept_stall *longest[SUMMARY_LONGEST_MAX]; /* the longest first */
	struct kept_stall most_explained;
	uint64_t explained; /* ns of that */
	uint64_t incomplete;
	uint64_t overflow;
};

struct summary *summary_new(const struct plan *plan)
{
	struct summary *summary = calloc(1, sizeof(*summary));
	struct summary_total *total;
	char *name;

	if (!summary)
		return NULL;
	summary->plan = plan;
	total = summary->totals;
	name = summary->names;
	for (int which = 0; which < SUMMARY_TABLES; which++) {
		summary->tables[which].totals = total;
		for (size_t i = 0; i < totals_max[which]; i++, total++) {
			total->name = name;
			name += name_max[which];
		}
	}
	for (size_t i = 0; i < SUMMARY_LONGEST_MAX; i++)
		summary->longest[i] = &summary->long_stalls[i];
	return summary;
}

void summary_free(struct summary *summary)
{
	free(summary);
}

/* An entry is set as a whole when it is taken: only those that add up are cleared. */
void summary_reset(struct summary *summary)
{
	for (int which = 0; which < SUMMARY_TABLES; which++) {
		summary->tables[which].count = 0;
		memset(summary->tables[which].recent, 0, sizeof(summary->tables[which].recent));
	}
	memset(summary->stalls, 0, sizeof(summary->stalls));
	for (size_t i = 0; i < SUMMARY_LONGEST_MAX; i++)
		summary->longest[i]->named.stall = NULL;
	summary->most_explained.named.stall = NULL;
	summary->explained = 0;
	summary->incomplete = 0;
	summary->overflow = 0;
}

static bool is_of(const struct summary_total *total, uint64_t id, int role, const char *name)
{
	return total->id == id && total->role == role && *total->name == *name &&
	       (!*name || !strcmp(total->name, name));
}

/* The entry of whoever has one; else a new one, in a full table in place of the least. */
static noinline struct summary_total *find_total(struct summary *summary, enum summary_table which,
						 uint64_t id, int role, const char *name)
{
	struct table *table = &summary->tables[which];
	struct summary_total *total = table->totals, *end = total + table->count, *least = total;

	for (; total < end && !is_of(total, id, role, name); total++)
		if (total->latency.total + total->error < least->latency.total + least->error)
			least = total;
	if (total == end) {
		uint64_t error = 0;

		if (table->count < totals_max[which]) {
			table->count++;
		} else {
			total = least;
			error = least->latency.total + least->error;
			summary->overflow++;
		}
		*total = (struct summary_total){
			.id = id,
			.role = role,
			.name = total->name,
			.error = error,
		};
		snprintf(total->name, name_max[which], "%s", name);
	}
	table->recent[recent_place(id)] = total;
	return total;
}

static inline void count(struct summary *summary, enum summary_table which, uint64_t id, int role,
			 const char *name, uint64_t ns, unsigned int bucket)
{
	struct summary_total *total = summary->tables[which].recent[recent_place(id)];

	if (!total || !is_of(total, id, role, name))
		total = find_total(summary, which, id, role, name);
	latency_count(&total->latency, ns, bucket);
}

void summary_window(struct summary *summary, const struct stall_window *window)
{
	uint64_t function = window->is_pair ? 0 : window->exit.window.function;
	uint64_t ns = window->end - window->start;

	/* Shrinkers are counted by all of their pairs. */
	if (!window->is_pair || (window->role != ROLE_NONE && window->role != ROLE_SHRINKER))
		count(summary, SUMMARY_FUNCTIONS, function, window->role, "", ns,
		      latency_bucket(ns));
}

static void keep_slices(struct stall_slice kept[KEPT_SLICES], const struct stall_slice **slices,
			size_t *count)
{
	if (*count > KEPT_SLICES)
		*count = KEPT_SLICES;
	for (size_t i = 0; i < *count; i++)
		kept[i] = (*slices)[i];
	*slices = kept;
}

const char *stall_function(const struct named_stall *named, char text[STALL_FUNCTION_MAX])
{
	const struct stall *stall = named->stall;
	const char *title = catalog_role_title(stall->role);

	if (named->function)
		return named->function;
	if (!stall->function)
		return title ? title : "";
	resolver_symbol(named->resolver, stall->function, 's', text, STALL_FUNCTION_MAX);
	return text;
}

static void keep_stall(struct kept_stall *kept, const struct named_stall *named)
{
	char function[STALL_FUNCTION_MAX];

	kept->stall = *named->stall;
	kept->named = *named;
	kept->named.stall = &kept->stall;
	keep_slices(kept->shrinkers, &kept->stall.shrinkers, &kept->stall.nr_shrinkers);
	keep_slices(kept->sleeps, &kept->stall.sleeps, &kept->stall.nr_sleeps);
	kept->task_info = *named->task_info;
	kept->named.task_info = &kept->task_info;
	snprintf(kept->name, sizeof(kept->name), "%s", named->name);
	kept->named.name = kept->name;
	snprintf(kept->function, sizeof(kept->function), "%s", stall_function(named, function));
	kept->named.function = kept->function;
	snprintf(kept->memcg, sizeof(kept->memcg), "%s", named->memcg);
	kept->named.memcg = kept->memcg;
	snprintf(kept->gfp_names, sizeof(kept->gfp_names), "%s", named->stall->gfp_names);
	kept->stall.gfp_names = kept->gfp_names;
	snprintf(kept->compaction, sizeof(kept->compaction), "%s", named->stall->compaction);
	kept->stall.compaction = kept->compaction;
}

/* Keeps a stall in place of the shortest kept one, if it is longer. */
static void keep_longest(struct summary *summary, const struct named_stall *named)
{
	uint64_t ns = named->stall->end - named->stall->start;
	size_t place = SUMMARY_LONGEST_MAX - 1;
	struct kept_stall *kept = summary->longest[place];

	if (kept->named.stall && ns <= kept->stall.end - kept->stall.start)
		return;
	keep_stall(kept, named);
	for (; place; place--) {
		struct kept_stall *longer = summary->longest[place - 1];

		if (longer->named.stall && longer->stall.end - longer->stall.start >= ns)
			break;
		summary->longest[place] = longer;
	}
	summary->longest[place] = kept;
}

static void keep_most_explained(struct summary *summary, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	uint64_t rest = phases_part(&stall->phases, PHASE_REST, PART_OWN);

	if (stall->end - stall->start - rest <= summary->explained)
		return;
	summary->explained = stall->end - stall->start - rest;
	keep_stall(&summary->most_explained, named);
}

void summary_stall(struct summary *summary, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	uint64_t ns = stall->end - stall->start;
	struct summary_stalls *stalls =
		&summary->stalls[named->background ? STALLS_BACKGROUND : STALLS_WAITING];
	unsigned int bucket = latency_bucket(ns);
	int cause = cause_which(stall);

	if (stall->incomplete)
		summary->incomplete++;
	latency_count(&stalls->latency, ns, bucket);
	phases_add(&stalls->phases, &stall->phases);
	stalls->causes[cause].count++;
	stalls->causes[cause].total += ns;
	histogram_add(&stalls->roles[stall->role == ROLE_NONE ? ROLE_COUNT : stall->role], ns);
	if (named->background) {
		count(summary, SUMMARY_KERNEL_THREADS, stall->tid, ROLE_NONE, named->name, ns,
		      bucket);
		return;
	}
	keep_longest(summary, named);
	keep_most_explained(summary, named);
	if (task_key_in_interrupt(stall->key))
		return;
	count(summary, SUMMARY_TASKS, stall->tid, ROLE_NONE, named->name, ns, bucket);
	if (*named->task_info->cgroup)
		count(summary, SUMMARY_CGROUPS, 0, ROLE_NONE, named->task_info->cgroup, ns, bucket);
}

static int compare_totals(const void *left, const void *right)
{
	const struct summary_total *a = left, *b = right;

	if (a->latency.total != b->latency.total)
		return a->latency.total < b->latency.total ? 1 : -1;
	if (a->id != b->id)
		return a->id > b->id ? 1 : -1;
	return strcmp(a->name, b->name);
}

size_t summary_totals(struct summary *summary, enum summary_table which,
		      const struct summary_total **ret_totals)
{
	const struct table *table = &summary->tables[which];

	qsort(table->totals, table->count, sizeof(*table->totals), compare_totals);
	*ret_totals = table->totals;
	return table->count;
}

const struct summary_stalls *summary_stalls(const struct summary *summary, enum stall_side side)
{
	return &summary->stalls[side];
}

const struct named_stall *summary_longest(const struct summary *summary, unsigned int place)
{
	const struct kept_stall *kept = summary->longest[place];

	return kept->named.stall ? &kept->named : NULL;
}

const struct named_stall *summary_most_explained(const struct summary *summary)
{
	return summary->most_explained.named.stall ? &summary->most_explained.named : NULL;
}

uint64_t summary_incomplete(const struct summary *summary)
{
	return summary->incomplete;
}

uint64_t summary_overflow(const struct summary *summary)
{
	return summary->overflow;
}
