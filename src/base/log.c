// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/failure.h"
#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/text.h"

#define LOG_PREFIX   "allocfilt: "
#define LOG_LINE_MAX (sizeof(LOG_PREFIX) + FAILURE_TEXT_MAX + 128)

/* 2 s of waiting for a reader, in all: a slow terminal gets the lines of the set-up */
#define LOG_WAITS 200
#define LOG_WAIT  10 /* ms */

static enum log_level log_level = LOG_LEVEL_NOTICE;
static bool log_to_journal;
static int log_fd = STDERR_FILENO;
static int log_waits = LOG_WAITS;
static uint64_t log_dropped; /* lines, since the last one that was written */

/* sd-daemon(3): the prefixes that set the priority of a line on stderr. */
static const char *const journal_prefix[] = {
	[LOG_LEVEL_ERROR] = "<3>",
	[LOG_LEVEL_WARNING] = "<4>",
	[LOG_LEVEL_NOTICE] = "<5>",
	[LOG_LEVEL_DEBUG] = "<7>",
};

void log_open(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat stat;
	char own[64];
	int fd = file_reopen(STDERR_FILENO);

	log_fd = fd < 0 ? STDERR_FILENO : fd;
	if (!stream || fstat(STDERR_FILENO, &stat))
		return;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)stat.st_dev, (uintmax_t)stat.st_ino);
	log_to_journal = !strcmp(stream, own);
}

enum log_level log_set_level(enum log_level level)
{
	enum log_level before = log_level;

	log_level = level;
	return before;
}

/* A wait that ends early counts in full, so that there is an end of them. */
static bool log_wait(void)
{
	struct pollfd fd = { .fd = log_fd, .events = POLLOUT };

	if (!log_waits)
		return false;
	log_waits--;
	poll(&fd, 1, LOG_WAIT);
	return true;
}

/* One write per line: lines of two processes on one terminal or journal stay whole. */
static bool log_write(const char *line, size_t length)
{
	while (length) {
		ssize_t written = file_write_now(log_fd, line, length);

		if (written >= 0) {
			line += written;
			length -= written;
		} else if (written != -EINTR && (written != -EAGAIN || !log_wait())) {
			return written != -EAGAIN; /* an error of stderr cannot be reported */
		}
	}
	return true;
}

void log_message(enum log_level level, const char *format, ...)
{
	const char *prefix = log_to_journal ? journal_prefix[level] : LOG_PREFIX;
	char line[LOG_LINE_MAX], text[LOG_LINE_MAX];
	char counted[TEXT_COUNTED_MAX];
	size_t start, length;
	va_list arguments;

	if (level > log_level)
		return;
	/* log_write() changes errno, which %m in @format is the text of. */
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (log_dropped) {
		length = snprintf(
			line, sizeof(line), "%s%s\n", prefix,
			text_counted(counted, log_dropped,
				     "message{s are| is} missing here: nobody read {them|it}"));
		if (log_write(line, length))
			log_dropped = 0;
	}
	start = snprintf(line, sizeof(line), "%s", prefix);
	/* Paths and names of others may have any bytes. */
	text_escape(line + start, sizeof(line) - start - 1, text, text_rule_of(log_fd));
	length = strlen(line);
	line[length++] = '\n';
	if (!log_write(line, length))
		log_dropped++;
}
