// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"
#include "stall/details.h"
#include "stall/slices.h"

#define HASH_SIZE 1024			  /* a power of two */
#define OWN_SHARE (STALLS_SPANS_MAX / 16) /* what one task may hold in hard times */

/* A window or pair that has ended, with what was inside. */
struct span {
	struct link link; /* of owner.spans, or of stalls.unused_spans */
	uint64_t start;
	uint64_t end;
	uint64_t busy;	   /* ns: less than the length where pairs are folded */
	uint64_t function; /* 0: a pair */
	int32_t pid;
	int32_t cpu;
	int32_t role;
	int32_t depth;
	bool slow;
	unsigned int nr_windows;
	struct link slices;
	struct details details;
};

/* A task, or the interrupts of a CPU, with spans that wait for the window around them. */
struct owner {
	struct link age; /* of stalls.by_age, or of stalls.unused_owners */
	struct owner *hash_next;
	struct task_key key;
	uint64_t last;	   /* ns: end of the newest span */
	uint64_t gone_at;  /* ns: newest end of a span that went before its time */
	struct link spans; /* in the order of time; none contains another */
	size_t nr_spans;
};

struct stalls {
	const struct plan *plan;
	struct stalls_callbacks callbacks;
	struct detail_names *names;
	struct slices *slices;
	struct owner *owner_pool;
	struct span *span_pool;
	struct owner *hash[HASH_SIZE];
	struct link unused_owners;
	struct link by_age; /* least recently seen first */
	struct link unused_spans;
	uint64_t lost_at; /* ns: newest place where records were lost */
	struct stalls_drops drops;
	struct stall_shrinker shrinkers[STALL_SHRINKERS_MAX];
};

static bool allocate(struct stalls *stalls)
{
	struct detail_names_setup names = {
		.plan = stalls->plan,
		.event = stalls->callbacks.event,
		.context = stalls->callbacks.context,
	};

	stalls->names = detail_names_new(&names);
	stalls->slices = slices_new(STALLS_PIECES_MAX);
	stalls->owner_pool = calloc(STALLS_OWNERS_MAX, sizeof(*stalls->owner_pool));
	stalls->span_pool = calloc(STALLS_SPANS_MAX, sizeof(*stalls->span_pool));
	return stalls->names && stalls->slices && stalls->owner_pool && stalls->span_pool;
}

struct stalls *stalls_new(const struct plan *plan, const struct stalls_callbacks *callbacks)
{
	struct stalls *stalls = calloc(1, sizeof(*stalls));

	if (!stalls)
		return NULL;
	stalls->plan = plan;
	stalls->callbacks = *callbacks;
	if (!allocate(stalls)) {
		stalls_free(stalls);
		errno = ENOMEM;
		return NULL;
	}
	list_init(&stalls->unused_owners);
	list_init(&stalls->by_age);
	list_init(&stalls->unused_spans);
	for (int i = 0; i < STALLS_OWNERS_MAX; i++)
		list_append(&stalls->unused_owners, &stalls->owner_pool[i].age);
	for (int i = 0; i < STALLS_SPANS_MAX; i++)
		list_append(&stalls->unused_spans, &stalls->span_pool[i].link);
	return stalls;
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	free(stalls->span_pool);
	free(stalls->owner_pool);
	slices_free(stalls->slices);
	detail_names_free(stalls->names);
	free(stalls);
}

static uint64_t length_of(const struct span *span)
{
	return span->end - span->start;
}

static struct span *newest_span(struct owner *owner)
{
	return list_entry(owner->spans.prev, struct span, link);
}

static struct span *oldest_span(struct owner *owner)
{
	return list_entry(owner->spans.next, struct span, link);
}

static void release_span(struct stalls *stalls, struct span *span)
{
	slices_release(stalls->slices, &span->slices);
	list_append(&stalls->unused_spans, &span->link);
}

static void remove_span(struct owner *owner, struct span *span)
{
	list_remove(&span->link);
	owner->nr_spans--;
}

/* ---- what a span becomes when nothing more can come around it ---- */

static bool is_before(const struct slice *slice, const struct stall_shrinker *other)
{
	if (slice->ns != other->ns)
		return slice->ns > other->ns;
	return slice->shrinker < other->shrinker;
}

/* Keeps them in order, most time first, so that nothing has to be sorted (qsort(3) allocates). */
static void add_shrinker(struct stalls *stalls, struct stall *stall, const struct slice *slice)
{
	size_t place = stall->nr_shrinkers;

	if (place == STALL_SHRINKERS_MAX) {
		stalls->drops.shrinkers++;
		return;
	}
	for (; place && is_before(slice, &stalls->shrinkers[place - 1]); place--)
		stalls->shrinkers[place] = stalls->shrinkers[place - 1];
	stalls->shrinkers[place] = (struct stall_shrinker){
		.shrinker = slice->shrinker,
		.callback = slice->callback,
		.group = slice->group,
		.ns = slice->ns,
		.count = slice->count,
	};
	stall->nr_shrinkers++;
}

