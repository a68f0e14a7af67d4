// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/failure.h"
#include "allocfilt/log.h"

#define LOG_PREFIX	"allocfilt: "
#define LOG_LINE_MAX	(sizeof(LOG_PREFIX) + FAILURE_TEXT_MAX + 128)

static enum log_level log_level = LOG_LEVEL_NOTICE;

void log_set_level(enum log_level level)
{
	log_level = level;
}

/* One write per line: lines of two processes on one terminal or journal stay whole. */
static void __attribute__((format(printf, 2, 0)))
log_line(enum log_level level, const char *format, va_list arguments)
{
	char line[LOG_LINE_MAX] = LOG_PREFIX;
	size_t start = strlen(LOG_PREFIX), length;

	if (level > log_level)
		return;
	vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
	length = strlen(line);
	line[length++] = '\n';
	/* Nobody is left to tell when stderr itself fails. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

#define LOG_FUNCTION(name, level)			\
void name(const char *format, ...)			\
{							\
	va_list arguments;				\
							\
	va_start(arguments, format);			\
	log_line(level, format, arguments);		\
	va_end(arguments);				\
}

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_notice, LOG_LEVEL_NOTICE)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)
