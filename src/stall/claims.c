// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stall.h"

/* How far a window's edges may be off if its times and the events' come from different clocks. */
#define FOREIGN_CLOCK_EDGE 50000 /* ns */

#define SUPERSEDE_DEPTH 64 /* how far back a call looks for events of an earlier one */
#define REPEATED_DEPTH	64 /* how far make_room() looks for a repeated event */

TAILQ_HEAD(waiting_records, waiting_record);

struct task {
	struct hash_link hash;
	struct task_key key;
	struct waiting_records waiting; /* oldest first */
	struct waiting_records open;	/* begins without their end, oldest first */
	uint64_t dropped_at;		/* ns: time of the newest record dropped for room */
	uint64_t unseen_at;		/* ns: of the newest one that no window had had inside */
	uint64_t dropped_owners; /* ROLE_BIT()s of roles that might have claimed one of these */
	uint32_t nr_waiting;
	uint8_t nr_open;
	bool dropped_any; /* any window might have claimed one of these */
};

struct waiting_record {
	TAILQ_ENTRY(waiting_record) of_task; /* in task.waiting or task.open */
	TAILQ_ENTRY(waiting_record) age;     /* in claims.oldest */
	uint32_t task;			     /* its index in claims.tasks */
	bool open;
	bool superseded; /* of a fast call: no window claims it */
	bool seen;	 /* some slow window had it inside */
	struct stored_record stored;
};

struct claims {
	const struct plan *plan;
	struct cpu_list cpus;
	uint64_t edge; /* ns by which a window may have begun before its calltime */
	struct claims_sink sink;
	uint64_t *lost_at;  /* ns, by place of a CPU: time of the newest loss */
	uint64_t lost_last; /* ns: of all CPUs */
	struct hash hash;   /* of tasks; the least recently used one is evicted */
	struct task *last;  /* whose record came last, or NULL */
	struct task *tasks;
	struct waiting_record *records;
	struct payloads *payloads; /* of records */
	size_t nr_records;
	struct pool pool;	       /* of records */
	struct waiting_records oldest; /* of all tasks */
	struct task *busy;	       /* the last task seen above its share, or NULL */
	const struct record **claimed;
	const struct record **inside;
	struct claims_drops drops;
};

/* Events of the catalog have small payloads. Of others three of the largest fit at any limit. */
size_t claims_payload_bytes(const struct plan *plan, const struct limits *limits)
{
	for (int i = 0; i < plan->nr_events; i++)
		if (plan->events[i].id == EVENT_USER)
			return limits->events * (size_t)RECORD_RAW_MAX + 2 * (size_t)UINT16_MAX;
	return 0;
}

struct claims *claims_new(const struct plan *plan, const struct data_source *source,
			  const struct limits *limits, const struct claims_sink *sink)
{
	struct claims *claims = calloc(1, sizeof(*claims));

	if (!claims)
		return NULL;
	claims->plan = plan;
	claims->cpus = source->cpus;
	claims->edge = source->local_clock ? 0 : FOREIGN_CLOCK_EDGE;
	claims->sink = *sink;
	claims->nr_records = limits->events;
	claims->tasks = calloc(limits->tasks, sizeof(*claims->tasks));
	claims->records = calloc(limits->events, sizeof(*claims->records));
	claims->payloads = payloads_new(claims_payload_bytes(plan, limits));
	claims->claimed = calloc(limits->events, sizeof(const struct record *));
	claims->inside = calloc(limits->events, sizeof(const struct record *));
	claims->lost_at = calloc(claims->cpus.count, sizeof(*claims->lost_at));
	pool_init(&claims->pool, claims->records, sizeof(*claims->records), limits->events);
	TAILQ_INIT(&claims->oldest);
	if (!claims->tasks || !claims->records || !claims->payloads || !claims->claimed ||
	    !claims->inside || !claims->lost_at ||
	    hash_init(&claims->hash, &claims->tasks->hash, sizeof(*claims->tasks), limits->tasks)) {
		claims_free(claims);
		errno = ENOMEM;
		return NULL;
	}
	return claims;
}

