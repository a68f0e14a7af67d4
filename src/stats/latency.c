// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stats/latency.h"
#include "allocfilt/base/base.h"

#define STEP_BITS  3
#define FIRST_EDGE 4 /* 2^4 us */

/* Below 8 us a bucket is a microsecond; above, its number is the power and the next three bits. */
static unsigned int latency_bucket(uint64_t ns)
{
	uint64_t us = ns ? (ns - 1) / NS_PER_US : 0; /* an edge belongs to the bucket below it */
	unsigned int power;

	if (us < LATENCY_STEPS)
		return (unsigned int)us;
	power = 63 - (unsigned int)__builtin_clzll(us);
	if (power >= LATENCY_POWERS)
		return LATENCY_BUCKETS - 1;
	return (power - STEP_BITS + 1) * LATENCY_STEPS +
	       ((us >> (power - STEP_BITS)) & (LATENCY_STEPS - 1));
}

/* The first bucket of a power. */
static unsigned int power_begin(unsigned int power)
{
	if (power < STEP_BITS)
		return power ? 1u << power : 0;
	return (power - STEP_BITS + 1) * LATENCY_STEPS;
}

/* The longest time that a bucket counts, in ns. */
static uint64_t bucket_last(unsigned int bucket)
{
	uint64_t step = LATENCY_STEPS + bucket % LATENCY_STEPS;

	if (bucket < LATENCY_STEPS)
		return (bucket + 1) * NS_PER_US;
	return ((step + 1) << (bucket / LATENCY_STEPS - 1)) * NS_PER_US;
}

static uint64_t sum_buckets(const struct latency *latency, unsigned int from, unsigned int to)
{
	uint64_t count = 0;

	for (; from < to; from++)
		count += latency->buckets[from];
	return count;
}

void latency_add(struct latency *latency, uint64_t ns)
{
	latency->count++;
	add_ns(&latency->total, ns);
	latency->max = MAX(latency->max, ns);
	latency->buckets[latency_bucket(ns)]++;
}

void latency_merge(struct latency *latency, const struct latency *more)
{
	latency->count += more->count;
	add_ns(&latency->total, more->total);
	latency->max = MAX(latency->max, more->max);
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++)
		latency->buckets[i] += more->buckets[i];
}

uint64_t latency_percentile(const struct latency *latency, unsigned int percent)
{
	uint64_t wanted = (latency->count * percent + 99) / 100;
	unsigned int bucket = 0;

	if (!latency->count)
		return 0;
	for (uint64_t seen = latency->buckets[0]; seen < wanted; seen += latency->buckets[bucket])
		bucket++;
	/* The last bucket has no upper bound. */
	if (bucket == LATENCY_BUCKETS - 1 || bucket_last(bucket) > latency->max)
		return latency->max;
	return bucket_last(bucket);
}

uint64_t latency_power(const struct latency *latency, unsigned int power)
{
	return sum_buckets(latency, power_begin(power), power_begin(power + 1));
}

uint64_t latency_edge(unsigned int edge)
{
	return NS_PER_US << (FIRST_EDGE + edge);
}

uint64_t latency_below(const struct latency *latency, unsigned int edge)
{
	return sum_buckets(latency, edge ? power_begin(FIRST_EDGE + edge - 1) : 0,
			   edge < LATENCY_EDGES ? power_begin(FIRST_EDGE + edge) : LATENCY_BUCKETS);
}
