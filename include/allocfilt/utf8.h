/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_UTF8_H
#define ALLOCFILT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Names of tasks and cgroups hold any bytes; what is printed of them is valid and does no harm. */

/**
 * utf8_length - bytes of the character at @text (NUL ends it)
 *
 * Returns 1 to 4, or 0 where the bytes are no UTF-8: overlong forms, surrogates and what lies
 * above U+10FFFF are none (RFC 3629).
 */
size_t utf8_length(const char *text);

/**
 * utf8_printable - copy a text for a person's eyes
 * @ascii: the reader's locale has no UTF-8
 *
 * Control characters (C0, DEL, C1), bytes that are no UTF-8 and, with @ascii, all that is not
 * ASCII become \xNN. Cut at size - 1, never inside a character or an escape. Returns the columns
 * (characters) written.
 */
size_t utf8_printable(char *to, size_t size, const char *text, bool ascii);

#endif
