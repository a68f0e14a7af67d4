// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/hash.h"
#include "allocfilt/base/text.h"
#include "allocfilt/names/shrinkers.h"
#include "allocfilt/names/units.h"
#include "allocfilt/stats/summary.h"

#define PURPOSE_MAX (TASK_COMM_MAX + 2 * UNIT_NAME_BYTES + 32)

/* A copy of a stall with everything it points to. */
struct kept_stall {
	struct named_stall named; /* its stall is NULL before the first one */
	struct stall stall;
	struct stall_slice slices[STALL_SLICES_MAX]; /* of all three kinds */
	struct task_info task_info;
	char name[TASK_COMM_MAX];
	char function[STALL_FUNCTION_MAX];
	char gfp_names[STALL_GFP_MAX];
	char compaction[160];
	char memcg[TASK_CGROUP_MAX];
	char limit[TASK_CGROUP_MAX];
	char asked_by[ASKED_BY_MAX];
};

static const struct {
	size_t entries, size, name_bytes;
} table_sizes[SUMMARY_TABLES] = {
	[SUMMARY_FUNCTIONS] = { SUMMARY_FUNCTIONS_MAX, offsetof(struct summary_total, waits), 1 },
	[SUMMARY_CGROUPS] = { SUMMARY_CGROUPS_MAX, sizeof(struct summary_total), TASK_CGROUP_MAX },
	[SUMMARY_TASKS] = { SUMMARY_TASKS_MAX, sizeof(struct summary_total), TASK_COMM_MAX },
	[SUMMARY_KERNEL_THREADS] = { SUMMARY_KERNEL_MAX, sizeof(struct summary_total),
				     TASK_COMM_MAX },
	[SUMMARY_RUNNERS] = { SUMMARY_RUNNERS_MAX, sizeof(struct runner_total), RECORD_COMM_SIZE },
	[SUMMARY_RECLAIMED] = { SUMMARY_RECLAIMED_MAX, sizeof(struct ranked), TASK_CGROUP_MAX },
	[SUMMARY_VICTIMS] = { SUMMARY_VICTIMS_MAX, sizeof(struct task_total), TASK_COMM_MAX },
	[SUMMARY_NOT_ENDED] = { SUMMARY_VICTIMS_MAX, sizeof(struct task_total), TASK_COMM_MAX },
	[SUMMARY_LIMITS] = { SUMMARY_LIMITS_MAX, sizeof(struct ranked), TASK_CGROUP_MAX },
	[SUMMARY_PURPOSES] = { SUMMARY_KERNEL_MAX, offsetof(struct summary_total, waits),
			       PURPOSE_MAX },
	[SUMMARY_SHRINKERS] = { SHRINKERS_MAX, sizeof(struct shrinker_total), 1 },
	[SUMMARY_SUPERBLOCKS] = { SHRINKER_NAMES_MAX, sizeof(struct shrinker_total), 1 },
};

struct summary {
	struct ranking *tables[SUMMARY_TABLES];
	struct summary_stalls stalls[STALL_SIDES];
	struct kept_stall longest; /* of equal ones the earlier */
	struct kept_stall most_explained;
	uint64_t incomplete[STALL_LACKS];			/* LACKS_NOTHING: all of them */
	struct shrinker_total *superblocks[SHRINKER_NAMES_MAX]; /* by number, modulo that */
};

struct summary *summary_new(void)
{
	struct summary *summary = calloc(1, sizeof(*summary));

	if (!summary)
		return NULL;
	for (int which = 0; which < SUMMARY_TABLES; which++) {
		summary->tables[which] =
			ranking_new(table_sizes[which].entries, table_sizes[which].size,
				    table_sizes[which].name_bytes);
		if (!summary->tables[which]) {
			summary_free(summary);
			return NULL;
		}
	}
	summary_reset(summary);
	return summary;
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	for (int which = 0; which < SUMMARY_TABLES; which++)
		ranking_free(summary->tables[which]);
	free(summary);
}

void summary_reset(struct summary *summary)
{
	for (int which = 0; which < SUMMARY_TABLES; which++)
		ranking_reset(summary->tables[which]);
	memset(summary->stalls, 0, sizeof(*summary) - offsetof(struct summary, stalls));
}

/* @id: the tid of a task, the hash of a cgroup's name, or the number of a function */
static struct summary_total *count_total(struct summary *summary, enum summary_table which,
					 uint64_t id, const char *name, uint64_t ns)
{
	struct summary_total *total = ranking_enter(summary->tables[which], id, name);

	latency_add(&total->latency, ns);
	ranking_spend(summary->tables[which], total, ns);
	return total;
}

