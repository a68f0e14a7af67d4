// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/combinations.h"

#include <errno.h>
#include <string.h>

#include "allocfilt/base/log.h"

#define COMMAND "COMMAND"

static const struct {
	const char *option, *what;
} modes[] = {
	[MODE_ACCOUNT] = { "allocfilt account",
			   "counts what a running kernel allocates and shows no stall" },
	[MODE_DIFF] = { "allocfilt diff", "compares what was recorded" },
	[MODE_TASK] = { NULL, "neither traces nor reads data" },
	[MODE_VERIFY] = { "--verify", "checks a capture and shows nothing of it" },
	[MODE_RECORD] = { "-w", "keeps all data of a running kernel and prints nothing" },
	[MODE_JOURNAL] = { "--journal", "writes stalls of a running kernel to the journal alone" },
	[MODE_READ] = { "-r", "reads what was recorded" },
};

/* COMMAND has a row like an option. */
static const struct key command_key = {
	.option = COMMAND,
	.modes = 1u << MODE_ACCOUNT | 1u << MODE_RECORD | 1u << MODE_JOURNAL | 1u << MODE_SHOW,
};

const char *combinations_task_name(enum options_task task)
{
	for (size_t i = 0; i < nr_keys; i++)
		if (keys[i].kind == KEY_TASK && keys[i].task == task)
			return keys[i].option;
	return modes[task == TASK_DIFF ? MODE_DIFF : MODE_ACCOUNT].option;
}

static enum key_mode mode_of(const struct options *options)
{
	if (options->task != TASK_RUN)
		return options->task == TASK_ACCOUNT ? MODE_ACCOUNT :
		       options->task == TASK_DIFF    ? MODE_DIFF :
						       MODE_TASK;
	if (options->verify)
		return MODE_VERIFY;
	if (options->write)
		return MODE_RECORD;
	if (options->journal)
		return MODE_JOURNAL;
	return options->read ? MODE_READ : MODE_SHOW;
}

static bool is_given(const struct options *options, const char *option)
{
	if (!strcmp(option, COMMAND))
		return options->command;
	for (size_t i = 0; i < nr_keys; i++)
		if (keys[i].option && !strcmp(keys[i].option, option))
			return options->on_command_line & key_bit(&keys[i]);
	return false;
}

static int refuse_without(const struct key *key, const char *name, struct failure *failure)
{
	bool reason = key->because && !key->excludes;

	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "%s works only with %s%s%s%s%s",
			   name, modes[__builtin_ctz(key->modes)].option, key->needs ? " and " : "",
			   key->needs ? key->needs : "", reason ? ": " : "",
			   reason ? key->because : "");
}

/* @name: names the option in messages */
static int check_key(const struct options *options, const struct key *key, const char *name,
		     struct failure *failure)
{
	enum key_mode mode = mode_of(options);
	bool fits = key->modes & 1u << mode;

	if (!fits && mode != MODE_SHOW)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "%s does not go with %s, which %s", name,
				   mode == MODE_TASK ? combinations_task_name(options->task) :
						       modes[mode].option,
				   modes[mode].what);
	if (!fits || (key->needs && !is_given(options, key->needs)))
		return refuse_without(key, name, failure);
	if (key->excludes && is_given(options, key->excludes))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "%s and %s exclude each other%s%s", name, key->excludes,
				   key->because ? ": " : "", key->because ? key->because : "");
	return 0;
}

int combinations_check(const struct options *options, struct failure *failure)
{
	int error = 0;

	for (size_t i = 0; !error && i < nr_keys; i++)
		if (options->on_command_line & key_bit(&keys[i]))
			error = check_key(options, &keys[i], keys[i].option, failure);
	if (!error && options->command)
		error = check_key(options, &command_key, COMMAND, failure);
	return error;
}

int options_check_live(const struct options *options, struct failure *failure)
{
	for (size_t i = 0; i < nr_keys; i++)
		if (options->on_command_line & key_bit(&keys[i]) &&
		    keys[i].modes & 1u << MODE_CAPTURE && !(keys[i].modes & 1u << MODE_LIVE))
			return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
					   "%s works only with a capture", keys[i].option);
	return 0;
}

int options_check_capture(const struct options *options, const char *path, struct failure *failure)
{
	const struct key capture = {
		.modes = 1u << MODE_READ | 1u << MODE_SHOW,
		.excludes = COMMAND,
		.because = "COMMAND is run on a running kernel",
	};
	char name[FAILURE_TEXT_MAX];
	int error;

	snprintf(name, sizeof(name), "the capture %s", path);
	error = check_key(options, &capture, name, failure);
	for (size_t i = 0; !error && i < nr_keys; i++) {
		if (options->on_command_line & key_bit(&keys[i]) &&
		    !(keys[i].modes & 1u << MODE_CAPTURE))
			log_notice("%s is ignored: it is for a running kernel, and %s is a capture",
				   keys[i].option, path);
		if (options->repeated & key_bit(&keys[i]) && keys[i].kind == KEY_PATH)
			log_notice("%s is given more than once: the last one counts",
				   keys[i].option);
	}
	return error;
}

bool combinations_file_decides(const struct options *options, const struct key *key)
{
	if (options->on_command_line & key_bit(key))
		return false;
	if (key->excludes && !strcmp(key->excludes, COMMAND) && options->command)
		return false;
	return options->task != TASK_ACCOUNT || key->account_reads;
}