/* Where edges are uncertain, what is inside may seem to take longer than the whole. */
static void trim(struct phases *phases, uint64_t excess)
{
	while (excess) {
		enum phase_group group;
		enum phase_part part;
		uint64_t ns = phases_largest(phases, &group, &part);
		uint64_t cut = ns < excess ? ns : excess;

		if (!cut)
			return;
		phases->ns[group][part] -= cut;
		excess -= cut;
	}
}

/* The rest is what is left of the whole, so that the sum is right whatever a limit left out. */
static void sum_phases(struct stalls *stalls, struct stall *stall, struct span *span)
{
	uint64_t known;

	for (struct link *link = span->slices.next; link != &span->slices; link = link->next) {
		const struct slice *slice = list_entry(link, struct slice, link);

		if (slice->group != PHASE_REST)
			stall->phases.ns[slice->group][slice->part] += slice->ns;
		if (slice->shrinker)
			add_shrinker(stalls, stall, slice);
	}
	known = phases_total(&stall->phases);
	if (known > length_of(span))
		trim(&stall->phases, known - length_of(span));
	else
		stall->phases.ns[PHASE_REST][PART_OWN] = length_of(span) - known;
	stall->shrinkers = stalls->shrinkers;
}

static void tell_facts(const struct stalls *stalls, struct stall *stall,
		       const struct details *details)
{
	stall->order = details->asked_at ? details->order : -1;
	stall->has_gfp = details->asked_at;
	stall->gfp = details->gfp;
	stall->gfp_names = details->asked_at ? detail_names_gfp(stalls->names, details->gfp) : "";
	stall->has_reclaimed = details->has_reclaimed;
	stall->nr_reclaimed = details->nr_reclaimed;
	stall->compaction =
		details->compacted_at ? detail_names_status(stalls->names, details->status) : "";
	stall->memcg_id = details->memcg_id;
	stall->stack = details->stack;
	stall->nr_events = details->nr_events;
}

static int tell(struct stalls *stalls, const struct owner *owner, struct span *span)
{
	struct stall stall = {
		.key = owner->key,
		.pid = span->pid,
		.cpu = span->cpu,
		.start = span->start,
		.end = span->end,
		.function = span->function,
		.role = span->role,
		.depth = span->depth,
		.nr_windows = span->nr_windows,
		.incomplete = stalls->lost_at > span->start || owner->gone_at > span->start,
	};

	sum_phases(stalls, &stall, span);
	tell_facts(stalls, &stall, &span->details);
	return stalls->callbacks.stall(stalls->callbacks.context, &stall);
}

/* A fast pair around which there was nothing slow is nobody's stall. */
static int complete(struct stalls *stalls, struct owner *owner, struct span *span)
{
	int ret;

	remove_span(owner, span);
	ret = span->slow ? tell(stalls, owner, span) : 0;
	release_span(stalls, span);
	return ret;
}

static int complete_all(struct stalls *stalls, struct owner *owner)
{
	int ret = 0;

	while (!ret && !list_empty(&owner->spans))
		ret = complete(stalls, owner, oldest_span(owner));
	return ret;
}

/* What comes later around a span that had to go lacks it. */
static void note_gone(struct owner *owner, const struct span *span)
{
	if (span->end > owner->gone_at)
		owner->gone_at = span->end;
}

static int complete_old(struct stalls *stalls, struct owner *owner, uint64_t now)
{
	int ret = 0;

	while (!ret && !list_empty(&owner->spans) &&
	       oldest_span(owner)->end + STALL_PATIENCE < now) {
		struct span *span = oldest_span(owner);

		ret = complete(stalls, owner, span);
		note_gone(owner, span);
	}
	return ret;
}

/* ---- owners ---- */

static struct owner **hash_slot(struct stalls *stalls, struct task_key key)
{
	uint32_t hash = ((uint32_t)key.id * 8 + key.kind) * 2654435761u;
	struct owner **slot = &stalls->hash[(hash >> 16) & (HASH_SIZE - 1)];

	while (*slot && ((*slot)->key.id != key.id || (*slot)->key.kind != key.kind))
		slot = &(*slot)->hash_next;
	return slot;
}

