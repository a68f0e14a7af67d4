/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEXTS_H
#define ALLOCFILT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

/* Lists of texts that NULL ends. A list without a text is NULL. */

/**
 * texts_add - add a copy at the end, unless it is there already
 * @most: how many may be in the list
 *
 * Returns 0, -E2BIG or -ENOMEM; then the list is as before.
 */
int texts_add(char ***texts, const char *text, size_t most);

size_t texts_count(char *const *texts);
bool texts_have(char *const *texts, const char *text);
bool texts_same(char *const *a, char *const *b);
void texts_free(char **texts);

#endif
