// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "config/keys.h"
#include "config/values.h"

#define ACCOUNT_THRESHOLD 1000000 /* ns: where neither -t nor the file has one */

#define HELP_COLUMN 25
#define HELP_WIDTH  80

static bool takes_value(const struct key *key)
{
	return key->kind != KEY_SWITCH && key->kind != KEY_TASK;
}

/* The letter of a short option, 0: it has none. */
static int letter_of(const struct key *key)
{
	return key->option && key->option[1] != '-' ? key->option[1] : 0;
}

/* What getopt_long() returns for an option: its letter, or a number above all letters. */
static int code_of(const struct key *key)
{
	return letter_of(key) ? letter_of(key) : (int)(UCHAR_MAX + 1 + (key - keys));
}

static const struct key *find_code(int code)
{
	for (size_t i = 0; i < nr_keys; i++)
		if (keys[i].option && code_of(&keys[i]) == code)
			return &keys[i];
	return NULL;
}

/* @code is what getopt_long() returned, ':' or '?'; the rest is in its globals. */
static int refuse_option(int code, char **argv, struct failure *failure)
{
	const char *reason = "is unknown or ambiguous; allocfilt -h lists the options";
	char text[VALUE_SHOWN_MAX], letter[] = { '-', (char)optopt, '\0' };
	const char *option = argv[optind - 1];

	if (code == ':')
		reason = "needs a value; allocfilt -h lists what is allowed";
	else if (find_code(optopt))
		reason = "takes no value";
	else if (optopt)
		/* In -abc optind does not name the argument until its last letter is parsed. */
		option = letter;
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "option '%s' %s",
			   value_shown(option, text), reason);
}

static bool ends_parsing(enum options_task task)
{
	return task == TASK_HELP || task == TASK_VERSION;
}

static int accept_option(struct options *options, const struct key *key, const char *value,
			 struct failure *failure)
{
	options->on_command_line |= key_bit(key);
	options->set |= key_bit(key);
	if (key->kind != KEY_TASK)
		return value_parse(options, key, key->option, value ? value : "yes", failure);
	if (options->task == TASK_ACCOUNT && !ends_parsing(key->task))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "account and %s exclude each other", key->option);
	if (options->task != TASK_RUN && options->task != key->task && !ends_parsing(key->task))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "--restore, --probe and --check-config exclude each other");
	options->task = key->task;
	return 0;
}

static int parse_arguments(struct options *options, int argc, char **argv, struct failure *failure)
{
	struct option long_options[KEYS_MAX + 1] = { { NULL } };
	/* "+": the first argument that is no option ends them. */
	char letters[2 * KEYS_MAX + 3] = "+:", *letter = letters + 2;
	int nr_options = 0, next, code, error = 0;

	for (size_t i = 0; i < nr_keys; i++) {
		if (!keys[i].option)
			continue;
		long_options[nr_options++] = (struct option){
			.name = keys[i].name,
			.has_arg = takes_value(&keys[i]) ? required_argument : no_argument,
			.val = code_of(&keys[i]),
		};
		if (letter_of(&keys[i]))
			*letter++ = letter_of(&keys[i]);
		if (letter_of(&keys[i]) && takes_value(&keys[i]))
			*letter++ = ':';
	}
	*letter = '\0';
	optind = 0; /* glibc: start again, also after a parse that stopped half way */
	opterr = 0;
	while (!error && !ends_parsing(options->task)) {
		next = optind ? optind : 1;
		code = getopt_long(argc, argv, letters, long_options, NULL);
		/* It passes over "--" alone, and stops at any other word. */
		if (code < 0 && optind > next)
			options->command = argv + optind;
		if (code < 0)
			break;
		if (code == ':' || code == '?')
			error = refuse_option(code, argv, failure);
		else
			error = accept_option(options, find_code(code), optarg, failure);
	}
	return error;
}

/* A check of a capture traces nothing and filters nothing. */
static bool fits_verify(const struct options *options)
{
	static const char *const names[] = { "verify", "format",  "output",
					     "config", "verbose", "quiet" };
	uint64_t others = options->on_command_line;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		others &= ~key_bit(key_find(names[i]));
	return !others && !options->command;
}

/*
 * An account shows no stall by itself, and the configuration file has a say only in how it traces: its
 * other keys count as if they were on the command line.
 */
