/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_STRING_LIST_H
#define ALLOCFILT_BASE_STRING_LIST_H

#include <stddef.h>

/* NULL-terminated lists of strings. A list without a string is NULL. */

/**
 * string_list_add - append a copy, unless the list contains it
 * @most: limit of the list's strings
 *
 * Returns 0, or -E2BIG or -ENOMEM with the list unchanged.
 */
int string_list_add(char ***texts, const char *text, size_t most);

/** string_list_free - free a list with its strings; NULL is allowed */
void string_list_free(char **texts);

#endif
