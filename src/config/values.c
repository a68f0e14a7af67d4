// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/text.h"

#define LIST_MAX 1024 /* elements of one list */
/*
 * In set_ftrace_filter a colon or a blank would make a command of a function's name
 * (Documentation/trace/ftrace.rst), and a slash in an event's name would leave the directory of
 * events.
 */
#define ALNUM	   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define PATTERN	   ALNUM ".$*?[]^-"
#define EVENT_PART ALNUM "-"

#define US 1000ll
#define MS (1000 * US)
#define S  (1000 * MS)

/* With the largest factor, an hour in ns, a fraction of so many digits still fits. */
#define FRACTION_DIGITS 6

const char *value_shown(const char *value, char text[VALUE_SHOWN_MAX])
{
	size_t length = strnlen(value, VALUE_SHOWN_MAX);

	if (length == VALUE_SHOWN_MAX)
		length = VALUE_SHOWN_MAX - 4;
	for (size_t i = 0; i < length; i++)
		text[i] = iscntrl((unsigned char)value[i]) ? '?' : value[i];
	strcpy(text + length, value[length] ? "..." : "");
	return text;
}

/* ---- quantities ---- */

struct quantity_unit {
	const char *name; /* NULL ends */
	int64_t factor;
};

struct quantity_units {
	const struct quantity_unit *units;
	const char *bare; /* unit of a number without one */
};

static const struct quantity_unit short_times[] = {
	{ "ns", 1 }, { "us", US }, { "ms", MS }, { "s", S }, { NULL },
};
static const struct quantity_unit long_times[] = {
	{ "ms", MS }, { "s", S }, { "m", 60 * S }, { "h", 3600 * S }, { NULL },
};
static const struct quantity_unit sizes[] = {
	{ "K", 1 << 10 },   { "M", 1 << 20 }, { "G", 1 << 30 },	  { "k", 1 << 10 },
	{ "m", 1 << 20 },   { "g", 1 << 30 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 },
	{ "GiB", 1 << 30 }, { NULL },
};

static const struct quantity_unit shares[] = { { "%", 1 }, { NULL } };

const struct quantity_units quantity_short_time = { short_times, "us" };
const struct quantity_units quantity_long_time = { long_times, "s" };
const struct quantity_units quantity_size = { sizes, "K" };
const struct quantity_units quantity_share = { shares, "%" };

const char *quantity_parse(const char *text, const struct quantity_units *units, int64_t *ret_value)
{
	const char *digits = text + (*text == '-'), *name;
	const struct quantity_unit *unit;
	long long value, fraction = 0, scale = 1;
	char *end;

	if (!*text)
		return "is empty";
	/* strtoll() would skip blanks and a second sign. */
	if (!isdigit((unsigned char)*digits))
		return "is not a whole number";
	errno = 0;
	value = strtoll(text, &end, 10);
	if (*end && !units)
		return "is not a whole number";
	if (errno)
		return value < 0 ? "is too small" : "is too large";
	if (*end == '.') {
		size_t length = strspn(end + 1, "0123456789");

		if (!length || length > FRACTION_DIGITS)
			return "is not a number, or has too many digits after its point";
		for (end++; length--; end++, scale *= 10)
			fraction = 10 * fraction + (*end - '0');
	}
	if (units) {
		name = *end ? end : units->bare;
		for (unit = units->units; unit->name && strcmp(unit->name, name); unit++)
			;
		if (!unit->name)
			return "has an unknown unit";
		fraction *= unit->factor;
		if (fraction % scale)
			return "is not a whole number";
		fraction /= *text == '-' ? -scale : scale;
		if (__builtin_mul_overflow(value, unit->factor, &value) ||
		    __builtin_add_overflow(value, fraction, &value))
			return *text == '-' ? "is too small" : "is too large";
	}
	*ret_value = value;
	return NULL;
}

/* ---- fields ---- */

/* Returns NULL, or the reason for the message. */
static const char *parse_number(const struct key *key, const char *text, int64_t *ret_number)
{
	const char *reason = quantity_parse(text, key->units, ret_number);

	if (reason)
		return reason;
	if (*ret_number > key->highest)
		return "is too large";
	if (*ret_number < 0 && key->lowest >= 0)
		return "is negative";
	if (*ret_number < key->lowest && (*ret_number || !key->or_zero))
		return *ret_number ? "is too small" : "is zero";
	if (key->microseconds && *ret_number % 1000)
		return "is not a whole number of microseconds, the kernel's own unit";
	return NULL;
}

/* SYSTEM:NAME */
static bool is_event(const char *text)
{
	size_t system = strspn(text, EVENT_PART), name;

	if (!system || text[system] != ':')
		return false;
	name = strspn(text + system + 1, EVENT_PART);
	return name && !text[system + 1 + name];
}

static int add_pid(pid_t **pids, pid_t pid)
{
	size_t count = 0;
	pid_t *longer;

	for (; *pids && (*pids)[count]; count++)
		if ((*pids)[count] == pid)
			return 0;
	if (count == LIST_MAX)
		return -E2BIG;
	longer = reallocarray(*pids, count + 2, sizeof(*longer));
	if (!longer)
		return -ENOMEM;
	longer[count] = pid;
	longer[count + 1] = 0;
	*pids = longer;
	return 0;
}

