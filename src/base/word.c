// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "allocfilt/base.h"

static bool is_plain(unsigned char c)
{
	return c > ' ' && c < 0x7f && c != '\\';
}

void word_print(FILE *stream, const char *word, char behind)
{
	/* A word that is just "-" has to differ from an empty one. */
	if (!*word)
		fputc('-', stream);
	else if (!strcmp(word, "-"))
		fprintf(stream, "\\%03o", '-');
	else
		for (; *word; word++) {
			if (is_plain((unsigned char)*word))
				fputc(*word, stream);
			else
				fprintf(stream, "\\%03o", (unsigned char)*word);
		}
	fputc(behind, stream);
}

static bool is_octal(const char *text)
{
	return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
	       text[2] >= '0' && text[2] <= '7';
}

static char take_char(const char **at)
{
	const char *text = *at;

	if (text[0] != '\\' || !is_octal(text + 1)) {
		*at = text + 1;
		return text[0];
	}
	*at = text + 4;
	return (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
}

bool word_take(const char **line, char *word, size_t size)
{
	const char *at = *line + strspn(*line, " ");
	const char *start = at;
	size_t length = 0;

	if (!*at || *at == '\n')
		return false;
	while (*at && *at != ' ' && *at != '\n') {
		char c = take_char(&at);

		if (length < size - 1)
			word[length++] = c;
	}
	word[length] = '\0';
	if (at - start == 1 && *start == '-')
		word[0] = '\0';
	*line = at;
	return true;
}