static void drop_record(struct claims *claims, struct waiting_record *waiting)
{
	struct task *task = &claims->tasks[waiting->task];

	if (waiting->open) {
		TAILQ_REMOVE(&task->open, waiting, of_task);
		task->nr_open--;
	} else {
		TAILQ_REMOVE(&task->waiting, waiting, of_task);
		task->nr_waiting--;
	}
	TAILQ_REMOVE(&claims->oldest, waiting, age);
	record_store_release(&waiting->stored, claims->payloads);
	pool_put(&claims->pool, waiting);
}

void claims_free(struct claims *claims)
{
	if (!claims)
		return;
	while (!TAILQ_EMPTY(&claims->oldest))
		drop_record(claims, TAILQ_FIRST(&claims->oldest));
	hash_destroy(&claims->hash);
	free(claims->lost_at);
	free(claims->inside);
	free(claims->claimed);
	payloads_free(claims->payloads);
	free(claims->records);
	free(claims->tasks);
	free(claims);
}

/* For a task that is not in the table, that without an event or a slow window for longest makes room. */
static noinline struct task *find_task(struct claims *claims, struct task_key key)
{
	struct hash_link *link = hash_find(&claims->hash, task_key_hash(key));
	struct task *task;

	if (link)
		return container_of(link, struct task, hash);
	if (hash_is_full(&claims->hash)) {
		link = hash_oldest(&claims->hash);
		task = container_of(link, struct task, hash);
		if (task->nr_open || task->nr_waiting)
			claims->drops.tasks++;
		while (!TAILQ_EMPTY(&task->waiting))
			drop_record(claims, TAILQ_FIRST(&task->waiting));
		while (!TAILQ_EMPTY(&task->open))
			drop_record(claims, TAILQ_FIRST(&task->open));
		if (claims->busy == task)
			claims->busy = NULL;
		hash_remove(&claims->hash, link);
	}
	task = container_of(hash_insert(&claims->hash, task_key_hash(key)), struct task, hash);
	task->key = key;
	TAILQ_INIT(&task->waiting);
	TAILQ_INIT(&task->open);
	task->nr_waiting = 0;
	task->nr_open = 0;
	task->dropped_at = 0;
	task->unseen_at = 0;
	task->dropped_owners = 0;
	task->dropped_any = false;
	return task;
}

/* ---- records dropped for room, and the windows that miss them ---- */

/* When the pool is used up, tasks with more waiting events than this lose theirs first. */
static bool is_above_share(const struct claims *claims, const struct task *task)
{
	return task->nr_waiting > claims->nr_records / 16;
}

/*
 * Most records dropped for room belong to fast calls, and no window would have claimed them. So the
 * slow windows that miss a record are counted, not the records.
 */
static void drop_for_room(struct claims *claims, struct waiting_record *waiting)
{
	const struct record *record = &waiting->stored.record;
	const struct plan_event *event = &claims->plan->events[record->event];
	struct task *task = &claims->tasks[waiting->task];

	if (!waiting->open && !waiting->seen && event->id != EVENT_USER &&
	    record->ts > task->unseen_at)
		task->unseen_at = record->ts;
	if (!waiting->superseded) {
		if (record->ts > task->dropped_at)
			task->dropped_at = record->ts;
		if (!waiting->open && event->rule == RULE_OWNER)
			task->dropped_owners |= event->owners;
		else
			task->dropped_any = true;
	}
	drop_record(claims, waiting);
}

/*
 * Returns whether a window of this role that began at @from might have claimed a dropped record.
 * Only the innermost window around a dropped record is reported.
 */
static bool lacks_records(struct claims *claims, struct task *task, int role, uint64_t from)
{
	bool owner = role != ROLE_NONE && (task->dropped_owners & ROLE_BIT(role));

	if (task->dropped_at < from || !(owner || task->dropped_any))
		return false;
	task->dropped_owners = 0;
	task->dropped_any = false;
	claims->drops.windows++;
	return true;
}

