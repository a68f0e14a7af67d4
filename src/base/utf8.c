// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base.h"

/* The least character that takes so many bytes; anything below it is an overlong form. */
static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

static size_t length_by_first(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	if (first >= 0xf0 && first < 0xf5)
		return 4;
	return 0;
}

static bool is_character(uint32_t character, size_t length)
{
	return character >= least[length] && character <= 0x10ffff &&
	       (character < 0xd800 || character > 0xdfff);
}

size_t utf8_length(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length = length_by_first(bytes[0]);
	uint32_t character;

	if (length < 2)
		return length;
	character = bytes[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (bytes[i] & 0x3f);
	}
	return is_character(character, length) ? length : 0;
}

/* C0, DEL, and C1, which UTF-8 writes as 0xc2 0x80 … 0xc2 0x9f. */
static bool is_control(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;

	if (length == 1)
		return bytes[0] < 0x20 || bytes[0] == 0x7f;
	return length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0;
}

size_t utf8_printable(char *to, size_t size, const char *text, bool ascii)
{
	size_t used = 0;
	size_t columns = 0;

	while (*text) {
		size_t length = utf8_length(text);
		bool escape = !length || is_control(text, length) || (ascii && length > 1);
		size_t taken = escape ? 1 : length;
		size_t given = escape ? 4 : length;

		if (used + given >= size)
			break;
		if (escape)
			snprintf(to + used, 5, "\\x%02x", (unsigned char)*text);
		else
			memcpy(to + used, text, length);
		used += given;
		columns += escape ? 4 : 1;
		text += taken;
	}
	to[used] = '\0';
	return columns;
}