static int check_account(struct options *options, struct failure *failure)
{
	static const char *const from_file[] = { "threshold", "buffer", "oom-score-adjust",
						 "limit-tasks", "limit-events" };
	static const char *const others[] = { "duration", "pid",    "source",  "format",
					      "interval", "top",    "sort",    "output",
					      "force",	  "config", "verbose", "quiet" };
	uint64_t file_keys = 0, all = 0;

	for (size_t i = 0; i < ARRAY_SIZE(from_file); i++)
		file_keys |= key_bit(key_find(from_file[i]));
	all = file_keys;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		all |= key_bit(key_find(others[i]));
	if (options->on_command_line & ~all)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "account goes with -t, -d, -p, -s, -b, -f, --interval, --top, "
				   "--sort, -o, --force, -c, -v and -q alone");
	if (options->interval && !strcmp(options->format, "folded"))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "--interval and -f folded exclude each other: folded has no "
				   "place for a time");
	if (!options->threshold)
		options->threshold = ACCOUNT_THRESHOLD;
	options->page_allocation = false;
	options->on_command_line |= ~file_keys;
	return 0;
}

/* Options that exclude each other. */
static int check_combinations(const struct options *options, struct failure *failure)
{
	const char *text = NULL;

	if (options->verbose && options->quiet)
		text = "-v and -q exclude each other";
	else if (options->read && options->source)
		text = "-r and -s exclude each other: each names what is read";
	else if (options->read && options->task != TASK_RUN)
		text = "-r reads a file: not with --restore, --probe or --check-config";
	else if (options->verify && !fits_verify(options))
		text = "--verify goes with -f, -o, -c, -v and -q alone";
	else if (options->write && options->output)
		text = "-w and -o exclude each other: with -w nothing is printed";
	else if (options->write && options->task != TASK_RUN)
		text = "-w keeps the data of a run: not with --restore, --probe or --check-config";
	else if (options->journal && (options->output || options->write))
		text = "--journal writes to the journal: not with -o or -w";
	else if (options->interval && (options->journal || options->write))
		text = "--interval shows filtered data on the standard output: not with --journal or -w";
	else if (options->metrics && options->write)
		text = "--metrics needs filtered data: not with -w";
	else if (options->write &&
		 (options->report || options->comm || options->cgroup || options->min_order))
		text = "--report, --comm, --cgroup and --min-order choose what is shown: not with -w, which keeps all";
	else if (options->max_size && !options->write)
		text = "--max-size is that of a segment of -w, and there is no -w";
	else if (options->task != TASK_ACCOUNT && options_on_command_line(options, "sort"))
		text = "--sort is that of allocfilt account";
	else if (options->until && !options->write)
		text = "--until is when -w stops, and there is no -w; -d stops after a time";
	else if (options->keep && !options->max_size)
		text = "--keep is the number of segments of -w --max-size=SIZE, and there are none";
	else if (options->max_size && options->command)
		text = "--max-size and COMMAND exclude each other: only the first segment would tell who its children are";
	else if (options->command && !*options->command)
		text = "no COMMAND after --";
	else if (options->command && options->task != TASK_RUN && options->task != TASK_ACCOUNT)
		text = "COMMAND is run and traced: not with --restore, --probe or --check-config";
	else if (options->command && options->pids)
		text = "-p and COMMAND exclude each other: COMMAND and its children alone are traced";
	return text ? failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "%s", text) : 0;
}

bool options_is_account(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "account");
}

int options_parse(struct options *options, int argc, char **argv, const char *const *formats,
		  struct failure *failure)
{
	char text[VALUE_SHOWN_MAX];
	bool account = options_is_account(argc, argv);
	int error = 0;