void summary_window(struct summary *summary, const struct stall_window *window)
{
	/* No function lies at an address as low as the number of a role. */
	uint64_t id = window->is_pair ? (uint64_t)window->role : window->exit.window.function;
	struct summary_total *total;

	/* summary_shrinker() counts all pairs of shrinkers, the fast ones too. */
	if (window->is_pair && (window->role == ROLE_NONE || window->role == ROLE_SHRINKER))
		return;
	total = count_total(summary, SUMMARY_FUNCTIONS, id, "", window->end - window->start);
	total->function = window->is_pair ? 0 : id;
	total->role = window->role;
}

static void count_run(struct ranking *table, struct shrinker_total *total, uint64_t callback,
		      uint64_t ns)
{
	total->callback = callback;
	if (!total->count++)
		total->number = ranking_count(table) + ranking_evicted(table);
	total->max = MAX(total->max, ns);
	ranking_spend(table, total, ns);
}

void summary_shrinker(struct summary *summary, uint64_t callback, int superblock, uint64_t ns)
{
	struct ranking *shrinkers = summary->tables[SUMMARY_SHRINKERS];
	struct ranking *superblocks = summary->tables[SUMMARY_SUPERBLOCKS];
	struct shrinker_total **of;

	count_run(shrinkers, ranking_enter(shrinkers, callback, ""), callback, ns);
	if (superblock < 0)
		return;
	of = &summary->superblocks[superblock % SHRINKER_NAMES_MAX];
	if (!*of)
		*of = ranking_enter(superblocks, (uint64_t)superblock, "");
	else if ((*of)->ranked.id != (uint64_t)superblock)
		ranking_replace(superblocks, *of, (uint64_t)superblock, "");
	count_run(superblocks, *of, callback, ns);
}

/* Returns how many slices are kept then. What there is no room for has least time of its kind. */
static size_t keep_slices(struct kept_stall *kept, size_t used, const struct stall_slice **slices,
			  size_t *count)
{
	if (*count > STALL_SLICES_MAX - used) {
		*count = STALL_SLICES_MAX - used;
		kept->stall.incomplete = LACKS_DROPPED;
	}
	for (size_t i = 0; i < *count; i++)
		kept->slices[used + i] = (*slices)[i];
	*slices = kept->slices + used;
	return used + *count;
}

static void keep_stall(struct kept_stall *kept, const struct named_stall *named)
{
	char function[STALL_FUNCTION_MAX];
	size_t used;

	kept->stall = *named->stall;
	kept->named = *named;
	kept->named.stall = &kept->stall;
	used = keep_slices(kept, 0, &kept->stall.shrinkers, &kept->stall.nr_shrinkers);
	used = keep_slices(kept, used, &kept->stall.sleeps, &kept->stall.nr_sleeps);
	keep_slices(kept, used, &kept->stall.runners, &kept->stall.nr_runners);
	kept->task_info = *named->task_info;
	kept->named.task_info = &kept->task_info;
	snprintf(kept->name, sizeof(kept->name), "%s", named->name);
	kept->named.name = kept->name;
	snprintf(kept->function, sizeof(kept->function), "%s", stall_function(named, function));
	kept->named.function = kept->function;
	snprintf(kept->memcg, sizeof(kept->memcg), "%s", named->memcg);
	kept->named.memcg = kept->memcg;
	snprintf(kept->limit, sizeof(kept->limit), "%s", named->limit);
	kept->named.limit = kept->limit;
	if (named->asked_by)
		kept->named.asked_by = strcpy(kept->asked_by, named->asked_by);
	snprintf(kept->gfp_names, sizeof(kept->gfp_names), "%s", named->stall->gfp_names);
	kept->stall.gfp_names = kept->gfp_names;
	snprintf(kept->compaction, sizeof(kept->compaction), "%s", named->stall->compaction);
	kept->stall.compaction = kept->compaction;
}

static uint64_t explained(const struct stall *stall)
{
	return stall->end - stall->start - phases_part(&stall->phases, PHASE_OUTSIDE, PART_ITSELF);
}

static void count_runner(struct ranking *table, const struct named_stall *named,
			 const struct stall_slice *runner)
{
	const char *cgroup = resolver_task(named->resolver, runner->tid, named->stall->end)->cgroup;
	struct runner_total *total;
	char name[RECORD_COMM_SIZE];

	memcpy(name, runner->name, sizeof(name));
	/* These work for all, and any of them may do so next. */
	if (!strncmp(name, "kworker/", strlen("kworker/")))
		name[strcspn(name, ":")] = '\0';
	total = ranking_enter(table, runner->tid ? hash_text(cgroup) : SUMMARY_IDLE, name);
	text_append(total->cgroup, sizeof(total->cgroup), 0, cgroup);
	add_ns(&total->reclaiming, runner->reclaiming);
	ranking_spend(table, total, runner->ns);
}

