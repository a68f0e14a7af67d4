// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>

#include "names/line_reader.h"
#include "test_directory.h"
#include "unit_test.h"

static struct line_reader reader;

static void open_file(const void *bytes, size_t length)
{
	int fd;

	put_bytes("file", bytes, length);
	fd = open(test_path("file"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	line_reader_start(&reader, fd);
}

static void expect(const char *line)
{
	assert_string_equal(line_reader_next(&reader), line);
}

static void expect_end(void)
{
	assert_null(line_reader_next(&reader));
	assert_null(line_reader_next(&reader));
	close(reader.fd);
}

static void test_lines(void **state)
{
	open_file("\n one\n\ntwo", 10);
	expect("");
	expect(" one");
	expect("");
	expect("two");
	assert_null(line_reader_next(&reader));
	line_reader_start(&reader, reader.fd);
	expect("");
	expect(" one");
	close(reader.fd);
	open_file("", 0);
	expect_end();
	open_file("\n", 1);
	expect("");
	expect_end();
	line_reader_start(&reader, -1);
	assert_null(line_reader_next(&reader));
}

/* Lines of all lengths around the buffer's, each between two short ones. */
static void test_long_lines(void **state)
{
	char *text = malloc(2 * LINE_READER_BYTES + 16);

	for (size_t length = LINE_READER_BYTES - 3; length < LINE_READER_BYTES + 3; length++) {
		size_t size = 2 + length + 3;

		memset(text, 'x', size);
		memcpy(text, "a\n", 2);
		memcpy(text + 2 + length, "\nb\n", 3);
		open_file(text, size);
		expect("a");
		if (length < LINE_READER_BYTES)
			assert_int_equal(strlen(line_reader_next(&reader)), length);
		expect("b");
		expect_end();
		/* The same as the last line, without its end. */
		open_file(text, 2 + length);
		expect("a");
		if (length < LINE_READER_BYTES)
			assert_int_equal(strlen(line_reader_next(&reader)), length);
		expect_end();
	}
	memset(text, 'x', 2 * LINE_READER_BYTES + 16);
	memcpy(text + 2 * LINE_READER_BYTES + 10, "\nafter", 6);
	open_file(text, 2 * LINE_READER_BYTES + 16);
	expect("after");
	expect_end();
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_test_directory, remove_test_directory)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(test_lines), TEST(test_long_lines) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
