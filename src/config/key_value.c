// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/key_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "config/traceable.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define LIST_MAX     1024 /* elements of one -p, -F or -e list */
#define ALLOWED_LIST "allowed: 1024 of them"
#define NS_PER_US    1000

struct taking {
	struct options *options;
	const struct key *key;
	enum key_from from;
	struct failure *failure;
};

const char *key_value_shown(const char *value, char text[KEY_VALUE_SHOWN_MAX])
{
	size_t length = strnlen(value, KEY_VALUE_SHOWN_MAX);

	if (length == KEY_VALUE_SHOWN_MAX)
		length = KEY_VALUE_SHOWN_MAX - 4;
	for (size_t i = 0; i < length; i++)
		text[i] = iscntrl((unsigned char)value[i]) ? '?' : value[i];
	strcpy(text + length, value[length] ? "..." : "");
	return text;
}

static int refuse_value(struct failure *failure, int error, const char *said, const char *value,
			const char *reason, const char *allowed)
{
	char text[KEY_VALUE_SHOWN_MAX];

	return failure_set(failure, EXIT_STATUS_USAGE, error, "%s '%s' %s; %s", said,
			   key_value_shown(value, text), reason, allowed);
}

static const char *said(const struct taking *taking)
{
	return taking->from == KEY_FROM_OPTION ? taking->key->option : taking->key->name;
}

static int refuse(const struct taking *taking, int error, const char *value, const char *reason)
{
	return refuse_value(taking->failure, error, said(taking), value, reason,
			    taking->key->allowed);
}

static int refuse_quantity(const struct taking *taking, enum quantity quantity, const char *value)
{
	return refuse(taking, -quantity_error(quantity), value, quantity_reason(quantity));
}

static int refuse_one_too_many(const struct taking *taking, const char *value)
{
	return refuse_value(taking->failure, E2BIG, said(taking), value, "is one too many",
			    ALLOWED_LIST);
}

static int out_of_memory(struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM,
			   "out of memory while reading the settings");
}

static void *field(const struct taking *taking)
{
	return (char *)taking->options + taking->key->field;
}

static enum quantity in_range(const struct key *key, int64_t value)
{
	if (value > key->highest)
		return QUANTITY_TOO_LARGE;
	if (value >= key->lowest || (!value && key->or_zero))
		return QUANTITY_GOOD;
	return value ? QUANTITY_TOO_SMALL : QUANTITY_ZERO;
}

static enum quantity scan_in_range(const struct key *key, const char *value, uint64_t *ret_number)
{
	enum quantity quantity = quantity_scan(value, key->units, ret_number);

	if (quantity == QUANTITY_GOOD && *ret_number > INT64_MAX)
		return QUANTITY_TOO_LARGE;
	return quantity == QUANTITY_GOOD ? in_range(key, *ret_number) : quantity;
}

static int take_measure(const struct taking *taking, const char *value)
{
	uint64_t number = 0;
	enum quantity quantity = scan_in_range(taking->key, value, &number);

	if (quantity != QUANTITY_GOOD)
		return refuse_quantity(taking, quantity, value);
	if (taking->key->microseconds && number % NS_PER_US)
		return refuse(taking, ERANGE, value,
			      "is not a whole number of microseconds, the kernel's own unit");
	*(uint64_t *)field(taking) = number;
	return 0;
}

static int take_number(const struct taking *taking, const char *value)
{
	uint64_t number = 0;
	enum quantity quantity = scan_in_range(taking->key, value, &number);

	if (quantity != QUANTITY_GOOD)
		return refuse_quantity(taking, quantity, value);
	*(unsigned int *)field(taking) = number;
	return 0;
}

static int take_signed(const struct taking *taking, const char *value)
{
	int64_t number = 0;
	enum quantity quantity = quantity_scan_signed(value, &number);

	if (quantity == QUANTITY_GOOD)
		quantity = in_range(taking->key, number);
	if (quantity != QUANTITY_GOOD)
		return refuse_quantity(taking, quantity, value);
	*(int *)field(taking) = number;
	return 0;
}

static int take_switch(const struct taking *taking, const char *value)
{
	bool yes = !strcmp(value, "yes");

	if (!yes && strcmp(value, "no"))
		return refuse(taking, EINVAL, value, "is neither yes nor no");
	*(bool *)field(taking) = yes;
	return 0;
}

static int take_format(const struct taking *taking, const char *value)
{
	static const char *const names[] = {
		[FORMAT_TRACE] = "trace",
		[FORMAT_TREE] = "tree",
		[FORMAT_JSON] = "json",
		[FORMAT_PERFETTO] = "perfetto",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i])) {
			*(enum options_format *)field(taking) = i;
			return 0;
		}
	return refuse(taking, EINVAL, value, "is no known form");
}

int key_value_take_path(char **slot, const char *option, const char *value, struct failure *failure)
{
	char *copy;

	if (!*value)
		return refuse_value(failure, EINVAL, option, value, "is empty", "allowed: a path");
	copy = strdup(value);
	if (!copy)
		return out_of_memory(failure);
	free(*slot);
	*slot = copy;
	return 0;
}

