/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_WORD_H
#define ALLOCFILT_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Words of a line of text with any bytes in them: blanks, newlines, backslashes and other bytes
 * that are no printable ASCII are written as a backslash and three octal digits, as in
 * /proc/mounts. An empty word is written as "-".
 */

/** word_print - a word, and a blank or newline behind it */
void word_print(FILE *stream, const char *word, char behind);

/**
 * word_take - the next word of a line
 * @line: moved behind the word
 * @word: cut to size - 1, NUL behind it
 *
 * Returns false at the end of the line.
 */
bool word_take(const char **line, char *word, size_t size);

#endif
