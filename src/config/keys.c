// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/keys.h"

#include <limits.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "config/values.h"

#define PID_LARGEST 4194304 /* PID_MAX_LIMIT of the kernel, include/linux/threads.h */

#define US     1000ll
#define SECOND (1000 * 1000 * US)
#define HOUR   (3600 * SECOND)
/* The kernel keeps tracing_thresh in nanoseconds, in an unsigned long. */
#define THRESHOLD_LARGEST (ULONG_MAX < INT64_MAX ? (int64_t)ULONG_MAX : INT64_MAX)

#define MICROSECONDS                                                                               \
	"allowed: whole microseconds from 1, as 200, 200us, 1.5ms; units are ns, us, ms, s"
#define YES_OR_NO "allowed: yes, no"

#define FIELD(name)	    .field = offsetof(struct options, name)
#define BOUNDS(least, most) .lowest = (least), .highest = (most)
#define NUMBER(least, most)                                                                        \
	BOUNDS(least, most), .allowed = "allowed: a whole number from " #least " to " #most
#define TASK(number, text) .task = (number), .help = (text)
#define SHORT_TIME                                                                                 \
	.units = &quantity_short_time, BOUNDS(1, THRESHOLD_LARGEST), .microseconds = true,         \
	.allowed = MICROSECONDS, .argument = "TIME"
#define GLOB .allowed = "allowed: a name, also with * ? [ ]", .argument = "GLOB"

/* The sets of modes in which options may stand. */
#define ONLY(mode) (1u << MODE_##mode)
#define ALL	   (2 * ONLY(LIVE) - 1)
#define PRINTS	   (ALL & ~(ONLY(RECORD) | ONLY(JOURNAL)))
#define TRACES	   (ALL & ~(ONLY(VERIFY) | ONLY(DIFF)))
#define STALLS	   (TRACES & ~ONLY(ACCOUNT))
#define SHOWS	   (STALLS & ~ONLY(RECORD))
#define LIVE	   (TRACES & ~ONLY(CAPTURE))
#define CAPTURES   (ONLY(READ) | ONLY(SHOW) | ONLY(CAPTURE))

static const char *const summary_forms[] = {
	[SUMMARY_SHORT] = "short",
	[SUMMARY_FULL] = "full",
	[SUMMARY_NONE] = "none",
	NULL,
};

static const char *const function_graphs[] = {
	[FUNCTIONS_NO] = "no",
	[FUNCTIONS_AUTO] = "auto",
	[FUNCTIONS_YES] = "yes",
	NULL,
};

static const char *const account_sorts[] = {
	[SORT_WASTED] = "wasted",
	[SORT_ALLOCATED] = "allocated",
	[SORT_COUNT] = "count",
	NULL,
};

