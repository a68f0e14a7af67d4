// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/plan/catalog.h"
#include "allocfilt/record/decode.h"
#include "allocfilt/record/format.h"
#include "allocfilt/record/stacks.h"
#include "record/load.h"

#define FIELDS_MAX 18

/* Deeper than any kernel's return stack: such a record is damaged. */
#define DEPTH_MAX 1024

/* A task may be moved between return and record, to a CPU whose clock is a jiffy behind, of 100 Hz. */
#define CLOCK_JITTER (10 * NS_PER_MS)

/* The field of an event for each member of struct record. */
struct binding {
	const char *name;
	uint16_t to;
	uint8_t to_size;
	bool required;
};

#define TO(member) offsetof(struct record, member), sizeof(((struct record *)NULL)->member)

/* The names under which kernels have the members of struct record_fields. */
static const struct binding event_bindings[] = {
	{ "shr", TO(fields.shrinker), false },
	{ "shrink", TO(fields.callback), false },
	{ "caller", TO(fields.callback), false },
	{ "gfp_flags", TO(fields.gfp), false },
	{ "gfp_mask", TO(fields.gfp), false },
	{ "nr_reclaimed", TO(fields.nr_reclaimed), false },
	{ "nr_scanned", TO(fields.nr_scanned), false },
	{ "total_scan", TO(fields.nr_scanned), false },
	{ "nr_dirty", TO(fields.nr_dirty), false },
	{ "nr_writeback", TO(fields.nr_writeback), false },
	{ "memcg_id", TO(fields.memcg_id), false },
	{ "order", TO(fields.order), false },
	{ "nid", TO(fields.nid), false },
	{ "priority", TO(fields.priority), false },
	{ "status", TO(fields.status), false },
	{ "reason", TO(fields.status), false },
	{ "retval", TO(fields.status), false },
	{ NULL },
};

_Static_assert(ARRAY_SIZE(event_bindings) <= FIELDS_MAX, "no event has more fields of use");
_Static_assert(sizeof(struct record_fields) >= sizeof(struct record_window) &&
		       sizeof(struct record_fields) >= sizeof(struct record_superblock) &&
		       sizeof(struct record_fields) >= sizeof(struct record_sched),
	       "whoever sets the fields sets the whole union");

static const struct binding fork_bindings[] = {
	{ "child_pid", TO(child), true },
	{ NULL },
};

static const struct binding switch_bindings[] = {
	{ "prev_state", TO(sched.prev_state), true },
	{ "next_pid", TO(sched.tid), true },
	{ NULL },
};

static const struct binding wakeup_bindings[] = {
	{ "pid", TO(sched.tid), true },
	{ "target_cpu", TO(sched.target_cpu), false },
	{ NULL },
};

/* A kprobe has no callback: it is on super_cache_scan() itself. */
static const struct binding superblock_bindings[] = {
	{ "shr", TO(superblock.shrinker), true },
	{ "shrink", TO(superblock.callback), false },
	{ "dev", TO(superblock.device), false },
	{ NULL },
};

/* The place of a field, and its way to a number of 8 bytes: see load_fields(). */
struct field {
	uint64_t mask;	/* of the bits that it has; all for one with a sign */
	uint16_t last;	/* offset of the 8 bytes that end with the field */
	uint16_t to;	/* in struct record */
	uint8_t unused; /* bits of these 8 bytes that other fields have */
	bool wide;	/* the member of the record has 8 bytes, else 4 */
};

struct format {
	int event;	/* index into the plan's events, or DECODE_… */
	uint8_t kind;	/* enum record_kind */
	int id;		/* enum event_id */
	size_t minimum; /* bytes of a whole record */
	struct field fields[FIELDS_MAX];
	unsigned int nr_fields;
	union { /* the fields' values until they are read */
		struct record_fields fields;
		struct record_sched sched;
	} unknown;
	uint16_t data; /* offset of the field without a fixed size: buf, id of our probe, caller */
};

/* The first bytes of each record on all kernels; include/linux/trace_events.h: struct trace_entry. */
struct entry {
	uint16_t type;
	uint8_t flags;
	uint8_t preempt_count;
	int32_t pid;
};

/* Offsets of the fields of funcgraph_exit; the times have 8 bytes, the depth has 4. */
struct window_offsets {
	uint16_t function, calltime, rettime, depth;
	bool function_is_long; /* of 8 bytes, else of 4 */
};

