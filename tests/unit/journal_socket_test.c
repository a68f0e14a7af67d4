// SPDX-License-Identifier: GPL-2.0-or-later
/* A real datagram socket stands for journald's: one that does not read is one that is stopped. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "fake_journald.h"
#include "journal/socket.h"

#define FOUR_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static struct fake_entry entry;

static int begin(void **state)
{
	alarm(20); /* whatever blocks ends the program */
	return make_test_directory(state);
}

static int end(void **state)
{
	alarm(0);
	return remove_test_directory(state);
}

static struct journal_socket *new_socket(void)
{
	struct journal_socket *journal = journal_socket_new(fake_path());

	assert_non_null(journal);
	return journal;
}

static void put_number(struct journal_socket *journal, unsigned int number)
{
	char text[32];

	journal_socket_put(journal, text, snprintf(text, sizeof(text), "NUMBER=%u\n", number));
}

static void put_numbers(struct journal_socket *journal, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		put_number(journal, i);
}

/* Numbers from @from on, without a gap; returns the one behind the last. */
static unsigned int take_numbers(int fd, unsigned int from)
{
	while (fake_receive(fd, &entry)) {
		assert_int_equal(entry.nr_fields, 1);
		assert_int_equal(fake_number(&entry, "NUMBER"), from);
		from++;
	}
	return from;
}

static void test_datagram(void **state)
{
	struct journal_socket *journal = new_socket();
	int fd = fake_listen();

	(void)state;
	journal_socket_put(journal, "A=1\nB=2\n", 8);
	assert_true(fake_receive(fd, &entry));
	assert_false(entry.by_file);
	assert_int_equal(entry.nr_fields, 2);
	assert_string_equal(fake_value(&entry, "B"), "2");
	assert_false(fake_receive(fd, &entry));
	assert_int_equal(journal_socket_sent(journal), 1);
	assert_int_equal(journal_socket_dropped(journal), 0);
	assert_int_equal(journal_socket_flush(journal), 0);
	journal_socket_free(journal);
	journal_socket_free(NULL);
	close(fd);
}

/* unix(7): more than the send buffer, which is of net.core.wmem_default bytes, is EMSGSIZE. */
static void test_too_large_for_a_datagram(void **state)
{
	static char large[900000];
	struct journal_socket *journal = new_socket();
	int fd = fake_listen();

	(void)state;
	memcpy(large, "V=", 2);
	for (size_t i = 2; i < sizeof(large) - 1; i++)
		large[i] = (char)('a' + i % 23);
	large[sizeof(large) - 1] = '\n';
	journal_socket_put(journal, large, sizeof(large));
	assert_true(fake_take(fd, &entry));
	assert_true(entry.by_file);
	assert_int_equal(entry.seals & FOUR_SEALS, FOUR_SEALS);
	assert_int_equal(entry.length, sizeof(large));
	assert_memory_equal(entry.bytes, large, sizeof(large));
	assert_int_equal(journal_socket_sent(journal), 1);
	journal_socket_free(journal);
	close(fd);
}

static void test_nobody_there(void **state)
{
	struct journal_socket *journal = new_socket();
	int fd;

	(void)state;
	put_numbers(journal, 0, 3);
	assert_int_equal(journal_socket_flush(journal), 3);
	assert_int_equal(journal_socket_sent(journal), 0);
	fd = fake_listen();
	put_number(journal, 3);
	assert_int_equal(take_numbers(fd, 0), 4);
	assert_int_equal(journal_socket_flush(journal), 0);
	assert_int_equal(journal_socket_sent(journal), 4);
	assert_int_equal(journal_socket_dropped(journal), 0);
	journal_socket_free(journal);
	close(fd);
}

/* Closed, the path is still there (ECONNREFUSED); then another socket has the path. */
static void test_restarted(void **state)
{
	struct journal_socket *journal = new_socket();
	int fd = fake_listen();

	(void)state;
	put_number(journal, 0);
	assert_int_equal(take_numbers(fd, 0), 1);
	close(fd);
	put_numbers(journal, 1, 3);
	assert_int_equal(journal_socket_flush(journal), 2);
	fd = fake_listen();
	assert_int_equal(journal_socket_flush(journal), 0);
	assert_int_equal(take_numbers(fd, 1), 3);
	close(fd);
	unlink(fake_path());
	put_number(journal, 3);
	assert_int_equal(journal_socket_flush(journal), 1);
	fd = fake_listen();
	put_number(journal, 4);
	assert_int_equal(take_numbers(fd, 3), 5);
	journal_socket_free(journal);
	close(fd);
}

/* The first ones wait, those that come later are dropped. */
static void test_ring(void **state)
{
	struct journal_socket *journal = new_socket();
	int fd;

	(void)state;
	put_numbers(journal, 0, JOURNAL_WAITING_MAX);
	assert_int_equal(journal_socket_dropped(journal), 0);
	assert_int_equal(journal_socket_flush(journal), 64);
	put_numbers(journal, 1000, 1005);
	assert_int_equal(journal_socket_dropped(journal), 5);
	assert_int_equal(journal_socket_flush(journal), 64);
	fd = fake_listen();
	/* As many as its queue takes at a time (net.unix.max_dgram_qlen). */
	for (unsigned int next = 0; next < 64;) {
		journal_socket_flush(journal);
		next = take_numbers(fd, next);
	}
	assert_int_equal(journal_socket_flush(journal), 0);
	assert_int_equal(journal_socket_sent(journal), 64);
	journal_socket_free(journal);
	close(fd);
}

