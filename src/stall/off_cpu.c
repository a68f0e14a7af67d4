// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/off_cpu.h"

#include <errno.h>
#include <stdlib.h>

#include "allocfilt/base.h"

/* Bits of prev_state: include/linux/sched.h */
#define PREV_UNINTERRUPTIBLE 0x02
#define PREV_DEAD	     0x10
#define PREV_ZOMBIE	     0x20
#define PREV_ASLEEP	     0xff /* all that are not "can run"; above it is TASK_REPORT_MAX: preempted */

#define EDGE 50000 /* ns by which a window's edge may be off against switches */

#define FOLD_AGE 8 /* spans are folded that together are at most this part of their age */

/* When all spans are in use, a task with more than this folds its own. */
#define SHARE (OFF_CPU_SPANS_MAX / OFF_CPU_TASKS_MAX)

/* Time from a switch out to the switch in, or several of them with the time between. */
struct span {
	TAILQ_ENTRY(span) link; /* in task.spans */
	uint64_t start;
	uint64_t end;
	uint64_t ns[PHASE_STATES];
	uint64_t function;    /* in which it slept; 0: unknown */
	uint64_t function_ns; /* of ns[state], how much was in it */
	enum phase_state state;
	bool folded; /* of several */
};

TAILQ_HEAD(span_list, span);

TAILQ_HEAD(task_list, task);

struct task {
	struct hash_link hash;
	TAILQ_ENTRY(task) above; /* in off_cpu.above_share */
	uint64_t since;		 /* ns: before it, spans may be missing */
	bool left;		 /* it is off the CPU */
	bool woken;
	enum phase_state state; /* from @left_at to @woken_at */
	uint64_t left_at;
	uint64_t woken_at;
	uint64_t function;	/* in which it sleeps; 0: unknown */
	struct span_list spans; /* in order of time */
	size_t nr_spans;
};

struct off_cpu {
	struct hash hash; /* of tasks, by tid */
	struct task tasks[OFF_CPU_TASKS_MAX];
	struct span spans[OFF_CPU_SPANS_MAX];
	struct pool pool;	      /* of spans */
	struct task_list above_share; /* tasks with more than SHARE spans */
	uint64_t since;		      /* of the first switch */
	uint64_t evicted_at;	      /* ns: newest time that an evicted task had */
};

struct off_cpu *off_cpu_new(void)
{
	struct off_cpu *off_cpu = calloc(1, sizeof(*off_cpu));

	if (!off_cpu)
		return NULL;
	pool_init(&off_cpu->pool, off_cpu->spans, sizeof(off_cpu->spans[0]), OFF_CPU_SPANS_MAX);
	TAILQ_INIT(&off_cpu->above_share);
	off_cpu->since = UINT64_MAX;
	if (hash_init(&off_cpu->hash, &off_cpu->tasks[0].hash, sizeof(off_cpu->tasks[0]),
		      OFF_CPU_TASKS_MAX)) {
		off_cpu_free(off_cpu);
		errno = ENOMEM;
		return NULL;
	}
	return off_cpu;
}

void off_cpu_free(struct off_cpu *off_cpu)
{
	if (!off_cpu)
		return;
	hash_destroy(&off_cpu->hash);
	free(off_cpu);
}

/* ---- spans ---- */

static void release(struct off_cpu *off_cpu, struct task *task, struct span *span)
{
	TAILQ_REMOVE(&task->spans, span, link);
	if (task->nr_spans-- == SHARE + 1)
		TAILQ_REMOVE(&off_cpu->above_share, task, above);
	pool_put(&off_cpu->pool, span);
}

/* Adds a span to the next one. Of two functions in which it slept, that with more time stays. */
static void fold(struct off_cpu *off_cpu, struct task *task, struct span *span)
{
	struct span *next = TAILQ_NEXT(span, link);

	next->start = span->start;
	next->folded = true;
	for (int state = 0; state < PHASE_STATES; state++)
		next->ns[state] += span->ns[state];
	if (span->function == next->function && span->state == next->state) {
		next->function_ns += span->function_ns;
	} else if (span->function_ns > next->function_ns) {
		next->function = span->function;
		next->function_ns = span->function_ns;
		next->state = span->state;
	}
	release(off_cpu, task, span);
}

