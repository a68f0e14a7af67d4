// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/slices.h"

void slices_init(struct slices *slices)
{
	pool_init(&slices->pool, slices->slices, sizeof(slices->slices[0]), STALLS_SLICES_MAX);
	slices->nr_unused = STALLS_SLICES_MAX;
}

void slices_tag(struct slice *slice, const struct plan *plan, int role)
{
	const struct catalog_role *around;

	if (role < 0 || role >= ROLE_COUNT)
		return;
	around = &catalog_roles[role];
	if (slice->group == PHASE_REST) {
		slice->group = around->group;
		slice->part = plan_part(plan, role);
	} else if (slice->group == PHASE_OTHER_RECLAIM && phases_is_reclaim(around->group)) {
		slice->group = around->group;
		if (slice->part == PART_OWN)
			slice->part = plan_part(plan, role);
	}
}

struct slice *slices_take(struct slices *slices)
{
	slices->nr_unused--;
	return pool_take(&slices->pool);
}

static void put_back(struct slices *slices, struct slice *slice)
{
	pool_put(&slices->pool, slice);
	slices->nr_unused++;
}

/* Adds the slice's time to the equal slice of the list; false: there is none. */
static bool add_to_equal(struct slices *slices, struct slice_list *list, struct slice *slice)
{
	struct slice *equal;

	TAILQ_FOREACH(equal, list, link)
		if (equal->shrinker == slice->shrinker && equal->callback == slice->callback &&
		    equal->function == slice->function && equal->group == slice->group &&
		    equal->part == slice->part && equal->state == slice->state)
			break;
	if (!equal)
		return false;
	equal->ns += slice->ns;
	equal->count += slice->count;
	equal->unnamed |= slice->unnamed;
	put_back(slices, slice);
	return true;
}

static bool has_name(const struct slice *slice)
{
	return slice->shrinker || slice->function;
}

void slices_add(struct slices *slices, struct slice_list *list, struct slice *slice)
{
	struct slice *least = slice, *other;
	unsigned int nr_names = 0;

	if (add_to_equal(slices, list, slice))
		return;
	TAILQ_INSERT_TAIL(list, slice, link);
	TAILQ_FOREACH(other, list, link) {
		nr_names += has_name(other);
		if (has_name(other) && other->ns < least->ns)
			least = other;
	}
	if (!has_name(slice) ||
	    (nr_names <= STALL_SHRINKERS_MAX && slices->nr_unused >= STALLS_SLICES_MAX / 4))
		return;
	TAILQ_REMOVE(list, least, link);
	least->shrinker = 0;
	least->callback = 0;
	least->function = 0;
	least->unnamed = true;
	if (!add_to_equal(slices, list, least))
		TAILQ_INSERT_TAIL(list, least, link);
}

struct slice *slices_pop(struct slice_list *list)
{
	struct slice *slice = TAILQ_FIRST(list);

	if (slice)
		TAILQ_REMOVE(list, slice, link);
	return slice;
}

void slices_release(struct slices *slices, struct slice_list *list)
{
	struct slice *slice;

	while ((slice = slices_pop(list)))
		put_back(slices, slice);
}