struct decode {
	const struct data_source *source;
	bool big_endian; /* the data */
	struct window_offsets window;
	bool has_formats;
	struct format **by_type; /* NULL: unknown */
	size_t nr_types;	 /* of by_type */
	int16_t *indents;	 /* of CPUs by number, and one of all that are in no list */
	unsigned int nr_cpus;
	bool read_all; /* formats of a capture: see decode_new() */
	uint64_t unknown;
	int first_unknown;
	uint64_t damaged;
	uint64_t frames[STACK_DEPTH_MAX]; /* of the stack that was read last */
};

/* ---- set-up ---- */

struct decode *decode_new(const struct data_source *source)
{
	struct decode *decode = calloc(1, sizeof(*decode));

	if (!decode)
		return NULL;
	decode->source = source;
	decode->big_endian = source->layout.big_endian;
	decode->first_unknown = -1;
	decode->nr_cpus = cpu_list_highest(&source->cpus) + 1;
	decode->indents = calloc(decode->nr_cpus + 1, sizeof(*decode->indents));
	if (!decode->indents) {
		decode_free(decode);
		return NULL;
	}
	return decode;
}

/* Records of these events are expected, and not used. */
static struct format ignored = { .event = DECODE_IGNORE, .minimum = SIZE_MAX };

void decode_free(struct decode *decode)
{
	if (!decode)
		return;
	for (size_t type = 0; type < decode->nr_types; type++)
		if (decode->by_type[type] != &ignored)
			free(decode->by_type[type]);
	free(decode->by_type);
	free(decode->indents);
	free(decode);
}

/* ---- formats ---- */

static bool bind_field(struct field *field, const struct tep_format_field *found)
{
	if (!found || found->offset < (int)sizeof(struct entry) ||
	    (found->size != 1 && found->size != 2 && found->size != 4 && found->size != 8))
		return false;
	field->last = (uint16_t)(found->offset + found->size - sizeof(uint64_t));
	field->unused = (uint8_t)(64 - found->size * 8);
	field->mask =
		(found->flags & TEP_FIELD_IS_SIGNED) ? UINT64_MAX : UINT64_MAX >> field->unused;
	return true;
}

static bool bind_all(struct format *format, struct tep_event *event, const struct binding *binding)
{
	for (; binding->name; binding++) {
		struct field *field = &format->fields[format->nr_fields];

		if (bind_field(field, tep_find_any_field(event, binding->name))) {
			field->to = binding->to;
			field->wide = binding->to_size == sizeof(uint64_t);
			format->nr_fields++;
		} else if (binding->required) {
			return false;
		}
	}
	return true;
}

/* @size: bytes that the field has to have; 0: any number */
static bool bind_offset(uint16_t *offset, struct tep_event *event, const char *name, int size)
{
	const struct tep_format_field *found = tep_find_any_field(event, name);

	if (!found || (size && found->size != size))
		return false;
	*offset = (uint16_t)found->offset;
	return true;
}

static bool bind_window(struct decode *decode, struct tep_event *event)
{
	struct window_offsets *window = &decode->window;

	window->function_is_long = bind_offset(&window->function, event, "func", sizeof(uint64_t));
	return (window->function_is_long ||
		bind_offset(&window->function, event, "func", sizeof(uint32_t))) &&
	       bind_offset(&window->calltime, event, "calltime", sizeof(uint64_t)) &&
	       bind_offset(&window->rettime, event, "rettime", sizeof(uint64_t)) &&
	       bind_offset(&window->depth, event, "depth", sizeof(int32_t));
}

static bool is_at(struct tep_event *event, const char *name, size_t offset, size_t size)
{
	const struct tep_format_field *field = tep_find_any_field(event, name);

	return field && field->offset == (int)offset && field->size == (int)size;
}

#define ENTRY(member) offsetof(struct entry, member), sizeof(((struct entry *)NULL)->member)

static bool check_entry(struct tep_event *event)
{
	return is_at(event, "common_type", ENTRY(type)) &&
	       is_at(event, "common_flags", ENTRY(flags)) &&
	       is_at(event, "common_preempt_count", ENTRY(preempt_count)) &&
	       is_at(event, "common_pid", ENTRY(pid));
}