/* Of a task with two spans or more. */
static void fold_oldest(struct off_cpu *off_cpu, struct task *task, uint64_t now)
{
	struct span *span, *next, *best = NULL;
	double least = 0;

	for (span = TAILQ_FIRST(&task->spans); (next = TAILQ_NEXT(span, link)); span = next) {
		uint64_t length = next->end - span->start;
		uint64_t age = now > next->end ? now - next->end : 0;
		double part = (double)length / (double)(age + 1);

		if (!best || part < least) {
			best = span;
			least = part;
		}
		if (length <= age / FOLD_AGE)
			break;
	}
	fold(off_cpu, task, best);
}

static struct span *new_span(struct off_cpu *off_cpu, struct task *task, uint64_t now)
{
	struct span *span;

	if (task->nr_spans == OFF_CPU_OWN_MAX)
		fold_oldest(off_cpu, task, now);
	while (!(span = pool_take(&off_cpu->pool))) {
		struct task *other = TAILQ_FIRST(&off_cpu->above_share);

		/* If no task has more, each has as many, this one too. */
		if (!other)
			other = task;
		do
			fold_oldest(off_cpu, other, now);
		while (other->nr_spans > SHARE);
	}
	return span;
}

/* ---- tasks ---- */

static struct task *find(struct off_cpu *off_cpu, int tid)
{
	struct hash_link *link = tid ? hash_find(&off_cpu->hash, (uint32_t)tid) : NULL;

	return link ? container_of(link, struct task, hash) : NULL;
}

static void forget(struct off_cpu *off_cpu, struct task *task)
{
	while (task->nr_spans)
		release(off_cpu, task, TAILQ_FIRST(&task->spans));
	hash_remove(&off_cpu->hash, &task->hash);
}

static struct task *find_or_add(struct off_cpu *off_cpu, int tid)
{
	struct task *task = find(off_cpu, tid);

	if (task)
		return task;
	if (hash_is_full(&off_cpu->hash)) {
		const struct span *newest;

		task = container_of(hash_oldest(&off_cpu->hash), struct task, hash);
		newest = TAILQ_LAST(&task->spans, span_list);
		if (newest && newest->end > off_cpu->evicted_at)
			off_cpu->evicted_at = newest->end;
		if (task->left && task->left_at > off_cpu->evicted_at)
			off_cpu->evicted_at = task->left_at;
		forget(off_cpu, task);
	}
	task = container_of(hash_insert(&off_cpu->hash, (uint32_t)tid), struct task, hash);
	/* It may be one that was evicted. */
	task->since = off_cpu->evicted_at;
	task->left = false;
	task->nr_spans = 0;
	TAILQ_INIT(&task->spans);
	return task;
}

void off_cpu_leave(struct off_cpu *off_cpu, int tid, uint64_t ts, uint64_t prev_state)
{
	struct task *task;

	if (off_cpu->since == UINT64_MAX)
		off_cpu->since = ts;
	if (!tid)
		return;
	if (prev_state & (PREV_DEAD | PREV_ZOMBIE)) {
		task = find(off_cpu, tid);
		if (task)
			forget(off_cpu, task);
		return;
	}
	task = find_or_add(off_cpu, tid);
	task->left = true;
	task->left_at = ts;
	task->state = prev_state & PREV_UNINTERRUPTIBLE ? STATE_BLOCKED :
		      prev_state & PREV_ASLEEP		? STATE_SLEPT :
							  STATE_WAITED;
	task->woken = false;
	task->function = 0;
}

void off_cpu_sleeps_in(struct off_cpu *off_cpu, int tid, uint64_t function)
{
	struct task *task = find(off_cpu, tid);

	if (task && task->left && task->state != STATE_WAITED)
		task->function = function;
}

void off_cpu_wake(struct off_cpu *off_cpu, int tid, uint64_t ts)
{
	struct task *task = find(off_cpu, tid);

	if (!task || !task->left || task->woken)
		return;
	task->woken = true;
	task->woken_at = ts > task->left_at ? ts : task->left_at;
}

