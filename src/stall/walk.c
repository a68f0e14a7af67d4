// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/walk.h"

#include "stall/slices.h"

/* The most by which the edge of a window is off against the time of a switch. */
#define SWITCH_EDGE 50000 /* ns */

static uint64_t middle_of(uint64_t start, uint64_t end)
{
	return start + (end - start) / 2;
}

static void note_logged_event(struct walk *walk, struct log_entry *entry)
{
	struct record record;

	log_record(entry, &record);
	decode_fields(walk->decode, &record);
	details_event(&walk->details, walk->plan, walk->resolver, &record);
}

/* ---- where the time went ---- */

static void add_shrinker(struct walk *walk, const struct work *work, struct stall_slice slice)
{
	slice.shrinker = work->shrinker;
	slice.callback = work->callback;
	slice.group = work->group;
	walk->cut |= slices_add(walk->shrinkers, &walk->stall->nr_shrinkers, &slice);
}

/*
 * Gives the time from @from on to the innermost window. @off_cpu: the time off the CPU that it is in;
 * NULL: none
 */
static void spend(struct walk *walk, uint64_t from, enum phase_state state,
		  const struct log_off_cpu *off_cpu)
{
	const struct work *work = &walk->levels[walk->nr_levels - 1].work;
	uint64_t ns;

	from = MAX(from, walk->stall->start);
	if (from >= walk->at)
		return;
	ns = walk->at - from;
	if (off_cpu && state == STATE_WAITED)
		slices_add_runners(&walk->runs, off_cpu, from, walk->at, walk->runners,
				   &walk->stall->nr_runners);
	walk->at = from;
	phases_spend(&walk->stall->phases, work->group, work->part, state, ns);
	if (work->shrinker) {
		struct stall_slice slice = { .ns = ns };

		slice.in[state] = ns;
		add_shrinker(walk, work, slice);
	}
	if (off_cpu && state != STATE_WAITED && off_cpu->function)
		walk->cut |= slices_add(
			walk->sleeps, &walk->stall->nr_sleeps,
			&(struct stall_slice){
				.shrinker = work->shrinker,
				.callback = work->callback,
				.function = resolver_function(walk->resolver, off_cpu->function),
				.group = work->group,
				.part = work->part,
				.state = state,
				.ns = ns,
			});
}

/* The same back to a time at which the task ran: it called a function, returned, or got a CPU. */
static void spend_seen(struct walk *walk, uint64_t from)
{
	if (from >= walk->at)
		return;
	spend(walk, from, walk->state, NULL);
	walk->state = walk->stall->off_cpu ? STATE_RUNNING : STATE_UNKNOWN;
}

/*
 * A function without work of its own works for the function around it. General reclaim inside a
 * kind of reclaim is of that kind.
 */
static void set_work(struct level *level, const struct level *around, const struct plan *plan)
{
	struct work *work = &level->work;

	if (level->role >= 0 && level->role < ROLE_COUNT) {
		work->group = catalog_roles[level->role].group;
		work->part = plan_part(plan, level->role);
	}
	level->reclaim = around->reclaim;
	/* Nor does a wait for a page tell more than the function that needs it. */
	if (work->group == PHASE_OUTSIDE ||
	    (work->group == PHASE_REFAULT && around->work.group != PHASE_OUTSIDE)) {
		*work = around->work;
		return;
	}
	if (!phases_is_reclaim(work->group))
		return;
	if (work->group == PHASE_OTHER_RECLAIM && phases_is_reclaim(around->reclaim.group)) {
		if (work->part == PART_ITSELF)
			*work = around->reclaim;
		work->group = around->reclaim.group;
	}
	level->reclaim = *work;
}

/* ---- levels ---- */

static struct level *innermost(struct walk *walk)
{
	return &walk->levels[walk->nr_levels - 1];
}

static void leave_level(struct walk *walk)
{
	spend_seen(walk, innermost(walk)->start);
	walk->nr_levels--;
}

/* Windows and pairs of a task nest, or are apart. Where edges are uncertain, the middle decides. */
static void leave_until(struct walk *walk, uint64_t middle, bool slow)
{
	while (walk->nr_levels > 1 &&
	       (innermost(walk)->start > middle || (slow && !innermost(walk)->entry->slow)))
		leave_level(walk);
}

