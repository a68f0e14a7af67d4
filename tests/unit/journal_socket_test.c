// SPDX-License-Identifier: GPL-2.0-or-later
/* A datagram socket stands for journald's; while it is not read, journald is stopped. */
#include <signal.h>

#include "fake_journald.h"
#include "journal/socket.h"
#include "unit_test.h"

static struct journal_entry made;
static struct fake_entry entry;

static void read_entry(void)
{
	memcpy(entry.bytes, made.bytes, made.used);
	entry.length = made.used;
	entry.bytes[made.used] = '\0';
	fake_parse(&entry);
}

/* The two examples of the protocol's documentation: FOO=BAR, and a value with a newline. */
static void test_bytes(void **state)
{
	static const char expected[] = "FOO=BAR\nBINARY_BLOB\n\4\0\0\0\0\0\0\0xx\nx\nN=42\n";

	journal_entry_clear(&made);
	journal_entry_text(&made, "FOO", "BAR");
	journal_entry_text(&made, "BINARY_BLOB", "xx\nx");
	journal_entry_number(&made, "N", 42);
	assert_int_equal(made.used, sizeof(expected) - 1);
	assert_memory_equal(made.bytes, expected, sizeof(expected) - 1);
}

static void test_any_bytes(void **state)
{
	char all[256];

	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	journal_entry_clear(&made);
	journal_entry_text(&made, "A", all);
	journal_entry_text(&made, "B", "\n");
	journal_entry_text(&made, "C", "a=b\xff");
	journal_entry_text(&made, "D", "");
	read_entry();
	assert_int_equal(entry.nr_fields, 4);
	assert_int_equal(fake_field(&entry, "A")->length, 255);
	assert_string_equal(fake_value(&entry, "A"), all);
	assert_true(fake_field(&entry, "A")->with_length);
	assert_string_equal(fake_value(&entry, "B"), "\n");
	assert_string_equal(fake_value(&entry, "C"), "a=b\xff");
	assert_false(fake_field(&entry, "C")->with_length);
	assert_int_equal(fake_field(&entry, "D")->length, 0);
}

/* The length is of eight bytes, little-endian, whatever the machine. */
static void test_long_value(void **state)
{
	char value[0x1234 + 1];

	memset(value, 'x', sizeof(value) - 1);
	value[0x1234] = '\0';
	value[7] = '\n';
	journal_entry_clear(&made);
	journal_entry_text(&made, "V", value);
	assert_memory_equal(made.bytes, "V\n\x34\x12\0\0\0\0\0\0xxx", 13);
	read_entry();
	assert_int_equal(fake_field(&entry, "V")->length, 0x1234);
	assert_string_equal(fake_value(&entry, "V"), value);
}

/* A value that does not fit is cut, in either form; where nothing of it fits, it is left out. */
static void test_full(void **state)
{
	static char value[JOURNAL_ENTRY_MAX + 2];

	memset(value, 'x', sizeof(value) - 1);
	for (int newline = 0; newline < 2; newline++) {
		size_t longest = JOURNAL_ENTRY_MAX - strlen("NAME") - 10;

		value[0] = newline ? '\n' : 'x';
		value[longest] = '\0';
		journal_entry_clear(&made);
		journal_entry_text(&made, "NAME", value);
		read_entry();
		assert_string_equal(fake_value(&entry, "NAME"), value);
		value[longest] = 'x';
		journal_entry_clear(&made);
		journal_entry_text(&made, "NAME", value);
		read_entry();
		assert_int_equal(fake_field(&entry, "NAME")->length, longest);
		assert_string_equal(fake_value(&entry, "NAME") + longest - strlen(JOURNAL_CUT),
				    JOURNAL_CUT);
		journal_entry_text(&made, "OTHER", "value that has no room");
		read_entry();
		assert_int_equal(entry.nr_fields, 1);
	}
}

/* Never inside a character. */
static void test_cut_character(void **state)
{
	static char value[JOURNAL_ENTRY_MAX + 4];

	for (size_t i = 0; i + 4 < sizeof(value); i += 4)
		memcpy(value + i, "\xf0\x9f\x90\xa7", 4);
	for (int length = 1; length <= 4; length++) {
		const char *text;

		journal_entry_clear(&made);
		journal_entry_text(&made, "V", value + 4);
		journal_entry_clear(&made);
		journal_entry_text(&made, &"NAME"[4 - length], value);
		read_entry();
		text = entry.fields[0].value;
		assert_int_equal((strlen(text) - strlen(JOURNAL_CUT)) % 4, 0);
		assert_in_range(strlen(text), JOURNAL_ENTRY_MAX - 20, JOURNAL_ENTRY_MAX);
	}
}