static bool bind_event(struct decode *decode, struct format *format, struct tep_event *event)
{
	switch (format->event) {
	case DECODE_FUNCGRAPH_EXIT:
		format->kind = RECORD_WINDOW;
		return bind_window(decode, event);
	case DECODE_PRINT:
		format->kind = RECORD_CLOCK;
		return bind_offset(&format->data, event, "buf", 0);
	case DECODE_SUPERBLOCK:
		format->kind = RECORD_SUPERBLOCK;
		return bind_all(format, event, superblock_bindings) &&
		       bind_offset(&format->data, event, "id", 4);
	case DECODE_STACK:
		format->kind = RECORD_STACK;
		return bind_offset(&format->data, event, "caller", 0);
	default:
		format->kind = RECORD_EVENT;
	}
	switch (format->id) {
	case EVENT_USER:
		return true;
	case EVENT_FORK:
		return bind_all(format, event, fork_bindings);
	case EVENT_SCHED_SWITCH:
		bind_offset(&format->unknown.sched.name, event, "next_comm", RECORD_COMM_SIZE);
		return bind_all(format, event, switch_bindings);
	case EVENT_OOM_VICTIM:
	case EVENT_SCHED_WAKEUP:
		format->unknown.sched.target_cpu = -1;
		return bind_all(format, event, wakeup_bindings);
	case EVENT_SHRINK_INACTIVE:
		format->unknown.fields.nr_scanned = format->unknown.fields.nr_dirty =
			format->unknown.fields.nr_writeback = RECORD_PAGES_UNKNOWN;
		/* fall through */
	case EVENT_SLAB_START:
		format->unknown.fields.nid = format->unknown.fields.priority = -1;
		/* fall through */
	default:
		return bind_all(format, event, event_bindings);
	}
}

/* Returns where the last field ends, but no less than @end. A field like buf[] has no bytes of its own. */
static size_t end_of_fields(const struct format *format, const struct tep_format_field *field,
			    size_t end)
{
	for (; field; field = field->next) {
		size_t size = (size_t)field->size;

		/* The format declares 8 frames; a record contains all frames of the stack. */
		if (format->event == DECODE_STACK && !strcmp(field->name, "caller"))
			size = 0;
		end = MAX(end, (size_t)field->offset + size);
	}
	return end;
}

static struct format *by_type(const struct decode *decode, uint16_t type)
{
	return type < decode->nr_types ? decode->by_type[type] : NULL;
}

static int set_type(struct decode *decode, uint16_t type, struct format *format)
{
	if (type >= decode->nr_types) {
		struct format **longer =
			reallocarray(decode->by_type, (size_t)type + 1, sizeof(*longer));

		if (!longer)
			return -ENOMEM;
		memset(longer + decode->nr_types, 0,
		       (type + 1 - decode->nr_types) * sizeof(*longer));
		decode->by_type = longer;
		decode->nr_types = (size_t)type + 1;
	}
	decode->by_type[type] = format;
	return 0;
}

static int add_known_format(struct decode *decode, int event, int id, struct tep_event *described)
{
	struct format *before = by_type(decode, (uint16_t)described->id), *format;
	int ret;

	/* A probe that is made again gets the lowest number that is free. */
	if (before && !decode->source->proc)
		return -EEXIST;
	format = calloc(1, sizeof(*format));
	if (!format)
		return -ENOMEM;
	format->event = event;
	format->id = id;
	ret = check_entry(described) && bind_event(decode, format, described) ?
		      set_type(decode, (uint16_t)described->id, format) :
		      -EINVAL;
	if (ret) {
		free(format);
		return ret;
	}
	if (before != &ignored)
		free(before);
	format->minimum = end_of_fields(format, described->format.common_fields, 0);
	format->minimum = end_of_fields(format, described->format.fields, format->minimum);
	decode->has_formats = true;
	return 0;
}

int decode_add_format(struct decode *decode, int event, int id, const char *text, size_t length)
{
	struct event_format format;
	int ret;

	if (event == DECODE_IGNORE) {
		ret = event_format_id(text, length);
		if (ret < 0)
			return ret;
		return by_type(decode, (uint16_t)ret) ? -EEXIST :
							set_type(decode, (uint16_t)ret, &ignored);
	}
	ret = event_format_read(&format, text, length);
	if (ret)
		return ret;
	ret = add_known_format(decode, event, id, format.event);
	event_format_free(&format);
	return ret;
}

int decode_read_format(struct decode *decode, int event, int id, const char *system,
		       const char *name)
{
	char path[NAME_MAX * 2 + 32];
	size_t length;
	char *text = NULL;
	int ret;

	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	ret = source_read(decode->source, path, &text, &length);
	if (!ret)
		ret = decode_add_format(decode, event, id, text, length);
	free(text);
	return ret;
}

static int ignore_format(void *decode, const char *system, const char *name)
{
	decode_read_format(decode, DECODE_IGNORE, EVENT_USER, system, name);
	return 0;
}

/* ---- records ---- */

/* In big-endian data the field is in the low bits of the 8 bytes that end with it, else in the high ones. */
static inline void load_fields(const struct format *format, const char *data, bool big_endian,
			       struct record *record)
{
	const struct field *field = format->fields, *end = field + format->nr_fields;

