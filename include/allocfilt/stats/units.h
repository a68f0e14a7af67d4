/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_UNITS_H
#define ALLOCFILT_STATS_UNITS_H

#include "allocfilt/base/hash.h"
#include "allocfilt/names/units.h"
#include "allocfilt/stall/cause.h"
#include "allocfilt/stats/ranking.h"
#include "allocfilt/stats/remedies.h"
#include "allocfilt/stats/waits.h"

/*
 * Units: which of them waited, how long and why. A unit is a system unit of systemd. A task outside
 * of all of them counts for the path of its cgroup, or for UNIT_NONE if the path is unknown; interrupts
 * count for UNIT_NONE.
 *
 * Each stall, and each memory wait, is counted twice: in a period, whose units are reported by time,
 * and in counters, which never go back. As many units as there are places have counters each, and all
 * others share theirs; a unit that had none for a day makes room for one that has, and begins anew when
 * it has one again.
 */

#define UNITS_MAX 192 /* of a period, and with counters */
#define UNIT_NONE "none"

/* Counters of a unit. */
struct unit_series {
	struct hash_link link;
	char name[UNIT_NAME_BYTES];
	struct cause_sum causes[CAUSES];
	/* ns, trace clock: end of the first stall of each cause; one that is counted later ends later */
	uint64_t since[CAUSES];
	struct waits waits;
	uint64_t minute;	/* of the latest stall or memory wait */
	uint64_t recent_max[3]; /* ns: longest stall of that minute, and of the minutes before */
};

/* A unit in a period. */
struct unit_total {
	struct ranked ranked;
	uint64_t count;
	uint64_t max;		       /* ns */
	uint64_t total;		       /* ns in stalls; ranked.total has the short waits as well */
	uint64_t cause_totals[CAUSES]; /* ns */
	struct waits waits;
	struct remedies remedies;
};

struct units;

/**
 * units_new - allocate all that is needed; NULL if there is no memory
 * @places: how many units have counters of their own, UNITS_MAX at most
 */
struct units *units_new(unsigned int places);
void units_free(struct units *units);

/** units_stall - count a stall of a task that waited */
void units_stall(struct units *units, const struct named_stall *named);

/** units_wait - count a memory wait of a task; as summary_wait() */
void units_wait(struct units *units, const struct named_stall *named,
		const struct memory_wait *wait, bool is_long);

/**
 * units_series - the units with counters, each in its place
 *
 * The last one counts all other units; its name is "other", or "" where no unit has a place. Returns NULL
 * after it.
 */
const struct unit_series *units_series(const struct units *units, size_t place);

/**
 * units_recent_max - ns of the longest stall of a unit in the minute of @ts and the two before
 * @ts: ns, trace clock
 *
 * So a scrape each minute, of a file that may be 20 s old, has each stall at least once.
 */
uint64_t units_recent_max(const struct unit_series *unit, uint64_t ts);

/** units_period - the units of this period, most time first, equal times by name; NULL after the last */
const struct unit_total *units_period(const struct units *units, size_t rank);

/** units_end_period - begin the next period */
void units_end_period(struct units *units);

/** units_overflow - units that the full tables of all periods evicted */
uint64_t units_overflow(const struct units *units);

/** units_refused - stalls and memory waits that count for the others although there are places */
uint64_t units_refused(const struct units *units);

#endif
