// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base.h"
#include "output/json_writer.h"

void json_init(struct json *json, struct writer *writer)
{
	*json = (struct json){ .writer = writer };
}

static void put(struct json *json, const char *text, size_t length)
{
	writer_put(json->writer, text, length);
}

void json_raw(struct json *json, const char *text)
{
	put(json, text, strlen(text));
	json->comma = false;
}

static void begin(struct json *json, const char *key)
{
	if (json->comma)
		put(json, ",", 1);
	json->comma = true;
	if (!key)
		return;
	put(json, "\"", 1);
	put(json, key, strlen(key));
	put(json, "\":", 2);
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	put(json, &bracket, 1);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	put(json, &bracket, 1);
	json->comma = true;
}

void json_string(struct json *json, const char *key, const char *text)
{
	if (!text) {
		json_null(json, key);
		return;
	}
	begin(json, key);
	put(json, "\"", 1);
	while (*text) {
		char escaped[256];

		text += text_escape(escaped, sizeof(escaped), text, TEXT_JSON);
		put(json, escaped, strlen(escaped));
	}
	put(json, "\"", 1);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
	char text[24];

	begin(json, key);
	put(json, text, snprintf(text, sizeof(text), "%" PRIu64, number));
}

void json_signed(struct json *json, const char *key, int64_t number)
{
	char text[24];

	begin(json, key);
	put(json, text, snprintf(text, sizeof(text), "%" PRId64, number));
}

void json_microseconds(struct json *json, const char *key, uint64_t ns)
{
	char text[32];

	begin(json, key);
	put(json, text,
	    snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000)));
}

void json_address(struct json *json, const char *key, uint64_t address)
{
	char text[24];

	begin(json, key);
	put(json, text, snprintf(text, sizeof(text), "\"0x%" PRIx64 "\"", address));
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	put(json, value ? "true" : "false", value ? 4 : 5);
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	put(json, "null", 4);
}
