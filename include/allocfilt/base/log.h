/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_LOG_H
#define ALLOCFILT_BASE_LOG_H

#include <stdio.h>

/* Messages about the run go to stderr: one line each, with "allocfilt: " before it. */

enum log_level {
	LOG_LEVEL_ERROR,   /* -q: only these */
	LOG_LEVEL_WARNING, /* something is missing or lost, the run goes on */
	LOG_LEVEL_NOTICE,  /* default */
	LOG_LEVEL_DEBUG,   /* -v */
};

/** log_set_level - drop messages above this level; returns the one before, first LOG_LEVEL_NOTICE */
enum log_level log_set_level(enum log_level level);

/**
 * log_open - write to a description of stderr of our own (file_reopen()), so that no line blocks
 *
 * If stderr is a stream of the journal, lines start with their priority: JOURNAL_STREAM is in
 * systemd.exec(5), the prefixes are in sd-daemon(3).
 */
void log_open(void);

/*
 * Each writes one line with one write(2); no newline in the format. A line that is too long is cut. A
 * line for which a pipe, terminal or socket has no room is dropped after 2 s of waiting, in all; the
 * next line that is written says how many were.
 */
#define log_error(...)	 log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)	 log_message(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_debug(...)	 log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)
void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