	*options = (struct options){
		.formats = formats,
		.format = formats[0],
		.oom_score = OPTIONS_OOM_SCORE_UNSET,
		.task = account ? TASK_ACCOUNT : TASK_RUN,
	};
	/* Its word is as the program's name. */
	argc -= account;
	argv += account;
	for (size_t i = 0; !error && i < nr_keys; i++)
		if (keys[i].default_value)
			error = value_parse(options, &keys[i], keys[i].name, keys[i].default_value,
					    failure);
	if (!error)
		error = parse_arguments(options, argc, argv, failure);
	for (size_t i = 0; !error && options->journal && i < nr_keys; i++)
		if (keys[i].journal_default && !(options->on_command_line & key_bit(&keys[i])))
			error = value_parse(options, &keys[i], keys[i].name,
					    keys[i].journal_default, failure);
	if (error || ends_parsing(options->task))
		return error;
	if (optind < argc && !options->command)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "unexpected argument '%s'; allocfilt -h lists what is allowed, "
				   "a COMMAND comes after --",
				   value_shown(argv[optind], text));
	if (account)
		error = check_account(options, failure);
	if (!error)
		error = check_combinations(options, failure);
	/* The configuration file has no say in what is traced of a COMMAND. */
	if (options->command)
		options->on_command_line |= key_bit(key_find("pid"));
	return error;
}

bool options_on_command_line(const struct options *options, const char *name)
{
	const struct key *key = key_find(name);

	return key && (options->on_command_line & key_bit(key));
}

bool options_next_set(const struct options *options, size_t *place, struct setting *ret_setting)
{
	while (*place < nr_keys) {
		const struct key *key = &keys[(*place)++];
		const void *field = (const char *)options + key->field;

		if (!(options->set & key_bit(key)) || key->kind == KEY_PATH ||
		    key->kind == KEY_TASK)
			continue;
		*ret_setting = (struct setting){
			.name = key->name,
			.kind = key->kind,
			.value =
				key->kind == KEY_CHOICE ? key->choices[*(const int *)field] : field,
		};
		return true;
	}
	return false;
}

void options_free(struct options *options)
{
	free(options->comm);
	free(options->cgroup);
	free(options->verify);
	free(options->source);
	free(options->read);
	free(options->write);
	free(options->pids);
	string_list_free(options->functions);
	string_list_free(options->events);
	free(options->output);
	free(options->config);
	free(options->metrics);
	*options = (struct options){ 0 };
}

/* Both return the column after the last character that they print. */
static int print_word(FILE *file, int column, const char *word, size_t length)
{
	if (column + 1 + (int)length > HELP_WIDTH)
		column = fprintf(file, "\n%*s", HELP_COLUMN - 1, "") - 1;
	return column + fprintf(file, " %.*s", (int)length, word);
}

static int print_words(FILE *file, int column, const char *text)
{
	for (size_t length; *text; text += length) {
		text += strspn(text, " ");
		length = strcspn(text, " ");
		column = print_word(file, column, text, length);
	}
	return column;
}

void options_print_help(FILE *file, const char *const *formats)
{
	char word[64];

	fputs("Usage: allocfilt -t TIME [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	      "       allocfilt -s CAPTURE | -r FILE [OPTION]...\n"
	      "       allocfilt --verify CAPTURE [OPTION]...\n"
	      "       allocfilt account [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	      "Show slow memory allocations of the kernel, and what they did meanwhile.\n"
	      "\n",
	      file);
	for (size_t i = 0; i < nr_keys; i++) {
		const struct key *key = &keys[i];
		const char *default_value = key->default_value;
		int column;

		if (!key->option)
			continue;
		column = fprintf(file, letter_of(key) ? "  %s, --%s%s%s" : "      %.0s--%s%s%s",
				 key->option, key->name, key->argument ? "=" : "",
				 key->argument ? key->argument : "");
		column += fprintf(file, "%*s",
				  column < HELP_COLUMN - 1 ? HELP_COLUMN - 1 - column : 1, "");
		column = print_words(file, column, key->help);
		if (key->kind == KEY_FORMAT) {
			default_value = formats[0];
			for (const char *const *format = formats; *format; format++) {
				snprintf(word, sizeof(word), "%s%s", *format, format[1] ? "," : "");
				column = print_words(file, column, word);
			}
		}
		if (default_value && takes_value(key)) {
			snprintf(word, sizeof(word), "(default %s)", default_value);
			print_word(file, column, word, strlen(word));
		}
		fputc('\n', file);
	}
	fputs("\n"
	      "Exit status: 0 done, 1 run-time error, 2 usage, 3 no tracefs or no right to it,\n"
	      "4 tracing is in use, 5 the kernel lacks what it takes, 6 something could not be\n"
	      "restored; else that of COMMAND.\n",
	      file);
}
