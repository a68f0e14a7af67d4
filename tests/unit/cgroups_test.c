// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>

#include "allocfilt/base/base.h"
#include "allocfilt/names/cgroups.h"
#include "allocfilt/names/tasks.h"
#include "captured_stderr.h"
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

/* A directory of ours is the mount. */
static struct cgroups *open_tree(size_t size)
{
	char mounts[PATH_MAX + 64];

	snprintf(mounts, sizeof(mounts), "cgroup2 %s cgroup2 rw 0 0\n", test_path("tree"));
	put_text("mounts", mounts);
	if (symlink("/", test_path("root")))
		assert_int_equal(errno, EEXIST);
	return cgroups_new(test_directory, -1, size);
}

/* Writes a file of a cgroup below the mount, which is made. */
__attribute__((format(printf, 3, 4))) static void put_file(const char *cgroup, const char *file,
							   const char *format, ...)
{
	char name[600], text[256];
	va_list values;

	snprintf(name, sizeof(name), "tree/%s/%s", cgroup, file);
	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	put_text(name, text);
}

static void put_pressure(const char *cgroup, unsigned int us)
{
	put_file(cgroup, "memory.pressure",
		 "some avg10=0.00 avg60=1.20 avg300=0.49 total=%u\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
		 us);
}

static void put_memory(const char *cgroup, const char *bytes)
{
	put_file(cgroup, "memory.current", "%s\n", bytes);
}

static void put_limits(const char *cgroup, const char *max, const char *high)
{
	put_file(cgroup, "memory.max", "%s\n", max);
	put_file(cgroup, "memory.high", "%s\n", high);
}

static void put_hits(const char *cgroup, unsigned int high, unsigned int max)
{
	put_file(cgroup, "memory.events.local", "low 9\nhigh %u\nmax %u\noom 9\noom_kill 9\n", high,
		 max);
}

/* The cgroups of a run that begins now. */
static struct cgroups *begin(size_t size)
{
	struct cgroups *cgroups = open_tree(size);

	cgroups_walk(cgroups, CGROUPS_BEGIN, NULL);
	return cgroups;
}

static void expect_pressure(const struct cgroups *cgroups, const char *path, uint64_t us)
{
	uint64_t ns;

	assert_true(cgroups_pressure(cgroups, path, &ns));
	assert_int_equal(ns, us * 1000);
}

static void expect_no_pressure(const struct cgroups *cgroups, const char *path)
{
	uint64_t ns;

	assert_false(cgroups_pressure(cgroups, path, &ns));
}

static void move(const char *from, const char *to)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", test_path(from));
	assert_int_equal(rename(path, test_path(to)), 0);
}

#define TEST(name) UNIT_TEST_WITH(name, make_test_directory, remove_test_directory)

TEST(test_capture)
{
	struct cgroups *cgroups, *none[] = { cgroups_new("/nonexistent", -1, SIZE),
					     cgroups_new(NULL, -ENOENT, SIZE) };
	char text[1024], longest[400];

	for (size_t i = 0; i < COUNT(none); i++) {
		assert_string_equal(cgroups_path(none[i], 42), "");
		cgroups_free(none[i]);
	}
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
	struct cgroups *cgroups;
	char path[32];

	put_text("tree/file", "");
	cgroups = open_tree(SIZE);
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

TEST(test_pressure)
{
	struct cgroups *cgroups;

	put_pressure(".", 1000);
	put_pressure("a b", 5);
	put_pressure("a b/c", 10);
	put_pressure("again", 900);
	put_pressure("goes", 10);
	put_pressure("went", 10);
	put_text("tree/off/cgroup.procs", "");
	cgroups = open_tree(CGROUPS_MAX);
	cgroups_walk(cgroups, CGROUPS_NAMES, NULL);
	cgroups_walk(cgroups, CGROUPS_NOW, NULL);
	expect_no_pressure(cgroups, "/a b");
	cgroups_walk(cgroups, CGROUPS_BEGIN, NULL);
	expect_no_pressure(cgroups, "/a b");
	put_pressure(".", 1300);
	put_pressure("a b", 30);
	put_pressure("goes", 17);
	put_pressure("later", 40);
	put_pressure("off", 1 << 20); /* it was switched on: cgroup.pressure */
	move("tree/went", "went");
	move("tree/again", "again");
	put_pressure("new", 50);
	move("tree/new", "tree/again");
	cgroups_walk(cgroups, CGROUPS_NOW, NULL);
	move("tree/goes", "goes");
	put_pressure("later", 42);
	cgroups_walk(cgroups, CGROUPS_NOW, NULL);
	expect_pressure(cgroups, "/", 300);
	expect_pressure(cgroups, "/a b", 25);
	expect_pressure(cgroups, "/a b/c", 0);
	expect_no_pressure(cgroups, "/again");
	expect_pressure(cgroups, "/goes", 7);
	expect_pressure(cgroups, "/later", 42);
	expect_no_pressure(cgroups, "/off");
	expect_no_pressure(cgroups, "/went");
	expect_no_pressure(cgroups, "");
	cgroups_walk(cgroups, CGROUPS_BEGIN, NULL);
	expect_no_pressure(cgroups, "/a b");
	cgroups_free(cgroups);
}

static void put_many(int count, unsigned int us)
{
	char name[16];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		put_pressure(name, us);
	}
}

