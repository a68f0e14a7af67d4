/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_PRINT_FORMAT_H
#define ALLOCFILT_RECORD_PRINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The text of an event, as the kernel makes it: the "print fmt" of its format, compiled once from
 * what libtraceevent parsed, and then run over records without allocating. libtraceevent's own
 * printing differs from the kernel's in places (flags, %pS, %#x of 0) and allocates.
 */

struct tep_event;
struct print_format;

struct print_setup {
	int long_size; /* of the kernel that wrote the records: 4 or 8 */
	bool big_endian;
	/* text of an address, as the kernel's %ps ('s') and %pS ('S'); returns its length */
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	void *context;
};

/**
 * print_format_mend - rewrite what libtraceevent cannot parse in the text of a format file
 *
 * REC->ent.pid (7.2 and later) becomes REC->common_pid, names of constants that the kernel left in
 * the text become numbers. Text in quotes is not changed. A print format with a field that
 * the event does not have, on which libtraceevent can crash, becomes an empty one. Returns an
 * allocated text, or NULL without memory.
 */
char *print_format_mend(const char *text);

/**
 * print_format_new - compile the format of a parsed event
 *
 * Keeps nothing of @event. Returns 0, -ENOTSUP for a format with something in it that this does not
 * know, -ENOMEM.
 */
int print_format_new(struct print_format **format, struct tep_event *event,
		     const struct print_setup *setup);
void print_format_free(struct print_format *format);

/**
 * print_format_text - what the kernel prints for a record, without the event's name
 *
 * A field that lies outside the record reads as 0. Returns the length, cut to size - 1 and ended by
 * NUL; 0 where size is 0.
 */
size_t print_format_text(const struct print_format *format, const void *record, size_t record_size,
			 char *text, size_t size);

#endif
