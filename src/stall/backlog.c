// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "allocfilt/stall.h"

#define CHUNK_BYTES 4080
#define CHUNKS	    256 /* over all tasks */
#define PAIRS_MAX   4	/* slab pairs of a task without their end: shrinkers do not call others */
#define BLOCK	    16	/* bytes that are copied at once; every kernel's records are longer */

/* A copy of a record of the ring buffer, and how it was passed on. */
struct copy {
	uint64_t ts;
	int32_t cpu;
	int16_t indent;
	uint8_t size; /* RECORD_RAW_MAX at most */
	bool counted;
	unsigned char data[];
};

struct chunk {
	STAILQ_ENTRY(chunk) link; /* in task.chunks */
	size_t used;		  /* bytes; of a task's newest see task.room */
	unsigned char copies[CHUNK_BYTES] __attribute__((aligned(8)));
};

STAILQ_HEAD(chunks, chunk);

struct begin {
	uint64_t ts;
	uint64_t shrinker;
	uint64_t callback;
};

struct task {
	struct hash_link hash;
	TAILQ_ENTRY(task) age; /* in backlog.waiting */
	int32_t tid;
	bool passed; /* later stages may have something of it */
	unsigned int nr_begins;
	struct begin begins[PAIRS_MAX]; /* copies without their end */
	struct chunks chunks;
	struct chunk *newest; /* of these; NULL: there are none */
	size_t room;	      /* bytes in it */
};

TAILQ_HEAD(task_list, task);

/* What becomes of an event. */
enum event_kind { PASSES, WAITS, BEGINS, ENDS };

struct backlog {
	uint64_t threshold; /* ns */
	bool active;	    /* there are fast windows */
	struct decode *decode;
	struct backlog_sink sink;
	uint8_t *kinds;	  /* enum event_kind, by index of the plan's events */
	struct hash hash; /* of tasks; the least recently used one is evicted */
	struct task *tasks;
	struct task *last;	  /* whose record came last; -1 before the first one */
	struct task_list waiting; /* with copies, the oldest first */
	struct pool unused;	  /* of chunks */
	struct chunk *chunks;
	struct record record; /* that is being passed on */
};

static enum event_kind kind_of(const struct plan_event *event)
{
	if (event->id == EVENT_SLAB_START)
		return BEGINS;
	if (event->id == EVENT_SLAB_END)
		return ENDS;
	if (event->id == EVENT_USER ||
	    (event->rule != RULE_OWNER && event->rule != RULE_ANY_WINDOW))
		return PASSES;
	return WAITS;
}

/* It may be one that was evicted, of which later stages have something. */
static struct task *add_task(struct backlog *backlog, int32_t tid)
{
	struct hash_link *link = hash_insert(&backlog->hash, (uint32_t)tid);
	struct task *task = container_of(link, struct task, hash);

	*task = (struct task){ .hash = *link, .tid = tid, .passed = true };
	STAILQ_INIT(&task->chunks);
	return task;
}

struct backlog *backlog_new(const struct plan *plan, const struct limits *limits,
			    struct decode *decode, const struct backlog_sink *sink)
{
	struct backlog *backlog = calloc(1, sizeof(*backlog));

	if (!backlog)
		return NULL;
	backlog->threshold = plan->threshold;
	backlog->decode = decode;
	backlog->sink = *sink;
	TAILQ_INIT(&backlog->waiting);
	backlog->kinds = calloc(plan->nr_events + 1, sizeof(*backlog->kinds));
	backlog->tasks = calloc(limits->tasks, sizeof(*backlog->tasks));
	backlog->chunks = calloc(CHUNKS, sizeof(*backlog->chunks));
	if (!backlog->kinds || !backlog->tasks || !backlog->chunks ||
	    hash_init(&backlog->hash, &backlog->tasks->hash, sizeof(*backlog->tasks),
		      limits->tasks)) {
		backlog_free(backlog);
		errno = ENOMEM;
		return NULL;
	}
	pool_init(&backlog->unused, backlog->chunks, sizeof(*backlog->chunks), CHUNKS);
	backlog->last = add_task(backlog, -1);
	for (int i = 0; i < plan->nr_events; i++)
		backlog->kinds[i] = kind_of(&plan->events[i]);
	return backlog;
}

void backlog_free(struct backlog *backlog)
{
	if (!backlog)
		return;
	hash_destroy(&backlog->hash);
	free(backlog->chunks);
	free(backlog->tasks);
	free(backlog->kinds);
	free(backlog);
}

