// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/config/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/text.h"
#include "config/combinations.h"
#include "config/keys.h"
#include "config/values.h"

#define INPUT	    'i' /* of a subcommand with an operand */
#define HELP_COLUMN 25
#define HELP_WIDTH  80

/* The letter of a short option, 0: it has none. */
static int letter_of(const struct key *key)
{
	return key->option && key->option[1] != '-' ? key->option[1] : 0;
}

/* The code that getopt_long() returns for an option: its letter, or a number above all letters. */
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

/* Words that stand before all options, for those that do the same. */
static const struct subcommand {
	const char *name, *usage, *help;
	enum options_task task;
	const char *key; /* of the operand and of -i; NULL: none */
	bool output;	 /* -o has that key's value, and there is no operand */
} subcommands[] = {
	{ "report", "report CAPTURE", "show a capture, or a trace.dat (-s, -r)", TASK_RUN,
	  "source" },
	{ "record", "record -o DIR", "record a capture to look at later (-w)", TASK_RUN, "write",
	  true },
	{ "verify", "verify CAPTURE", "is a capture whole? Exit status 1 if it is not", TASK_RUN,
	  "verify" },
	{ "diff", "diff A B", "compare two captures, or two files of -f json", TASK_DIFF },
	{ "account", "account", "who takes memory, and what is wasted", TASK_ACCOUNT },
	{ "probe", "probe", "what this kernel offers; changes nothing", TASK_PROBE },
	{ "restore", "restore", "put back what a killed run left changed", TASK_RESTORE },
};

/* NULL: @word is none. */
static const struct subcommand *find_subcommand(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!strcmp(subcommands[i].name, word))
			return &subcommands[i];
	return NULL;
}

/* @code: ':' or '?', as getopt_long() returned it; its globals tell the option. */
static int refuse_option(int code, char **argv, struct failure *failure)
{
	char text[VALUE_SHOWN_MAX], name[VALUE_SHOWN_MAX], letter[] = { '-', (char)optopt, '\0' };
	const char *option = argv[optind - 1], *hint = NULL;
	int count = 0;

	value_shown(option, text);
	if (code == ':' || find_code(optopt))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "option '%s' %s", text,
				   code == ':' ?
					   "needs a value; allocfilt -h lists what is allowed" :
					   "takes no value");
	/* In -abc optind does not name the argument until its last letter is parsed. */
	if (optopt)
		value_shown(letter, text);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text + 2, "="), text + 2);
	for (size_t i = 0; !optopt && i < nr_keys; i++) {
		if (!keys[i].option)
			continue;
		text_hint(&hint, name, keys[i].name);
		count += !strncmp(keys[i].name, name, strlen(name));
	}
	if (count)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "option '%s' can be any of %d; allocfilt -h lists them", text,
				   count);
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "unknown option '%s'; %s%s%s", text,
			   hint ? "did you mean --" : "", hint ? hint : "allocfilt -h lists them",
			   hint ? "?" : "");
}

static bool ends_parsing(enum options_task task)
{
	return task == TASK_HELP || task == TASK_VERSION;
}

static int accept_option(struct options *options, const struct key *key, const char *value,
			 struct failure *failure)
{
	options->repeated |= options->on_command_line & key_bit(key);
	options->on_command_line |= key_bit(key);
	options->set |= key_bit(key);
	if (key->kind != KEY_TASK)
		return value_parse(options, key, key->option, value ? value : "yes", failure);
	if (options->task != TASK_RUN && options->task != key->task && !ends_parsing(key->task))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "%s and %s exclude each other",
				   combinations_task_name(options->task), key->option);
	options->task = key->task;
	return 0;
}

/* The operand of a subcommand: a capture is a directory, and a trace.dat is none. */
static int accept_operand(struct options *options, const struct subcommand *subcommand, char *value,
			  struct failure *failure)
{
	const struct key *key = subcommand->key ? key_find(subcommand->key) : NULL;
	struct stat status;

	if (options->diff[1] || options->source || options->read || options->verify)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "%s takes %s",
				   subcommand->name, key ? "one capture" : "two captures");
	if (!key) {
		options->diff[!!options->diff[0]] = value;
		return 0;
	}
	if (!strcmp(subcommand->key, "source") &&
	    (stat(value, &status) || !S_ISDIR(status.st_mode)))
		key = key_find("read");
	return accept_option(options, key, value, failure);
}

