/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_HASH_H
#define ALLOCFILT_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "allocfilt/base/base.h"

/* Free list over a fixed array. Elements that were never taken cost no memory. */
struct pool {
	void *unused; /* head of the list, whose links lie in the first bytes of the elements */
	char *fresh;  /* the next element that was never taken */
	size_t stride, nr_fresh;
};

/** pool_init - all elements are unused; @stride: bytes from one to the next */
static inline void pool_init(struct pool *pool, void *first, size_t stride, size_t count)
{
	*pool = (struct pool){ NULL, first, stride, count };
}

static inline bool pool_is_empty(const struct pool *pool)
{
	return !pool->unused && !pool->nr_fresh;
}

/** pool_take - take an unused element, the one that was put last; NULL: there is none */
static inline void *pool_take(struct pool *pool)
{
	void *element = pool->unused;

	if (element) {
		memcpy(&pool->unused, element, sizeof(pool->unused));
	} else if (pool->nr_fresh) {
		element = pool->fresh;
		pool->fresh += pool->stride;
		pool->nr_fresh--;
	}
	return element;
}

static inline void pool_put(struct pool *pool, void *element)
{
	memcpy(element, &pool->unused, sizeof(pool->unused));
	pool->unused = element;
}

/*
 * A hash table over a fixed array of entries, each of which embeds a struct hash_link. It keeps
 * the entries in order of their last use. After hash_init() nothing is allocated.
 */

struct hash_link {
	TAILQ_ENTRY(hash_link) use; /* of hash.used */
	struct hash_link *next;	    /* of the same bucket */
	uint64_t key;
};

TAILQ_HEAD(hash_links, hash_link);

struct hash {
	struct hash_links used; /* least recently used first */
	struct pool pool;
	struct hash_link **buckets;
	unsigned int shift; /* makes the number of a bucket from a 64-bit hash value */
	uint64_t evicted;   /* entries that went for room */
};

/**
 * hash_init - a table of unused entries
 * @first: the link of the first entry of an array
 * @stride: bytes from one entry's link to the next
 * @count: entries of the array, at least 1
 *
 * The array stays the caller's and has to live as long as the table. Returns 0 or -ENOMEM.
 */
int hash_init(struct hash *hash, struct hash_link *first, size_t stride, size_t count);

/** hash_clear - make all entries unused, in the order of the array; arguments as of hash_init() */
void hash_clear(struct hash *hash, struct hash_link *first, size_t count);

/** hash_destroy - free the buckets; a table that is all zeros may be passed */
void hash_destroy(struct hash *hash);

/**
 * hash_text - a key for a text: FNV-1a, 64 bits, so that no two texts share one by chance
 *
 * Somebody who chooses the texts can make two that share a key. So a table that has only this key
 * may decide what is counted together or shown, but never who has a right.
 */
uint64_t hash_text(const char *text);

/** hash_find - the entry with that key, which becomes the most recently used one; NULL for none */
struct hash_link *hash_find(struct hash *hash, uint64_t key);

/** hash_peek - the same, but its place in the order of use stays */
struct hash_link *hash_peek(const struct hash *hash, uint64_t key);

/** hash_is_full - does the next hash_insert() evict an entry? */
bool hash_is_full(const struct hash *hash);

/** hash_oldest - the least recently used entry, the first to be evicted; NULL: empty */
struct hash_link *hash_oldest(const struct hash *hash);

/**
 * hash_insert - an entry for a key that the table does not have
 *
 * Takes an unused entry, the one that was removed last, or evicts the least recently used one. Only its
 * link is set. The entry becomes the most recently used one.
 */
struct hash_link *hash_insert(struct hash *hash, uint64_t key);

/** hash_remove - the entry's key is no longer found, and the entry is unused */
void hash_remove(struct hash *hash, struct hash_link *link);

#endif
