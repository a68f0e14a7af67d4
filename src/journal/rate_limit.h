/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_RATE_LIMIT_H
#define ALLOCFILT_JOURNAL_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How often something may happen: so many times a minute in the long run, and a burst at once.
 * Full at the start. A token comes back in pieces, so nothing is lost however often time is named.
 */

struct token_bucket {
	unsigned int rate;  /* tokens a minute; 0: no limit */
	unsigned int burst; /* tokens at most */
	bool started;	    /* time has been told */
	uint64_t now;	    /* ns: the latest time */
	uint64_t filled;    /* TOKEN parts */
};

/** token_bucket_init - @rate: tokens a minute, 0 for no limit; @burst: tokens at most */
void token_bucket_init(struct token_bucket *bucket, unsigned int rate, unsigned int burst);

/**
 * token_bucket_time - time has come to @now, in ns of a clock that never goes back
 *
 * The first time only says where the clock stands. An earlier time than the last is ignored.
 */
void token_bucket_time(struct token_bucket *bucket, uint64_t now);

/** token_bucket_take - take a token; false where there is none */
bool token_bucket_take(struct token_bucket *bucket);

#endif
