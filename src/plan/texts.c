// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t texts_count(char *const *texts)
{
	size_t count = 0;

	while (texts && texts[count])
		count++;
	return count;
}

bool texts_have(char *const *texts, const char *text)
{
	for (size_t i = 0; texts && texts[i]; i++)
		if (!strcmp(texts[i], text))
			return true;
	return false;
}

int texts_add(char ***texts, const char *text, size_t most)
{
	size_t count = texts_count(*texts);
	char **longer, *copy;

	if (texts_have(*texts, text))
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

bool texts_same(char *const *a, char *const *b)
{
	size_t count = texts_count(a);

	if (texts_count(b) != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(a[i], b[i]))
			return false;
	return true;
}

void texts_free(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}
