// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall/stalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stall/walk.h"

/* The most by which two clocks differ: those of a window's times and of events, or of two CPUs. */
#define CLOCK_EDGE 50000 /* ns */

/* Bits of prev_state: include/linux/sched.h */
#define PREV_UNINTERRUPTIBLE 0x02
#define PREV_DEAD	     0x10
#define PREV_ZOMBIE	     0x20
#define PREV_ASLEEP	     0xff /* all that are not "can run"; above it is TASK_REPORT_MAX: preempted */

#define NO_PAIR UINT64_MAX

/* The most from a page that reclaim took to the sleep until it is read; 0.2 ms were seen. */
#define REFAULT_GAP NS_PER_MS

/* The newest time from which records of a CPU are missing. */
struct gap {
	uint64_t from;	 /* ns */
	uint64_t until;	 /* 0: none is missing; UINT64_MAX: the end is not known yet */
	uint64_t before; /* the end of the one before it */
};

struct stalls {
	struct cpu_list cpus;
	struct stacks *stacks; /* NULL: stacks of events are not kept */
	stall_ended ended;
	wait_ended waited;
	void *context;
	struct task_log log;
	struct walk walk;
	struct stall stall;  /* in the callback */
	struct record held;  /* a task's slow outermost window, see settle_held(); ts is 0: none */
	struct gap *gaps_of; /* by runs_cpu() */
	uint64_t lost_last;  /* ns: the last end of these; 0: there is none */
	uint64_t began;	     /* ns: time of the first record; 0: not known */
	uint64_t sched_from; /* ns: switches are recorded since then; 0: since the first one */
	uint32_t losses;
	bool gaps; /* in depth: somebody else uses function_graph as well */
	uint64_t limited;
};

struct stalls *stalls_new(const struct plan *plan, const struct data_source *source, size_t memory,
			  struct decode *decode, struct resolver *resolver, stall_ended ended,
			  wait_ended waited, void *context)
{
	struct stalls *stalls = calloc(1, sizeof(*stalls));

	if (!stalls)
		return NULL;
	stalls->cpus = source->cpus;
	stalls->stacks = resolver_stacks(resolver);
	stalls->ended = ended;
	stalls->waited = waited;
	stalls->context = context;
	stalls->walk.off_cpu_from = UINT64_MAX;
	stalls->walk.plan = plan;
	stalls->walk.decode = decode;
	stalls->walk.resolver = resolver;
	stalls->walk.edge = source->local_clock ? 0 : CLOCK_EDGE;
	stalls->gaps_of = calloc(source->cpus.count + 1, sizeof(*stalls->gaps_of));
	if (!stalls->gaps_of || task_log_init(&stalls->log, memory) ||
	    (plan_off_cpu(plan) && runs_init(&stalls->walk.runs, memory / 4, source->cpus.count))) {
		stalls_free(stalls);
		return NULL;
	}
	return stalls;
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	task_log_destroy(&stalls->log);
	runs_destroy(&stalls->walk.runs);
	free(stalls->gaps_of);
	free(stalls);
}

/* ---- stalls that end ---- */

/* Was a task on a CPU, or, as its switches tell, on no CPU, between two times in its stall? */
static bool may_have_been(struct log_cursor cursor, int cpu, uint64_t from, uint64_t until)
{
	uint64_t at = log_end(cursor.entry); /* from here on it is known */
	int on = cursor.entry->cpu;	     /* up to this time; -1: it may be any */

	while (at > from && log_cursor_back(&cursor)) {
		struct log_entry *entry = cursor.entry;
		bool leaves = entry->kind == LOG_OFF_CPU;
		uint64_t came = leaves ? log_off_cpu(entry)->came : 0;

		if (!leaves && entry->cpu == on)
			continue;
		/* Nobody knows where it was before a record on another CPU, without a switch. */
		if (entry->ts < until && (!came || came > from || on == cpu || on < 0))
			return true;
		at = entry->ts;
		on = leaves && log_off_cpu(entry)->state == STATE_OFF ? -1 : entry->cpu;
	}
	return at > from && (on == cpu || on < 0);
}

/* Could a loss have taken a record of a stall's task, or what woke it? */
static bool lacks_lost(const struct stalls *stalls, struct log_cursor end)
{
	const struct stall *stall = &stalls->stall;

	if (stalls->lost_last <= stall->start)
		return false;
	for (int place = 0; place < stalls->cpus.count; place++) {
		const struct gap *gap = &stalls->gaps_of[place];
		int cpu = stalls->cpus.numbers[place];

		if (gap->until <= stall->start ||
		    (stall->key.kind != OWNER_TASK && stall->key.id != cpu))
			continue;
		if (!stall->off_cpu || stall->key.kind != OWNER_TASK ||
		    gap->before > stall->start ||
		    may_have_been(end, cpu, MAX(gap->from, stall->start), gap->until))
			return true;
	}
	return false;
}

