/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CAPTURED_STDERR_H
#define CAPTURED_STDERR_H

#include "unit_test.h"

static FILE *captured_file;
static int kept_stderr;

static inline void capture_stderr(void)
{
	captured_file = tmpfile();
	assert_non_null(captured_file);
	fflush(stderr);
	kept_stderr = dup(STDERR_FILENO);
	dup2(fileno(captured_file), STDERR_FILENO);
}

/* What went to stderr since then; valid until the next call. */
static inline const char *captured(void)
{
	static char text[1 << 16];
	ssize_t length;

	fflush(stderr);
	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stderr);
	length = pread(fileno(captured_file), text, sizeof(text) - 1, 0);
	fclose(captured_file);
	assert_true(length >= 0);
	text[length] = '\0';
	return text;
}

#endif