/* ---- copies ---- */

/* Bytes of a copy in its chunk. */
static size_t space_of(size_t size)
{
	return sizeof(struct copy) + (size + 7) / 8 * 8;
}

static void drop_copies(struct backlog *backlog, struct task *task)
{
	struct chunk *chunk;

	task->nr_begins = 0;
	if (!task->newest)
		return;
	task->newest = NULL;
	task->room = 0;
	TAILQ_REMOVE(&backlog->waiting, task, age);
	while ((chunk = STAILQ_FIRST(&task->chunks))) {
		STAILQ_REMOVE_HEAD(&task->chunks, link);
		pool_put(&backlog->unused, chunk);
	}
}

static int pass_chunk(struct backlog *backlog, const struct chunk *chunk)
{
	int ret = 0;

	for (size_t at = 0; !ret && at < chunk->used;) {
		const struct copy *copy = (const struct copy *)(chunk->copies + at);

		decode_again(backlog->decode, copy->cpu, copy->ts, copy->indent, copy->data,
			     copy->size, &backlog->record);
		backlog->record.counted = copy->counted;
		ret = backlog->sink.record(backlog->sink.context, &backlog->record);
		at += space_of(copy->size);
	}
	return ret;
}

/* Passes on all copies of a task. */
static noinline int pass_copies(struct backlog *backlog, struct task *task)
{
	const struct chunk *chunk = STAILQ_FIRST(&task->chunks);
	int ret = 0;

	if (task->newest)
		task->newest->used = CHUNK_BYTES - task->room;
	for (; !ret && chunk; chunk = STAILQ_NEXT(chunk, link))
		ret = pass_chunk(backlog, chunk);
	drop_copies(backlog, task);
	task->passed = true;
	return ret;
}

/* The task whose copies wait for longest makes room. */
static noinline int add_chunk(struct backlog *backlog, struct task *task)
{
	struct chunk *chunk;
	int ret = 0;

	if (pool_is_empty(&backlog->unused))
		ret = pass_copies(backlog, TAILQ_FIRST(&backlog->waiting));
	if (ret)
		return ret;
	chunk = pool_take(&backlog->unused);
	if (task->newest)
		task->newest->used = CHUNK_BYTES - task->room;
	else
		TAILQ_INSERT_TAIL(&backlog->waiting, task, age);
	STAILQ_INSERT_TAIL(&task->chunks, chunk, link);
	task->newest = chunk;
	task->room = CHUNK_BYTES;
	return 0;
}

static inline void put_copy(struct task *task, const struct record *record, bool counted)
{
	const unsigned char *from = record->raw;
	unsigned char *at = task->newest->copies + CHUNK_BYTES - task->room;
	size_t size = record->raw_size;

	*(struct copy *)at = (struct copy){
		.ts = record->ts,
		.cpu = record->cpu,
		.indent = record->indent,
		.size = (uint8_t)size,
		.counted = counted,
	};
	at += sizeof(struct copy);
	task->room -= space_of(size);
	/* The last block overlaps. */
	for (size_t i = 0; i < size - BLOCK; i += BLOCK)
		memcpy(at + i, from + i, BLOCK);
	memcpy(at + size - BLOCK, from + size - BLOCK, BLOCK);
}

static noinline int wait_in_new_chunk(struct backlog *backlog, struct task *task,
				      const struct record *record, bool counted)
{
	int ret = add_chunk(backlog, task);

	if (!ret)
		put_copy(task, record, counted);
	return ret;
}

static inline int wait(struct backlog *backlog, struct task *task, const struct record *record,
		       bool counted)
{
	if (task->room < space_of(record->raw_size))
		return wait_in_new_chunk(backlog, task, record, counted);
	put_copy(task, record, counted);
	return 0;
}

/* ---- records ---- */

static noinline int pass(struct backlog *backlog, struct record *record)
{
	decode_fields(backlog->decode, record);
	return backlog->sink.record(backlog->sink.context, record);
}

static noinline int pass_all(struct backlog *backlog, struct task *task, struct record *record)
{
	int ret = pass_copies(backlog, task);

	return ret ? ret : pass(backlog, record);
}

static noinline int begin_pair(struct backlog *backlog, struct task *task, struct record *record)
{
	if (task->nr_begins == PAIRS_MAX)
		return pass_all(backlog, task, record);
	decode_fields(backlog->decode, record);
	task->begins[task->nr_begins++] = (struct begin){
		.ts = record->ts,
		.shrinker = record->fields.shrinker,
		.callback = record->fields.callback,
	};
	return wait(backlog, task, record, false);
}