static int end_stall(struct stalls *stalls, struct log_task *task, struct log_cursor end)
{
	struct stall *stall = &stalls->stall;
	struct log_entry *entry = end.entry;
	const struct plan *plan = stalls->walk.plan;
	/* Stalls inside it were told already: it has the time that is left. */
	bool late = task->began_at && log_start(entry) <= task->began_at &&
		    log_end(entry) > task->ended_at;
	bool lacks_functions = plan->nr_functions && !plan->function_graph;
	bool dropped, is_part = false;

	walk_stall(&stalls->walk, end, late ? task->ended_at : log_start(entry), stall);
	stall->key = task->key;
	if (task_key_in_interrupt(task->key))
		stall->depth = 0;
	else if (entry->kind == LOG_WINDOW)
		stall->depth = log_window(entry)->at.depth;
	else if (plan_is_wait(&plan->events[entry->event]))
		is_part = log_pair(entry)->is_part;
	else
		stall->depth = plan->function_graph || log_pair(entry)->within;
	dropped = task->dropped_at > stall->start || stalls->walk.cut;
	stall->incomplete = lacks_lost(stalls, end) ? LACKS_LOST :
			    dropped || late	    ? LACKS_DROPPED :
			    is_part		    ? LACKS_PART :
			    stalls->walk.no_switch  ? LACKS_SWITCH :
			    lacks_functions	    ? LACKS_FUNCTIONS :
						      LACKS_NOTHING;
	/* The begin of a wait around it may have come before the run, or be lost. */
	stall->waited = stall->start < stalls->began || task->waited_until > stall->start ||
			(stalls->lost_last && stall->start < stalls->lost_last + WAIT_PATIENCE) ||
			(task->nr_waits && task->wait_start < stall->end);
	/* Who is around it is unknown. Without a loss since, it is somebody else's function. */
	if (stalls->lost_last <= stall->end)
		stall->depth = 0;
	task->began_at = stall->start;
	task->ended_at = stall->end;
	stalls->limited += dropped && stall->end - stall->start < STALL_PATIENCE;
	if (dropped && stall->start <= task->slow_first)
		task->nr_dropped = 0; /* they were inside */
	details_end(&stalls->walk.details, task->dropped_at <= stall->start);
	return stalls->ended(stalls->context, stall);
}

/* Links the slow windows and pairs that no other one of the log contains, the oldest first. */
static struct log_entry *outermost_slow(struct log_task *task)
{
	struct log_entry *oldest = NULL;
	uint64_t around = UINT64_MAX;
	struct log_cursor cursor;

	for (bool any = log_cursor_end(&cursor, task); any; any = log_cursor_back(&cursor)) {
		uint64_t start = log_start(cursor.entry), end = log_end(cursor.entry);

		if (!cursor.entry->slow)
			continue;
		/* A wait without its begin began in the window that it ended in. */
		if (cursor.entry->kind == LOG_END && log_pair(cursor.entry)->is_part &&
		    start < around && end > around)
			log_pair(cursor.entry)->start = start = around;
		if (start + (end - start) / 2 >= around)
			continue;
		around = start;
		cursor.entry->next = oldest;
		oldest = cursor.entry;
	}
	return oldest;
}

/* Stalls that ended after @until stay. */
static int end_stalls(struct stalls *stalls, struct log_task *task, uint64_t until)
{
	struct log_entry *entry = outermost_slow(task), *next;
	struct log_cursor cursor = { TAILQ_FIRST(&task->chunks), NULL };
	int ret = 0;

	for (; !ret && entry && log_end(entry) <= until; entry = next) {
		while (!log_chunk_has(cursor.chunk, entry))
			cursor.chunk = TAILQ_NEXT(cursor.chunk, link);
		cursor.entry = entry;
		next = entry->next;
		/*
		 * Two outermost windows without a loss between them: one around both has no record,
		 * as in depths with gaps. The depth of an interrupt's window counts the task's
		 * functions, too.
		 */
		if (next && until == UINT64_MAX && entry->kind == LOG_WINDOW &&
		    !task_key_in_interrupt(task->key) && stalls->lost_last < entry->ts)
			stalls->gaps = true;
		stalls->walk.gap = false;
		ret = end_stall(stalls, task, cursor);
		if (stalls->walk.gap && stalls->lost_last < stalls->stall.start &&
		    !task_key_in_interrupt(task->key))
			stalls->gaps = true;
	}
	if (entry)
		task->slow_first = log_end(entry);
	stalls->limited += task->nr_dropped;
	task->nr_dropped = 0;
	return ret;
}

static int end_log(struct stalls *stalls, struct log_task *task)
{
	int ret = task->nr_slow || task->nr_dropped ? end_stalls(stalls, task, UINT64_MAX) : 0;

	task->began_at = 0;
	task_log_truncate(&stalls->log, task);
	return ret;
}

/*
 * ns: a window around what ended before that does not come any more. Where memory waits are known, so is
 * whether a silent task still waits in such a window.
 */
static uint64_t patience_of(const struct stalls *stalls)
{
	return plan_has_waits(stalls->walk.plan) ? WAIT_PATIENCE : STALL_PATIENCE;
}

/*
 * Ends the stalls that were over at @until and are as old as that: a window around them does not come
 * any more. Newer entries stay: they may be of a window that is still open.
 */
static int end_past(struct stalls *stalls, struct log_task *task, uint64_t now, uint64_t until)
{
	uint64_t ended_at = task->ended_at, patience = patience_of(stalls);
	int ret;

	if (task->nr_waits && task->wait_start < until)
		until = task->wait_start;
	if (until + patience >= now)
		until = now > patience ? now - patience - 1 : 0;
	if (!task->nr_slow || task->slow_first > until)
		return 0;
	/* A function that is around the last stall, too, would have slept for seconds, and for no memory. */
	if (task->began_at > stalls->lost_last && !task->only_waits)
		stalls->gaps = true;
	ret = end_stalls(stalls, task, until);
	if (task->ended_at != ended_at)
		task_log_drop_past(&stalls->log, task, task->ended_at);
	return ret;
}

