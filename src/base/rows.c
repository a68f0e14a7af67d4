// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rows_append(void *array_pointer, size_t *count, const void *element, size_t size)
{
	void **array = array_pointer;

	/* The array has room for the next power of two. */
	if (!(*count & (*count - 1))) {
		void *longer = reallocarray(*array, *count ? 2 * *count : 1, size);

		if (!longer)
			return -ENOMEM;
		*array = longer;
	}
	memcpy((char *)*array + (*count)++ * size, element, size);
	return 1;
}

void rows_merge(void *rows, size_t *count, size_t size,
		int (*compare)(const void *one, const void *other),
		void (*add)(void *to, const void *of))
{
	char *kept = rows, *row = rows;

	if (!*count)
		return;
	qsort(rows, *count, size, compare);
	for (size_t i = 1; i < *count; i++) {
		row += size;
		if (!compare(kept, row)) {
			add(kept, row);
			continue;
		}
		kept += size;
		memmove(kept, row, size);
	}
	*count = (size_t)(kept - (char *)rows) / size + 1;
}

void *rows_find(const void *row, void *rows, size_t count, size_t size,
		int (*compare)(const void *one, const void *other))
{
	return count ? bsearch(row, rows, count, size, compare) : NULL;
}
