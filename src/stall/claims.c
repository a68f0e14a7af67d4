// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"

/* How far a window's edges may be off where its times are of another clock than the events'. */
#define FOREIGN_CLOCK_EDGE 50000 /* ns */

#define SUPERSEDE_DEPTH 64 /* how far back a newer call looks for an older's events */
#define LEAST_DEPTH	64 /* how far a task looks for an event to do without */

struct task {
	struct link age; /* of tasks.by_age: least recently seen first */
	struct task *hash_next;
	struct task_key key;
	struct link waiting; /* waiting_record.of_task, oldest first */
	struct link open;    /* begins without their end, oldest first */
	int nr_waiting;
	int nr_open;
	uint64_t gone_at;     /* ns: time of the newest record that made room */
	uint64_t gone_owners; /* ROLE_BIT()s of those that might have claimed such */
	bool gone_any;	      /* any window might have */
};

struct waiting_record {
	struct link of_task; /* first: a link of a task's list is its record */
	struct link age;     /* of tasks.oldest, all tasks' */
	struct task *task;
	bool open;
	struct stored_record stored;
};

struct tasks {
	const struct plan *plan;
	struct cpu_list cpus;
	uint64_t edge; /* ns by which a window may have begun before its calltime */
	struct limits limits;
	struct task_sink sink;
	size_t nr_buckets;
	uint64_t *lost_at; /* ns, by place of a CPU: newest time of a loss */
	struct task **buckets;
	struct task *task_pool;
	struct link free_tasks;
	struct link by_age;
	struct waiting_record *record_pool;
	struct link free_records; /* by of_task */
	struct link oldest;	  /* by age */
	struct task *busy;	  /* the last one that was seen above its share, or NULL */
	const struct record **claimed;
	struct waiting_record **claimed_from;
	struct tasks_drops drops;
};

static struct task *task_of_age(struct link *link)
{
	return list_entry(link, struct task, age);
}

static struct waiting_record *record_of_task(struct link *link)
{
	return list_entry(link, struct waiting_record, of_task);
}

static struct waiting_record *record_of_age(struct link *link)
{
	return list_entry(link, struct waiting_record, age);
}

static bool allocate_pools(struct tasks *tasks)
{
	const struct limits *limits = &tasks->limits;

	tasks->buckets = calloc(tasks->nr_buckets, sizeof(struct task *));
	tasks->task_pool = calloc(limits->tasks, sizeof(*tasks->task_pool));
	tasks->record_pool = calloc(limits->events, sizeof(*tasks->record_pool));
	tasks->claimed = calloc(limits->events, sizeof(const struct record *));
	tasks->claimed_from = calloc(limits->events, sizeof(*tasks->claimed_from));
	tasks->lost_at = calloc(tasks->cpus.count, sizeof(*tasks->lost_at));
	return tasks->buckets && tasks->task_pool && tasks->record_pool && tasks->claimed &&
	       tasks->claimed_from && tasks->lost_at;
}

static void fill_free_lists(struct tasks *tasks)
{
	list_init(&tasks->free_tasks);
	list_init(&tasks->by_age);
	list_init(&tasks->free_records);
	list_init(&tasks->oldest);
	for (size_t i = 0; i < tasks->limits.tasks; i++)
		list_append(&tasks->free_tasks, &tasks->task_pool[i].age);
	for (size_t i = 0; i < tasks->limits.events; i++)
		list_append(&tasks->free_records, &tasks->record_pool[i].of_task);
}

struct tasks *tasks_new(const struct plan *plan, const struct data_source *source,
			const struct limits *limits, const struct task_sink *sink)
{
	struct tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks)
		return NULL;
	tasks->plan = plan;
	tasks->cpus = source->cpus;
	tasks->edge = source->local_clock ? 0 : FOREIGN_CLOCK_EDGE;
	tasks->limits = *limits;
	tasks->sink = *sink;
	tasks->nr_buckets = hash_buckets(limits->tasks);
	if (!allocate_pools(tasks)) {
		tasks_free(tasks);
		errno = ENOMEM;
		return NULL;
	}
	fill_free_lists(tasks);
	return tasks;
}

static void drop_record(struct tasks *tasks, struct waiting_record *waiting)
{
	list_remove(&waiting->of_task);
	list_remove(&waiting->age);
	if (waiting->open)
		waiting->task->nr_open--;
	else
		waiting->task->nr_waiting--;
	record_store_release(&waiting->stored);
	list_append(&tasks->free_records, &waiting->of_task);
}

