// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_tracing.h"

#include <sys/file.h>
#include <sys/prctl.h>

#include "tracing/undo.h"

#define UNDO "../run/undo"

static struct failure failure;

static int setup(void **state)
{
	fake_make(false);
	return 0;
}

static struct undo *open_one(void)
{
	struct undo *undo;

	assert_int_equal(undo_open(&undo, fake.run_dir, fake.dir, &failure), 0);
	return undo;
}

/* An undo file of two settings; returns its text. */
static char *note_two(void)
{
	struct undo *undo = open_one();
	struct settings settings;

	assert_int_equal(settings_init(&settings, fake.dir), 0);
	assert_int_equal(
		settings_add(&settings, SETTING_WORD, "trace_clock", "mono", "local", false), 0);
	assert_int_equal(settings_add(&settings, SETTING_LIST, "set_ftrace_filter",
				      "a\tb\\n\nc\\\n", "", false),
			 0);
	settings.setting[0].verified = true;
	assert_int_equal(undo_note(undo, &settings), 0);
	settings_free(&settings);
	undo_close(undo);
	return fake_get(UNDO);
}

static void write_undo(const char *text)
{
	fake_put(UNDO, text);
	chmod(fake_path(UNDO), 0600);
}

static int load(void)
{
	struct undo *undo = open_one();
	struct settings settings;
	int pid, ret = undo_load(undo, &settings, &pid, &failure);

	if (!ret)
		settings_free(&settings);
	undo_close(undo);
	return ret;
}

static void assert_refused(const char *why)
{
	assert_int_equal(load(), -EPERM);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	assert_non_null(strstr(failure.text, why));
}

#define TEST(test) UNIT_TEST_WITH(test, setup, fake_teardown)

TEST(test_comes_back_as_noted)
{
	struct settings settings;
	struct undo *undo;
	int pid;

	note_two();
	undo = open_one();
	assert_int_equal(undo_load(undo, &settings, &pid, &failure), 0);
	assert_int_equal(pid, getpid());
	assert_string_equal(tracefs_instance_get_trace_dir(settings.top), fake.dir);
	assert_int_equal(settings.count, 2);
	assert_true(settings.setting[0].verified);
	assert_false(settings.setting[1].verified);
	assert_string_equal(settings.setting[0].path, "trace_clock");
	assert_string_equal(settings.setting[1].found, "a\tb\\n\nc\\\n");
	assert_string_equal(settings.setting[1].wrote, "");
	settings_free(&settings);
	assert_int_equal(undo_remove(undo, &failure), 0);
	assert_int_equal(undo_load(undo, &settings, &pid, &failure), -ENOENT);
	undo_close(undo);
}

TEST(test_what_is_done_or_in_the_instance_is_not_noted)
{
	struct undo *undo = open_one();
	struct settings settings;
	int pid;

	assert_int_equal(settings_init(&settings, fake.dir), 0);
	settings_add(&settings, SETTING_WORD, "done", "", "", false);
	settings.setting[0].done = true;
	settings_add(&settings, SETTING_WORD, "in_instance", "", "", true);
	settings_add(&settings, SETTING_WORD, "kept", "", "", false);
	assert_int_equal(undo_note(undo, &settings), 0);
	settings_free(&settings);
	assert_int_equal(undo_load(undo, &settings, &pid, &failure), 0);
	assert_int_equal(settings.count, 1);
	assert_string_equal(settings.setting[0].path, "kept");
	settings_free(&settings);
	undo_close(undo);
}

/* A file that was cut anywhere is refused. */
TEST(test_torn_file)
{
	char *text = strdup(note_two());

	assert_int_equal(load(), 0);
	for (size_t length = strlen(text); length--;) {
		text[length] = '\0';
		write_undo(text);
		assert_refused("is damaged");
	}
	free(text);
}

/* What none of ours would say: of another boot or version, of paths that lead elsewhere. */
TEST(test_foreign_files)
{
	static const char other_boot[] = "00000000-0000-0000-0000-000000000000";
	char boot[64];
	const struct {
		const char *version, *boot, *dir, *rest, *why;
	} cases[] = {
		{ "3", boot, fake.dir, "", NULL },
		{ "3", other_boot, fake.dir, "", "another boot" },
		{ "2", boot, fake.dir, "", "another version" },
		{ "3", boot, "tracing", "", "is damaged" },
		{ "3", boot, fake.dir, "setting 99 1 x a b\n", "is damaged" },
		{ "3", boot, fake.dir, "setting 0 1 x a\n", "is damaged" },
		{ "3", boot, fake.dir, "setting 0 1 x a b c\n", "is damaged" },
		{ "3", boot, fake.dir, "setting 0 1 /etc/passwd a b\n", "is damaged" },
		{ "3", boot, fake.dir, "setting 0 1 ../x a b\n", "is damaged" },
		{ "3", boot, fake.dir, "setting 0 1 a/../../x a b\n", "is damaged" },
		{ "3", boot, fake.dir, "setting 0 1 a/.. a b\n", "is damaged" },
		{ "3", boot, fake.dir, "setting 0 1 .. a b\n", "is damaged" },
		{ "3", boot, fake.dir, "setting 0 1 - a b\n", "is damaged" },
	};

	assert_int_equal(sscanf(note_two(), "%*s %*s %63s", boot), 1);
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[1024];

		snprintf(text, sizeof(text), "allocfilt-undo %s %s 1 %s\n%send\n", cases[i].version,
			 cases[i].boot, cases[i].dir, cases[i].rest);
		write_undo(text);
		if (cases[i].why)
			assert_refused(cases[i].why);
		else
			assert_int_equal(load(), 0);
	}
}

