// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/record_ring.h"
#include "unit_test.h"

/* All but the cpu comes back. */
static void test_kinds(void **state)
{
	static const struct record records[] = {
		{ .ts = UINT64_MAX,
		  .tid = -1,
		  .kind = RECORD_WINDOW,
		  .flags = 0xff,
		  .indent = -1,
		  .window = { 0xffffffff81000000, 0x100000000, 1, -7, INT32_MAX } },
		{ .ts = 1,
		  .tid = 70000,
		  .kind = RECORD_EVENT,
		  .event = 65535,
		  .indent = 1023,
		  .fields = { 0xffff888000000000, UINT64_MAX, 0xcc0, 1ull << 63, 0, 5, 9, 0, -1, 0,
			      3, -1000 },
		  .raw = "0123456789abc",
		  .raw_size = 13 },
		{ .ts = 9, .kind = RECORD_LOST, .lost = RECORD_LOST_UNKNOWN },
		{ .kind = RECORD_CLOCK, .realtime = 1700000000000000001 },
		{ .kind = RECORD_SUPERBLOCK,
		  .superblock = { 1, 2, 3, 4, 5 },
		  .raw = "superblock",
		  .raw_size = 11 },
		{ .kind = RECORD_STACK, .stack = { 77, 8, 0x10, 1 } },
	};
	static uint64_t bytes[64];
	struct record_ring ring;

	for (size_t i = 0; i < COUNT(records); i++) {
		struct record put = records[i], taken;

		put.cpu = 3;
		record_ring_init(&ring, bytes, sizeof(bytes));
		memset(bytes, 0xee, sizeof(bytes));
		assert_int_equal(record_ring_put(&ring, &put), 0);
		assert_int_equal(record_ring_time(&ring), put.ts);
		memset(&taken, 0xdd, sizeof(taken));
		record_ring_pop(&ring, &taken);
		assert_memory_equal(taken.raw, put.raw, put.raw_size);
		taken.raw = put.raw;
		assert_memory_equal(&taken, &records[i], sizeof(taken));
	}
}

static uint16_t size_of_number(int number)
{
	return (uint16_t)((unsigned int)number * 2654435761u >> 16) % 300;
}

/* Records of any size through a small ring, many times around. */
static void test_around(void **state)
{
	enum { SIZE = 1024, NUMBER = 100000 };
	static unsigned char bytes[SIZE + 8];
	unsigned char payload[300];
	struct record_ring ring;
	struct record taken;
	int put = 0, got = 0;

	record_ring_init(&ring, bytes, SIZE);
	memset(bytes + SIZE, 0xee, 8);
	srandom(1);
	while (got < NUMBER) {
		struct record record = { .kind = RECORD_EVENT, .ts = put, .raw = payload };
		int ret;

		record.raw_size = size_of_number(put);
		memset(payload, put % 251, record.raw_size);
		ret = record_ring_put(&ring, &record);
		put += !ret;
		assert_true(!ret || (ret == -ENOSPC && ring.held));
		if (!ret && random() % 2)
			continue;
		record_ring_pop(&ring, &taken);
		assert_int_equal(taken.ts, got);
		assert_int_equal(taken.raw_size, size_of_number(got));
		for (int i = 0; i < taken.raw_size; i++)
			assert_int_equal(((const unsigned char *)taken.raw)[i], got % 251);
		got++;
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(bytes[SIZE + i], 0xee);
}

/* What room there is, is there: records of that many bytes in all find their place. */
static void test_room(void **state)
{
	static uint64_t bytes[32];
	const struct record record = { .kind = RECORD_EVENT, .raw = "12345678", .raw_size = 8 };
	struct record_ring ring;
	struct record taken;

	record_ring_init(&ring, bytes, sizeof(bytes));
	for (int round = 0; round < 100; round++) {
		size_t room = record_ring_room(&ring);

		for (size_t put = 0; put + 32 <= room; put += 32)
			assert_int_equal(record_ring_put(&ring, &record), 0);
		/* what was free before and behind, is in two pieces */
		while (!record_ring_put(&ring, &record))
			continue;
		assert_int_equal(ring.held, 8);
		assert_int_equal(record_ring_room(&ring), 0);
		for (int i = 0; i <= round % 8; i++)
			record_ring_pop(&ring, &taken);
	}
}

/* A page of n bytes has room in a ring of RECORD_RING_PAGE_FACTOR * n, whatever it is full of. */
static void test_page_of_the_worst(void **state)
{
	enum { PAGE = 4096, HEADER = 12, TAKES = 4 };
	static uint64_t bytes[RECORD_RING_PAGE_FACTOR * PAGE / 8];
	static const char raw[64];

	for (int nr_fields = 0; nr_fields <= 4; nr_fields++) {
		/* fields of 4 bytes, negative in a record's member of 8 */
		struct record record = { .kind = RECORD_EVENT, .raw = raw };
		uint64_t *members = &record.fields.shrinker;
		struct record_ring ring;

		record.raw_size = (uint16_t)(8 + 4 * nr_fields);
		for (int i = 0; i < nr_fields; i++)
			members[i] = UINT64_MAX;
		record_ring_init(&ring, bytes, sizeof(bytes));
		for (int at = HEADER; at + TAKES + record.raw_size <= PAGE;
		     at += TAKES + record.raw_size)
			assert_int_equal(record_ring_put(&ring, &record), 0);
	}
}

static void test_too_large(void **state)
{
	static uint64_t bytes[8];
	static const char raw[64];
	struct record record = { .kind = RECORD_EVENT, .raw = raw, .raw_size = 40 };
	struct record_ring ring;

	record_ring_init(&ring, bytes, sizeof(bytes));
	assert_int_equal(record_ring_put(&ring, &record), 0);
	assert_int_equal(record_ring_put(&ring, &record), -ENOSPC);
	record.raw_size = 41;
	assert_int_equal(record_ring_put(&ring, &record), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	  cmocka_unit_test(test_around),
		cmocka_unit_test(test_room),	  cmocka_unit_test(test_page_of_the_worst),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