static void count_cause(struct cause_sum *sum, uint64_t ns)
{
	sum->count++;
	add_ns(&sum->total, ns);
}

/* A task that had ended is not in the cgroup that it reclaimed, which is supposed to be its own. */
static void count_purpose(struct summary *summary, const struct named_stall *named, uint64_t ns)
{
	const struct task_info *task = named->task_info;
	const char *cgroup = task->source && !strcmp(task->source, "reclaim") ? "" : task->cgroup;
	bool compacts = cause_which(named->stall) == PHASE_COMPACTION;
	char work[PURPOSE_MAX], unit[UNIT_NAME_BYTES], from[UNIT_NAME_BYTES];

	unit_name_of_cgroup(cgroup, unit);
	unit_name_of_cgroup(named->memcg, from);
	snprintf(work, sizeof(work), "%s%s%s %s%s%s", named->name, *cgroup ? " in " : "",
		 *unit ? unit : cgroup, compacts ? "compacted memory" : "reclaimed",
		 *named->memcg ? " from " : "", *from ? from : named->memcg);
	count_total(summary, SUMMARY_PURPOSES, hash_text(work), work, ns);
}

static void count_limit(struct ranking *table, const struct named_stall *named, uint64_t ns)
{
	const char *limit = *named->limit ? named->limit : named->task_info->cgroup;

	if (*limit &&
	    named->stall->phases.groups & (1u << PHASE_MEMCG_RECLAIM | 1u << PHASE_MEMORY_HIGH))
		ranking_spend(table,
			      ranking_enter(table, *named->limit ? hash_text(limit) : 0, limit),
			      ns);
}

void summary_stall(struct summary *summary, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const char *cgroup = named->task_info->cgroup;
	uint64_t ns = stall->end - stall->start;
	struct summary_stalls *stalls = &summary->stalls[named->on_purpose ? STALLS_ON_PURPOSE :
							 named->background ? STALLS_BACKGROUND :
									     STALLS_WAITING];
	struct ranking *reclaimed = summary->tables[SUMMARY_RECLAIMED];
	struct remedies remedies = { 0 };
	int cause = cause_which(stall);
	struct summary_total *total;

	if (stall->incomplete) {
		summary->incomplete[LACKS_NOTHING]++;
		summary->incomplete[stall->incomplete]++;
	}
	latency_add(&stalls->latency, ns);
	phases_add(&stalls->phases, &stall->phases);
	count_cause(&stalls->causes[cause], ns);
	if (named->on_purpose) {
		count_purpose(summary, named, ns);
		return;
	}
	if (named->background) {
		count_total(summary, SUMMARY_KERNEL_THREADS, (uint64_t)stall->tid, named->name, ns);
		return;
	}
	for (size_t i = 0; i < stall->nr_runners; i++)
		count_runner(summary->tables[SUMMARY_RUNNERS], named, &stall->runners[i]);
	remedies_stall(&remedies, named);
	remedies_add(&stalls->remedies, &remedies);
	if (!summary->longest.named.stall ||
	    ns > summary->longest.stall.end - summary->longest.stall.start)
		keep_stall(&summary->longest, named);
	if (explained(stall) > explained(&summary->most_explained.stall))
		keep_stall(&summary->most_explained, named);
	if (task_key_in_interrupt(stall->key))
		return;
	total = count_total(summary, SUMMARY_TASKS, (uint64_t)stall->tid, named->name, ns);
	count_cause(&total->causes[cause], ns);
	count_limit(summary->tables[SUMMARY_LIMITS], named, ns);
	if (!*cgroup)
		return;
	total = count_total(summary, SUMMARY_CGROUPS, hash_text(cgroup), cgroup, ns);
	count_cause(&total->causes[cause], ns);
	remedies_add(&total->remedies, &remedies);
	if (*named->memcg && stall->nr_reclaimed)
		ranking_spend(reclaimed, ranking_enter(reclaimed, hash_text(cgroup), named->memcg),
			      stall->nr_reclaimed);
}

static struct summary_total *count_wait_of(struct summary *summary, enum summary_table which,
					   uint64_t id, const char *name,
					   const struct memory_wait *wait, bool is_long)
{
	struct summary_total *total = ranking_enter(summary->tables[which], id, name);

	waits_add(&total->waits, wait, is_long);
	/* A long one is a stall, or a part of one. */
	ranking_spend(summary->tables[which], total, is_long ? 0 : wait->end - wait->start);
	return total;
}

