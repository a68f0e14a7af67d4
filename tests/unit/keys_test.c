// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_line.h"
#include "config/values.h"
#include "unit_test.h"

static void set_good(struct options *options, const char *name, const char *value)
{
	const struct key *key = key_find(name);
	struct failure failure = { 0 };

	assert_non_null(key);
	if (value_parse(options, key, name, value, &failure))
		fail_msg("%s = %s: %s", name, value, failure.text);
}

static void set_bad(const char *name, const char *value, const char *reason)
{
	char expected[FAILURE_TEXT_MAX];
	struct failure failure = { 0 };
	struct options options;

	parse_good(&options, "allocfilt");
	assert_int_equal(value_parse(&options, key_find(name), name, value, &failure), -EINVAL);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	snprintf(expected, sizeof(expected), "%s '%s' %s; allowed: ", name, value, reason);
	if (strncmp(failure.text, expected, strlen(expected)))
		fail_msg("'%s' and not '%s'", failure.text, expected);
	options_free(&options);
}

static void number_is(const char *name, const char *value, int64_t expected)
{
	const struct key *key = key_find(name);
	struct options options;
	const void *field = (const char *)&options + key->field;
	int64_t number;

	parse_good(&options, "allocfilt");
	set_good(&options, name, value);
	number = key->kind == KEY_NUMBER ? *(const int *)field : *(const int64_t *)field;
	if (number != expected)
		fail_msg("%s = %s is %lld", name, value, (long long)number);
	options_free(&options);
}

#define MS     1000000ll
#define SECOND 1000000000ll
#define HOUR   (3600 * SECOND)

/* Each key at its bounds, and one beside them. */
UNIT_TEST(test_bounds)
{
	static const struct {
		const char *name, *below, *lowest, *highest, *above;
		int64_t least, most;
		const char *reason; /* for what is below */
	} bounds[] = {
		{ "threshold", "0", "1", "9223372036854775us", "9223372036854776us", 1000,
		  9223372036854775000, "is zero" },
		{ "report", "0", "1", "9223372036854775us", "9223372036854776us", 1000,
		  9223372036854775000, "is zero" },
		{ "duration", "0", "1ms", "9223372036s", "9223372037s", MS, 9223372036 * SECOND,
		  "is zero" },
		{ "interval", "99ms", "100ms", "9223372036s", "9223372037s", SECOND / 10,
		  9223372036 * SECOND, "is too small" },
		{ "buffer", "7", "8", "64G", "67108865", 8192, 64ll << 30, "is too small" },
		{ "until", "0", "1", "9223372036854775us", "9223372036854776us", 1000,
		  9223372036854775000, "is zero" },
		{ "max-size", "1023K", "1M", "1024G", "1025G", 1 << 20, 1ll << 40, "is too small" },
		{ "keep", "1", "2", "999999", "1000000", 2, 999999, "is too small" },
		{ "top", "0", "1", "128", "129", 1, 128, "is zero" },
		{ "warning", "999ns", "1", "3600s", "3600001ms", 1000, HOUR, "is too small" },
		{ "error", "999ns", "1", "3600s", "3600001ms", 1000, HOUR, "is too small" },
		{ "max-cpu", "-1%", "0", "100%", "101%", 0, 100, "is negative" },
		{ "rate", "-1", "0", "60000", "60001", 0, 60000, "is negative" },
		{ "metrics-cgroups", "-1", "0", "128", "129", 0, 128, "is negative" },
		{ "burst", "-1", "0", "10000", "10001", 0, 10000, "is negative" },
		{ "status-interval", "999ms", "1", "168h", "604801s", SECOND, 168 * HOUR,
		  "is too small" },
		{ "oom-score-adjust", "-1001", "-1000", "1000", "1001", -1000, 1000,
		  "is too small" },
		{ "limit-memory", "255", "256", "4G", "4194305", 256 << 10, 4ll << 30,
		  "is too small" },
	};

	for (size_t i = 0; i < COUNT(bounds); i++) {
		number_is(bounds[i].name, bounds[i].lowest, bounds[i].least);
		number_is(bounds[i].name, bounds[i].highest, bounds[i].most);
		set_bad(bounds[i].name, bounds[i].below, bounds[i].reason);
		set_bad(bounds[i].name, bounds[i].above, "is too large");
		set_bad(bounds[i].name, "", "is empty");
		set_bad(bounds[i].name, "many", "is not a whole number");
		set_bad(bounds[i].name, "9223372036854775808", "is too large");
	}
	number_is("status-interval", "0", 0);
	number_is("oom-score-adjust", "0", 0);
	set_bad("limit-memory", "0", "is zero");
	set_bad("warning", "0", "is zero");
}