	for (; field < end; field++) {
		uint64_t value = load_64(data + field->last, big_endian);
		char *to = (char *)record + field->to;
		uint32_t narrow;

		if (big_endian)
			value <<= field->unused;
		value = (uint64_t)((int64_t)value >> field->unused) & field->mask;
		narrow = (uint32_t)value;
		if (field->wide)
			memcpy(to, &value, sizeof(value));
		else
			memcpy(to, &narrow, sizeof(narrow));
	}
}

static inline void load_window(const struct decode *decode, const char *data,
			       struct record_window *window)
{
	const struct window_offsets *at = &decode->window;
	bool big_endian = decode->big_endian;

	window->depth = (int32_t)load_32(data + at->depth, big_endian);
	window->function = at->function_is_long ? load_64(data + at->function, big_endian) :
						  load_32(data + at->function, big_endian);
	window->calltime = load_64(data + at->calltime, big_endian);
	window->rettime = load_64(data + at->rettime, big_endian);
}

/* Returns false for a damaged one. */
static bool check_window(struct decode *decode, struct record *record)
{
	struct record_window *window = &record->window;

	/* Times of another clock than the record's tell only the duration. */
	if (window->calltime <= window->rettime && !decode->source->local_clock) {
		window->calltime = record->ts - (window->rettime - window->calltime);
		window->rettime = record->ts;
	}
	if ((unsigned int)window->depth <= DEPTH_MAX && window->calltime <= window->rettime &&
	    (window->rettime <= record->ts || window->rettime - record->ts <= CLOCK_JITTER))
		return true;
	decode->damaged++;
	return false;
}

/* Our own mark; any other text is not ours. Marks without a threshold are of versions before 0.1.0. */
static bool parse_clock(const char *text, size_t size, struct record *record)
{
	char copy[80] = "";
	uint64_t seconds, ns, us = 0;
	int before, after, end = 0, last, count;

	memcpy(copy, text, size < sizeof(copy) - 1 ? size : sizeof(copy) - 1);
	count = sscanf(copy,
		       "allocfilt: realtime %n%10" SCNu64 "%n.%9" SCNu64
		       "%n threshold_us %10" SCNu64 "%n",
		       &before, &seconds, &after, &ns, &end, &us, &last);
	if (count < 2 || copy[before] < '0' || copy[before] > '9' || end != after + 10 ||
	    copy[after + 1] < '0' || copy[after + 1] > '9')
		return false;
	end = count > 2 ? last : end;
	if (copy[end] && copy[end] != '\n')
		return false;
	record->realtime = seconds * NS_PER_SECOND + ns;
	record->threshold = us * NS_PER_US;
	return true;
}

/* The name is a __data_loc: its offset, and its length with its NUL. */
static void locate_name(const struct decode *decode, const char *data, size_t size, size_t at,
			struct record_superblock *superblock)
{
	uint32_t location = load_32(data + at, decode->big_endian);
	size_t offset = location & 0xffff, length = location >> 16;

	if (!length || offset >= size || length > size - offset)
		return;
	superblock->name = (uint16_t)offset;
	superblock->name_length = (uint16_t)strnlen(data + offset, length);
}

/* The kernel prints frames up to the end of the record, or to a frame of all ones. */
static size_t read_frames(struct decode *decode, const char *data, size_t size, size_t at)
{
	size_t width = (size_t)decode->source->layout.long_size, count = 0;
	uint64_t end = width == 4 ? UINT32_MAX : UINT64_MAX;

	for (; count < STACK_DEPTH_MAX && at + width <= size; count++, at += width) {
		decode->frames[count] = event_number(data + at, width, decode->big_endian);
		if (decode->frames[count] == end)
			break;
	}
	return count;
}

int decode_type(const struct decode *decode, const void *data, size_t size)
{
	return decode->has_formats && size >= sizeof(uint16_t) ? load_16(data, decode->big_endian) :
								 -1;
}

/* Returns the format of a record; NULL: its type has none, or it has less bytes than the format. */
static inline const struct format *format_of(const struct decode *decode, const void *data,
					     size_t size)
{
	const struct format *format;

	if (size - sizeof(struct entry) > UINT16_MAX - sizeof(struct entry))
		return NULL;
	format = by_type(decode, load_16(data, decode->big_endian));
	return format && size >= format->minimum ? format : NULL;
}

