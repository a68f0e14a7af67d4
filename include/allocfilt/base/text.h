/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_TEXT_H
#define ALLOCFILT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Text. Names of tasks, cgroups and file systems hold any bytes, so each format escapes them by a
 * rule of its own.
 */

enum text_rule {
	TEXT_PRINTABLE, /* a terminal: control characters, bidirectional ones and invalid UTF-8 become \xNN */
	TEXT_ASCII, /* a terminal without UTF-8: other characters become \xNN, too */
	TEXT_JSON, /* inside a JSON string, also in a script of HTML; invalid UTF-8 reads as \xNN */
	TEXT_LABEL, /* inside the value of a Prometheus label; invalid UTF-8 as in TEXT_JSON */
	TEXT_HTML,  /* between tags: a text of TEXT_PRINTABLE, with newlines */
	TEXT_FIELD, /* a field of a line: octal as in /proc/mounts; see text_print_field() */
};

#define TEXT_ESCAPED_MAX 8 /* longest escape of one character, with the NUL */

/**
 * text_escape - copy a text by the rule of a format
 * @size: at least TEXT_ESCAPED_MAX; the copy is cut before the first character that does not fit
 *
 * Returns the number of bytes of @text that were copied; call it again with the rest.
 */
size_t text_escape(char *to, size_t size, const char *text, enum text_rule rule);

/**
 * text_rule_of - the rule for names on a descriptor: TEXT_ASCII on a terminal whose locale(7) is not
 * UTF-8, else TEXT_PRINTABLE
 */
enum text_rule text_rule_of(int fd);

/** text_columns - count the characters of valid UTF-8, such as text_escape() writes */
size_t text_columns(const char *text);

/**
 * utf8_length - bytes of the character at @text, 1 to 4 (a NUL counts as one)
 *
 * Returns 0 for bytes that are not UTF-8, which has no overlong forms, no surrogates and nothing
 * above U+10FFFF (RFC 3629).
 */
size_t utf8_length(const char *text);

/** text_print_field - print a field of a line and the character that ends it; empty is "-" */
void text_print_field(FILE *stream, const char *field, char end);

/** text_field_byte - the next byte of a field, which may be an escape; moves @text behind it */
char text_field_byte(const char **text);

/**
 * text_parse_field - the next field of a line, as text_print_field() wrote it
 * @line: moved past the field
 * @field: cut to size - 1, NUL-terminated
 *
 * Returns false at the end of the line.
 */
bool text_parse_field(const char **line, char *field, size_t size);

/** text_close - the text of open_memstream(3), whose @stream is closed; NULL: one of them had no memory */
char *text_close(FILE *stream, char **text);

/** text_list_free - free a list that NULL ends, with its texts; NULL is allowed */
void text_list_free(char **texts);

/** text_trim - remove white space at both ends, in place; returns the first other character */
char *text_trim(char *text);

/**
 * text_hint - remember the candidate that a word is nearest to, as of a typing mistake
 * @hint: the nearest one so far; NULL at first, and while none is near enough
 *
 * A letter too much, missing, wrong, or two that changed places are one mistake each; one is allowed
 * for each three letters.
 */
void text_hint(const char **hint, const char *word, const char *candidate);

/*
 * Numbers as printf(3) writes them, at a fraction of its cost: most of a record's text is numbers.
 * Each function writes at @to, without a NUL, and returns the end.
 */

#define TEXT_NUMBER_MAX 20 /* digits of any number, with a sign */

/** text_unsigned - "%" PRIu64 */
char *text_unsigned(char *to, uint64_t number);

/** text_decimal - "%*" PRIu64 with fill ' ', "%0*" PRIu64 with '0' */
char *text_decimal(char *to, uint64_t number, int width, char fill);

/** text_signed - "%" PRId64 */
char *text_signed(char *to, int64_t number);

/** text_hex - "%" PRIx64 */
char *text_hex(char *to, uint64_t number);

/** text_number - the number behind a word in a text: "max " of "high 3\nmax 4"; 0: none */
uint64_t text_number(const char *text, const char *word);

/**
 * text_append - append to a text that ends at to[used]
 * @size: of @to, more than @used; text that does not fit is cut off
 *
 * Writes a NUL, and returns the new length without it.
 */
size_t text_append(char *to, size_t size, size_t used, const char *text);

#define TEXT_COUNTED_MAX 160

/**
 * text_counted - a number and the words behind it
 * @words: what depends on the number stands in braces, plural first: "entr{ies|y}", "record{s}{ were| was} lost"
 *
 * Returns @text; words that do not fit are cut off.
 */
const char *text_counted(char text[TEXT_COUNTED_MAX], uint64_t count, const char *words);

#define TEXT_DURATION_MAX 32

/** text_duration - ns for a person: "134 us", "4.6 ms", "81 ms", "1.2 s", rounded; returns @text */
const char *text_duration(char text[TEXT_DURATION_MAX], uint64_t ns);

#define TEXT_TIME_MAX 40

/**
 * text_time - RFC 3339, with nanoseconds: "2026-11-21T14:45:00.123456789Z"
 * @realtime: ns since the epoch
 * @local: in the time zone of tzset(3), "+01:00" in place of "Z"
 *
 * An unknown time is 0: returns false with an empty text.
 */
bool text_time(char text[TEXT_TIME_MAX], uint64_t realtime, bool local);

/**
 * text_parse_time - the reverse; also without seconds, a fraction, or a date
 * @day: a time on the day that is meant where @text has no date
 * @local: a text without a zone is in the time zone of tzset(3), and so is that day; else UTC
 *
 * Returns false for a text that is no such time.
 */
bool text_parse_time(const char *text, uint64_t day, bool local, uint64_t *ret_realtime);

#endif
