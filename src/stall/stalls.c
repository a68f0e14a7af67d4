// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stall.h"
#include "stall/details.h"
#include "stall/held.h"
#include "stall/off_cpu.h"
#include "stall/slices.h"

/*
 * A task with more spans than this folds them. Until then each could still be told as a stall of its
 * own, if the window around it never arrives.
 */
#define FOLD_ABOVE 64

/* Functions that are traced nest about ten levels deep: only lost records make so many. */
#define OWN_SPANS_MAX 128

#define DEPTH_UNKNOWN INT32_MAX /* of a pair inside a window */

/*
 * What ended below a function that has not ended yet: a window or a pair with everything inside, or
 * several folded into one sum.
 */
struct span {
	TAILQ_ENTRY(span) link; /* in owner.spans */
	uint64_t start;
	uint64_t end;
	uint64_t busy;	   /* ns: less than the length if several were folded */
	uint64_t function; /* 0: a pair; of several, the last */
	int32_t tid;
	int32_t cpu;
	int32_t depth;
	uint32_t losses; /* of records, until it arrived */
	int16_t role;	 /* enum role, or ROLE_NONE */
	bool slow;
	unsigned int nr_held; /* slow windows and pairs */
	unsigned int nr_windows;
	unsigned int nr_events; /* that windows and pairs claimed */
	uint64_t first;		/* number of what arrived first of all inside */
	uint64_t last;
	struct slice_list slices;
	struct details details;
};

TAILQ_HEAD(span_list, span);

/* A task, or the interrupts of a CPU, with spans that wait for the window around them. */
struct owner {
	struct hash_link hash;
	struct task_key key;
	uint64_t last;		/* ns: end of the newest span */
	uint64_t dropped_at;	/* ns: newest end of a span that was dropped or emitted early */
	struct span_list spans; /* in the order of time; none contains another */
	size_t nr_spans;
	struct held_list held; /* records of slow windows and pairs in spans */
};

struct stalls {
	const struct plan *plan;
	int (*ended)(void *context, const struct stall *stall);
	void *context;
	struct detail_names names;
	struct slices slices;
	struct outcome all_outcomes[STALLS_COMPACTIONS_MAX];
	struct pool outcomes;
	struct off_cpu *off_cpu; /* NULL without the scheduler's events */
	struct sched_counts sched;
	struct hash hash; /* of owners */
	struct owner owners[STALLS_OWNERS_MAX];
	struct span spans[STALLS_SPANS_MAX];
	struct pool unused;
	struct owner *last_owner; /* found last, or NULL */
	uint64_t lost_at;	  /* ns: time of the newest loss of records */
	uint32_t losses;	  /* of records */
	bool gaps;		  /* in depth: somebody else uses function_graph as well */
	struct held *held;	  /* NULL: nothing is held */
	uint64_t arrived;	  /* windows and pairs */
	struct stall stall;	  /* in the callback */
	struct stall window;	  /* instead, of a window alone: what that has not is never set */
	uint64_t *window_ns;	  /* in its phases; NULL: there was none */
	struct owner *ending;	  /* of that */
	const struct span *ending_span;
	const struct task_window *ending_window; /* in place of a span; NULL: there is none */
	uint64_t evicted_at; /* ns: newest dropped_at of owners that were removed */
	uint64_t dropped;
	struct stall_slice shrinkers[STALL_SHRINKERS_MAX];
	struct stall_slice sleeps[STALL_SHRINKERS_MAX];
};

/* Most of a stall are tables of which it uses little. */
static void clear_phases(struct phases *phases)
{
	PHASES_FOREACH(group, phases)
		for (int part = 0; part < phases_parts(group); part++)
			memset(phases->ns[group][part], 0, sizeof(phases->ns[group][part]));
	phases->groups = phases->states = 0;
}

static void clear_stall(struct stall *stall)
{
	clear_phases(&stall->phases);
	memset(stall, 0, offsetof(struct stall, phases));
	stall->outcomes[0] = stall->nodes[0] = '\0';
	stall->gfp_names = stall->compaction = "";
	stall->order = -1;
}

