// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/line.h"
#include "allocfilt/base/text.h"

size_t utf8_length(const char *text)
{
	/* The lowest character of each length; a lower one is an overlong form. */
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *bytes = (const unsigned char *)text;
	uint32_t character;
	size_t length;

	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
		return 0;
	length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	character = bytes[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (bytes[i] & 0x3f);
	}
	if (character < lowest[length] || character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return 0;
	return length;
}

/* C0, DEL, and C1, which is 0xc2 0x80 … 0xc2 0x9f in UTF-8. */
static bool is_control(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;

	if (length == 1)
		return bytes[0] < 0x20 || bytes[0] == 0x7f;
	return length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0;
}

/* U+202A to U+202E and U+2066 to U+2069 make a terminal show what follows in another order. */
static bool is_direction(const char *text, size_t length)
{
	unsigned char last = (unsigned char)text[length ? length - 1 : 0];

	return length == 3 && ((!strncmp(text, "\xe2\x80", 2) && last >= 0xaa && last <= 0xae) ||
			       (!strncmp(text, "\xe2\x81", 2) && last >= 0xa6 && last <= 0xa9));
}

static bool needs_escape(const char *text, size_t length, enum text_rule rule)
{
	unsigned char c = (unsigned char)*text;

	switch (rule) {
	case TEXT_ASCII:
		return length != 1 || is_control(text, length);
	case TEXT_JSON:
		return !length || is_control(text, length) || strchr("\"\\<", c);
	case TEXT_LABEL:
		return !length || c == '\n' || c == '"' || c == '\\';
	case TEXT_HTML:
		return !length || c == '<' || c == '&';
	case TEXT_FIELD:
		return length != 1 || is_control(text, length) || c == ' ' || c == '\\';
	case TEXT_PRINTABLE:
	default:
		return !length || is_control(text, length) || is_direction(text, length);
	}
}

/* Writes the first byte of a character of @length bytes; of TEXT_JSON the whole character. */
static size_t escape_byte(char to[TEXT_ESCAPED_MAX], const char *text, size_t length,
			  enum text_rule rule)
{
	unsigned char c = (unsigned char)*text;

	if (rule == TEXT_HTML && length)
		return snprintf(to, TEXT_ESCAPED_MAX, c == '<' ? "&lt;" : "&amp;");
	if (rule == TEXT_FIELD)
		return snprintf(to, TEXT_ESCAPED_MAX, "\\%03o", c);
	if (rule != TEXT_JSON && rule != TEXT_LABEL)
		return snprintf(to, TEXT_ESCAPED_MAX, "\\x%02x", c);
	if (c == '"' || c == '\\')
		return snprintf(to, TEXT_ESCAPED_MAX, "\\%c", c);
	if (!length)
		return snprintf(to, TEXT_ESCAPED_MAX, "\\\\x%02x", c);
	if (rule == TEXT_LABEL)
		return snprintf(to, TEXT_ESCAPED_MAX, "\\n");
	return snprintf(to, TEXT_ESCAPED_MAX, "\\u%04x",
			(unsigned char)text[length - 1]); /* C1: c2 80 … */
}

size_t text_escape(char *to, size_t size, const char *text, enum text_rule rule)
{
	/* Most characters of most names need no escape by any rule. */
	static const bool plain[256] = {
		['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['_'] = true,
		['-'] = true,	      ['.'] = true,	    ['/'] = true,	  [':'] = true,
	};
	const char *from = text, *end = to + size;

	for (;;) {
		char escaped[TEXT_ESCAPED_MAX];
		const char *piece;
		size_t length, piece_length;

		while (plain[(unsigned char)*text] && to < end - 1)
			*to++ = *text++;
		if (!*text)
			break;
		piece = text;
		length = utf8_length(text);
		piece_length = length;
		if (needs_escape(text, length, rule)) {
			piece = escaped;
			piece_length = escape_byte(escaped, text, length, rule);
			length = rule == TEXT_JSON && length ? length : 1;
		}
		if (piece_length >= (size_t)(end - to))
			break;
		to = mempcpy(to, piece, piece_length);
		text += length;
	}
	*to = '\0';
	return text - from;
}

enum text_rule text_rule_of(int fd)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(variables) && (!locale || !*locale); i++)
		locale = getenv(variables[i]);
	return isatty(fd) && !(locale && strcasestr(locale, ".utf")) ? TEXT_ASCII : TEXT_PRINTABLE;
}

size_t text_columns(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += (*text & 0xc0) != 0x80;
	return columns;
}

