// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/key_value.h"

static void defaults(struct options *options)
{
	struct failure failure = { 0 };
	char name[] = "allocfilt", *argv[] = { name, NULL };

	assert_int_equal(options_parse(options, 1, argv, &failure), 0);
}

static int take(struct options *options, const char *name, const char *value,
		struct failure *failure)
{
	const struct key *key = keys_find(name);

	assert_non_null(key);
	*failure = (struct failure){ 0 };
	return key_value_take(options, key, KEY_FROM_FILE, value, failure);
}

static void take_good(struct options *options, const char *name, const char *value)
{
	struct failure failure;

	if (take(options, name, value, &failure))
		fail_msg("%s = %s: %s", name, value, failure.text);
}

static void take_bad(const char *name, const char *value, int error, const char *reason)
{
	char expected[FAILURE_TEXT_MAX];
	struct failure failure;
	struct options options;

	defaults(&options);
	assert_int_equal(take(&options, name, value, &failure), -error);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	snprintf(expected, sizeof(expected), "%s '%s' %s; allowed: ", name, value, reason);
	if (strncmp(failure.text, expected, strlen(expected)))
		fail_msg("'%s' and not '%s'", failure.text, expected);
	options_free(&options);
}

static int64_t number_of(const struct options *options, const struct key *key)
{
	const void *field = (const char *)options + key->field;

	switch (key->kind) {
	case KEY_TIME:
	case KEY_SIZE:
		return *(const uint64_t *)field;
	case KEY_NUMBER:
		return *(const unsigned int *)field;
	case KEY_SIGNED:
		return *(const int *)field;
	default:
		fail_msg("%s is no number", key->name);
		return 0;
	}
}

static void number_is(const char *name, const char *value, int64_t expected)
{
	struct options options;

	defaults(&options);
	take_good(&options, name, value);
	if (number_of(&options, keys_find(name)) != expected)
		fail_msg("%s = %s is not %lld", name, value, (long long)expected);
	options_free(&options);
}

#define MS     1000000ll
#define SECOND 1000000000ll
#define HOUR   (3600 * SECOND)