static int count_known(const struct cgroups *cgroups, int count, int *ret_last)
{
	uint64_t ns;
	char path[16];
	int known = 0;

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/c%d", i);
		if (!cgroups_pressure(cgroups, path, &ns))
			continue;
		assert_int_equal(ns, 3000);
		*ret_last = i;
		known++;
	}
	return known;
}

/* Where there are more cgroups than places, nobody can tell which of the others are new. */
TEST(test_pressure_of_many)
{
	struct cgroups *cgroups;
	char name[16];
	int last = 0;

	put_many(3 * SIZE, 100);
	cgroups = begin(SIZE);
	put_many(3 * SIZE, 103);
	cgroups_walk(cgroups, CGROUPS_NOW, NULL);
	/* The root has a place. */
	assert_int_equal(count_known(cgroups, 3 * SIZE, &last), SIZE - 1);
	snprintf(name, sizeof(name), "tree/c%d", last);
	move(name, "gone");
	cgroups_walk(cgroups, CGROUPS_NOW, NULL);
	assert_int_equal(count_known(cgroups, 3 * SIZE, &last), SIZE - 1);
	cgroups_free(cgroups);
}

/* Events may name so many cgroups that one of the start makes room: it is not new when it comes again. */
TEST(test_pressure_of_evicted)
{
	struct cgroups *cgroups;
	char name[32];

	put_pressure("old", 100);
	cgroups = begin(SIZE);
	for (int id = 1; id <= SIZE; id++) {
		snprintf(name, sizeof(name), "tree/c%d", id);
		assert_int_equal(mkdir(test_path(name), 0700), 0);
		expect_paths(cgroups, id, id);
		assert_int_equal(rmdir(test_path(name)), 0);
	}
	cgroups_walk(cgroups, CGROUPS_NOW, NULL);
	expect_no_pressure(cgroups, "/old");
	cgroups_free(cgroups);
}

/* The lines of a capture may be anybody's. */
TEST(test_saved_pressure)
{
	static const char *const without[] = { "/c", "/d", "/e", "/f", "/g", "/i", "/k" };
	struct cgroups *cgroups;

	put_text("cgroups", "1 / 250\n2 /a\\040b 0\n3 /c\n4 /d \n5 /e -1\n"
			    "6 /f 18446744073709551616\n1 /g 2\n7 /h 3 4 5\n"
			    "8 /i 999999999999999999999999999999\n9 /j\\0401 1\n"
			    "10 /k\n11 /k 7\n");
	cgroups = open_saved();
	expect_pressure(cgroups, "/", 250);
	expect_pressure(cgroups, "/a b", 0);
	expect_pressure(cgroups, "/h", 3);
	expect_pressure(cgroups, "/j 1", 1);
	for (size_t i = 0; i < COUNT(without); i++)
		expect_no_pressure(cgroups, without[i]);
	cgroups_free(cgroups);
}

static void expect_most(const struct cgroups *cgroups, const char *path, uint64_t bytes)
{
	uint64_t most;
	const char *most_path = cgroups_most_memory(cgroups, &most);

	assert_int_equal(most, bytes);
	if (path)
		assert_string_equal(most_path, path);
	else
		assert_null(most_path);
}

/* A slice has the memory of the units in it. The root has no such file. */
TEST(test_most_memory)
{
	struct cgroups *cgroups;

	put_pressure("slice/a", 1);
	put_pressure("slice/b", 1);
	put_pressure("none", 1);
	put_memory("slice", "900");
	put_memory("slice/a", "400");
	put_memory("slice/b", "500");
	cgroups = begin(CGROUPS_MAX);
	expect_most(cgroups, NULL, 0);
	cgroups_walk(cgroups, CGROUPS_NOW, NULL);
	expect_most(cgroups, "/slice/b", 500);
	put_memory("slice/b", "300");
	cgroups_walk(cgroups, CGROUPS_NOW, NULL);
	expect_most(cgroups, "/slice/a", 400);
	cgroups_free(cgroups);
	put_text("cgroups", "1 / 9 0\n2 /a 9 400\n3 /b 9 500\n4 /c 9\n5 /d 9 499\n");
	cgroups = open_saved();
	expect_most(cgroups, "/b", 500);
	cgroups_free(cgroups);
}

