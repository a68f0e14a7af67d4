/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_JSON_WRITER_H
#define ALLOCFILT_OUTPUT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base.h"

/*
 * Writes JSON (RFC 8259) on one line: objects and arrays with all that is in them. Errors stay in the
 * writer: check writer_status() at the end.
 *
 * @key of each function: NULL in an array and for the outermost object or array; else plain ASCII,
 * which is not escaped, of JSON_KEY_MAX bytes at most. Nearly all keys are literals, so what has a key
 * is inline: the compiler knows how long it is.
 */

#define JSON_KEY_MAX 64
#define JSON_ROOM    4096

struct json {
	struct writer *writer;
	char *at;	    /* where the next byte goes; NULL: nothing is open, and all is queued */
	char *end;	    /* before it, there is room for a key with a value at @at */
	unsigned int depth; /* open objects and arrays: nothing else is to be written meanwhile */
	bool comma;	    /* the next member needs one before it */
};

/** json_init - start a line; @writer has to outlive it */
void json_init(struct json *json, struct writer *writer);

char *json_more_room(struct json *json);

/**
 * json_room - where the next member is going to be, inside an object or array
 * @size: of what is written from there on, so much stays in one piece; JSON_ROOM / 2 at most
 *
 * For a member that is always the same: json_members() writes what was written before. NULL after a
 * failure.
 */
static inline char *json_room(struct json *json, size_t size)
{
	return json->at && (ptrdiff_t)size < json->end - json->at ? json->at : json_more_room(json);
}

/** json_members - write members unchanged, as they were in this place before; JSON_ROOM / 2 at most */
static inline void json_members(struct json *json, const char *text, size_t length)
{
	char *to = json_room(json, length);

	json->comma = true;
	if (to)
		json->at = (char *)mempcpy(to, text, length);
}

/** json_key - write what is before a value; returns where that goes, NULL after a failure */
static inline char *json_key(struct json *json, const char *key)
{
	char *to = json->at < json->end ? json->at : json_room(json, 0);

	if (!to)
		return NULL;
	if (json->comma)
		*to++ = ',';
	json->comma = true;
	if (key) {
		*to++ = '"';
		to = (char *)mempcpy(to, key, strlen(key));
		to = (char *)mempcpy(to, "\":", 2);
	}
	json->at = to;
	return to;
}

/* The values, at json_key(); NULL writes nothing. */
void json_put_string(struct json *json, char *to, const char *text);
void json_put_token(struct json *json, char *to, const char *token);
void json_put_number(struct json *json, char *to, uint64_t number);
void json_put_signed(struct json *json, char *to, int64_t number);
void json_put_fraction(struct json *json, char *to, uint64_t whole, uint64_t rest, int decimals);
void json_put_address(struct json *json, char *to, uint64_t address);
void json_put_open(struct json *json, char *to, char bracket);

/** json_open - begin an object or array; @bracket: '{' or '[' */
static inline void json_open(struct json *json, const char *key, char bracket)
{
	json_put_open(json, json_key(json, key), bracket);
}

/** json_close - end the innermost object or array; @bracket: '}' or ']' */
void json_close(struct json *json, char bracket);

/** json_end - end the outermost object, and its line */
void json_end(struct json *json);

/** json_null - null, for a member that is not known */
static inline void json_null(struct json *json, const char *key)
{
	char *to = json_key(json, key);

	if (to)
		json->at = (char *)mempcpy(to, "null", 4);
}

/** json_bool - true or false */
static inline void json_bool(struct json *json, const char *key, bool value)
{
	char *to = json_key(json, key);

	if (to)
		json->at = (char *)(value ? mempcpy(to, "true", 4) : mempcpy(to, "false", 5));
}

/** json_string - @text: any bytes (TEXT_JSON); NULL becomes null */
static inline void json_string(struct json *json, const char *key, const char *text)
{
	json_put_string(json, json_key(json, key), text);
}

/**
 * json_token - a text of our own: plain ASCII, which is not escaped, of JSON_KEY_MAX bytes at most
 *
 * NULL becomes null.
 */
static inline void json_token(struct json *json, const char *key, const char *token)
{
	json_put_token(json, json_key(json, key), token);
}

/** json_number, json_signed - an integer */
static inline void json_number(struct json *json, const char *key, uint64_t number)
{
	json_put_number(json, json_key(json, key), number);
}

static inline void json_signed(struct json *json, const char *key, int64_t number)
{
	json_put_signed(json, json_key(json, key), number);
}

/** json_ns - an integer with "_ns" after the key */
void json_ns(struct json *json, const char *key, uint64_t ns);

/** json_hundredths - a number with two decimals */
static inline void json_hundredths(struct json *json, const char *key, unsigned int hundredths)
{
	json_put_fraction(json, json_key(json, key), hundredths / 100, hundredths % 100, 2);
}

/** json_microseconds - a time in ns as microseconds with three decimals */
static inline void json_microseconds(struct json *json, const char *key, uint64_t ns)
{
	json_put_fraction(json, json_key(json, key), ns / 1000, ns % 1000, 3);
}

/** json_share - hundredths of a percent as a fraction, "0.9512" */
static inline void json_share(struct json *json, const char *key, unsigned int share)
{
	json_put_fraction(json, json_key(json, key), share / 10000, share % 10000, 4);
}

/** json_address - a string "0x…": as a number many parsers would round it to 53 bits */
static inline void json_address(struct json *json, const char *key, uint64_t address)
{
	json_put_address(json, json_key(json, key), address);
}

/** json_raw - write a text unchanged, between objects; no comma follows it */
void json_raw(struct json *json, const char *text);

#endif
