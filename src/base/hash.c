// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "allocfilt/base/hash.h"

static void make_unused(struct hash *hash, struct hash_link *first, size_t count)
{
	TAILQ_INIT(&hash->used);
	hash->evicted = 0;
	pool_init(&hash->pool, first, hash->pool.stride, count);
}

int hash_init(struct hash *hash, struct hash_link *first, size_t stride, size_t count)
{
	unsigned int bits = 1;

	while (((size_t)1 << bits) < count)
		bits++;
	hash->shift = 64 - bits;
	hash->buckets = calloc((size_t)1 << bits, sizeof(*hash->buckets));
	if (!hash->buckets)
		return -ENOMEM;
	hash->pool.stride = stride;
	make_unused(hash, first, count);
	return 0;
}

void hash_clear(struct hash *hash, struct hash_link *first, size_t count)
{
	memset(hash->buckets, 0, ((size_t)1 << (64 - hash->shift)) * sizeof(*hash->buckets));
	make_unused(hash, first, count);
}

void hash_destroy(struct hash *hash)
{
	free(hash->buckets);
	hash->buckets = NULL;
}

/* FNV-1a */
uint64_t hash_text(const char *text)
{
	uint64_t key = 0xcbf29ce484222325u;

	for (; *text; text++)
		key = (key ^ (uint8_t)*text) * 0x100000001b3u;
	return key;
}

/* Fibonacci hashing: the upper bits of the product depend on all bits of the key. */
static struct hash_link **bucket_of(const struct hash *hash, uint64_t key)
{
	return &hash->buckets[key * 0x9e3779b97f4a7c15u >> hash->shift];
}

struct hash_link *hash_peek(const struct hash *hash, uint64_t key)
{
	struct hash_link *link = *bucket_of(hash, key);

	while (link && link->key != key)
		link = link->next;
	return link;
}

struct hash_link *hash_find(struct hash *hash, uint64_t key)
{
	struct hash_link *link = hash_peek(hash, key);

	if (link && TAILQ_NEXT(link, use)) {
		TAILQ_REMOVE(&hash->used, link, use);
		TAILQ_INSERT_TAIL(&hash->used, link, use);
	}
	return link;
}

bool hash_is_full(const struct hash *hash)
{
	return pool_is_empty(&hash->pool);
}

struct hash_link *hash_oldest(const struct hash *hash)
{
	return TAILQ_FIRST(&hash->used);
}

struct hash_link *hash_insert(struct hash *hash, uint64_t key)
{
	struct hash_link **bucket = bucket_of(hash, key);
	struct hash_link *link;

	if (hash_is_full(hash)) {
		hash_remove(hash, hash_oldest(hash));
		hash->evicted++;
	}
	link = pool_take(&hash->pool);
	TAILQ_INSERT_TAIL(&hash->used, link, use);
	link->key = key;
	link->next = *bucket;
	*bucket = link;
	return link;
}

void hash_remove(struct hash *hash, struct hash_link *link)
{
	struct hash_link **at = bucket_of(hash, link->key);

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	TAILQ_REMOVE(&hash->used, link, use);
	pool_put(&hash->pool, link);
}
