// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "config/key_value.h"

static int take_task(struct options *options, enum options_task task, struct failure *failure)
{
	if (options->task != TASK_RUN && options->task != task)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "--restore, --probe and --check-config exclude each other");
	options->task = task;
	return 0;
}

enum {
	OPTION_FULL = UCHAR_MAX + 1,
	OPTION_RESTORE,
	OPTION_PROBE,
	OPTION_FORCE,
	OPTION_STACK,
	OPTION_JOURNAL,
	OPTION_CHECK_CONFIG,
	OPTION_TOP,
	OPTION_METRICS,
};

static const struct option long_options[] = {
	{ "threshold", required_argument, NULL, 't' },
	{ "source", required_argument, NULL, 's' },
	{ "write", required_argument, NULL, 'w' },
	{ "full", no_argument, NULL, OPTION_FULL },
	{ "duration", required_argument, NULL, 'd' },
	{ "pid", required_argument, NULL, 'p' },
	{ "function", required_argument, NULL, 'F' },
	{ "event", required_argument, NULL, 'e' },
	{ "buffer", required_argument, NULL, 'b' },
	{ "format", required_argument, NULL, 'f' },
	{ "output", required_argument, NULL, 'o' },
	{ "top", required_argument, NULL, OPTION_TOP },
	{ "journal", no_argument, NULL, OPTION_JOURNAL },
	{ "metrics", required_argument, NULL, OPTION_METRICS },
	{ "check-config", no_argument, NULL, OPTION_CHECK_CONFIG },
	{ "restore", no_argument, NULL, OPTION_RESTORE },
	{ "probe", no_argument, NULL, OPTION_PROBE },
	{ "stack", no_argument, NULL, OPTION_STACK },
	{ "force", no_argument, NULL, OPTION_FORCE },
	{ "config", required_argument, NULL, 'c' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL },
};

#define SHORT_OPTIONS ":t:s:w:d:p:F:e:b:f:o:c:vqVh"

static const char *long_name(int letter)
{
	for (size_t i = 0; long_options[i].name; i++)
		if (long_options[i].val == letter)
			return long_options[i].name;
	return NULL;
}

static int take_key(struct options *options, const struct key *key, const char *value,
		    struct failure *failure)
{
	options->given |= keys_bit(key);
	return key_value_take(options, key, KEY_FROM_OPTION, value, failure);
}

static int take_value(struct options *options, int letter, const char *value,
		      struct failure *failure)
{
	switch (letter) {
	case 's':
		return key_value_take_path(&options->source, "-s", value, failure);
	case 'w':
		return key_value_take_path(&options->write, "-w", value, failure);
	case 'o':
		return key_value_take_path(&options->output, "-o", value, failure);
	case 'c':
		return key_value_take_path(&options->config, "-c", value, failure);
	default:
		return take_key(options, keys_find(long_name(letter)), value, failure);
	}
}

static int take_switch(struct options *options, int letter, struct failure *failure)
{
	switch (letter) {
	case OPTION_FULL:
		options->full = true;
		return 0;
	case OPTION_STACK:
		return take_key(options, keys_find("stack"), "yes", failure);
	case OPTION_FORCE:
		options->force = true;
		return 0;
	case OPTION_JOURNAL:
		options->journal = true;
		return 0;
	case OPTION_CHECK_CONFIG:
		return take_task(options, TASK_CHECK_CONFIG, failure);
	case OPTION_RESTORE:
		return take_task(options, TASK_RESTORE, failure);
	case OPTION_PROBE:
		return take_task(options, TASK_PROBE, failure);
	case 'v':
		options->verbose = true;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case 'V':
		options->task = TASK_VERSION;
		return 0;
	case 'h':
		options->task = TASK_HELP;
		return 0;
	default:
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "unknown option");
	}
}

/* What getopt found wrong: @code is ':' or '?', the rest is in its globals. */
static int bad_option(int code, char **argv, struct failure *failure)
{
	const char *reason = "is unknown or ambiguous; allocfilt -h lists what there is";
	char text[KEY_VALUE_SHOWN_MAX], letter[] = { '-', (char)optopt, '\0' };
	const char *option = argv[optind - 1];

	if (code == ':')
		reason = "needs a value; allocfilt -h lists what is allowed";
	else if (long_name(optopt))
		reason = "takes no value";
	else if (optopt)
		/* Inside a bundle of letters getopt has not moved on to the next argument. */
		option = letter;
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "option '%s' %s",
			   key_value_shown(option, text), reason);
}

static int parse_arguments(struct options *options, int argc, char **argv, struct failure *failure)
{
	int letter, error = 0;

	optind = 0; /* glibc: start again, also after a parse that was left half way */
	opterr = 0;
	while (!error && options->task != TASK_HELP && options->task != TASK_VERSION) {
		letter = getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL);
		if (letter < 0)
			break;
		if (letter == ':' || letter == '?')
			error = bad_option(letter, argv, failure);
		else if (optarg)
			error = take_value(options, letter, optarg, failure);
		else
			error = take_switch(options, letter, failure);
	}
	return error;
}