/*
 * A task above its share loses a record first, so that one busy kswapd does not push out what a long
 * reclaim elsewhere still has to claim. Its repeated events go before the begins, which occur once
 * and carry order and gfp flags.
 */
static noinline void make_room(struct claims *claims)
{
	struct waiting_record *victim = TAILQ_FIRST(&claims->oldest);

	if (claims->busy && is_above_share(claims, claims->busy)) {
		struct waiting_record *waiting = TAILQ_FIRST(&claims->busy->waiting);

		victim = waiting;
		for (int i = 0; i < REPEATED_DEPTH && waiting; i++) {
			const struct plan_event *event =
				&claims->plan->events[waiting->stored.record.event];

			if (waiting->superseded || event->repeats ||
			    event->rule == RULE_ANY_WINDOW) {
				victim = waiting;
				break;
			}
			waiting = TAILQ_NEXT(waiting, of_task);
		}
	}
	drop_for_room(claims, victim);
}

static struct waiting_record *waiting_of(const struct record *record)
{
	return (struct waiting_record *)((uintptr_t)record -
					 offsetof(struct waiting_record, stored.record));
}

static void keep_record(struct claims *claims, struct task *task, const struct record *record,
			bool open)
{
	struct waiting_record *waiting;

	while (!(waiting = pool_take(&claims->pool)))
		make_room(claims);
	while (record_store(&waiting->stored, record, claims->payloads))
		drop_for_room(claims, waiting_of(&payloads_oldest(claims->payloads)->record));
	TAILQ_INSERT_TAIL(&claims->oldest, waiting, age);
	waiting->task = (uint32_t)(task - claims->tasks);
	waiting->open = open;
	waiting->superseded = false;
	waiting->seen = false;
	if (open) {
		TAILQ_INSERT_TAIL(&task->open, waiting, of_task);
		task->nr_open++;
	} else {
		TAILQ_INSERT_TAIL(&task->waiting, waiting, of_task);
		task->nr_waiting++;
	}
	if (is_above_share(claims, task))
		claims->busy = task;
}

/* ---- windows ---- */

/*
 * Collects the waiting events in [from, to] that a window of this role owns, oldest first, at the
 * end of claims->claimed, and returns the place of the first. They stay in their task's list until
 * drop_claimed(). Those that no window had inside before are at the end of claims->inside.
 */
static size_t claim(struct claims *claims, struct task *task, int role, uint64_t from, uint64_t to,
		    size_t *ret_inside)
{
	struct waiting_record *waiting;
	size_t place = claims->nr_records;
	size_t inside = claims->nr_records;

	TAILQ_FOREACH_REVERSE(waiting, &task->waiting, waiting_records, of_task) {
		const struct record *record = &waiting->stored.record;
		const struct plan_event *event;
		bool owner;

		if (record->ts < from)
			break;
		if (record->ts > to)
			continue;
		if (!waiting->seen)
			claims->inside[--inside] = record;
		waiting->seen = true;
		event = &claims->plan->events[record->event];
		owner = event->rule == RULE_OWNER && role != ROLE_NONE &&
			(event->owners & ROLE_BIT(role));
		if (waiting->superseded || !(owner || event->rule == RULE_ANY_WINDOW))
			continue;
		claims->claimed[--place] = record;
	}
	*ret_inside = inside;
	return place;
}

static void drop_claimed(struct claims *claims, size_t place)
{
	for (; place < claims->nr_records; place++)
		drop_record(claims, waiting_of(claims->claimed[place]));
}

/*
 * A begin inside a window that has ended lost its end. One within the uncertain edge may precede the
 * window and stays open.
 */
static void drop_begins(struct claims *claims, struct task *task, const struct record_window *exit)
{
	struct waiting_record *begin;

	while ((begin = TAILQ_LAST(&task->open, waiting_records)) &&
	       begin->stored.record.ts >= exit->calltime)
		drop_record(claims, begin);
}

/* No window follows around an outermost one. */
static void drop_unclaimed(struct claims *claims, struct task *task,
			   const struct record_window *exit)
{
	struct waiting_record *waiting;

	if (exit->depth > 0 || task_key_in_interrupt(task->key) || claims->edge)
		return;
	while ((waiting = TAILQ_FIRST(&task->waiting)) &&
	       waiting->stored.record.ts <= exit->rettime)
		drop_record(claims, waiting);
}

