// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall.h"

#define STEP_BITS 3

/* Below 8 us a bucket is a microsecond; above, its number is the power and the next three bits. */
unsigned int latency_bucket(uint64_t ns)
{
	uint64_t us = ns / NS_PER_US;
	unsigned int power;

	if (us < LATENCY_STEPS)
		return us;
	power = 63 - __builtin_clzll(us);
	if (power >= LATENCY_POWERS)
		return LATENCY_BUCKETS - 1;
	return (power - STEP_BITS + 1) * LATENCY_STEPS +
	       ((us >> (power - STEP_BITS)) & (LATENCY_STEPS - 1));
}

static unsigned int bucket_power(unsigned int bucket)
{
	if (bucket >= LATENCY_STEPS)
		return bucket / LATENCY_STEPS + STEP_BITS - 1;
	return bucket < 2 ? 0 : 31 - __builtin_clz(bucket);
}

/* The longest time (ns) that is counted in a bucket. */
static uint64_t bucket_last(unsigned int bucket)
{
	uint64_t step = LATENCY_STEPS + bucket % LATENCY_STEPS;

	if (bucket < LATENCY_STEPS)
		return (bucket + 1) * NS_PER_US - 1;
	return ((step + 1) << (bucket_power(bucket) - STEP_BITS)) * NS_PER_US - 1;
}

uint64_t latency_percentile(const struct latency *latency, unsigned int percent)
{
	uint64_t wanted = (latency->count * percent + 99) / 100;
	uint64_t seen = 0;

	if (!latency->count)
		return 0;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		seen += latency->buckets[i];
		/* The last bucket has no upper bound. */
		if (seen >= wanted && i < LATENCY_BUCKETS - 1 && bucket_last(i) < latency->max)
			return bucket_last(i);
		if (seen >= wanted)
			break;
	}
	return latency->max;
}

uint32_t latency_power(const struct latency *latency, unsigned int power)
{
	uint32_t count = 0;

	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++)
		if (bucket_power(i) == power)
			count += latency->buckets[i];
	return count;
}

uint64_t histogram_edge(unsigned int edge)
{
	return 1000ull << (HISTOGRAM_FIRST + edge);
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	/* An edge is in the count below it. */
	uint64_t us = ns ? (ns - 1) / NS_PER_US : 0;
	unsigned int power = us ? 64 - (unsigned int)__builtin_clzll(us) : 0;

	if (power < HISTOGRAM_FIRST)
		power = HISTOGRAM_FIRST;
	if (power > HISTOGRAM_LAST)
		power = HISTOGRAM_LAST + 1;
	histogram->counts[power - HISTOGRAM_FIRST]++;
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