static int forget_task(struct stalls *stalls, struct log_task *task)
{
	int ret = end_log(stalls, task);

	task_log_remove(&stalls->log, task);
	return ret;
}

/* A window around the log's entries may still come, and lacks them: it is incomplete. */
static int end_silent(struct stalls *stalls, struct log_task *task)
{
	uint64_t last = task->nr_chunks ? task->last : 0;
	int ret = forget_task(stalls, task);

	stalls->log.dropped_at = MAX(stalls->log.dropped_at, last);
	return ret;
}

/* ---- room ---- */

static int evict_task(struct stalls *stalls, struct log_task *task)
{
	task->dropped_at = MAX(task->dropped_at, task->nr_chunks ? task->last : 0);
	return forget_task(stalls, task);
}

/* The task without a record for longest; one that is in a stall only if all are. */
static struct log_task *task_to_evict(const struct stalls *stalls, const struct log_task *except,
				      bool for_chunks)
{
	struct log_task *oldest = NULL;

	for (struct log_task *task = task_log_oldest(&stalls->log); task;
	     task = task_log_after(task)) {
		if (task == except || (for_chunks && !task->nr_chunks))
			continue;
		if (!task->nr_slow && !task->nr_waits)
			return task;
		if (!oldest)
			oldest = task;
	}
	return oldest;
}

static int drop_for_room(struct stalls *stalls, struct log_task *task)
{
	struct log_task *victim = task_log_largest(&stalls->log);

	if (victim) {
		for (unsigned int chunks = victim->nr_chunks / 8 + 1; chunks; chunks--)
			task_log_drop_oldest(&stalls->log, victim);
		return 0;
	}
	/* Each task has one chunk at most. */
	victim = task_to_evict(stalls, task, true);
	if (victim)
		return evict_task(stalls, victim);
	task_log_drop_oldest(&stalls->log, task);
	return 0;
}

static noinline int find_task(struct stalls *stalls, struct task_key key,
			      struct log_task **ret_task)
{
	struct log_task *task = task_log_find(&stalls->log, key);
	int ret = 0;

	if (!task) {
		if (hash_is_full(&stalls->log.hash))
			ret = evict_task(stalls, task_to_evict(stalls, NULL, false));
		task = task_log_add(&stalls->log, key);
	}
	*ret_task = stalls->log.recent = task;
	return ret;
}

/* Many records of one task come one after the other. NULL: not this one */
static inline struct log_task *recent_task(const struct stalls *stalls, const struct record *record)
{
	struct log_task *recent = stalls->log.recent;

	return recent && recent->key.kind == OWNER_TASK && recent->key.id == record->tid &&
			       !record_in_interrupt(record) ?
		       recent :
		       NULL;
}

static inline int task_of(struct stalls *stalls, const struct record *record,
			  struct log_task **ret_task)
{
	*ret_task = recent_task(stalls, record);
	return *ret_task ? 0 : find_task(stalls, task_key_of(record), ret_task);
}

static noinline int find_room(struct stalls *stalls, struct log_task *task, uint64_t ts,
			      size_t space)
{
	const struct log_chunk *oldest;
	int ret = 0;

	if (space > TASK_LOG_CHUNK) {
		task->dropped_at = ts;
		return -E2BIG;
	}
	/* A task that switches is never silent. */
	while (!task->nr_slow && !task->nr_open && (oldest = TAILQ_FIRST(&task->chunks)) &&
	       oldest->last->ts + STALL_PATIENCE < ts)
		task_log_drop_oldest(&stalls->log, task);
	while (!ret && !task_log_add_chunk(&stalls->log, task))
		ret = drop_for_room(stalls, task);
	return ret;
}

/* Returns 0, with NULL for an entry that no chunk has room for, or what the callback returned. */
static inline int append_entry(struct stalls *stalls, struct log_task *task, enum log_kind kind,
			       const struct record *record, size_t payload,
			       struct log_entry **ret_entry)
{
	size_t space = task_log_space(payload);
	int ret = 0;

	*ret_entry = NULL;
	if (!task_log_has_room(task, space))
		ret = find_room(stalls, task, record->ts, space);
	if (!ret)
		*ret_entry = task_log_append(task, kind, record, space);
	return ret == -E2BIG ? 0 : ret;
}

/* ---- windows ---- */

/* Begins inside a window that ended have lost their ends. The edges of a foreign clock are uncertain. */
static void forget_begins(const struct stalls *stalls, struct log_task *task, uint64_t calltime)
{
	while (task->nr_open && task->open[task->nr_open - 1]->ts >= calltime)
		task->nr_open--;
	if (task->wait_start > calltime + stalls->walk.edge)
		task->nr_waits = 0;
}

/* The function around slow windows has ended, but its record was lost. */
static bool has_orphans(const struct stalls *stalls, const struct log_task *task, uint64_t now)
{
	return task->nr_slow && now > task->slow_first && now - task->slow_first > STALL_PATIENCE &&
	       stalls->losses != task->losses;
}