UNIT_TEST(test_switches)
{
	struct options options;

	parse_good(&options, "allocfilt");
	set_good(&options, "page-allocation", "no");
	assert_false(options.page_allocation);
	set_good(&options, "page-allocation", "yes");
	assert_true(options.page_allocation);
	assert_int_equal(options.summary, SUMMARY_SHORT);
	set_good(&options, "summary", "none");
	assert_int_equal(options.summary, SUMMARY_NONE);
	set_good(&options, "summary", "full");
	assert_int_equal(options.summary, SUMMARY_FULL);
	set_bad("summary", "long", "is unknown");
	set_bad("summary", "", "is unknown");
	set_bad("stack", "maybe", "is neither yes nor no");
	set_bad("stack", "", "is neither yes nor no");
	set_bad("page-allocation", "No", "is neither yes nor no");
	options_free(&options);
}

/* The file that is installed shows each default of the service, commented out; tests run in the
 * tree's root. */
UNIT_TEST(test_defaults_of_the_file)
{
	FILE *file = fopen("etc/allocfilt.conf", "r");
	char text[32768], line[128];

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	for (size_t i = 0; i < nr_keys; i++) {
		if (!keys[i].default_value)
			continue;
		snprintf(line, sizeof(line), "\n#%s = %s\n", keys[i].name,
			 keys[i].journal_default ? keys[i].journal_default : keys[i].default_value);
		if (!strstr(text, line))
			fail_msg("etc/allocfilt.conf has no '%s'", line + 1);
	}
}

/* Each key that the record of a run may have, as options_next_set() gives it. */
UNIT_TEST(test_schema)
{
	FILE *file = fopen("etc/allocfilt.schema.json", "r");
	char text[65536], property[128];

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	for (size_t i = 0; i < nr_keys; i++) {
		/* The last one is of account, which has no such record. */
		if (keys[i].kind == KEY_PATH || keys[i].kind == KEY_TASK ||
		    !strcmp(keys[i].name, "threshold") || !strcmp(keys[i].name, "report") ||
		    !strcmp(keys[i].name, "sort"))
			continue;
		snprintf(property, sizeof(property), "\n            \"%s\": {", keys[i].name);
		if (!strstr(text, property))
			fail_msg("etc/allocfilt.schema.json has no option %s", keys[i].name);
	}
}

/* A field that no key sets would keep its zero whatever a user writes. */
UNIT_TEST(test_keys_have_their_own_fields)
{
	for (size_t i = 0; i < nr_keys; i++) {
		if (keys[i].kind == KEY_TASK)
			continue;
		assert_true(keys[i].field > 0 && keys[i].field < sizeof(struct options));
		for (size_t j = i + 1; j < nr_keys; j++) {
			if (keys[i].field == keys[j].field)
				fail_msg("%s and %s are one field", keys[i].name, keys[j].name);
			if (!strcmp(keys[i].name, keys[j].name))
				fail_msg("%s stands twice", keys[i].name);
		}
	}
}

static bool is_option(const char *text)
{
	for (size_t i = 0; i < nr_keys; i++)
		if (keys[i].option && !strcmp(keys[i].option, text))
			return true;
	return !strcmp(text, "COMMAND");
}

/* A name that no option has would never be given. */
UNIT_TEST(test_what_goes_with_a_key)
{
	for (size_t i = 0; i < nr_keys; i++)
		if (!keys[i].modes || (keys[i].needs && !is_option(keys[i].needs)) ||
		    (keys[i].excludes && !is_option(keys[i].excludes)))
			fail_msg("%s goes with what is not there", keys[i].name);
}

UNIT_TEST_MAIN(NULL, NULL)
