// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/journal/notify.h"
#include "datagrams.h"
#include "test_directory.h"
#include "unit_test.h"

#define SECOND 1000000000ull

static int manager; /* the service manager's socket */
static struct notify *notify;

static int start_manager(void **state)
{
	make_test_directory(state);
	manager = listen_at(test_path("manager"));
	setenv("NOTIFY_SOCKET", test_path("manager"), 1);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return 0;
}

static int stop_manager(void **state)
{
	notify_free(notify);
	notify = NULL;
	close(manager);
	return remove_test_directory(state);
}

static void heard(const char *expected)
{
	char text[512];
	ssize_t length = recv(manager, text, sizeof(text) - 1, 0);

	if (length < 0)
		fail_msg("nothing was sent, not even '%s'", expected);
	text[length] = '\0';
	assert_string_equal(text, expected);
}

static void heard_nothing(void)
{
	char text[512];

	assert_int_equal(recv(manager, text, sizeof(text), 0), -1);
	assert_int_equal(errno, EAGAIN);
}

#define TEST(name) UNIT_TEST_WITH(name, start_manager, stop_manager)

TEST(test_states)
{
	notify = notify_new();
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	assert_true(notify_wanted(notify));
	notify_state(notify, NOTIFY_READY, 0);
	heard("READY=1");
	notify_state(notify, NOTIFY_RELOADING, 5 * SECOND + 1999);
	heard("RELOADING=1\nMONOTONIC_USEC=5000001");
	notify_state(notify, NOTIFY_STOPPING, 0);
	heard("STOPPING=1");
	notify_tick(notify, 100 * SECOND);
	heard_nothing();
}

/* A long one is cut. */
TEST(test_status_is_said_once)
{
	char text[1000] = "", expected[600] = "STATUS=";

	notify = notify_new();
	notify_status(notify, "two\nlines");
	heard("STATUS=two lines");
	memset(text, 'x', sizeof(text) - 1);
	memset(expected + 7, 'x', 255);
	for (int i = 0; i < 2; i++)
		notify_status(notify, text);
	heard(expected);
	heard_nothing();
}

/* WATCHDOG_USEC of 10 s: each 5 s. */
TEST(test_watchdog)
{
	setenv("WATCHDOG_USEC", "10000000", 1);
	notify = notify_new();
	notify_tick(notify, 100 * SECOND);
	heard("WATCHDOG=1");
	notify_tick(notify, 105 * SECOND - 1);
	heard_nothing();
	notify_tick(notify, 105 * SECOND);
	heard("WATCHDOG=1");
}

TEST(test_bad_watchdog)
{
	static const struct {
		const char *usec, *pid;
	} cases[] = {
		{ "10000000", "1" },
		{ "", NULL },
		{ "-5", NULL },
		{ "0", NULL },
		{ "5s", NULL },
		{ " 5", NULL },
		{ "99999999999999999999", NULL },
		{ "18446744073709551615", NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		setenv("NOTIFY_SOCKET", test_path("manager"), 1);
		setenv("WATCHDOG_USEC", cases[i].usec, 1);
		if (cases[i].pid)
			setenv("WATCHDOG_PID", cases[i].pid, 1);
		notify_free(notify);
		notify = notify_new();
		notify_tick(notify, 100 * SECOND);
		heard_nothing();
	}
}

/* A manager that does not read: what could not be sent comes later, the last word of each kind. */
TEST(test_busy_manager)
{
	char text[512], status[16];
	int sent = 0, got = 0;

	notify = notify_new();
	for (int i = 0; i < 2000; i++) {
		snprintf(status, sizeof(status), "%d", i);
		notify_status(notify, status);
		sent++;
	}
	notify_state(notify, NOTIFY_READY, 0);
	while (recv(manager, text, sizeof(text), 0) >= 0)
		got++;
	assert_in_range(got, 1, sent - 1);
	notify_tick(notify, 0);
	heard("READY=1");
	heard("STATUS=1999");
}

TEST(test_nobody_listens)
{
	static const char *const names[] = { NULL, "", "/", "@", "relative/path" };

	for (size_t i = 0; i < COUNT(names); i++) {
		if (names[i])
			setenv("NOTIFY_SOCKET", names[i], 1);
		else
			unsetenv("NOTIFY_SOCKET");
		notify_free(notify);
		notify = notify_new();
		assert_false(notify_wanted(notify));
		notify_state(notify, NOTIFY_READY, 0);
		notify_status(notify, "text");
		notify_tick(notify, SECOND);
	}
	heard_nothing();
}

TEST(test_abstract_name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char name[64], text[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int length;

	length = snprintf(name, sizeof(name), "@allocfilt-notify-%d", (int)getpid());
	memcpy(address.sun_path, name, length);
	address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      offsetof(struct sockaddr_un, sun_path) + length),
			 0);
	setenv("NOTIFY_SOCKET", name, 1);
	notify = notify_new();
	notify_state(notify, NOTIFY_READY, 0);
	assert_int_equal(recv(fd, text, sizeof(text), 0), 7);
	close(fd);
}

UNIT_TEST_MAIN(NULL, NULL)
