// SPDX-License-Identifier: GPL-2.0-or-later

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "allocfilt/record/format.h"

#define ROLES_BITS 11 /* 2048 addresses whose role is cached */
#define FIELDS_MAX 16

/* Deeper than any kernel's return stack: such a record is damaged. */
#define DEPTH_MAX 1024

/* Which field of an event goes where in struct record. */
struct binding {
	const char *name;
	uint16_t to;
	uint8_t to_size;
	bool required;
};

#define TO(member) offsetof(struct record, member), sizeof(((struct record *)NULL)->member)

static const struct binding window_bindings[] = {
	{ "func", TO(window.function), true },
	{ "calltime", TO(window.calltime), true },
	{ "rettime", TO(window.rettime), true },
	{ "depth", TO(window.depth), true },
	{ NULL },
};

/* The names under which kernels have the members of struct record_fields. */
static const struct binding event_bindings[] = {
	{ "shr", TO(fields.shrinker), false },
	{ "shrink", TO(fields.callback), false },
	{ "gfp_flags", TO(fields.gfp), false },
	{ "gfp_mask", TO(fields.gfp), false },
	{ "nr_reclaimed", TO(fields.nr_reclaimed), false },
	{ "nr_scanned", TO(fields.nr_scanned), false },
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
	{ NULL },
};

/* A kprobe has no callback: it is on super_cache_scan() itself. */
static const struct binding superblock_bindings[] = {
	{ "shr", TO(superblock.shrinker), true },
	{ "shrink", TO(superblock.callback), false },
	{ "dev", TO(superblock.device), false },
	{ NULL },
};

static const struct binding stack_bindings[] = {
	{ "common_preempt_count", TO(stack.preempt_count), true },
	{ NULL },
};

struct field {
	uint16_t offset;
	uint16_t to;	 /* in struct record */
	uint8_t size;	 /* 1, 2, 4, 8 */
	uint8_t to_size; /* 1, 4, 8 */
	bool is_signed;
};

struct format {
	SLIST_ENTRY(format) link;	 /* in decode.formats */
	int event;			 /* index into the plan's events, or DECODE_… */
	uint8_t kind;			 /* enum record_kind */
	int id;				 /* enum event_id */
	size_t minimum;			 /* bytes of a whole record */
	struct field fields[FIELDS_MAX]; /* those that become 4 bytes first */
	unsigned int nr_fields;
	unsigned int nr_narrow;	      /* of 4 bytes */
	bool plain;		      /* all can be copied as they are */
	struct record_fields unknown; /* what the event's fields are until they are read */
	size_t data; /* offset of what has no fixed size: print's buf, our probe's id, caller */
};

SLIST_HEAD(format_list, format);

/* The first fields of each record, the same in all formats: struct trace_entry. */
struct common_fields {
	struct field type, flags, pid;
};

/* The fields of funcgraph_exit. */
struct window_offsets {
	uint16_t function, calltime, rettime, depth;
};

/* Caches the role of the last function with this hash. */
struct role_entry {
	uint64_t function;
	int32_t role;
	bool used;
};

/* What is known of a CPU from its records so far. */
struct cpu_state {
	int16_t indent;
	bool switched; /* the newest record is sched_switch */
};

struct decode {
	const struct data_source *source;
	bool big_endian;       /* the data */
	bool plain;	       /* its common fields are as they are here */
	struct stacks *stacks; /* NULL: left out */
	struct decode_callbacks callbacks;
	struct window_offsets window; /* where the data is plain */
	struct common_fields common;  /* of the formats */
	size_t type_end;	      /* bytes of the shortest record that has a type */
	size_t most_behind;	      /* bytes that the largest record has behind its type */
	bool has_formats;
	struct format_list formats;
	struct format **by_type; /* NULL: unknown */
	size_t nr_types;	 /* of by_type */
	struct cpu_state *cpus;	 /* by number, and one more */
	unsigned int nr_cpus;
	struct role_entry *roles; /* 1 << ROLES_BITS */
	bool read_all;		  /* formats of a capture: see decode_new() */
	uint64_t unknown;
	int first_unknown;
	uint64_t damaged;
	uint64_t frames[STACK_DEPTH_MAX]; /* of the stack that is being read */
	struct record record;		  /* that is being passed on */
};