static int forget_owner(struct stalls *stalls, struct owner *owner)
{
	int ret = complete_all(stalls, owner);

	if (ret)
		return ret;
	*hash_slot(stalls, owner->key) = owner->hash_next;
	list_remove(&owner->age);
	list_append(&stalls->unused_owners, &owner->age);
	return 0;
}

static struct owner *oldest_owner(struct stalls *stalls)
{
	return list_entry(stalls->by_age.next, struct owner, age);
}

static int make_owner_room(struct stalls *stalls)
{
	if (!list_empty(&stalls->unused_owners))
		return 0;
	if (oldest_owner(stalls)->nr_spans)
		stalls->drops.owners++;
	return forget_owner(stalls, oldest_owner(stalls));
}

static int new_owner(struct stalls *stalls, struct task_key key, struct owner **ret_owner)
{
	struct owner *owner;
	int ret = make_owner_room(stalls);

	if (ret)
		return ret;
	owner = list_entry(stalls->unused_owners.next, struct owner, age);
	list_remove(&owner->age);
	*owner = (struct owner){ .key = key };
	list_init(&owner->spans);
	*hash_slot(stalls, key) = owner;
	*ret_owner = owner;
	return 0;
}

static int owner_of(struct stalls *stalls, struct task_key key, uint64_t now,
		    struct owner **ret_owner)
{
	int ret = 0;

	*ret_owner = *hash_slot(stalls, key);
	if (*ret_owner)
		list_remove(&(*ret_owner)->age);
	else
		ret = new_owner(stalls, key, ret_owner);
	if (ret)
		return ret;
	(*ret_owner)->last = now;
	list_append(&stalls->by_age, &(*ret_owner)->age);
	return complete_old(stalls, *ret_owner, now);
}

/* ---- spans ---- */

static void drop_span(struct stalls *stalls, struct owner *owner)
{
	struct span *span = oldest_span(owner);

	/* A fast pair most likely was nobody's. */
	if (span->slow)
		stalls->drops.spans++;
	note_gone(owner, span);
	remove_span(owner, span);
	release_span(stalls, span);
}

static bool is_fast_pair(const struct span *span)
{
	return !span->slow && !span->function;
}

/* A task has very many fast pairs where reclaim goes through many cgroups. The two oldest next to
 * each other become one: what comes around them began before both, or nearly always so. */
static bool fold_pairs(struct stalls *stalls, struct owner *owner)
{
	struct span *first = oldest_span(owner);
	struct span *second;
	struct link *link;

	if (owner->nr_spans < 2)
		return false;
	second = list_entry(first->link.next, struct span, link);
	if (!is_fast_pair(first) || !is_fast_pair(second))
		return false;
	for (link = second->slices.next; link != &second->slices; link = link->next)
		slices_put(stalls->slices, &first->slices, list_entry(link, struct slice, link));
	first->end = second->end;
	first->busy += second->busy;
	details_merge(&first->details, &second->details);
	remove_span(owner, second);
	release_span(stalls, second);
	return true;
}

/* A task with many spans makes room by itself; else the one that has been silent for longest. */
static void make_span_room(struct stalls *stalls, struct owner *owner)
{
	struct link *link = stalls->by_age.next;

	if (!list_empty(&stalls->unused_spans))
		return;
	while (owner->nr_spans <= OWN_SHARE && link != &stalls->by_age) {
		struct owner *other = list_entry(link, struct owner, age);

		link = link->next;
		if (!other->nr_spans)
			continue;
		owner = other;
		break;
	}
	if (!fold_pairs(stalls, owner))
		drop_span(stalls, owner);
}

static struct span *new_span(struct stalls *stalls, struct owner *owner)
{
	struct span *span;

	make_span_room(stalls, owner);
	span = list_entry(stalls->unused_spans.next, struct span, link);
	list_remove(&span->link);
	*span = (struct span){ .slow = true };
	list_init(&span->slices);
	return span;
}

static void note_events(struct stalls *stalls, struct span *span,
			const struct record *const *events, size_t nr_events)
{
	for (size_t i = 0; i < nr_events; i++)
		details_event(&span->details, stalls->names, events[i]);
}

/* Of two spans of a task, one contains the other or they are apart, so the middle tells, also
 * where edges are uncertain. */
static bool is_inside(const struct span *inner, const struct span *outer)
{
	return inner->start + length_of(inner) / 2 >= outer->start;
}

/* What is in a shrinker's run is of that shrinker. */
static void tag(struct slice *slice, const struct span *around, const struct slice *own)
{
	enum phase_part part = slice->part;

	slices_tag(slice, around->role);
	if (own->shrinker && part != PART_SLAB && slice->part == PART_SLAB) {
		slice->shrinker = own->shrinker;
		slice->callback = own->callback;
	}
}

