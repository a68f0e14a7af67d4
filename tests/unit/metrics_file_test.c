// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/output/metrics.h"
#include "test_directory.h"
#include "unit_test.h"

#define NAME	  "metrics.prom"
#define TEMPORARY ".metrics.prom.allocfilt"

static struct text {
	const char *line;
	int lines;
	int failed;  /* what metrics_text() returns in the end */
	bool looked; /* at the directory, while the text is half written */
} text;

/* The linker takes this one, as it comes before that of the library. */
int metrics_text(struct writer *writer, const struct summary_view *view,
		 const struct metrics_process *process)
{
	for (int i = 0; i < text.lines; i++) {
		int ret = writer_put(writer, text.line, strlen(text.line));

		if (ret)
			return ret;
	}
	if (text.looked) {
		assert_int_equal(writer_flush(writer), 0);
		assert_int_equal(access(test_path(TEMPORARY), F_OK), 0);
		assert_text(NAME, "old\n");
	}
	return text.failed;
}

static struct metrics_file *new_file(void)
{
	struct metrics_file *file;

	unlink(test_path(NAME));
	unlink(test_path(TEMPORARY));
	file = metrics_file_new(test_path(NAME));
	assert_non_null(file);
	return file;
}

static int put(struct metrics_file *file, const char *line)
{
	struct failure failure;

	text = (struct text){ .line = line, .lines = 1 };
	return metrics_file_write(file, NULL, NULL, &failure);
}

/* All that is read is whole: the old text while the new one is being written. */
UNIT_TEST(test_replaced_at_once)
{
	struct metrics_file *file = new_file();
	struct failure failure;
	struct stat before, after;

	assert_int_equal(put(file, "old\n"), 0);
	assert_int_equal(stat(test_path(NAME), &before), 0);
	text = (struct text){ .line = "new\n", .lines = 50000, .looked = true };
	assert_int_equal(metrics_file_write(file, NULL, NULL, &failure), 0);
	assert_int_equal(stat(test_path(NAME), &after), 0);
	assert_int_equal(after.st_size, 200000);
	assert_true(before.st_ino != after.st_ino);
	assert_only_file(NAME);
	metrics_file_free(file);
}

/* As on a full disk: in a flush on the way, and in the last one. */
UNIT_TEST(test_no_room)
{
	static const int lines[] = { 100000, 20000 };

	for (size_t i = 0; i < COUNT(lines); i++) {
		struct metrics_file *file = new_file();
		struct failure failure;
		rlim_t limit;
		int ret;

		assert_int_equal(put(file, "old\n"), 0);
		text = (struct text){ .line = "more\n", .lines = lines[i] };
		limit = set_soft_limit(RLIMIT_FSIZE, 64 << 10);
		ret = metrics_file_write(file, NULL, NULL, &failure);
		set_soft_limit(RLIMIT_FSIZE, limit);
		assert_int_equal(ret, -EFBIG);
		assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
		assert_non_null(strstr(failure.text, test_path(NAME)));
		assert_non_null(strstr(failure.text, "room"));
		assert_text(NAME, "old\n");
		assert_only_file(NAME);
		assert_int_equal(put(file, "fine again\n"), 0);
		assert_text(NAME, "fine again\n");
		metrics_file_free(file);
	}
}

UNIT_TEST(test_no_directory)
{
	struct metrics_file *file = metrics_file_new(test_path("none/" NAME));
	struct failure failure;

	assert_int_equal(metrics_file_write(file, NULL, NULL, &failure), -ENOENT);
	assert_non_null(strstr(failure.text, "its directory"));
	metrics_file_free(file);
}

/* Said at the first failure, at another one, and when it works again. */
UNIT_TEST(test_said_once)
{
	struct metrics_file *file = new_file();
	struct failure failure;

	assert_false(metrics_file_changed(file));
	put(file, "x\n");
	assert_false(metrics_file_changed(file));
	unlink(test_path(NAME));
	mkdir(test_path(NAME), 0700);
	assert_int_equal(put(file, "x\n"), -EISDIR);
	assert_true(metrics_file_changed(file));
	assert_int_equal(put(file, "x\n"), -EISDIR);
	assert_false(metrics_file_changed(file));
	rmdir(test_path(NAME));
	text.failed = -EIO;
	assert_int_equal(metrics_file_write(file, NULL, NULL, &failure), -EIO);
	assert_true(metrics_file_changed(file));
	assert_int_equal(put(file, "x\n"), 0);
	assert_true(metrics_file_changed(file));
	assert_int_equal(put(file, "x\n"), 0);
	assert_false(metrics_file_changed(file));
	metrics_file_free(file);
}

UNIT_TEST_MAIN(make_test_directory, remove_test_directory)