struct stalls *stalls_new(const struct plan *plan, const struct limits *limits,
			  struct resolver *resolver,
			  int (*ended)(void *context, const struct stall *stall), void *context)
{
	struct stalls *stalls = calloc(1, sizeof(*stalls));

	if (!stalls)
		return NULL;
	stalls->plan = plan;
	stalls->ended = ended;
	stalls->context = context;
	stalls->names.plan = plan;
	stalls->names.resolver = resolver;
	clear_stall(&stalls->window);
	slices_init(&stalls->slices);
	if (limits)
		stalls->held = held_new(plan, limits);
	if (plan_off_cpu(plan))
		stalls->off_cpu = off_cpu_new();
	if ((limits && !stalls->held) || (plan_off_cpu(plan) && !stalls->off_cpu) ||
	    hash_init(&stalls->hash, &stalls->owners[0].hash, sizeof(stalls->owners[0]),
		      STALLS_OWNERS_MAX)) {
		stalls_free(stalls);
		errno = ENOMEM;
		return NULL;
	}
	pool_init(&stalls->unused, stalls->spans, sizeof(stalls->spans[0]), STALLS_SPANS_MAX);
	pool_init(&stalls->outcomes, stalls->all_outcomes, sizeof(stalls->all_outcomes[0]),
		  STALLS_COMPACTIONS_MAX);
	return stalls;
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	hash_destroy(&stalls->hash);
	held_free(stalls->held);
	off_cpu_free(stalls->off_cpu);
	free(stalls);
}

static uint64_t length_of(const struct span *span)
{
	return span->end - span->start;
}

/* Several runs in one: only their total is known. */
static bool is_sum(const struct span *span)
{
	return span->busy < length_of(span);
}

static void release_span(struct stalls *stalls, struct owner *owner, struct span *span)
{
	TAILQ_REMOVE(&owner->spans, span, link);
	owner->nr_spans--;
	slices_release(&stalls->slices, &span->slices);
	details_release(&span->details, &stalls->outcomes);
	pool_put(&stalls->unused, span);
}

/* ---- a span becomes a stall when no window can follow around it ---- */

/*
 * One shrinker may have slices in several states, and one function may sleep in several places.
 * Inserts in order, most time first: sorting with qsort(3) may allocate.
 */
static void add_slice(struct stall_slice *slices, size_t *count, struct stall_slice slice)
{
	size_t place = 0;

	while (place < *count &&
	       (slices[place].shrinker != slice.shrinker ||
		slices[place].callback != slice.callback ||
		slices[place].function != slice.function || slices[place].group != slice.group ||
		slices[place].part != slice.part || slices[place].state != slice.state))
		place++;
	if (place < *count) {
		slice.ns += slices[place].ns;
		slice.count += slices[place].count;
	} else {
		(*count)++;
	}
	for (; place; place--) {
		const struct stall_slice *before = &slices[place - 1];

		if (before->ns > slice.ns ||
		    (before->ns == slice.ns && before->shrinker <= slice.shrinker &&
		     before->function <= slice.function))
			break;
		slices[place] = *before;
	}
	slices[place] = slice;
}

/* The rest is the whole less what is known. */
static void sum_phases(struct stalls *stalls, struct stall *stall, const struct span *span)
{
	const struct slice *slice;
	enum phase_group group;
	enum phase_part part;
	bool unnamed = false;
	uint64_t known, ns;

	TAILQ_FOREACH(slice, &span->slices, link) {
		if (slice->group != PHASE_REST || slice->state != STATE_RAN)
			phases_spend(&stall->phases, slice->group, slice->part, slice->state,
				     slice->ns);
		if (slice->shrinker)
			add_slice(stalls->shrinkers, &stall->nr_shrinkers,
				  (struct stall_slice){
					  .shrinker = slice->shrinker,
					  .callback = slice->callback,
					  .group = slice->group,
					  .ns = slice->ns,
					  .count = slice->count,
				  });
		if (slice->function)
			add_slice(stalls->sleeps, &stall->nr_sleeps,
				  (struct stall_slice){
					  .function = resolver_function(stalls->names.resolver,
									slice->function),
					  .group = slice->group,
					  .part = slice->part,
					  .state = slice->state,
					  .ns = slice->ns,
				  });
		unnamed |= slice->unnamed;
	}
	stalls->dropped += unnamed;
	known = phases_total(&stall->phases);
	if (known < span->busy)
		phases_spend(&stall->phases, PHASE_REST, PART_OWN, STATE_RAN, span->busy - known);
	/* With uncertain edges, the parts may seem longer than the whole: the largest is cut. */
	while (known > span->busy && (ns = phases_largest(&stall->phases, &group, &part))) {
		uint64_t excess = known - span->busy, *largest = stall->phases.ns[group][part];

		for (int state = 1; state < PHASE_STATES; state++)
			if (stall->phases.ns[group][part][state] > *largest)
				largest = &stall->phases.ns[group][part][state];
		ns = *largest < excess ? *largest : excess;
		*largest -= ns;
		known -= ns;
	}
	stall->shrinkers = stalls->shrinkers;
	stall->sleeps = stalls->sleeps;
}

