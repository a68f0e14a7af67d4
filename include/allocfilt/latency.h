/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_LATENCY_H
#define ALLOCFILT_LATENCY_H

#include <stdint.h>

/*
 * A distribution of times in little space: microseconds, in 8 steps for each power of two, so that
 * a percentile is at most 1/8 above the true one, and never above the maximum.
 */

#define LATENCY_STEPS	8
#define LATENCY_POWERS	35	/* of microseconds: 2^35 us is 9.5 hours */
#define LATENCY_BUCKETS	((LATENCY_POWERS - 3) * LATENCY_STEPS + LATENCY_STEPS)

struct latency {
	uint64_t count;
	uint64_t total;		/* ns */
	uint64_t max;		/* ns */
	uint32_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *latency, uint64_t ns);

/** latency_percentile - ns that @percent of the times do not exceed; 0 without any */
uint64_t latency_percentile(const struct latency *latency, unsigned int percent);

/** latency_power - how many times are in [2^power, 2^(power+1)) us; in [0, 2) for 0 */
uint32_t latency_power(const struct latency *latency, unsigned int power);

#endif
