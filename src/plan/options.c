// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define LIST_MAX		1024	/* elements of one -p, -F or -e list */
#define PID_LARGEST		(4u << 20)	/* PID_MAX_LIMIT of the kernel */
#define BUFFER_SMALLEST		(8ull << 10)	/* the kernel's own least: two pages */
#define BUFFER_LARGEST		(64ull << 30)
#define TOP_LARGEST		128
#define VALUE_SHOWN		96	/* bytes of a value that a message repeats */

#define ALLOWED_THRESHOLD \
	"allowed: a whole number of microseconds from 1 (134, 134us), or with ns, ms or s"
#define ALLOWED_DURATION \
	"allowed: a whole number of seconds from 1 (15, 15s), or with ms, m or h"
#define ALLOWED_SIZE \
	"allowed: a whole number of KiB (4096), or with K, M or G, from 8K to 64G"
#define ALLOWED_PID \
	"allowed: process ids from 1 to 4194304, separated by commas"
#define ALLOWED_FUNCTION \
	"allowed: names of kernel functions, also with * ? [ ], separated by commas"
#define ALLOWED_EVENT \
	"allowed: SYSTEM:NAME as kmem:mm_page_alloc, separated by commas"

#define ALLOWED_TOP \
	"allowed: a whole number from 1 to 128"

#define FUNCTION_CHARACTERS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$*?[]^-"
#define EVENT_CHARACTERS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit time_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000 * 1000 },
	{ "s", 1000ull * 1000 * 1000 },
	{ "m", 60ull * 1000 * 1000 * 1000 },
	{ "h", 3600ull * 1000 * 1000 * 1000 },
};

#define THRESHOLD_UNITS		(&time_units[0]), 4	/* ns us ms s */
#define DURATION_UNITS		(&time_units[2]), 4	/* ms s m h */

static const struct unit size_units[] = {
	{ "K", 1ull << 10 }, { "k", 1ull << 10 }, { "KiB", 1ull << 10 },
	{ "M", 1ull << 20 }, { "m", 1ull << 20 }, { "MiB", 1ull << 20 },
	{ "G", 1ull << 30 }, { "g", 1ull << 30 }, { "GiB", 1ull << 30 },
};

enum scan {
	SCAN_GOOD,
	SCAN_EMPTY,
	SCAN_NEGATIVE,
	SCAN_NO_NUMBER,
	SCAN_UNIT,
	SCAN_TOO_LARGE,
};

static const char *const scan_reason[] = {
	[SCAN_EMPTY] = "is empty",
	[SCAN_NEGATIVE] = "is negative",
	[SCAN_NO_NUMBER] = "is not a whole number",
	[SCAN_UNIT] = "has an unknown unit",
	[SCAN_TOO_LARGE] = "is too large",
};

/* The digits at the start of a text, and what stands behind them. */
static enum scan scan_digits(const char *text, uint64_t *ret_value, const char **ret_rest)
{
	uint64_t value = 0;

	if (!*text)
		return SCAN_EMPTY;
	if (*text == '-')
		return SCAN_NEGATIVE;
	if (!isdigit((unsigned char)*text))
		return SCAN_NO_NUMBER;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return SCAN_TOO_LARGE;
	if (*text == '.')
		return SCAN_NO_NUMBER;
	*ret_value = value;
	*ret_rest = text;
	return SCAN_GOOD;
}