/*
 * Of several runs folded into one, the time between them may have been no stall: the stall is as long
 * as they are together, and incomplete.
 */
static int emit_stall(struct stalls *stalls, struct owner *owner, const struct span *span)
{
	struct stall *stall = &stalls->stall;
	int ret;

	clear_stall(stall);
	stall->key = owner->key;
	stall->tid = span->tid;
	stall->cpu = span->cpu;
	stall->start = span->end - span->busy;
	stall->end = span->end;
	stall->function = span->function;
	stall->role = span->role;
	if (!task_key_in_interrupt(owner->key))
		stall->depth = span->depth == DEPTH_UNKNOWN ? 1 : span->depth;
	stall->nr_windows = span->nr_windows;
	stall->nr_events = span->nr_events;
	stall->incomplete =
		stalls->lost_at > span->start || owner->dropped_at > span->start || is_sum(span);
	stall->off_cpu = stalls->off_cpu && span->start >= off_cpu_since(stalls->off_cpu);
	stalls->dropped += details_emit(&span->details, &stalls->names, stall);
	sum_phases(stalls, stall, span);
	stalls->ending = owner;
	stalls->ending_span = span;
	stalls->ending_window = NULL;
	ret = stalls->ended(stalls->context, stall);
	if (stalls->held)
		held_drop(stalls->held, &owner->held, span->first, span->last);
	return ret;
}

/* An outermost window with nothing inside is a stall as it is. */
static bool is_alone(const struct stalls *stalls, const struct owner *owner,
		     const struct task_window *window)
{
	return window->slow && window->exit->window.depth <= 0 && !owner->nr_spans &&
	       !window->nr_inside && !window->nr_events && !window->incomplete && !stalls->off_cpu;
}

/* All time of a window alone is in the phase of its role. */
static noinline void set_phase(struct stalls *stalls, int role)
{
	struct stall *stall = &stalls->window;
	struct slice own = { .group = PHASE_REST, .part = PART_OWN };

	slices_tag(&own, stalls->plan, role);
	if (own.part >= phases_parts(own.group))
		own.part = PART_OWN;
	clear_phases(&stall->phases);
	phases_spend(&stall->phases, own.group, own.part, STATE_RAN, 0);
	stalls->window_ns = &stall->phases.ns[own.group][own.part][STATE_RAN];
	stall->role = role;
}

static int emit_window(struct stalls *stalls, const struct owner *owner,
		       const struct task_window *window)
{
	const struct record *exit = window->exit;
	struct stall *stall = &stalls->window;

	if (!stalls->window_ns || stall->role != exit->window.role)
		set_phase(stalls, exit->window.role);
	stall->key = owner->key;
	stall->tid = exit->tid;
	stall->cpu = exit->cpu;
	stall->start = exit->window.calltime;
	stall->end = exit->window.rettime;
	stall->function = exit->window.function;
	stall->depth = task_key_in_interrupt(owner->key) ? 0 : exit->window.depth;
	stall->nr_windows = 1;
	stall->alone = true;
	stall->incomplete = stalls->lost_at > stall->start || owner->dropped_at > stall->start;
	*stalls->window_ns = stall->end - stall->start;
	stalls->ending_window = window;
	return stalls->ended(stalls->context, stall);
}

/* What is fast and has no slow window around it is no stall. */
static int complete(struct stalls *stalls, struct owner *owner, struct span *span)
{
	int ret = span->slow ? emit_stall(stalls, owner, span) : 0;

	release_span(stalls, owner, span);
	return ret;
}

static int complete_all(struct stalls *stalls, struct owner *owner)
{
	int ret = 0;

	while (!ret && !TAILQ_EMPTY(&owner->spans))
		ret = complete(stalls, owner, TAILQ_FIRST(&owner->spans));
	return ret;
}