static void take_pieces(struct stalls *stalls, struct span *span, struct span *inner,
			const struct slice *own)
{
	for (struct link *link = inner->slices.next; link != &inner->slices; link = link->next) {
		struct slice slice = *list_entry(link, struct slice, link);

		tag(&slice, span, own);
		slices_put(stalls->slices, &span->slices, &slice);
	}
}

/* Takes in the spans that lie inside, and counts the time that is in none of them as its own. */
static void absorb(struct stalls *stalls, struct owner *owner, struct span *span, struct slice *own)
{
	uint64_t covered = 0;

	while (!list_empty(&owner->spans) && is_inside(newest_span(owner), span)) {
		struct span *inner = newest_span(owner);

		covered += inner->busy;
		span->nr_windows += inner->nr_windows;
		details_merge(&span->details, &inner->details);
		take_pieces(stalls, span, inner, own);
		remove_span(owner, inner);
		release_span(stalls, inner);
	}
	own->group = PHASE_REST;
	own->part = PART_OWN;
	own->ns = length_of(span) > covered ? length_of(span) - covered : 0;
	slices_tag(own, span->role);
	slices_put(stalls->slices, &span->slices, own);
	span->busy = length_of(span);
}

/* Nothing comes around a span of depth 0, nor around what was before it. */
static int append(struct stalls *stalls, struct owner *owner, struct span *span)
{
	list_append(&owner->spans, &span->link);
	owner->nr_spans++;
	return span->depth > 0 ? 0 : complete_all(stalls, owner);
}

int stalls_window(struct stalls *stalls, const struct task_window *window)
{
	const struct record *exit = window->exit;
	struct slice own = { .ns = 0 };
	struct owner *owner;
	struct span *span;
	int ret = owner_of(stalls, window->key, exit->window.rettime, &owner);

	if (ret)
		return ret;
	span = new_span(stalls, owner);
	span->start = exit->window.calltime;
	span->end = exit->window.rettime;
	span->function = exit->window.function;
	span->pid = exit->pid;
	span->cpu = exit->cpu;
	span->role = exit->window.role;
	span->depth = exit->window.depth;
	span->nr_windows = 1;
	note_events(stalls, span, window->events, window->nr_events);
	if (window->incomplete)
		note_gone(owner, span);
	absorb(stalls, owner, span, &own);
	return append(stalls, owner, span);
}

static void fill_pair_span(struct stalls *stalls, struct span *span, const struct task_pair *pair)
{
	span->start = pair->begin->ts;
	span->end = pair->end->ts;
	span->pid = pair->end->pid;
	span->cpu = pair->end->cpu;
	span->slow = pair->slow;
	span->role = catalog_pair_role(stalls->plan->events[pair->end->event].id);
	/* With function_graph there may be a window around it, without it another pair. */
	span->depth = stalls->plan->function_graph || pair->within;
	details_event(&span->details, stalls->names, pair->begin);
	note_events(stalls, span, pair->events, pair->nr_events);
	details_event(&span->details, stalls->names, pair->end);
}

int stalls_pair(struct stalls *stalls, const struct task_pair *pair)
{
	struct slice own = {
		.shrinker = pair->begin->fields.shrinker,
		.callback = pair->begin->fields.callback,
		.count = 1,
	};
	struct owner *owner;
	struct span *span;
	int ret = owner_of(stalls, pair->key, pair->end->ts, &owner);

	if (ret)
		return ret;
	span = new_span(stalls, owner);
	fill_pair_span(stalls, span, pair);
	if (pair->incomplete)
		note_gone(owner, span);
	absorb(stalls, owner, span, &own);
	return append(stalls, owner, span);
}

void stalls_lost(struct stalls *stalls, uint64_t ts)
{
	if (ts > stalls->lost_at)
		stalls->lost_at = ts;
}

int stalls_time(struct stalls *stalls, uint64_t ts)
{
	int ret = 0;

	while (!ret && !list_empty(&stalls->by_age) &&
	       oldest_owner(stalls)->last + STALL_PATIENCE < ts)
		ret = forget_owner(stalls, oldest_owner(stalls));
	return ret;
}

int stalls_flush(struct stalls *stalls)
{
	int ret = 0;

	while (!ret && !list_empty(&stalls->by_age))
		ret = forget_owner(stalls, oldest_owner(stalls));
	return ret;
}

void stalls_drops(const struct stalls *stalls, struct stalls_drops *drops)
{
	*drops = stalls->drops;
	drops->shrinkers += slices_overflow(stalls->slices);
	drops->names = detail_names_missed(stalls->names);
}
