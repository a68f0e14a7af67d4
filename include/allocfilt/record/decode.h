/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_DECODE_H
#define ALLOCFILT_RECORD_DECODE_H

#include "allocfilt/record/merge.h"
#include "allocfilt/record/record.h"
#include "allocfilt/record/source.h"

/*
 * From a record's bytes to a struct record: fields are bound by name once, when a format is added.
 * The format of a capture is not trusted: see allocfilt/record/format.h.
 */

struct decode;

/* events/ftrace/{funcgraph_exit,print} and what the plan lists */
#define DECODE_FUNCGRAPH_EXIT (-1)
#define DECODE_PRINT	      (-2)
#define DECODE_IGNORE	      (-3) /* known types without a use: dropped, and not counted */
#define DECODE_SUPERBLOCK     (-4) /* our probe, see probe.h */
#define DECODE_STACK	      (-5) /* kernel_stack */

/**
 * decode_new - a decoder without formats; see decode_add_format()
 * @source: has to outlive it
 *
 * A capture may have events that the plan lacks: at the first record of an unknown type its other
 * formats are read, whose records are dropped and not counted. Returns NULL if there is no memory.
 */
struct decode *decode_new(const struct data_source *source);
void decode_free(struct decode *decode);

/**
 * decode_add_format - add the format of one event
 * @event: index into the plan's events, or DECODE_…
 * @id: which fields to bind: enum event_id of the catalog, EVENT_USER for none
 * @text: the format file; of DECODE_IGNORE only the number is read
 *
 * Returns 0, -EINVAL for a text that is no format, is larger than any kernel's or lacks a field that
 * the event cannot do without (funcgraph_exit: func, calltime, rettime, depth; our probe: shr, id;
 * kernel_stack: caller) or has its first fields elsewhere than all kernels, -ENOMEM, -EEXIST for the known id of
 * a capture's. A running kernel's may be another event's now, which is forgotten.
 */
int decode_add_format(struct decode *decode, int event, int id, const char *text, size_t length);

/** decode_read_format - the same with events/@system/@name/format of the source; or its -errno */
int decode_read_format(struct decode *decode, int event, int id, const char *system,
		       const char *name);

/**
 * decode_record - make a record for later stages of one of merge_next()
 *
 * A window has all members; its raw data is that of the page. An event has ts, tid, cpu, flags, indent,
 * event and its raw data: see decode_fields(). The frames of a stack are valid until the next call. A
 * loss becomes RECORD_LOST. Returns 1, or 0 for a record that goes no further: of a type without a
 * format (counted, decode_unknown()), of one that is not used, shorter than its fields or a window of
 * impossible times (counted, decode_damaged()), or a mark that is not ours.
 */
int decode_record(struct decode *decode, const struct raw_record *raw, struct record *record);

/**
 * decode_type - the number of a record's event
 *
 * Returns -1 for a record that is too short to have one, and for all while no format is known.
 */
int decode_type(const struct decode *decode, const void *data, size_t size);

/**
 * decode_fields - read the fields of an event, which decode_record() leaves out
 * @record: of decode_record(); or a copy of it with a copy of its raw data
 *
 * Most records are dropped without them.
 */
void decode_fields(struct decode *decode, struct record *record);

/**
 * decode_task - the task of a window or an event, or our mark, before its record is passed on
 * @record: kind, event, ts and tid are set, of a mark realtime, and nothing else
 *
 * Returns false for any other record.
 */
bool decode_task(const struct decode *decode, uint64_t ts, const void *data, size_t size,
		 struct record *record);

/** decode_unknown - records whose type has no format, and the type of the first of them */
uint64_t decode_unknown(const struct decode *decode, int *first_type);
/** decode_damaged - records shorter than their fields, and windows of impossible times */
uint64_t decode_damaged(const struct decode *decode);

#endif