/* Remembers that a window around this time is incomplete: what it had inside is in no span. */
static void note_dropped(struct owner *owner, uint64_t ts)
{
	if (ts > owner->dropped_at)
		owner->dropped_at = ts;
}

static int complete_early(struct stalls *stalls, struct owner *owner, struct span *span)
{
	uint64_t end = span->end;
	int ret = complete(stalls, owner, span);

	note_dropped(owner, end);
	return ret;
}

/* ---- owners ---- */

static bool is_over(uint64_t since, uint64_t now)
{
	return now > since && now - since > STALL_PATIENCE;
}

static bool has_slow(const struct owner *owner)
{
	const struct span *span;

	TAILQ_FOREACH(span, &owner->spans, link)
		if (span->slow)
			return true;
	return false;
}

static int forget_owner(struct stalls *stalls, struct owner *owner)
{
	uint64_t dropped_at = owner->dropped_at;
	int ret;

	/* Fast spans do not count: most likely no slow window encloses them. */
	if (has_slow(owner)) {
		const struct span *newest = TAILQ_LAST(&owner->spans, span_list);

		if (newest->end > dropped_at)
			dropped_at = newest->end;
	}
	ret = complete_all(stalls, owner);
	if (dropped_at > stalls->evicted_at)
		stalls->evicted_at = dropped_at;
	if (stalls->last_owner == owner)
		stalls->last_owner = NULL;
	if (!ret)
		hash_remove(&stalls->hash, &owner->hash);
	return ret;
}

/* The owner without a record for longest, but first one whose records are in no slow run. */
static struct owner *owner_to_evict(struct stalls *stalls)
{
	struct hash_link *link;

	TAILQ_FOREACH(link, &stalls->hash.used, use) {
		struct owner *owner = container_of(link, struct owner, hash);

		if (!has_slow(owner))
			return owner;
	}
	return container_of(hash_oldest(&stalls->hash), struct owner, hash);
}

static int new_owner(struct stalls *stalls, struct task_key key, struct owner **ret_owner)
{
	struct owner *owner;
	int ret;

	if (hash_is_full(&stalls->hash)) {
		owner = owner_to_evict(stalls);
		if (has_slow(owner))
			stalls->dropped++;
		ret = forget_owner(stalls, owner);
		if (ret)
			return ret;
	}
	owner = container_of(hash_insert(&stalls->hash, task_key_hash(key)), struct owner, hash);
	owner->key = key;
	/* It may be one that was removed. */
	owner->dropped_at = stalls->evicted_at;
	owner->nr_spans = 0;
	TAILQ_INIT(&owner->spans);
	TAILQ_INIT(&owner->held);
	*ret_owner = owner;
	return 0;
}

/*
 * The function around a span has ended, but its record did not arrive: it was lost, or the depth has
 * gaps. As long as neither is known, the function still runs.
 */
static bool is_orphan(const struct stalls *stalls, const struct span *span)
{
	const struct span *later = span;

	if (stalls->gaps || span->losses != stalls->losses)
		return true;
	while ((later = TAILQ_NEXT(later, link)))
		if (later->depth < span->depth && span->depth != DEPTH_UNKNOWN)
			return true;
	return false;
}

/* No window of one depth less came around this one. In an interrupt the task's depth counts too. */
static void note_gap(struct stalls *stalls, const struct owner *owner, const struct span *span)
{
	if (!task_key_in_interrupt(owner->key) && span->depth != DEPTH_UNKNOWN &&
	    span->losses == stalls->losses)
		stalls->gaps = true;
}

static noinline int find_owner(struct stalls *stalls, struct task_key key, struct owner **ret_owner)
{
	struct hash_link *link = hash_find(&stalls->hash, task_key_hash(key));
	int ret = 0;

	if (link)
		*ret_owner = container_of(link, struct owner, hash);
	else
		ret = new_owner(stalls, key, ret_owner);
	stalls->last_owner = ret ? NULL : *ret_owner;
	return ret;
}

/* Spans around which no function will end. */
static noinline int complete_orphans(struct stalls *stalls, struct owner *owner, uint64_t now)
{
	struct span *span, *next;
	int ret = 0;

	for (span = TAILQ_FIRST(&owner->spans); !ret && span; span = next) {
		next = TAILQ_NEXT(span, link);
		if (!is_over(is_sum(span) ? span->start : span->end, now))
			break;
		if (is_orphan(stalls, span))
			ret = complete_early(stalls, owner, span);
	}
	return ret;
}