static void expect_said(const struct cgroups *cgroups, const char *glob, const char *expected)
{
	capture_stderr();
	cgroups_check(cgroups, glob);
	assert_string_equal(captured(), expected);
}

/* A --cgroup of the command line that matches none. */
TEST(test_check)
{
#define NONE(glob) "allocfilt: no cgroup matches --cgroup '" glob "' so far"
	static const char *const cases[][2] = {
		{ "nginx.service", "" },
		{ "/web.slice", "" },
		{ "*.slice", "" },
		{ "/", "" },
		{ "ngnix.service", NONE("ngnix.service") "; did you mean nginx.service?\n" },
		{ "nginx", NONE("nginx") "; did you mean nginx.service?\n" },
		{ "/web.slice/ngnix.service", NONE("/web.slice/ngnix.service") "\n" },
		{ "mysql.service", NONE("mysql.service") "\n" },
	};
	struct cgroups *cgroups;

	put_text("tree/memory.stat", "");
	put_text("tree/web.slice/nginx.service/cgroup.procs", "");
	cgroups = begin(CGROUPS_MAX);
	for (size_t i = 0; i < COUNT(cases); i++)
		expect_said(cgroups, cases[i][0], cases[i][1]);
	/* On version 1 they are elsewhere. */
	assert_int_equal(unlink(test_path("tree/memory.stat")), 0);
	expect_said(cgroups, "mysql.service", "");
	cgroups_free(cgroups);
	put_text("tree/memory.stat", "");
	cgroups = begin(1);
	expect_said(cgroups, "mysql.service", "");
	cgroups_free(cgroups);
}

/* @ts: ns, of the stall */
static void expect_limit_at(struct cgroups *cgroups, uint64_t ts, const char *path,
			    const char *limit)
{
	char text[CGROUP_PATH_MAX];

	assert_string_equal(cgroups_limit(cgroups, path, ts, text), limit);
}

static void expect_limit(struct cgroups *cgroups, const char *path, const char *limit)
{
	expect_limit_at(cgroups, 0, path, limit);
}

/* The one that was at a limit since the run began: the first, the second, one that is new; not two of them. */
TEST(test_limits)
{
	struct cgroups *cgroups;

	put_pressure(".", 1);
	put_pressure("s/own", 1);
	put_hits("s", 7, 9);
	put_hits("s/own", 5, 0);
	put_hits("pod", 0, 1);
	put_hits("pod/c/d", 0, 1);
	cgroups = open_tree(CGROUPS_MAX);
	expect_limit(cgroups, "/s/before", "");
	cgroups_walk(cgroups, CGROUPS_BEGIN, NULL);
	expect_limit(cgroups, "/s", "");
	put_hits("s/own", 5, 1);
	put_hits("pod", 1, 1);
	put_hits("new/in", 2, 0);
	put_hits("two", 1, 0);
	put_hits("two/in", 0, 1);
	expect_limit(cgroups, "/s/own", "/s/own");
	expect_limit(cgroups, "/pod/c/d", "/pod");
	expect_limit(cgroups, "/pod/c", "/pod");
	expect_limit(cgroups, "/new/in", "/new/in");
	expect_limit(cgroups, "/two/in", "");
	expect_limit(cgroups, "/two", "/two");
	expect_limit(cgroups, "/gone/c", "");
	expect_limit(cgroups, "/", "");
	expect_limit(cgroups, "", "");
	/* within a second no file is read again */
	put_hits("s", 8, 9);
	expect_limit_at(cgroups, NS_PER_SECOND - 1, "/s/own", "/s/own");
	expect_limit(cgroups, "/s/other", "");
	expect_limit_at(cgroups, NS_PER_SECOND, "/s/own", "");
	cgroups_free(cgroups);
	put_text("cgroups",
		 "1 / 9 0 0\n2 /s 9 400 0\n3 /s/own 9 500 3\n4 /s/own/c 9 0 0\n5 /old 9 5\n"
		 "6 /s/two 9 0 1\n7 /s/two/in 9 0 2\n8 /s/x 9 0 -1\n");
	cgroups = open_saved();
	for (int round = 0; round < 2; round++) {
		expect_limit(cgroups, "/s/own/c", "/s/own");
		expect_limit(cgroups, "/s", "");
		expect_limit(cgroups, "/s/two/in", "");
		expect_limit(cgroups, "/s/x", "");
		expect_limit(cgroups, "/old", "");
		expect_limit(cgroups, "/none", "");
	}
	cgroups_free(cgroups);
}

