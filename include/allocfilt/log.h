/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_LOG_H
#define ALLOCFILT_LOG_H

/*
 * What is said about the run, on stderr: one line each, "allocfilt: " in front. Everything that is
 * shown of the kernel's data goes to stdout by the output stage and never through here.
 */

enum log_level {
	LOG_LEVEL_ERROR,	/* -q: only these */
	LOG_LEVEL_WARNING,	/* something is missing or lost, the run goes on */
	LOG_LEVEL_NOTICE,	/* default */
	LOG_LEVEL_DEBUG,	/* -v */
};

void log_set_level(enum log_level level);

/**
 * log_look_for_journal - is stderr a stream of the journal? Then lines tell their priority
 *
 * JOURNAL_STREAM in systemd.exec(5), the prefixes in sd-daemon(3).
 */
void log_look_for_journal(void);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