const struct key keys[] = {
	{ "threshold", "-t", KEY_QUANTITY, KEY_FILE, TRACES | ONLY(DIFF), FIELD(threshold), "1ms",
	  SHORT_TIME, .account_reads = true,
	  .help = "what took that long or longer, in us; ns us ms s (a capture has its own)",
	  .heading = "What is slow" },
	{ "report", "--report", KEY_QUANTITY, KEY_FILE, SHOWS | ONLY(DIFF), FIELD(report),
	  SHORT_TIME, .help = "only stalls of TIME or longer; details from -t on" },
	{ "duration", "-d", KEY_QUANTITY, KEY_FILE, LIVE, FIELD(duration),
	  .units = &quantity_long_time, BOUNDS(1, INT64_MAX),
	  .allowed = "allowed: a whole number of seconds from 1 (15, 15s), or with ms, m or h",
	  .argument = "TIME", .help = "stop by itself; ms s m h, a bare number is s" },
	{ "pid", "-p", KEY_PIDS, KEY_FILE, TRACES, FIELD(pids), .excludes = "COMMAND",
	  .because = "COMMAND and its children alone are traced", BOUNDS(1, PID_LARGEST),
	  .allowed = "allowed: process ids from 1 to 4194304, separated by commas",
	  .argument = "PID,...", .help = "only these processes, with all their threads",
	  .heading = "Whose" },
	{ "comm", "--comm", KEY_TEXT, KEY_OPTION, SHOWS | ONLY(DIFF), FIELD(comm), GLOB,
	  .help = "only stalls of threads of that name" },
	{ "cgroup", "--cgroup", KEY_TEXT, KEY_OPTION, SHOWS | ONLY(DIFF), FIELD(cgroup), GLOB,
	  .help = "only stalls in that cgroup; a unit's name is enough" },
	{ "min-order", "--min-order", KEY_NUMBER, KEY_OPTION, SHOWS | ONLY(DIFF), FIELD(min_order),
	  NUMBER(1, 63), .argument = "N",
	  .help = "only stalls of allocations of order N or higher" },
	{ "cause", "--cause", KEY_TEXT, KEY_OPTION, SHOWS | ONLY(DIFF), FIELD(cause), GLOB,
	  .help = "only stalls of that cause: cpu_wait, *reclaim" },
	{ "from", "--from", KEY_TEXT, KEY_OPTION, CAPTURES, FIELD(from),
	  .allowed = OPTIONS_CLOCK_TIME, .argument = "TIME",
	  .help = "of a capture: from TIME on, as 14:03:05.5" },
	{ "to", "--to", KEY_TEXT, KEY_OPTION, CAPTURES, FIELD(to), .allowed = OPTIONS_CLOCK_TIME,
	  .argument = "TIME", .help = "of a capture: what began before TIME" },
	{ "format", "-f", KEY_FORMAT, KEY_FILE, PRINTS, FIELD(format), .argument = "FORM",
	  .help = "form (default list on a terminal, else trace):", .heading = "What is shown" },
	{ "longest", "--longest", KEY_NUMBER, KEY_OPTION, CAPTURES, FIELD(longest), NUMBER(1, 1000),
	  .argument = "N", .help = "of a capture: the N longest; the summary has all" },
	{ "summary", "--summary", KEY_CHOICE, KEY_FILE, SHOWS, FIELD(summary), "short",
	  .choices = summary_forms, .argument = "FORM",
	  .help = "summary: short, full (histograms), none" },
	{ "interval", "--interval", KEY_QUANTITY, KEY_FILE, PRINTS &TRACES, FIELD(interval),
	  .units = &quantity_long_time, BOUNDS(SECOND / 10, INT64_MAX),
	  .allowed = "allowed: a whole number of seconds from 1 (10, 10s), or with ms, m or h, "
		     "from 100ms",
	  .argument = "TIME", .help = "a line for each interval; ms s m h, a bare number is s" },
	{ "top", "--top", KEY_NUMBER, KEY_FILE, TRACES & ~ONLY(RECORD), FIELD(top), "10",
	  NUMBER(1, 128), .argument = "N", .help = "N rows of each table, also of account" },
	{ "sort", "--sort", KEY_CHOICE, KEY_OPTION, ONLY(ACCOUNT), FIELD(sort),
	  .choices = account_sorts, .argument = "COLUMN",
	  .help = "account's call sites: wasted (default), allocated, count" },
	{ "stack", "--stack", KEY_SWITCH, KEY_FILE, STALLS, FIELD(stack), "no",
	  .allowed = YES_OR_NO, .help = "show the kernel stack that led to reclaim or compaction" },
	{ "off-cpu", "--off-cpu", KEY_SWITCH, KEY_FILE, STALLS, FIELD(off_cpu), "no",
	  .allowed = YES_OR_NO, .help = "show how long tasks waited for a CPU, and slept" },
	{ "local", "--local", KEY_SWITCH, KEY_OPTION, SHOWS & ~ONLY(JOURNAL), FIELD(local),
	  .help = "times of the day in local time (TZ); json keeps UTC" },
	{ "function", "-F", KEY_FUNCTIONS, KEY_FILE, LIVE &STALLS, FIELD(functions),
	  .allowed = "allowed: names of kernel functions, also with * ? [ ], separated by commas",
	  .argument = "NAME,...", .help = "trace these functions too; * ? [ ] allowed" },
	{ "function-graph", "--function-graph", KEY_CHOICE, KEY_FILE, STALLS, FIELD(function_graph),
	  "yes", .journal_default = "auto", .choices = function_graphs, .argument = "WHEN",
	  .help = "trace functions: yes, no, auto (while memory is short)" },
	{ "page-allocation", "--page-allocation", KEY_SWITCH, KEY_FILE, LIVE &STALLS,
	  FIELD(page_allocation), "no", .allowed = YES_OR_NO,
	  .help = "time whole allocations: page faults take 7 to 10 % longer" },
	{ "event", "-e", KEY_EVENTS, KEY_FILE, STALLS, FIELD(events),
	  .allowed = "allowed: SYSTEM:NAME as kmem:mm_page_alloc, separated by commas",
	  .argument = "SYSTEM:NAME,...", .help = "trace these events too" },
	{ "source", "-s", KEY_PATH, KEY_OPTION, TRACES, FIELD(source), .argument = "DIR",
	  .help = "read a capture, or another tracing directory",
	  .heading = "Where from, and where to" },
	{ "read", "-r", KEY_PATH, KEY_OPTION, ONLY(READ) | ONLY(CAPTURE), FIELD(read),
	  .excludes = "-s", .because = "each names what is read", .argument = "FILE",
	  .help = "read a trace.dat of trace-cmd" },
	{ "output", "-o", KEY_PATH, KEY_OPTION, PRINTS, FIELD(output), .argument = "FILE",
	  .help = "write to FILE instead of the standard output" },
	{ "write", "-w", KEY_PATH, KEY_OPTION, ONLY(RECORD), FIELD(write), .argument = "DIR",
	  .help = "record to DIR, or a trace.dat to FILE.dat; no output" },
	{ "max-size", "--max-size", KEY_QUANTITY, KEY_OPTION, ONLY(RECORD), FIELD(max_size),
	  .excludes = "COMMAND",
	  .because = "only the first segment would tell who its children are",
	  .units = &quantity_size, BOUNDS(1ll << 20, 1ll << 40),
	  .allowed = "allowed: a whole number of KiB (102400), or with K, M or G, from 1M to 1024G",
	  .argument = "SIZE", .help = "of -w: a new segment, DIR/000001 ..., at that size" },
	{ "keep", "--keep", KEY_NUMBER, KEY_OPTION, ONLY(RECORD), FIELD(keep),
	  .needs = "--max-size", NUMBER(2, 999999), .argument = "N",
	  .help = "of --max-size: keep the last N segments" },
	{ "until", "--until", KEY_QUANTITY, KEY_OPTION, ONLY(RECORD), FIELD(until), SHORT_TIME,
	  .because = "to stop after a time, use -d",
	  .help = "of -w: stop at the first stall of at least TIME" },
	{ "metrics", "--metrics", KEY_PATH, KEY_FILE, SHOWS, FIELD(metrics), .argument = "FILE",
	  .help = "keep metrics for Prometheus in FILE" },
	{ "journal", "--journal", KEY_SWITCH, KEY_OPTION, ONLY(JOURNAL) | ONLY(TASK),
	  FIELD(journal), .help = "write entries to the system journal, nothing to stdout" },
	{ "buffer", "-b", KEY_QUANTITY, KEY_FILE, LIVE, FIELD(buffer), "4M", .account_reads = true,
	  .units = &quantity_size, BOUNDS(8ll << 10, 64ll << 30),
	  .allowed = "allowed: a whole number of KiB (4096), or with K, M or G, from 8K to 64G",
	  .argument = "SIZE", .help = "ring buffer of each CPU in KiB; K M G", .heading = "Other" },
	{ "force", "--force", KEY_SWITCH, KEY_OPTION, LIVE, FIELD(force),
	  .help = "go on where tracing is in use by somebody else" },
	{ "config", "-c", KEY_PATH, KEY_OPTION, ALL, FIELD(config), .argument = "FILE",
	  .help = "read FILE instead of " CONFIG_DEFAULT },
	{ "check-config", "--check-config", KEY_TASK, KEY_OPTION, ONLY(TASK),
	  TASK(TASK_CHECK_CONFIG, "check the configuration file, and do nothing else") },
	{ "probe", "--probe", KEY_TASK, KEY_OPTION, ONLY(TASK),
	  TASK(TASK_PROBE, "the same as 'allocfilt probe'") },
	{ "restore", "--restore", KEY_TASK, KEY_OPTION, ONLY(TASK),
	  TASK(TASK_RESTORE, "the same as 'allocfilt restore'") },
	{ "verify", "--verify", KEY_PATH, KEY_OPTION, ONLY(VERIFY), FIELD(verify),
	  .argument = "CAPTURE", .help = "the same as 'allocfilt verify CAPTURE'" },
	{ "verbose", "-v", KEY_SWITCH, KEY_OPTION, ALL, FIELD(verbose), .excludes = "-q",
	  .help = "print the steps of the set-up with their times" },
	{ "quiet", "-q", KEY_SWITCH, KEY_OPTION, ALL, FIELD(quiet), .help = "print errors only" },
	{ "version", "-V", KEY_TASK, KEY_OPTION, ALL,
	  TASK(TASK_VERSION, "print the version, and what it was built with") },
	{ "help", "-h", KEY_TASK, KEY_OPTION, ALL, TASK(TASK_HELP, "print this help") },
	{ "metrics-cgroups", NULL, KEY_NUMBER, KEY_FILE, ALL, FIELD(metrics_cgroups), "10",
	  NUMBER(0, 128) },
	{ "warning", NULL, KEY_QUANTITY, KEY_FILE, ALL, FIELD(warning), "100ms",
	  .units = &quantity_short_time, BOUNDS(US, HOUR),
	  .allowed = MICROSECONDS "; up to 3600s" },
	{ "error", NULL, KEY_QUANTITY, KEY_FILE, ALL, FIELD(error), "1s",
	  .units = &quantity_short_time, BOUNDS(US, HOUR),
	  .allowed = MICROSECONDS "; up to 3600s" },
	{ "rate", NULL, KEY_NUMBER, KEY_FILE, ALL, FIELD(rate), "20",
	  NUMBER(0, 60000) ", 0 for no limit" },
	{ "burst", NULL, KEY_NUMBER, KEY_FILE, ALL, FIELD(burst), "50", NUMBER(0, 10000) },
	{ "status-interval", NULL, KEY_QUANTITY, KEY_FILE, ALL, FIELD(status_interval), "1h",
	  .units = &quantity_long_time, BOUNDS(SECOND, 168 * HOUR), .or_zero = true,
	  .allowed = "allowed: a whole number of seconds from 1 (3600, 3600s), or with ms, m or h, "
		     "up to 168h, or 0 for none" },
	{ "max-cpu", NULL, KEY_QUANTITY, KEY_FILE, ALL, FIELD(max_cpu), "0",
	  .journal_default = "2%", .units = &quantity_share, BOUNDS(1, 100), .or_zero = true,
	  .allowed =
		  "allowed: a whole number of percent of a CPU from 1 to 100 (2, 2%), or 0 for no "
		  "limit" },
	{ "oom-score-adjust", NULL, KEY_NUMBER, KEY_FILE, ALL, FIELD(oom_score),
	  .account_reads = true, NUMBER(-1000, 1000) },
	{ "limit-memory", NULL, KEY_QUANTITY, KEY_FILE, ALL, FIELD(limit_memory), "4M",
	  .account_reads = true, .units = &quantity_size, BOUNDS(256ll << 10, 4ll << 30),
	  .allowed = "allowed: a whole number of KiB (8192), or with K, M or G, from 256K to 4G" },
};

const size_t nr_keys = ARRAY_SIZE(keys);
_Static_assert(ARRAY_SIZE(keys) <= KEYS_MAX, "options.on_command_line has a bit for each key");

const struct key *key_find(const char *name)
{
	for (size_t i = 0; i < nr_keys; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

uint64_t key_bit(const struct key *key)
{
	return 1ull << (key - keys);
}
