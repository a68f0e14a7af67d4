/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_HISTOGRAM_H
#define ALLOCFILT_HISTOGRAM_H

#include <stdint.h>

/*
 * How many times took at most so long, with the same edges in every run and on every machine, so
 * that histograms can be added up. An edge is a power of two of microseconds and belongs to what is
 * below it, as Prometheus has it; struct latency counts it to what is above.
 */

#define HISTOGRAM_FIRST	4	/* 2^4 us: 16 us */
#define HISTOGRAM_LAST	26	/* 2^26 us: 67 s */
#define HISTOGRAM_EDGES	(HISTOGRAM_LAST - HISTOGRAM_FIRST + 1)

struct histogram {
	uint64_t count;
	uint64_t total;		/* ns */
	uint64_t counts[HISTOGRAM_EDGES + 1];	/* from above the edge before; then the rest */
};

void histogram_add(struct histogram *histogram, uint64_t ns);

/** histogram_merge - add @more to @histogram */
void histogram_merge(struct histogram *histogram, const struct histogram *more);

/** histogram_edge - ns: the last time that the count of this number has */
uint64_t histogram_edge(unsigned int edge);

#endif
