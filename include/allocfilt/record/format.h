/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_FORMAT_H
#define ALLOCFILT_RECORD_FORMAT_H

#include <stddef.h>

#include <event-parse.h>

/*
 * A format file, events/SYSTEM/NAME/format, as f_show() of kernel/trace/trace_events.c writes it.
 * libtraceevent reads its fields. The format file of a capture is untrusted, so each line is
 * checked before the library sees it, and each number after that. The library never gets the print
 * format: some of them crash it, and it cannot parse those of the vmscan events from 7.2 on.
 */

#define EVENT_FORMAT_MAX (256u << 10) /* bytes of a text; the kernel's own have up to 10 KiB */
#define EVENT_FIELDS_MAX 256	      /* a probe event has up to 128: MAX_TRACE_ARGS */

struct event_format {
	struct tep_handle *tep;
	/*
	 * The name, id and fields of an event. A field's offset and size are 0 or more, and their
	 * sum is UINT16_MAX at most, as no record is longer; one with TEP_FIELD_IS_DYNAMIC has 4
	 * bytes.
	 */
	struct tep_event *event;
	char *print; /* the text behind "print fmt: " */
};

/**
 * event_format_read - read the text of a format file
 * @text: @length bytes, needed during the call only
 *
 * Returns 0, -ENOMEM, or -EINVAL for an incomplete text, one over EVENT_FORMAT_MAX, with more fields
 * than EVENT_FIELDS_MAX or with a field that no record can have. After 0, event_format_free() is due.
 */
int event_format_read(struct event_format *format, const char *text, size_t length);

void event_format_free(struct event_format *format);

/** event_format_id - the type of the event's records, 0 to UINT16_MAX; -EINVAL where there is none */
int event_format_id(const char *text, size_t length);

#endif
