/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_EVENT_TEXT_H
#define ALLOCFILT_NAMES_EVENT_TEXT_H

#include <stddef.h>

#include "allocfilt/record/page.h"
#include "allocfilt/record/record.h"

/* The texts of the plan's events, as the kernel prints them: "mm_vmscan_…: order=0 …", no newline. */

struct event_texts;
struct symbols;

/**
 * event_texts_new - texts of @count events, all of them empty
 * @layout: of the data; copied
 * @symbols: for %ps and %pS; it has to outlive the texts
 *
 * Returns NULL if there is no memory.
 */
struct event_texts *event_texts_new(int count, const struct page_layout *layout,
				    struct symbols *symbols);

/** event_texts_free - NULL is allowed */
void event_texts_free(struct event_texts *texts);

/**
 * event_texts_add - compile the print format of an event
 * @event: its index in the plan
 * @text: the format file, @length bytes, needed during the call only
 *
 * An event whose print format is not understood is printed as "name: field=value …". Returns 0,
 * -ENOMEM, or -EINVAL as event_format_read(), after which the text stays empty.
 */
int event_texts_add(struct event_texts *texts, int event, const char *text, size_t length);

/**
 * event_text - print an event
 * @record: a RECORD_EVENT; the text of others is empty
 * @field: print this field alone: "GFP_KERNEL|__GFP_COMP" of "gfp_flags"; empty where the text of the
 *	event does not have it. NULL: print all
 *
 * Byte for byte the text of the event in `trace`, but for %p: where the kernel has a hash, this
 * prints the address, in the same width. Allocates nothing. Returns the length, cut to size - 1 and
 * always ended by NUL.
 */
size_t event_text(const struct event_texts *texts, const struct record *record, const char *field,
		  char *text, size_t size);

#endif
