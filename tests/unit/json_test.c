// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>

#include "allocfilt/output/json_writer.h"
#include "unit_test.h"
#include "written_text.h"

static struct json json;

UNIT_TEST(test_values)
{
	struct writer *writer = begin_text();

	json_init(&json, writer);
	json_open(&json, NULL, '{');
	json_number(&json, "a", UINT64_MAX);
	json_signed(&json, "b", -5);
	json_fraction(&json, "c", 1234567, 3);
	json_fraction(&json, "d", 7, 3);
	json_address(&json, "e", 0xffff888012345678);
	json_bool(&json, "f", true);
	json_bool(&json, "g", false);
	json_string(&json, "i", NULL);
	json_string(&json, "j", "page allocation");
	json_string(&json, "k", NULL);
	json_fraction(&json, "l", 9501, 4);
	json_fraction(&json, "m", 10000, 4);
	json_fraction(&json, "n", 105, 2);
	json_close(&json, '}');
	assert_string_equal(end_text(writer),
			    "{\"a\":18446744073709551615,\"b\":-5,\"c\":1234.567,"
			    "\"d\":0.007,\"e\":\"0xffff888012345678\",\"f\":true,\"g\":false,"
			    "\"j\":\"page allocation\","
			    "\"l\":0.9501,\"m\":1.0000,\"n\":1.05}");
}

/* The escapes are those of TEXT_JSON, also where a long string is written in pieces. */
UNIT_TEST(test_strings)
{
	struct writer *writer = begin_text();
	char text[1000], expected[2 * sizeof(text) + 5];

	memset(text, '"', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		memcpy(expected + 2 + 2 * i, "\\\"", 2);
	memcpy(expected, "[\"", 2);
	strcpy(expected + 2 * sizeof(text), "\"]");
	json_init(&json, writer);
	json_open(&json, NULL, '[');
	json_string(&json, NULL, text);
	json_close(&json, ']');
	assert_string_equal(end_text(writer), expected);
}

UNIT_TEST(test_error_is_kept)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct writer *writer = writer_new(fd, -1);

	json_init(&json, writer);
	json_open(&json, NULL, '[');
	for (int i = 0; i < 100000; i++)
		json_number(&json, NULL, 12345);
	assert_int_equal(writer_status(writer), -ENOSPC);
	writer_free(writer);
	close(fd);
}

UNIT_TEST_MAIN(NULL, NULL)
