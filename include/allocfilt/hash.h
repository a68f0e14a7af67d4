/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_HASH_H
#define ALLOCFILT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash tables of a size that is known at the start only: buckets are a power of two. */

/** hash_buckets - the lowest power of two that is at least @entries; 1 for 0 */
static inline size_t hash_buckets(size_t entries)
{
	size_t buckets = 1;

	while (buckets < entries)
		buckets *= 2;
	return buckets;
}

/**
 * hash_bucket - which bucket a number belongs into
 * @buckets: of hash_buckets(), at most 65536
 *
 * Knuth's multiplicative hashing: the upper bits depend on all of @key's.
 */
static inline size_t hash_bucket(uint32_t key, size_t buckets)
{
	return (key * 2654435761u >> 16) & (buckets - 1);
}

#endif
