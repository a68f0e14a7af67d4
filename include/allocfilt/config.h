/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_H
#define ALLOCFILT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base.h"

/*
 * How large the tables may grow that depend on what the machine does. Each is allocated in full at
 * the start; what finds no place is counted, and told in the summary.
 */

struct limits {
	unsigned int tasks;	  /* with something that waits */
	unsigned int events;	  /* that wait, over all tasks */
	unsigned int task_events; /* that wait, in one task while room is short */
	unsigned int names;	  /* of tasks */
	unsigned int cgroups;	  /* paths that are remembered, and those in the summary */
	unsigned int shrinkers;	  /* up to SHRINKERS_MAX */
	unsigned int files;	  /* open at a time: RLIMIT_NOFILE; 0: as it was found */
};

#define LIMITS_DEFAULT                                                                             \
	{                                                                                          \
		.tasks = 4096, .events = 10240, .task_events = 640, .names = 8192, .cgroups = 64,  \
		.shrinkers = 512, .files = 0,                                                      \
	}

enum options_format { FORMAT_TRACE, FORMAT_TREE, FORMAT_JSON, FORMAT_PERFETTO };

enum options_task {
	TASK_RUN,
	TASK_RESTORE,	   /* --restore */
	TASK_PROBE,	   /* --probe */
	TASK_CHECK_CONFIG, /* --check-config */
	TASK_VERSION,	   /* -V */
	TASK_HELP,	   /* -h */
};

#define OPTIONS_TOP_DEFAULT	10
#define OPTIONS_BUFFER_DEFAULT	(4u << 20)		/* bytes per CPU */
#define OPTIONS_WARNING_DEFAULT (100ull * 1000 * 1000)	/* ns */
#define OPTIONS_ERROR_DEFAULT	(1000ull * 1000 * 1000) /* ns */
#define OPTIONS_RATE_DEFAULT	20			/* entries a minute */
#define OPTIONS_BURST_DEFAULT	50
#define OPTIONS_STATUS_DEFAULT	(3600ull * 1000 * 1000 * 1000) /* ns */

struct options {
	enum options_task task;
	bool threshold_given;
	uint64_t threshold; /* ns, whole microseconds */
	char *source;	    /* -s, NULL: where tracefs is mounted */
	char *write;	    /* -w, NULL: filter */
	bool full;	    /* --full: -w keeps all formats, symbols and functions */
	uint64_t duration;  /* ns, 0: until stopped */
	pid_t *pids;	    /* -p: processes; 0 ends; NULL: all */
	char **functions;   /* -F: names or globs; NULL ends; NULL: none */
	char **events;	    /* -e: SYSTEM:NAME; NULL ends; NULL: none */
	uint64_t buffer;    /* -b: bytes per CPU */
	enum options_format format;
	unsigned int top; /* --top: tasks and cgroups in the summary */
	char *output;	  /* -o, NULL: stdout */
	char *config;	  /* -c, NULL: /etc/allocfilt.conf */
	bool journal;	  /* --journal: entries in the journal, nothing on stdout */
	char *metrics;	  /* --metrics, NULL: none */
	bool stack;	  /* --stack: the kernel stack that led into reclaim or compaction */
	bool force;
	bool verbose; /* -v */
	bool quiet;   /* -q */

	/* What only a configuration file has. */
	bool page_allocation;	  /* trace the function that every page passes through */
	uint64_t warning;	  /* ns: entries of stalls from here on are warnings */
	uint64_t error;		  /* ns: and errors from here on */
	unsigned int rate;	  /* entries of stalls a minute; 0: no limit */
	unsigned int burst;	  /* entries that may come at once */
	uint64_t status_interval; /* ns between entries on the run itself, 0: none */
	bool oom_score_given;
	int oom_score; /* oom_score_adj of our own */
	struct limits limits;

	uint64_t given; /* keys_bit()s of the command line, see options_on_command_line() */
};

/**
 * options_parse - the command line
 * @options: filled with defaults first; release with options_free() in every case
 *
 * Nothing is opened or looked at: what needs the kernel or a file is checked later. Returns 0, or
 * -errno with @failure (status 2), whose text names the option, its value and what is allowed.
 */
int options_parse(struct options *options, int argc, char **argv, struct failure *failure);
void options_free(struct options *options);

/**
 * options_set - a setting of a configuration file
 * @name: of a key (see keys.h)
 *
 * What the command line gave stays, whatever @value is, as long as it is good; a list that is set
 * again adds up. Returns 0, -ENOENT for another key, or -errno, each with @failure (status 2).
 */
int options_set(struct options *options, const char *name, const char *value,
		struct failure *failure);

/**
 * options_on_command_line - is a setting there because of the command line?
 * @name: of a key (see keys.h)
 *
 * False where it is a configuration file's, or the default.
 */
bool options_on_command_line(const struct options *options, const char *name);

/**
 * options_same_tracing - would both have the same traced, and kept in the same tables?
 *
 * True where a reload from @a to @b only changes values that can change while a run goes on. Of
 * the settings of the command line alone nothing is compared.
 */
bool options_same_tracing(const struct options *a, const struct options *b);

/** options_usage - the text of -h, ended by a newline */
const char *options_usage(void);

/*
 * The configuration file: lines of `key = value`, with the keys of keys.h; empty lines, and lines
 * that begin with #, are skipped.
 */

#define CONFIG_DEFAULT "/etc/allocfilt.conf"

/**
 * config_load - take from a file what the command line left open
 * @path: -c; NULL: @fallback, which need not be there
 *
 * Call it once for what options_parse() filled; for a reload do both again, into another struct
 * options. Returns 0, or -errno with @failure (status 2), which names file, line and what is
 * allowed.
 */
int config_load(struct options *options, const char *path, const char *fallback,
		struct failure *failure);

/** config_path - the file of -c, or the default one */
const char *config_path(const struct options *options);

#define CONFIG_SAID_MAX 4128

/**
 * config_said - how a message names a setting: by its option, or by file and key
 * @name: of a key that has an option
 *
 * Returns @text.
 */
const char *config_said(const struct options *options, const char *name,
			char text[CONFIG_SAID_MAX]);

/**
 * config_check - is what was parsed and loaded enough for a live run?
 *
 * Returns 0, or -errno with @failure (status 2).
 */
int config_check(const struct options *options, struct failure *failure);

#endif