static int refuse_word(const char *word, bool first, struct failure *failure)
{
	const char *advice = "a COMMAND comes after --; allocfilt -h lists what is allowed";
	const char *hint = NULL;
	char text[VALUE_SHOWN_MAX];

	value_shown(word, text);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		text_hint(&hint, word, subcommands[i].name);
	if (first && hint)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "unknown command '%s'; did you mean %s?", text, hint);
	if (find_subcommand(word))
		advice = "it comes before all options";
	else if (!access(word, F_OK))
		return failure_set(
			failure, EXIT_STATUS_USAGE, EINVAL,
			"unexpected argument '%s'; to read a capture: allocfilt report %s", text,
			text);
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "unexpected argument '%s'; %s", text,
			   advice);
}

static int parse_arguments(struct options *options, int argc, char **argv,
			   const struct subcommand *subcommand, struct failure *failure)
{
	struct option long_options[KEYS_MAX + 2] = { { NULL } };
	/* "+": the first argument that is no option ends them. */
	char letters[2 * KEYS_MAX + 5] = "+:", *letter = letters + 2;
	bool output = subcommand && subcommand->output;
	bool operand = options->task == TASK_DIFF || (subcommand && subcommand->key && !output);
	int nr_options = 0, next, code, error = 0;

	for (size_t i = 0; i < nr_keys; i++) {
		if (!keys[i].option)
			continue;
		long_options[nr_options++] = (struct option){
			.name = keys[i].name,
			.has_arg = keys[i].argument ? required_argument : no_argument,
			.val = code_of(&keys[i]),
		};
		if (letter_of(&keys[i]))
			*letter++ = letter_of(&keys[i]);
		if (letter_of(&keys[i]) && keys[i].argument)
			*letter++ = ':';
	}
	/* As perf and trace-cmd have it. */
	if (operand) {
		long_options[nr_options] =
			(struct option){ "input", required_argument, NULL, INPUT };
		letter = stpcpy(letter, (char[]){ INPUT, ':', '\0' });
	}
	*letter = '\0';
	optind = 0; /* glibc: start again, also after a parse that stopped half way */
	while (!error && !ends_parsing(options->task)) {
		const struct key *key;

		next = optind ? optind : 1;
		code = getopt_long(argc, argv, letters, long_options, NULL);
		/* getopt_long() passes over "--" alone, and stops at any other word. */
		if (code < 0 && optind > next)
			options->command = argv + optind;
		if (code < 0 && (optind > next || optind >= argc))
			break;
		key = output && code == 'o' ? key_find(subcommand->key) : find_code(code);
		if (code == ':' || code == '?')
			error = refuse_option(code, argv, failure);
		else if (code < 0 && !operand)
			error = refuse_word(argv[optind], optind == 1 && !subcommand, failure);
		else if (code < 0 || code == INPUT)
			error = accept_operand(options, subcommand,
					       code < 0 ? argv[optind++] : optarg, failure);
		else
			error = accept_option(options, key, optarg, failure);
	}
	return error;
}

int options_parse(struct options *options, int argc, char **argv, const char *const *formats,
		  struct failure *failure)
{
	const struct subcommand *subcommand = argc > 1 ? find_subcommand(argv[1]) : NULL;
	const struct key *key = NULL;
	int error = 0;

