/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_EVENT_FORMAT_H
#define ALLOCFILT_RECORD_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A format file, events/SYSTEM/NAME/format, as f_show() of kernel/trace/trace_events.c writes it.
 * That of a capture is anybody's text. libtraceevent is not used: on fields alone it dereferences NULL
 * (`field:__attribute__((x)) a`), and takes a time that grows with the square of a type's length.
 */

#define EVENT_FORMAT_MAX (256u << 10) /* bytes of a text; the kernel's own have up to 10 KiB */
#define EVENT_FIELDS_MAX 256	      /* a probe event has up to 128: MAX_TRACE_ARGS */

struct event_field {
	const char *type; /* without brackets: "__data_loc char" */
	const char *name;
	uint16_t offset;
	uint16_t size; /* offset + size is UINT16_MAX at most: no record is longer */
	bool is_signed;
	bool is_array;	  /* has brackets */
	bool is_dynamic;  /* __data_loc or __rel_loc: 16 bits of length, 16 bits of offset */
	bool is_relative; /* __rel_loc: the offset counts from the end of the field */
};

struct event_format {
	const char *name;
	int id;		   /* common_type of its records */
	const char *print; /* what follows "print fmt: " */
	size_t nr_fields;
	struct event_field fields[EVENT_FIELDS_MAX]; /* the common ones too */
};

/**
 * event_format_parse - read the text of a format file
 * @text: is changed, and must outlive @format, which points into it
 *
 * Returns 0, or -EINVAL for an incomplete text, one over EVENT_FORMAT_MAX, with more fields than
 * EVENT_FIELDS_MAX or with a field that no record can have.
 */
int event_format_parse(struct event_format *format, char *text);

/** event_format_field - the first field of this name, or NULL */
const struct event_field *event_format_field(const struct event_format *format, const char *name);

#endif
