/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include "allocfilt/config/options.h"
#include "unit_test.h"

#define ARGUMENTS_MAX 20

static const char *const formats[] = { "plain", "fancy", NULL };

/* Splits @text in its place at blanks; two blanks make an empty argument. Returns how many. */
static inline int split_words(char *text, char *argv[ARGUMENTS_MAX + 1])
{
	int argc = 0;

	while ((argv[argc] = strsep(&text, " ")))
		assert_true(++argc <= ARGUMENTS_MAX);
	return argc;
}

static inline int parse(struct options *options, const char *text, struct failure *failure)
{
	char *copy = strdup(text), *argv[ARGUMENTS_MAX + 1];
	int ret = options_parse(options, split_words(copy, argv), argv, formats, failure);

	free(copy);
	return ret;
}

static inline void parse_good(struct options *options, const char *text)
{
	struct failure failure = { 0 };

	if (parse(options, text, &failure))
		fail_msg("%s: %s", text, failure.text);
}

#endif
