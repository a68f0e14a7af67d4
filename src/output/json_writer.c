// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdarg.h>
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

/* Writes the comma and the key before a value. */
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

__attribute__((format(printf, 3, 4))) static void put_value(struct json *json, const char *key,
							    const char *format, ...)
{
	char text[32];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	begin(json, key);
	put(json, text, strlen(text));
}

void json_number(struct json *json, const char *key, uint64_t number)
{
	put_value(json, key, "%" PRIu64, number);
}

void json_signed(struct json *json, const char *key, int64_t number)
{
	put_value(json, key, "%" PRId64, number);
}

void json_hundredths(struct json *json, const char *key, unsigned int hundredths)
{
	put_value(json, key, "%u.%02u", hundredths / 100, hundredths % 100);
}

void json_microseconds(struct json *json, const char *key, uint64_t ns)
{
	put_value(json, key, "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
}

void json_share(struct json *json, const char *key, unsigned int share)
{
	put_value(json, key, "%u.%04u", share / 10000, share % 10000);
}

void json_address(struct json *json, const char *key, uint64_t address)
{
	put_value(json, key, "\"0x%" PRIx64 "\"", address);
}

void json_bool(struct json *json, const char *key, bool value)
{
	put_value(json, key, "%s", value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
	put_value(json, key, "null");
}