static noinline int keep_window(struct stalls *stalls, struct log_task *task,
				const struct record *record, bool slow)
{
	const struct record_window *window = &record->window;
	struct log_entry *entry;
	int ret = 0;

	/* The next window of a CPU's interrupts may be of another interrupt. */
	if (task->nr_slow && task_key_in_interrupt(task->key) &&
	    task->slow_last <= window->calltime) {
		ret = end_log(stalls, task);
	} else if (has_orphans(stalls, task, record->ts)) {
		ret = end_log(stalls, task);
		task->dropped_at = record->ts;
	} else if (stalls->gaps) {
		ret = end_past(stalls, task, record->ts, window->calltime);
	}
	if (ret)
		return ret;
	ret = append_entry(stalls, task, LOG_WINDOW, record, sizeof(struct log_window), &entry);
	if (ret)
		return ret;
	*log_window(entry) = (struct log_window){ .at = *window, .start = window->calltime };
	if (slow && resolver_role(stalls->walk.resolver, window->function) == ROLE_IO) {
		/* The last stall may have been told meanwhile, or the task's log be a new one. */
		if (window->depth <= 0 && task->refaulted_at)
			log_window(entry)->start =
				MIN(MAX(task->refaulted_at, task->ended_at), window->calltime);
		/* Up to the end of its wait the task may sleep again for the same page. */
		task->refaulted_at = task->nr_waits ? window->rettime : 0;
	}
	if (slow)
		task_log_set_slow(task, entry, false, stalls->losses);
	return slow && window->depth <= 0 ? end_log(stalls, task) : 0;
}

/* No slow window will come around the inside of a fast outermost one, but a memory wait may. */
static noinline int end_fast_window(struct stalls *stalls, struct log_task *task,
				    const struct record *record)
{
	forget_begins(stalls, task, record->window.calltime);
	if (task_key_in_interrupt(task->key))
		return 0;
	return task->nr_waits ? keep_window(stalls, task, record, false) : end_log(stalls, task);
}

static noinline int log_window_of_task(struct stalls *stalls, const struct record *record,
				       bool slow)
{
	struct log_task *task;
	int ret = task_of(stalls, record, &task);

	if (ret)
		return ret;
	forget_begins(stalls, task, record->window.calltime);
	/* Interrupts keep one window: a fast one must not replace a slow one. */
	return slow || !task_key_in_interrupt(task->key) ? keep_window(stalls, task, record, slow) :
							   0;
}

/*
 * A window or pair inside an outermost window may come after it, from a CPU whose clock is ahead of that of its
 * end. So the outermost one waits for the next @record, NULL: for no more, and ends with the last one inside.
 */
static noinline int settle_held(struct stalls *stalls, const struct record *record)
{
	struct record held = stalls->held;
	const struct log_task *task = task_log_peek(&stalls->log, task_key_of(&held));
	uint64_t began = task && task->nr_open ? task->open[task->nr_open - 1]->ts : 0;

	if (record && record->ts < held.ts + CLOCK_EDGE) {
		if (record->tid != held.tid)
			return 0;
		if (record->kind == RECORD_WINDOW)
			began = record->window.calltime;
		if (record->cpu != held.cpu && began >= held.window.calltime &&
		    began < held.window.rettime) {
			stalls->held.ts = MAX(held.ts, record->ts);
			stalls->held.window.rettime = stalls->held.ts;
			return 0;
		}
	}
	stalls->held.ts = 0;
	return log_window_of_task(stalls, &held, true);
}

static inline int settle(struct stalls *stalls, const struct record *record)
{
	return stalls->held.ts ? settle_held(stalls, record) : 0;
}

/*
 * A task sleeps for I/O: for a page that reclaim had taken, if it has just come upon one, or for something
 * else, which is no stall. A memory wait and a function around it count its time themselves. Returns whether it
 * is a stall.
 */
static noinline bool tell_io(struct stalls *stalls, const struct record *record)
{
	const struct record_window *window = &record->window;
	struct log_task *task = task_log_peek(&stalls->log, task_key_of(record));
	uint64_t since = task ? task->refaulted_at : 0;
	bool is = since && since <= window->calltime && window->calltime - since <= REFAULT_GAP;

	if (window->depth <= 0 && !(task && task->nr_waits) && plan_has_refaults(stalls->walk.plan))
		stalls->waited(stalls->context,
			       &(struct memory_wait){
				       .key = task_key_of(record),
				       .tid = record->tid,
				       .start = is ? MAX(since, task->waited_until) :
						     window->calltime,
				       .end = window->rettime,
				       .role = is ? ROLE_REFAULT_NOT_IN_PSI : ROLE_IO,
			       });
	if (is)
		task->waited_until = MAX(task->waited_until, window->rettime);
	else if (task)
		task->refaulted_at = 0;
	return is;
}

/* Most windows of a capture may be fast, and their tasks' logs empty. */
int stalls_window(struct stalls *stalls, const struct record *record)
{
	const struct record_window *window = &record->window;
	bool slow = window->rettime - window->calltime >= stalls->walk.plan->threshold;
	bool is_io = slow && resolver_role(stalls->walk.resolver, window->function) == ROLE_IO;
	int ret = is_io ? settle(stalls, NULL) : 0;
	struct log_task *task;
	bool outermost;

	if (is_io && !ret)
		slow = tell_io(stalls, record);
	outermost = slow && window->depth <= 0;
	if (!ret)
		ret = settle(stalls, outermost ? NULL : record);
	if (ret)
		return ret;
	if (outermost && task_key_of(record).kind == OWNER_TASK) {
		stalls->held = *record;
		return 0;
	}
	if (slow || window->depth > 0)
		return log_window_of_task(stalls, record, slow);
	task = task_log_peek(&stalls->log, task_key_of(record));
	return task && task->nr_chunks ? end_fast_window(stalls, task, record) : 0;
}