void tasks_free(struct tasks *tasks)
{
	if (!tasks)
		return;
	while (tasks->record_pool && tasks->oldest.next && !list_empty(&tasks->oldest))
		drop_record(tasks, record_of_age(tasks->oldest.next));
	free(tasks->lost_at);
	free(tasks->claimed_from);
	free(tasks->claimed);
	free(tasks->record_pool);
	free(tasks->task_pool);
	free(tasks->buckets);
	free(tasks);
}

static struct task_key key_of(const struct record *record)
{
	if (record->flags & RECORD_FLAG_NMI)
		return (struct task_key){ record->cpu, OWNER_NMI };
	if (record->flags & RECORD_FLAG_HARDIRQ)
		return (struct task_key){ record->cpu, OWNER_HARDIRQ };
	if (record->flags & RECORD_FLAG_SOFTIRQ)
		return (struct task_key){ record->cpu, OWNER_SOFTIRQ };
	if (record->pid == 0)
		return (struct task_key){ record->cpu, OWNER_IDLE };
	return (struct task_key){ record->pid, OWNER_TASK };
}

static struct task **hash_slot(struct tasks *tasks, struct task_key key)
{
	size_t bucket = hash_bucket((uint32_t)key.id * 8 + key.kind, tasks->nr_buckets);
	struct task **slot = &tasks->buckets[bucket];

	while (*slot && ((*slot)->key.id != key.id || (*slot)->key.kind != key.kind))
		slot = &(*slot)->hash_next;
	return slot;
}

static void empty_list(struct tasks *tasks, struct link *list)
{
	while (!list_empty(list))
		drop_record(tasks, record_of_task(list->next));
}

static void evict_oldest_task(struct tasks *tasks)
{
	struct task *task = task_of_age(tasks->by_age.next);

	if (task->nr_open || task->nr_waiting)
		tasks->drops.tasks++;
	empty_list(tasks, &task->waiting);
	empty_list(tasks, &task->open);
	*hash_slot(tasks, task->key) = task->hash_next;
	list_remove(&task->age);
	list_append(&tasks->free_tasks, &task->age);
}

static struct task *new_task(struct tasks *tasks, struct task_key key)
{
	struct task **slot;
	struct task *task;

	if (list_empty(&tasks->free_tasks))
		evict_oldest_task(tasks);
	task = task_of_age(tasks->free_tasks.next);
	list_remove(&task->age);
	memset(task, 0, sizeof(*task));
	task->key = key;
	list_init(&task->waiting);
	list_init(&task->open);
	slot = hash_slot(tasks, key);
	*slot = task;
	return task;
}

static struct task *task_of(struct tasks *tasks, const struct record *record)
{
	struct task_key key = key_of(record);
	struct task *task = *hash_slot(tasks, key);

	if (task)
		list_remove(&task->age);
	else
		task = new_task(tasks, key);
	list_append(&tasks->by_age, &task->age);
	return task;
}

static bool has_too_many(const struct tasks *tasks, const struct task *task)
{
	return task->nr_waiting > 0 && (size_t)task->nr_waiting > tasks->limits.task_events;
}

/* Most of these are of fast calls and nothing would ever have claimed them: the next slow window
 * tells. */
static void make_room_of(struct tasks *tasks, struct waiting_record *waiting)
{
	const struct record *record = &waiting->stored.record;
	const struct plan_event *event = &tasks->plan->events[record->event];
	struct task *task = waiting->task;

	if (record->ts > task->gone_at)
		task->gone_at = record->ts;
	if (!waiting->open && event->rule == RULE_OWNER)
		task->gone_owners |= event->owners;
	else
		task->gone_any = true;
	drop_record(tasks, waiting);
}

/* Might a window of this role that began at @from have had what made room? It is told once, with
 * the innermost such window. */
static bool lacks_records(struct tasks *tasks, struct task *task, int role, uint64_t from)
{
	bool owner = role != ROLE_NONE && (task->gone_owners & ROLE_BIT(role));

	if (task->gone_at < from || !(owner || task->gone_any))
		return false;
	task->gone_owners = 0;
	task->gone_any = false;
	tasks->drops.windows++;
	return true;
}

static void drop_oldest(struct tasks *tasks)
{
	struct waiting_record *waiting = record_of_age(tasks->oldest.next);

	if (waiting->open)
		tasks->drops.pairs++;
	else
		tasks->drops.events++;
	make_room_of(tasks, waiting);
}

/* One of many of its kind tells less than a begin that comes once, with order and gfp flags. */
static struct waiting_record *least_of(const struct tasks *tasks, struct task *task)
{
	struct link *link = task->waiting.next;

	for (int i = 0; i < LEAST_DEPTH && link != &task->waiting; i++, link = link->next) {
		struct waiting_record *waiting = record_of_task(link);
		int number = waiting->stored.record.event;
		const struct plan_event *event = &tasks->plan->events[number];

		if (event->repeats || event->rule == RULE_ANY_WINDOW)
			return waiting;
	}
	return record_of_task(task->waiting.next);
}

