/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_TASK_LOG_H
#define ALLOCFILT_STALL_TASK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "allocfilt/base/hash.h"
#include "stall/details.h"

/*
 * Records wait for the end of their outermost window in a log of their task; the interrupts of each
 * CPU have one, too. Entries are in order of time and stay where they are until they are dropped,
 * so they may point to each other. Logs consist of chunks of one pool. All memory is allocated at
 * the start, within the limit that the user sets: one task for each 2 KiB of it, and chunks.
 */

#define TASK_LOG_CHUNK	  4032 /* bytes of entries in a chunk; with its head 4 KiB, nearly */
#define TASK_LOG_OPEN_MAX 16   /* begins without their end, per task: one more drops the oldest */
#define TASK_LOG_SIZES	  64   /* tasks with this many chunks and more share a list */

enum log_kind {
	LOG_WINDOW,  /* struct log_window */
	LOG_EVENT,   /* the payload of the ring buffer, with space for a stack behind it */
	LOG_BEGIN,   /* struct log_pair, then as LOG_EVENT */
	LOG_END,     /* likewise */
	LOG_OFF_CPU, /* struct log_off_cpu; ts: when the task left its CPU */
};

struct log_entry {
	uint64_t ts; /* ns, trace clock */
	/*
	 * While stalls of a log end, the next one of them. The walk links the events of a window, and
	 * the windows of a stall.
	 */
	struct log_entry *next;
	int32_t tid;
	int32_t cpu;
	uint16_t event;	       /* index of the plan's events */
	int16_t indent;	       /* see struct record */
	uint16_t size;	       /* bytes of the record's payload */
	uint16_t space;	       /* bytes of this whole entry */
	uint16_t space_before; /* of the entry before it in its chunk; 0: it is the first */
	uint8_t kind;	       /* enum log_kind */
	uint8_t flags;	       /* common_flags */
	bool slow;	       /* a window or the end of a pair that reaches the threshold */
	bool has_stack;
	int16_t role; /* enum role of a window or pair, set by the walk; of a wait by its end */
	uint64_t payload[];
};

struct log_window {
	struct record_window at;
	uint64_t start; /* ns: calltime; of an outermost refault when the task came upon the page */
	struct log_entry *events; /* set by the walk: the first event that the window owns */
};

struct log_pair {
	uint64_t shrinker;
	uint64_t callback;
	uint64_t start; /* ns: of the begin */
	/* NULL: there is none, or it was dropped. An end whose begin is not kept is its own. */
	struct log_entry *partner;
	struct log_entry *events; /* of an end, as log_window.events */
	uint32_t scanned;	  /* objects, of slab's end; of its begin those to scan */
	uint32_t freed;		  /* likewise */
	int16_t nid;		  /* of slab's begin, as struct record_fields */
	int16_t priority;
	bool within;	    /* of an end: another begin of the task is still open */
	bool is_part;	    /* of an end: the wait was in progress when the run began */
	uint64_t payload[]; /* log_entry.size bytes */
};

struct log_off_cpu {
	uint64_t woken;	   /* ns: when it could run again; 0: it was not woken */
	uint64_t came;	   /* ns: when it got a CPU; 0: not yet, or that record was lost */
	uint64_t function; /* an address in the function that sleeps; 0: not known */
	uint32_t run;	   /* on the CPU that it waited for, the last one: see struct runs */
	uint16_t cpu;	   /* the place of that CPU */
	uint16_t state;	   /* enum phase_state until it was woken */
};

struct log_chunk {
	TAILQ_ENTRY(log_chunk) link; /* in log_task.chunks */
	struct log_entry *last;
	size_t used; /* bytes */
	unsigned char entries[TASK_LOG_CHUNK] __attribute__((aligned(8)));
};

TAILQ_HEAD(log_chunks, log_chunk);