static void test_fields_of_another(void **state)
{
	static struct journal_entry more;
	static char value[JOURNAL_ENTRY_MAX / 2];

	memset(value, 'x', sizeof(value) - 1);
	journal_entry_clear(&made);
	journal_entry_clear(&more);
	journal_entry_text(&made, "A", "1");
	journal_entry_text(&more, "B", "2\n");
	journal_entry_fields(&made, &more);
	read_entry();
	assert_int_equal(entry.nr_fields, 2);
	assert_string_equal(fake_value(&entry, "B"), "2\n");
	journal_entry_clear(&more);
	journal_entry_text(&more, "C", value);
	journal_entry_fields(&made, &more);
	journal_entry_fields(&made, &more);
	read_entry();
	assert_int_equal(entry.nr_fields, 3);
}

static struct journal_socket *journal;
static int fd = -1; /* of journald; a test may begin without it */

static int begin(void **state)
{
	int ret = make_test_directory(state);

	alarm(20); /* a send that blocks ends the program */
	journal = journal_socket_new(fake_path());
	return ret || !journal;
}

static int end(void **state)
{
	journal_socket_free(journal);
	close(fd);
	alarm(0);
	return remove_test_directory(state);
}

static void put_number(unsigned int number)
{
	journal_entry_clear(&made);
	journal_entry_number(&made, "NUMBER", number);
	journal_socket_put(journal, &made);
}

static void put_numbers(unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		put_number(i);
}

/* Receives numbers from @from on, without a gap; returns the next. */
static unsigned int receive_numbers(unsigned int from)
{
	while (fake_receive(fd, &entry)) {
		assert_int_equal(entry.nr_fields, 1);
		assert_int_equal(fake_number(&entry, "NUMBER"), from);
		from++;
	}
	return from;
}

static void test_nobody_there(void **state)
{
	put_numbers(0, 3);
	assert_int_equal(journal_socket_flush(journal), 3);
	assert_int_equal(journal_socket_sent(journal), 0);
	fd = fake_listen();
	put_number(3);
	assert_int_equal(receive_numbers(0), 4);
	assert_int_equal(journal_socket_flush(journal), 0);
	assert_int_equal(journal_socket_sent(journal), 4);
	assert_int_equal(journal_socket_dropped(journal), 0);
}

/* Closed, the path is still there (ECONNREFUSED); then another socket has the path. */
static void test_restarted(void **state)
{
	fd = fake_listen();
	put_number(0);
	assert_int_equal(receive_numbers(0), 1);
	close(fd);
	put_numbers(1, 3);
	assert_int_equal(journal_socket_flush(journal), 2);
	fd = fake_listen();
	assert_int_equal(journal_socket_flush(journal), 0);
	assert_int_equal(receive_numbers(1), 3);
	close(fd);
	unlink(fake_path());
	put_number(3);
	assert_int_equal(journal_socket_flush(journal), 1);
	fd = fake_listen();
	put_number(4);
	assert_int_equal(receive_numbers(3), 5);
}

/* The first ones wait, those that come later are dropped. */
static void test_ring(void **state)
{
	put_numbers(0, JOURNAL_WAITING_MAX);
	assert_int_equal(journal_socket_dropped(journal), 0);
	assert_int_equal(journal_socket_flush(journal), 64);
	put_numbers(1000, 1005);
	assert_int_equal(journal_socket_dropped(journal), 5);
	assert_int_equal(journal_socket_flush(journal), 64);
	fd = fake_listen();
	/* in several steps: the kernel's queue is limited (net.unix.max_dgram_qlen) */
	for (unsigned int next = 0; next < 64;) {
		journal_socket_flush(journal);
		next = receive_numbers(next);
	}
	assert_int_equal(journal_socket_flush(journal), 0);
	assert_int_equal(journal_socket_sent(journal), 64);
}

