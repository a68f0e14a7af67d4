/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_FILE_H
#define ALLOCFILT_FILE_H

#include <stddef.h>

/*
 * Small files of the kernel, whole: tracefs, /proc. No state and no message.
 */

/**
 * file_read - the text of a file, a NUL behind it; free() it
 * @dir: NULL: @path as it is
 *
 * Returns 0 or -errno (-EFBIG: over 64 MiB, a file without an end).
 */
int file_read(const char *dir, const char *path, char **ret_text, size_t *ret_length);

/**
 * file_write - write a text to a file that exists, emptied by opening it (O_TRUNC) as a shell does
 *
 * Goes on after a short write (tracefs takes one function name a write: ftrace.c,
 * ftrace_regex_write()) and splits only between lines. Returns 0 or -errno, that of close() as
 * well.
 */
int file_write(const char *dir, const char *path, const char *text);

/**
 * file_append - write a text to a file that exists, and leave what it has
 *
 * For a file that opening with O_TRUNC would clear of others' things as well (dynamic_events, an
 * event's trigger). Returns as file_write().
 */
int file_append(const char *dir, const char *path, const char *text);

/** file_path - "dir/path" in a buffer of PATH_MAX; 0 or -ENAMETOOLONG */
int file_path(char *buffer, const char *dir, const char *path);

#endif