struct log_task {
	struct hash_link hash;
	TAILQ_ENTRY(log_task) size; /* in task_log.by_chunks */
	struct task_key key;
	struct log_chunks chunks; /* the oldest first */
	struct log_chunk *newest; /* of these; NULL: there is none */
	unsigned int nr_chunks;
	unsigned int nr_slow;	 /* entries */
	unsigned int nr_dropped; /* slow ones that went for room, since the last stall */
	unsigned int nr_open;
	struct log_entry *open[TASK_LOG_OPEN_MAX]; /* begins without their end, the oldest first */
	struct log_entry *off_cpu; /* LOG_OFF_CPU of a task that has no CPU; or NULL */
	unsigned int nr_waits;	   /* memory waits that are open, each in the one before */
	int wait_cpu;		   /* where the outermost of these began */
	uint64_t wait_start;	   /* ns: of the same */
	uint64_t wait_caller;	   /* of the same: the return address */
	unsigned int nr_work;  /* pairs of events that it is in, of all kinds, for stalls_work() */
	uint64_t work_since;   /* ns: of the outermost of these */
	uint64_t refaulted_at; /* ns: it came upon a page that reclaim took; 0: slept since */
	bool compacts;	       /* in the wait; 7.3 inlines what would tell it from reclaim */
	bool reads_swap;       /* the last page that it began to read is of swap */
	bool only_waits;       /* all slow entries are memory waits, if there are some */
	uint64_t waited_until; /* ns: end of the last memory wait; 0: there was none */
	uint64_t began_at;     /* ns: start of the last stall; 0: no window around it can come */
	uint64_t ended_at;     /* ns: end of the last stall; 0: there was none */
	uint64_t dropped_at;   /* ns: of the newest entry that was dropped for room */
	uint64_t last;	       /* ns: of the newest entry or refault */
	uint64_t slow_first;   /* ns: end of the first entry that is slow */
	uint64_t slow_last;    /* ns: end of the last one */
	uint32_t losses;       /* losses of records so far when the first slow entry came */
};

TAILQ_HEAD(log_tasks, log_task);

struct task_log {
	struct hash hash; /* of tasks */
	struct log_task *tasks;
	size_t nr_tasks;
	struct log_task *recent; /* looked up last, or NULL */
	struct log_chunk *chunks;
	struct pool unused; /* of chunks */
	struct log_tasks by_chunks[TASK_LOG_SIZES];
	uint64_t dropped_at; /* ns: newest dropped_at of tasks that were removed */
};

/* A place in a log, from its end to its start. */
struct log_cursor {
	const struct log_chunk *chunk;
	struct log_entry *entry;
};

/** task_log_init - allocate @limit bytes of tasks and chunks; 0 or -ENOMEM */
int task_log_init(struct task_log *log, size_t limit);
void task_log_destroy(struct task_log *log);

/** task_log_peek - the log of a task, NULL: it has none */
struct log_task *task_log_peek(struct task_log *log, struct task_key key);

/** task_log_find - the same, which becomes the one with the latest record */
struct log_task *task_log_find(struct task_log *log, struct task_key key);

/** task_log_oldest - the task without a record for longest; NULL: there is none */
struct log_task *task_log_oldest(const struct task_log *log);

/** task_log_after - the task whose latest record came next; NULL: there is none */
struct log_task *task_log_after(const struct log_task *task);

/** task_log_add - an empty log for a task that has none; there must be room */
struct log_task *task_log_add(struct task_log *log, struct task_key key);

/** task_log_remove - drop the log of a task and forget it */
void task_log_remove(struct task_log *log, struct log_task *task);

/** task_log_largest - the task with most chunks; NULL: none has more than one */
struct log_task *task_log_largest(const struct task_log *log);

/** task_log_space - bytes of an entry with so many bytes of payload */
static inline size_t task_log_space(size_t payload)
{
	return sizeof(struct log_entry) + (payload + 7) / 8 * 8;
}

/** log_chunk_has - is the entry in the chunk? */
static inline bool log_chunk_has(const struct log_chunk *chunk, const struct log_entry *entry)
{
	return (const unsigned char *)entry >= chunk->entries &&
	       (const unsigned char *)entry < chunk->entries + TASK_LOG_CHUNK;
}

/** task_log_add_chunk - where the newest chunk has no room for an entry; false: there is none */
bool task_log_add_chunk(struct task_log *log, struct log_task *task);

/** task_log_has_room - has the newest chunk room for an entry of so many bytes? */
static inline bool task_log_has_room(const struct log_task *task, size_t space)
{
	return task->newest && TASK_LOG_CHUNK - task->newest->used >= space;
}

/**
 * task_log_append - add an entry for a record
 * @space: of task_log_space(); the newest chunk has that room
 *
 * Returns the entry, its payload not set; it stays in place until its chunk is dropped.
 */
