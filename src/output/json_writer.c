// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "allocfilt/output/json_writer.h"

#define VALUE_MAX    (2 * TEXT_NUMBER_MAX)
#define STRING_PIECE 256

void json_init(struct json *json, struct writer *writer)
{
	*json = (struct json){ .writer = writer };
}

/* Writes a member with the text of its value, or the begin of it: VALUE_MAX bytes at most. */
static void put_member(struct json *json, const char *key, const char *value, size_t length)
{
	char *to = writer_room(json->writer, JSON_KEY_MAX + VALUE_MAX);

	if (!to)
		return;
	if (json->comma)
		*to++ = ',';
	if (key)
		to = stpcpy(stpcpy(stpcpy(to, "\""), key), "\":");
	json->comma = true;
	writer_advance(json->writer, mempcpy(to, value, length));
}

void json_raw(struct json *json, const char *text)
{
	writer_put(json->writer, text, strlen(text));
	json->comma = false;
}

void json_escaped(struct json *json, const char *text, enum text_rule rule)
{
	char piece[STRING_PIECE];

	while (*text) {
		text += text_escape(piece, sizeof(piece), text, rule);
		writer_put(json->writer, piece, strlen(piece));
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	put_member(json, key, &bracket, 1);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	writer_put(json->writer, &bracket, 1);
	json->comma = true;
}

void json_end(struct json *json)
{
	json_raw(json, "}\n");
}

void json_bool(struct json *json, const char *key, bool value)
{
	const char *text = value ? "true" : "false";

	put_member(json, key, text, strlen(text));
}

void json_string(struct json *json, const char *key, const char *text)
{
	if (!text)
		return;
	put_member(json, key, "\"", 1);
	json_escaped(json, text, TEXT_JSON);
	writer_put(json->writer, "\"", 1);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
	char text[VALUE_MAX];

	put_member(json, key, text, (size_t)(text_unsigned(text, number) - text));
}

void json_signed(struct json *json, const char *key, int64_t number)
{
	char text[VALUE_MAX];

	put_member(json, key, text, (size_t)(text_signed(text, number) - text));
}

void json_fraction(struct json *json, const char *key, uint64_t number, int decimals)
{
	char text[VALUE_MAX], *to;
	uint64_t one = 1;

	for (int i = 0; i < decimals; i++)
		one *= 10;
	to = text_unsigned(text, number / one);
	*to++ = '.';
	to = text_decimal(to, number % one, decimals, '0');
	put_member(json, key, text, (size_t)(to - text));
}

void json_address(struct json *json, const char *key, uint64_t address)
{
	char text[VALUE_MAX], *to = text_hex(mempcpy(text, "\"0x", 3), address);

	*to++ = '"';
	put_member(json, key, text, (size_t)(to - text));
}