/* Each key at its limits, and one beside them. */
static void test_limits(void **state)
{
	static const struct {
		const char *name, *below, *lowest, *highest, *above;
		int64_t least, most;
		const char *reason; /* of what is below */
	} keys[] = {
		{ "threshold", "0", "1", "9223372036854775us", "9223372036854776us", 1000,
		  9223372036854775000, "is zero" },
		{ "duration", "0", "1ms", "9223372036s", "9223372037s", MS, 9223372036 * SECOND,
		  "is zero" },
		{ "buffer", "7", "8", "64G", "67108865", 8192, 64ll << 30, "is too small" },
		{ "top", "0", "1", "128", "129", 1, 128, "is zero" },
		{ "warning", "999ns", "1", "3600s", "3600001ms", 1000, HOUR, "is too small" },
		{ "error", "999ns", "1", "3600s", "3600001ms", 1000, HOUR, "is too small" },
		{ "rate", "-1", "0", "60000", "60001", 0, 60000, "is negative" },
		{ "burst", "-1", "0", "10000", "10001", 0, 10000, "is negative" },
		{ "status-interval", "999ms", "1", "168h", "604801s", SECOND, 168 * HOUR,
		  "is too small" },
		{ "oom-score-adjust", "-1001", "-1000", "1000", "1001", -1000, 1000,
		  "is too small" },
		{ "limit-tasks", "63", "64", "65536", "65537", 64, 65536, "is too small" },
		{ "limit-events", "255", "256", "1048576", "1048577", 256, 1048576,
		  "is too small" },
		{ "limit-task-events", "15", "16", "65536", "65537", 16, 65536, "is too small" },
		{ "limit-names", "255", "256", "32000", "32001", 256, 32000, "is too small" },
		{ "limit-cgroups", "7", "8", "4096", "4097", 8, 4096, "is too small" },
		{ "limit-shrinkers", "15", "16", "4096", "4097", 16, 4096, "is too small" },
		{ "limit-files", "63", "64", "1048576", "1048577", 64, 1048576, "is too small" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		number_is(keys[i].name, keys[i].lowest, keys[i].least);
		number_is(keys[i].name, keys[i].highest, keys[i].most);
		take_bad(keys[i].name, keys[i].below, ERANGE, keys[i].reason);
		take_bad(keys[i].name, keys[i].above, ERANGE, "is too large");
		take_bad(keys[i].name, "", EINVAL, "is empty");
		take_bad(keys[i].name, "many", EINVAL, "is not a whole number");
		take_bad(keys[i].name, "18446744073709551616", ERANGE, "is too large");
		take_bad(keys[i].name, "9223372036854775808", ERANGE, "is too large");
	}
}

static void test_zero(void **state)
{
	(void)state;
	number_is("status-interval", "0", 0);
	number_is("limit-files", "0", 0);
	number_is("rate", "0", 0);
	number_is("oom-score-adjust", "0", 0);
	take_bad("limit-tasks", "0", ERANGE, "is zero");
	take_bad("warning", "0", ERANGE, "is zero");
}

static void test_switches(void **state)
{
	struct options options;

	(void)state;
	defaults(&options);
	take_good(&options, "page-allocation", "no");
	assert_false(options.page_allocation);
	take_good(&options, "page-allocation", "yes");
	assert_true(options.page_allocation);
	take_good(&options, "stack", "yes");
	assert_true(options.stack);
	take_bad("stack", "maybe", EINVAL, "is neither yes nor no");
	take_bad("stack", "", EINVAL, "is neither yes nor no");
	take_bad("page-allocation", "No", EINVAL, "is neither yes nor no");
	options_free(&options);
}

static void test_oom_score_is_unset_until_set(void **state)
{
	struct options options;

	(void)state;
	defaults(&options);
	assert_false(options.oom_score_given);
	take_good(&options, "oom-score-adjust", "-500");
	assert_true(options.oom_score_given);
	assert_int_equal(options.oom_score, -500);
	options_free(&options);
}

/* The message says the range that holds. */
static void test_message(void **state)
{
	struct failure failure;
	struct options options;

	(void)state;
	defaults(&options);
	take(&options, "limit-tasks", "63", &failure);
	assert_string_equal(
		failure.text,
		"limit-tasks '63' is too small; allowed: a whole number from 64 to 65536");
	take(&options, "limit-files", "1", &failure);
	assert_string_equal(
		failure.text,
		"limit-files '1' is too small; allowed: a whole number from 64 to 1048576, or 0 for what it is");
	take(&options, "oom-score-adjust", "1001", &failure);
	assert_string_equal(
		failure.text,
		"oom-score-adjust '1001' is too large; allowed: a whole number from -1000 to 1000");
	options_free(&options);
}

static void test_defaults_are_those_of_the_table(void **state)
{
	size_t count, nr_defaults = 0;
	const struct key *keys = keys_all(&count);
	struct options untouched, set;

	(void)state;
	defaults(&untouched);
	defaults(&set);
	for (size_t i = 0; i < count; i++) {
		if (!keys[i].otherwise)
			continue;
		nr_defaults++;
		take_good(&set, keys[i].name, keys[i].otherwise);
		if (!key_value_same(&keys[i], &untouched, &set))
			fail_msg("%s is not %s without a file", keys[i].name, keys[i].otherwise);
	}
	assert_int_equal(nr_defaults, 17);
	options_free(&untouched);
	options_free(&set);
}

/* The file that is installed shows each default, commented out; tests run in the tree's root. */
static void test_defaults_are_those_of_the_file(void **state)
{
	FILE *file = fopen("etc/allocfilt.conf", "r");
	char text[32768], line[128];
	size_t count;
	const struct key *keys = keys_all(&count);

	(void)state;
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	for (size_t i = 0; i < count; i++) {
		if (!keys[i].otherwise)
			continue;
		snprintf(line, sizeof(line), "\n#%s = %s\n", keys[i].name, keys[i].otherwise);
		if (!strstr(text, line))
			fail_msg("etc/allocfilt.conf has no '%s'", line + 1);
	}
}

/* For each key a value that is not the default, and whether it takes a new set-up of tracing. */
static const struct {
	const char *name, *value;
	bool tracing;
} changes[] = {
	{ "threshold", "7ms", true },
	{ "duration", "7h", false },
	{ "pid", "7", true },
	{ "function", "vfs_read", true },
	{ "event", "kmem:kfree", true },
	{ "buffer", "7M", true },
	{ "format", "json", false },
	{ "top", "7", false },
	{ "metrics", "/run/metrics", false },
	{ "stack", "yes", true },
	{ "page-allocation", "no", true },
	{ "warning", "7ms", false },
	{ "error", "7s", false },
	{ "rate", "7", false },
	{ "burst", "7", false },
	{ "status-interval", "7h", false },
	{ "oom-score-adjust", "7", false },
	{ "limit-tasks", "777", true },
	{ "limit-events", "777", true },
	{ "limit-task-events", "777", true },
	{ "limit-names", "777", true },
	{ "limit-cgroups", "777", true },
	{ "limit-shrinkers", "777", true },
	{ "limit-files", "777", true },
};

static void test_same_tracing(void **state)
{
	struct options a, b;

	(void)state;
	defaults(&a);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct key *key = keys_find(changes[i].name);

		defaults(&b);
		assert_true(options_same_tracing(&a, &b));
		take_good(&b, changes[i].name, changes[i].value);
		assert_false(key_value_same(key, &a, &b));
		assert_false(key_value_same(key, &b, &a));
		assert_true(key_value_same(key, &b, &b));
		if (options_same_tracing(&a, &b) == changes[i].tracing ||
		    options_same_tracing(&b, &a) == changes[i].tracing)
			fail_msg("%s: wrong on whether tracing stays", changes[i].name);
		options_free(&b);
	}
	options_free(&a);
}