/* Counts a record for which format_of() finds no format. */
static noinline int drop_record(struct decode *decode, const void *data, size_t size)
{
	const struct format *format;
	uint16_t type;

	if (!decode->has_formats)
		return 0;
	if (size < sizeof(type)) {
		decode->damaged++;
		return 0;
	}
	type = load_16(data, decode->big_endian);
	format = by_type(decode, type);
	if (!format && !decode->read_all && !decode->source->proc) {
		decode->read_all = true;
		source_events(decode->source, ignore_format, decode);
		format = by_type(decode, type);
	}
	if (!format && !decode->unknown++)
		decode->first_unknown = type;
	if (format && format != &ignored)
		decode->damaged++;
	return 0;
}

bool decode_task(const struct decode *decode, uint64_t ts, const void *data, size_t size,
		 struct record *record)
{
	const struct format *format = format_of(decode, data, size);

	if (!format || format->kind > RECORD_CLOCK)
		return false;
	record->ts = ts;
	record->kind = format->kind;
	record->event = (uint16_t)format->event;
	record->tid = (int32_t)load_32((const char *)data + offsetof(struct entry, pid),
				       decode->big_endian);
	return record->kind != RECORD_CLOCK ||
	       parse_clock((const char *)data + format->data, size - format->data, record);
}

/* A record of ours, or a stack. */
static noinline int decode_other(struct decode *decode, const struct format *format,
				 struct record *record)
{
	const char *data = record->raw;
	size_t size = record->raw_size;

	record->fields = format->unknown.fields;
	record->stack = (struct record_stack){ 0 };
	record->event = 0;
	if (record->kind != RECORD_SUPERBLOCK) {
		record->raw = NULL;
		record->raw_size = 0;
	}
	switch (format->event) {
	case DECODE_PRINT:
		return parse_clock(data + format->data, size - format->data, record);
	case DECODE_STACK:
		record->stack.ts = record->ts;
		record->stack.flags = record->flags;
		record->stack.preempt_count = (uint8_t)data[offsetof(struct entry, preempt_count)];
		record->frames.at = decode->frames;
		record->frames.count = read_frames(decode, data, size, format->data);
		break;
	default:
		load_fields(format, data, decode->big_endian, record);
		locate_name(decode, data, size, format->data, &record->superblock);
	}
	return 1;
}

static noinline int decode_loss(const struct raw_record *raw, int16_t indent, struct record *record)
{
	*record = (struct record){
		.kind = RECORD_LOST,
		.ts = raw->ts,
		.cpu = raw->cpu,
		.indent = indent,
		.lost = raw->lost,
		.lost_until = raw->until,
	};
	return 1;
}

/* All of an event but its fields. */
static inline void begin_record(const struct decode *decode, const struct format *format,
				const struct raw_record *raw, struct record *record)
{
	const char *data = raw->data;

	record->ts = raw->ts;
	record->cpu = raw->cpu;
	record->kind = format->kind;
	record->event = (uint16_t)format->event;
	record->raw_size = (uint16_t)raw->size;
	record->raw = data;
	record->tid = (int32_t)load_32(data + offsetof(struct entry, pid), decode->big_endian);
	record->flags = (uint8_t)data[offsetof(struct entry, flags)];
	if (record->kind == RECORD_WINDOW)
		load_window(decode, data, &record->window);
}

int decode_record(struct decode *decode, const struct raw_record *raw, struct record *record)
{
	unsigned int cpu = (unsigned int)raw->cpu;
	int16_t *indent = &decode->indents[cpu < decode->nr_cpus ? cpu : decode->nr_cpus];
	const struct format *format;

	if (!raw->data)
		return decode_loss(raw, *indent, record);
	format = format_of(decode, raw->data, raw->size);
	if (!format)
		return drop_record(decode, raw->data, raw->size);
	begin_record(decode, format, raw, record);
	record->indent = *indent;
	if (record->kind > RECORD_EVENT)
		return decode_other(decode, format, record);
	if (record->kind == RECORD_WINDOW) {
		if (!check_window(decode, record))
			return 0;
		*indent = record->indent = (int16_t)(record->window.depth - 1);
	}
	return 1;
}

void decode_fields(struct decode *decode, struct record *record)
{
	/* decode_record() has checked that the record has this format. */
	const struct format *format = decode->by_type[load_16(record->raw, decode->big_endian)];

	/* As large as the union. */
	record->fields = format->unknown.fields;
	if (decode->big_endian) /* each order has its loop, which does not test it for each field */
		load_fields(format, record->raw, true, record);
	else
		load_fields(format, record->raw, false, record);
}

uint64_t decode_unknown(const struct decode *decode, int *first_type)
{
	if (first_type)
		*first_type = decode->first_unknown;
	return decode->unknown;
}

uint64_t decode_damaged(const struct decode *decode)
{
	return decode->damaged;
}
