/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_SETTING_H
#define ALLOCFILT_TRACING_SETTING_H

#include <stdbool.h>

#include "tracing/steps.h"

/*
 * The texts of tracefs by kind: what of a file's text is its value, how two values compare, what
 * to write for one. No file is touched here.
 */

/* What is there or not, as a value. */
#define SETTING_ABSENT	"absent"
#define SETTING_PRESENT "present"

/** setting_parse - the value that a file's text shows; free() it; NULL: no memory */
char *setting_parse(enum step_kind kind, const char *text);

/** setting_text - what has to be written for a value; free() it; NULL: no memory */
char *setting_text(enum step_kind kind, const char *value);

/** setting_same - are these the same value? */
bool setting_same(enum step_kind kind, const char *one, const char *other);

/** setting_accepted - does a file that was given @value, and now shows @now, hold it? */
bool setting_accepted(enum step_kind kind, const char *value, const char *now);

/** setting_ours - is what the file shows one of the values that we wrote? */
bool setting_ours(enum step_kind kind, const char *wrote, const char *now);

/** setting_part - does a list hold nothing but entries of two others? false for other kinds */
bool setting_part(enum step_kind kind, const char *one, const char *other, const char *now);

/**
 * setting_always - written even where the value is the same
 *
 * A buffer's size: "7 (expanded: 1408)" and 1408 are the same value and not the same buffer; an
 * instance that failed to expand leaves 7 KiB behind that no longer grow (DESIGN 5.10).
 */
bool setting_always(enum step_kind kind);

#endif