TEST(test_untrusted_files)
{
	const char *other = strdupa(fake_path("../other"));
	char undo[PATH_MAX];

	snprintf(undo, sizeof(undo), "%s/undo", fake.run_dir);
	note_two();
	chmod(undo, 0622);
	assert_refused("written by others");
	chmod(undo, 0600);
	assert_int_equal(truncate(undo, (16 << 20) + 1), 0);
	assert_refused("too large");
	assert_int_equal(link(undo, other), 0);
	assert_refused("hard link");
	remove(undo);
	assert_int_equal(symlink(other, undo), 0);
	assert_refused("symbolic link");
	remove(undo);
	assert_int_equal(mkfifo(undo, 0600), 0);
	assert_refused("not a regular file");
	remove(undo);
	assert_int_equal(mkdir(undo, 0700), 0);
	assert_refused("not a regular file");
}

TEST(test_untrusted_directory)
{
	const char *other = strdupa(fake_path("../link"));
	struct undo *undo;

	undo_close(open_one());
	chmod(fake.run_dir, 0777);
	assert_int_equal(undo_open(&undo, fake.run_dir, fake.dir, &failure), -EPERM);
	assert_non_null(strstr(failure.text, "written by others"));
	chmod(fake.run_dir, 0700);
	assert_int_equal(symlink(fake.run_dir, other), 0);
	assert_int_equal(undo_open(&undo, other, fake.dir, &failure), -EPERM);
	assert_non_null(strstr(failure.text, "not a directory"));
	if (geteuid())
		return;
	assert_int_equal(chown(fake.run_dir, 65534, 65534), 0);
	assert_int_equal(undo_open(&undo, fake.run_dir, fake.dir, &failure), -EPERM);
	assert_non_null(strstr(failure.text, "another user's"));
}

/* In another process: a lock is its owner's as long as it lives. */
TEST(test_lock_dies_with_its_process)
{
	int ready[2], status;
	struct undo *undo;
	char byte, expected[32];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = _Fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open_one();
		if (syscall(SYS_write, ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(undo_open(&undo, fake.run_dir, fake.dir, &failure), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	snprintf(expected, sizeof(expected), "pid %d", pid);
	assert_non_null(strstr(failure.text, expected));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	undo_close(open_one());
	close(ready[0]);
	close(ready[1]);
}

static int lock_of_child = -1, asked;
static bool has_guardian;

/* Nobody has this pid, or a guardian. */
int kill(pid_t pid, int number)
{
	if (lock_of_child < 0)
		return syscall(SYS_kill, pid, number);
	errno = ESRCH;
	return has_guardian ? 0 : -1;
}

/* The third time one asks for it, the child's write or the restore is at its end. */
int flock(int fd, int operation)
{
	if (lock_of_child >= 0 && ++asked == 3) {
		close(lock_of_child);
		lock_of_child = -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

/* A killed run may leave a child that still writes, or a guardian that restores, with the lock. */
TEST(test_lock_is_waited_for)
{
	for (int i = 0; i < 2; i++) {
		int fd = syscall(SYS_openat, AT_FDCWD, fake.dir, O_RDONLY | O_DIRECTORY);
		pid_t pid = _Fork();

		if (!pid)
			_exit(flock(fd, LOCK_EX));
		waitpid(pid, NULL, 0);
		lock_of_child = fd;
		has_guardian = i;
		asked = 0;
		undo_close(open_one());
		assert_int_equal(asked, 3);
	}
}

/* The file is complete at each moment: a note that fails leaves the one before. */
TEST(test_failed_note_leaves_the_old_one)
{
	char *text = strdup(note_two());
	struct undo *undo = open_one();
	struct settings settings;
	int calls = 0;

	assert_int_equal(settings_init(&settings, fake.dir), 0);
	settings_add(&settings, SETTING_WORD, "another", "", "", false);
	for (int at = 1;; at++) {
		int ret;

		fake_fail(at, at, ENOSPC);
		ret = undo_note(undo, &settings);
		fake.armed = false;
		if (fake.calls < at) {
			assert_int_equal(ret, 0);
			break;
		}
		calls++;
		assert_int_not_equal(ret, 0);
		assert_string_equal(fake_get(UNDO), text);
	}
	assert_in_range(calls, 4, 20);
	assert_false(fake_has("../run/.undo.allocfilt"));
	settings_free(&settings);
	undo_close(undo);
	free(text);
}

TEST(test_no_room_at_the_start)
{
	struct undo *undo;

	for (int at = 1; at < 12; at++) {
		fake_fail(at, at, ENOSPC);
		if (!undo_open(&undo, fake.run_dir, fake.dir, &failure))
			undo_close(undo);
		else
			assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
		fake.armed = false;
	}
}

UNIT_TEST_MAIN(NULL, NULL)