void off_cpu_come(struct off_cpu *off_cpu, int tid, uint64_t ts)
{
	struct task *task = find(off_cpu, tid);
	struct span *span;
	uint64_t woken_at;

	if (!task || !task->left)
		return;
	task->left = false;
	if (ts <= task->left_at)
		return;
	woken_at = task->woken && task->woken_at < ts ? task->woken_at : ts;
	span = new_span(off_cpu, task, ts);
	*span = (struct span){ .start = task->left_at, .end = ts, .state = task->state };
	span->ns[STATE_WAITED] = ts - woken_at;
	span->ns[task->state] += woken_at - task->left_at;
	if (task->function) {
		span->function = task->function;
		span->function_ns = woken_at - task->left_at;
	}
	TAILQ_INSERT_TAIL(&task->spans, span, link);
	if (++task->nr_spans == SHARE + 1)
		TAILQ_INSERT_TAIL(&off_cpu->above_share, task, above);
}

/* ---- windows ---- */

static uint64_t cut(uint64_t *ns, double share)
{
	uint64_t part = share < 1 ? (uint64_t)((double)*ns * share) : *ns;

	*ns -= part;
	return part;
}

/*
 * A task runs when it calls a function and when it returns, so a span across an edge lacks a switch in
 * between. Returns whether the window has any of it: an edge may be uncertain by EDGE.
 */
static bool is_in_window(struct off_cpu *off_cpu, struct task *task, struct span *span,
			 uint64_t inside, bool *missing)
{
	uint64_t outside = span->end - span->start - inside;

	if (span->folded || outside <= EDGE)
		return inside;
	if (inside > EDGE) {
		*missing = true;
		release(off_cpu, task, span);
	}
	return false;
}

bool off_cpu_take(struct off_cpu *off_cpu, int tid, uint64_t start, uint64_t end,
		  void (*part)(void *context, enum phase_state state, uint64_t function,
			       uint64_t ns),
		  void *context)
{
	struct task *task = find(off_cpu, tid);
	struct span *span, *previous;
	bool missing = false;

	if (!task)
		return start >= off_cpu->evicted_at;
	/* It runs: its switch in was lost. */
	if (task->left && task->left_at < end) {
		missing = task->left_at > start;
		task->left = false;
	}
	for (span = TAILQ_LAST(&task->spans, span_list); span && span->end > start;
	     span = previous) {
		uint64_t from = span->start > start ? span->start : start;
		uint64_t to = span->end < end ? span->end : end;
		uint64_t inside = to > from ? to - from : 0;
		double share = (double)inside / (double)(span->end - span->start);
		uint64_t named;

		previous = TAILQ_PREV(span, span_list, link);
		if (!is_in_window(off_cpu, task, span, inside, &missing))
			continue;
		named = cut(&span->function_ns, share);
		if (named)
			part(context, span->state, span->function, named);
		for (int state = 0; state < PHASE_STATES; state++) {
			uint64_t ns = cut(&span->ns[state], share);

			if (named && state == (int)span->state)
				ns -= named;
			if (ns)
				part(context, state, 0, ns);
		}
		if (!span->folded || inside == span->end - span->start)
			release(off_cpu, task, span);
		else if (from > span->start)
			span->end = from;
		else
			span->start = to;
	}
	return !missing && start >= task->since;
}

void off_cpu_drop(struct off_cpu *off_cpu, int tid, uint64_t end)
{
	struct task *task = find(off_cpu, tid);
	struct span *span;

	if (!task)
		return;
	if (task->left && task->left_at < end) /* Its switch in was lost. */
		task->left = false;
	while ((span = TAILQ_FIRST(&task->spans)) && span->end + EDGE <= end)
		release(off_cpu, task, span);
}

void off_cpu_stop(struct off_cpu *off_cpu)
{
	struct hash_link *link;

	while ((link = hash_oldest(&off_cpu->hash)))
		forget(off_cpu, container_of(link, struct task, hash));
	off_cpu->since = UINT64_MAX;
}

uint64_t off_cpu_since(const struct off_cpu *off_cpu)
{
	return off_cpu->since;
}
