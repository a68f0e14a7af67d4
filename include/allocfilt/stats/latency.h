/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_LATENCY_H
#define ALLOCFILT_STATS_LATENCY_H

#include <stdint.h>

/*
 * A distribution of times with the same edges in every run and on every machine, so that two can be
 * added. Each power of two of microseconds has 8 buckets, so a percentile is at most 1/8 above the
 * true one, and never above the maximum. An edge belongs to the bucket below it, as in Prometheus.
 */

#define LATENCY_STEPS	8
#define LATENCY_POWERS	35 /* of microseconds: 2^35 us is 9.5 hours */
#define LATENCY_BUCKETS ((LATENCY_POWERS - 3) * LATENCY_STEPS + LATENCY_STEPS)

struct latency {
	uint64_t count;
	uint64_t total; /* ns */
	uint64_t max;	/* ns */
	uint64_t buckets[LATENCY_BUCKETS];
};

/** latency_add - count a time */
void latency_add(struct latency *latency, uint64_t ns);

/** latency_merge - add @more to @latency */
void latency_merge(struct latency *latency, const struct latency *more);

/** latency_percentile - ns that @percent of the times do not exceed; 0 if there are none */
uint64_t latency_percentile(const struct latency *latency, unsigned int percent);

/** latency_power - number of times above 2^power us, up to 2^(power+1) us; power 0: all up to 2 us */
uint64_t latency_power(const struct latency *latency, unsigned int power);

/* The coarse edges of metrics and of the heat map: powers of two from 16 us to 67 s. */
#define LATENCY_EDGES 23

/** latency_edge - ns of the edge with this number, below LATENCY_EDGES */
uint64_t latency_edge(unsigned int edge);

/** latency_below - number of times from the edge before up to @edge; LATENCY_EDGES: above all edges */
uint64_t latency_below(const struct latency *latency, unsigned int edge);

#endif