/* Many windows and pairs of one task come one after the other. */
static int owner_of(struct stalls *stalls, struct task_key key, uint64_t now,
		    struct owner **ret_owner)
{
	struct owner *owner = stalls->last_owner;
	int ret = 0;

	if (!owner || owner->key.id != key.id || owner->key.kind != key.kind)
		ret = find_owner(stalls, key, &owner);
	if (ret)
		return ret;
	owner->last = now;
	*ret_owner = owner;
	return owner->nr_spans ? complete_orphans(stalls, owner, now) : 0;
}

/* ---- spans that wait for the same window are folded when room is short ---- */

/* Adds a span to the next one. */
static void fold(struct stalls *stalls, struct owner *owner, struct span *span)
{
	struct span *next = TAILQ_NEXT(span, link);
	struct slice *slice;

	while ((slice = slices_pop(&span->slices)))
		slices_add(&stalls->slices, &next->slices, slice);
	next->start = span->start;
	next->busy += span->busy;
	if (next->busy > length_of(next)) /* Their edges are uncertain. */
		next->busy = length_of(next);
	next->nr_windows += span->nr_windows;
	next->nr_events += span->nr_events;
	next->first = span->first;
	next->nr_held += span->nr_held;
	if (span->slow && !next->slow) {
		next->slow = true;
		next->function = span->function;
		next->role = span->role;
	}
	details_merge(&next->details, &stalls->outcomes, &span->details);
	release_span(stalls, owner, span);
}

/*
 * Windows of one depth, without a shallower one between them, are called by the same function, and
 * all that is between them is inside it as well. Returns whether any were folded.
 */
static bool fold_siblings(struct stalls *stalls, struct owner *owner)
{
	struct span *last = TAILQ_LAST(&owner->spans, span_list);
	bool folded = false;

	while (last) {
		struct span *first = TAILQ_PREV(last, span_list, link);

		while (first && first->depth > last->depth)
			first = TAILQ_PREV(first, span_list, link);
		if (!first || first->depth != last->depth || first->depth == DEPTH_UNKNOWN ||
		    first->losses != last->losses) {
			last = TAILQ_PREV(last, span_list, link);
			continue;
		}
		while (first != last) {
			struct span *next = TAILQ_NEXT(first, link);

			fold(stalls, owner, first);
			first = next;
		}
		folded = true;
	}
	return folded;
}

/*
 * Reclaim of many cgroups makes very many fast pairs, and nothing tells their depth. Of two
 * neighbours in one, a window that began between them would get both or none: that is as unlikely as
 * the time between them is short, and matters the less the shorter they are.
 */
static bool fold_pairs(struct stalls *stalls, struct owner *owner)
{
	struct span *span, *next, *best = NULL;
	double least = 0;

	TAILQ_FOREACH(span, &owner->spans, link) {
		double cost;

		next = TAILQ_NEXT(span, link);
		if (!next || span->depth != DEPTH_UNKNOWN || next->depth != DEPTH_UNKNOWN)
			continue;
		cost = (double)(next->start - span->end) * (double)(span->busy + next->busy);
		if (!best || cost < least) {
			least = cost;
			best = span;
		}
	}
	if (best)
		fold(stalls, owner, best);
	return best;
}

/*
 * The tasks without a record for longest make room, first those with nothing but fast spans, and
 * this one last.
 */
static int make_room(struct stalls *stalls, struct owner *owner)
{
	struct owner *victim = NULL;
	struct hash_link *link;
	uint64_t newest;
	int ret;

	TAILQ_FOREACH(link, &stalls->hash.used, use) {
		struct owner *other = container_of(link, struct owner, hash);

		if (other == owner || !other->nr_spans)
			continue;
		if (!victim || !has_slow(other))
			victim = other;
		if (!has_slow(victim))
			break;
	}
	if (!victim)
		victim = owner;
	if (has_slow(victim)) {
		TAILQ_FOREACH(link, &stalls->hash.used, use) {
			struct owner *other = container_of(link, struct owner, hash);

			if (fold_siblings(stalls, other) || fold_pairs(stalls, other))
				return 0;
		}
		stalls->dropped++;
	}
	newest = TAILQ_LAST(&victim->spans, span_list)->end;
	ret = complete_all(stalls, victim);
	note_dropped(victim, newest);
	return ret;
}

