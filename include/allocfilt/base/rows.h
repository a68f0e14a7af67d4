/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_ROWS_H
#define ALLOCFILT_BASE_ROWS_H

#include <stddef.h>

/*
 * Arrays that grow. A comparison function sorts the elements, and returns 0 for two of the same
 * thing.
 */

/**
 * rows_append - append a copy of an element
 * @array_pointer: address of the pointer to the elements, which free() releases
 *
 * Returns 1, or -ENOMEM.
 */
int rows_append(void *array_pointer, size_t *count, const void *element, size_t size);

/** rows_merge - sort the elements, and make one of those that compare as equal, by @add */
void rows_merge(void *rows, size_t *count, size_t size,
		int (*compare)(const void *one, const void *other),
		void (*add)(void *to, const void *of));

/** rows_find - the element that compares as equal to @row; NULL: there is none */
void *rows_find(const void *row, void *rows, size_t count, size_t size,
		int (*compare)(const void *one, const void *other));

#endif