/* ---- set-up ---- */

struct decode *decode_new(const struct data_source *source, struct stacks *stacks,
			  const struct decode_callbacks *callbacks)
{
	struct decode *decode = calloc(1, sizeof(*decode));

	if (!decode)
		return NULL;
	decode->source = source;
	decode->big_endian = source->layout.big_endian;
	decode->stacks = stacks;
	decode->callbacks = *callbacks;
	decode->first_unknown = -1;
	decode->nr_cpus = cpu_list_highest(&source->cpus) + 1;
	decode->cpus = calloc(decode->nr_cpus + 1, sizeof(*decode->cpus));
	decode->roles = calloc(1 << ROLES_BITS, sizeof(*decode->roles));
	if (!decode->cpus || !decode->roles) {
		decode_free(decode);
		errno = ENOMEM;
		return NULL;
	}
	return decode;
}

/* Records of these are known, and not used. */
static struct format ignored = { .event = DECODE_IGNORE, .minimum = SIZE_MAX };

void decode_free(struct decode *decode)
{
	struct format *format;

	if (!decode)
		return;
	while ((format = SLIST_FIRST(&decode->formats))) {
		SLIST_REMOVE_HEAD(&decode->formats, link);
		free(format);
	}
	free(decode->by_type);
	free(decode->cpus);
	free(decode->roles);
	free(decode);
}

/* ---- formats ---- */

static bool bind_field(struct field *field, const struct tep_format_field *found)
{
	if (!found ||
	    (found->size != 1 && found->size != 2 && found->size != 4 && found->size != 8))
		return false;
	field->offset = (uint16_t)found->offset;
	field->size = (uint8_t)found->size;
	field->is_signed = found->flags & TEP_FIELD_IS_SIGNED;
	return true;
}

/* The low bytes of a little-endian number come first. */
static bool can_be_copied(const struct decode *decode, const struct field *field)
{
	const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

	return decode->big_endian == !little && field->to_size >= sizeof(uint32_t) &&
	       (field->size == field->to_size || (little && field->size > field->to_size));
}

static bool bind_all(const struct decode *decode, struct format *format, struct tep_event *event,
		     const struct binding *binding)
{
	for (; binding->name; binding++) {
		struct field field = { .to = binding->to, .to_size = binding->to_size };
		struct field *place = &format->fields[format->nr_fields];

		if (!bind_field(&field, tep_find_any_field(event, binding->name))) {
			if (binding->required)
				return false;
			continue;
		}
		format->plain &= can_be_copied(decode, &field);
		if (field.to_size == sizeof(uint32_t)) {
			*place = format->fields[format->nr_narrow];
			place = &format->fields[format->nr_narrow++];
		}
		*place = field;
		format->nr_fields++;
	}
	return true;
}

/* Offset of the variable-length part of an event. @size: of its field, 0: any. */
static bool bind_data(struct format *format, struct tep_event *event, const char *name, int size)
{
	const struct tep_format_field *found = tep_find_any_field(event, name);

	if (!found || (size && found->size != size))
		return false;
	format->data = (size_t)found->offset;
	return true;
}

static bool bind_event(const struct decode *decode, struct format *format, struct tep_event *event)
{
	switch (format->event) {
	case DECODE_FUNCGRAPH_EXIT:
		return bind_all(decode, format, event, window_bindings);
	case DECODE_PRINT:
		return bind_data(format, event, "buf", 0);
	case DECODE_SUPERBLOCK:
		return bind_all(decode, format, event, superblock_bindings) &&
		       bind_data(format, event, "id", 4);
	case DECODE_STACK:
		return bind_all(decode, format, event, stack_bindings) &&
		       bind_data(format, event, "caller", 0);
	default:
		break;
	}
	switch (format->id) {
	case EVENT_USER:
		return true;
	case EVENT_FORK:
		return bind_all(decode, format, event, fork_bindings);
	case EVENT_SCHED_SWITCH:
		return bind_all(decode, format, event, switch_bindings);
	case EVENT_SCHED_WAKEUP:
		return bind_all(decode, format, event, wakeup_bindings);
	case EVENT_SHRINK_INACTIVE:
		format->unknown.nr_scanned = format->unknown.nr_dirty =
			format->unknown.nr_writeback = RECORD_PAGES_UNKNOWN;
		/* fall through */
	case EVENT_SLAB_START:
		format->unknown.nid = format->unknown.priority = -1;
		/* fall through */
	default:
		return bind_all(decode, format, event, event_bindings);
	}
}

