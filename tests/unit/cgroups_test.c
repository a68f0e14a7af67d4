// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>

#include "allocfilt/names/tasks.h"
#include "names/cgroups.h"
#include "test_directory.h"
#include "unit_test.h"

#define SIZE 4

/* Directories of ours stand for cgroups: the handle is their number. */
int open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	uint64_t id;
	char name[32];

	memcpy(&id, handle->f_handle, sizeof(id));
	snprintf(name, sizeof(name), "c%d", (int)id);
	return openat(mount, name, flags);
}

static void expect_paths(struct cgroups *cgroups, int from, int to)
{
	for (int id = from; id <= to; id++) {
		char path[16];

		snprintf(path, sizeof(path), "/c%d", id);
		assert_string_equal(cgroups_path(cgroups, (uint64_t)id), path);
	}
}

static struct cgroups *open_saved(void)
{
	int fd = file_open(test_directory, "cgroups", FILE_TEXT_MAX);
	struct cgroups *cgroups = cgroups_new(NULL, fd, SIZE);

	close(fd);
	return cgroups;
}

#define TEST(name) UNIT_TEST_WITH(name, make_test_directory, remove_test_directory)

TEST(test_capture)
{
	struct cgroups *cgroups;
	char text[1024], longest[400];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memcpy(longest + sizeof(longest) - 4, "end", 3);
	snprintf(text, sizeof(text), "1 /\n42 /a\\040b\n43\nx\n44 /%s\n", longest);
	put_text("cgroups", text);
	cgroups = open_saved();
	for (int round = 0; round < 2; round++) {
		const char *path = cgroups_path(cgroups, 44);

		assert_int_equal(strlen(path), CGROUP_PATH_MAX - 1);
		assert_non_null(strstr(path, "aend"));
		assert_string_equal(cgroups_path(cgroups, 42), "/a b");
		assert_string_equal(cgroups_path(cgroups, 46), "");
		assert_string_equal(cgroups_path(cgroups, 1), "/");
		assert_string_equal(cgroups_path(cgroups, 43), "");
		assert_string_equal(cgroups_path(cgroups, 0), "");
	}
	cgroups_free(cgroups);
	cgroups_free(NULL);
}

TEST(test_no_files)
{
	struct cgroups *cgroups = cgroups_new("/nonexistent", -1, SIZE);

	assert_string_equal(cgroups_path(cgroups, 42), "");
	cgroups_free(cgroups);
	cgroups = cgroups_new(NULL, -ENOENT, SIZE);
	assert_string_equal(cgroups_path(cgroups, 42), "");
	cgroups_free(cgroups);
}

/* All of a capture's paths are known, however many, and nothing is read again for one that is not. */
TEST(test_large_capture)
{
	struct cgroups *cgroups;
	char *text = malloc(300000), *line = text;

	for (int id = 1; id <= 10000; id++)
		line += sprintf(line, "%d /c%d\n", id, id);
	sprintf(line, "5 /second\n");
	put_text("cgroups", text);
	free(text);
	cgroups = open_saved();
	put_text("cgroups", "20000 /late\n");
	assert_string_equal(cgroups_path(cgroups, 20000), "");
	expect_paths(cgroups, 1, 10000);
	assert_int_equal(cgroups_missed(cgroups), 0);
	cgroups_free(cgroups);
}

/* A year of cgroups that come and go: the newest have their paths, and an old one is missed. */
TEST(test_churn)
{
	char mounts[PATH_MAX + 64], path[32];
	struct cgroups *cgroups;

	put_text("tree/file", "");
	snprintf(mounts, sizeof(mounts), "cgroup2 %s cgroup2 rw 0 0\n", test_path("tree"));
	put_text("mounts", mounts);
	cgroups = cgroups_new(test_path("mounts"), -1, SIZE);
	for (int id = 1; id <= 2000; id++) {
		snprintf(path, sizeof(path), "tree/c%d", id);
		assert_int_equal(mkdir(test_path(path), 0700), 0);
		expect_paths(cgroups, id, id);
		assert_int_equal(rmdir(test_path(path)), 0);
		if (id >= SIZE)
			expect_paths(cgroups, id - SIZE + 1, id);
	}
	assert_int_equal(cgroups_missed(cgroups), 0);
	assert_string_equal(cgroups_path(cgroups, 7), "");
	assert_int_equal(cgroups_missed(cgroups), 1);
	cgroups_free(cgroups);
}

/* The lines of all directories, with a directory of ours as the mount. */
TEST(test_print)
{
	char mounts[PATH_MAX + 64];
	struct cgroups *cgroups;
	struct stat root, inner;
	FILE *stream;

	put_text("tree/a b/c/cgroup.procs", "");
	snprintf(mounts, sizeof(mounts), "cgroup2 %s cgroup2 rw 0 0\n", test_path("tree"));
	put_text("mounts", mounts);
	assert_int_equal(stat(test_path("tree"), &root), 0);
	assert_int_equal(stat(test_path("tree/a b/c"), &inner), 0);
	stream = fopen(test_path("cgroups"), "w");
	assert_non_null(stream);
	cgroups_print(stream, test_path("mounts"));
	cgroups_print(stream, "/nonexistent");
	fclose(stream);
	cgroups = open_saved();
	assert_string_equal(cgroups_path(cgroups, root.st_ino), "/");
	assert_string_equal(cgroups_path(cgroups, inner.st_ino), "/a b/c");
	cgroups_free(cgroups);
}

UNIT_TEST_MAIN(NULL, NULL)
