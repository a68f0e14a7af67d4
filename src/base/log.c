// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/failure.h"
#include "allocfilt/base/log.h"

#define LOG_PREFIX   "allocfilt: "
#define LOG_LINE_MAX (sizeof(LOG_PREFIX) + FAILURE_TEXT_MAX + 128)

static enum log_level log_level = LOG_LEVEL_NOTICE;
static bool log_to_journal;

/* sd-daemon(3): the prefixes that set the priority of a line on stderr. */
static const char *const journal_prefix[] = {
	[LOG_LEVEL_ERROR] = "<3>",
	[LOG_LEVEL_WARNING] = "<4>",
	[LOG_LEVEL_NOTICE] = "<5>",
	[LOG_LEVEL_DEBUG] = "<7>",
};

void log_look_for_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat stat;
	char own[64];

	if (!stream || fstat(STDERR_FILENO, &stat))
		return;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)stat.st_dev, (uintmax_t)stat.st_ino);
	log_to_journal = !strcmp(stream, own);
}

void log_set_level(enum log_level level)
{
	log_level = level;
}

/* One write per line: lines of two processes on one terminal or journal stay whole. */
static void __attribute__((format(printf, 2, 0)))
log_line(enum log_level level, const char *format, va_list arguments)
{
	char line[LOG_LINE_MAX];
	size_t start, length;

	if (level > log_level)
		return;
	start = snprintf(line, sizeof(line), "%s",
			 log_to_journal ? journal_prefix[level] : LOG_PREFIX);
	vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
	length = strlen(line);
	line[length++] = '\n';
	/* An error of stderr cannot be reported. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

#define LOG_FUNCTION(name, level)                                                                  \
	void name(const char *format, ...)                                                         \
	{                                                                                          \
		va_list arguments;                                                                 \
                                                                                                   \
		va_start(arguments, format);                                                       \
		log_line(level, format, arguments);                                                \
		va_end(arguments);                                                                 \
	}

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_notice, LOG_LEVEL_NOTICE)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)
