// SPDX-License-Identifier: GPL-2.0-or-later
#include "journal/rate_limit.h"

/* Each nanosecond brings `rate` parts, so a token is as many parts as a minute has nanoseconds. */
#define TOKEN 60000000000ull

static uint64_t full(const struct token_bucket *bucket)
{
	return bucket->burst * TOKEN;
}

void token_bucket_init(struct token_bucket *bucket, unsigned int rate, unsigned int burst)
{
	*bucket = (struct token_bucket){ .rate = rate, .burst = burst };
	bucket->filled = full(bucket);
}

void token_bucket_time(struct token_bucket *bucket, uint64_t now)
{
	uint64_t room = full(bucket) - bucket->filled;
	uint64_t passed = now - bucket->now;

	if (bucket->started && now < bucket->now)
		return;
	/* The product cannot overflow where it is not more than the room. */
	if (bucket->started && bucket->rate)
		bucket->filled += passed > room / bucket->rate ? room : passed * bucket->rate;
	bucket->started = true;
	bucket->now = now;
}

bool token_bucket_take(struct token_bucket *bucket)
{
	if (!bucket->rate)
		return true;
	if (bucket->filled < TOKEN)
		return false;
	bucket->filled -= TOKEN;
	return true;
}