static const struct unit *unit_find(const struct unit *units, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

/* A number with one of the units, or with the default one. */
static enum scan scan_quantity(const char *text, const struct unit *units, size_t count,
			       const char *default_unit, uint64_t *ret_value)
{
	const struct unit *unit;
	const char *rest;
	uint64_t value;
	enum scan scan;

	scan = scan_digits(text, &value, &rest);
	if (scan != SCAN_GOOD)
		return scan;
	unit = unit_find(units, count, *rest ? rest : default_unit);
	if (!unit)
		return SCAN_UNIT;
	if (__builtin_mul_overflow(value, unit->factor, &value))
		return SCAN_TOO_LARGE;
	*ret_value = value;
	return SCAN_GOOD;
}

static int scan_error(enum scan scan)
{
	switch (scan) {
	case SCAN_GOOD:
		return 0;
	case SCAN_NEGATIVE:
	case SCAN_TOO_LARGE:
		return -ERANGE;
	default:
		return -EINVAL;
	}
}

int options_parse_time(const char *text, const char *default_unit, uint64_t *ret_ns)
{
	return scan_error(scan_quantity(text, time_units, ARRAY_SIZE(time_units), default_unit,
					ret_ns));
}

int options_parse_size(const char *text, uint64_t *ret_bytes)
{
	return scan_error(scan_quantity(text, size_units, ARRAY_SIZE(size_units), "K",
					ret_bytes));
}

/* What a message repeats of a value: cut, and on one line whatever is in it. */
static const char *shown(const char *value, char text[VALUE_SHOWN])
{
	size_t length = strnlen(value, VALUE_SHOWN);

	if (length == VALUE_SHOWN)
		length = VALUE_SHOWN - 4;
	for (size_t i = 0; i < length; i++)
		text[i] = iscntrl((unsigned char)value[i]) ? '?' : value[i];
	strcpy(text + length, value[length] ? "..." : "");
	return text;
}

static int refuse(struct failure *failure, int error, const char *option, const char *value,
		  const char *reason, const char *allowed)
{
	char text[VALUE_SHOWN];

	return failure_set(failure, EXIT_STATUS_USAGE, error, "%s '%s' %s%s%s", option,
			   shown(value, text), reason, allowed ? "; " : "",
			   allowed ? allowed : "");
}

static int refuse_scan(struct failure *failure, enum scan scan, const char *option,
		       const char *value, const char *allowed)
{
	return refuse(failure, -scan_error(scan), option, value, scan_reason[scan], allowed);
}

static int take_threshold(struct options *options, const char *value, struct failure *failure)
{
	uint64_t ns;
	enum scan scan = scan_quantity(value, THRESHOLD_UNITS, "us", &ns);

	/* The kernel keeps it in nanoseconds, in an unsigned long. */
	if (scan == SCAN_GOOD && (ns > ULONG_MAX || ns > INT64_MAX))
		scan = SCAN_TOO_LARGE;
	if (scan != SCAN_GOOD)
		return refuse_scan(failure, scan, "-t", value, ALLOWED_THRESHOLD);
	if (!ns)
		return refuse(failure, ERANGE, "-t", value, "is zero", ALLOWED_THRESHOLD);
	if (ns % 1000)
		return refuse(failure, ERANGE, "-t", value,
			      "is not a whole number of microseconds, the kernel's own unit",
			      ALLOWED_THRESHOLD);
	options->threshold = ns;
	options->threshold_given = true;
	return 0;
}

static int take_duration(struct options *options, const char *value, struct failure *failure)
{
	uint64_t ns;
	enum scan scan = scan_quantity(value, DURATION_UNITS, "s", &ns);

	if (scan == SCAN_GOOD && ns > INT64_MAX)
		scan = SCAN_TOO_LARGE;
	if (scan != SCAN_GOOD)
		return refuse_scan(failure, scan, "-d", value, ALLOWED_DURATION);
	if (!ns)
		return refuse(failure, ERANGE, "-d", value, "is zero", ALLOWED_DURATION);
	options->duration = ns;
	return 0;
}

static int take_buffer(struct options *options, const char *value, struct failure *failure)
{
	uint64_t bytes;
	enum scan scan = scan_quantity(value, size_units, ARRAY_SIZE(size_units), "K", &bytes);

	if (scan == SCAN_GOOD && bytes > BUFFER_LARGEST)
		scan = SCAN_TOO_LARGE;
	if (scan != SCAN_GOOD)
		return refuse_scan(failure, scan, "-b", value, ALLOWED_SIZE);
	if (bytes < BUFFER_SMALLEST)
		return refuse(failure, ERANGE, "-b", value, "is too small", ALLOWED_SIZE);
	options->buffer = bytes;
	return 0;
}

static int out_of_memory(struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM,
			   "out of memory while reading the command line");
}

