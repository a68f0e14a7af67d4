// SPDX-License-Identifier: GPL-2.0-or-later
/* A datagram socket stands for journald's; while it is not read, journald is stopped. */
#include <signal.h>

#include "fake_journald.h"
#include "unit_test.h"

static struct journal_entry made;
static struct fake_entry entry;
static unsigned int nr_sent, nr_dropped;

static int begin(void **state);
static int end(void **state);

#define TEST(function) UNIT_TEST_WITH(function, begin, end)

/* The two examples of the protocol's documentation: FOO=BAR, and a value with a newline. */
TEST(test_bytes)
{
	static const char expected[] = "FOO=BAR\nBINARY_BLOB\n\4\0\0\0\0\0\0\0xx\nx\nN=42\n";

	journal_entry_clear(&made);
	journal_entry_text(&made, "FOO", "BAR");
	journal_entry_text(&made, "BINARY_BLOB", "xx\nx");
	journal_entry_number(&made, "N", 42);
	assert_int_equal(made.used, sizeof(expected) - 1);
	assert_memory_equal(made.bytes, expected, sizeof(expected) - 1);
}

TEST(test_any_bytes)
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
	fake_read(&entry, &made);
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
TEST(test_long_value)
{
	char value[0x1234 + 1];

	memset(value, 'x', sizeof(value) - 1);
	value[0x1234] = '\0';
	value[7] = '\n';
	journal_entry_clear(&made);
	journal_entry_text(&made, "V", value);
	assert_memory_equal(made.bytes, "V\n\x34\x12\0\0\0\0\0\0xxx", 13);
	fake_read(&entry, &made);
	assert_int_equal(fake_field(&entry, "V")->length, 0x1234);
	assert_string_equal(fake_value(&entry, "V"), value);
}

/* A value that does not fit is cut, in either form; where nothing of it fits, it is left out. */
TEST(test_full)
{
	static char value[JOURNAL_ENTRY_MAX + 2];

	memset(value, 'x', sizeof(value) - 1);
	for (int newline = 0; newline < 2; newline++) {
		size_t longest = JOURNAL_ENTRY_MAX - strlen("NAME") - 10;

		value[0] = newline ? '\n' : 'x';
		value[longest] = '\0';
		journal_entry_clear(&made);
		journal_entry_text(&made, "NAME", value);
		fake_read(&entry, &made);
		assert_string_equal(fake_value(&entry, "NAME"), value);
		value[longest] = 'x';
		journal_entry_clear(&made);
		journal_entry_text(&made, "NAME", value);
		fake_read(&entry, &made);
		assert_int_equal(fake_field(&entry, "NAME")->length, longest);
		assert_string_equal(fake_value(&entry, "NAME") + longest - strlen(JOURNAL_CUT),
				    JOURNAL_CUT);
		journal_entry_text(&made, "OTHER", "value that has no room");
		fake_read(&entry, &made);
		assert_int_equal(entry.nr_fields, 1);
	}
}

/* Never inside a character. */
TEST(test_cut_character)
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
		fake_read(&entry, &made);
		text = entry.fields[0].value;
		assert_int_equal((strlen(text) - strlen(JOURNAL_CUT)) % 4, 0);
		assert_in_range(strlen(text), JOURNAL_ENTRY_MAX - 20, JOURNAL_ENTRY_MAX);
	}
}

TEST(test_fields_of_another)
{
	static struct journal_entry more;
	static char value[JOURNAL_ENTRY_MAX / 2];

	memset(value, 'x', sizeof(value) - 1);
	journal_entry_clear(&made);
	journal_entry_clear(&more);
	journal_entry_text(&made, "A", "1");
	journal_entry_text(&more, "B", "2\n");
	journal_entry_fields(&made, &more);
	fake_read(&entry, &made);
	assert_int_equal(entry.nr_fields, 2);
	assert_string_equal(fake_value(&entry, "B"), "2\n");
	journal_entry_clear(&more);
	journal_entry_text(&more, "C", value);
	journal_entry_fields(&made, &more);
	journal_entry_fields(&made, &more);
	fake_read(&entry, &made);
	assert_int_equal(entry.nr_fields, 3);
}

static struct journal_socket *journal;
static int fd = -1; /* of journald; a test may begin without it */

static int begin(void **state)
{
	int ret = make_test_directory(state);

	alarm(20); /* a send that blocks ends the program */
	journal = journal_socket_new(fake_path());
	nr_sent = nr_dropped = 0;
	return ret || !journal;
}

static int end(void **state)
{
	journal_socket_free(journal);
	close(fd);
	alarm(0);
	return remove_test_directory(state);
}

static void send_made(void)
{
	if (journal_socket_send(journal, &made))
		nr_sent++;
	else
		nr_dropped++;
}

static void send_numbers(unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		journal_entry_clear(&made);
		journal_entry_number(&made, "NUMBER", i);
		send_made();
	}
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

static void counts_are(uint64_t sent, uint64_t dropped)
{
	assert_int_equal(nr_sent, sent);
	assert_int_equal(nr_dropped, dropped);
}

/* Nobody there yet; closed, with the path still there (ECONNREFUSED); another socket has the path. */
TEST(test_restarted)
{
	send_numbers(0, 2);
	counts_are(0, 2);
	fd = fake_listen();
	send_numbers(2, 3);
	assert_int_equal(receive_numbers(2), 3);
	close(fd);
	send_numbers(3, 5);
	counts_are(1, 4);
	fd = fake_listen();
	send_numbers(5, 7);
	assert_int_equal(receive_numbers(5), 7);
	counts_are(3, 4);
}

TEST(test_largest_entry)
{
	static char value[JOURNAL_ENTRY_MAX];

	memset(value, 'v', sizeof(value) - 1);
	fd = fake_listen();
	journal_entry_clear(&made);
	journal_entry_text(&made, "VALUE", value);
	assert_in_range(made.used, JOURNAL_ENTRY_MAX - 8, JOURNAL_ENTRY_MAX);
	for (int i = 0; i < 5; i++)
		send_made();
	for (int i = 0; i < 5; i++) {
		assert_true(fake_receive(fd, &entry));
		assert_int_equal(entry.length, made.used);
	}
	counts_are(5, 0);
}

/* net.core.wmem_max may be less than an entry: that one is dropped, and a smaller one goes. */
TEST(test_small_send_buffer)
{
	static char value[JOURNAL_ENTRY_MAX];
	int copy, least = 1;

	/* The lowest free descriptor is that of the socket. */
	journal_socket_free(journal);
	copy = dup(0);
	close(copy);
	journal = journal_socket_new(fake_path());
	assert_int_equal(setsockopt(copy, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
	memset(value, 'v', sizeof(value) - 1);
	fd = fake_listen();
	journal_entry_clear(&made);
	journal_entry_text(&made, "VALUE", value);
	send_made();
	counts_are(0, 1);
	send_numbers(0, 1);
	assert_int_equal(receive_numbers(0), 1);
	counts_are(1, 1);
}

/* A journald that is stopped: its queue fills up, later entries are dropped, and nothing blocks. */
TEST(test_stopped)
{
	uint64_t queued;

	fd = fake_listen();
	send_numbers(0, 3000);
	queued = nr_sent;
	assert_in_range(queued, 1, 2900);
	counts_are(queued, 3000 - queued);
	assert_int_equal(receive_numbers(0), queued);
	send_numbers(3000, 3001);
	assert_int_equal(receive_numbers(3000), 3001);
	counts_are(queued + 1, 3000 - queued);
}

UNIT_TEST_MAIN(NULL, NULL)
