/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_ACCOUNT_ROWS_H
#define ALLOCFILT_ACCOUNT_ROWS_H

#include <stddef.h>

/* Arrays of any elements that grow, and that are sorted by what an element is of. */

/**
 * rows_append - make room for one more element, which is all zeros
 * @array_pointer: address of the pointer to the elements, which free() releases
 *
 * Returns it, or NULL without memory.
 */
void *rows_append(void *array_pointer, size_t *count, size_t size);

/** rows_merge - sort, and make one of those that compare as equal: @add adds one to the other */
void rows_merge(void *rows, size_t *count, size_t size,
		int (*compare)(const void *one, const void *other),
		void (*add)(void *to, const void *of));

/** rows_find - the element that compares as equal to @row; NULL: there is none */
const void *rows_find(const void *row, const void *rows, size_t count, size_t size,
		      int (*compare)(const void *one, const void *other));

#endif
