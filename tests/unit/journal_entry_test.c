// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_journald.h"
#include "journal/entry.h"

static struct journal_entry entry;
static struct fake_entry read_back;

static void read_entry(void)
{
	memcpy(read_back.bytes, entry.bytes, entry.used);
	read_back.length = entry.used;
	read_back.bytes[entry.used] = '\0';
	fake_parse(&read_back);
}

/* The two examples of the protocol's documentation: FOO=BAR, and a value with a newline. */
static void test_bytes(void **state)
{
	static const char expected[] = "FOO=BAR\nBINARY_BLOB\n\4\0\0\0\0\0\0\0xx\nx\nN=42\n";

	(void)state;
	journal_entry_clear(&entry);
	journal_entry_text(&entry, "FOO", "BAR");
	journal_entry_text(&entry, "BINARY_BLOB", "xx\nx");
	journal_entry_number(&entry, "N", 42);
	assert_int_equal(entry.used, sizeof(expected) - 1);
	assert_memory_equal(entry.bytes, expected, sizeof(expected) - 1);
}

static void test_any_bytes(void **state)
{
	char all[256];

	(void)state;
	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	journal_entry_clear(&entry);
	journal_entry_text(&entry, "A", all);
	journal_entry_text(&entry, "B", "\n");
	journal_entry_text(&entry, "C", "a=b\xff");
	journal_entry_text(&entry, "D", "");
	read_entry();
	assert_int_equal(read_back.nr_fields, 4);
	assert_int_equal(fake_field(&read_back, "A")->length, 255);
	assert_string_equal(fake_value(&read_back, "A"), all);
	assert_true(fake_field(&read_back, "A")->with_length);
	assert_string_equal(fake_value(&read_back, "B"), "\n");
	assert_string_equal(fake_value(&read_back, "C"), "a=b\xff");
	assert_false(fake_field(&read_back, "C")->with_length);
	assert_int_equal(fake_field(&read_back, "D")->length, 0);
}

/* The length is of eight bytes, little-endian, whatever the machine. */
static void test_long_value(void **state)
{
	char value[0x1234 + 1];

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	value[0x1234] = '\0';
	value[7] = '\n';
	journal_entry_clear(&entry);
	journal_entry_text(&entry, "V", value);
	assert_memory_equal(entry.bytes, "V\n\x34\x12\0\0\0\0\0\0xxx", 13);
	read_entry();
	assert_int_equal(fake_field(&read_back, "V")->length, 0x1234);
	assert_string_equal(fake_value(&read_back, "V"), value);
}

/* What does not fit is left out whole, in either form, and what fits is still added. */
static void test_full(void **state)
{
	static char value[JOURNAL_ENTRY_MAX + 2];
	size_t room;

	(void)state;
	for (int newline = 0; newline < 2; newline++) {
		journal_entry_clear(&entry);
		memset(value, 'x', sizeof(value) - 1);
		room = journal_entry_room(&entry, "NAME");
		assert_true(room <= JOURNAL_ENTRY_MAX);
		value[room + 1] = '\0';
		if (newline)
			value[0] = '\n';
		journal_entry_text(&entry, "NAME", value);
		assert_int_equal(entry.used, 0);
		assert_int_equal(entry.left_out, 1);
		value[room] = '\0';
		journal_entry_text(&entry, "NAME", value);
		assert_int_equal(entry.left_out, 1);
		assert_true(entry.used <= JOURNAL_ENTRY_MAX);
		read_entry();
		assert_string_equal(fake_value(&read_back, "NAME"), value);
	}
	assert_int_equal(entry.used, JOURNAL_ENTRY_MAX);
	assert_int_equal(journal_entry_room(&entry, "A"), 0);
}

static void test_fields_of_another(void **state)
{
	static struct journal_entry more;
	static char value[JOURNAL_ENTRY_MAX / 2];

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	journal_entry_clear(&entry);
	journal_entry_clear(&more);
	journal_entry_text(&entry, "A", "1");
	journal_entry_text(&more, "B", "2\n");
	journal_entry_fields(&entry, &more);
	read_entry();
	assert_int_equal(read_back.nr_fields, 2);
	assert_string_equal(fake_value(&read_back, "B"), "2\n");
	journal_entry_clear(&more);
	journal_entry_text(&more, "C", value);
	journal_entry_fields(&entry, &more);
	assert_int_equal(entry.left_out, 0);
	journal_entry_fields(&entry, &more);
	assert_int_equal(entry.left_out, 1);
	read_entry();
	assert_int_equal(read_back.nr_fields, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_long_value),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_fields_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