/* The kernel has no PSI here. */
static struct cgroups *save_and_open(struct cgroups *cgroups)
{
	FILE *stream = fopen(test_path("cgroups"), "w");

	assert_non_null(stream);
	cgroups_walk(cgroups, CGROUPS_NOW, stream);
	fclose(stream);
	cgroups_free(cgroups);
	return open_saved();
}

/*
 * Where there are more cgroups than places, nobody knows how often those without one were at a limit before
 * the run: it is the only one that has a limit. One of which it is known that it was at none is not.
 */
TEST(test_limits_of_many)
{
	struct cgroups *cgroups;

	put_hits("known", 3, 4);
	put_limits("known", "8388608", "max");
	cgroups = begin(2);
	put_hits("own", 0, 5);
	put_limits("own", "8388608", "max");
	put_hits("high", 5, 0);
	put_limits("high", "max", "0");
	put_limits("high/a", "max", "max");
	put_hits("high/a/b", 0, 9);
	put_limits("high/a/b", "max", "max");
	put_limits("two", "max", "8388608");
	put_limits("two/in", "4194304", "8388608");
	put_hits("none/in", 7, 7);
	put_limits("none/in", "max", "max");
	for (int saved = 0; saved < 2; saved++) {
		expect_limit(cgroups, "/own", "/own");
		expect_limit(cgroups, "/high/a/b", "/high");
		expect_limit(cgroups, "/two/in", "");
		expect_limit(cgroups, "/two", "/two");
		expect_limit(cgroups, "/none/in", "");
		expect_limit(cgroups, "/known", "");
		expect_limit(cgroups, "/gone/c", "");
		if (!saved)
			cgroups = save_and_open(cgroups);
	}
	expect_no_pressure(cgroups, "/own");
	cgroups_free(cgroups);
}

/* One with others below it has no tasks. */
TEST(test_inner)
{
	struct cgroups *cgroups;

	put_pressure("pod/c", 1);
	put_pressure("pod-2", 1);
	cgroups = open_tree(SIZE);
	for (int saved = 0; saved < 2; saved++) {
		assert_true(cgroups_is_inner(cgroups, "/"));
		assert_true(cgroups_is_inner(cgroups, "/pod"));
		assert_false(cgroups_is_inner(cgroups, "/pod/c"));
		assert_false(cgroups_is_inner(cgroups, "/pod-2"));
		assert_false(cgroups_is_inner(cgroups, "/po"));
		cgroups_free(cgroups);
		put_text("cgroups", "1 /\n2 /pod\n3 /pod/c\n4 /pod-2\n");
		cgroups = open_saved();
	}
	cgroups_free(cgroups);
}

/* The lines of all directories, with a directory of ours as the mount. */
TEST(test_print)
{
	static const enum cgroups_walk walks[] = { CGROUPS_NAMES, CGROUPS_BEGIN, CGROUPS_NOW,
						   CGROUPS_NAMES, CGROUPS_NOW };
	struct cgroups *cgroups, *none = cgroups_new("/nonexistent", -1, SIZE);
	char expected[256];
	struct stat root, inner;
	FILE *stream;

	put_text("tree/a b/cgroup.procs", "");
	cgroups = open_tree(CGROUPS_MAX);
	assert_int_equal(stat(test_path("tree"), &root), 0);
	assert_int_equal(stat(test_path("tree/a b"), &inner), 0);
	for (size_t i = 0; i < COUNT(walks); i++) {
		stream = fopen(test_path("cgroups"), "w");
		assert_non_null(stream);
		put_pressure("a b", i < 2 ? 100 : 101);
		if (i == 4) {
			put_memory("a b", "18446744073709551615");
			put_hits("a b", 1, 4);
		}
		cgroups_walk(cgroups, walks[i], stream);
		cgroups_walk(none, walks[i], stream);
		fclose(stream);
		snprintf(expected, sizeof(expected), "%llu /%s\n%llu /a\\040b%s\n",
			 (unsigned long long)root.st_ino, walks[i] == CGROUPS_NOW ? " -1 0 0" : "",
			 (unsigned long long)inner.st_ino,
			 walks[i] != CGROUPS_NOW ? "" :
			 i < 4			 ? " 1 0 0" :
						   " 1 18446744073709551615 5");
		assert_text("cgroups", expected);
	}
	cgroups_free(cgroups);
	cgroups_free(none);
	cgroups = open_saved();
	assert_string_equal(cgroups_path(cgroups, root.st_ino), "/");
	assert_string_equal(cgroups_path(cgroups, inner.st_ino), "/a b");
	expect_pressure(cgroups, "/a b", 1);
	expect_most(cgroups, "/a b", UINT64_MAX);
	cgroups_free(cgroups);
}

UNIT_TEST_MAIN(NULL, NULL)
