/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include "allocfilt/config/options.h"
#include "config/keys.h"
#include "notes.h"
#include "unit_test.h"

#include <inttypes.h>

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

static inline void note_value(const struct key *key, const void *field)
{
	note("%s%s=", notes.used ? " " : "", key->name);
	if (key->kind == KEY_PIDS)
		for (const pid_t *pids = *(pid_t *const *)field, *pid = pids; *pid; pid++)
			note("%s%d", pid != pids ? "," : "", *pid);
	else if (key->kind == KEY_FUNCTIONS || key->kind == KEY_EVENTS)
		for (char **names = *(char **const *)field, **name = names; *name; name++)
			note("%s%s", name != names ? "," : "", *name);
	else if (key->kind == KEY_QUANTITY)
		note("%" PRIu64, *(const uint64_t *)field);
	else if (key->kind == KEY_NUMBER)
		note("%d", *(const int *)field);
	else if (key->kind == KEY_CHOICE)
		note("%s", key->choices[*(const int *)field]);
	else if (key->kind == KEY_SWITCH)
		note("%s", *(const bool *)field ? "yes" : "no");
	else
		note("%s", *(const char *const *)field);
}

/* Returns the settings of the command line or the file, in the order of the keys: "threshold=134000 pid=12,34". */
static inline const char *options_text(const struct options *options)
{
	static const char *const tasks[] = { "",      "account",      "diff",	 "restore",
					     "probe", "check-config", "version", "help" };

	clear_notes();
	note("%s", tasks[options->task]);
	for (size_t i = 0; i < nr_keys; i++)
		if (options->set & key_bit(&keys[i]) && keys[i].kind != KEY_TASK)
			note_value(&keys[i], (const char *)options + keys[i].field);
	return notes.text;
}

#endif