static void walk_pair(struct walk *walk, struct log_entry *end)
{
	const struct log_pair *pair = log_pair(end);

	if (plan_is_wait(&walk->plan->events[end->event]))
		return;
	if (walk->plan->events[end->event].id == EVENT_SLAB_END) {
		details_slab(&walk->details, pair->nid, pair->priority);
		return;
	}
	note_logged_event(walk, end);
	note_logged_event(walk, pair->partner);
}

static void enter_level(struct walk *walk, struct log_entry *entry)
{
	const struct level *around = innermost(walk);
	struct level level = {
		.entry = entry,
		.start = log_start(entry),
		.end = log_end(entry),
		.work = { PHASE_OUTSIDE, PART_ITSELF, 0, 0 },
	};

	if (walk->nr_levels > WALK_LEVELS) {
		walk->cut = true;
		return;
	}
	spend_seen(walk, level.end);
	if (entry->kind == LOG_WINDOW) {
		level.role = resolver_role(walk->resolver, log_window(entry)->at.function);
		/* A window of other I/O is never slow. */
		if (level.role == ROLE_IO && entry->slow)
			level.role = ROLE_REFAULT;
		walk->stall->nr_windows += entry->slow;
		if (around->entry && around->entry->kind == LOG_WINDOW &&
		    log_window(entry)->at.depth - 1 > log_window(around->entry)->at.depth)
			walk->gap = true;
	} else {
		level.role = catalog_pair_role(walk->plan->events[entry->event].id);
		if (level.role == ROLE_WAIT) {
			level.role = entry->role;
		} else {
			level.work.shrinker = log_pair(entry)->shrinker;
			level.work.callback = log_pair(entry)->callback;
		}
		walk->stall->nr_events += 2;
		walk_pair(walk, entry);
	}
	entry->role = (int16_t)level.role;
	*log_events(entry) = NULL;
	set_work(&level, around, walk->plan);
	walk->levels[walk->nr_levels++] = level;
	if (level.role == ROLE_SHRINKER && level.work.shrinker)
		add_shrinker(walk, &level.work,
			     (struct stall_slice){
				     .count = 1,
				     .scanned = log_pair(entry)->scanned,
				     .freed = log_pair(entry)->freed,
			     });
	if (entry->slow) {
		entry->next = walk->stall->windows;
		walk->stall->windows = entry;
	}
}

/* ---- entries ---- */

static bool owns(const struct walk *walk, const struct level *level, const struct plan_event *event)
{
	if (!level->entry->slow)
		return false;
	if (level->entry->kind == LOG_END)
		return !walk->plan->function_graph && event->rule == RULE_ANY_WINDOW;
	return event->rule == RULE_ANY_WINDOW ||
	       (event->rule == RULE_OWNER && level->role != ROLE_NONE &&
		event->owners & ROLE_BIT(level->role));
}

/* An event goes to its innermost slow owner. */
static void walk_event(struct walk *walk, struct log_entry *entry)
{
	const struct plan_event *event = &walk->plan->events[entry->event];

	leave_until(walk, entry->ts + walk->edge, false);
	if (entry->ts + walk->edge < walk->stall->start || entry->ts > walk->stall->end)
		return;
	if (walk->state == STATE_OFF)
		spend_seen(walk, entry->ts);
	note_logged_event(walk, entry);
	for (size_t i = walk->nr_levels - 1; i; i--) {
		struct level *level = &walk->levels[i];
		struct log_entry **events;

		if (entry->ts > level->end || !owns(walk, level, event))
			continue;
		events = log_events(level->entry);
		entry->next = *events;
		*events = entry;
		walk->stall->nr_events++;
		return;
	}
}

/*
 * A task runs when it calls a function and when it returns. So off-CPU time across an edge means that
 * a switch was lost: from the one that was not up to that edge the task was off its CPU, for all that
 * is known.
 */