static int add_name(char ***names, const char *name)
{
	size_t count = 0;
	char **longer, *copy;

	for (; *names && (*names)[count]; count++)
		if (!strcmp((*names)[count], name))
			return 0;
	if (count == LIST_MAX)
		return -E2BIG;
	copy = strdup(name);
	longer = copy ? reallocarray(*names, count + 2, sizeof(*longer)) : NULL;
	if (!longer) {
		free(copy);
		return -ENOMEM;
	}
	longer[count] = copy;
	longer[count + 1] = NULL;
	*names = longer;
	return 0;
}

/* Returns 0 or -errno; with -EINVAL and -E2BIG also the reason for the message. */
static int add_element(const struct key *key, void *list, const char *element,
		       const char **ret_reason)
{
	int64_t pid;
	int error;

	*ret_reason = NULL;
	if (key->kind == KEY_PIDS)
		*ret_reason = parse_number(key, element, &pid);
	else if (!*element)
		*ret_reason = "is empty";
	else if (key->kind == KEY_FUNCTIONS && element[strspn(element, PATTERN)])
		*ret_reason = "is not the name of a function";
	else if (key->kind == KEY_EVENTS && !is_event(element))
		*ret_reason = "is not the name of an event";
	if (*ret_reason)
		return -EINVAL;
	error = key->kind == KEY_PIDS ? add_pid(list, pid) : add_name(list, element);
	if (error == -E2BIG)
		*ret_reason = "is one too many";
	return error;
}

static int refuse(const char *setting, int error, const char *value, const char *reason,
		  const char *allowed, struct failure *failure)
{
	char text[VALUE_SHOWN_MAX];

	if (error == -ENOMEM)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM,
				   "out of memory while reading the settings");
	return failure_set(failure, EXIT_STATUS_USAGE, -error, "%s '%s' %s; %s", setting,
			   value_shown(value, text), reason, allowed);
}

/* Elements are separated by commas. */
static int parse_list(const struct key *key, void *list, const char *setting, const char *value,
		      struct failure *failure)
{
	char *copy = strdup(value), *rest = copy, *element;
	const char *reason = NULL;
	int error = copy ? 0 : refuse(setting, -ENOMEM, value, NULL, NULL, failure);

	while (!error && (element = strsep(&rest, ","))) {
		error = add_element(key, list, element, &reason);
		if (error)
			refuse(setting, error, element, reason,
			       error == -E2BIG ? "allowed: 1024 of them" : key->allowed, failure);
	}
	free(copy);
	return error;
}

static int parse_choice(const struct options *options, const struct key *key, void *field,
			const char *setting, const char *value, struct failure *failure)
{
	const char *const *choices = key->kind == KEY_FORMAT ? options->formats : key->choices;
	char allowed[256] = "allowed: ", reason[64];
	size_t used = strlen(allowed);
	const char *hint = NULL;

	for (int i = 0; choices[i]; i++) {
		if (!strcmp(choices[i], value)) {
			if (key->kind == KEY_FORMAT)
				*(const char **)field = choices[i];
			else
				*(int *)field = i;
			return 0;
		}
		text_hint(&hint, value, choices[i]);
		used = text_append(allowed, sizeof(allowed), used, i ? ", " : "");
		used = text_append(allowed, sizeof(allowed), used, choices[i]);
	}
	snprintf(reason, sizeof(reason), "is unknown%s%s%s", hint ? " (did you mean " : "",
		 hint ? hint : "", hint ? "?)" : "");
	return refuse(setting, -EINVAL, value, reason, allowed, failure);
}

int value_parse(struct options *options, const struct key *key, const char *setting,
		const char *value, struct failure *failure)
{
	void *field = (char *)options + key->field;
	const char *reason = NULL;
	int64_t number = 0;
	char *copy;

	switch (key->kind) {
	case KEY_QUANTITY:
	case KEY_NUMBER:
		reason = parse_number(key, value, &number);
		if (!reason && key->kind == KEY_QUANTITY)
			*(uint64_t *)field = number;
		else if (!reason)
			*(int *)field = number;
		break;
	case KEY_SWITCH:
		if (strcmp(value, "yes") && strcmp(value, "no"))
			reason = "is neither yes nor no";
		else
			*(bool *)field = *value == 'y';
		break;
	case KEY_CHOICE:
	case KEY_FORMAT:
		return parse_choice(options, key, field, setting, value, failure);
	case KEY_TEXT:
	case KEY_PATH:
		if (!*value)
			return refuse(setting, -EINVAL, value, "is empty",
				      key->allowed ? key->allowed : "allowed: a path", failure);
		copy = strdup(value);
		if (!copy)
			return refuse(setting, -ENOMEM, value, NULL, NULL, failure);
		free(*(char **)field);
		*(char **)field = copy;
		break;
	case KEY_PIDS:
	case KEY_FUNCTIONS:
	case KEY_EVENTS:
		return parse_list(key, field, setting, value, failure);
	case KEY_TASK:
		break;
	}
	return reason ? refuse(setting, -EINVAL, value, reason, key->allowed, failure) : 0;
}

void value_free(const struct key *key, struct options *options)
{
	void *field = (char *)options + key->field;

	switch (key->kind) {
	case KEY_TEXT:
	case KEY_PATH:
	case KEY_PIDS:
		free(*(void **)field);
		break;
	case KEY_FUNCTIONS:
	case KEY_EVENTS:
		text_list_free(*(char ***)field);
		break;
	default:
		break;
	}
}