/* The end of the last of these fields; one of no fixed size (buf[]) has no bytes of its own. */
static size_t end_of_fields(const struct format *format, const struct tep_format_field *field)
{
	size_t end = 0;

	for (; field; field = field->next) {
		size_t size = (size_t)field->size;

		/* The format declares 8 frames; a record contains all frames of the stack. */
		if (format->event == DECODE_STACK && !strcmp(field->name, "caller"))
			size = 0;
		if ((size_t)field->offset + size > end)
			end = (size_t)field->offset + size;
	}
	return end;
}

static size_t minimum_size(const struct format *format, const struct tep_event *event)
{
	size_t common = end_of_fields(format, event->format.common_fields);
	size_t own = end_of_fields(format, event->format.fields);

	return own > common ? own : common;
}

static bool is_same(const struct field *a, const struct field *b)
{
	return a->offset == b->offset && a->size == b->size;
}

static enum record_kind kind_of(int event)
{
	switch (event) {
	case DECODE_FUNCGRAPH_EXIT:
		return RECORD_WINDOW;
	case DECODE_PRINT:
		return RECORD_CLOCK;
	case DECODE_SUPERBLOCK:
		return RECORD_SUPERBLOCK;
	case DECODE_STACK:
		return RECORD_STACK;
	default:
		return RECORD_EVENT;
	}
}

static void bind_window(struct window_offsets *window, const struct format *format)
{
	for (unsigned int i = 0; i < format->nr_fields; i++) {
		const struct field *field = &format->fields[i];

		if (field->to == offsetof(struct record, window.function))
			window->function = field->offset;
		else if (field->to == offsetof(struct record, window.calltime))
			window->calltime = field->offset;
		else if (field->to == offsetof(struct record, window.rettime))
			window->rettime = field->offset;
		else
			window->depth = field->offset;
	}
}

static int bind_format(struct decode *decode, struct format *format, int number, int id,
		       struct tep_event *event)
{
	struct common_fields common = { 0 };

	format->event = number;
	format->id = id;
	format->kind = kind_of(number);
	format->plain = true;
	if (!bind_event(decode, format, event) ||
	    !bind_field(&common.type, tep_find_any_field(event, "common_type")) ||
	    !bind_field(&common.flags, tep_find_any_field(event, "common_flags")) ||
	    !bind_field(&common.pid, tep_find_any_field(event, "common_pid")))
		return -EINVAL;
	/* Else records could not be distinguished. */
	if (!decode->has_formats)
		decode->common = common;
	if (!is_same(&common.type, &decode->common.type) ||
	    !is_same(&common.flags, &decode->common.flags) ||
	    !is_same(&common.pid, &decode->common.pid) || common.type.size > sizeof(uint16_t))
		return -EINVAL;
	decode->type_end = (size_t)common.type.offset + common.type.size;
	decode->most_behind = UINT16_MAX - decode->type_end;
	if (!decode->has_formats)
		decode->plain = decode->big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) &&
				common.type.size == sizeof(uint16_t) && common.flags.size == 1 &&
				common.pid.size == sizeof(int32_t);
	decode->has_formats = true;
	format->plain &= decode->plain;
	if (format->kind == RECORD_WINDOW) {
		decode->plain = format->plain;
		bind_window(&decode->window, format);
	}
	format->minimum = minimum_size(format, event);
	return 0;
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