static noinline int end_pair(struct backlog *backlog, struct task *task, struct record *end)
{
	struct task_pair pair = { .begin = end, .end = end, .duration = backlog->threshold };

	decode_fields(backlog->decode, end);
	/* Newer begins lost their ends. */
	while (task->nr_begins) {
		const struct begin *begin = &task->begins[--task->nr_begins];

		if (begin->shrinker == end->fields.shrinker &&
		    begin->callback == end->fields.callback) {
			pair.duration = end->ts - begin->ts;
			break;
		}
	}
	if (pair.duration >= backlog->threshold)
		return pass_all(backlog, task, end);
	backlog->sink.pair(backlog->sink.context, &pair);
	return wait(backlog, task, end, true);
}

/* A begin inside a window that has ended lost its end: claims knows it too. */
static inline void drop_begins(struct task *task, uint64_t from)
{
	while (task->nr_begins && task->begins[task->nr_begins - 1].ts >= from)
		task->nr_begins--;
}

/* It ends what later stages have, and nothing slow is around it but a pair that began before it. */
static noinline int end_outermost(struct backlog *backlog, struct task *task, struct record *record)
{
	int ret;

	if (task->passed || (task->nr_begins && task->begins[0].ts < record->window.calltime)) {
		ret = pass_all(backlog, task, record);
		task->passed = false;
		return ret;
	}
	drop_copies(backlog, task);
	if (backlog->sink.dropped)
		backlog->sink.dropped(backlog->sink.context, record);
	return 0;
}

static noinline int find_task(struct backlog *backlog, int32_t tid)
{
	struct hash_link *link = hash_find(&backlog->hash, (uint32_t)tid), *oldest;
	int ret = 0;

	if (!link && hash_is_full(&backlog->hash)) {
		oldest = hash_oldest(&backlog->hash);
		ret = pass_copies(backlog, container_of(oldest, struct task, hash));
		hash_remove(&backlog->hash, oldest);
	}
	backlog->last = link ? container_of(link, struct task, hash) : add_task(backlog, tid);
	return ret;
}

static noinline int record_of_other_task(struct backlog *backlog, struct record *record)
{
	int ret;

	if (!record->tid) /* a CPU's idle task */
		return pass(backlog, record);
	ret = find_task(backlog, record->tid);
	return ret ? ret : backlog_record(backlog, record);
}

int backlog_record(struct backlog *backlog, struct record *record)
{
	const struct record_window *window = &record->window;
	struct task *task = backlog->last;
	bool fast = record->kind == RECORD_WINDOW &&
		    window->rettime - window->calltime < backlog->threshold;
	enum event_kind kind = PASSES;

	if (record_in_interrupt(record) || !(fast || backlog->active))
		return pass(backlog, record);
	backlog->active = true;
	if (task->tid != record->tid)
		return record_of_other_task(backlog, record);
	if (fast && window->depth <= 0) {
		/* Nearly all of some captures are such windows, of tasks with nothing else. */
		if (!task->newest && !task->passed && !backlog->sink.dropped)
			return 0;
		return end_outermost(backlog, task, record);
	}
	if (record->raw_size >= BLOCK && record->raw_size <= RECORD_RAW_MAX) {
		if (fast)
			kind = WAITS;
		else if (record->kind == RECORD_EVENT)
			kind = backlog->kinds[record->event];
	}
	if (fast)
		drop_begins(task, window->calltime);
	switch (kind) {
	case WAITS:
		return wait(backlog, task, record, false);
	case BEGINS:
		return begin_pair(backlog, task, record);
	case ENDS:
		return end_pair(backlog, task, record);
	default:
		return pass_all(backlog, task, record);
	}
}

int backlog_pass(struct backlog *backlog)
{
	struct task *task = TAILQ_FIRST(&backlog->waiting), *next;
	int ret = 0;

	for (; !ret && task; task = next) {
		next = TAILQ_NEXT(task, age);
		if (task->passed)
			ret = pass_copies(backlog, task);
	}
	return ret;
}

int backlog_flush(struct backlog *backlog)
{
	int ret = 0;

	while (!ret && !TAILQ_EMPTY(&backlog->waiting))
		ret = pass_copies(backlog, TAILQ_FIRST(&backlog->waiting));
	return ret;
}