/* A key that is added has to say what a change of it takes, and to be in the list above. */
static void test_no_key_is_forgotten(void **state)
{
	size_t count;
	const struct key *keys = keys_all(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		bool found = false;

		if (keys[i].change == KEY_CHANGE_UNSET)
			fail_msg("%s does not say what a change takes", keys[i].name);
		assert_non_null(keys[i].allowed);
		for (size_t j = 0; j < sizeof(changes) / sizeof(changes[0]); j++)
			found |= !strcmp(changes[j].name, keys[i].name);
		if (!found)
			fail_msg("%s is not tested", keys[i].name);
	}
}

static void mark(bool *covered, size_t from, size_t size)
{
	memset(covered + from, true, size);
}

#define MARK(covered, name)                                                                        \
	mark(covered, offsetof(struct options, name), sizeof(((struct options *)NULL)->name))

static size_t size_of(enum key_kind kind)
{
	switch (kind) {
	case KEY_TIME:
	case KEY_SIZE:
		return sizeof(uint64_t);
	case KEY_NUMBER:
	case KEY_SIGNED:
	case KEY_FORMAT:
		return sizeof(int);
	case KEY_SWITCH:
		return sizeof(bool);
	default:
		return sizeof(char *);
	}
}

static void mark_keys(bool *covered)
{
	size_t count;
	const struct key *keys = keys_all(&count);

	for (size_t i = 0; i < count; i++) {
		mark(covered, keys[i].field, size_of(keys[i].kind));
		if (keys[i].given)
			covered[keys[i].given] = true;
	}
}

static void mark_command_line(bool *covered)
{
	MARK(covered, task);
	MARK(covered, source);
	MARK(covered, write);
	MARK(covered, full);
	MARK(covered, output);
	MARK(covered, config);
	MARK(covered, journal);
	MARK(covered, force);
	MARK(covered, verbose);
	MARK(covered, quiet);
	MARK(covered, given);
}

/* A field of struct options is a key's, or the command line's alone; padding between them is
 * shorter than a number of 64 bits, so a path, list, time or size is seen to be forgotten. */
static void test_no_field_is_forgotten(void **state)
{
	bool covered[sizeof(struct options)] = { false };
	size_t gap = 0;

	(void)state;
	mark_keys(covered);
	mark_command_line(covered);
	for (size_t i = 0; i < sizeof(covered); i++) {
		gap = covered[i] ? 0 : gap + 1;
		if (gap >= sizeof(uint64_t))
			fail_msg("bytes to %zu of struct options belong to no key", i);
	}
}

static void test_all_names_fit_into_a_message(void **state)
{
	struct failure failure = { 0 };
	struct options options;
	size_t count;
	const struct key *keys = keys_all(&count);

	(void)state;
	defaults(&options);
	assert_int_equal(options_set(&options, "colour", "red", &failure), -ENOENT);
	assert_true(strlen(failure.text) < FAILURE_TEXT_MAX - 100);
	for (size_t i = 0; i < count; i++)
		assert_non_null(strstr(failure.text, keys[i].name));
	options_free(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_oom_score_is_unset_until_set),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_defaults_are_those_of_the_table),
		cmocka_unit_test(test_defaults_are_those_of_the_file),
		cmocka_unit_test(test_same_tracing),
		cmocka_unit_test(test_no_key_is_forgotten),
		cmocka_unit_test(test_no_field_is_forgotten),
		cmocka_unit_test(test_all_names_fit_into_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
