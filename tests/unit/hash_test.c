// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/mman.h>

#include "allocfilt/base/hash.h"
#include "unit_test.h"

#define ENTRIES 5

struct entry {
	int value;
	struct hash_link link;
};

static struct entry entries[ENTRIES];
static struct hash hash;

static int set_up(void **state)
{
	hash.evicted = 5;
	return hash_init(&hash, &entries[0].link, sizeof(entries[0]), ENTRIES);
}

static int tear_down(void **state)
{
	hash_destroy(&hash);
	return 0;
}

static struct entry *find(uint64_t key)
{
	struct hash_link *link = hash_find(&hash, key);

	return link ? container_of(link, struct entry, link) : NULL;
}

static void insert(uint64_t key, int value)
{
	container_of(hash_insert(&hash, key), struct entry, link)->value = value;
}

/* From the authors' test vectors of FNV-1a, 64 bits. */
UNIT_TEST(test_text)
{
	assert_true(hash_text("") == 0xcbf29ce484222325);
	assert_true(hash_text("a") == 0xaf63dc4c8601ec8c);
	assert_true(hash_text("foobar") == 0x85944171f73967e8);
}

UNIT_TEST_WITH(test_remove, set_up, tear_down)
{
	for (int i = 0; i < ENTRIES; i++)
		insert(i, i);
	hash_remove(&hash, &find(3)->link);
	assert_false(hash_is_full(&hash));
	assert_null(find(3));
	insert(7, 7);
	assert_int_equal(hash.evicted, 0);
	assert_ptr_equal(find(7), &entries[3]);
	assert_true(hash_is_full(&hash));
	for (int i = 0; i < 8; i++)
		assert_int_equal(!!find(i), i < 3 || i == 4 || i == 7);
}

/*
 * Compares with an array in order of use: each step moves a key to its end, and the least recently used one
 * makes room. All 64 bits of a key count.
 */
UNIT_TEST_WITH(test_many_steps, set_up, tear_down)
{
	uint64_t order[ENTRIES], evicted = 0;
	size_t used = 0;

	assert_null(hash_oldest(&hash));
	assert_null(hash_find(&hash, 0));
	srand(1);
	for (int step = 0; step < 100000; step++) {
		uint64_t key = 1ull << (rand() % 12 * 5);
		struct entry *entry = find(key);
		size_t at = 0;

		while (at < used && order[at] != key)
			at++;
		assert_int_equal(!!entry, at < used);
		if (!entry)
			insert(key, (int)(key >> 30 | key));
		else
			assert_int_equal(entry->value, (int)(key >> 30 | key));
		if (at == used && used == ENTRIES) {
			at = 0;
			evicted++;
		}
		if (at == used)
			used++;
		for (; at + 1 < used; at++)
			order[at] = order[at + 1];
		order[used - 1] = key;
		assert_int_equal(hash_oldest(&hash)->key, order[0]);
		assert_int_equal(hash_is_full(&hash), used == ENTRIES);
		assert_int_equal(hash.evicted, evicted);
	}
}

/* A page of a large table takes no memory before it is needed. */
UNIT_TEST_WITH(test_memory_comes_as_needed, NULL, tear_down)
{
	size_t page = sysconf(_SC_PAGESIZE), count = 256 * page / sizeof(struct entry);
	struct entry *table =
		mmap(NULL, 256 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in_memory[256];
	int pages = 0;

	assert_ptr_not_equal(table, MAP_FAILED);
	madvise(table, 256 * page, MADV_NOHUGEPAGE);
	assert_int_equal(hash_init(&hash, &table[0].link, sizeof(table[0]), count), 0);
	for (int i = 0; i < ENTRIES; i++)
		insert(i, i);
	for (int i = 0; i < 1000; i++) {
		hash_remove(&hash, &find(i)->link);
		insert(i + ENTRIES, i);
	}
	assert_int_equal(mincore(table, 256 * page, in_memory), 0);
	for (int i = 0; i < 256; i++)
		pages += in_memory[i] & 1;
	assert_int_equal(pages, 1);
	munmap(table, 256 * page);
}

/* As after hash_init(): entries are taken in the order of the array. */
UNIT_TEST_WITH(test_clear, set_up, tear_down)
{
	for (int i = 0; i < ENTRIES + 2; i++)
		insert(i, i);
	hash_remove(&hash, hash_oldest(&hash));
	hash_clear(&hash, &entries[0].link, ENTRIES);
	assert_null(hash_oldest(&hash));
	for (int i = 0; i < ENTRIES + 2; i++)
		assert_null(find(i));
	for (int i = 0; i < ENTRIES; i++) {
		assert_false(hash_is_full(&hash));
		assert_ptr_equal(hash_insert(&hash, 100 + i), &entries[i].link);
	}
	assert_true(hash_is_full(&hash));
}

UNIT_TEST_MAIN(NULL, NULL)