void text_print_field(FILE *stream, const char *field, char end)
{
	char escaped[256];

	if (!*field)
		fputc('-', stream);
	else if (!strcmp(field, "-"))
		fprintf(stream, "\\%03o", '-');
	else
		while (*field) {
			field += text_escape(escaped, sizeof(escaped), field, TEXT_FIELD);
			fputs(escaped, stream);
		}
	fputc(end, stream);
}

char text_field_byte(const char **text)
{
	const char *at = *text;

	if (at[0] != '\\' || at[1] < '0' || at[1] > '3' || at[2] < '0' || at[2] > '7' ||
	    at[3] < '0' || at[3] > '7')
		return *(*text)++;
	*text += 4;
	return (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
}

bool text_parse_field(const char **line, char *field, size_t size)
{
	const char *at = *line + strspn(*line, " ");
	const char *start = at;
	size_t length = 0;

	if (!*at || *at == '\n')
		return false;
	while (*at && *at != ' ' && *at != '\n') {
		char c = text_field_byte(&at);

		if (length < size - 1)
			field[length++] = c;
	}
	field[length] = '\0';
	if (at - start == 1 && *start == '-')
		field[0] = '\0';
	*line = at;
	return true;
}

char *text_close(FILE *stream, char **text)
{
	if (stream && !fclose(stream))
		return *text;
	free(*text);
	return NULL;
}

void text_list_free(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

char *text_trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

#define HINT_MAX 64 /* bytes of a word with the NUL */

/* The optimal string alignment distance. Both are shorter than HINT_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[HINT_MAX][HINT_MAX], i, j;

	for (i = 0; !i || a[i - 1]; i++) {
		for (j = 0; !j || b[j - 1]; j++) {
			rows[i][j] = i + j;
			if (!i || !j)
				continue;
			rows[i][j] = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			rows[i][j] = MIN(rows[i][j], MIN(rows[i - 1][j], rows[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[i][j] = MIN(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	}
	return rows[i - 1][j - 1];
}

void text_hint(const char **hint, const char *word, const char *candidate)
{
	size_t length = strlen(word), distance;

	if (length >= HINT_MAX || strlen(candidate) >= HINT_MAX)
		return;
	distance = edit_distance(word, candidate);
	if (distance <= (length + 1) / 3 && (!*hint || distance < edit_distance(word, *hint)))
		*hint = candidate;
}

/* ---- numbers ---- */

char *text_decimal(char *to, uint64_t number, int width, char fill)
{
	char digits[TEXT_NUMBER_MAX], *end = digits + sizeof(digits), *at = end;

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	for (width -= (int)(end - at); width > 0; width--)
		*to++ = fill;
	return mempcpy(to, at, (size_t)(end - at));
}

char *text_unsigned(char *to, uint64_t number)
{
	return text_decimal(to, number, 0, ' ');
}

char *text_signed(char *to, int64_t number)
{
	if (number < 0)
		*to++ = '-';
	return text_unsigned(to, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

char *text_hex(char *to, uint64_t number)
{
	for (int shift = 60 - __builtin_clzll(number | 1) / 4 * 4; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[number >> shift & 15];
	return to;
}

uint64_t text_number(const char *text, const char *word)
{
	const char *found = strstr(text, word);

	return found ? strtoull(found + strlen(word), NULL, 10) : 0;
}

size_t text_append(char *to, size_t size, size_t used, const char *text)
{
	size_t length = strnlen(text, size - used - 1);

	*(char *)mempcpy(to + used, text, length) = '\0';
	return used + length;
}

const char *text_counted(char text[TEXT_COUNTED_MAX], uint64_t count, const char *words)
{
	char *to = text_unsigned(text, count);
	bool shown = true;

	*to++ = ' ';
	for (; *words && to < text + TEXT_COUNTED_MAX - 1; words++) {
		if (*words == '{' || *words == '|')
			shown = (count == 1) == (*words == '|');
		else if (*words == '}')
			shown = true;
		else if (shown)
			*to++ = *words;
	}
	*to = '\0';
	return text;
}

/* ---- times ---- */

static uint64_t rounded(uint64_t ns, uint64_t unit)
{
	return ns / unit + (ns % unit >= unit / 2);
}

const char *text_duration(char text[TEXT_DURATION_MAX], uint64_t ns)
{
	uint64_t us = rounded(ns, NS_PER_US), ms = rounded(ns, NS_PER_MS);
	uint64_t tenths = rounded(ns, ms < 1000 ? NS_PER_MS / 10 : NS_PER_SECOND / 10);

	if (us < 1000)
		snprintf(text, TEXT_DURATION_MAX, "%" PRIu64 " us", us);
	else if (ms < 1000 && tenths >= 100)
		snprintf(text, TEXT_DURATION_MAX, "%" PRIu64 " ms", ms);
	else
		snprintf(text, TEXT_DURATION_MAX, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10,
			 tenths % 10, ms < 1000 ? "ms" : "s");
	return text;
}

bool text_time(char text[TEXT_TIME_MAX], uint64_t realtime, bool local)
{
	time_t seconds = (time_t)(realtime / NS_PER_SECOND);
	struct tm tm;
	size_t length;

	text[0] = '\0';
	if (!realtime || !(local ? localtime_r(&seconds, &tm) : gmtime_r(&seconds, &tm)))
		return false;
	length = strftime(text, TEXT_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	length += snprintf(text + length, TEXT_TIME_MAX - length, ".%09" PRIu64,
			   realtime % NS_PER_SECOND);
	if (local)
		snprintf(text + length, TEXT_TIME_MAX - length, "%+03ld:%02ld", tm.tm_gmtoff / 3600,
			 labs(tm.tm_gmtoff) / 60 % 60);
	else
		strcpy(text + length, "Z");
	return true;
}

bool text_parse_time(const char *text, uint64_t day, bool local, uint64_t *ret_realtime)
{
	time_t seconds = (time_t)(day / NS_PER_SECOND);
	uint64_t ns = 0, unit = NS_PER_SECOND;
	struct tm tm = { 0 }, zone = { 0 }, date;
	const char *end;

	if (local)
		localtime_r(&seconds, &tm);
	else
		gmtime_r(&seconds, &tm);
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	date = tm;
	end = strptime(text, "%Y-%m-%dT", &date);
	if (end)
		tm = date;
	end = strptime(end ? end : text, "%H:%M", &tm);
	if (end && *end == ':')
		end = strptime(end + 1, "%S", &tm);
	if (end && *end == '.')
		for (end++; unit > 1 && *end >= '0' && *end <= '9'; end++) {
			unit /= 10;
			ns += (uint64_t)(*end - '0') * unit;
		}
	if (!end)
		return false;
	if (!*end) {
		seconds = local ? mktime(&tm) : timegm(&tm);
	} else {
		end = strptime(end, "%z", &zone);
		seconds = timegm(&tm) - zone.tm_gmtoff;
	}
	*ret_realtime = (uint64_t)seconds * NS_PER_SECOND + ns;
	return end && !*end && seconds > 0 && (uint64_t)seconds < UINT64_MAX / NS_PER_SECOND;
}

/* ---- lines ---- */

/* Bytes at text + used, with the NUL, at least 1. One more is kept free for the newline. */
static size_t line_room(const struct line *line)
{
	return sizeof(line->text) - 1 - line->used;
}

void line_clear(struct line *line)
{
	line->used = 0;
	line->text[0] = '\0';
}

__attribute__((format(printf, 2, 0))) static void
add_arguments(struct line *line, const char *format, va_list arguments)
{
	int length = vsnprintf(line->text + line->used, line_room(line), format, arguments);

	if (length > 0)
		line->used +=
			(size_t)length < line_room(line) ? (size_t)length : line_room(line) - 1;
}

void line_add(struct line *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_arguments(line, format, arguments);
	va_end(arguments);
}

void line_add_text(struct line *line, const char *text)
{
	line->used = text_append(line->text, sizeof(line->text) - 1, line->used, text);
}

void line_add_counted(struct line *line, const char *before, uint64_t count, const char *words)
{
	char text[TEXT_COUNTED_MAX];

	if (count)
		line_add(line, "%s%s", before, text_counted(text, count, words));
}

void line_add_ms(struct line *line, int width, uint64_t ns)
{
	line_add(line, "%*" PRIu64 ".%03" PRIu64, width, ns / NS_PER_MS, ns / NS_PER_US % 1000);
}

void line_add_duration(struct line *line, int width, uint64_t ns)
{
	char text[TEXT_DURATION_MAX];

	line_add(line, "%*s", width, text_duration(text, ns));
}

void line_pad(struct line *line, size_t columns)
{
	size_t used = text_columns(line->text);

	line_add(line, "%*s", used < columns ? (int)(columns - used) : 0, "");
}

void line_add_escaped(struct line *line, const char *text, enum text_rule rule)
{
	text_escape(line->text + line->used, line_room(line), text, rule);
	line->used += strlen(line->text + line->used);
}

void line_add_name(struct line *line, const struct writer *writer, const char *name)
{
	line_add_escaped(line, name, text_rule_of(writer_fd(writer)));
}

int line_put(struct line *line, struct writer *writer)
{
	line->text[line->used] = '\n';
	return writer_put(writer, line->text, line->used + 1);
}

int line_write(struct writer *writer, const char *format, ...)
{
	va_list arguments;
	struct line line;

	line_clear(&line);
	va_start(arguments, format);
	add_arguments(&line, format, arguments);
	va_end(arguments);
	return line_put(&line, writer);
}
