/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_DECODE_H
#define ALLOCFILT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page.h"
#include "record.h"

/*
 * From a record's bytes to a struct record. The only place, with page, that calls libtraceevent:
 * fields are bound by name once, when a format is added.
 */

struct decode;
struct stacks;

struct decode_setup {
	struct page_layout layout;	/* byte order and size of a long of the data */
	bool local_clock;		/* false: a window's edges are taken from its record's own
					 * time: rettime = ts, calltime = ts - duration */
	/* role of the function at an address: enum role, or ROLE_NONE; asked once an address */
	int (*role_of)(void *context, uint64_t function);
	/* text of an address, as the kernel's %ps ('s') and %pS ('S'); returns its length */
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	void *context;			/* of role_of and symbol */
	struct stacks *stacks;		/* where frames go; NULL: stacks are left out */
	record_sink sink;
	/* asked once, at the first type without a format: may add some; NULL: there are no more */
	void (*more_formats)(void *sink_context);
	void *sink_context;		/* of sink and more_formats */
};

/* events/ftrace/{funcgraph_exit,print} and what the plan lists */
#define DECODE_FUNCGRAPH_EXIT	(-1)
#define DECODE_PRINT		(-2)
#define DECODE_IGNORE		(-3)	/* known and of no use here: dropped, not counted */
#define DECODE_SUPERBLOCK	(-4)	/* our probe, see probes.h */
#define DECODE_STACK		(-5)	/* kernel_stack */

struct decode *decode_new(const struct decode_setup *setup);
void decode_free(struct decode *decode);

/**
 * decode_add_format - teach one event
 * @event: index into the plan's events, or DECODE_…
 * @id: which fields to bind: enum event_id of the catalog, EVENT_USER for none
 * @text: the format file; for DECODE_IGNORE it is not parsed but for its end and its number
 *
 * Returns 0, -EINVAL for a text that is no format or lacks a field that the event cannot do
 * without (funcgraph_exit: func, calltime, rettime, depth; our probe: shr, id; kernel_stack:
 * caller), -ENOMEM, -EEXIST for a known id.
 */
int decode_add_format(struct decode *decode, int event, int id, const char *system,
		      const char *text, size_t length);

/**
 * decode_record, decode_lost - the page stage's sinks
 *
 * A record of a type without a format is counted (decode_unknown) and dropped, one shorter than
 * its fields is counted as damaged. Returns 0 or what the sink returned.
 */
int decode_record(void *decode, int cpu, uint64_t ts, const void *data, size_t size);
int decode_lost(void *decode, int cpu, uint64_t ts, int64_t count);

/** decode_unknown - records whose type has no format, and the type of the first of them */
uint64_t decode_unknown(const struct decode *decode, int *first_type);
/** decode_damaged - records shorter than the fields of their format */
uint64_t decode_damaged(const struct decode *decode);

/**
 * decode_text - an event as the kernel prints it: "mm_vmscan_…: order=0 …", no newline
 *
 * Byte for byte the text of the event in `trace`, but for %p, whose hash only the kernel knows:
 * the address itself stands there, in the same width. Allocates nothing for the catalog's events.
 * Returns the length, cut to size - 1 and always ended by NUL.
 */
size_t decode_text(struct decode *decode, const struct record *record, char *text, size_t size);

#endif
