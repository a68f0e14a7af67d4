// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base/string_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int string_list_add(char ***texts, const char *text, size_t most)
{
	size_t count = 0;
	char **longer, *copy;

	for (; *texts && (*texts)[count]; count++)
		if (!strcmp((*texts)[count], text))
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

void string_list_free(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}