static int take_text(char **slot, const char *option, const char *value, struct failure *failure)
{
	char *copy;

	if (!*value)
		return refuse(failure, EINVAL, option, value, "is empty", "allowed: a path");
	copy = strdup(value);
	if (!copy)
		return out_of_memory(failure);
	free(*slot);
	*slot = copy;
	return 0;
}

static int take_source(struct options *options, const char *value, struct failure *failure)
{
	return take_text(&options->source, "-s", value, failure);
}

static int take_write(struct options *options, const char *value, struct failure *failure)
{
	return take_text(&options->write, "-w", value, failure);
}

static int take_output(struct options *options, const char *value, struct failure *failure)
{
	return take_text(&options->output, "-o", value, failure);
}

static int take_config(struct options *options, const char *value, struct failure *failure)
{
	return take_text(&options->config, "-c", value, failure);
}

static int take_metrics(struct options *options, const char *value, struct failure *failure)
{
	return take_text(&options->metrics, "--metrics", value, failure);
}

static int take_format(struct options *options, const char *value, struct failure *failure)
{
	static const char *const names[] = {
		[FORMAT_TRACE] = "trace", [FORMAT_TREE] = "tree", [FORMAT_JSON] = "json",
		[FORMAT_PERFETTO] = "perfetto",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i])) {
			options->format = i;
			return 0;
		}
	return refuse(failure, EINVAL, "-f", value, "is no known form",
		      "allowed: trace, tree, json, perfetto");
}

static int take_top(struct options *options, const char *value, struct failure *failure)
{
	const char *rest = "";
	uint64_t number = 0;
	enum scan scan = scan_digits(value, &number, &rest);

	if (scan == SCAN_GOOD && *rest)
		scan = SCAN_NO_NUMBER;
	if (scan == SCAN_GOOD && number > TOP_LARGEST)
		scan = SCAN_TOO_LARGE;
	if (scan != SCAN_GOOD)
		return refuse_scan(failure, scan, "--top", value, ALLOWED_TOP);
	if (!number)
		return refuse(failure, ERANGE, "--top", value, "is zero", ALLOWED_TOP);
	options->top = number;
	return 0;
}

/* Calls take for each element between commas. */
static int split(struct options *options, const char *value, struct failure *failure,
		 int (*take)(struct options *options, const char *element,
			     struct failure *failure))
{
	char *copy = strdup(value), *rest = copy, *element;
	int error = copy ? 0 : out_of_memory(failure);

	while (!error && (element = strsep(&rest, ",")))
		error = take(options, element, failure);
	free(copy);
	return error;
}

static size_t list_length(char *const *list)
{
	size_t length = 0;

	while (list && list[length])
		length++;
	return length;
}

/* Adds to a list that NULL ends, once. */
static int list_add(char ***list, const char *option, const char *element,
		    struct failure *failure)
{
	size_t length = list_length(*list);
	char **longer, *copy;

	for (size_t i = 0; i < length; i++)
		if (!strcmp((*list)[i], element))
			return 0;
	if (length == LIST_MAX)
		return refuse(failure, E2BIG, option, element, "is one too many",
			      "allowed: 1024 of them");
	longer = realloc(*list, (length + 2) * sizeof(*longer));
	if (!longer)
		return out_of_memory(failure);
	*list = longer;
	copy = strdup(element);
	longer[length] = copy;
	longer[length + 1] = NULL;
	return copy ? 0 : out_of_memory(failure);
}

