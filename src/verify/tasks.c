// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/names.h"

#define BEGINS_MAX  16 /* open at a time: reclaim in a shrinker in reclaim has 4 */
#define ENDS_MAX    8  /* without a begin, since the window before */
#define WINDOWS_MAX 32 /* one after the other, none of them inside another one */

/* A record's place in the order of all, and its time. */
struct moment {
	uint64_t number; /* from 1; 0: before the first record */
	uint64_t ts;
};

struct open_begin {
	struct moment at;
	enum event_id kind;
	int cpu;
	uint64_t shrinker;
};

/* An end whose missing begin is explained so far: a window may still show when that must have been. */
struct lone_end {
	uint64_t ts;
	uint64_t gap; /* end of the last gap before it */
	enum event_id kind;
	int cpu;
};

struct span {
	uint64_t calltime, rettime;
};

/* Sections of one task are inside of each other or apart: pairs as well as windows. */
struct task {
	struct hash_link link;
	struct task_key key;
	int nr_begins, nr_ends, nr_windows;
	struct open_begin begins[BEGINS_MAX]; /* the outermost first */
	struct lone_end ends[ENDS_MAX];
	struct span windows[WINDOWS_MAX];   /* in order of time */
	struct moment last_of[EVENT_COUNT]; /* last event of a pair, by its begin */
};

struct task_checks {
	const struct data_source *source;
	struct decode *decode;
	struct verify_findings *findings;
	struct task_cache *names;
	struct hash hash;
	struct task *tasks;
	struct moment now;
	/* A gap is where records may be missing. */
	struct moment gap; /* the record that ended the latest one */
	bool *lost;	   /* by place: a gap of this CPU is open */
	int nr_lost;
};

struct task_checks *task_checks_new(const struct data_source *source,
				    struct verify_findings *findings)
{
	struct task_checks *checks = calloc(1, sizeof(*checks));

	if (!checks)
		return NULL;
	checks->source = source;
	checks->findings = findings;
	checks->names = task_cache_new(source, 0);
	checks->lost = calloc(source->cpus.count, sizeof(*checks->lost));
	checks->tasks = calloc(VERIFY_TASKS_MAX, sizeof(*checks->tasks));
	if (!checks->names || !checks->lost || !checks->tasks ||
	    hash_init(&checks->hash, &checks->tasks->link, sizeof(*checks->tasks),
		      VERIFY_TASKS_MAX)) {
		task_checks_free(checks);
		errno = ENOMEM;
		return NULL;
	}
	return checks;
}

void task_checks_free(struct task_checks *checks)
{
	if (!checks)
		return;
	hash_destroy(&checks->hash);
	free(checks->tasks);
	free(checks->lost);
	task_cache_free(checks->names);
	free(checks);
}

void task_checks_use(struct task_checks *checks, struct decode *decode)
{
	checks->decode = decode;
}

/* ---- gaps ---- */

void task_checks_lost(struct task_checks *checks, int cpu)
{
	bool *lost = &checks->lost[cpu_list_place(&checks->source->cpus, cpu)];

	checks->nr_lost += !*lost;
	*lost = true;
}

void task_checks_see(struct task_checks *checks, int cpu, uint64_t ts)
{
	bool *lost = &checks->lost[cpu_list_place(&checks->source->cpus, cpu)];
	bool first = !checks->now.number, pause = !first && ts - checks->now.ts >= VERIFY_PAUSE;

	checks->now = (struct moment){ checks->now.number + 1, ts };
	checks->findings->pauses += pause;
	checks->nr_lost -= *lost;
	if (first || pause || *lost)
		checks->gap = checks->now;
	*lost = false;
}

static bool gap_since(const struct task_checks *checks, const struct moment *moment)
{
	return checks->nr_lost || checks->gap.number > moment->number;
}

/* ---- pairs ---- */

