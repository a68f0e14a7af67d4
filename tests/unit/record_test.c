// SPDX-License-Identifier: GPL-2.0-or-later

#include "allocfilt/record.h"
#include "made_page.h"
#include "unit_test.h"

/* The page that a record came from is read over; the stored record must not change. */
static void store_copies_the_payload(void **state)
{
	static const uint16_t sizes[] = { 0, 1, RECORD_RAW_MAX, RECORD_RAW_MAX + 1, UINT16_MAX };
	static unsigned char payload[UINT16_MAX], expected[UINT16_MAX];
	struct payloads *payloads = payloads_new(0);
	struct stored_record stored;

	memset(expected, 0x5a, sizeof(expected));
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct record record = { .ts = 1234, .raw = payload, .raw_size = sizes[i] };

		memset(payload, 0x5a, sizeof(payload));
		assert_int_equal(record_store(&stored, &record, payloads), 0);
		memset(payload, 0, sizeof(payload));
		assert_int_equal(stored.record.ts, 1234);
		assert_int_equal(stored.record.raw_size, sizes[i]);
		assert_memory_equal(stored.record.raw, expected, sizes[i]);
		assert_int_equal(stored.record.raw == stored.raw, sizes[i] <= RECORD_RAW_MAX);
		record_store_release(&stored, payloads);
		assert_null(stored.record.raw);
		/* a second time does no harm */
		record_store_release(&stored, payloads);
	}
	payloads_free(payloads);
	payloads_free(NULL);
}

static void check_payload(const struct stored_record *stored)
{
	const unsigned char *raw = stored->record.raw;

	for (size_t i = 0; i < stored->record.raw_size; i++)
		assert_int_equal(raw[i], (unsigned char)stored->record.ts);
}

/* In any order and of any size: what is stored does not change, and who is longest there goes first. */
static void payloads_that_come_and_go(void **state)
{
	static struct stored_record stored[64];
	static unsigned char payload[UINT16_MAX];
	struct payloads *payloads = payloads_new(1000);
	uint64_t seed = 42, full = 0;

	for (uint64_t ts = 1; ts < 20000; ts++) {
		struct stored_record *place = &stored[made_random(&seed) % COUNT(stored)];
		uint16_t size = (uint16_t)made_random(&seed);
		struct record record = { .ts = ts, .raw = payload };

		record.raw_size = ts % 100 ? size % 9000 : size;
		memset(payload, (int)ts, record.raw_size);
		check_payload(place);
		record_store_release(place, payloads);
		while (record_store(place, &record, payloads)) {
			struct stored_record *oldest = payloads_oldest(payloads);

			for (size_t i = 0; i < COUNT(stored); i++)
				if (stored[i].record.raw_size > RECORD_RAW_MAX)
					assert_true(stored[i].record.ts >= oldest->record.ts);
			check_payload(oldest);
			record_store_release(oldest, payloads);
			full++;
		}
		check_payload(place);
	}
	assert_in_range(full, 1000, 19000);
	payloads_free(payloads);
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

	for (size_t i = 0; i < COUNT(cases); i++) {
		record.flags = cases[i].flags;
		assert_int_equal(record_in_interrupt(&record), cases[i].interrupt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_copies_the_payload),
		cmocka_unit_test(payloads_that_come_and_go),
		cmocka_unit_test(interrupt_by_its_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