/* Options that say nothing, or the opposite, beside each other. */
static int check_combinations(const struct options *options, struct failure *failure)
{
	const char *text = NULL;

	if (options->verbose && options->quiet)
		text = "-v and -q exclude each other";
	else if (options->full && !options->write)
		text = "--full needs -w: it says how much a capture keeps";
	else if (options->write && options->output)
		text = "-w and -o exclude each other: with -w nothing is printed";
	else if (options->write && options->task != TASK_RUN)
		text = "-w keeps the data of a run: not with --restore, --probe or --check-config";
	else if (options->journal && (options->output || options->write))
		text = "--journal writes to the journal: not with -o or -w";
	else if (options->metrics && options->write)
		text = "--metrics tells what was filtered: not with -w";
	return text ? failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "%s", text) : 0;
}

int options_parse(struct options *options, int argc, char **argv, struct failure *failure)
{
	char text[KEY_VALUE_SHOWN_MAX];
	int error;

	*options = (struct options){
		.buffer = OPTIONS_BUFFER_DEFAULT,
		.top = OPTIONS_TOP_DEFAULT,
		.page_allocation = true,
		.warning = OPTIONS_WARNING_DEFAULT,
		.error = OPTIONS_ERROR_DEFAULT,
		.rate = OPTIONS_RATE_DEFAULT,
		.burst = OPTIONS_BURST_DEFAULT,
		.status_interval = OPTIONS_STATUS_DEFAULT,
		.limits = LIMITS_DEFAULT,
	};
	error = parse_arguments(options, argc, argv, failure);
	if (error || options->task == TASK_HELP || options->task == TASK_VERSION)
		return error;
	if (optind < argc)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "unexpected argument '%s'; allocfilt -h lists what is allowed",
				   key_value_shown(argv[optind], text));
	return check_combinations(options, failure);
}

static int refuse_unknown(const char *name, struct failure *failure)
{
	char names[FAILURE_TEXT_MAX], text[KEY_VALUE_SHOWN_MAX];

	keys_names(names, sizeof(names));
	return failure_set(failure, EXIT_STATUS_USAGE, ENOENT, "unknown key '%s'; allowed: %s",
			   key_value_shown(name, text), names);
}

int options_set(struct options *options, const char *name, const char *value,
		struct failure *failure)
{
	const struct key *key = keys_find(name);
	struct options ignored = { .given = 0 };
	int error;

	if (!key)
		return refuse_unknown(name, failure);
	if (options->given & keys_bit(key))
		options = &ignored;
	error = key_value_take(options, key, KEY_FROM_FILE, value, failure);
	options_free(&ignored);
	return error;
}

bool options_on_command_line(const struct options *options, const char *name)
{
	const struct key *key = keys_find(name);

	return key && (options->given & keys_bit(key));
}

bool options_same_tracing(const struct options *a, const struct options *b)
{
	size_t count;
	const struct key *keys = keys_all(&count);

	for (size_t i = 0; i < count; i++)
		if (keys[i].change != KEY_CHANGE_VALUE && !key_value_same(&keys[i], a, b))
			return false;
	return true;
}

void options_free(struct options *options)
{
	free(options->source);
	free(options->write);
	free(options->pids);
	string_list_free(options->functions);
	string_list_free(options->events);
	free(options->output);
	free(options->config);
	free(options->metrics);
	*options = (struct options){ 0 };
}

const char *options_usage(void)
{
	return "Usage: allocfilt -t TIME [OPTION]...\n"
	       "       allocfilt -s CAPTURE [OPTION]...\n"
	       "Show slow memory allocations of the kernel, and what they did meanwhile.\n"
	       "\n"
	       "  -t, --threshold=TIME   show what took at least that long; a bare number is\n"
	       "                         microseconds; ns us ms s (a capture brings its own)\n"
	       "  -s, --source=DIR       the tracing directory, or a capture\n"
	       "  -w, --write=DIR        keep a capture in DIR, print nothing\n"
	       "      --full             with -w: keep all formats, symbols and functions\n"
	       "  -d, --duration=TIME    stop by itself; a bare number is seconds; ms s m h\n"
	       "  -p, --pid=PID,...      only these processes, with all their threads\n"
	       "  -F, --function=NAME,...  trace these functions too; * ? [ ] allowed\n"
	       "  -e, --event=SYSTEM:NAME,...  trace these events too\n"
	       "      --stack            show the kernel stack that led into reclaim or compaction\n"
	       "  -b, --buffer=SIZE      ring buffer of a CPU; a bare number is KiB; K M G\n"
	       "                         (default 4M)\n"
	       "  -f, --format=FORM      form of the output: trace (default), tree, json,\n"
	       "                         perfetto\n"
	       "      --top=N            name so many tasks and cgroups in the summary\n"
	       "                         (default 10)\n"
	       "  -o, --output=FILE      write to FILE instead of the standard output\n"
	       "      --journal          write entries to the system journal, nothing to stdout\n"
	       "      --metrics=FILE     keep metrics for Prometheus in FILE\n"
	       "      --check-config     check the configuration file, run nothing\n"
	       "      --restore          put back what a killed run left behind\n"
	       "      --probe            print what this kernel offers, change nothing\n"
	       "      --force            go on where tracing is in use by somebody else\n"
	       "  -c, --config=FILE      instead of /etc/allocfilt.conf\n"
	       "  -v, --verbose          print the steps of the set-up with their times\n"
	       "  -q, --quiet            print errors only\n"
	       "  -V, --version          print the version\n"
	       "  -h, --help             print this help\n"
	       "\n"
	       "Exit status: 0 done, 1 run-time error, 2 usage, 3 no tracefs or no right to it,\n"
	       "4 tracing is in use, 5 the kernel lacks what it takes, 6 something could not be\n"
	       "put back.\n";
}