static int pids_add(pid_t **pids, pid_t pid)
{
	size_t length = 0;
	pid_t *longer;

	for (; *pids && (*pids)[length]; length++)
		if ((*pids)[length] == pid)
			return 0;
	if (length == LIST_MAX)
		return -E2BIG;
	longer = realloc(*pids, (length + 2) * sizeof(*longer));
	if (!longer)
		return -ENOMEM;
	longer[length] = pid;
	longer[length + 1] = 0;
	*pids = longer;
	return 0;
}

static int take_pid(struct options *options, const char *element, struct failure *failure)
{
	const char *rest = "";
	uint64_t value = 0;
	enum scan scan = scan_digits(element, &value, &rest);
	int error;

	if (scan == SCAN_GOOD && *rest)
		scan = SCAN_NO_NUMBER;
	if (scan == SCAN_GOOD && value > PID_LARGEST)
		scan = SCAN_TOO_LARGE;
	if (scan != SCAN_GOOD)
		return refuse_scan(failure, scan, "-p", element, ALLOWED_PID);
	if (!value)
		return refuse(failure, ERANGE, "-p", element, "is zero", ALLOWED_PID);
	error = pids_add(&options->pids, (pid_t)value);
	if (error == -E2BIG)
		return refuse(failure, E2BIG, "-p", element, "is one too many",
			      "allowed: 1024 of them");
	return error ? out_of_memory(failure) : 0;
}

/* A colon or a blank would be a command to set_ftrace_filter. */
static int take_function(struct options *options, const char *element, struct failure *failure)
{
	if (!*element)
		return refuse(failure, EINVAL, "-F", element, "is empty", ALLOWED_FUNCTION);
	if (element[strspn(element, FUNCTION_CHARACTERS)])
		return refuse(failure, EINVAL, "-F", element, "is not the name of a function",
			      ALLOWED_FUNCTION);
	return list_add(&options->functions, "-F", element, failure);
}

/* Two words that can be names of folders, a colon between them. */
static bool is_event_name(const char *text)
{
	size_t system = strspn(text, EVENT_CHARACTERS);
	const char *name = text + system + 1;

	return system && text[system] == ':' && *name && !name[strspn(name, EVENT_CHARACTERS)];
}

static int take_event(struct options *options, const char *element, struct failure *failure)
{
	if (!*element)
		return refuse(failure, EINVAL, "-e", element, "is empty", ALLOWED_EVENT);
	if (!is_event_name(element))
		return refuse(failure, EINVAL, "-e", element, "is not the name of an event",
			      ALLOWED_EVENT);
	return list_add(&options->events, "-e", element, failure);
}

static int take_pids(struct options *options, const char *value, struct failure *failure)
{
	return split(options, value, failure, take_pid);
}

static int take_functions(struct options *options, const char *value, struct failure *failure)
{
	return split(options, value, failure, take_function);
}

static int take_events(struct options *options, const char *value, struct failure *failure)
{
	return split(options, value, failure, take_event);
}

static int take_task(struct options *options, enum options_task task, struct failure *failure)
{
	if (options->task != TASK_RUN && options->task != task)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "--restore, --probe and --check-config exclude each other");
	options->task = task;
	return 0;
}

enum {
	OPTION_FULL = UCHAR_MAX + 1, OPTION_RESTORE, OPTION_PROBE, OPTION_FORCE, OPTION_STACK,
	OPTION_JOURNAL, OPTION_CHECK_CONFIG,
};

/* No options' letters, but with a bit in options.given as the letters have. */
#define OPTION_TOP '_'
#define OPTION_METRICS '`'

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

/* Those that a configuration file may have. */
#define SETTABLE	"tdpFebf_`"
#define SETTABLE_NAMES	"threshold, duration, pid, function, event, buffer, format, top, metrics"

#define SHORT_OPTIONS	":t:s:w:d:p:F:e:b:f:o:c:vqVh"

static int (*const take_value[])(struct options *options, const char *value,
				 struct failure *failure) = {
	['t'] = take_threshold,
	['s'] = take_source,
	['w'] = take_write,
	['d'] = take_duration,
	['p'] = take_pids,
	['F'] = take_functions,
	['e'] = take_events,
	['b'] = take_buffer,
	['f'] = take_format,
	['o'] = take_output,
	['c'] = take_config,
	[OPTION_TOP] = take_top,
	[OPTION_METRICS] = take_metrics,
};