static int take_path(const struct taking *taking, const char *value)
{
	return key_value_take_path(field(taking), said(taking), value, taking->failure);
}

/* Calls take for each element between commas. */
static int split(const struct taking *taking, const char *value,
		 int (*take)(const struct taking *taking, const char *element))
{
	char *copy = strdup(value), *rest = copy, *element;
	int error = copy ? 0 : out_of_memory(taking->failure);

	while (!error && (element = strsep(&rest, ",")))
		error = take(taking, element);
	free(copy);
	return error;
}

static size_t pids_count(const pid_t *pids)
{
	size_t count = 0;

	while (pids && pids[count])
		count++;
	return count;
}

static int pids_add(pid_t **pids, pid_t pid)
{
	size_t count = pids_count(*pids);
	pid_t *longer;

	for (size_t i = 0; i < count; i++)
		if ((*pids)[i] == pid)
			return 0;
	if (count == LIST_MAX)
		return -E2BIG;
	longer = realloc(*pids, (count + 2) * sizeof(*longer));
	if (!longer)
		return -ENOMEM;
	longer[count] = pid;
	longer[count + 1] = 0;
	*pids = longer;
	return 0;
}

static int take_pid(const struct taking *taking, const char *element)
{
	uint64_t number = 0;
	enum quantity quantity = scan_in_range(taking->key, element, &number);
	int error;

	if (quantity != QUANTITY_GOOD)
		return refuse_quantity(taking, quantity, element);
	error = pids_add(field(taking), (pid_t)number);
	if (error == -E2BIG)
		return refuse_one_too_many(taking, element);
	return error ? out_of_memory(taking->failure) : 0;
}

static int take_pids(const struct taking *taking, const char *value)
{
	return split(taking, value, take_pid);
}

static int take_name(const struct taking *taking, const char *element, bool good,
		     const char *reason)
{
	int error;

	if (!*element)
		return refuse(taking, EINVAL, element, "is empty");
	if (!good)
		return refuse(taking, EINVAL, element, reason);
	error = string_list_add(field(taking), element, LIST_MAX);
	if (error == -E2BIG)
		return refuse_one_too_many(taking, element);
	return error ? out_of_memory(taking->failure) : 0;
}

static int take_event(const struct taking *taking, const char *element)
{
	return take_name(taking, element, traceable_event(element), "is not the name of an event");
}

static int take_events(const struct taking *taking, const char *value)
{
	return split(taking, value, take_event);
}

static int take_pattern(const struct taking *taking, const char *element)
{
	return take_name(taking, element, traceable_pattern(element),
			 "is not the name of a function");
}

static int take_functions(const struct taking *taking, const char *value)
{
	return split(taking, value, take_pattern);
}

int key_value_take(struct options *options, const struct key *key, enum key_from from,
		   const char *value, struct failure *failure)
{
	static int (*const take[])(const struct taking *taking, const char *value) = {
		[KEY_TIME] = take_measure,	  [KEY_SIZE] = take_measure,
		[KEY_NUMBER] = take_number,	  [KEY_SIGNED] = take_signed,
		[KEY_SWITCH] = take_switch,	  [KEY_FORMAT] = take_format,
		[KEY_PATH] = take_path,		  [KEY_PIDS] = take_pids,
		[KEY_FUNCTIONS] = take_functions, [KEY_EVENTS] = take_events,
	};
	struct taking taking = { options, key, from, failure };
	int error = take[key->kind](&taking, value);

	if (!error && key->given)
		*(bool *)((char *)options + key->given) = true;
	return error;
}

static bool same_paths(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_pids(const pid_t *a, const pid_t *b)
{
	size_t count = pids_count(a);

	return pids_count(b) == count && (!count || !memcmp(a, b, count * sizeof(*a)));
}

static bool same_given(const struct key *key, const struct options *a, const struct options *b)
{
	return !key->given || *(const bool *)((const char *)a + key->given) ==
				      *(const bool *)((const char *)b + key->given);
}

bool key_value_same(const struct key *key, const struct options *a, const struct options *b)
{
	const void *of_a = (const char *)a + key->field;
	const void *of_b = (const char *)b + key->field;

	switch (key->kind) {
	case KEY_TIME:
	case KEY_SIZE:
		return same_given(key, a, b) && !memcmp(of_a, of_b, sizeof(uint64_t));
	case KEY_NUMBER:
	case KEY_SIGNED:
		return same_given(key, a, b) && !memcmp(of_a, of_b, sizeof(int));
	case KEY_SWITCH:
		return *(const bool *)of_a == *(const bool *)of_b;
	case KEY_FORMAT:
		return !memcmp(of_a, of_b, sizeof(enum options_format));
	case KEY_PATH:
		return same_paths(*(char *const *)of_a, *(char *const *)of_b);
	case KEY_PIDS:
		return same_pids(*(pid_t *const *)of_a, *(pid_t *const *)of_b);
	case KEY_FUNCTIONS:
	case KEY_EVENTS:
		return string_list_equal(*(char **const *)of_a, *(char **const *)of_b);
	}
	return false;
}
