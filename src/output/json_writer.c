// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "allocfilt/base.h"
#include "output/json_writer.h"

#define STRING_PIECE 256

void json_init(struct json *json, struct writer *writer)
{
	*json = (struct json){ .writer = writer };
}

static void queue(struct json *json)
{
	if (json->at)
		writer_advance(json->writer, json->at);
	json->at = NULL;
}

/* Returns where up to @size bytes may be written; NULL after a failure. */
static inline char *room(struct json *json, size_t size)
{
	if (json->at && size <= (size_t)(json->end - json->at))
		return json->at;
	queue(json);
	json->at = writer_room(json->writer, JSON_ROOM);
	if (json->at)
		json->end = json->at + JSON_ROOM;
	return json->at;
}

/* Makes room for a value and what is before it, writes the latter; NULL after a failure. */
static char *begin(struct json *json, const char *key, bool ns, size_t size)
{
	char *to = room(json, JSON_KEY_MAX + strlen(",\"_ns\":") + size);

	if (!to)
		return NULL;
	if (json->comma)
		*to++ = ',';
	json->comma = true;
	if (!key)
		return to;
	*to++ = '"';
	to = stpcpy(to, key);
	if (ns)
		to = mempcpy(to, "_ns", 3);
	return mempcpy(to, "\":", 2);
}

static inline void end(struct json *json, char *to)
{
	json->at = to;
	if (!json->depth)
		queue(json);
}

const char *json_room(struct json *json, size_t size)
{
	return room(json, size);
}

void json_members(struct json *json, const char *text, size_t length)
{
	char *to = room(json, length);

	if (to)
		end(json, mempcpy(to, text, length));
	json->comma = true;
}

void json_raw(struct json *json, const char *text)
{
	queue(json);
	writer_put(json->writer, text, strlen(text));
	json->comma = false;
}

void json_open(struct json *json, const char *key, char bracket)
{
	char *to = begin(json, key, false, 1);

	json->depth++;
	json->comma = false;
	if (!to)
		return;
	*to++ = bracket;
	end(json, to);
}

void json_close(struct json *json, char bracket)
{
	char *to = room(json, 1);

	json->depth--;
	json->comma = true;
	if (!to)
		return;
	*to++ = bracket;
	end(json, to);
}

void json_string(struct json *json, const char *key, const char *text)
{
	char *to;

	if (!text) {
		json_null(json, key);
		return;
	}
	to = begin(json, key, false, strlen("\"") + STRING_PIECE);
	if (!to)
		return;
	*to++ = '"';
	while (*text) {
		text += text_escape(to, STRING_PIECE, text, TEXT_JSON);
		json->at = to + strlen(to);
		to = room(json, STRING_PIECE);
		if (!to)
			return;
	}
	*to++ = '"';
	end(json, to);
}

void json_token(struct json *json, const char *key, const char *token)
{
	char *to;

	if (!token) {
		json_null(json, key);
		return;
	}
	to = begin(json, key, false, JSON_KEY_MAX + strlen("\"\""));
	if (!to)
		return;
	*to++ = '"';
	to = stpcpy(to, token);
	*to++ = '"';
	end(json, to);
}

static void put_number(struct json *json, const char *key, bool ns, uint64_t number)
{
	char *to = begin(json, key, ns, TEXT_NUMBER_MAX);

	if (to)
		end(json, text_decimal(to, number, 0, ' '));
}

void json_number(struct json *json, const char *key, uint64_t number)
{
	put_number(json, key, false, number);
}

void json_ns(struct json *json, const char *key, uint64_t ns)
{
	put_number(json, key, true, ns);
}

void json_signed(struct json *json, const char *key, int64_t number)
{
	char *to = begin(json, key, false, TEXT_NUMBER_MAX);

	if (to)
		end(json, text_signed(to, number));
}

static void put_fraction(struct json *json, const char *key, uint64_t whole, uint64_t rest,
			 int decimals)
{
	char *to = begin(json, key, false, TEXT_NUMBER_MAX + 1 + (size_t)decimals);

	if (!to)
		return;
	to = text_decimal(to, whole, 0, ' ');
	*to++ = '.';
	end(json, text_decimal(to, rest, decimals, '0'));
}

void json_hundredths(struct json *json, const char *key, unsigned int hundredths)
{
	put_fraction(json, key, hundredths / 100, hundredths % 100, 2);
}

void json_microseconds(struct json *json, const char *key, uint64_t ns)
{
	put_fraction(json, key, ns / 1000, ns % 1000, 3);
}

void json_share(struct json *json, const char *key, unsigned int share)
{
	put_fraction(json, key, share / 10000, share % 10000, 4);
}

void json_address(struct json *json, const char *key, uint64_t address)
{
	char *to = begin(json, key, false, strlen("\"0x\"") + TEXT_NUMBER_MAX);

	if (!to)
		return;
	to = text_hex(mempcpy(to, "\"0x", 3), address);
	*to++ = '"';
	end(json, to);
}

void json_bool(struct json *json, const char *key, bool value)
{
	char *to = begin(json, key, false, strlen("false"));

	if (to)
		end(json, value ? mempcpy(to, "true", 4) : mempcpy(to, "false", 5));
}

void json_null(struct json *json, const char *key)
{
	char *to = begin(json, key, false, strlen("null"));

	if (to)
		end(json, mempcpy(to, "null", 4));
}