/* Letters of options, a bit each. */
static uint64_t given_bit(int letter)
{
	return 1ull << (letter - 'A');
}

static int take_given(struct options *options, int letter, const char *value,
		      struct failure *failure)
{
	options->given |= given_bit(letter);
	return take_value[letter](options, value, failure);
}

static int take_switch(struct options *options, int letter, struct failure *failure)
{
	switch (letter) {
	case OPTION_FULL:
		options->full = true;
		return 0;
	case OPTION_STACK:
		options->stack = true;
		return 0;
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

static bool is_option(int letter)
{
	for (size_t i = 0; long_options[i].name; i++)
		if (long_options[i].val == letter)
			return true;
	return false;
}

/* What getopt found wrong: @code is ':' or '?', the rest is in its globals. */
static int bad_option(int code, char **argv, struct failure *failure)
{
	const char *reason = "is unknown or ambiguous; allocfilt -h lists what there is";
	char text[VALUE_SHOWN], letter[] = { '-', (char)optopt, '\0' };
	const char *option = argv[optind - 1];

	if (code == ':')
		reason = "needs a value; allocfilt -h lists what is allowed";
	else if (is_option(optopt))
		reason = "takes no value";
	else if (optopt)
		/* Inside a bundle of letters getopt has not moved on to the next argument. */
		option = letter;
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "option '%s' %s",
			   shown(option, text), reason);
}

static int parse_arguments(struct options *options, int argc, char **argv,
			   struct failure *failure)
{
	int letter, error = 0;

	optind = 0;	/* glibc: start again, also after a parse that was left half way */
	opterr = 0;
	while (!error && options->task != TASK_HELP && options->task != TASK_VERSION) {
		letter = getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL);
		if (letter < 0)
			break;
		if (letter == ':' || letter == '?')
			error = bad_option(letter, argv, failure);
		else if (optarg)
			error = take_given(options, letter, optarg, failure);
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
	char text[VALUE_SHOWN];
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
				   shown(argv[optind], text));
	return check_combinations(options, failure);
}

static int settable_letter(const char *key)
{
	for (size_t i = 0; long_options[i].name; i++)
		if (!strcmp(long_options[i].name, key) && long_options[i].val <= UCHAR_MAX &&
		    strchr(SETTABLE, long_options[i].val))
			return long_options[i].val;
	return 0;
}

int options_set(struct options *options, const char *key, const char *value,
		struct failure *failure)
{
	struct options ignored = { .given = 0 };
	int letter = settable_letter(key);
	struct failure reason = { 0 };
	char text[VALUE_SHOWN];
	bool given;
	int error;

	if (!letter)
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "unknown key '%s'; allowed: " SETTABLE_NAMES, shown(key, text));
	given = options->given & given_bit(letter);
	error = take_value[letter](given ? &ignored : options, value, &reason);
	options_free(&ignored);
	if (!error)
		return 0;
	if (*reason.text != '-')
		return failure_set(failure, reason.status, -error, "%s", reason.text);
	/* The key in place of the "-t" at the start. */
	return failure_set(failure, reason.status, -error, "%s%s", key,
			   reason.text + strcspn(reason.text, " "));
}

static void list_free(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void options_free(struct options *options)
{
	free(options->source);
	free(options->write);
	free(options->pids);
	list_free(options->functions);
	list_free(options->events);
	free(options->output);
	free(options->config);
	free(options->metrics);
	*options = (struct options){ 0 };
}

bool options_same_tracing(const struct options *a, const struct options *b)
{
	return a->threshold == b->threshold && a->buffer == b->buffer;
}

const char *options_usage(void)
{
	return
"Usage: allocfilt -t TIME [OPTION]...\n"
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