static struct verify_pairs *pairs_of(struct task_checks *checks, enum event_id kind)
{
	return &checks->findings->pairs[kind];
}

static void end_fault(struct task_checks *checks, const struct task *task,
		      const struct lone_end *end, uint64_t from)
{
	struct verify_pairs *pairs = pairs_of(checks, end->kind);

	if (!pairs->end_faults++)
		pairs->first_end =
			(struct verify_lone){ task->key, end->cpu, end->ts, from, end->ts };
}

/* The innermost begin has no end, which would have been before now. */
static void drop_begin(struct task_checks *checks, struct task *task)
{
	const struct open_begin *begin = &task->begins[--task->nr_begins];
	struct verify_pairs *pairs = pairs_of(checks, begin->kind);

	pairs->lone_begins++;
	if (!gap_since(checks, &begin->at) && !pairs->begin_faults++)
		pairs->first_begin = (struct verify_lone){ task->key, begin->cpu, begin->at.ts,
							   begin->at.ts, checks->now.ts };
}

/* It is not known when its end would have been. */
static void forget_oldest_begin(struct task_checks *checks, struct task *task)
{
	pairs_of(checks, task->begins[0].kind)->lone_begins++;
	memmove(task->begins, task->begins + 1, --task->nr_begins * sizeof(*task->begins));
}

/*
 * The open begin after which there can be none of this kind, -1: there is none. No reclaim reclaims;
 * but a shrinker that drop_caches calls may.
 */
static int open_of_kind(const struct task *task, enum event_id kind)
{
	int i = task->nr_begins - 1;

	if (kind != EVENT_SLAB_START)
		while (i >= 0 && task->begins[i].kind != kind)
			i--;
	return i >= 0 && task->begins[i].kind == kind ? i : -1;
}

static void pair_begins(struct task_checks *checks, struct task *task, const struct record *record)
{
	enum event_id kind = record->event;
	int open = open_of_kind(task, kind);

	while (open >= 0 && task->nr_begins > open)
		drop_begin(checks, task);
	if (task->nr_begins == BEGINS_MAX)
		forget_oldest_begin(checks, task);
	pairs_of(checks, kind)->begins++;
	task->begins[task->nr_begins++] = (struct open_begin){
		checks->now,
		kind,
		record->cpu,
		record->fields.shrinker,
	};
	task->last_of[kind] = checks->now;
}

static void lone_end(struct task_checks *checks, struct task *task, enum event_id kind, int cpu)
{
	const struct lone_end end = { checks->now.ts, checks->gap.ts, kind, cpu };
	const struct moment *after = &task->last_of[kind];

	/* What is open was so before the begin that is missing. */
	if (task->nr_begins && task->begins[task->nr_begins - 1].at.number > after->number)
		after = &task->begins[task->nr_begins - 1].at;
	pairs_of(checks, kind)->lone_ends++;
	if (!gap_since(checks, after))
		end_fault(checks, task, &end, after->ts);
	else if (!checks->nr_lost && task->nr_ends < ENDS_MAX)
		task->ends[task->nr_ends++] = end;
}

static void pair_ends(struct task_checks *checks, struct task *task, const struct record *record)
{
	enum event_id kind = catalog_events[record->event].partner;
	int i = task->nr_begins - 1;

	while (i >= 0 && (task->begins[i].kind != kind ||
			  task->begins[i].shrinker != record->fields.shrinker))
		i--;
	pairs_of(checks, kind)->ends++;
	if (i >= 0) {
		while (task->nr_begins > i + 1)
			drop_begin(checks, task);
		task->nr_begins--;
	} else {
		lone_end(checks, task, kind, record->cpu);
	}
	task->last_of[kind] = checks->now;
}

/* ---- windows ---- */

