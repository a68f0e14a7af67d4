// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "allocfilt/base/memory.h"
#include "config/combinations.h"
#include "config/keys.h"
#include "config/values.h"

#define LINE_SIZE     4096
#define REPLAY_MEMORY (64u << 20)  /* bytes, at least */
#define REPLAY_MOST   (4ull << 30) /* a hole in a file of data may have any size */
#define BYTES_KEPT    10 /* for one of a ring buffer: a pair is short there, and has times here */

static int parse_line(struct options *options, char *line, struct failure *failure)
{
	struct options ignored = { .formats = options->formats };
	char names[FAILURE_TEXT_MAX] = "", text[VALUE_SHOWN_MAX];
	size_t length = 0;
	char *name = text_trim(line), *value = strchr(name, '=');
	const char *hint = NULL;
	const struct key *key;
	int error;

	if (!*name || *name == '#')
		return 0;
	if (!value)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "not of the form key = value");
	*value = '\0';
	name = text_trim(name);
	key = key_find(name);
	if (!key || key->scope == KEY_OPTION) {
		for (size_t i = 0; i < nr_keys; i++) {
			if (keys[i].scope == KEY_OPTION)
				continue;
			text_hint(&hint, name, keys[i].name);
			length = text_append(names, sizeof(names), length, length ? ", " : "");
			length = text_append(names, sizeof(names), length, keys[i].name);
		}
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT, "unknown key '%s'; %s%s%s",
				   value_shown(name, text),
				   hint ? "did you mean " : "allowed: ", hint ? hint : names,
				   hint ? "?" : "");
	}
	/* The file names a form of stalls, and an account has forms of its own. */
	if (key->kind == KEY_FORMAT && options->task == TASK_ACCOUNT)
		return 0;
	/* An error in the file is an error, even if its value is not used. */
	if (!combinations_file_decides(options, key))
		options = &ignored;
	options->set |= key_bit(key);
	error = value_parse(options, key, name, text_trim(value + 1), failure);
	options_free(&ignored);
	return error;
}

static int parse_file(struct options *options, FILE *file, const char *path,
		      struct failure *failure)
{
	struct failure reason = { 0 };
	char line[LINE_SIZE];
	size_t number = 0;
	int error = 0;

	while (!error && fgets(line, sizeof(line), file)) {
		number++;
		if (strchr(line, '\n') || feof(file))
			error = parse_line(options, line, &reason);
		else
			error = failure_set(&reason, EXIT_STATUS_USAGE, E2BIG,
					    "a line of more than %d bytes, or no text",
					    LINE_SIZE - 2);
	}
	if (error)
		return failure_set(failure, reason.status, -error, "%s:%zu: %s", path, number,
				   reason.text);
	if (ferror(file))
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "%s: %m", path);
	return 0;
}

const char *config_path(const struct options *options)
{
	return options->config ? options->config : CONFIG_DEFAULT;
}

int config_load(struct options *options, struct failure *failure)
{
	const char *path = config_path(options), *text = NULL;
	FILE *file = fopen(path, "re");
	int error;

	if (!file && !options->config && errno == ENOENT && options->task != TASK_CHECK_CONFIG)
		return 0;
	if (!file)
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "%s%s: %m",
				   options->config ? "-c " : "", path);
	error = parse_file(options, file, path, failure);
	fclose(file);
	if (error)
		return error;
	if (options->warning > options->error)
		text = "warning is above error; allowed: up to error";
	else if (options->rate && !options->burst)
		text = "burst is 0, so no entry would ever be written; allowed: burst from 1, or rate = 0 for no limit";
	return text ? failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "%s: %s", path, text) : 0;
}

const char *config_setting_name(const struct options *options, const char *name,
				char text[CONFIG_SETTING_NAME_MAX])
{
	if (options_on_command_line(options, name))
		snprintf(text, CONFIG_SETTING_NAME_MAX, "%s", key_find(name)->option);
	else
		snprintf(text, CONFIG_SETTING_NAME_MAX, "%s: %s", config_path(options), name);
	return text;
}

uint64_t config_report(const struct options *options, bool capture)
{
	if (options->until)
		return options->until;
	if (options_on_command_line(options, "report"))
		return options->report;
	return capture || options_on_command_line(options, "threshold") ? 0 : options->report;
}

size_t config_limit_memory(const struct options *options, uint64_t data)
{
	uint64_t most = MIN(memory_available() / 2, MIN(REPLAY_MOST, SIZE_MAX / 8));

	if (!data || options_is_set(options, "limit-memory"))
		return options->limit_memory;
	return MAX(REPLAY_MEMORY, MIN(data, most / BYTES_KEPT) * BYTES_KEPT);
}

int config_check_report(const struct options *options, bool capture, uint64_t threshold,
			struct failure *failure)
{
	uint64_t report = config_report(options, capture);
	char setting[CONFIG_SETTING_NAME_MAX];

	if (!report || report >= threshold)
		return 0;
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
			   "%s %" PRIu64 " us is below the threshold of %" PRIu64
			   " us, and nothing shorter is recorded; raise it, or lower the threshold",
			   config_setting_name(options, options->until ? "until" : "report",
					       setting),
			   report / 1000, threshold / 1000);
}