/* Nearly all windows of a capture may be fast, and of tasks without any event. */
static noinline int end_fast_window(struct claims *claims, const struct record *record)
{
	const struct task_window window = { .key = task_key_of(record), .exit = record };
	struct hash_link *link = hash_peek(&claims->hash, task_key_hash(window.key));

	if (link) {
		struct task *task = container_of(link, struct task, hash);

		drop_begins(claims, task, &record->window);
		drop_unclaimed(claims, task, &record->window);
	}
	return claims->sink.window(claims->sink.context, &window);
}

/* Of a task with nothing that waits. */
static int end_lone_window(struct claims *claims, const struct task *task,
			   const struct record *record)
{
	struct task_window window = { .key = task->key, .exit = record, .slow = true };

	return claims->sink.window(claims->sink.context, &window);
}

static noinline int end_slow_window(struct claims *claims, struct task *task,
				    const struct record *record)
{
	const struct record_window *exit = &record->window;
	uint64_t from = exit->calltime < claims->edge ? 0 : exit->calltime - claims->edge;
	struct task_window window = { .key = task->key, .exit = record, .slow = true };
	size_t inside, place;
	int ret;

	drop_begins(claims, task, exit);
	place = claim(claims, task, exit->role, from, exit->rettime, &inside);
	window.events = claims->claimed + place;
	window.nr_events = claims->nr_records - place;
	window.incomplete = lacks_records(claims, task, exit->role, from);
	window.inside = claims->inside + inside;
	window.nr_inside = claims->nr_records - inside;
	window.inside_incomplete = task->unseen_at >= from;
	ret = claims->sink.window(claims->sink.context, &window);
	drop_claimed(claims, place);
	drop_unclaimed(claims, task, exit);
	return ret;
}

/* ---- pairs ---- */

static int report_pair(struct claims *claims, struct task *task, const struct record *begin,
		       const struct record *end)
{
	struct task_pair pair = {
		.key = task->key,
		.within = task->nr_open > 1, /* @begin is one of them */
		.begin = begin,
		.end = end,
		.duration = end->ts - begin->ts,
	};
	size_t place = claims->nr_records, inside;
	int ret;

	pair.slow = pair.duration >= claims->plan->threshold;
	if (!pair.slow && claims->plan->events[end->event].id != EVENT_SLAB_END)
		return 0;
	if (pair.slow && !claims->plan->function_graph) {
		place = claim(claims, task, ROLE_NONE, begin->ts, end->ts, &inside);
		pair.incomplete = lacks_records(claims, task, ROLE_NONE, begin->ts);
	}
	pair.events = claims->claimed + place;
	pair.nr_events = claims->nr_records - place;
	ret = claims->sink.pair(claims->sink.context, &pair);
	drop_claimed(claims, place);
	return ret;
}

static uint64_t lost_at(const struct claims *claims, int cpu)
{
	int place = cpu_list_place(&claims->cpus, cpu);

	return place < 0 ? 0 : claims->lost_at[place];
}

static noinline int end_pair(struct claims *claims, struct task *task, const struct record *end)
{
	int partner = claims->plan->events[end->event].partner;
	struct waiting_record *waiting, *newer;
	const struct record *begin;
	int ret = 0;

	TAILQ_FOREACH_REVERSE(waiting, &task->open, waiting_records, of_task) {
		begin = &waiting->stored.record;
		if (begin->event == partner && begin->fields.shrinker == end->fields.shrinker &&
		    begin->fields.callback == end->fields.callback)
			break;
	}
	if (!waiting)
		return 0;
	/* Newer begins lost their ends. */
	while ((newer = TAILQ_LAST(&task->open, waiting_records)) != waiting)
		drop_record(claims, newer);
	/* If its CPUs lost records in between, another end and begin may be among these. */
	if (claims->lost_last <= begin->ts ||
	    (lost_at(claims, begin->cpu) <= begin->ts && lost_at(claims, end->cpu) <= begin->ts))
		ret = report_pair(claims, task, begin, end);
	drop_record(claims, waiting);
	return ret;
}

