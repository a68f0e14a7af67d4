/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_OPTIONS_H
#define ALLOCFILT_CONFIG_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "allocfilt/base/failure.h"

/*
 * The command line and the configuration file, in one struct. The table of all settings is
 * src/config/keys.c.
 */

enum options_task {
	TASK_RUN,
	TASK_ACCOUNT,	   /* allocfilt account */
	TASK_DIFF,	   /* allocfilt diff */
	TASK_RESTORE,	   /* --restore */
	TASK_PROBE,	   /* --probe */
	TASK_CHECK_CONFIG, /* --check-config */
	TASK_VERSION,	   /* -V */
	TASK_HELP,	   /* -h */
};

/* The type of a setting's member of struct options. */
enum key_kind {
	KEY_QUANTITY,  /* uint64_t, ns or bytes */
	KEY_NUMBER,    /* int or unsigned int */
	KEY_SWITCH,    /* bool; "yes" or "no"; an option without an argument means yes */
	KEY_FORMAT,    /* const char *, one of options.formats */
	KEY_CHOICE,    /* int, the place in choices */
	KEY_TEXT,      /* char *, not empty */
	KEY_PATH,      /* char *, not empty: a file or directory */
	KEY_PIDS,      /* pid_t *, 0 ends */
	KEY_FUNCTIONS, /* char **, NULL ends: names or globs */
	KEY_EVENTS,    /* char **, NULL ends: SYSTEM:NAME */
	KEY_TASK,      /* options.task, an option without a value */
};

#define OPTIONS_OOM_SCORE_UNSET INT_MIN
#define OPTIONS_CLOCK_TIME                                                                         \
	"allowed: a time as 2026-11-23T14:03:05.5Z, or as 14:03 or 14:03:05.5, of the day on "     \
	"which the capture begins"

/* The part of the summary that is printed; forms for programs have all of it, or none. */
enum summary_form { SUMMARY_SHORT, SUMMARY_FULL, SUMMARY_NONE };

enum function_graph { FUNCTIONS_NO, FUNCTIONS_AUTO, FUNCTIONS_YES };

enum account_sort { SORT_WASTED, SORT_ALLOCATED, SORT_COUNT };

struct options {
	enum options_task task;
	uint64_t threshold;   /* -t: ns, whole microseconds */
	uint64_t report;      /* --report: ns, see config_report(); 0: none */
	char *comm;	      /* --comm: glob, NULL: all threads */
	char *cgroup;	      /* --cgroup: glob, NULL: all cgroups */
	int min_order;	      /* --min-order, 0: all */
	char *cause;	      /* --cause: glob of keys, NULL: all */
	char *from, *to;      /* --from, --to: see text_parse_time(), NULL: all */
	bool local;	      /* --local: times are local ones */
	char *verify;	      /* --verify: a capture, NULL: none */
	char *source;	      /* -s, NULL: where tracefs is mounted */
	char *read;	      /* -r: a trace.dat, NULL: see source */
	char *write;	      /* -w, NULL: filter */
	uint64_t max_size;    /* --max-size: bytes of data of a segment, 0: there are none */
	unsigned int keep;    /* --keep: segments, 0: all */
	uint64_t until;	      /* --until: ns, 0: none */
	uint64_t duration;    /* -d: ns, 0: until stopped */
	pid_t *pids;	      /* -p: processes; 0 ends; NULL: all */
	char **functions;     /* -F: names or globs; NULL ends; NULL: none */
	char **events;	      /* -e: SYSTEM:NAME; NULL ends; NULL: none */
	uint64_t buffer;      /* -b: bytes per CPU */
	const char *format;   /* -f: one of formats */
	uint64_t interval;    /* --interval: ns between summaries while it runs, 0: none */
	int summary;	      /* --summary: enum summary_form */
	unsigned int longest; /* --longest: stalls that are shown, 0: all */
	unsigned int top; /* --top: tasks and cgroups in the summary, rows of an account's tables */
	int sort;	  /* --sort: enum account_sort */
	char *output;	  /* -o, NULL: stdout */
	char *config;	  /* -c, NULL: CONFIG_DEFAULT */
	bool journal;	  /* --journal: entries in the journal, nothing on stdout */
	char *metrics;	  /* --metrics: path, NULL: none */
	char *diff[2];	  /* of allocfilt diff: two captures, or outputs of the form json */
	char **command;	  /* COMMAND and its arguments, of argv, NULL ends; NULL: none */
	bool stack;	  /* --stack: the kernel stack that led into reclaim or compaction */
	bool off_cpu;	  /* --off-cpu: the scheduler's events as well */
	int function_graph; /* --function-graph: enum function_graph */
	bool page_allocation; /* --page-allocation: the function that every page passes through, too */
	bool force;	      /* --force */
	bool verbose;	      /* -v */
	bool quiet;	      /* -q */