/* ---- spans ---- */

static int new_span(struct stalls *stalls, struct owner *owner, struct span **ret_span)
{
	struct span *span;
	int ret = 0;

	/* The span and its own slices: what it contains brings its slices with it. */
	while (!ret &&
	       (pool_is_empty(&stalls->unused) || stalls->slices.nr_unused < 2 * PHASE_STATES))
		ret = make_room(stalls, owner);
	if (ret)
		return ret;
	span = pool_take(&stalls->unused);
	stalls->arrived++;
	*span = (struct span){
		.losses = stalls->losses,
		.slow = true,
		.first = stalls->arrived,
		.last = stalls->arrived,
	};
	TAILQ_INIT(&span->slices);
	*ret_span = span;
	return 0;
}

/* Lets a span wait for the window around it. */
static int keep_span(struct stalls *stalls, struct owner *owner, struct span *span)
{
	bool interrupt = task_key_in_interrupt(owner->key);
	int ret = 0;

	/* Two windows may be of two interrupts. */
	while (!ret && interrupt && !TAILQ_EMPTY(&owner->spans))
		ret = complete_early(stalls, owner, TAILQ_FIRST(&owner->spans));
	TAILQ_INSERT_TAIL(&owner->spans, span, link);
	owner->nr_spans++;
	if (ret || owner->nr_spans <= FOLD_ABOVE || fold_siblings(stalls, owner) ||
	    fold_pairs(stalls, owner) || owner->nr_spans <= OWN_SPANS_MAX)
		return ret;
	span = TAILQ_FIRST(&owner->spans);
	stalls->dropped += span->slow;
	return complete_early(stalls, owner, span);
}

struct off_cpu_sink {
	struct stalls *stalls;
	struct span *span;
	struct slice *own; /* what is left of it, the task ran */
};

static void add_off_cpu(void *context, enum phase_state state, uint64_t function, uint64_t ns)
{
	const struct off_cpu_sink *sink = context;
	struct slices *slices = &sink->stalls->slices;
	struct slice *slice;
	bool unnamed;

	/* The edges of windows may be uncertain. */
	if (ns > sink->own->ns)
		ns = sink->own->ns;
	if (!ns)
		return;
	/* new_span() leaves room for a slice of each state, and one more. */
	unnamed = function && slices->nr_unused < STALLS_SLICES_MAX / 4;
	sink->own->ns -= ns;
	slice = slices_take(slices);
	*slice = *sink->own;
	slice->state = state;
	slice->function = unnamed ? 0 : function;
	slice->unnamed = unnamed;
	slice->ns = ns;
	slice->count = 0;
	slices_add(slices, &sink->span->slices, slice);
}

/* Splits the own time of a span. What was off the CPU in a span inside is taken already. */
static void split_own_time(struct stalls *stalls, struct owner *owner, struct span *span,
			   struct slice *own)
{
	struct off_cpu_sink sink = { stalls, span, own };

	if (stalls->off_cpu && owner->key.kind == OWNER_TASK &&
	    !off_cpu_take(stalls->off_cpu, owner->key.id, span->start, span->end, add_off_cpu,
			  &sink))
		note_dropped(owner, span->end);
}

/*
 * Adds a span to its task. The spans inside become part of it; the time outside of these is its own.
 * Of two spans of a task, one contains the other or they are apart. With uncertain edges the middle
 * decides, and a fast one contains no slow one.
 */
