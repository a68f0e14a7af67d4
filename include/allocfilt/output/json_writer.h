/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_JSON_WRITER_H
#define ALLOCFILT_OUTPUT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base/text.h"
#include "allocfilt/base/writer.h"

/*
 * Writes JSON (RFC 8259) on one line: objects and arrays with all that is in them. Errors stay in the
 * writer: check writer_status() at the end.
 *
 * @key of each function: NULL in an array and for the outermost object or array; else plain ASCII,
 * which is not escaped, of JSON_KEY_MAX bytes at most.
 */

#define JSON_KEY_MAX 64

struct json {
	struct writer *writer;
	bool comma; /* the next member needs one before it */
};

/** json_init - start a line; @writer has to outlive it */
void json_init(struct json *json, struct writer *writer);

/** json_open - begin an object or array; @bracket: '{' or '[' */
void json_open(struct json *json, const char *key, char bracket);

/** json_close - end the innermost object or array; @bracket: '}' or ']' */
void json_close(struct json *json, char bracket);

/** json_end - end the outermost object, and its line */
void json_end(struct json *json);

/** json_bool - true or false */
void json_bool(struct json *json, const char *key, bool value);

/** json_string - @text: any bytes (TEXT_JSON); NULL: not known, the member is left out */
void json_string(struct json *json, const char *key, const char *text);

/** json_number, json_signed - an integer */
void json_number(struct json *json, const char *key, uint64_t number);
void json_signed(struct json *json, const char *key, int64_t number);

/** json_fraction - an integer whose last @decimals digits are a fraction: 9512 with 4 is "0.9512" */
void json_fraction(struct json *json, const char *key, uint64_t number, int decimals);

/** json_address - a string "0x…": as a number many parsers would round it to 53 bits */
void json_address(struct json *json, const char *key, uint64_t address);

/** json_raw - write a text unchanged, between objects; no comma follows it */
void json_raw(struct json *json, const char *text);

/** json_escaped - write a text by a rule, the same */
void json_escaped(struct json *json, const char *text, enum text_rule rule);

/* The schema's number is incremented when a member changes or is removed. */
#define JSON_SCHEMA 4

/** json_begin_line - start an object of the form on a line of its own; @type: "stall" and the like */
static inline void json_begin_line(struct json *json, struct writer *writer, const char *type)
{
	json_init(json, writer);
	json_open(json, NULL, '{');
	json_string(json, "type", type);
	json_number(json, "schema", JSON_SCHEMA);
}

#endif
