// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t string_list_count(char *const *texts)
{
	size_t count = 0;

	while (texts && texts[count])
		count++;
	return count;
}

static bool string_list_contains(char *const *texts, const char *text)
{
	for (size_t i = 0; texts && texts[i]; i++)
		if (!strcmp(texts[i], text))
			return true;
	return false;
}

int string_list_add(char ***texts, const char *text, size_t most)
{
	size_t count = string_list_count(*texts);
	char **longer, *copy;

	if (string_list_contains(*texts, text))
		return 0;
	if (count >= most)
		return -E2BIG;
	copy = strdup(text);
	longer = copy ? realloc(*texts, (count + 2) * sizeof(*longer)) : NULL;
	if (!longer) {
		free(copy);
		return -ENOMEM;
	}
	longer[count] = copy;
	longer[count + 1] = NULL;
	*texts = longer;
	return 0;
}

bool string_list_equal(char *const *a, char *const *b)
{
	size_t count = string_list_count(a);

	if (string_list_count(b) != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(a[i], b[i]))
			return false;
	return true;
}

void string_list_free(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}
