// SPDX-License-Identifier: GPL-2.0-or-later
/* A text in place: what a terminal of some size gets, and shows in the end. */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "output/screen.h"
#include "unit_test.h"

static int terminal, side; /* of the terminal's program, and ours */
static struct screen *screen;
static struct writer *writer;

static int set_up(void **state)
{
	struct termios raw = { 0 };

	cfmakeraw(&raw);
	if (openpty(&terminal, &side, NULL, &raw, NULL))
		return -1;
	screen = screen_new();
	writer = writer_new(side, -1);
	return !screen || !writer;
}

static int tear_down(void **state)
{
	writer_free(writer);
	screen_free(screen);
	close(side);
	close(terminal);
	return 0;
}

/* What the terminal got for a text. */
static const char *shown(const char *text, unsigned short rows, unsigned short columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };
	struct pollfd fd = { .fd = terminal, .events = POLLIN };
	static char got[8192];
	size_t used = 0;

	got[0] = '\0';
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	writer_put(screen_begin(screen), text, strlen(text));
	assert_int_equal(screen_show(screen, writer), 0);
	while (!strstr(got, "\033[J") && poll(&fd, 1, 10000) > 0) {
		ssize_t length = read(terminal, got + used, sizeof(got) - 1 - used);

		assert_true(length > 0);
		used += length;
		got[used] = '\0';
	}
	return got;
}

/* What was there is scrolled away once; a shorter text leaves nothing of the longer one. */
static void test_in_place(void **state)
{
	assert_string_equal(shown("\none\ntwo\n", 4, 80),
			    "\n\n\n\n\033[Hone\033[K\r\ntwo\033[K\r\n\033[J");
	assert_string_equal(shown("\nnext\n", 4, 80), "\033[Hnext\033[K\r\n\033[J");
	assert_string_equal(shown("", 4, 80), "\033[H\033[J");
}

/*
 * One row is left for the cursor, and one column; a character of several bytes is one column. What
 * does not fit goes on in the next row.
 */
static void test_size(void **state)
{
	shown("", 2, 2); /* the first one scrolls */
	assert_string_equal(shown("\na\nb\nc\nd\n", 4, 80),
			    "\033[Ha\033[K\r\nb\033[K\r\nc\033[K\r\n\033[J");
	assert_string_equal(shown("12345\n\303\251\303\251\342\202\254\303\251x\n\n1234\n", 8, 5),
			    "\033[H1234\033[K\r\n5\033[K\r\n"
			    "\303\251\303\251\342\202\254\303\251\033[K\r\nx\033[K\r\n"
			    "\033[K\r\n1234\033[K\r\n\033[J");
	assert_string_equal(shown("12345\n", 2, 5), "\033[H1234\033[K\r\n\033[J");
	assert_string_equal(shown("\na\nb\n", 1, 80), "\033[H\033[J");
	/* unknown */
	assert_string_equal(shown("\na\nb\n", 0, 0), "\033[Ha\033[K\r\nb\033[K\r\n\033[J");
}

static void test_capable(void **state)
{
	int file = open("/dev/null", O_WRONLY | O_CLOEXEC);

	setenv("TERM", "xterm", 1);
	assert_true(screen_is_capable(side));
	assert_false(screen_is_capable(file));
	setenv("TERM", "dumb", 1);
	assert_false(screen_is_capable(side));
	setenv("TERM", "", 1);
	assert_false(screen_is_capable(side));
	unsetenv("TERM");
	assert_false(screen_is_capable(side));
	close(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_in_place),
		TEST(test_size),
		TEST(test_capable),
	};

	if (openpty(&terminal, &side, NULL, NULL, NULL)) {
		puts("no pseudo-terminal can be had");
		return 77;
	}
	close(side);
	close(terminal);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