static void walk_off_cpu(struct walk *walk, struct log_entry *entry)
{
	const struct log_off_cpu *off_cpu = log_off_cpu(entry);
	uint64_t came = off_cpu->came ? off_cpu->came : UINT64_MAX, woken = came;
	bool lost = off_cpu->state == STATE_OFF;

	if (!walk->stall->off_cpu || came <= walk->stall->start || entry->ts >= walk->stall->end ||
	    (!off_cpu->came && entry->ts <= walk->stall->start))
		return;
	leave_until(walk, came, false);
	lost |= came > walk->at + SWITCH_EDGE ||
		(innermost(walk)->start > entry->ts + SWITCH_EDGE &&
		 innermost(walk)->start + SWITCH_EDGE < came);
	if (!lost) {
		leave_until(walk, middle_of(entry->ts, came), false);
		lost = came > walk->at + SWITCH_EDGE ||
		       entry->ts + SWITCH_EDGE < innermost(walk)->start;
	}
	spend_seen(walk, came);
	if (lost && came > walk->stall->start + SWITCH_EDGE) {
		walk->no_switch = true;
		if (came == walk->at)
			walk->state = STATE_OFF;
		leave_until(walk, entry->ts, false);
		if (off_cpu->state != STATE_OFF) {
			walk->state = STATE_OFF;
			spend_seen(walk, entry->ts);
		}
	}
	if (lost)
		return;
	entry->next = walk->stall->off_times;
	walk->stall->off_times = entry;
	if (off_cpu->woken && off_cpu->woken < came)
		woken = off_cpu->woken;
	spend(walk, woken, STATE_WAITED, off_cpu);
	spend(walk, entry->ts, (enum phase_state)off_cpu->state, off_cpu);
}

/* Goes back to the start of the stall. */
static void walk_back(struct walk *walk, struct log_cursor cursor)
{
	while (walk->nr_levels > 1 && log_cursor_back(&cursor)) {
		struct log_entry *entry = cursor.entry;

		switch (entry->kind) {
		case LOG_END:
			if (!log_pair(entry)->partner)
				break;
			/* fall through */
		case LOG_WINDOW:
			leave_until(walk, middle_of(log_start(entry), log_end(entry)), entry->slow);
			if (walk->nr_levels > 1)
				enter_level(walk, entry);
			break;
		case LOG_EVENT:
			walk_event(walk, entry);
			break;
		case LOG_OFF_CPU:
			walk_off_cpu(walk, entry);
			break;
		default:
			break;
		}
	}
	while (walk->nr_levels > 1)
		leave_level(walk);
	spend_seen(walk, walk->stall->start);
}

void walk_stall(struct walk *walk, struct log_cursor end, uint64_t start, struct stall *stall)
{
	struct log_entry *entry = end.entry;

	*stall = (struct stall){
		.tid = entry->tid,
		.cpu = entry->cpu,
		.start = start,
		.end = log_end(entry),
		.function = entry->kind == LOG_WINDOW ? log_window(entry)->at.function : 0,
		.shrinkers = walk->shrinkers,
		.off_cpu = start >= walk->off_cpu_from,
		.sleeps = walk->sleeps,
		.runners = walk->runners,
		.order = -1,
		.runs = &walk->runs,
	};
	walk->stall = stall;
	walk->details = (struct details){ .stall = stall };
	walk->cut = walk->no_switch = false;
	walk->state = stall->off_cpu ? STATE_RUNNING : STATE_UNKNOWN;
	walk->at = stall->end;
	walk->levels[0] = (struct level){
		.start = start,
		.role = ROLE_NONE,
		.work = { PHASE_OUTSIDE, PART_ITSELF, 0, 0 },
		.reclaim = { PHASE_OUTSIDE, PART_ITSELF, 0, 0 },
	};
	walk->nr_levels = 1;
	enter_level(walk, entry);
	walk->levels[1].start = start;
	stall->role = walk->levels[1].role;
	walk_back(walk, end);
	slices_sort(walk->shrinkers, stall->nr_shrinkers);
	slices_sort(walk->sleeps, stall->nr_sleeps);
	slices_sort(walk->runners, stall->nr_runners);
	stall->no_runner = phases_state(&stall->phases, STATE_WAITED);
	for (size_t i = 0; i < stall->nr_runners; i++)
		stall->no_runner -= walk->runners[i].ns;
}
