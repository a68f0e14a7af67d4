// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/keys.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define PID_LARGEST 4194304 /* PID_MAX_LIMIT of the kernel, include/linux/threads.h */

#define US     1000ll
#define SECOND (1000 * 1000 * US)
#define HOUR   (3600 * SECOND)
/* The kernel keeps it in nanoseconds, in an unsigned long. */
#define THRESHOLD_LARGEST (ULONG_MAX < INT64_MAX ? (int64_t)ULONG_MAX : INT64_MAX)

#define ALLOWED_THRESHOLD                                                                          \
	"allowed: a whole number of microseconds from 1 (134, 134us), or with ns, ms or s"
#define ALLOWED_LEVEL                                                                              \
	"allowed: a whole number of microseconds from 1 (100000, 100000us), or with ns, ms or s, up to 3600s"
#define ALLOWED_DURATION "allowed: a whole number of seconds from 1 (15, 15s), or with ms, m or h"
#define ALLOWED_STATUS                                                                             \
	"allowed: a whole number of seconds from 1 (3600, 3600s), or with ms, m or h, up to 168h, or 0 for none"
#define ALLOWED_SIZE "allowed: a whole number of KiB (4096), or with K, M or G, from 8K to 64G"
#define ALLOWED_PID  "allowed: process ids from 1 to 4194304, separated by commas"
#define ALLOWED_FUNCTION                                                                           \
	"allowed: names of kernel functions, also with * ? [ ], separated by commas"
#define ALLOWED_EVENT "allowed: SYSTEM:NAME as kmem:mm_page_alloc, separated by commas"

#define FIELD(name) .field = offsetof(struct options, name)
#define GIVEN(name) .given = offsetof(struct options, name)
/* Ends with a text, to which more can be added. */
#define WHOLE(least, most)                                                                         \
	.lowest = (least), .highest = (most),                                                      \
	.allowed = "allowed: a whole number from " #least " to " #most
#define LIMIT(title, name, least, most, preset)                                                    \
	{                                                                                          \
		title, NULL, KEY_NUMBER, KEY_CHANGE_TRACING, FIELD(limits.name),                   \
			.otherwise = preset, WHOLE(least, most)                                    \
	}

static const struct key keys[] = {
	{ "threshold", "-t", KEY_TIME, KEY_CHANGE_TRACING, FIELD(threshold), GIVEN(threshold_given),
	  .units = &quantity_short_time, .lowest = 1, .highest = THRESHOLD_LARGEST,
	  .microseconds = true, .allowed = ALLOWED_THRESHOLD },
	{ "duration", "-d", KEY_TIME, KEY_CHANGE_VALUE, FIELD(duration),
	  .units = &quantity_long_time, .lowest = 1, .highest = INT64_MAX,
	  .allowed = ALLOWED_DURATION },
	{ "pid", "-p", KEY_PIDS, KEY_CHANGE_TRACING, FIELD(pids), .lowest = 1,
	  .highest = PID_LARGEST, .allowed = ALLOWED_PID },
	{ "function", "-F", KEY_FUNCTIONS, KEY_CHANGE_TRACING, FIELD(functions),
	  .allowed = ALLOWED_FUNCTION },
	{ "event", "-e", KEY_EVENTS, KEY_CHANGE_TRACING, FIELD(events), .allowed = ALLOWED_EVENT },
	{ "buffer", "-b", KEY_SIZE, KEY_CHANGE_TRACING, FIELD(buffer), .units = &quantity_size,
	  .lowest = 8ll << 10, .highest = 64ll << 30, .otherwise = "4M", .allowed = ALLOWED_SIZE },
	{ "format", "-f", KEY_FORMAT, KEY_CHANGE_VALUE, FIELD(format), .otherwise = "trace",
	  .allowed = "allowed: trace, tree, json, perfetto" },
	{ "top", "--top", KEY_NUMBER, KEY_CHANGE_VALUE, FIELD(top), .otherwise = "10",
	  WHOLE(1, 128) },
	{ "metrics", "--metrics", KEY_PATH, KEY_CHANGE_VALUE, FIELD(metrics),
	  .allowed = "allowed: a path" },
	{ "stack", "--stack", KEY_SWITCH, KEY_CHANGE_TRACING, FIELD(stack), .otherwise = "no",
	  .allowed = "allowed: yes, no" },
	{ "page-allocation", NULL, KEY_SWITCH, KEY_CHANGE_TRACING, FIELD(page_allocation),
	  .otherwise = "yes", .allowed = "allowed: yes, no" },
	{ "warning", NULL, KEY_TIME, KEY_CHANGE_VALUE, FIELD(warning),
	  .units = &quantity_short_time, .lowest = US, .highest = HOUR, .otherwise = "100ms",
	  .allowed = ALLOWED_LEVEL },
	{ "error", NULL, KEY_TIME, KEY_CHANGE_VALUE, FIELD(error), .units = &quantity_short_time,
	  .lowest = US, .highest = HOUR, .otherwise = "1s", .allowed = ALLOWED_LEVEL },
	{ "rate", NULL, KEY_NUMBER, KEY_CHANGE_VALUE, FIELD(rate), .otherwise = "20",
	  WHOLE(0, 60000) ", 0 for no limit" },
	{ "burst", NULL, KEY_NUMBER, KEY_CHANGE_VALUE, FIELD(burst), .otherwise = "50",
	  WHOLE(0, 10000) },
	{ "status-interval", NULL, KEY_TIME, KEY_CHANGE_VALUE, FIELD(status_interval),
	  .units = &quantity_long_time, .lowest = SECOND, .highest = 168 * HOUR, .or_zero = true,
	  .otherwise = "1h", .allowed = ALLOWED_STATUS },
	{ "oom-score-adjust", NULL, KEY_SIGNED, KEY_CHANGE_VALUE, FIELD(oom_score),
	  GIVEN(oom_score_given), WHOLE(-1000, 1000) },
	LIMIT("limit-tasks", tasks, 64, 65536, "4096"),
	LIMIT("limit-events", events, 256, 1048576, "10240"),
	LIMIT("limit-task-events", task_events, 16, 65536, "640"),
	LIMIT("limit-names", names, 256, 32000, "8192"),
	LIMIT("limit-cgroups", cgroups, 8, 4096, "64"),
	LIMIT("limit-shrinkers", shrinkers, 16, 4096, "512"),
	{ "limit-files", NULL, KEY_NUMBER, KEY_CHANGE_TRACING, FIELD(limits.files), .or_zero = true,
	  .otherwise = "0", WHOLE(64, 1048576) ", or 0 for what it is" },
};

_Static_assert(ARRAY_SIZE(keys) <= 64, "options.given has a bit for each key");

const struct key *keys_all(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(keys);
	return keys;
}

const struct key *keys_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

uint64_t keys_bit(const struct key *key)
{
	return 1ull << (key - keys);
}

void keys_names(char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys) && used < size; i++)
		used += snprintf(text + used, size - used, "%s%s", i ? ", " : "", keys[i].name);
}
