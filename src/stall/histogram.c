// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall.h"

#define NS_PER_US 1000ull

uint64_t histogram_edge(unsigned int edge)
{
	return NS_PER_US << (HISTOGRAM_FIRST + edge);
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	unsigned int edge = 0;

	while (edge < HISTOGRAM_EDGES && ns > histogram_edge(edge))
		edge++;
	histogram->counts[edge]++;
	histogram->count++;
	histogram->total += ns;
}

void histogram_merge(struct histogram *histogram, const struct histogram *more)
{
	histogram->count += more->count;
	histogram->total += more->total;
	for (unsigned int i = 0; i <= HISTOGRAM_EDGES; i++)
		histogram->counts[i] += more->counts[i];
}
