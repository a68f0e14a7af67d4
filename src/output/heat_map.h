/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_HEAT_MAP_H
#define ALLOCFILT_OUTPUT_HEAT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/stats/latency.h"

/*
 * The number of stalls by their begin and their length. The columns cover any time: all become
 * twice as wide when it takes more of them.
 */

#define HEAT_COLUMNS 128
#define HEAT_WIDTH   1000000 /* ns: of a column at first */

/* All zeros: empty. */
struct heat_map {
	uint64_t width; /* ns: column n is of [n * width, (n + 1) * width) of the trace clock */
	uint64_t first; /* numbers of the first and last column that is used */
	uint64_t last;
	struct latency columns[HEAT_COLUMNS]; /* from the first on */
};

/** heat_map_reach - extend the map to a time (ns); returns its column */
struct latency *heat_map_reach(struct heat_map *map, uint64_t ts);

/** heat_map_range - the lowest and highest edge with times below it (latency_below()); false: no stall */
bool heat_map_range(const struct heat_map *map, unsigned int *ret_lowest,
		    unsigned int *ret_highest);

#endif