static int add_format(struct decode *decode, int event, int id, struct tep_event *described)
{
	struct format *format;
	int ret;

	if (by_type(decode, (uint16_t)described->id))
		return -EEXIST;
	format = calloc(1, sizeof(*format));
	ret = format ? bind_format(decode, format, event, id, described) : -ENOMEM;
	if (!ret)
		ret = set_type(decode, (uint16_t)described->id, format);
	if (ret)
		free(format);
	else
		SLIST_INSERT_HEAD(&decode->formats, format, link);
	return ret;
}

static int ignore_type(struct decode *decode, int type)
{
	if (type < 0)
		return type;
	return by_type(decode, (uint16_t)type) ? -EEXIST :
						 set_type(decode, (uint16_t)type, &ignored);
}

int decode_add_format(struct decode *decode, int event, int id, const char *text, size_t length)
{
	struct event_format format;
	int ret;

	if (event == DECODE_IGNORE)
		return ignore_type(decode, event_format_id(text, length));
	ret = event_format_read(&format, text, length);
	if (ret)
		return ret;
	ret = add_format(decode, event, id, format.event);
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

static uint64_t read_field(const struct decode *decode, const struct field *field, const void *data)
{
	uint64_t value =
		event_number((const char *)data + field->offset, field->size, decode->big_endian);
	int unused = 64 - field->size * 8;

	if (field->is_signed)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	return value;
}

static uint16_t type_of(const struct decode *decode, const void *data)
{
	return (uint16_t)read_field(decode, &decode->common.type, data);
}

static int32_t pid_of(const struct decode *decode, const void *data)
{
	return (int32_t)read_field(decode, &decode->common.pid, data);
}

/* Of a record that is not plain. */
static noinline void convert_fields(const struct decode *decode, const struct format *format,
				    struct record *record)
{
	const struct field *field = format->fields, *end = field + format->nr_fields;

	for (; field < end; field++) {
		uint64_t value = read_field(decode, field, record->raw);
		uint32_t narrow = (uint32_t)value;
		char *to = (char *)record + field->to;

		if (field->to_size == sizeof(value))
			memcpy(to, &value, sizeof(value));
		else if (field->to_size == sizeof(narrow))
			memcpy(to, &narrow, sizeof(narrow));
		else
			*to = (char)value;
	}
}

/* A copy of a size that the compiler knows is one load and one store. */
static inline void read_fields(const struct decode *decode, const struct format *format,
			       struct record *record)
{
	const struct field *field = format->fields, *end = field + format->nr_narrow;
	const char *data = record->raw;
	char *to = (char *)record;

	if (!format->plain) {
		convert_fields(decode, format, record);
		return;
	}
	for (; field < end; field++)
		memcpy(to + field->to, data + field->offset, sizeof(uint32_t));
	for (end = format->fields + format->nr_fields; field < end; field++)
		memcpy(to + field->to, data + field->offset, sizeof(uint64_t));
}

static int role_of(struct decode *decode, uint64_t function)
{
	struct role_entry *entry =
		&decode->roles[(function * 0x9e3779b97f4a7c15u) >> (64 - ROLES_BITS)];

	if (!entry->used || entry->function != function)
		*entry = (struct role_entry){
			.function = function,
			.role = decode->callbacks.role_of(decode->callbacks.context, function),
			.used = true,
		};
	return entry->role;
}

/* Returns false for a damaged one. */
static bool check_window(struct decode *decode, struct record *record)
{
	struct record_window *window = &record->window;

	if ((unsigned int)window->depth > DEPTH_MAX || window->rettime < window->calltime) {
		decode->damaged++;
		return false;
	}
	if (!decode->source->local_clock) {
		window->calltime = record->ts - (window->rettime - window->calltime);
		window->rettime = record->ts;
	}
	return true;
}

/* Our own mark is "allocfilt: realtime SECONDS.NANOSECONDS"; any other text is not ours. */
static bool parse_clock(const char *text, size_t size, uint64_t *ret_ns)
{
	char copy[64] = "";
	uint64_t seconds, ns;
	int before, after, end = 0;

	memcpy(copy, text, size < sizeof(copy) - 1 ? size : sizeof(copy) - 1);
	if (sscanf(copy, "allocfilt: realtime %n%10" SCNu64 "%n.%9" SCNu64 "%n", &before, &seconds,
		   &after, &ns, &end) != 2)
		return false;
	if (copy[before] < '0' || copy[before] > '9' || end != after + 10 ||
	    copy[after + 1] < '0' || copy[after + 1] > '9' || (copy[end] && copy[end] != '\n'))
		return false;
	*ret_ns = seconds * NS_PER_SECOND + ns;
	return true;
}

/* The name is a __data_loc: its offset, and its length with its NUL. */
static void locate_name(const struct decode *decode, const char *data, size_t size, size_t at,
			struct record_superblock *superblock)
{
	uint64_t location = event_number(data + at, 4, decode->big_endian);
	size_t offset = location & 0xffff, length = location >> 16 & 0xffff;

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

/*
 * A stack of sched_switch tells one function: all others would fill the table with those of tasks
 * that have no stall. Returns false for a record to drop.
 */
static bool finish_stack(struct decode *decode, const char *data, size_t size, size_t at,
			 bool switched, struct record *record)
{
	const struct decode_callbacks *callbacks = &decode->callbacks;
	size_t count;

	if (!switched && !decode->stacks)
		return false;
	count = read_frames(decode, data, size, at);
	if (switched) {
		record->kind = RECORD_SLEEP;
		record->sched.sleeps_in =
			callbacks->sleeps_in(callbacks->context, decode->frames, count);
		return true;
	}
	record->stack.ts = record->ts;
	record->stack.flags = record->flags;
	record->stack.number = stacks_add(decode->stacks, decode->frames, count);
	return true;
}

int decode_type(const struct decode *decode, const void *data, size_t size)
{
	return decode->has_formats && size >= decode->type_end ? type_of(decode, data) : -1;
}

/* Returns the format of a record, or NULL for one that has none, or less bytes than that takes. */
static inline const struct format *format_of(const struct decode *decode, const void *data,
					     size_t size, bool plain)
{
	const struct format *format;
	uint16_t type;

	if (size - decode->type_end > decode->most_behind)
		return NULL;
	if (plain)
		memcpy(&type, (const char *)data + decode->common.type.offset, sizeof(type));
	else
		type = type_of(decode, data);
	format = by_type(decode, type);
	return format && size >= format->minimum ? format : NULL;
}

/* A record for which format_of() finds no format: counts it. */
static noinline int drop(struct decode *decode, const void *data, size_t size)
{
	const struct format *format;
	uint16_t type;

	if (!decode->has_formats)
		return 0;
	if (size < decode->type_end) {
		decode->damaged++;
		return 0;
	}
	type = type_of(decode, data);
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
	const struct format *format = format_of(decode, data, size, decode->plain);

	if (!format || format->kind > RECORD_EVENT)
		return false;
	record->ts = ts;
	record->kind = format->kind;
	record->event = (uint16_t)format->event;
	record->tid = pid_of(decode, data);
	return true;
}

/* All CPUs that are in no list share a state. */
static struct cpu_state *state_of(const struct decode *decode, int cpu)
{
	return &decode->cpus[(unsigned int)cpu < decode->nr_cpus ? (unsigned int)cpu :
								   decode->nr_cpus];
}

/* A record of ours, or a stack. */
static noinline int decode_other(struct decode *decode, const struct format *format,
				 struct cpu_state *state)
{
	struct record *record = &decode->record;
	bool switched = state->switched;
	const char *data = record->raw;
	size_t size = record->raw_size;

	state->switched = false;
	record->fields = format->unknown;
	record->stack = (struct record_stack){ 0 };
	read_fields(decode, format, record);
	record->event = 0;
	record->raw = NULL;
	record->raw_size = 0;
	switch (format->event) {
	case DECODE_PRINT:
		if (!parse_clock(data + format->data, size - format->data, &record->realtime))
			return 0;
		break;
	case DECODE_STACK:
		if (!finish_stack(decode, data, size, format->data, switched, record))
			return 0;
		break;
	default:
		record->raw = data;
		record->raw_size = (uint16_t)size;
		locate_name(decode, data, size, format->data, &record->superblock);
	}
	return decode->callbacks.sink(decode->callbacks.sink_context, record);
}

/* All of a window but its role, all of an event but its fields. @plain is known when it is compiled. */
static inline void begin_record(const struct decode *decode, const struct format *format, int cpu,
				uint64_t ts, const void *raw, size_t size, bool plain,
				struct record *record)
{
	const struct window_offsets *at = &decode->window;
	const char *data = raw;

	record->ts = ts;
	record->cpu = cpu;
	record->kind = format->kind;
	record->event = (uint16_t)format->event;
	record->raw_size = (uint16_t)size;
	record->format = format;
	record->raw = data;
	record->counted = false;
	if (!plain) {
		record->tid = pid_of(decode, data);
		record->flags = (uint8_t)read_field(decode, &decode->common.flags, data);
		if (record->kind == RECORD_WINDOW)
			convert_fields(decode, format, record);
		return;
	}
	memcpy(&record->tid, data + decode->common.pid.offset, sizeof(record->tid));
	record->flags = (uint8_t)data[decode->common.flags.offset];
	if (record->kind != RECORD_WINDOW)
		return;
	memcpy(&record->window.depth, data + at->depth, sizeof(int32_t));
	memcpy(&record->window.function, data + at->function, sizeof(uint64_t));
	memcpy(&record->window.calltime, data + at->calltime, sizeof(uint64_t));
	memcpy(&record->window.rettime, data + at->rettime, sizeof(uint64_t));
}

static inline __attribute__((always_inline)) int
pass_record(struct decode *decode, int cpu, uint64_t ts, const void *data, size_t size, bool plain)
{
	const struct format *format = format_of(decode, data, size, plain);
	struct cpu_state *state = state_of(decode, cpu);
	struct record *record = &decode->record;

	if (!format)
		return drop(decode, data, size);
	begin_record(decode, format, cpu, ts, data, size, plain, record);
	record->indent = state->indent;
	if (record->kind > RECORD_EVENT)
		return decode_other(decode, format, state);
	state->switched = format->id == EVENT_SCHED_SWITCH;
	if (record->kind == RECORD_WINDOW) {
		if (!check_window(decode, record))
			return 0;
		state->indent = record->indent = (int16_t)(record->window.depth - 1);
	}
	return decode->callbacks.sink(decode->callbacks.sink_context, record);
}

static noinline int pass_foreign(struct decode *decode, int cpu, uint64_t ts, const void *data,
				 size_t size)
{
	return pass_record(decode, cpu, ts, data, size, false);
}

int decode_record(void *context, int cpu, uint64_t ts, const void *data, size_t size)
{
	struct decode *decode = context;

	return decode->plain ? pass_record(decode, cpu, ts, data, size, true) :
			       pass_foreign(decode, cpu, ts, data, size);
}

void decode_fields(struct decode *decode, struct record *record)
{
	record->stack = (struct record_stack){ 0 };
	if (record->kind == RECORD_WINDOW) {
		record->window.role = role_of(decode, record->window.function);
		record->event = 0;
		record->raw = NULL;
		record->raw_size = 0;
		return;
	}
	/* As large as the union. */
	record->fields = record->format->unknown;
	read_fields(decode, record->format, record);
}

void decode_again(struct decode *decode, int cpu, uint64_t ts, int indent, const void *data,
		  size_t size, struct record *record)
{
	begin_record(decode, format_of(decode, data, size, false), cpu, ts, data, size,
		     decode->plain, record);
	record->indent = (int16_t)indent;
	decode_fields(decode, record);
}

int decode_lost(void *context, int cpu, uint64_t ts, int64_t count)
{
	struct decode *decode = context;
	struct cpu_state *state = state_of(decode, cpu);
	struct record record = {
		.kind = RECORD_LOST,
		.ts = ts,
		.cpu = cpu,
		.indent = state->indent,
		.lost = count,
	};

	state->switched = false;
	return decode->callbacks.sink(decode->callbacks.sink_context, &record);
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
