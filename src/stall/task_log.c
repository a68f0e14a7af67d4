// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/task_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_TASK 2048 /* of the limit, for each task that has a log */

int task_log_init(struct task_log *log, size_t limit)
{
	size_t nr_chunks;

	log->nr_tasks = limit / BYTES_PER_TASK;
	nr_chunks = (limit - log->nr_tasks * sizeof(*log->tasks)) / sizeof(*log->chunks);
	log->tasks = calloc(log->nr_tasks, sizeof(*log->tasks));
	log->chunks = calloc(nr_chunks, sizeof(*log->chunks));
	if (!log->tasks || !log->chunks ||
	    hash_init(&log->hash, &log->tasks->hash, sizeof(*log->tasks), log->nr_tasks))
		return -ENOMEM;
	pool_init(&log->unused, log->chunks, sizeof(*log->chunks), nr_chunks);
	for (size_t i = 0; i < TASK_LOG_SIZES; i++)
		TAILQ_INIT(&log->by_chunks[i]);
	return 0;
}

void task_log_destroy(struct task_log *log)
{
	hash_destroy(&log->hash);
	free(log->chunks);
	free(log->tasks);
}

/* ---- tasks ---- */

static struct log_task *task_of_link(struct hash_link *link)
{
	return link ? container_of(link, struct log_task, hash) : NULL;
}

struct log_task *task_log_peek(struct task_log *log, struct task_key key)
{
	return task_of_link(hash_peek(&log->hash, task_key_hash(key)));
}

struct log_task *task_log_find(struct task_log *log, struct task_key key)
{
	return task_of_link(hash_find(&log->hash, task_key_hash(key)));
}

struct log_task *task_log_after(const struct log_task *task)
{
	return task_of_link(TAILQ_NEXT(&task->hash, use));
}

struct log_task *task_log_oldest(const struct task_log *log)
{
	return task_of_link(hash_oldest(&log->hash));
}

struct log_task *task_log_add(struct task_log *log, struct task_key key)
{
	struct hash_link *link = hash_insert(&log->hash, task_key_hash(key));
	struct log_task *task = container_of(link, struct log_task, hash);

	/* The task may have had a log that was removed. */
	*task = (struct log_task){ .hash = *link, .key = key, .dropped_at = log->dropped_at };
	TAILQ_INIT(&task->chunks);
	return task;
}

/* ---- chunks ---- */

static struct log_tasks *list_of_size(struct task_log *log, const struct log_task *task)
{
	return &log->by_chunks[MIN(task->nr_chunks, TASK_LOG_SIZES) - 1];
}

static void set_nr_chunks(struct task_log *log, struct log_task *task, unsigned int count)
{
	if (task->nr_chunks)
		TAILQ_REMOVE(list_of_size(log, task), task, size);
	task->nr_chunks = count;
	if (count)
		TAILQ_INSERT_TAIL(list_of_size(log, task), task, size);
}

static void release_chunk(struct task_log *log, struct log_task *task, struct log_chunk *chunk)
{
	TAILQ_REMOVE(&task->chunks, chunk, link);
	task->newest = TAILQ_LAST(&task->chunks, log_chunks);
	set_nr_chunks(log, task, task->nr_chunks - 1);
	pool_put(&log->unused, chunk);
}

struct log_task *task_log_largest(const struct task_log *log)
{
	for (size_t i = TASK_LOG_SIZES; --i;)
		if (!TAILQ_EMPTY(&log->by_chunks[i]))
			return TAILQ_FIRST(&log->by_chunks[i]);
	return NULL;
}

bool task_log_add_chunk(struct task_log *log, struct log_task *task)
{
	struct log_chunk *chunk = pool_take(&log->unused);

	if (!chunk)
		return false;
	chunk->used = 0;
	chunk->last = NULL;
	TAILQ_INSERT_TAIL(&task->chunks, chunk, link);
	task->newest = chunk;
	set_nr_chunks(log, task, task->nr_chunks + 1);
	return true;
}

void task_log_end_newest(struct log_task *task, const struct record *record)
{
	struct log_chunk *chunk = task->newest;
	struct log_entry *entry = chunk->last;
	size_t space = task_log_space(sizeof(struct log_pair));

	chunk->used -= entry->space - space;
	entry->kind = LOG_END;
	entry->ts = task->last = record->ts;
	entry->cpu = record->cpu;
	entry->event = record->event;
	entry->size = 0;
	entry->space = (uint16_t)space;
	entry->has_stack = false;
	log_pair(entry)->partner = entry;
}

