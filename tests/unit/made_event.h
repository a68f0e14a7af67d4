/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MADE_EVENT_H
#define MADE_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_page.h"

/*
 * An event of a kernel: its fields, packed, as "[TYPE ]NAME SIZE[s]" with s for a sign and "-" for
 * a gap; from them come the text of its format and the bytes of its records. Without a print
 * format it is "".
 */
struct made_event {
	const char *name;
	int type;
	const char *fields;
	const char *print;
};

#define MADE_COMMON                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

struct made_field {
	char declaration[64];
	char name[32];
	size_t offset;
	size_t size;
	bool is_signed;
};

#define MADE_FIELDS_MAX 16

static inline size_t parse_fields(const struct made_event *event, struct made_field *fields)
{
	size_t count = 0, offset = 8;

	for (const char *at = event->fields; *at; at += strspn(at, ", ")) {
		struct made_field *field = &fields[count];
		char text[64], *size;
		const char *name;

		snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, ","), at);
		at += strcspn(at, ",");
		size = strrchr(text, ' ');
		*size++ = '\0';
		name = strrchr(text, ' ') ? strrchr(text, ' ') + 1 : text;
		field->size = strtoul(size, NULL, 10);
		field->is_signed = strchr(size, 's');
		field->offset = offset;
		offset += field->size;
		snprintf(field->name, sizeof(field->name), "%.*s", (int)strcspn(name, "["), name);
		snprintf(field->declaration, sizeof(field->declaration), "%s%.48s",
			 name == text ? "long " : "", text);
		count += strcmp(name, "-") != 0;
	}
	return count;
}

static inline const char *format_of(const struct made_event *event)
{
	struct made_field fields[MADE_FIELDS_MAX];
	size_t count = parse_fields(event, fields);
	static char text[4096];
	int at;

	at = snprintf(text, sizeof(text), "name: %s\nID: %d\nformat:\n" MADE_COMMON, event->name,
		      event->type);
	for (size_t i = 0; i < count; i++)
		at += snprintf(text + at, sizeof(text) - at,
			       "\tfield:%s;\toffset:%zu;\tsize:%zu;\tsigned:%d;\n",
			       fields[i].declaration, fields[i].offset, fields[i].size,
			       fields[i].is_signed);
	snprintf(text + at, sizeof(text) - at, "\nprint fmt: %s\n",
		 event->print ? event->print : "\"\"");
	return text;
}

#define MADE_FLAGS	   0x08
#define MADE_PREEMPT_COUNT 0x10
#define MADE_PID	   (-5)

struct made_value {
	const char *name;
	uint64_t value;
};

#define VALUES(...)                                                                                \
	(const struct made_value[])                                                                \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			NULL                                                                       \
		}                                                                                  \
	}

/* The payload of a record; a field without a value holds what could be mistaken for one. */
static inline void make_payload(struct made_page *made, const struct page_layout *layout,
				const struct made_event *event, const struct made_value *values)
{
	struct made_field fields[MADE_FIELDS_MAX];
	size_t count = parse_fields(event, fields);

	made_begin(made, layout, 0);
	made->at = 0;
	made_put(made, (uint64_t)event->type, 2);
	made_put(made, MADE_FLAGS, 1);
	made_put(made, MADE_PREEMPT_COUNT, 1);
	made_put(made, (uint64_t)MADE_PID, 4);
	for (size_t i = 0; i < count; i++) {
		const struct made_value *value = values;

		while (value && value->name && strcmp(value->name, fields[i].name))
			value++;
		made->at = fields[i].offset;
		made_put(made, value && value->name ? value->value : 0x1122334455667788,
			 fields[i].size > 8 ? 8 : fields[i].size);
		made->at = fields[i].offset + fields[i].size;
	}
}

#endif