/* A task with many waiting events makes the room, so that one busy kswapd does not push out what a
 * long reclaim elsewhere still has to claim. */
static void make_room(struct tasks *tasks)
{
	if (!list_empty(&tasks->free_records))
		return;
	if (!tasks->busy || !has_too_many(tasks, tasks->busy)) {
		drop_oldest(tasks);
		return;
	}
	tasks->drops.task_events++;
	make_room_of(tasks, least_of(tasks, tasks->busy));
}

static int keep_record(struct tasks *tasks, struct task *task, const struct record *record,
		       bool open)
{
	struct waiting_record *waiting;
	int ret;

	make_room(tasks);
	waiting = record_of_task(tasks->free_records.next);
	ret = record_store(&waiting->stored, record);
	if (ret)
		return ret;
	list_remove(&waiting->of_task);
	waiting->task = task;
	waiting->open = open;
	list_append(open ? &task->open : &task->waiting, &waiting->of_task);
	list_append(&tasks->oldest, &waiting->age);
	if (open)
		task->nr_open++;
	else
		task->nr_waiting++;
	if (has_too_many(tasks, task))
		tasks->busy = task;
	return 0;
}

static bool may_claim(const struct plan_event *event, int role)
{
	if (event->rule == RULE_ANY_WINDOW)
		return true;
	return event->rule == RULE_OWNER && role != ROLE_NONE && (event->owners & ROLE_BIT(role));
}

/* Collects the waiting events in [from, to] that a window of this role owns, oldest first, at the
 * end of tasks->claimed; they stay in their list until drop_claimed(). */
static size_t claim(struct tasks *tasks, struct task *task, int role, uint64_t from, uint64_t to)
{
	struct link *link = task->waiting.prev;
	size_t place = tasks->limits.events;

	for (; link != &task->waiting; link = link->prev) {
		struct waiting_record *waiting = record_of_task(link);
		const struct record *record = &waiting->stored.record;

		if (record->ts < from)
			break;
		if (record->ts > to || !may_claim(&tasks->plan->events[record->event], role))
			continue;
		place--;
		tasks->claimed[place] = record;
		tasks->claimed_from[place] = waiting;
	}
	return place;
}

static void drop_claimed(struct tasks *tasks, size_t place)
{
	for (; place < tasks->limits.events; place++)
		drop_record(tasks, tasks->claimed_from[place]);
}

/* A begin inside a window that has ended will see no end any more: it was lost. One within the
 * uncertain edge may be older than the window and is left alone. */
static void close_inside(struct tasks *tasks, struct task *task, uint64_t from)
{
	while (!list_empty(&task->open)) {
		struct waiting_record *waiting = record_of_task(task->open.prev);

		if (waiting->stored.record.ts < from)
			return;
		drop_record(tasks, waiting);
	}
}

static int take_window(struct tasks *tasks, struct task *task, const struct record *record)
{
	const struct record_window *exit = &record->window;
	uint64_t from = exit->calltime < tasks->edge ? 0 : exit->calltime - tasks->edge;
	struct task_window window = { .key = task->key, .exit = record };
	size_t place;
	int ret;

	close_inside(tasks, task, exit->calltime);
	if (exit->rettime - exit->calltime < tasks->plan->threshold)
		return 0;
	place = claim(tasks, task, exit->role, from, exit->rettime);
	window.events = tasks->claimed + place;
	window.nr_events = tasks->limits.events - place;
	window.incomplete = lacks_records(tasks, task, exit->role, from);
	ret = tasks->sink.window(tasks->sink.context, &window);
	drop_claimed(tasks, place);
	return ret;
}

static bool same_pair(const struct record *begin, const struct record *end)
{
	return begin->fields.shrinker == end->fields.shrinker &&
	       begin->fields.callback == end->fields.callback;
}

/* The newest begin of this end. Newer begins of the task were left without their end. */
static struct waiting_record *find_begin(struct tasks *tasks, struct task *task,
					 const struct record *end)
{
	const struct plan_event *event = &tasks->plan->events[end->event];
	struct link *link = task->open.prev;

	for (; link != &task->open; link = link->prev) {
		struct waiting_record *waiting = record_of_task(link);
		const struct record *begin = &waiting->stored.record;

		if (begin->event == event->partner && same_pair(begin, end))
			return waiting;
	}
	return NULL;
}

