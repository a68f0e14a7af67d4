// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/record/format.h"
#include "allocfilt/record/page.h"

#define FIELD_LINE_MAX 256 /* bytes; the library's time grows with the square of a declaration's */

#define PRINT_LABEL "print fmt: "
#define WORD	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

/* ---- what the library may see: it dereferences NULL and leaks memory on other texts ---- */

/* "TYPE NAME", "TYPE NAME[LENGTH]" or "__data_loc TYPE[] NAME", with a ';' behind it */
static bool is_declaration(const char *at)
{
	char name[2];

	if (sscanf(at, "%*[" WORD "]%*[ *]%1[" WORD "]", name) != 1)
		return false;
	at += strspn(at, WORD " *");
	if (*at == '[') {
		at += 1 + strspn(at + 1, WORD " ()+-*/");
		if (*at++ != ']')
			return false;
		at += strspn(at, WORD " ");
	}
	return *at == ';';
}

/* "DECLARATION;\toffset:N;\tsize:N;\tsigned:N;" */
static bool is_field(const char *text, size_t length)
{
	char line[FIELD_LINE_MAX];
	int end = -1;

	if (length >= sizeof(line))
		return false;
	*(char *)mempcpy(line, text, length) = '\0';
	sscanf(line, "%*[^;];\toffset:%*8[0-9];\tsize:%*8[0-9];\tsigned:%*1[01];%n", &end);
	/* the library replaces words that old kernels left in print formats: STA_PR_FMT */
	return end == (int)length && is_declaration(line) && !strstr(line, "_PR_FMT");
}

/* Goes over empty lines and fields, which begin with @label. Returns the next other line, or NULL. */
static const char *skip_fields(const char *text, const char *label)
{
	const size_t label_length = strlen(label);

	for (unsigned int fields = 0; *text;) {
		size_t length = strcspn(text, "\n");

		if (length && strncmp(text, label, label_length))
			return text;
		if (!text[length] ||
		    (length && (fields++ == EVENT_FIELDS_MAX ||
				!is_field(text + label_length, length - label_length))))
			return NULL;
		text += length + 1;
	}
	return text;
}

/* Returns the line of the print format; NULL for a text that the kernel does not write. */
static const char *check_event(const char *text)
{
	int head = 0;

	sscanf(text, "name: %*[" WORD "]\nID: %*5[0-9]\nformat:%n", &head);
	if (!head || text[head] != '\n')
		return NULL;
	return skip_fields(text + head, "\tfield:");
}

/* ---- what the library says ---- */

static bool fields_fit(const struct tep_format_field *field)
{
	for (; field; field = field->next)
		if (field->offset < 0 || field->size < 0 ||
		    field->size > UINT16_MAX - field->offset ||
		    (field->flags & TEP_FIELD_IS_DYNAMIC && field->size != 4))
			return false;
	return true;
}

/* In place of the print format, the library reads an empty one. */
static int read_format(struct event_format *format, const char *text, const char *print)
{
	char *head;
	int ret;

	format->tep = tep_alloc();
	if (!format->tep ||
	    asprintf(&head, "%.*s" PRINT_LABEL "\"\"\n", (int)(print - text), text) < 0)
		return -ENOMEM;
	tep_set_loglevel(TEP_LOG_NONE);
	ret = tep_parse_event(format->tep, head, strlen(head), "");
	free(head);
	format->event = ret ? NULL : tep_get_first_event(format->tep);
	if (!format->event || format->event->id > UINT16_MAX ||
	    !fields_fit(format->event->format.common_fields) ||
	    !fields_fit(format->event->format.fields))
		return -EINVAL;
	format->print = strdup(print + strlen(PRINT_LABEL));
	return format->print ? 0 : -ENOMEM;
}

int event_format_read(struct event_format *format, const char *text, size_t length)
{
	const char *print;
	char *copy;
	int ret = -EINVAL;

	*format = (struct event_format){ 0 };
	/* The last line is ended too, or the text is cut. */
	length = strnlen(text, length);
	if (!length || length > EVENT_FORMAT_MAX || text[length - 1] != '\n')
		return -EINVAL;
	copy = strndup(text, length - 1);
	if (!copy)
		return -ENOMEM;
	print = check_event(copy);
	if (print && !strncmp(print, PRINT_LABEL, strlen(PRINT_LABEL)) &&
	    print[strlen(PRINT_LABEL)])
		ret = read_format(format, copy, print);
	free(copy);
	if (ret)
		event_format_free(format);
	return ret;
}

void event_format_free(struct event_format *format)
{
	free(format->print);
	if (format->tep)
		tep_free(format->tep);
	*format = (struct event_format){ 0 };
}

int event_format_id(const char *text, size_t length)
{
	char head[FIELD_LINE_MAX];
	int id;

	snprintf(head, sizeof(head), "%.*s", (int)length, text);
	if (sscanf(head, "name: %*[^\n]\nID: %5d", &id) != 1 || id < 0 || id > UINT16_MAX)
		return -EINVAL;
	return id;
}

/* The library tells sizes, but no offsets. All kernels have the time, the commit, and then the data. */
int page_layout_parse(struct page_layout *layout, const char *text, size_t length, bool big_endian)
{
	struct tep_handle *tep = tep_alloc();
	char *copy = strndup(text, length);
	const char *end = copy ? skip_fields(copy, "\tfield: ") : NULL;
	int time = 0, commit = 0, size = 0, ret = tep && copy ? 0 : -ENOMEM;

	if (tep && end && !*end && !tep_parse_header_page(tep, copy, strlen(copy), 0)) {
		time = tep_get_header_timestamp_size(tep);
		commit = tep_get_header_page_size(tep);
		size = tep_get_sub_buffer_size(tep);
	}
	if (tep)
		tep_free(tep);
	free(copy);
	if (ret)
		return ret;
	if (time != sizeof(uint64_t) || (commit != 4 && commit != 8) || size < PAGE_SIZE_MIN ||
	    size > PAGE_SIZE_MAX)
		return -EINVAL;
	*layout = (struct page_layout){
		.size = (size_t)size,
		.header = sizeof(uint64_t) + (size_t)commit,
		.long_size = commit,
		.big_endian = big_endian,
	};
	return 0;
}
