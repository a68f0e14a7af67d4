// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/heat_map.h"

#include <string.h>

/* Joins columns 2n and 2n + 1. Each goes to its own place or to one that was read before. */
static void widen(struct heat_map *map)
{
	for (uint64_t number = map->first; number <= map->last; number++) {
		struct latency *from = &map->columns[number - map->first];
		struct latency *to = &map->columns[number / 2 - map->first / 2];
		struct latency column = *from;

		*from = (struct latency){ .count = 0 };
		latency_merge(to, &column);
	}
	map->first /= 2;
	map->last /= 2;
	map->width *= 2;
}

struct latency *heat_map_reach(struct heat_map *map, uint64_t ts)
{
	uint64_t first, last;

	if (!map->width) {
		map->width = HEAT_WIDTH;
		map->first = map->last = ts / HEAT_WIDTH;
	}
	for (;;) {
		uint64_t number = ts / map->width;

		first = number < map->first ? number : map->first;
		last = number > map->last ? number : map->last;
		if (last - first < HEAT_COLUMNS)
			break;
		widen(map);
	}
	if (first < map->first) {
		size_t more = map->first - first;

		memmove(map->columns + more, map->columns,
			(HEAT_COLUMNS - more) * sizeof(map->columns[0]));
		memset(map->columns, 0, more * sizeof(map->columns[0]));
	}
	map->first = first;
	map->last = last;
	return &map->columns[ts / map->width - first];
}

bool heat_map_range(const struct heat_map *map, unsigned int *ret_lowest, unsigned int *ret_highest)
{
	struct latency all = { .count = 0 };

	for (size_t i = 0; i < HEAT_COLUMNS; i++)
		latency_merge(&all, &map->columns[i]);
	if (!all.count)
		return false;
	for (*ret_lowest = 0; !latency_below(&all, *ret_lowest); ++*ret_lowest)
		;
	for (*ret_highest = LATENCY_EDGES; !latency_below(&all, *ret_highest); --*ret_highest)
		;
	return true;
}