static void count_task(struct ranking *table, const struct named_stall *named,
		       const struct memory_wait *wait)
{
	const struct task_info *task = named->task_info;
	uint64_t id =
		wait->in_progress ? (uint64_t)wait->tid : hash_text(task->cgroup) + task->limit;
	struct task_total *total = ranking_enter(table, id, named->name);

	total->last = *task;
	total->last.tid = wait->tid;
	total->since = wait->start;
	total->role = wait->role;
	ranking_spend(table, total, wait->in_progress ? wait->end - wait->start : 1);
}

void summary_wait(struct summary *summary, const struct named_stall *named,
		  const struct memory_wait *wait, bool is_long)
{
	const char *cgroup = named->task_info->cgroup;
	struct summary_total *total;

	waits_add(&summary->stalls[named->background ? STALLS_BACKGROUND : STALLS_WAITING].waits,
		  wait, is_long);
	if (wait->role == ROLE_IO) {
		total = ranking_enter_free(summary->tables[SUMMARY_CGROUPS], hash_text(cgroup),
					   cgroup);
		if (total && !named->background)
			waits_add(&total->waits, wait, is_long);
		return;
	}
	if (wait->in_progress ? !named->background : wait->role == ROLE_OOM_KILLER)
		count_task(summary->tables[wait->in_progress ? SUMMARY_NOT_ENDED : SUMMARY_VICTIMS],
			   named, wait);
	/* Short waits make no run of kswapd. */
	if (named->background || wait->in_progress || wait->role == ROLE_OOM_KILLER)
		return;
	remedies_wait(&summary->stalls[STALLS_WAITING].remedies, named, wait, is_long);
	count_wait_of(summary, SUMMARY_TASKS, (uint64_t)wait->tid, named->name, wait, is_long);
	if (!*cgroup)
		return;
	total = count_wait_of(summary, SUMMARY_CGROUPS, hash_text(cgroup), cgroup, wait, is_long);
	remedies_wait(&total->remedies, named, wait, is_long);
}

const void *summary_at(const struct summary *summary, enum summary_table which, size_t rank)
{
	const struct ranked *entry = ranking_at(summary->tables[which], rank);

	/* A cgroup that had other waits for I/O alone did not wait for memory. */
	return which == SUMMARY_CGROUPS && entry && !entry->total ? NULL : entry;
}

uint64_t summary_had_cpu_unknown(const struct summary *summary)
{
	uint64_t ns = phases_state(&summary->stalls[STALLS_WAITING].phases, STATE_WAITED);
	const struct ranked *runner;

	for (size_t rank = 0; (runner = summary_at(summary, SUMMARY_RUNNERS, rank)); rank++)
		ns -= runner->total;
	return ns;
}

const struct ranked *summary_reclaimed(const struct summary *summary,
				       const struct summary_total *cgroup, size_t *rank)
{
	const struct ranked *reclaimed;

	do
		reclaimed = ranking_at(summary->tables[SUMMARY_RECLAIMED], (*rank)++);
	while (reclaimed && reclaimed->id != cgroup->ranked.id);
	return reclaimed;
}

const struct summary_total *summary_remedy_cgroup(const struct summary *summary,
						  const struct remedy *remedy)
{
	const struct summary_total *cgroup, *most = NULL;
	uint64_t most_ns = 0;

	for (size_t i = 0; (cgroup = summary_at(summary, SUMMARY_CGROUPS, i)); i++) {
		uint64_t ns = remedies_ns(&cgroup->remedies, remedy);

		if (ns <= most_ns)
			continue;
		most_ns = ns;
		most = cgroup;
	}
	return most;
}

size_t summary_count(const struct summary *summary, enum summary_table which)
{
	size_t count = ranking_count(summary->tables[which]);

	while (count && !summary_at(summary, which, count - 1))
		count--;
	return count;
}

const struct summary_stalls *summary_stalls(const struct summary *summary, enum stall_side side)
{
	return &summary->stalls[side];
}

const struct named_stall *summary_longest(const struct summary *summary)
{
	return summary->longest.named.stall ? &summary->longest.named : NULL;
}

const struct named_stall *summary_most_explained(const struct summary *summary)
{
	return summary->most_explained.named.stall ? &summary->most_explained.named : NULL;
}

uint64_t summary_incomplete(const struct summary *summary, enum stall_lack lack)
{
	return summary->incomplete[lack];
}

uint64_t summary_overflow(const struct summary *summary)
{
	uint64_t evicted = 0;

	for (int which = 0; which < SUMMARY_SUPERBLOCKS; which++)
		evicted += ranking_evicted(summary->tables[which]);
	return evicted;
}
