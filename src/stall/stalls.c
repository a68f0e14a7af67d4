// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "allocfilt/stall.h"
#include "stall/details.h"
#include "stall/slices.h"

/* When the pool is used up, a task with more spans than this loses its own first. */
#define OWN_SHARE (STALLS_SPANS_MAX / 16)

/* A window or pair that has ended, with everything inside. */
struct span {
	TAILQ_ENTRY(span) link; /* in owner.spans or stalls.unused */
	uint64_t start;
	uint64_t end;
	uint64_t busy;	   /* ns: less than the length if pairs were folded */
	uint64_t function; /* 0: a pair */
	int32_t tid;
	int32_t cpu;
	int32_t role;
	int32_t depth;
	bool slow;
	unsigned int nr_windows;
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
};

struct stalls {
	const struct plan *plan;
	struct stalls_callbacks callbacks;
	struct detail_names names;
	struct slices slices;
	struct hash hash; /* of owners; the one without a record for longest is evicted */
	struct owner owners[STALLS_OWNERS_MAX];
	struct span spans[STALLS_SPANS_MAX];
	struct span_list unused;
	uint64_t lost_at; /* ns: time of the newest loss of records */
	uint64_t dropped;
	struct stall_shrinker shrinkers[STALL_SHRINKERS_MAX];
};

struct stalls *stalls_new(const struct plan *plan, const struct stalls_callbacks *callbacks)
{
	struct stalls *stalls = calloc(1, sizeof(*stalls));

	if (!stalls)
		return NULL;
	stalls->plan = plan;
	stalls->callbacks = *callbacks;
	stalls->names.plan = plan;
	stalls->names.event = callbacks->event;
	stalls->names.context = callbacks->context;
	slices_init(&stalls->slices);
	if (hash_init(&stalls->hash, &stalls->owners[0].hash, sizeof(stalls->owners[0]),
		      STALLS_OWNERS_MAX)) {
		stalls_free(stalls);
		errno = ENOMEM;
		return NULL;
	}
	TAILQ_INIT(&stalls->unused);
	for (int i = 0; i < STALLS_SPANS_MAX; i++)
		TAILQ_INSERT_TAIL(&stalls->unused, &stalls->spans[i], link);
	return stalls;
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	hash_destroy(&stalls->hash);
	free(stalls);
}

static uint64_t length_of(const struct span *span)
{
	return span->end - span->start;
}

static void release_span(struct stalls *stalls, struct owner *owner, struct span *span)
{
	TAILQ_REMOVE(&owner->spans, span, link);
	owner->nr_spans--;
	slices_release(&stalls->slices, &span->slices);
	TAILQ_INSERT_TAIL(&stalls->unused, span, link);
}

/* ---- a span becomes a stall when no window can follow around it ---- */

/* Inserts in order, most time first: sorting with qsort(3) may allocate. */
static void add_shrinker(struct stalls *stalls, struct stall *stall, const struct slice *slice)
{
	size_t place = stall->nr_shrinkers;

	if (place == STALL_SHRINKERS_MAX) {
		stalls->dropped++;
		return;
	}
	for (; place; place--) {
		const struct stall_shrinker *before = &stalls->shrinkers[place - 1];

		if (before->ns > slice->ns ||
		    (before->ns == slice->ns && before->shrinker <= slice->shrinker))
			break;
		stalls->shrinkers[place] = *before;
	}
	stalls->shrinkers[place] = (struct stall_shrinker){
		.shrinker = slice->shrinker,
		.callback = slice->callback,
		.group = slice->group,
		.ns = slice->ns,
		.count = slice->count,
	};
	stall->nr_shrinkers++;
}

/* The rest is the whole less what is known, so the sum is right even if a limit dropped slices. */
static void sum_phases(struct stalls *stalls, struct stall *stall, struct span *span)
{
	const struct slice *slice;
	enum phase_group group;
	enum phase_part part;
	uint64_t known, ns;

	TAILQ_FOREACH(slice, &span->slices, link) {
		if (slice->group != PHASE_REST)
			stall->phases.ns[slice->group][slice->part] += slice->ns;
		if (slice->shrinker)
			add_shrinker(stalls, stall, slice);
	}
	known = phases_total(&stall->phases);
	if (known < length_of(span))
		stall->phases.ns[PHASE_REST][PART_OWN] = length_of(span) - known;
	/* With uncertain edges, the parts may seem longer than the whole: the largest is cut. */
	while (known > length_of(span) && (ns = phases_largest(&stall->phases, &group, &part))) {
		uint64_t excess = known - length_of(span);

		if (ns > excess)
			ns = excess;
		stall->phases.ns[group][part] -= ns;
		known -= ns;
	}
	stall->shrinkers = stalls->shrinkers;
}

static const char *name_or_nothing(struct stalls *stalls, const char *name)
{
	if (name)
		return name;
	stalls->dropped++;
	return "";
}

