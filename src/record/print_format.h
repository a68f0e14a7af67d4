/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_PRINT_FORMAT_H
#define ALLOCFILT_RECORD_PRINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The text of an event, as the kernel makes it: the "print fmt" of its format, compiled once, and then
 * run over records without allocating. libtraceevent is not used: some print formats crash it, and
 * what it prints differs from the kernel's in places (flags, %pS, %#x of 0).
 */

struct event_format;
struct print_format;

struct print_setup {
	int long_size; /* of the kernel that wrote the records: 4 or 8 */
	bool big_endian;
	/* text of an address, as the kernel's %ps ('s') and %pS ('S'); returns its length */
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	void *context;
};

/**
 * print_format_new - compile the print format of an event
 *
 * One with something in it that this does not know becomes "name=value …" of all fields. Keeps
 * nothing of @event. Returns 0 or -ENOMEM.
 */
int print_format_new(struct print_format **format, const struct event_format *event,
		     const struct print_setup *setup);

/** print_format_free - NULL is allowed */
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
