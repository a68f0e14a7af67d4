/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_UNITS_H
#define ALLOCFILT_STATS_UNITS_H

#include "allocfilt/stall/cause.h"
#include "allocfilt/stats/ranking.h"

/*
 * Units: which of them waited, how long and why. A unit is a system unit of systemd; of a task in none
 * it is the path of its cgroup, and UNIT_NONE where that is unknown, and for interrupts.
 *
 * Each is counted twice: in a period, of which the units that waited most are reported, and in counters,
 * which never go back. The first units that wait have counters of their own, and all others share one.
 */

#define UNITS_MAX 192 /* of a period, and with counters */
#define UNIT_NONE "none"

/* Counters of a unit. */
struct unit_series {
	struct ranked ranked;
	struct cause_sum causes[CAUSES];
	uint64_t since[CAUSES]; /* ns, trace clock: end of the first stall of a cause */
	uint64_t minute;	/* of the latest stall */
	uint64_t recent_max[3]; /* ns: of that minute, and of those before */
};

/* A unit in a period. */
struct unit_total {
	struct ranked ranked;
	uint64_t count;
	uint64_t max;		       /* ns */
	uint64_t cause_totals[CAUSES]; /* ns */
};

struct units;

/**
 * units_new - allocate all that is needed; NULL with errno ENOMEM
 * @places: how many units have counters of their own, UNITS_MAX at most
 */
struct units *units_new(unsigned int places);
void units_free(struct units *units);

/** units_stall - count a stall of a task that waited */
void units_stall(struct units *units, const struct named_stall *named);

/**
 * units_series - the units with counters in the order of their first stalls
 *
 * The last one is that of all others; its name is "other". Returns NULL after it.
 */
const struct unit_series *units_series(const struct units *units, size_t place);

/** units_have_places - may units have counters of their own? */
bool units_have_places(const struct units *units);

/**
 * units_recent_max - ns: the longest stall of a unit that ended in the minute of @ts or one of the two
 * before: a file that is 20 s old and scraped each minute has each stall once
 * @ts: ns, trace clock
 */
uint64_t units_recent_max(const struct unit_series *unit, uint64_t ts);

/** units_period - the units of this period, most time first, equal times by name; NULL after the last */
const struct unit_total *units_period(const struct units *units, size_t rank);

/** units_end_period - begin the next period */
void units_end_period(struct units *units);

/** units_overflow - units that the full table of a period evicted */
uint64_t units_overflow(const struct units *units);

#endif