static int emit_stall(struct stalls *stalls, const struct owner *owner, struct span *span)
{
	const struct details *details = &span->details;
	struct stall stall = {
		.key = owner->key,
		.tid = span->tid,
		.cpu = span->cpu,
		.start = span->start,
		.end = span->end,
		.function = span->function,
		.role = span->role,
		.depth = span->depth,
		.nr_windows = span->nr_windows,
		.nr_events = details->nr_events,
		.incomplete = stalls->lost_at > span->start || owner->dropped_at > span->start,
		.order = -1,
		.gfp_names = "",
		.has_reclaimed = details->has_reclaimed,
		.nr_reclaimed = details->nr_reclaimed,
		.compaction = "",
		.memcg_id = details->memcg_id,
		.stack = details->stack,
	};

	if (details->request_at) {
		stall.order = details->order;
		stall.has_gfp = true;
		stall.gfp = details->gfp;
		stall.gfp_names =
			name_or_nothing(stalls, value_names_find(&stalls->names.gfp, details->gfp));
	}
	if (details->compacted_at)
		stall.compaction = name_or_nothing(stalls, value_names_find(&stalls->names.status,
									    details->status));
	sum_phases(stalls, &stall, span);
	return stalls->callbacks.stall(stalls->callbacks.context, &stall);
}

/* A fast pair with no slow window around it is no stall. */
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

/* ---- owners ---- */

/* Remembers that a window around this span, which was dropped or emitted early, is incomplete. */
static void note_dropped(struct owner *owner, const struct span *span)
{
	if (span->end > owner->dropped_at)
		owner->dropped_at = span->end;
}

static struct owner *oldest_owner(struct stalls *stalls)
{
	struct hash_link *link = hash_oldest(&stalls->hash);

	return link ? hash_entry(link, struct owner, hash) : NULL;
}

static int forget_owner(struct stalls *stalls, struct owner *owner)
{
	int ret = complete_all(stalls, owner);

	if (!ret)
		hash_remove(&stalls->hash, &owner->hash);
	return ret;
}

static int owner_of(struct stalls *stalls, struct task_key key, uint64_t now,
		    struct owner **ret_owner)
{
	struct hash_link *link = hash_find(&stalls->hash, task_key_hash(key));
	struct owner *owner;
	struct span *span;
	int ret = 0;

	if (!link) {
		if (hash_is_full(&stalls->hash)) {
			if (oldest_owner(stalls)->nr_spans)
				stalls->dropped++;
			ret = forget_owner(stalls, oldest_owner(stalls));
			if (ret)
				return ret;
		}
		link = hash_insert(&stalls->hash, task_key_hash(key));
		owner = hash_entry(link, struct owner, hash);
		owner->key = key;
		owner->dropped_at = 0;
		owner->nr_spans = 0;
		TAILQ_INIT(&owner->spans);
	}
	owner = hash_entry(link, struct owner, hash);
	owner->last = now;
	while (!ret && (span = TAILQ_FIRST(&owner->spans)) && span->end + STALL_PATIENCE < now) {
		ret = complete(stalls, owner, span);
		note_dropped(owner, span);
	}
	*ret_owner = owner;
	return ret;
}

/* ---- spans ---- */

static void put_slice(struct stalls *stalls, struct span *span, const struct slice *slice)
{
	if (!slices_put(&stalls->slices, &span->slices, slice))
		stalls->dropped++;
}

/*
 * Reclaim of many cgroups makes very many fast pairs. The two oldest neighbours become one: a
 * window around one nearly always contains both.
 */
static bool fold_pairs(struct stalls *stalls, struct owner *owner)
{
	struct span *first = TAILQ_FIRST(&owner->spans);
	struct span *second = TAILQ_NEXT(first, link);
	const struct slice *slice;

	/* Only pairs can be fast. */
	if (!second || first->slow || second->slow)
		return false;
	TAILQ_FOREACH(slice, &second->slices, link)
		put_slice(stalls, first, slice);
	first->end = second->end;
	first->busy += second->busy;
	details_merge(&first->details, &second->details);
	release_span(stalls, owner, second);
	return true;
}

/* A task above its share makes room itself; else the task that was silent for longest does. */
static struct span *new_span(struct stalls *stalls, struct owner *owner)
{
	struct hash_link *link;
	struct span *span;