/* ---- pairs ---- */

static size_t event_space(const struct stalls *stalls, const struct record *record)
{
	return (record->raw_size + 7u) / 8 * 8 + (stalls->stacks ? sizeof(struct record_stack) : 0);
}

static int keep_event(struct stalls *stalls, struct log_task *task, const struct record *record)
{
	struct log_entry *entry;
	int ret =
		append_entry(stalls, task, LOG_EVENT, record, event_space(stalls, record), &entry);

	if (ret || !entry)
		return ret;
	entry->size = record->raw_size;
	memcpy(entry->payload, record->raw, record->raw_size);
	return 0;
}

static int keep_side(struct stalls *stalls, struct log_task *task, enum log_kind kind,
		     const struct record *record, struct log_entry **ret_entry)
{
	int ret = append_entry(stalls, task, kind, record,
			       sizeof(struct log_pair) + event_space(stalls, record), ret_entry);
	struct log_entry *entry = *ret_entry;

	if (ret || !entry)
		return ret;
	entry->size = record->raw_size;
	*log_pair(entry) = (struct log_pair){
		.shrinker = record->fields.shrinker,
		.callback = record->fields.callback,
		.start = record->ts,
		.scanned = record->fields.nr_scanned,
		.nid = (int16_t)record->fields.nid,
		.priority = (int16_t)record->fields.priority,
	};
	if (record->raw_size)
		memcpy(log_raw(entry), record->raw, record->raw_size);
	return 0;
}

static int begin_pair(struct stalls *stalls, struct log_task *task, const struct record *record)
{
	struct log_entry *entry;
	int ret = keep_side(stalls, task, LOG_BEGIN, record, &entry);

	if (ret || !entry)
		return ret;
	if (task->nr_open == TASK_LOG_OPEN_MAX)
		memmove(task->open, task->open + 1, --task->nr_open * sizeof(struct log_entry *));
	task->open[task->nr_open++] = entry;
	return 0;
}

static uint64_t lost_at(const struct stalls *stalls, int cpu)
{
	return stalls->gaps_of[runs_cpu(&stalls->cpus, cpu)].until;
}

/* The place of a begin in log_task.open; nr_open: there is none. @end: of a slab pair, else NULL */
static unsigned int open_begin(const struct log_task *task, int event,
			       const struct record_fields *end)
{
	for (unsigned int place = task->nr_open; place--;) {
		const struct log_pair *pair = log_pair(task->open[place]);

		if (task->open[place]->event == event &&
		    (!end || (pair->shrinker == end->shrinker && pair->callback == end->callback)))
			return place;
	}
	return task->nr_open;
}

/* Records that its CPUs lost in between may be another end and begin. */
static bool is_doubtful(const struct stalls *stalls, uint64_t start, int cpu,
			const struct record *record)
{
	return stalls->lost_last > start &&
	       (lost_at(stalls, cpu) > start || lost_at(stalls, record->cpu) > start);
}

/*
 * Keeps the end of the pair whose begin is next in log_task.open. The begin stays open meanwhile, so that
 * keep_side() may drop it for room: then the end has no partner. *@ret_entry is NULL where there is no
 * room for the end.
 */
static int keep_end(struct stalls *stalls, struct log_task *task, const struct record *end,
		    struct log_entry **ret_entry)
{
	struct log_entry *begin = task->open[task->nr_open++];
	int ret = keep_side(stalls, task, LOG_END, end, ret_entry);
	struct log_entry *entry = *ret_entry;

	if (!entry || !task->nr_open || task->open[task->nr_open - 1] != begin)
		return ret;
	task->nr_open--;
	*log_pair(entry) = *log_pair(begin);
	log_pair(entry)->partner = begin;
	log_pair(entry)->within = task->nr_open;
	log_pair(begin)->partner = entry;
	return 0;
}

/* Where functions cannot be traced, nothing is around a pair that is in no other one. */
static int end_outermost_pair(struct stalls *stalls, struct log_task *task)
{
	return stalls->walk.plan->function_graph || task->nr_open ? 0 : end_log(stalls, task);
}

static int end_pair(struct stalls *stalls, struct log_task *task, const struct record *end,
		    uint64_t *ret_pair)
{
	const struct plan_event *event = &stalls->walk.plan->events[end->event];
	bool slab = event->id == EVENT_SLAB_END, slow;
	unsigned int place = open_begin(task, event->partner, &end->fields);
	struct log_entry *begin, *entry;
	int ret;

	if (place == task->nr_open) {
		/* A pair whose begin was dropped is no stall, and may be around what is left. */
		if (task->dropped_at > stalls->lost_last) {
			stalls->limited++;
			task->dropped_at = end->ts;
		}
		return 0;
	}
	begin = task->open[place];
	/* Newer begins lost their ends. */
	task->nr_open = place;
	if (task->wait_start > begin->ts)
		task->nr_waits = 0;
	if (is_doubtful(stalls, begin->ts, begin->cpu, end))
		return 0;
	/* The end has what is left to scan: do_shrink_slab() in mm/shrinker.c. */
	log_pair(begin)->scanned -= end->fields.nr_scanned;
	log_pair(begin)->freed = end->fields.status > 0 ? (uint32_t)end->fields.status : 0;
	slow = end->ts - begin->ts >= stalls->walk.plan->threshold;
	if (slab)
		*ret_pair = end->ts - begin->ts;
	else if (!slow)
		return end_outermost_pair(stalls, task);
	if (!slow && begin == task_log_newest(task)) {
		task_log_end_newest(task, end);
		log_pair(begin)->within = place;
		return end_outermost_pair(stalls, task);
	}
	ret = keep_end(stalls, task, end, &entry);
	if (ret || !entry || !log_pair(entry)->partner)
		return ret;
	if (slow)
		task_log_set_slow(task, entry, false, stalls->losses);
	return end_outermost_pair(stalls, task);
}