/* Again and again, so that the ring's end is passed at each of its places. */
static void test_ring_goes_round(void **state)
{
	unsigned int next = 0;

	for (int round = 0; round < 80; round++) {
		put_numbers(next, next + 7);
		assert_int_equal(journal_socket_flush(journal), 7);
		fd = fake_listen();
		assert_int_equal(journal_socket_flush(journal), 0);
		assert_int_equal(receive_numbers(next), next + 7);
		next += 7;
		close(fd);
	}
	assert_int_equal(journal_socket_dropped(journal), 0);
}

/* Of any lengths up to the largest, across the end of the ring. */
static void test_large_entries(void **state)
{
	static char value[JOURNAL_ENTRY_MAX];
	unsigned int next = 0;

	for (int round = 0; round < 60; round++) {
		for (unsigned int i = next; i < next + 7; i++) {
			size_t length = i * 1731 % (JOURNAL_ENTRY_MAX - 64);

			memset(value, 'a' + (int)(i % 26), length);
			value[length] = '\0';
			journal_entry_clear(&made);
			journal_entry_number(&made, "NUMBER", i);
			journal_entry_text(&made, "VALUE", value);
			journal_socket_put(journal, &made);
		}
		fd = fake_listen();
		assert_int_equal(journal_socket_flush(journal), 0);
		for (unsigned int i = next; i < next + 7; i++) {
			const char *got;

			assert_true(fake_receive(fd, &entry));
			assert_int_equal(fake_number(&entry, "NUMBER"), i);
			got = fake_value(&entry, "VALUE");
			assert_int_equal(strlen(got), i * 1731 % (JOURNAL_ENTRY_MAX - 64));
			assert_int_equal(strspn(got, (char[]){ (char)('a' + i % 26), '\0' }),
					 strlen(got));
		}
		next += 7;
		close(fd);
	}
	assert_int_equal(journal_socket_dropped(journal), 0);
}

static void put_value(const char *value, int times)
{
	journal_entry_clear(&made);
	journal_entry_text(&made, "VALUE", value);
	while (times--)
		journal_socket_put(journal, &made);
}

/* 26 of 10 kB have room in 256 KiB; what is shorter still fits. */
static void test_ring_of_bytes(void **state)
{
	static char value[10000];

	memset(value, 'v', sizeof(value) - 1);
	put_value(value, 30);
	assert_int_equal(journal_socket_flush(journal), 26);
	assert_int_equal(journal_socket_dropped(journal), 4);
	put_number(1);
	assert_int_equal(journal_socket_flush(journal), 27);
	journal_socket_drop(journal);
	put_value(value, 26);
	assert_int_equal(journal_socket_dropped(journal), 4 + 27);
	fd = fake_listen();
	for (int left = 26; left; left--) {
		journal_socket_flush(journal);
		assert_true(fake_receive(fd, &entry));
		assert_int_equal(fake_field(&entry, "VALUE")->length, sizeof(value) - 1);
	}
	assert_int_equal(journal_socket_flush(journal), 0);
}

/* A journald that is stopped: its queue fills up, then the ring, and nothing blocks. */
static void test_stopped(void **state)
{
	unsigned int next = 0;
	uint64_t queued;

	fd = fake_listen();
	put_numbers(0, 3000);
	queued = journal_socket_sent(journal);
	assert_in_range(queued, 1, 2900);
	assert_int_equal(journal_socket_flush(journal), 64);
	assert_int_equal(journal_socket_dropped(journal), 3000 - 64 - queued);
	do
		next = receive_numbers(next);
	while (journal_socket_flush(journal));
	next = receive_numbers(next);
	assert_int_equal(next, queued + 64);
	put_number(next);
	assert_int_equal(receive_numbers(next), next + 1);
}

static void test_give_up(void **state)
{
	put_numbers(0, 5);
	journal_socket_drop(journal);
	assert_int_equal(journal_socket_dropped(journal), 5);
	fd = fake_listen();
	assert_int_equal(journal_socket_flush(journal), 0);
	assert_false(fake_receive_bytes(fd, &entry));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes),	  TEST(test_any_bytes),
		TEST(test_long_value),	  TEST(test_full),
		TEST(test_cut_character), TEST(test_fields_of_another),
		TEST(test_nobody_there),  TEST(test_restarted),
		TEST(test_ring),	  TEST(test_ring_goes_round),
		TEST(test_large_entries), TEST(test_ring_of_bytes),
		TEST(test_stopped),	  TEST(test_give_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