	if (TAILQ_EMPTY(&stalls->unused) && owner->nr_spans <= OWN_SHARE) {
		TAILQ_FOREACH(link, &stalls->hash.used, use)
			if (hash_entry(link, struct owner, hash)->nr_spans)
				break;
		owner = hash_entry(link, struct owner, hash);
	}
	if (TAILQ_EMPTY(&stalls->unused) && !fold_pairs(stalls, owner)) {
		span = TAILQ_FIRST(&owner->spans);
		/* A fast pair does not count: most likely no slow window encloses it. */
		if (span->slow)
			stalls->dropped++;
		note_dropped(owner, span);
		release_span(stalls, owner, span);
	}
	span = TAILQ_FIRST(&stalls->unused);
	TAILQ_REMOVE(&stalls->unused, span, link);
	*span = (struct span){ .slow = true };
	TAILQ_INIT(&span->slices);
	return span;
}

/*
 * Adds a span to its task. The spans inside become part of it; the time outside of these is its own.
 * Of two spans of a task, one contains the other or they are apart, so the middle decides, also if
 * edges are uncertain.
 */
static int add_span(struct stalls *stalls, struct owner *owner, struct span *span,
		    struct slice *own)
{
	uint64_t covered = 0;
	struct span *inner;

	while ((inner = TAILQ_LAST(&owner->spans, span_list)) &&
	       inner->start + length_of(inner) / 2 >= span->start) {
		const struct slice *of_inner;

		TAILQ_FOREACH(of_inner, &inner->slices, link) {
			struct slice slice = *of_inner;

			slices_tag(&slice, span->role);
			/* A slice that becomes slab here is part of this shrinker's run. */
			if (own->shrinker && of_inner->part != PART_SLAB &&
			    slice.part == PART_SLAB) {
				slice.shrinker = own->shrinker;
				slice.callback = own->callback;
			}
			put_slice(stalls, span, &slice);
		}
		covered += inner->busy;
		span->nr_windows += inner->nr_windows;
		details_merge(&span->details, &inner->details);
		release_span(stalls, owner, inner);
	}
	own->group = PHASE_REST;
	own->part = PART_OWN;
	own->ns = length_of(span) > covered ? length_of(span) - covered : 0;
	slices_tag(own, span->role);
	put_slice(stalls, span, own);
	span->busy = length_of(span);
	TAILQ_INSERT_TAIL(&owner->spans, span, link);
	owner->nr_spans++;
	/* No window encloses a span of depth 0, or what was before it. */
	return span->depth > 0 ? 0 : complete_all(stalls, owner);
}

int stalls_window(struct stalls *stalls, const struct task_window *window)
{
	const struct record *exit = window->exit;
	struct slice own = { .count = 0 };
	struct owner *owner;
	struct span *span;
	int ret = owner_of(stalls, window->key, exit->window.rettime, &owner);

	if (ret)
		return ret;
	span = new_span(stalls, owner);
	span->start = exit->window.calltime;
	span->end = exit->window.rettime;
	span->function = exit->window.function;
	span->tid = exit->tid;
	span->cpu = exit->cpu;
	span->role = exit->window.role;
	span->depth = exit->window.depth;
	span->nr_windows = 1;
	for (size_t i = 0; i < window->nr_events; i++)
		details_event(&span->details, &stalls->names, window->events[i]);
	if (window->incomplete)
		note_dropped(owner, span);
	return add_span(stalls, owner, span, &own);
}

int stalls_pair(struct stalls *stalls, const struct task_pair *pair)
{
	const struct record *begin = pair->begin;
	const struct record *end = pair->end;
	struct slice own = {
		.shrinker = begin->fields.shrinker,
		.callback = begin->fields.callback,
		.count = 1,
	};
	struct owner *owner;
	struct span *span;
	int ret = owner_of(stalls, pair->key, end->ts, &owner);

	if (ret)
		return ret;
	span = new_span(stalls, owner);
	span->start = begin->ts;
	span->end = end->ts;
	span->tid = end->tid;
	span->cpu = end->cpu;
	span->slow = pair->slow;
	span->role = catalog_pair_role(stalls->plan->events[end->event].id);
	/* With function_graph a window may enclose it, else another pair. */
	span->depth = stalls->plan->function_graph || pair->within;
	details_event(&span->details, &stalls->names, begin);
	for (size_t i = 0; i < pair->nr_events; i++)
		details_event(&span->details, &stalls->names, pair->events[i]);
	details_event(&span->details, &stalls->names, end);
	if (pair->incomplete)
		note_dropped(owner, span);
	return add_span(stalls, owner, span, &own);
}

void stalls_lost(struct stalls *stalls, uint64_t ts)
{
	if (ts > stalls->lost_at)
		stalls->lost_at = ts;
}

int stalls_time(struct stalls *stalls, uint64_t ts)
{
	struct owner *owner;
	int ret = 0;

	while (!ret && (owner = oldest_owner(stalls)) && owner->last + STALL_PATIENCE < ts)
		ret = forget_owner(stalls, owner);
	return ret;
}

int stalls_flush(struct stalls *stalls)
{
	return stalls_time(stalls, UINT64_MAX);
}

uint64_t stalls_dropped(const struct stalls *stalls)
{
	return stalls->dropped;
}