/* Of an event inside the window the partner is inside as well. */
static void check_pairs(struct task_checks *checks, struct task *task,
			const struct record_window *window)
{
	int kept = 0;

	for (int i = 0; i < task->nr_ends; i++) {
		const struct lone_end *end = &task->ends[i];

		if (end->ts <= window->calltime || end->ts >= window->rettime)
			task->ends[kept++] = *end;
		else if (end->gap < window->calltime)
			end_fault(checks, task, end, window->calltime);
	}
	task->nr_ends = kept;
	while (task->nr_begins && task->begins[task->nr_begins - 1].at.ts > window->calltime)
		drop_begin(checks, task);
}

static void check_overlap(struct task_checks *checks, struct task *task,
			  const struct record *record)
{
	const struct span new = { record->window.calltime, record->window.rettime };
	struct verify_findings *findings = checks->findings;
	int last = task->nr_windows - 1;

	/* Those inside the new one. */
	while (last >= 0 && task->windows[last].calltime >= new.calltime)
		last--;
	if (last >= 0 && task->windows[last].rettime > new.calltime &&
	    findings->nr_overlaps++ < VERIFY_LISTED)
		findings->overlaps[findings->nr_overlaps - 1] = (struct verify_overlap){
			.key = task->key,
			.cpu = record->cpu,
			.calltime = task->windows[last].calltime,
			.rettime = task->windows[last].rettime,
			.other_calltime = new.calltime,
			.other_rettime = new.rettime,
		};
	task->nr_windows = last + 1;
	if (task->nr_windows == WINDOWS_MAX)
		memmove(task->windows, task->windows + 1,
			--task->nr_windows * sizeof(*task->windows));
	task->windows[task->nr_windows++] = new;
}

/* ---- tasks ---- */

static void see_task(struct task_checks *checks, int tid)
{
	struct verify_findings *findings = checks->findings;

	findings->tasks++;
	if (strcmp(task_cache_name(checks->names, tid, checks->now.ts), TASK_UNNAMED))
		return;
	if (findings->unnamed++ < VERIFY_LISTED)
		findings->unnamed_tids[findings->unnamed - 1] = tid;
}

/* Begins that are left are the last of their kind in their task, or as good as that. */
static void end_task(struct task_checks *checks, struct task *task)
{
	while (task->nr_begins)
		forget_oldest_begin(checks, task);
}

static struct task *find_task(struct task_checks *checks, struct task_key key)
{
	struct hash_link *link = hash_find(&checks->hash, task_key_hash(key));
	struct task *task;

	if (link)
		return container_of(link, struct task, link);
	if (hash_is_full(&checks->hash)) {
		end_task(checks, container_of(hash_oldest(&checks->hash), struct task, link));
		checks->findings->dropped_tasks++;
	}
	link = hash_insert(&checks->hash, task_key_hash(key));
	task = container_of(link, struct task, link);
	memset((char *)task + sizeof(task->link), 0, sizeof(*task) - sizeof(task->link));
	task->key = key;
	if (key.kind == OWNER_TASK)
		see_task(checks, key.id);
	return task;
}

void task_checks_record(struct task_checks *checks, struct record *record)
{
	struct task *task;

	if (record->kind > RECORD_EVENT)
		return;
	decode_fields(checks->decode, record);
	task = find_task(checks, task_key_of(record));
	if (record->kind == RECORD_EVENT && catalog_events[record->event].side == EVENT_BEGIN)
		pair_begins(checks, task, record);
	else if (record->kind == RECORD_EVENT && catalog_events[record->event].side == EVENT_END)
		pair_ends(checks, task, record);
	if (record->kind != RECORD_WINDOW)
		return;
	checks->findings->windows++;
	/* With another clock the times of windows are not those of records. */
	if (checks->source->local_clock) {
		check_pairs(checks, task, &record->window);
		check_overlap(checks, task, record);
	}
}

void task_checks_end(struct task_checks *checks)
{
	struct hash_link *link;

	TAILQ_FOREACH(link, &checks->hash.used, use)
		end_task(checks, container_of(link, struct task, link));
}