static int add_span(struct stalls *stalls, struct owner *owner, struct span *span,
		    const struct slice *run)
{
	struct slice *own = slices_take(&stalls->slices);
	uint64_t covered = 0;
	struct span *inner;
	struct slice *slice;

	while ((inner = TAILQ_LAST(&owner->spans, span_list))) {
		/*
		 * Of a sum it is unknown what is inside. Of fast pairs that matters only if they
		 * took as long as a slow run.
		 */
		if (is_sum(inner) && inner->start < span->start && inner->end > span->start &&
		    (inner->depth != DEPTH_UNKNOWN || inner->busy >= stalls->plan->threshold))
			note_dropped(owner, inner->end);
		if (inner->start + length_of(inner) / 2 < span->start ||
		    (inner->slow && !span->slow))
			break;
		while ((slice = slices_pop(&inner->slices))) {
			bool shrinker = slice->part == PART_SHRINKERS;

			slices_tag(slice, stalls->plan, span->role);
			if (run->shrinker && !shrinker && slice->part == PART_SHRINKERS) {
				slice->shrinker = run->shrinker;
				slice->callback = run->callback;
			}
			slices_add(&stalls->slices, &span->slices, slice);
		}
		if (inner->depth - 1 > span->depth)
			note_gap(stalls, owner, inner);
		covered += inner->busy;
		span->nr_windows += inner->nr_windows;
		span->nr_events += inner->nr_events;
		span->first = inner->first;
		span->nr_held += inner->nr_held;
		details_merge(&span->details, &stalls->outcomes, &inner->details);
		release_span(stalls, owner, inner);
	}
	*own = *run;
	own->group = PHASE_REST;
	own->part = PART_OWN;
	own->ns = length_of(span) > covered ? length_of(span) - covered : 0;
	slices_tag(own, stalls->plan, span->role);
	split_own_time(stalls, owner, span, own);
	slices_add(&stalls->slices, &span->slices, own);
	span->busy = length_of(span);
	if (span->depth > 0)
		return keep_span(stalls, owner, span);
	/* No window encloses a span of depth 0, or what was before it. */
	TAILQ_FOREACH(inner, &owner->spans, link)
		note_gap(stalls, owner, inner);
	TAILQ_INSERT_TAIL(&owner->spans, span, link);
	owner->nr_spans++;
	return complete_all(stalls, owner);
}

static noinline int add_window(struct stalls *stalls, struct owner *owner,
			       const struct task_window *window)
{
	const struct record *exit = window->exit;
	const struct slice run = { .count = 0 };
	struct span *span;
	int ret = new_span(stalls, owner, &span);

	if (ret)
		return ret;
	span->start = exit->window.calltime;
	span->end = exit->window.rettime;
	span->function = exit->window.function;
	span->tid = exit->tid;
	span->cpu = exit->cpu;
	span->role = exit->window.role;
	span->depth = exit->window.depth;
	span->slow = window->slow;
	span->nr_windows = window->slow;
	span->nr_events = window->nr_events;
	for (size_t i = 0; i < window->nr_inside; i++)
		details_event(&span->details, &stalls->outcomes, &stalls->names, window->inside[i]);
	span->details.incomplete = window->inside_incomplete;
	if (window->incomplete)
		note_dropped(owner, span->end);
	if (stalls->held && window->slow)
		held_window(stalls->held, &owner->held, span->last, window);
	span->nr_held = window->slow;
	return add_span(stalls, owner, span, &run);
}

static noinline int add_pair(struct stalls *stalls, struct owner *owner,
			     const struct task_pair *pair)
{
	const struct record *begin = pair->begin;
	const struct record *end = pair->end;
	const struct slice run = {
		.shrinker = begin->fields.shrinker,
		.callback = begin->fields.callback,
		.count = begin->fields.shrinker != 0,
	};
	struct span *span;
	int ret = new_span(stalls, owner, &span);

	if (ret)
		return ret;
	span->start = begin->ts;
	span->end = end->ts;
	span->tid = end->tid;
	span->cpu = end->cpu;
	span->slow = pair->slow;
	span->role = catalog_pair_role(stalls->plan->events[end->event].id);
	/* With function_graph a window may enclose it, else another pair. */
	span->depth = stalls->plan->function_graph || pair->within ? DEPTH_UNKNOWN : 0;
	span->nr_events = 2 + pair->nr_events;
	details_event(&span->details, &stalls->outcomes, &stalls->names, begin);
	for (size_t i = 0; i < pair->nr_events; i++)
		details_event(&span->details, &stalls->outcomes, &stalls->names, pair->events[i]);
	details_event(&span->details, &stalls->outcomes, &stalls->names, end);
	if (pair->incomplete)
		note_dropped(owner, span->end);
	if (stalls->held && pair->slow)
		held_pair(stalls->held, &owner->held, span->last, pair);
	span->nr_held = pair->slow;
	return add_span(stalls, owner, span, &run);
}

void stalls_drop(struct stalls *stalls, int32_t tid, uint64_t ts)
{
	if (stalls->off_cpu)
		off_cpu_drop(stalls->off_cpu, tid, ts);
}