void task_log_set_slow(struct log_task *task, struct log_entry *entry, bool is_wait,
		       uint32_t losses)
{
	entry->slow = true;
	task->slow_last = log_end(entry);
	task->only_waits = is_wait && (!(task->nr_slow + task->nr_dropped) || task->only_waits);
	if (task->nr_slow++ || task->nr_dropped)
		return;
	task->slow_first = task->slow_last;
	task->losses = losses;
}

void task_log_drop_newest(struct task_log *log, struct log_task *task)
{
	struct log_chunk *chunk = task->newest;
	struct log_entry *entry = chunk->last;

	chunk->used -= entry->space;
	if (entry->space_before)
		chunk->last = (struct log_entry *)((unsigned char *)entry - entry->space_before);
	else
		release_chunk(log, task, chunk);
}

/* Begins that are open move to the start of the first chunk: none of them moves towards the end. */
void task_log_truncate(struct task_log *log, struct log_task *task)
{
	struct log_chunk *first = TAILQ_FIRST(&task->chunks), *chunk;
	unsigned int nr_open = task->nr_open;

	if (!first)
		return;
	task->nr_slow = 0;
	task->off_cpu = NULL;
	task->nr_open = 0;
	first->used = 0;
	first->last = NULL;
	for (unsigned int i = 0; i < nr_open; i++) {
		struct log_entry *entry = (struct log_entry *)(first->entries + first->used);
		size_t space = task->open[i]->space;

		if (TASK_LOG_CHUNK - first->used < space)
			break;
		memmove(entry, task->open[i], space);
		entry->space_before = first->last ? first->last->space : 0;
		first->last = entry;
		first->used += space;
		task->open[task->nr_open++] = entry;
	}
	while ((chunk = TAILQ_LAST(&task->chunks, log_chunks)) != first)
		release_chunk(log, task, chunk);
	if (!first->used)
		release_chunk(log, task, first);
}

/* An entry goes, for room: its task has it neither open nor as its time off the CPU. */
static void forget_entry(struct log_task *task, const struct log_entry *entry)
{
	unsigned int nr_open = 0;

	for (unsigned int i = 0; i < task->nr_open; i++)
		if (task->open[i] != entry)
			task->open[nr_open++] = task->open[i];
	task->nr_open = nr_open;
	task->nr_slow -= entry->slow;
	task->nr_dropped += entry->slow;
	if (entry == task->off_cpu)
		task->off_cpu = NULL;
}

void task_log_drop_oldest(struct task_log *log, struct log_task *task)
{
	struct log_chunk *chunk = TAILQ_FIRST(&task->chunks);
	struct log_cursor cursor = { chunk, chunk->last };

	do {
		struct log_entry *entry = cursor.entry;

		forget_entry(task, entry);
		if (entry->kind == LOG_OFF_CPU && log_off_cpu(entry)->came > task->dropped_at)
			task->dropped_at = log_off_cpu(entry)->came;
		if (entry->kind == LOG_BEGIN && log_pair(entry)->partner) {
			struct log_entry *end = log_pair(entry)->partner;

			log_pair(end)->partner = NULL;
			if (!log_chunk_has(chunk, end))
				forget_entry(task, end);
			end->slow = false;
			/* It is around entries that stay. */
			task->dropped_at = MAX(task->dropped_at, end->ts);
		}
	} while (log_cursor_back(&cursor));
	task->dropped_at = MAX(task->dropped_at, chunk->last->ts);
	release_chunk(log, task, chunk);
}

void task_log_drop_past(struct task_log *log, struct log_task *task, uint64_t until)
{
	struct log_cursor cursor;
	struct log_chunk *chunk;

	for (bool any = log_cursor_end(&cursor, task); any; any = log_cursor_back(&cursor)) {
		uint64_t start = log_start(cursor.entry);

		if (start + (log_end(cursor.entry) - start) / 2 > until)
			continue;
		task->nr_slow -= cursor.entry->slow;
		cursor.entry->slow = false;
	}
	if (task->last <= until)
		task_log_truncate(log, task);
	while ((chunk = TAILQ_FIRST(&task->chunks)) && chunk->last->ts <= until &&
	       !(task->nr_open && log_chunk_has(chunk, task->open[0])))
		task_log_drop_oldest(log, task);
	task->dropped_at = MAX(task->dropped_at, until);
}

void task_log_remove(struct task_log *log, struct log_task *task)
{
	task->nr_open = 0;
	task_log_truncate(log, task);
	log->dropped_at = MAX(log->dropped_at, task->dropped_at);
	if (log->recent == task)
		log->recent = NULL;
	hash_remove(&log->hash, &task->hash);
}