static inline struct log_entry *task_log_append(struct log_task *task, enum log_kind kind,
						const struct record *record, size_t space)
{
	struct log_chunk *chunk = task->newest;
	struct log_entry *entry = (struct log_entry *)(chunk->entries + chunk->used);

	*entry = (struct log_entry){
		.ts = record->ts,
		.tid = record->tid,
		.cpu = record->cpu,
		.event = record->event,
		.indent = record->indent,
		.space = (uint16_t)space,
		.space_before = chunk->last ? chunk->last->space : 0,
		.kind = (uint8_t)kind,
		.flags = record->flags,
	};
	chunk->last = entry;
	chunk->used += space;
	task->last = record->ts;
	return entry;
}

/**
 * task_log_end_newest - the newest entry, a begin, becomes the end of its pair, without payload
 * @record: of the end
 *
 * A fast pair with nothing inside needs no more than its times: most are so.
 */
void task_log_end_newest(struct log_task *task, const struct record *record);

/** task_log_set_slow - the last entry is slow, and may be a memory wait; @losses: of records, so far */
void task_log_set_slow(struct log_task *task, struct log_entry *entry, bool is_wait,
		       uint32_t losses);

/** task_log_drop_newest - drop the last entry, which nothing points to */
void task_log_drop_newest(struct task_log *log, struct log_task *task);

/** task_log_newest - the last entry, NULL: the log is empty */
static inline struct log_entry *task_log_newest(const struct log_task *task)
{
	return task->newest ? task->newest->last : NULL;
}

/** task_log_truncate - drop all entries but the begins that are open */
void task_log_truncate(struct task_log *log, struct log_task *task);

/**
 * task_log_drop_oldest - drop the oldest chunk of a task, for room
 *
 * Every stall that began before log_task.dropped_at lacks its entries.
 */
void task_log_drop_oldest(struct task_log *log, struct log_task *task);

/**
 * task_log_drop_past - drop what is not needed after stalls up to @until (ns) have ended
 *
 * Entries after @until stay, and older ones of the same chunks, which are not slow any more.
 */
void task_log_drop_past(struct task_log *log, struct log_task *task, uint64_t until);

/** log_cursor_end - the last entry of a log; false: it is empty */
static inline bool log_cursor_end(struct log_cursor *cursor, const struct log_task *task)
{
	cursor->chunk = TAILQ_LAST(&task->chunks, log_chunks);
	cursor->entry = cursor->chunk ? cursor->chunk->last : NULL;
	return cursor->entry;
}

/** log_cursor_back - go to the entry before; false: there is none */
static inline bool log_cursor_back(struct log_cursor *cursor)
{
	size_t space = cursor->entry->space_before;

	if (space) {
		cursor->entry = (struct log_entry *)((unsigned char *)cursor->entry - space);
		return true;
	}
	cursor->chunk = TAILQ_PREV(cursor->chunk, log_chunks, link);
	cursor->entry = cursor->chunk ? cursor->chunk->last : NULL;
	return cursor->entry;
}

static inline struct log_window *log_window(struct log_entry *entry)
{
	return (struct log_window *)entry->payload;
}

static inline struct log_pair *log_pair(struct log_entry *entry)
{
	return (struct log_pair *)entry->payload;
}

static inline struct log_off_cpu *log_off_cpu(struct log_entry *entry)
{
	return (struct log_off_cpu *)entry->payload;
}

/** log_raw - the record's payload: entry->size bytes */
static inline void *log_raw(struct log_entry *entry)
{
	return entry->kind == LOG_EVENT ? entry->payload : log_pair(entry)->payload;
}

/** log_events - of a window or the end of a pair: the first event that it owns */
static inline struct log_entry **log_events(struct log_entry *entry)
{
	return entry->kind == LOG_WINDOW ? &log_window(entry)->events : &log_pair(entry)->events;
}

/** log_stack - where an event's stack is, behind its payload */
static inline struct record_stack *log_stack(struct log_entry *entry)
{
	return (struct record_stack *)((unsigned char *)log_raw(entry) + (entry->size + 7) / 8 * 8);
}

/** log_record - the record of an entry, without the fields of events; its raw data stays in the log */
void log_record(struct log_entry *entry, struct record *record);

/** log_start, log_end - ns: of a window, or of a pair by its end; else of the record */
static inline uint64_t log_start(struct log_entry *entry)
{
	if (entry->kind == LOG_WINDOW)
		return log_window(entry)->start;
	if (entry->kind == LOG_END && log_pair(entry)->partner)
		return log_pair(entry)->start;
	return entry->ts;
}

static inline uint64_t log_end(struct log_entry *entry)
{
	return entry->kind == LOG_WINDOW ? log_window(entry)->at.rettime : entry->ts;
}

#endif