/* ---- memory waits ---- */

/*
 * A task that waits for a page has begun to read it before, from a file or from swap. It slept for that page, so
 * that its next sleep is for another one.
 */
static int reason_of(const struct stalls *stalls, struct log_task *task, uint64_t caller)
{
	int role = resolver_wait_role(stalls->walk.resolver, caller);

	if (role == ROLE_DIRECT_RECLAIM && task->compacts)
		return ROLE_DIRECT_COMPACTION;
	if (role == ROLE_SWAP_IN || role == ROLE_REFAULT_READ)
		task->reads_swap = role == ROLE_SWAP_IN;
	if (role == ROLE_REFAULT)
		task->refaulted_at = 0;
	if (role == ROLE_REFAULT || role == ROLE_REFAULT_READ)
		return task->reads_swap ? ROLE_SWAP_IN : ROLE_REFAULT;
	return role;
}

/*
 * The kernel counts the outermost one alone: kernel/sched/psi.c. It counts here, too, when the log has
 * dropped its begin.
 */
static int begin_wait(struct stalls *stalls, struct log_task *task, const struct record *record)
{
	int ret = 0;

	if (task->nr_waits && !is_doubtful(stalls, task->wait_start, task->wait_cpu, record)) {
		task->nr_waits++;
		return 0;
	}
	task->nr_open = open_begin(task, record->event, NULL);
	task->nr_waits = 0;
	if (task->only_waits || stalls->gaps)
		ret = end_past(stalls, task, record->ts, record->ts);
	task->nr_waits = 1;
	task->wait_cpu = record->cpu;
	task->wait_start = record->ts;
	task->wait_caller = record->fields.callback;
	task->compacts = false;
	return ret ? ret : begin_pair(stalls, task, record);
}

static int keep_wait(struct stalls *stalls, struct log_task *task, const struct record *end,
		     const struct memory_wait *wait, bool has_begin)
{
	struct log_entry *entry;
	int ret = has_begin ? keep_end(stalls, task, end, &entry) :
			      keep_side(stalls, task, LOG_END, end, &entry);

	if (ret || !entry)
		return ret;
	if (!log_pair(entry)->partner) {
		log_pair(entry)->partner = entry;
		log_pair(entry)->start = wait->start;
	}
	log_pair(entry)->is_part = wait->is_part;
	entry->role = (int16_t)wait->role;
	task_log_set_slow(task, entry, true, stalls->losses);
	return 0;
}

static int end_wait(struct stalls *stalls, struct log_task *task, const struct record *end)
{
	unsigned int place = open_begin(task, stalls->walk.plan->events[end->event].partner, NULL);
	struct log_entry *begin = place < task->nr_open ? task->open[place] : NULL;
	bool has_begun = task->nr_waits; /* in the run */
	bool doubtful = has_begun && is_doubtful(stalls, task->wait_start, task->wait_cpu, end);
	struct memory_wait wait = {
		.key = task->key,
		.tid = end->tid,
		.start = task->wait_start,
		.end = end->ts,
		.role = ROLE_WAIT,
		.is_part = !has_begun,
	};
	int ret = 0;

	/* A wait was in progress when the run began if nothing but its end was ever recorded of it. */
	if (!has_begun && (!stalls->began || stalls->losses || task->dropped_at))
		return 0;
	if (task->nr_waits > 1 && !doubtful) {
		task->nr_waits--;
		return 0;
	}
	task->nr_waits = 0;
	task->nr_open = place;
	if (doubtful)
		return 0;
	if (has_begun)
		wait.role = reason_of(stalls, task, task->wait_caller);
	else
		wait.start = MAX(task->waited_until, stalls->began);
	task->waited_until = wait.end;
	if (task->refaulted_at > wait.start)
		task->refaulted_at = 0;
	stalls->waited(stalls->context, &wait);
	/* Slow windows in a wait are stalls, if they have ended, or if its begin is not in the log. */
	if (wait.end - wait.start < stalls->walk.plan->threshold || task->ended_at > wait.start) {
		if (begin && begin == task_log_newest(task))
			task_log_drop_newest(&stalls->log, task);
	} else if (begin || !task->nr_slow) {
		ret = keep_wait(stalls, task, end, &wait, begin);
	} else if (has_begun) {
		stalls->limited++;
		task->dropped_at = end->ts;
	}
	return ret ? ret : end_outermost_pair(stalls, task);
}

/*
 * A loss since its begin, on any CPU, may have taken its end. Where tracing goes on, its second part will be told
 * by its end.
 */