	/* Only a configuration file has these. */
	unsigned int metrics_cgroups; /* units with metrics of their own */
	uint64_t warning;	      /* ns: the entry of a stall that reaches it is a warning */
	uint64_t error;		      /* ns: the entry of a stall that reaches it is an error */
	unsigned int rate;	      /* entries of stalls a minute; 0: no limit */
	unsigned int burst;	      /* entries of one burst */
	uint64_t status_interval;     /* ns between entries on the run itself, 0: none */
	uint64_t max_cpu;	      /* percent of a CPU that allocfilt may take, 0: no limit */
	int oom_score;		      /* our own oom_score_adj, or OPTIONS_OOM_SCORE_UNSET */
	uint64_t limit_memory;	      /* bytes for records that wait, see config_limit_memory() */

	const char *const *formats; /* as passed to options_parse() */
	uint64_t on_command_line;   /* a bit for each key, see options_on_command_line() */
	uint64_t repeated;	    /* the same, for those that it has more than once */
	uint64_t set;		    /* the same for the command line or the file */
};

/**
 * options_parse - parse the command line
 * @options: filled with defaults first; release with options_free() in every case
 * @formats: the values of -f, NULL ends; the first is the default; they have to outlive @options
 *
 * Opens no file, but looks whether what a subcommand names is a directory; values that depend on the
 * kernel or a file are checked later. Returns 0, or -errno with @failure (status 2), whose text names
 * the option, its value and the allowed values.
 */
int options_parse(struct options *options, int argc, char **argv, const char *const *formats,
		  struct failure *failure);

/**
 * options_check_capture - do the options go with a capture as the source?
 * @path: of the capture, for messages
 *
 * Returns 0, or -errno with @failure (status 2).
 */
int options_check_capture(const struct options *options, const char *path, struct failure *failure);

/** options_check_live - the same for a running kernel */
int options_check_live(const struct options *options, struct failure *failure);

/** options_free - free the values, and set all members to zero */
void options_free(struct options *options);

/**
 * options_on_command_line - does the command line have this setting?
 * @name: a key, such as "threshold"
 *
 * False if it comes from the configuration file, or is the default.
 */
bool options_on_command_line(const struct options *options, const char *name);

/** options_is_set - the same for the command line or the configuration file */
bool options_is_set(const struct options *options, const char *name);

struct set_option {
	const char *name; /* of the key, such as "threshold" */
	enum key_kind kind;
	const void *value; /* the member of struct options; of KEY_CHOICE its name */
};

/**
 * options_next_set - the next setting of the command line or the file; paths are left out
 * @place: 0 for the first
 *
 * They come in the order of --help. Returns false after the last.
 */
bool options_next_set(const struct options *options, size_t *place, struct set_option *ret_option);

/** options_print_help - print the text of -h; a failed write shows in ferror(@file) only */
void options_print_help(FILE *file, const char *const *formats);

/*
 * The configuration file: lines of `key = value`. Empty lines and lines that begin with # are
 * skipped. See allocfilt.conf(5).
 */

#define CONFIG_DEFAULT "/etc/allocfilt.conf"

/**
 * config_load - read the settings that are not on the command line from config_path()
 *
 * The file has to exist only with -c or --check-config. Call it once after options_parse(). Returns 0,
 * or -errno with @failure (status 2), which names file, line and the allowed values.
 */
int config_load(struct options *options, struct failure *failure);

/** config_path - the file of -c, or CONFIG_DEFAULT */
const char *config_path(const struct options *options);

#define CONFIG_SETTING_NAME_MAX 4128

/**
 * config_setting_name - the name of a setting in messages: its option, or file and key
 * @name: a key that has an option
 *
 * Returns @text.
 */
const char *config_setting_name(const struct options *options, const char *name,
				char text[CONFIG_SETTING_NAME_MAX]);

/**
 * config_report - ns of the shortest stall that is shown; 0: all are
 * @capture: the source is no running kernel
 *
 * The `report` of the file goes with the threshold of the file, so it has no effect with -t, or on a
 * capture, which has a threshold of its own. A recording looks for stalls of --until.
 */
uint64_t config_report(const struct options *options, bool capture);

/**
 * config_limit_memory - bytes in which records may wait
 * @data: of struct data_source: bytes of a capture; 0: a running kernel
 *
 * A replay has room for all of its data, if half of the memory that is available has, unless the file has a
 * limit.
 */
size_t config_limit_memory(const struct options *options, uint64_t data);

/**
 * config_check_report - is config_report() 0, or at least the threshold?
 * @threshold: ns
 *
 * The kernel records no window shorter than the threshold. Returns 0, or -errno with @failure
 * (status 2).
 */
int config_check_report(const struct options *options, bool capture, uint64_t threshold,
			struct failure *failure);

#endif
