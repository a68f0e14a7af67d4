// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <sys/mman.h>

#include "allocfilt/base.h"
#include "output/json_writer.h"
#include "unit_test.h"

struct run {
	int fd;
	struct writer *writer;
	struct json json;
	char text[4096];
};

static int setup(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	run->fd = memfd_create("json", MFD_CLOEXEC);
	run->writer = writer_new(run->fd, -1);
	json_init(&run->json, run->writer);
	*state = run;
	return 0;
}

static int teardown(void **state)
{
	struct run *run = *state;

	writer_free(run->writer);
	close(run->fd);
	free(run);
	return 0;
}

static const char *text_of(struct run *run)
{
	ssize_t length;

	assert_int_equal(writer_status(run->writer), 0);
	assert_int_equal(writer_flush(run->writer), 0);
	length = pread(run->fd, run->text, sizeof(run->text) - 1, 0);
	assert_true(length >= 0);
	run->text[length] = '\0';
	return run->text;
}

static void test_values(void **state)
{
	struct run *run = *state;

	json_open(&run->json, NULL, '{');
	json_number(&run->json, "a", UINT64_MAX);
	json_signed(&run->json, "b", -5);
	json_microseconds(&run->json, "c", 1234567);
	json_microseconds(&run->json, "d", 7);
	json_address(&run->json, "e", 0xffff888012345678);
	json_bool(&run->json, "f", true);
	json_bool(&run->json, "g", false);
	json_null(&run->json, "h");
	json_string(&run->json, "i", NULL);
	json_close(&run->json, '}');
	assert_string_equal(text_of(run),
			    "{\"a\":18446744073709551615,\"b\":-5,\"c\":1234.567,"
			    "\"d\":0.007,\"e\":\"0xffff888012345678\",\"f\":true,\"g\":false,"
			    "\"h\":null,\"i\":null}");
}

static void test_nesting(void **state)
{
	struct run *run = *state;

	json_open(&run->json, NULL, '[');
	json_open(&run->json, NULL, '{');
	json_open(&run->json, "a", '[');
	json_close(&run->json, ']');
	json_open(&run->json, "b", '{');
	json_close(&run->json, '}');
	json_close(&run->json, '}');
	json_number(&run->json, NULL, 1);
	json_string(&run->json, NULL, "x");
	json_close(&run->json, ']');
	json_raw(&run->json, "\n");
	json_open(&run->json, NULL, '{');
	json_close(&run->json, '}');
	assert_string_equal(text_of(run), "[{\"a\":[],\"b\":{}},1,\"x\"]\n{}");
}

/* The escapes are those of TEXT_JSON, also where a long string is written in pieces. */
static void test_strings(void **state)
{
	struct run *run = *state;
	char text[1000], expected[2 * sizeof(text) + 3];

	memset(text, '"', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		memcpy(expected + 1 + 2 * i, "\\\"", 2);
	expected[0] = '"';
	strcpy(expected + 2 * sizeof(text) - 1, "\"");
	json_string(&run->json, NULL, text);
	assert_string_equal(text_of(run), expected);
}

static void test_error_is_kept(void **state)
{
	struct json json;
	struct writer *writer;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	writer = writer_new(fd, -1);
	json_init(&json, writer);
	json_open(&json, NULL, '[');
	for (int i = 0; i < 100000; i++)
		json_number(&json, NULL, 12345);
	assert_int_equal(writer_status(writer), -ENOSPC);
	writer_free(writer);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nesting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strings, setup, teardown),
		cmocka_unit_test(test_error_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
