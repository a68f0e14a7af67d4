// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "allocfilt/base.h"
#include "output/json_writer.h"

#define STRING_PIECE 256
#define MEMBER_MAX   512 /* a key, and a value or a piece of a string */

void json_init(struct json *json, struct writer *writer)
{
	*json = (struct json){ .writer = writer };
}

static void queue(struct json *json)
{
	if (json->at)
		writer_advance(json->writer, json->at);
	json->at = NULL;
	json->end = NULL;
}

char *json_more_room(struct json *json)
{
	queue(json);
	json->at = writer_room(json->writer, JSON_ROOM);
	if (json->at)
		json->end = json->at + JSON_ROOM - MEMBER_MAX;
	return json->at;
}

void json_raw(struct json *json, const char *text)
{
	queue(json);
	writer_put(json->writer, text, strlen(text));
	json->comma = false;
}

void json_put_open(struct json *json, char *to, char bracket)
{
	json->depth++;
	json->comma = false;
	if (!to)
		return;
	*to++ = bracket;
	json->at = to;
}

void json_close(struct json *json, char bracket)
{
	char *to = json_room(json, 1);

	json->depth--;
	json->comma = true;
	if (!to)
		return;
	*to++ = bracket;
	json->at = to;
	if (!json->depth)
		queue(json);
}

void json_end(struct json *json)
{
	char *to = json_room(json, 2);

	json->depth = 0;
	if (to)
		json->at = mempcpy(to, "}\n", 2);
	queue(json);
}

void json_put_string(struct json *json, char *to, const char *text)
{
	if (!to)
		return;
	if (!text) {
		json->at = mempcpy(to, "null", 4);
		return;
	}
	*to++ = '"';
	while (*text) {
		text += text_escape(to, STRING_PIECE, text, TEXT_JSON);
		json->at = to + strlen(to);
		to = json_room(json, STRING_PIECE);
		if (!to)
			return;
	}
	*to++ = '"';
	json->at = to;
}

void json_put_token(struct json *json, char *to, const char *token)
{
	if (!to)
		return;
	if (!token) {
		json->at = mempcpy(to, "null", 4);
		return;
	}
	*to++ = '"';
	to = stpcpy(to, token);
	*to++ = '"';
	json->at = to;
}

void json_put_number(struct json *json, char *to, uint64_t number)
{
	if (to)
		json->at = text_unsigned(to, number);
}

void json_put_signed(struct json *json, char *to, int64_t number)
{
	if (to)
		json->at = text_signed(to, number);
}

void json_ns(struct json *json, const char *key, uint64_t ns)
{
	char *to = json_key(json, key);

	if (to)
		json_put_number(json, mempcpy(to - strlen("\":"), "_ns\":", 5), ns);
}

void json_put_fraction(struct json *json, char *to, uint64_t whole, uint64_t rest, int decimals)
{
	if (!to)
		return;
	to = text_unsigned(to, whole);
	*to++ = '.';
	json->at = text_decimal(to, rest, decimals, '0');
}

void json_put_address(struct json *json, char *to, uint64_t address)
{
	if (!to)
		return;
	to = text_hex(mempcpy(to, "\"0x", 3), address);
	*to++ = '"';
	json->at = to;
}
