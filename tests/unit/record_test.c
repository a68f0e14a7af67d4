// SPDX-License-Identifier: GPL-2.0-or-later

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/record.h"

static struct record make(const void *raw, size_t size)
{
	return (struct record){
		.ts = 1234,
		.pid = 77,
		.cpu = 3,
		.kind = RECORD_EVENT,
		.event = 5,
		.indent = -1,
		.fields = { .shrinker = 0xffff888000000000, .order = 9 },
		.raw = raw,
		.raw_size = (uint16_t)size,
	};
}

/* The page that a record came from is read over; the stored record must not change. */
static void store_copies_the_payload(void **state)
{
	unsigned char payload[RECORD_RAW_MAX];
	struct stored_record stored;
	struct record record = make(payload, sizeof(payload));

	(void)state;
	memset(payload, 0x5a, sizeof(payload));
	assert_int_equal(record_store(&stored, &record), 0);
	memset(payload, 0, sizeof(payload));
	memset(&record, 0, sizeof(record));
	assert_int_equal(stored.record.ts, 1234);
	assert_int_equal(stored.record.pid, 77);
	assert_int_equal(stored.record.indent, -1);
	assert_int_equal(stored.record.fields.shrinker, 0xffff888000000000);
	assert_int_equal(stored.record.fields.order, 9);
	assert_int_equal(stored.record.raw_size, RECORD_RAW_MAX);
	assert_ptr_equal(stored.record.raw, stored.raw);
	for (size_t i = 0; i < sizeof(stored.raw); i++)
		assert_int_equal(stored.raw[i], 0x5a);
	record_store_release(&stored);
}

static void store_of_a_large_payload(void **state)
{
	unsigned char payload[RECORD_RAW_MAX + 1];
	struct stored_record stored;
	struct record record = make(payload, sizeof(payload));

	(void)state;
	memset(payload, 0x33, sizeof(payload));
	assert_int_equal(record_store(&stored, &record), 0);
	assert_ptr_not_equal(stored.record.raw, stored.raw);
	assert_ptr_not_equal(stored.record.raw, payload);
	assert_int_equal(stored.record.raw_size, RECORD_RAW_MAX + 1);
	assert_memory_equal(stored.record.raw, payload, sizeof(payload));
	record_store_release(&stored);
	assert_null(stored.record.raw);
	assert_int_equal(stored.record.raw_size, 0);
	/* a second time does no harm */
	record_store_release(&stored);
}

static void store_of_no_payload(void **state)
{
	struct stored_record stored;
	struct record record = make(NULL, 0);

	(void)state;
	record.kind = RECORD_LOST;
	record.lost = RECORD_LOST_UNKNOWN;
	assert_int_equal(record_store(&stored, &record), 0);
	assert_int_equal(stored.record.lost, -1);
	assert_int_equal(stored.record.raw_size, 0);
	record_store_release(&stored);
}

/* include/linux/trace_events.h: TRACE_FLAG_HARDIRQ, _SOFTIRQ, _NMI; not _IRQS_OFF, _BH_OFF */
static void interrupt_by_its_flags(void **state)
{
	static const struct {
		uint8_t flags;
		bool interrupt;
	} cases[] = {
		{ 0x00, false }, { 0x01, false }, { 0x04, false }, { 0x80, false }, { 0x27, false },
		{ 0x08, true },	 { 0x10, true },  { 0x40, true },  { 0x19, true },
	};
	struct record record = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		record.flags = cases[i].flags;
		assert_int_equal(record_in_interrupt(&record), cases[i].interrupt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_copies_the_payload),
		cmocka_unit_test(store_of_a_large_payload),
		cmocka_unit_test(store_of_no_payload),
		cmocka_unit_test(interrupt_by_its_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