/* Again and again, so that the ring's end is passed at each of its places. */
static void test_ring_goes_round(void **state)
{
	struct journal_socket *journal = new_socket();
	unsigned int next = 0;

	(void)state;
	for (int round = 0; round < 80; round++) {
		int fd;

		put_numbers(journal, next, next + 7);
		assert_int_equal(journal_socket_flush(journal), 7);
		fd = fake_listen();
		assert_int_equal(journal_socket_flush(journal), 0);
		assert_int_equal(take_numbers(fd, next), next + 7);
		next += 7;
		close(fd);
	}
	assert_int_equal(journal_socket_dropped(journal), 0);
	journal_socket_free(journal);
}

/* A journald that is stopped: its queue fills up, then the ring, and nothing blocks. */
static void test_stopped(void **state)
{
	struct journal_socket *journal = new_socket();
	int fd = fake_listen();
	unsigned int next = 0;
	uint64_t queued;

	(void)state;
	put_numbers(journal, 0, 3000);
	queued = journal_socket_sent(journal);
	assert_in_range(queued, 1, 2900);
	assert_int_equal(journal_socket_flush(journal), 64);
	assert_int_equal(journal_socket_dropped(journal), 3000 - 64 - queued);
	do
		next = take_numbers(fd, next);
	while (journal_socket_flush(journal));
	next = take_numbers(fd, next);
	assert_int_equal(next, queued + 64);
	put_number(journal, next);
	assert_int_equal(take_numbers(fd, next), next + 1);
	journal_socket_free(journal);
	close(fd);
}

/* One that waits is of a fixed size at most; to send, it may be longer. */
static void test_too_long_to_wait(void **state)
{
	static char text[JOURNAL_ENTRY_MAX + 1];
	struct journal_socket *journal = new_socket();
	int fd;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "V=", 2);
	text[JOURNAL_ENTRY_MAX - 1] = '\n';
	journal_socket_put(journal, text, JOURNAL_ENTRY_MAX);
	assert_int_equal(journal_socket_flush(journal), 1);
	text[JOURNAL_ENTRY_MAX - 1] = 'x';
	text[JOURNAL_ENTRY_MAX] = '\n';
	journal_socket_put(journal, text, JOURNAL_ENTRY_MAX + 1);
	assert_int_equal(journal_socket_flush(journal), 1);
	assert_int_equal(journal_socket_dropped(journal), 1);
	fd = fake_listen();
	journal_socket_put(journal, text, JOURNAL_ENTRY_MAX + 1);
	assert_true(fake_receive(fd, &entry));
	assert_int_equal(entry.length, JOURNAL_ENTRY_MAX);
	assert_true(fake_receive(fd, &entry));
	assert_int_equal(entry.length, JOURNAL_ENTRY_MAX + 1);
	assert_int_equal(journal_socket_dropped(journal), 1);
	journal_socket_free(journal);
	close(fd);
}

static void test_file(void **state)
{
	struct journal_socket *journal = new_socket();
	int file = journal_memfd();
	struct stat status;
	int fd;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(write(file, "NUMBER=1\n", 9), 9);
	assert_int_equal(journal_socket_put_file(journal, file), -ENOENT);
	put_number(journal, 0);
	assert_int_equal(journal_socket_put_file(journal, file), -EAGAIN);
	fd = fake_listen();
	assert_int_equal(journal_socket_put_file(journal, file), 0);
	assert_int_equal(fstat(file, &status), 0);
	assert_int_equal(journal_socket_sent(journal), 2);
	assert_int_equal(take_numbers(fd, 0), 2);
	assert_true(entry.by_file);
	assert_int_equal(entry.seals & FOUR_SEALS, FOUR_SEALS);
	assert_int_equal(write(file, "x", 1), -1);
	close(file);
	journal_socket_free(journal);
	close(fd);
}

/* What is no memfd cannot be sealed, and journald would have to trust it. */
static void test_no_memfd(void **state)
{
	struct journal_socket *journal = new_socket();
	int fd = fake_listen();
	int file = open(test_path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(file, "NUMBER=1\n", 9), 9);
	assert_int_equal(journal_socket_put_file(journal, file), -EINVAL);
	assert_false(fake_take(fd, &entry));
	assert_int_equal(journal_socket_sent(journal), 0);
	close(file);
	journal_socket_free(journal);
	close(fd);
}

static void test_give_up(void **state)
{
	struct journal_socket *journal = new_socket();
	int fd;

	(void)state;
	put_numbers(journal, 0, 5);
	journal_socket_give_up(journal, 2);
	assert_int_equal(journal_socket_dropped(journal), 7);
	fd = fake_listen();
	assert_int_equal(journal_socket_flush(journal), 0);
	assert_false(fake_take(fd, &entry));
	journal_socket_free(journal);
	close(fd);
}

static void test_path_too_long(void **state)
{
	char path[200];

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	errno = 0;
	assert_null(journal_socket_new(path));
	assert_int_equal(errno, ENAMETOOLONG);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_datagram),	 TEST(test_too_large_for_a_datagram),
		TEST(test_nobody_there), TEST(test_restarted),
		TEST(test_ring),	 TEST(test_ring_goes_round),
		TEST(test_stopped),	 TEST(test_too_long_to_wait),
		TEST(test_file),	 TEST(test_no_memfd),
		TEST(test_give_up),	 TEST(test_path_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
