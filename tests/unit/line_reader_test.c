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

UNIT_TEST_WITH(test_lines, make_test_directory, remove_test_directory)
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
UNIT_TEST_WITH(test_long_lines, make_test_directory, remove_test_directory)
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

UNIT_TEST_MAIN(NULL, NULL)
