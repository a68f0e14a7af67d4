/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_JSON_H
#define ALLOCFILT_OUTPUT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base.h"

/*
 * JSON (RFC 8259) to a writer, on one line. The first error of the writer is kept, and nothing is
 * written after it: ask once, at the end.
 */

struct json {
	struct writer *writer;
	int failed; /* -errno of the writer */
	bool comma; /* something stands before in this object or array */
};

void json_init(struct json *json, struct writer *writer);

/* @key: NULL in an array and for the outermost; else plain ASCII, not escaped */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
/* Any bytes: what is no UTF-8 becomes \xNN (a backslash, an x, two digits); NULL is null. */
void json_string(struct json *json, const char *key, const char *text);
void json_number(struct json *json, const char *key, uint64_t number);
void json_signed(struct json *json, const char *key, int64_t number);
/* Microseconds with three digits behind the point. */
void json_microseconds(struct json *json, const char *key, uint64_t ns);
/* An address as "0x…": programs keep a number in 53 bits. */
void json_address(struct json *json, const char *key, uint64_t address);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/** json_raw - a text as it is, for what stands between the objects */
void json_raw(struct json *json, const char *text);

#endif
