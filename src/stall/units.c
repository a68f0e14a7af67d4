// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stall.h"

#define MINUTE (60 * NS_PER_SECOND)
#define DAY    (24 * 60 * MINUTE)

#define RECENT_MAX                                                                                 \
	3 /* minutes: a file that is 20 s old and scraped each minute has each stall once */

struct unit {
	struct hash_link hash; /* in order of their last stalls */
	struct unit_total total;
	bool has_place;
	bool has_counters;		 /* it has a place, or had one */
	uint64_t last;			 /* ns: end of its latest stall */
	uint64_t minute;		 /* of the latest stall */
	uint64_t recent_max[RECENT_MAX]; /* ns: of that minute, and of those before */
};

struct units {
	struct hash hash; /* by hash_text() of the name */
	struct unit unit[UNITS_MAX];
	struct unit other;
	struct unit *places[UNITS_PLACES_MAX];
	size_t nr_places; /* that are taken */
	size_t most_places;
	size_t nr_counters;
	const struct unit_total *sorted[UNITS_MAX]; /* by units_period() */
	uint64_t overflow;
};

struct units *units_new(unsigned int places)
{
	struct units *units = calloc(1, sizeof(*units));

	if (!units)
		return NULL;
	if (hash_init(&units->hash, &units->unit[0].hash, sizeof(units->unit[0]), UNITS_MAX)) {
		free(units);
		errno = ENOMEM;
		return NULL;
	}
	units->most_places = places;
	strcpy(units->other.total.name, "other");
	return units;
}

void units_free(struct units *units)
{
	if (!units)
		return;
	hash_destroy(&units->hash);
	free(units);
}

/* ---- counting ---- */

/* Of those without counters: there are more units than these. */
static struct unit *silent_longest(struct units *units)
{
	struct hash_link *link;

	TAILQ_FOREACH(link, &units->hash.used, use) {
		struct unit *unit = container_of(link, struct unit, hash);

		if (!unit->has_counters)
			return unit;
	}
	return NULL;
}

static struct unit *find_or_add(struct units *units, const char *name)
{
	uint64_t key = hash_text(name);
	struct hash_link *link = hash_find(&units->hash, key);
	struct unit *unit;

	if (link)
		return container_of(link, struct unit, hash);
	if (hash_is_full(&units->hash)) {
		hash_remove(&units->hash, &silent_longest(units)->hash);
		units->overflow++;
	}
	unit = container_of(hash_insert(&units->hash, key), struct unit, hash);
	memset(&unit->total, 0, sizeof(*unit) - offsetof(struct unit, total));
	snprintf(unit->total.name, sizeof(unit->total.name), "%s", name);
	return unit;
}

/* A free place, or that of the unit that has been silent longest, if for a day. */
static void find_place(struct units *units, struct unit *unit, uint64_t now)
{
	size_t place = 0;

	if (!unit->has_counters && units->nr_counters == UNITS_COUNTERS_MAX)
		return;
	if (units->nr_places < units->most_places) {
		place = units->nr_places++;
	} else if (!units->nr_places) {
		return;
	} else {
		for (size_t i = 1; i < units->nr_places; i++)
			if (units->places[i]->last < units->places[place]->last)
				place = i;
		if (units->places[place]->last + DAY > now)
			return;
		units->places[place]->has_place = false;
	}
	units->places[place] = unit;
	unit->has_place = true;
	units->nr_counters += !unit->has_counters;
	unit->has_counters = true;
}

static void count_series(struct unit *unit, const struct stall *stall, int cause)
{
	uint64_t ns = stall->end - stall->start;
	uint64_t minute = stall->end / MINUTE, age;

	if (!unit->total.causes[cause].count++)
		unit->total.since[cause] = stall->end;
	unit->total.causes[cause].total += ns;
	for (; unit->minute < minute; unit->minute++) {
		if (minute - unit->minute > RECENT_MAX)
			unit->minute = minute - RECENT_MAX;
		memmove(unit->recent_max + 1, unit->recent_max,
			sizeof(unit->recent_max) - sizeof(unit->recent_max[0]));
		unit->recent_max[0] = 0;
	}
	/* A stall may be emitted after one that ended later. */
	age = unit->minute - minute;
	if (age < RECENT_MAX && ns > unit->recent_max[age])
		unit->recent_max[age] = ns;
}

void units_stall(struct units *units, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const char *cgroup = named->task_info->cgroup;
	uint64_t ns = stall->end - stall->start;
	int cause = cause_which(stall);
	char name[UNIT_NAME_BYTES];
	struct unit *unit;

	if (task_key_in_interrupt(stall->key) || !*cgroup)
		strcpy(name, UNIT_NONE);
	else if (!unit_name_of_cgroup(cgroup, name))
		snprintf(name, sizeof(name), "%s", cgroup);
	unit = find_or_add(units, name);
	unit->total.count++;
	unit->total.total += ns;
	if (ns > unit->total.max)
		unit->total.max = ns;
	unit->total.cause_totals[cause] += ns;
	if (!unit->has_place)
		find_place(units, unit, stall->end);
	unit->last = stall->end;
	count_series(unit->has_place ? unit : &units->other, stall, cause);
}

/* ---- reading ---- */

static const struct unit *unit_at(const struct units *units, size_t place)
{
	return place < units->nr_places ? units->places[place] : &units->other;
}

bool units_have_places(const struct units *units)
{
	return units->most_places;
}

const struct unit_total *units_series(const struct units *units, size_t place)
{
	return place <= units->nr_places ? &unit_at(units, place)->total : NULL;
}

uint64_t units_recent_max(const struct units *units, size_t place, uint64_t ts)
{
	const struct unit *unit = unit_at(units, place);
	uint64_t minute = ts / MINUTE, max = 0;

	for (size_t i = 0; i < RECENT_MAX; i++)
		if (unit->minute + RECENT_MAX > minute + i && unit->recent_max[i] > max)
			max = unit->recent_max[i];
	return max;
}

static bool comes_before(const struct unit_total *a, const struct unit_total *b)
{
	return a->total != b->total ? a->total > b->total : strcmp(a->name, b->name) < 0;
}

/* Insertion sort: qsort(3) allocates. */
size_t units_period(struct units *units, const struct unit_total *const **ret_totals)
{
	const struct unit_total **sorted = units->sorted;
	struct hash_link *link;
	size_t count = 0;

	TAILQ_FOREACH(link, &units->hash.used, use) {
		const struct unit_total *total = &container_of(link, struct unit, hash)->total;
		size_t place = count;

		if (!total->count)
			continue;
		for (; place && comes_before(total, sorted[place - 1]); place--)
			sorted[place] = sorted[place - 1];
		sorted[place] = total;
		count++;
	}
	*ret_totals = sorted;
	return count;
}

void units_end_period(struct units *units)
{
	for (size_t i = 0; i < UNITS_MAX; i++) {
		struct unit_total *total = &units->unit[i].total;

		total->count = 0;
		total->total = 0;
		total->max = 0;
		memset(total->cause_totals, 0, sizeof(total->cause_totals));
	}
}

uint64_t units_overflow(const struct units *units)
{
	return units->overflow;
}