static void tell_open_wait(struct stalls *stalls, struct log_task *task, uint64_t ts, bool goes_on)
{
	struct memory_wait wait = {
		.key = task->key,
		.tid = task->key.id,
		.start = task->wait_start,
		.end = ts,
		.is_part = goes_on,
		.in_progress = !goes_on,
	};

	if (task->nr_waits && stalls->lost_last <= task->wait_start) {
		wait.role = reason_of(stalls, task, task->wait_caller);
	} else if (!goes_on && task->key.kind == OWNER_TASK &&
		   resolver_awaits_kill(stalls->walk.resolver, wait.tid)) {
		wait.role = ROLE_OOM_KILLER;
		wait.start = task->last > stalls->began ? task->last : stalls->began;
	} else {
		return;
	}
	stalls->waited(stalls->context, &wait);
}

/* The stalls of silent tasks, but for those that wait, or are in a pair. */
static int end_silent_stalls(struct stalls *stalls, uint64_t ts)
{
	struct log_task *task = task_log_oldest(&stalls->log);
	uint64_t patience = patience_of(stalls);
	int ret = 0;

	for (; !ret && task && ts > task->last + patience; task = task_log_after(task))
		if (task->nr_waits ? stalls->gaps : !task->nr_open)
			ret = end_past(stalls, task, ts, ts);
	return ret;
}

/* ---- events ---- */

/* The log may be without them when the wait ends, of which they tell the reason. */
static void note_event(struct log_task *task, enum event_id id, uint64_t ts)
{
	if (id == EVENT_REFAULT)
		task->refaulted_at = task->last = ts;
	else if (id == EVENT_TRY_TO_COMPACT || id == EVENT_COMPACTION_BEGIN)
		task->compacts = true;
	else if (id == EVENT_DIRECT_RECLAIM_BEGIN)
		task->compacts = false;
}

int stalls_event(struct stalls *stalls, struct record *record, uint64_t *ret_pair)
{
	const struct plan_event *event = &stalls->walk.plan->events[record->event];
	struct log_task *task;
	int ret;

	*ret_pair = NO_PAIR;
	if (event->rule != RULE_PAIR && event->rule != RULE_OWNER && event->rule != RULE_ANY_WINDOW)
		return 0;
	ret = settle(stalls, record) ?: task_of(stalls, record, &task);
	if (ret)
		return ret;
	note_event(task, event->id, record->ts);
	if (event->id == EVENT_REFAULT)
		return 0;
	if (event->rule != RULE_PAIR)
		return keep_event(stalls, task, record);
	decode_fields(stalls->walk.decode, record);
	if (plan_is_wait(event))
		return event->side == EVENT_BEGIN ? begin_wait(stalls, task, record) :
						    end_wait(stalls, task, record);
	return event->side == EVENT_BEGIN ? begin_pair(stalls, task, record) :
					    end_pair(stalls, task, record, ret_pair);
}

/* ---- the scheduler ---- */

static struct log_task *task_of_thread(struct stalls *stalls, int tid)
{
	return tid ? task_log_peek(&stalls->log, (struct task_key){ tid, OWNER_TASK }) : NULL;
}

/* The end of its work may be among records that were lost. */
static bool is_reclaiming(const struct stalls *stalls, struct log_task *task)
{
	if (task->work_since <= stalls->lost_last)
		task->nr_work = 0;
	return task->nr_work;
}

void stalls_work(struct stalls *stalls, const struct record *record)
{
	enum event_side side = stalls->walk.plan->events[record->event].side;
	struct log_task *task;
	bool before;

	if (side == EVENT_SINGLE || record_in_interrupt(record))
		return;
	task = recent_task(stalls, record) ?: task_of_thread(stalls, record->tid);
	if (!task)
		return;
	before = is_reclaiming(stalls, task);
	if (!before)
		task->work_since = record->ts;
	if (side == EVENT_BEGIN)
		task->nr_work++;
	else if (before)
		task->nr_work--;
	if (before != is_reclaiming(stalls, task))
		runs_work(&stalls->walk.runs, runs_cpu(&stalls->cpus, record->cpu), record,
			  !before);
}

/* Between the two switches of a task it is off its CPU; @state: until it is woken */
static int log_switch(struct stalls *stalls, const struct record *record, uint16_t cpu, int tid,
		      enum phase_state state, struct log_task **task)
{
	struct log_entry *entry;
	int ret = find_task(stalls, (struct task_key){ tid, OWNER_TASK }, task);

	if (!ret)
		ret = append_entry(stalls, *task, LOG_OFF_CPU, record, sizeof(struct log_off_cpu),
				   &entry);
	if (ret)
		return ret;
	*log_off_cpu(entry) = (struct log_off_cpu){
		.cpu = cpu,
		.state = state,
	};
	(*task)->off_cpu = entry;
	return 0;
}

static int leave_cpu(struct stalls *stalls, const struct record *record, uint16_t cpu)
{
	uint64_t prev_state = record->sched.prev_state;
	struct log_task *task;

	if (stalls->walk.off_cpu_from == UINT64_MAX)
		stalls->walk.off_cpu_from = stalls->sched_from ? stalls->sched_from : record->ts;
	if (!record->tid)
		return 0;
	if (prev_state & (PREV_DEAD | PREV_ZOMBIE)) {
		task = task_of_thread(stalls, record->tid);
		if (task)
			task->nr_waits = 0;
		return task && !task->nr_slow ? forget_task(stalls, task) : 0;
	}
	return log_switch(stalls, record, cpu, record->tid,
			  prev_state & PREV_UNINTERRUPTIBLE ? STATE_BLOCKED :
			  prev_state & PREV_ASLEEP	    ? STATE_SLEPT :
							      STATE_WAITED,
			  &task);
}

