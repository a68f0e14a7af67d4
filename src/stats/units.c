// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stats/units.h"

struct units {
	struct hash hash; /* of series, in the order of their latest stalls */
	struct unit_series series[UNITS_MAX];
	struct unit_series other;
	unsigned int places, taken;
	uint64_t refused;
	struct ranking *period; /* struct unit_total */
	uint64_t evicted;	/* in the periods before */
};

struct units *units_new(unsigned int places)
{
	struct units *units = calloc(1, sizeof(*units));

	if (!units)
		return NULL;
	units->period = ranking_new(UNITS_MAX, sizeof(struct unit_total), UNIT_NAME_BYTES);
	if (!units->period || hash_init(&units->hash, &units->series[0].link,
					sizeof(units->series[0]), places ? places : 1)) {
		units_free(units);
		return NULL;
	}
	units->places = places;
	strcpy(units->other.name, places ? "other" : "");
	return units;
}

void units_free(struct units *units)
{
	if (!units)
		return;
	hash_destroy(&units->hash);
	ranking_free(units->period);
	free(units);
}

/* ---- counting ---- */

static void begin_minute(struct unit_series *unit, uint64_t minute)
{
	for (; unit->minute < minute; unit->minute++) {
		if (minute - unit->minute > ARRAY_SIZE(unit->recent_max))
			unit->minute = minute - ARRAY_SIZE(unit->recent_max);
		memmove(unit->recent_max + 1, unit->recent_max,
			sizeof(unit->recent_max) - sizeof(unit->recent_max[0]));
		unit->recent_max[0] = 0;
	}
}

/* Metrics tell the first causes apart: one that is counted later begins later, even if it ended before. */
static void begin_cause(struct unit_series *unit, int cause, uint64_t end)
{
	for (int other = 0; other < CAUSES; other++)
		if (unit->causes[other].count && unit->since[other] >= end)
			end = unit->since[other] + 1;
	unit->since[cause] = end;
}

static void count_series(struct unit_series *unit, const struct stall *stall, int cause)
{
	uint64_t ns = stall->end - stall->start;
	uint64_t minute = stall->end / NS_PER_MINUTE, age;

	if (!unit->causes[cause].count)
		begin_cause(unit, cause, stall->end);
	unit->causes[cause].count++;
	add_ns(&unit->causes[cause].total, ns);
	begin_minute(unit, minute);
	/* A stall may be emitted after one that ended later. */
	age = unit->minute - minute;
	if (age < ARRAY_SIZE(unit->recent_max) && ns > unit->recent_max[age])
		unit->recent_max[age] = ns;
}

static void count_period(struct units *units, const char *name, const struct named_stall *named,
			 int cause)
{
	struct unit_total *total = ranking_enter(units->period, hash_text(name), name);
	uint64_t ns = named->stall->end - named->stall->start;

	total->count++;
	total->max = MAX(total->max, ns);
	add_ns(&total->total, ns);
	add_ns(&total->cause_totals[cause], ns);
	remedies_stall(&total->remedies, named);
	ranking_spend(units->period, total, ns);
}

/*
 * A unit that was silent for a day gives its series to another one: Prometheus takes a counter that begins
 * anew as a reset.
 */
static struct unit_series *find_series(struct units *units, const char *name, uint64_t now)
{
	uint64_t key = hash_text(name);
	struct hash_link *link = hash_find(&units->hash, key);
	struct unit_series *unit;

	if (link)
		return container_of(link, struct unit_series, link);
	if (!units->places)
		return &units->other;
	if (hash_is_full(&units->hash)) {
		unit = container_of(hash_oldest(&units->hash), struct unit_series, link);
		if (now < unit->minute * NS_PER_MINUTE + NS_PER_DAY) {
			units->refused++;
			return &units->other;
		}
	} else {
		units->taken++;
	}
	link = hash_insert(&units->hash, key);
	unit = container_of(link, struct unit_series, link);
	*unit = (struct unit_series){ .link = *link };
	strcpy(unit->name, name);
	return unit;
}

/* Names that are shown alike are one, as no two series of metrics may have the same labels. */
static void unit_of(const struct named_stall *named, char name[UNIT_NAME_BYTES])
{
	const char *cgroup = named->task_info->cgroup;
	char unit[UNIT_NAME_BYTES];
	const char *shown = unit;

	if (task_key_in_interrupt(named->stall->key) || !*cgroup)
		shown = UNIT_NONE;
	else if (!unit_name_of_cgroup(cgroup, unit))
		shown = cgroup;
	text_escape(name, UNIT_NAME_BYTES, shown, TEXT_PRINTABLE);
}

void units_stall(struct units *units, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	int cause = cause_which(stall);
	char name[UNIT_NAME_BYTES];

	unit_of(named, name);
	count_period(units, name, named, cause);
	count_series(find_series(units, name, stall->end), stall, cause);
}

void units_wait(struct units *units, const struct named_stall *named,
		const struct memory_wait *wait, bool is_long)
{
	struct unit_total *total;
	struct unit_series *series;
	char name[UNIT_NAME_BYTES];

	unit_of(named, name);
	if (wait->role == ROLE_IO) {
		total = ranking_enter_free(units->period, hash_text(name), name);
		if (total)
			waits_add(&total->waits, wait, is_long);
		return;
	}
	total = ranking_enter(units->period, hash_text(name), name);
	waits_add(&total->waits, wait, is_long);
	remedies_wait(&total->remedies, named, wait, is_long);
	ranking_spend(units->period, total, is_long ? 0 : wait->end - wait->start);
	series = find_series(units, name, wait->end);
	waits_add(&series->waits, wait, is_long);
	begin_minute(series, wait->end / NS_PER_MINUTE);
}

/* ---- reading ---- */

const struct unit_series *units_series(const struct units *units, size_t place)
{
	if (place > units->taken)
		return NULL;
	return place == units->taken ? &units->other : &units->series[place];
}

uint64_t units_recent_max(const struct unit_series *unit, uint64_t ts)
{
	uint64_t minute = ts / NS_PER_MINUTE, max = 0;

	for (size_t i = 0; i < ARRAY_SIZE(unit->recent_max); i++)
		if (unit->minute + ARRAY_SIZE(unit->recent_max) > minute + i &&
		    unit->recent_max[i] > max)
			max = unit->recent_max[i];
	return max;
}

const struct unit_total *units_period(const struct units *units, size_t rank)
{
	return ranking_at(units->period, rank);
}

void units_end_period(struct units *units)
{
	units->evicted += ranking_evicted(units->period);
	ranking_reset(units->period);
}

uint64_t units_overflow(const struct units *units)
{
	return units->evicted + ranking_evicted(units->period);
}

uint64_t units_refused(const struct units *units)
{
	return units->refused;
}
