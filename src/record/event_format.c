// SPDX-License-Identifier: GPL-2.0-or-later

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/record.h"
#include "record/event_format.h"

/* The decimal number after a label, and what ends it. */
static bool parse_number(char **at, const char *label, char end, unsigned long max,
			 unsigned long *ret_number)
{
	char *digits = *at + strlen(label);

	if (strncmp(*at, label, strlen(label)) || !isdigit((unsigned char)*digits))
		return false;
	*ret_number = strtoul(digits, at, 10);
	return *ret_number <= max && *(*at)++ == end;
}

/* "TYPE NAME", "TYPE NAME[LENGTH]" or "__data_loc TYPE[] NAME" */
static bool parse_declaration(struct event_field *field, char *text)
{
	char *bracket = strchr(text, '['), *end = text + strlen(text), *name;

	if (bracket && end[-1] == ']')
		end = bracket;
	for (name = end; name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_');)
		name--;
	if (name == end || name - text < 2 || name[-1] != ' ')
		return false;
	name[-1] = '\0';
	*end = '\0';
	field->name = name;
	field->is_array = bracket;
	if (bracket && bracket < name)
		*bracket = '\0';
	field->type = text;
	field->is_relative = !strncmp(text, "__rel_loc ", 10);
	field->is_dynamic =
		field->size == 4 && (field->is_relative || !strncmp(text, "__data_loc ", 11));
	return true;
}

/* "\tfield:DECLARATION;\toffset:N;\tsize:N;\tsigned:N;" */
static bool parse_field(struct event_field *field, char *line)
{
	static const char label[] = "\tfield:";
	char *declaration = line + strlen(label), *at = strchr(line, ';');
	unsigned long offset, size, is_signed;

	if (strncmp(line, label, strlen(label)) || !at)
		return false;
	*at++ = '\0';
	if (!parse_number(&at, "\toffset:", ';', UINT16_MAX, &offset) ||
	    !parse_number(&at, "\tsize:", ';', UINT16_MAX - offset, &size) ||
	    !parse_number(&at, "\tsigned:", ';', 1, &is_signed))
		return false;
	field->offset = (uint16_t)offset;
	field->size = (uint16_t)size;
	field->is_signed = is_signed;
	return parse_declaration(field, declaration);
}

int event_format_parse(struct event_format *format, char *text)
{
	static const char mark[] = "print fmt: ", name[] = "name: ";
	size_t length = strnlen(text, EVENT_FORMAT_MAX + 1);
	char *at = text + strlen(name), *line;
	unsigned long id;

	/* The last line is ended too, or the text is cut. */
	if (length > EVENT_FORMAT_MAX || strncmp(text, name, strlen(name)) ||
	    text[length - 1] != '\n')
		return -EINVAL;
	text[length - 1] = '\0';
	*format = (struct event_format){ .name = strsep(&at, "\n") };
	for (line = text + strlen(name); isgraph((unsigned char)*line); line++)
		;
	if (*line || !*format->name || !at || !parse_number(&at, "ID: ", '\n', UINT16_MAX, &id) ||
	    !(line = strsep(&at, "\n")) || strcmp(line, "format:"))
		return -EINVAL;
	format->id = (int)id;
	while (at && strncmp(at, mark, strlen(mark))) {
		line = strsep(&at, "\n");
		if (!*line)
			continue;
		if (format->nr_fields == EVENT_FIELDS_MAX ||
		    !parse_field(&format->fields[format->nr_fields++], line))
			return -EINVAL;
	}
	if (!at || !at[strlen(mark)])
		return -EINVAL;
	format->print = at + strlen(mark);
	return 0;
}

const struct event_field *event_format_field(const struct event_format *format, const char *name)
{
	for (size_t i = 0; i < format->nr_fields; i++)
		if (!strcmp(format->fields[i].name, name))
			return &format->fields[i];
	return NULL;
}

uint64_t event_number(const void *at, size_t size, bool big_endian)
{
	uint64_t value = 0;
	uint32_t word;

	/* Nearly all fields have the one size or the other, and are loaded without a call. */
	switch (size) {
	case sizeof(word):
		memcpy(&word, at, sizeof(word));
		return big_endian ? be32toh(word) : le32toh(word);
	case sizeof(value):
		memcpy(&value, at, sizeof(value));
		break;
	default:
		memcpy((char *)&value + (big_endian ? sizeof(value) - size : 0), at, size);
	}
	return big_endian ? be64toh(value) : le64toh(value);
}
