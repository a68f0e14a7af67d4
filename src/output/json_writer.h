/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_JSON_WRITER_H
#define ALLOCFILT_OUTPUT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base.h"

/*
 * JSON (RFC 8259) to a writer, on one line. After a failure nothing more is written: ask
 * writer_status() once, at the end.
 */

struct json {
	struct writer *writer;
	bool comma; /* before the next member of this object or array */
};

void json_init(struct json *json, struct writer *writer);

/* @key: NULL in an array and for the outermost value; else plain ASCII, not escaped */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
/* Any bytes; NULL is null. */
void json_string(struct json *json, const char *key, const char *text);
void json_number(struct json *json, const char *key, uint64_t number);
void json_signed(struct json *json, const char *key, int64_t number);
/* Microseconds with three digits after the point. */
void json_microseconds(struct json *json, const char *key, uint64_t ns);
/* An address as "0x…": many programs keep a number in 53 bits. */
void json_address(struct json *json, const char *key, uint64_t address);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/** json_raw - a text as it is, for what is between the objects */
void json_raw(struct json *json, const char *text);

#endif