/* Where records of its CPUs were lost in between, another end and begin may be among them. */
static bool lost_between(const struct tasks *tasks, const struct record *begin,
			 const struct record *end)
{
	const struct cpu_list *cpus = &tasks->cpus;

	return tasks->lost_at[cpu_list_place(cpus, begin->cpu)] > begin->ts ||
	       tasks->lost_at[cpu_list_place(cpus, end->cpu)] > begin->ts;
}

static int give_pair(struct tasks *tasks, struct task *task, const struct record *begin,
		     const struct record *end)
{
	struct task_pair pair = {
		.key = task->key,
		.within = task->nr_open > 1, /* its own begin is there still */
		.begin = begin,
		.end = end,
		.duration = end->ts - begin->ts,
	};
	size_t place = tasks->limits.events;
	int ret;

	pair.slow = pair.duration >= tasks->plan->threshold;
	if (!pair.slow && tasks->plan->events[end->event].id != EVENT_SLAB_END)
		return 0;
	if (pair.slow && !tasks->plan->function_graph) {
		place = claim(tasks, task, ROLE_NONE, begin->ts, end->ts);
		pair.incomplete = lacks_records(tasks, task, ROLE_NONE, begin->ts);
	}
	pair.events = tasks->claimed + place;
	pair.nr_events = tasks->limits.events - place;
	ret = tasks->sink.pair(tasks->sink.context, &pair);
	drop_claimed(tasks, place);
	return ret;
}

static int end_pair(struct tasks *tasks, struct task *task, const struct record *end)
{
	struct waiting_record *waiting = find_begin(tasks, task, end);
	const struct record *begin;
	int ret = 0;

	if (!waiting)
		return 0;
	while (task->open.prev != &waiting->of_task)
		drop_record(tasks, record_of_task(task->open.prev));
	begin = &waiting->stored.record;
	if (!lost_between(tasks, begin, end))
		ret = give_pair(tasks, task, begin, end);
	drop_record(tasks, waiting);
	return ret;
}

static int begin_pair(struct tasks *tasks, struct task *task, const struct record *begin)
{
	if (task->nr_open == TASK_PAIRS_MAX) {
		tasks->drops.pairs++;
		make_room_of(tasks, record_of_task(task->open.next));
	}
	return keep_record(tasks, task, begin, true);
}

/* An owner that writes an event once a call has returned from the call before when it writes the
 * next: what that one left unclaimed was fast. */
static void drop_superseded(struct tasks *tasks, struct task *task, int event)
{
	const struct plan_event *plan_event = &tasks->plan->events[event];
	struct link *link = task->waiting.prev;

	if (plan_event->rule != RULE_OWNER || plan_event->repeats || plan_event->side == EVENT_END)
		return;
	for (int i = 0; i < SUPERSEDE_DEPTH && link != &task->waiting; i++) {
		struct waiting_record *waiting = record_of_task(link);
		int other = waiting->stored.record.event;

		link = link->prev;
		if (other == event || other == plan_event->partner)
			drop_record(tasks, waiting);
	}
}

static int take_event(struct tasks *tasks, struct task *task, const struct record *record)
{
	const struct plan_event *event = &tasks->plan->events[record->event];

	switch (event->rule) {
	case RULE_NEVER:
		return 0;
	case RULE_PAIR:
		if (event->side == EVENT_BEGIN)
			return begin_pair(tasks, task, record);
		return end_pair(tasks, task, record);
	default:
		drop_superseded(tasks, task, record->event);
		return keep_record(tasks, task, record, false);
	}
}

static struct record *newest_of(struct link *list)
{
	return list_empty(list) ? NULL : &record_of_task(list->prev)->stored.record;
}

/* The trigger writes it right behind the event of the same task, on the same CPU. */
static void take_stack(struct task *task, const struct record *record)
{
	struct record *waiting = newest_of(&task->waiting);
	struct record *open = newest_of(&task->open);
	struct record *event = waiting;

	if (!event || (open && open->ts > waiting->ts))
		event = open;
	if (event && event->cpu == record->cpu && !event->stack.number)
		event->stack = record->stack;
}

int tasks_record(void *context, const struct record *record)
{
	struct tasks *tasks = context;
	int place = cpu_list_place(&tasks->cpus, record->cpu);

	if (place < 0)
		return -EINVAL;
	switch (record->kind) {
	case RECORD_WINDOW:
		return take_window(tasks, task_of(tasks, record), record);
	case RECORD_EVENT:
		return take_event(tasks, task_of(tasks, record), record);
	case RECORD_STACK:
		take_stack(task_of(tasks, record), record);
		return 0;
	case RECORD_LOST:
		tasks->lost_at[place] = record->ts;
		return 0;
	default:
		return 0;
	}
}

void tasks_drops(const struct tasks *tasks, struct tasks_drops *drops)
{
	*drops = tasks->drops;
}