	*options = (struct options){
		.formats = formats,
		.format = formats[0],
		.oom_score = OPTIONS_OOM_SCORE_UNSET,
		.task = subcommand ? subcommand->task : TASK_RUN,
	};
	/* Skip the subcommand, as if it were argv[0]. */
	argc -= !!subcommand;
	argv += !!subcommand;
	for (size_t i = 0; !error && i < nr_keys; i++)
		if (keys[i].default_value)
			error = value_parse(options, &keys[i], keys[i].name, keys[i].default_value,
					    failure);
	if (!error)
		error = parse_arguments(options, argc, argv, subcommand, failure);
	for (size_t i = 0; !error && options->journal && i < nr_keys; i++)
		if (keys[i].journal_default && !(options->on_command_line & key_bit(&keys[i])))
			error = value_parse(options, &keys[i], keys[i].name,
					    keys[i].journal_default, failure);
	if (error || ends_parsing(options->task))
		return error;
	if (subcommand && subcommand->key)
		key = key_find(subcommand->key);
	if (options->task == TASK_DIFF ?
		    !options->diff[1] :
		    key && !options->read && !(options->on_command_line & key_bit(key)))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "usage: allocfilt %s",
				   subcommand->usage);
	if (options->command && !*options->command)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "no COMMAND after --");
	error = combinations_check(options, failure);
	if (error || options->task != TASK_ACCOUNT || !options->interval ||
	    strcmp(options->format, "folded"))
		return error;
	return failure_set(
		failure, EXIT_STATUS_USAGE, EINVAL,
		"--interval and -f folded exclude each other: folded has no place for a time");
}

bool options_on_command_line(const struct options *options, const char *name)
{
	const struct key *key = key_find(name);

	return key && (options->on_command_line & key_bit(key));
}

bool options_is_set(const struct options *options, const char *name)
{
	const struct key *key = key_find(name);

	return key && (options->set & key_bit(key));
}

bool options_next_set(const struct options *options, size_t *place, struct set_option *ret_option)
{
	while (*place < nr_keys) {
		const struct key *key = &keys[(*place)++];
		const void *field = (const char *)options + key->field;

		if (!(options->set & key_bit(key)) || key->kind == KEY_PATH ||
		    key->kind == KEY_TASK)
			continue;
		*ret_option = (struct set_option){
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
	for (size_t i = 0; i < nr_keys; i++)
		value_free(&keys[i], options);
	*options = (struct options){ 0 };
}

/* @column: where the line ends so far; words that do not fit come below */
static void print_help_words(FILE *file, int column, const char *text)
{
	int blanks = column < HELP_COLUMN ? HELP_COLUMN - column : 2;

	for (int length; *text; blanks = 1, text += length + (text[length] == ' ')) {
		length = (int)strcspn(text, " ");
		if (column + blanks + length > HELP_WIDTH) {
			fputc('\n', file);
			column = 0;
			blanks = HELP_COLUMN;
		}
		column += fprintf(file, "%*s%.*s", blanks, "", length, text);
	}
	fputc('\n', file);
}

void options_print_help(FILE *file, const char *const *formats)
{
	fputs("Usage: allocfilt [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	      "       allocfilt SUBCOMMAND [OPTION]...\n"
	      "Find slow kernel memory allocations, and show what their time went to.\n"
	      "\n"
	      "Subcommands:\n",
	      file);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		fprintf(file, "  %-*s %s\n", HELP_COLUMN - 3, subcommands[i].usage,
			subcommands[i].help);
	for (size_t i = 0; i < nr_keys; i++) {
		const struct key *key = &keys[i];
		char text[256];
		size_t used;
		int column;

		if (!key->option)
			continue;
		if (key->heading)
			fprintf(file, "\n%s:\n", key->heading);
		column = fprintf(file, letter_of(key) ? "  %s, --%s%s%s" : "      %.0s--%s%s%s",
				 key->option, key->name, key->argument ? "=" : "",
				 key->argument ? key->argument : "");
		used = text_append(text, sizeof(text), 0, key->help);
		for (int form = 0; key->kind == KEY_FORMAT && formats[form]; form++) {
			used = text_append(text, sizeof(text), used, form ? ", " : " ");
			used = text_append(text, sizeof(text), used, formats[form]);
		}
		if (key->default_value && key->argument)
			snprintf(text + used, sizeof(text) - used, " (default %s)",
				 key->default_value);
		print_help_words(file, column, text);
	}
	fputs("\n"
	      "Examples:\n"
	      "  allocfilt -t 1ms -f tree          each stall of 1 ms or more, and why\n"
	      "  allocfilt -d 1m -f html -o a.html a page of one minute, to mail\n"
	      "  allocfilt --cgroup=nginx.service  one service\n"
	      "\n"
	      "Exit status: 0 done, 1 run-time error, 2 usage, 3 no tracefs, or access denied,\n"
	      "4 tracing is in use, 5 a kernel feature is missing, 6 something could not be\n"
	      "restored; else that of COMMAND.\n",
	      file);
}
