// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "allocfilt/output/form.h"
#include "fake_resolver.h"
#include "made_named.h"
#include "unit_test.h"
#include "written_text.h"

static struct resolver resolver;

/* 12 ms of compaction */
static void list_one(struct output *output, const char *name, int tid, const char *cgroup)
{
	struct stall stall = { .tid = tid, .start = 1000001000, .end = 1012001000, .order = -1 };
	struct made_named made;

	phases_spend(&stall.phases, PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 12000000);
	assert_int_equal(output_stall(output, make_named(&made, &stall, name, cgroup)), 0);
}

static void list_all(struct writer *writer)
{
	static const struct options options = { .format = "list" };
	const struct output_setup setup = { .options = &options,
					    .resolver = &resolver,
					    .writer = writer };
	struct output *output = output_new(&setup);

	assert_non_null(output);
	list_one(output, "worker", 12, "/system.slice/web.service");
	list_one(output, "worker", 12, "/kubepods/podé/0123456789abcdef0123456789abcdef01234567");
	list_one(output, "worker", 12, "/system.slice/web.service");
	list_one(output, "a-worker-long-n", 1234567, "/system.slice/db.service");
	list_one(output, "worker", 12, "");
	output_free(output);
}

/* Duration and cause are below their words, however long the names are, and a heading is of the rows below it. */
UNIT_TEST(test_long_names)
{
	struct writer *writer = begin_text();

	list_all(writer);
	assert_string_equal(
		end_text(writer),
		"time         task             unit             duration  cause\n"
		"1.000001     worker-12        web.service         12 ms  compaction 100 %\n"
		"time         task             unit                                                    "
		"duration  cause\n"
		"1.000001     worker-12        /kubepods/podé/0123456789abcdef0123456789abcdef01234567 "
		"   12 ms  compaction 100 %\n"
		"1.000001     worker-12        web.service                                             "
		"   12 ms  compaction 100 %\n"
		"1.000001     a-worker-long-n-1234567 db.service                                       "
		"   12 ms  compaction 100 %\n"
		"1.000001     worker-12        -                                                       "
		"   12 ms  compaction 100 %\n");
}

/* On a terminal a long unit leaves room for the cause. */
UNIT_TEST(test_long_names_on_a_terminal)
{
	const struct winsize size = { .ws_row = 24, .ws_col = 100 };
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), terminal;
	struct writer *writer;
	struct termios modes;
	char text[1 << 12];
	ssize_t length;

	assert_int_equal(grantpt(master) || unlockpt(master), 0);
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	assert_int_equal(tcgetattr(terminal, &modes), 0);
	cfmakeraw(&modes);
	assert_int_equal(tcsetattr(terminal, TCSANOW, &modes), 0);
	setenv("LC_ALL", "C.UTF-8", 1);
	writer = writer_new(terminal, -1);
	list_all(writer);
	assert_int_equal(writer_flush(writer), 0);
	writer_free(writer);
	length = read(master, text, sizeof(text) - 1);
	assert_true(length > 0);
	text[length] = '\0';
	close(terminal);
	close(master);
	assert_string_equal(
		text,
		"time         task             unit             duration  cause\n"
		"1.000001     worker-12        web.service         12 ms  compaction 100 %\n"
		"time         task             unit                                 duration  cause\n"
		"1.000001     worker-12        /kubepods/podé/0123456789abcdef012..    12 ms  compaction 100 %\n"
		"1.000001     worker-12        web.service                             12 ms  compaction 100 %\n"
		"1.000001     a-worker-long-n-1234567 db.service                       12 ms  compaction 100 %\n"
		"1.000001     worker-12        -                                       12 ms  compaction 100 %\n");
}

UNIT_TEST_MAIN(NULL, NULL)