int stalls_window(struct stalls *stalls, const struct task_window *window)
{
	const struct record *exit = window->exit;
	struct owner *owner;
	int ret;

	/* Of interrupts one window waits: a fast one would take the place of a slow one. */
	if (!window->slow && task_key_in_interrupt(window->key))
		return 0;
	/* Nothing slow will be around what is inside an outermost one. */
	if (!window->slow && exit->window.depth <= 0) {
		struct hash_link *link = hash_peek(&stalls->hash, task_key_hash(window->key));

		if (window->key.kind == OWNER_TASK)
			stalls_drop(stalls, window->key.id, exit->window.rettime);
		if (!link)
			return 0;
		owner = container_of(link, struct owner, hash);
		if (!has_slow(owner))
			return complete_all(stalls, owner);
	}
	ret = owner_of(stalls, window->key, exit->window.rettime, &owner);
	if (ret)
		return ret;
	return is_alone(stalls, owner, window) ? emit_window(stalls, owner, window) :
						 add_window(stalls, owner, window);
}

int stalls_pair(struct stalls *stalls, const struct task_pair *pair)
{
	struct owner *owner;
	int ret = owner_of(stalls, pair->key, pair->end->ts, &owner);

	return ret ? ret : add_pair(stalls, owner, pair);
}

int stalls_pass_on(struct stalls *stalls, const struct claims_sink *sink)
{
	const struct span *span = stalls->ending_span;
	struct owner *owner = stalls->ending;
	size_t passed = 0;
	int ret;

	if (stalls->ending_window)
		return sink->window(sink->context, stalls->ending_window);
	ret = held_pass_on(stalls->held, &owner->held, owner->key, span->first, span->last, sink,
			   &passed);
	if (!ret && passed < span->nr_held)
		stalls->dropped++;
	return ret;
}

void stalls_sleep(struct stalls *stalls, int tid, uint64_t function)
{
	if (stalls->off_cpu)
		off_cpu_sleeps_in(stalls->off_cpu, tid, function);
}

void stalls_sched(struct stalls *stalls, const struct record *record)
{
	const struct record_sched *sched = &record->sched;
	int id;

	if (!stalls->off_cpu || record->kind != RECORD_EVENT)
		return;
	id = stalls->plan->events[record->event].id;
	if (id == EVENT_SCHED_WAKEUP) {
		stalls->sched.wakeups++;
		off_cpu_wake(stalls->off_cpu, sched->tid, record->ts);
	} else if (id == EVENT_SCHED_SWITCH) {
		stalls->sched.switches++;
		off_cpu_leave(stalls->off_cpu, record->tid, record->ts, sched->prev_state);
		off_cpu_come(stalls->off_cpu, sched->tid, record->ts);
	}
}

void stalls_sched_stop(struct stalls *stalls)
{
	if (stalls->off_cpu)
		off_cpu_stop(stalls->off_cpu);
}

const struct sched_counts *stalls_sched_counts(const struct stalls *stalls)
{
	return stalls->off_cpu ? &stalls->sched : NULL;
}

void stalls_lost(struct stalls *stalls, uint64_t ts)
{
	stalls->losses++;
	if (ts > stalls->lost_at)
		stalls->lost_at = ts;
}

/* The owner without a record for longest. Records of another one may have waited before they came here. */
static struct owner *silent_owner(struct stalls *stalls)
{
	struct owner *first = NULL;
	struct hash_link *link;

	TAILQ_FOREACH(link, &stalls->hash.used, use) {
		struct owner *owner = container_of(link, struct owner, hash);

		if (!first || owner->last < first->last)
			first = owner;
	}
	return first;
}

int stalls_time(struct stalls *stalls, uint64_t ts)
{
	struct owner *owner;
	int ret = 0;

	while (!ret && (owner = silent_owner(stalls)) && is_over(owner->last, ts))
		ret = forget_owner(stalls, owner);
	return ret;
}

int stalls_flush(struct stalls *stalls)
{
	struct owner *owner;
	int ret = 0;

	while (!ret && (owner = silent_owner(stalls)))
		ret = forget_owner(stalls, owner);
	return ret;
}

uint64_t stalls_dropped(const struct stalls *stalls)
{
	return stalls->dropped;
}