static void note_wakeup(struct stalls *stalls, const struct record *record)
{
	struct log_task *task = task_of_thread(stalls, record->sched.tid);
	struct log_off_cpu *off_cpu = task && task->off_cpu ? log_off_cpu(task->off_cpu) : NULL;

	if (!off_cpu || off_cpu->woken)
		return;
	off_cpu->woken = MAX(record->ts, task->off_cpu->ts);
	if (off_cpu->state != STATE_WAITED)
		off_cpu->cpu = runs_cpu(&stalls->cpus, record->sched.target_cpu);
}

int stalls_sched(struct stalls *stalls, const struct record *record)
{
	struct runs *runs = &stalls->walk.runs;
	struct log_task *task;
	struct log_off_cpu *off_cpu;
	uint16_t cpu;
	int ret = settle(stalls, record);

	if (ret)
		return ret;
	if (stalls->walk.plan->events[record->event].id == EVENT_SCHED_WAKEUP) {
		note_wakeup(stalls, record);
		return 0;
	}
	cpu = runs_cpu(&stalls->cpus, record->cpu);
	ret = leave_cpu(stalls, record, cpu);
	/* The task that comes was off its CPU before, also where that was not recorded. */
	task = task_of_thread(stalls, record->sched.tid);
	if (!ret && record->sched.tid && (!task || !task->off_cpu))
		ret = log_switch(stalls, record, cpu, record->sched.tid, STATE_OFF, &task);
	if (!ret && task) {
		off_cpu = log_off_cpu(task->off_cpu);
		off_cpu->came = record->ts;
		off_cpu->run = runs->newest[off_cpu->cpu];
		task->off_cpu = NULL;
	}
	runs_switch(runs, cpu, record, task && is_reclaiming(stalls, task));
	return ret;
}

void stalls_sched_stop(struct stalls *stalls)
{
	stalls->sched_from = 0;
	stalls->walk.off_cpu_from = UINT64_MAX;
	for (int place = 0; place < stalls->cpus.count; place++)
		runs_lost(&stalls->walk.runs, place);
}

/* ---- stacks ---- */

/*
 * A task writes the stack right after the event, on the same CPU. The stack of a switch tells only the
 * function that sleeps: stacks of tasks without a stall would fill the table.
 */
int stalls_stack(struct stalls *stalls, const struct record *record)
{
	const struct record_frames *frames = &record->frames;
	struct log_task *task = task_log_peek(&stalls->log, task_key_of(record));
	struct log_entry *newest = task ? task_log_newest(task) : NULL;

	if (!newest || newest->cpu != record->cpu || lost_at(stalls, record->cpu) > newest->ts)
		return 0;
	if (newest == task->off_cpu && log_off_cpu(newest)->state != STATE_WAITED) {
		log_off_cpu(newest)->function =
			resolver_sleeps_in(stalls->walk.resolver, frames->at, frames->count);
	} else if (newest->size && !newest->has_stack && stalls->stacks) {
		*log_stack(newest) = record->stack;
		log_stack(newest)->number = stacks_add(stalls->stacks, frames->at, frames->count);
		newest->has_stack = true;
	}
	return 0;
}

/* ---- losses ---- */

void stalls_lost(struct stalls *stalls, int cpu, uint64_t from, uint64_t until)
{
	settle(stalls, NULL); /* an output that failed does so again */
	stalls->lost_last = 0;
	for (int place = 0; place < stalls->cpus.count; place++) {
		struct gap *gap = &stalls->gaps_of[place];

		if (cpu < 0 || cpu == stalls->cpus.numbers[place]) {
			if (gap->until <= from)
				*gap = (struct gap){ from, until, gap->until };
			if (until > gap->until || gap->until == UINT64_MAX)
				gap->until = until;
			runs_lost(&stalls->walk.runs, place);
		}
		stalls->lost_last = MAX(stalls->lost_last, gap->until);
	}
	stalls->losses++;
}

/* ---- time ---- */

int stalls_time(struct stalls *stalls, uint64_t ts)
{
	struct log_task *task, *next;
	int ret = settle(stalls, NULL);

	if (!stalls->began)
		stalls->began = stalls->sched_from = ts;
	for (task = task_log_oldest(&stalls->log);
	     !ret && task && ts > task->last && ts - task->last > STALL_PATIENCE; task = next) {
		next = task_log_after(task);
		/* One that waits is expected to be silent. */
		ret = task->nr_waits ? 0 : end_silent(stalls, task);
	}
	return ret ? ret : end_silent_stalls(stalls, ts);
}

static int end_all(struct stalls *stalls, uint64_t ts, bool goes_on)
{
	struct log_task *task;
	int ret = settle(stalls, NULL);

	while (!ret && (task = task_log_oldest(&stalls->log))) {
		tell_open_wait(stalls, task, ts, goes_on);
		ret = forget_task(stalls, task);
	}
	return ret;
}

int stalls_flush(struct stalls *stalls, uint64_t ts)
{
	return end_all(stalls, ts, false);
}

int stalls_pause(struct stalls *stalls, uint64_t ts)
{
	int ret = end_all(stalls, ts, true);

	stalls->began = 0;
	stalls->losses = 0;
	return ret;
}

uint64_t stalls_limited(const struct stalls *stalls)
{
	return stalls->limited;
}
