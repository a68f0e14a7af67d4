// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/keys.h"

#define LINE_SIZE 4096

static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r\n");
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

static int take_line(struct options *options, char *line, struct failure *failure)
{
	char *key = trim(line), *value;

	if (!*key || *key == '#')
		return 0;
	value = strchr(key, '=');
	if (!value)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "not of the form key = value");
	*value++ = '\0';
	return options_set(options, trim(key), trim(value), failure);
}

static bool is_whole(const char *line, FILE *file)
{
	return strchr(line, '\n') || feof(file);
}

static int take_lines(struct options *options, FILE *file, size_t *number, struct failure *failure)
{
	char line[LINE_SIZE];
	int error = 0;

	for (*number = 1; !error && fgets(line, sizeof(line), file); ++*number)
		if (is_whole(line, file))
			error = take_line(options, line, failure);
		else
			error = failure_set(failure, EXIT_STATUS_USAGE, E2BIG,
					    "a line of more than %d bytes, or no text",
					    LINE_SIZE - 2);
	return error;
}

static int take_file(struct options *options, FILE *file, const char *path, struct failure *failure)
{
	struct failure reason = { 0 };
	size_t number;
	int error = take_lines(options, file, &number, &reason);

	if (error)
		return failure_set(failure, reason.status, -error, "%s:%zu: %s", path, number - 1,
				   reason.text);
	if (ferror(file))
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "%s: %s", path,
				   strerror(errno));
	return 0;
}

/* Settings that say nothing, or the opposite, beside each other. */
static int check_combinations(const struct options *options, const char *path,
			      struct failure *failure)
{
	const char *text = NULL;

	if (options->warning > options->error)
		text = "warning is above error; allowed: up to error";
	else if (options->rate && !options->burst)
		text = "burst is 0, so no entry would ever be written; allowed: burst from 1, or rate = 0 for no limit";
	return text ? failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "%s: %s", path, text) : 0;
}

int config_load(struct options *options, const char *path, const char *fallback,
		struct failure *failure)
{
	const char *name = path ? path : fallback;
	FILE *file = fopen(name, "re");
	int error;

	if (!file && !path && errno == ENOENT)
		return 0;
	if (!file)
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "%s%s: %s", path ? "-c " : "",
				   name, strerror(errno));
	error = take_file(options, file, name, failure);
	fclose(file);
	return error ? error : check_combinations(options, name, failure);
}

const char *config_path(const struct options *options)
{
	return options->config ? options->config : CONFIG_DEFAULT;
}

const char *config_said(const struct options *options, const char *name, char text[CONFIG_SAID_MAX])
{
	if (options_on_command_line(options, name))
		snprintf(text, CONFIG_SAID_MAX, "%s", keys_find(name)->option);
	else
		snprintf(text, CONFIG_SAID_MAX, "%s: %s", config_path(options), name);
	return text;
}

int config_check(const struct options *options, struct failure *failure)
{
	if (options->threshold_given)
		return 0;
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
			   "%s: no threshold: set one with threshold = TIME, as threshold = 10ms",
			   config_path(options));
}
