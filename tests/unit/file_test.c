// SPDX-License-Identifier: GPL-2.0-or-later
#include "test_directory.h"
#include "unit_test.h"

#define TEMPORARY ".name.allocfilt"

static int dir; /* of the test directory */

static int set_up(void **state)
{
	if (make_test_directory(state))
		return -1;
	dir = open(test_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	close(dir);
	return remove_test_directory(state);
}

static int replace(const char *text)
{
	return file_replace(dir, "name", text, strlen(text), false);
}

UNIT_TEST(test_read_and_write)
{
	static const size_t lengths[] = { 0, 1, 4095, 4096, 4097, 100000 };
	int full = open("/dev/full", O_WRONLY);
	char *text = malloc(100001);

	for (size_t i = 0; i < COUNT(lengths); i++) {
		memset(text, 'x', lengths[i]);
		text[lengths[i]] = '\0';
		put_text("name", text);
		assert_text("name", text);
	}
	free(text);
	assert_int_equal(file_read(test_directory, "none", &text, NULL), -ENOENT);
	assert_true(full >= 0);
	assert_int_equal(file_write_all(full, "x", 1), -ENOSPC);
	assert_int_equal(file_write_all(full, "", 0), 0);
	close(full);
}

/* The descriptor is closed, and there is a NUL also where nothing can be read. */
UNIT_TEST(test_read_start)
{
	static const struct {
		const char *text, *start;
	} rows[] = { { "", "" },
		     { "abc", "abc" },
		     { "abcdefg", "abcdefg" },
		     { "abcdefgh", "abcdefg" } };
	char start[8] = "before";

	assert_int_equal(file_read_start(-1, start, sizeof(start)), 0);
	assert_string_equal(start, "");
	for (size_t i = 0; i < COUNT(rows); i++) {
		int fd;

		put_text("name", rows[i].text);
		fd = openat(dir, "name", O_RDONLY);
		assert_int_equal(file_read_start(fd, start, sizeof(start)), strlen(rows[i].start));
		assert_string_equal(start, rows[i].start);
		assert_int_equal(fcntl(fd, F_GETFD), -1);
	}
}

static void check_open(const char *name, int64_t most, int expected)
{
	int fd = file_open(test_directory, name, most);

	assert_int_equal(fd < 0 ? fd : 0, expected);
	if (fd >= 0)
		close(fd);
}

/* Nothing but a regular file, and no wait for the writer of a FIFO. */
UNIT_TEST(test_open)
{
	static char long_name[PATH_MAX];
	char *text;

	put_text("name", "12345");
	check_open("name", 5, 0);
	check_open("name", 4, -EFBIG);
	check_open("none", 5, -ENOENT);
	check_open(".", INT64_MAX, -EISDIR);
	assert_int_equal(mkfifo(test_path("fifo"), 0600), 0);
	check_open("fifo", 5, -EMEDIUMTYPE);
	assert_int_equal(symlink("name", test_path("link")), 0);
	check_open("link", 5, -ELOOP);
	assert_int_equal(symlink("none", test_path("dangling")), 0);
	check_open("dangling", 5, -ELOOP);
	memset(long_name, 'x', sizeof(long_name) - 1);
	check_open(long_name, 5, -ENAMETOOLONG);
	assert_int_equal(file_read(test_directory, "fifo", &text, NULL), -EMEDIUMTYPE);
	assert_int_equal(file_read(NULL, "/dev/zero", &text, NULL), -EMEDIUMTYPE);
	assert_int_equal(truncate(test_path("name"), FILE_TEXT_MAX + 1), 0);
	assert_int_equal(file_read(test_directory, "name", &text, NULL), -EFBIG);
	assert_string_equal(file_error(EMEDIUMTYPE), "not a regular file");
	assert_string_equal(file_error(ELOOP), "a symbolic link, which is not followed");
	assert_string_equal(file_error(ENOENT), "No such file or directory");
	unlink(test_path("fifo"));
	unlink(test_path("link"));
	unlink(test_path("dangling"));
}

/* A link to a directory is followed in the path of the top directory alone. */
UNIT_TEST(test_open_below_a_link)
{
	char *text;

	put_text("folder/inner/name", "12345");
	put_text("name", "12345");
	assert_int_equal(symlink("folder", test_path("link")), 0);
	assert_int_equal(symlink("../folder/inner", test_path("folder/back")), 0);
	check_open("folder/inner/name", 5, 0);
	check_open("link/inner/name", 5, -ELOOP);
	check_open("folder/back/name", 5, -ELOOP);
	check_open("none/name", 5, -ENOENT);
	check_open("name/name", 5, -ENOTDIR);
	assert_int_equal(file_read(test_path("link"), "inner/name", &text, NULL), 0);
	assert_string_equal(text, "12345");
	free(text);
	shell("cd %s && rm -r folder link", test_directory);
}

static void check_mode(mode_t expected)
{
	struct stat status;

	assert_int_equal(lstat(test_path("name"), &status), 0);
	assert_int_equal(status.st_mode, expected);
}

/* A reader sees the old text while the new one is written; the mode is independent of the umask. */
UNIT_TEST(test_replace)
{
	struct file_replacement file;
	mode_t mask = umask(077);

	assert_int_equal(replace("old"), 0);
	check_mode(S_IFREG | 0600);
	assert_int_equal(file_replace_begin(&file, dir, "name", 0644), 0);
	assert_int_equal(file_write_all(file.fd, "new", 3), 0);
	assert_text("name", "old");
	assert_text(TEMPORARY, "new");
	assert_int_equal(file_replace_end(&file, 0, true), 0);
	umask(mask);
	assert_text("name", "new");
	check_mode(S_IFREG | 0644);
	assert_only_file("name");
}

/* The temporary file of a killed run is replaced, and a link in its place is not followed. */
UNIT_TEST(test_replace_stale)
{
	put_text(TEMPORARY, "of a run that was killed, and longer than the new text");
	assert_int_equal(replace("new"), 0);
	assert_text("name", "new");
	put_text("victim", "keep");
	assert_int_equal(symlink("victim", test_path(TEMPORARY)), 0);
	assert_int_equal(replace("newer"), 0);
	assert_text("name", "newer");
	assert_text("victim", "keep");
	unlink(test_path("victim"));
	assert_only_file("name");
}

/* As root, the rename would replace a device, or the link /dev/stdout. */
UNIT_TEST(test_replace_regular_files_only)
{
	unlink(test_path("name"));
	assert_int_equal(mkfifo(test_path("name"), 0600), 0);
	assert_int_equal(replace("new"), -EMEDIUMTYPE);
	check_mode(S_IFIFO | 0600);
	unlink(test_path("name"));
	assert_int_equal(symlink("victim", test_path("name")), 0);
	assert_int_equal(replace("new"), -ELOOP);
	check_mode(S_IFLNK | 0777);
	assert_only_file("name");
	unlink(test_path("name"));
}

/* The old text stays, nothing else is left, and the descriptor is closed. */
UNIT_TEST(test_replace_fails)
{
	static char large[100 << 10];
	struct file_replacement file;
	int before = dup(0);
	int after, ret;
	rlim_t limit;

	close(before);
	assert_int_equal(replace("old"), 0);
	assert_int_equal(file_replace_begin(&file, dir, "name", 0644), 0);
	assert_int_equal(file_replace_end(&file, -EIO, false), -EIO);
	assert_text("name", "old");
	assert_only_file("name");

	memset(large, 'x', sizeof(large) - 1);
	limit = set_soft_limit(RLIMIT_FSIZE, 64 << 10);
	ret = replace(large);
	set_soft_limit(RLIMIT_FSIZE, limit);
	assert_int_equal(ret, -EFBIG);
	assert_text("name", "old");
	assert_only_file("name");

	unlink(test_path("name"));
	assert_int_equal(mkdir(test_path("name"), 0700), 0);
	assert_int_equal(replace("new"), -EISDIR);
	assert_only_file("name");
	assert_int_equal(rmdir(test_path("name")), 0);
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

static void check_parent(const char *path, const char *expected_name)
{
	struct stat found, expected;
	const char *name;
	int fd = file_open_parent(path, &name);

	assert_true(fd >= 0);
	assert_string_equal(name, expected_name);
	assert_int_equal(fstat(fd, &found), 0);
	close(fd);
	assert_int_equal(fstat(dir, &expected), 0);
	assert_int_equal(found.st_ino, expected.st_ino);
}

UNIT_TEST(test_parent)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat root, found;
	const char *name;
	int fd;

	check_parent(test_path("name"), "name");
	check_parent(strcat(strcpy((char[128]){ 0 }, test_directory), "//name"), "name");
	assert_int_equal(chdir(test_directory), 0);
	check_parent("name", "name");
	check_parent("./name", "name");
	assert_int_equal(fchdir(here), 0);
	close(here);
	fd = file_open_parent("/name", &name);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(stat("/", &root), 0);
	assert_int_equal(found.st_ino, root.st_ino);
	close(fd);
	assert_int_equal(file_open_parent(test_path("none/name"), &name), -ENOENT);
	assert_int_equal(file_open_parent(test_path("none/"), &name), -EISDIR);
	assert_int_equal(file_open_parent("", &name), -ENOENT);
	assert_int_equal(replace("here"), 0);
	assert_int_equal(file_open_parent(test_path("name/below"), &name), -ENOTDIR);
}

UNIT_TEST_MAIN(set_up, tear_down)