/* ---- records ---- */

static noinline int begin_pair(struct claims *claims, struct task *task,
			       const struct record *record)
{
	if (task->nr_open == TASK_PAIRS_MAX)
		drop_for_room(claims, TAILQ_FIRST(&task->open));
	keep_record(claims, task, record, true);
	return 0;
}

/*
 * An owner writes this event once in a call, so its earlier call has returned. The events which that
 * left unclaimed belong to a fast call, and wait only to be counted by a window around that.
 */
static noinline void supersede(struct claims *claims, struct task *task,
			       const struct record *record)
{
	int partner = claims->plan->events[record->event].partner;
	struct waiting_record *waiting = TAILQ_LAST(&task->waiting, waiting_records), *older;

	for (int i = 0; i < SUPERSEDE_DEPTH && waiting; i++, waiting = older) {
		int other = waiting->stored.record.event;

		older = TAILQ_PREV(waiting, waiting_records, of_task);
		if (other != record->event && other != partner)
			continue;
		if (waiting->superseded)
			break;
		waiting->superseded = true;
		if (waiting->seen)
			drop_record(claims, waiting);
	}
}

static int accept_event(struct claims *claims, struct task *task, const struct record *record)
{
	const struct plan_event *event = &claims->plan->events[record->event];

	switch (event->rule) {
	case RULE_NEVER:
	case RULE_CHILDREN:
	case RULE_OFF_CPU:
		return 0;
	case RULE_PAIR:
		return event->side == EVENT_BEGIN ? begin_pair(claims, task, record) :
						    end_pair(claims, task, record);
	case RULE_OWNER:
		if (!event->repeats && event->side != EVENT_END)
			supersede(claims, task, record);
		break;
	default:
		break;
	}
	keep_record(claims, task, record, false);
	return 0;
}

/* The stacktrace trigger writes it right after the event, by the same task on the same CPU. */
static noinline void accept_stack(struct task *task, const struct record *record)
{
	struct waiting_record *newest = TAILQ_LAST(&task->waiting, waiting_records);
	struct waiting_record *open = TAILQ_LAST(&task->open, waiting_records);
	struct record *event;

	if (!newest || (open && open->stored.record.ts > newest->stored.record.ts))
		newest = open;
	if (!newest)
		return;
	event = &newest->stored.record;
	if (event->cpu == record->cpu && !event->stack.number)
		event->stack = record->stack;
}

/* Many records of one task come one after the other. */
static inline struct task *task_of(struct claims *claims, const struct record *record)
{
	struct task *last = claims->last;

	if (last && last->key.kind == OWNER_TASK && last->key.id == record->tid &&
	    !record_in_interrupt(record))
		return last;
	return claims->last = find_task(claims, task_key_of(record));
}

static noinline int accept_loss(struct claims *claims, const struct record *record)
{
	int place = cpu_list_place(&claims->cpus, record->cpu);

	if (place < 0)
		return -EINVAL;
	claims->lost_at[place] = claims->lost_last = record->ts;
	return 0;
}

int claims_record(struct claims *claims, const struct record *record)
{
	struct task *task;

	switch (record->kind) {
	case RECORD_EVENT:
		return accept_event(claims, task_of(claims, record), record);
	case RECORD_WINDOW:
		if (record->window.rettime - record->window.calltime < claims->plan->threshold)
			return end_fast_window(claims, record);
		task = task_of(claims, record);
		if (!task->nr_waiting && !task->nr_open && !task->dropped_at && !task->unseen_at)
			return end_lone_window(claims, task, record);
		return end_slow_window(claims, task, record);
	case RECORD_STACK:
		accept_stack(task_of(claims, record), record);
		return 0;
	case RECORD_LOST:
		return accept_loss(claims, record);
	default:
		return 0;
	}
}

const struct claims_drops *claims_drops(const struct claims *claims)
{
	return &claims->drops;
}
