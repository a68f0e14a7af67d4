// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/string_list.h"

#define LIST_MAX 1024 /* elements of one list */
/*
 * In set_ftrace_filter a colon or a blank would make a command of a function's name
 * (Documentation/trace/ftrace.rst), and a slash in an event's name would leave the directory of
 * events.
 */
#define ALNUM	   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define PATTERN	   ALNUM ".$*?[]^-"
#define EVENT_PART ALNUM "-"

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
	error = key->kind == KEY_PIDS ? add_pid(list, pid) :
					string_list_add(list, element, LIST_MAX);
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

static int parse_format(struct options *options, const char *setting, const char *value,
			struct failure *failure)
{
	char allowed[256] = "allowed: ";
	size_t length = strlen(allowed);

	for (const char *const *format = options->formats; *format; format++) {
		if (!strcmp(*format, value)) {
			options->format = *format;
			return 0;
		}
		length += snprintf(allowed + length, sizeof(allowed) - length, "%s%s",
				   format == options->formats ? "" : ", ", *format);
		if (length >= sizeof(allowed))
			length = sizeof(allowed) - 1;
	}
	return refuse(setting, -EINVAL, value, "is no known form", allowed, failure);
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
		reason = parse_number(key, value, &number);
		if (!reason)
			*(uint64_t *)field = number;
		break;
	case KEY_NUMBER:
		reason = parse_number(key, value, &number);
		if (!reason)
			*(int *)field = number;
		break;
	case KEY_SWITCH:
		if (strcmp(value, "yes") && strcmp(value, "no"))
			reason = "is neither yes nor no";
		else
			*(bool *)field = *value == 'y';
		break;
	case KEY_CHOICE:
		while (key->choices[number] && strcmp(key->choices[number], value))
			number++;
		if (key->choices[number])
			*(int *)field = number;
		else
			reason = "is unknown";
		break;
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
	case KEY_FORMAT:
		return parse_format(options, setting, value, failure);
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
		string_list_free(*(char ***)field);
		break;
	default:
		break;
	}
}
