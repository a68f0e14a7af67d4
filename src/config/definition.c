// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "config/traceable.h"

#define BLANKS		 " \t"
#define TITLE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./()"

static int refuse(const char **ret_reason, int error, const char *reason)
{
	*ret_reason = reason;
	return -error;
}

static char *trim(char *text)
{
	char *end;

	text += strspn(text, BLANKS);
	end = text + strlen(text);
	while (end > text && strchr(BLANKS, end[-1]))
		end--;
	*end = '\0';
	return text;
}

static int take_title(struct definition *definition, const char *title, const char **ret_reason)
{
	if (!*title)
		return refuse(ret_reason, EINVAL, "has no title before the colon");
	if (strlen(title) > DEFINITION_TITLE_MAX)
		return refuse(ret_reason, E2BIG, "has a title of more than 31 bytes");
	if (title[strspn(title, TITLE_CHARACTERS)])
		return refuse(
			ret_reason, EINVAL,
			"has a title with other characters than letters, digits, blanks and _-./()");
	definition->title = strdup(title);
	return definition->title ? 0 : -ENOMEM;
}

static int take_function(struct definition *definition, const char *word, const char **ret_reason)
{
	int error;

	if (!traceable_function(word))
		return refuse(ret_reason, EINVAL, "has a word that cannot be a kernel function");
	error = string_list_add(&definition->functions, word, DEFINITION_FUNCTIONS_MAX);
	if (error == -E2BIG)
		return refuse(ret_reason, E2BIG, "has more than 8 kernel functions");
	return error;
}

static int take_event(struct definition *definition, const char *word, const char **ret_reason)
{
	int error;

	if (!traceable_event(word))
		return refuse(ret_reason, EINVAL, "has a word that cannot be an event");
	error = string_list_add(&definition->events, word, DEFINITION_EVENTS_MAX);
	if (error == -E2BIG)
		return refuse(ret_reason, E2BIG, "has more than 16 events");
	return error;
}

/* Calls take for each word between blanks. */
static int take_words(struct definition *definition, char *words, const char **ret_reason,
		      int (*take)(struct definition *definition, const char *word,
				  const char **ret_reason))
{
	char *word, *rest = words;
	int error = 0;

	while (!error && (word = strtok_r(rest, BLANKS, &rest)))
		error = take(definition, word, ret_reason);
	return error;
}

/* What stands behind the semicolon. */
static int take_events(struct definition *definition, char *part, const char **ret_reason)
{
	size_t length = strcspn(part, BLANKS);
	int error;

	if (strncmp(part, "events", length) || length != strlen("events"))
		return refuse(ret_reason, EINVAL, "has no 'events' after the semicolon");
	error = take_words(definition, part + length, ret_reason, take_event);
	if (!error && !definition->events)
		return refuse(ret_reason, EINVAL, "has no event after 'events'");
	return error;
}

static int take_parts(struct definition *definition, char *text, const char **ret_reason)
{
	char *functions = strchr(text, ':'), *events = strchr(text, ';');
	int error;

	if (!functions || (events && events < functions))
		return refuse(ret_reason, EINVAL, "has no colon behind its title");
	*functions++ = '\0';
	if (events)
		*events++ = '\0';
	error = take_title(definition, trim(text), ret_reason);
	if (!error)
		error = take_words(definition, functions, ret_reason, take_function);
	if (!error && !definition->functions)
		return refuse(ret_reason, EINVAL, "has no kernel function");
	if (!error && events)
		error = take_events(definition, trim(events), ret_reason);
	return error;
}

int definition_parse(struct definition *definition, const char *text, const char **ret_reason)
{
	char *copy = strdup(text);
	int error;

	*definition = (struct definition){ 0 };
	*ret_reason = "finds no memory";
	error = copy ? take_parts(definition, copy, ret_reason) : -ENOMEM;
	free(copy);
	if (error)
		definition_free(definition);
	return error;
}

void definition_free(struct definition *definition)
{
	free(definition->title);
	string_list_free(definition->functions);
	string_list_free(definition->events);
	*definition = (struct definition){ 0 };
}

bool definition_same(const struct definition *a, const struct definition *b)
{
	return !strcmp(a->title, b->title) && string_list_equal(a->functions, b->functions) &&
	       string_list_equal(a->events, b->events);
}
