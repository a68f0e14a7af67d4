// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "record/print_format.h"

#define TYPES_MAX    65536	/* common_type has 16 bits */
#define TYPE_IGNORED UINT16_MAX /* in place of an index */
#define CPUS_MAX     8192	/* CONFIG_NR_CPUS goes no higher */
#define ROLES_MAX    4096	/* addresses whose role is kept; a power of two */

/* Deeper than any kernel's return stack: such a record is damaged. */
#define DEPTH_MAX 1024

/* Where a field lies in a record; size 0: this event has none. */
struct field {
	uint16_t offset;
	uint8_t size;
	bool is_signed;
};

enum common { COMMON_TYPE, COMMON_FLAGS, COMMON_PREEMPT_COUNT, COMMON_PID, COMMON_COUNT };

enum window_field { WINDOW_FUNCTION, WINDOW_CALLTIME, WINDOW_RETTIME, WINDOW_DEPTH, WINDOW_COUNT };

enum superblock_field {
	SUPERBLOCK_SHRINKER,
	SUPERBLOCK_NAME,
	SUPERBLOCK_DEVICE,
	SUPERBLOCK_CALLBACK,
	SUPERBLOCK_COUNT,
};

/* One for each member of struct record_fields, and the names under which kernels have it. */
enum event_field {
	FIELD_SHRINKER,
	FIELD_CALLBACK,
	FIELD_GFP,
	FIELD_NR_RECLAIMED,
	FIELD_NR_SCANNED,
	FIELD_MEMCG_ID,
	FIELD_ORDER,
	FIELD_NID,
	FIELD_STATUS,
	FIELD_USEC_DELAYED,
	FIELD_COUNT,
};

#define FIELDS_MAX FIELD_COUNT

static const char *const common_names[COMMON_COUNT] = {
	[COMMON_TYPE] = "common_type",
	[COMMON_FLAGS] = "common_flags",
	[COMMON_PREEMPT_COUNT] = "common_preempt_count",
	[COMMON_PID] = "common_pid",
};

static const char *const window_names[WINDOW_COUNT] = {
	[WINDOW_FUNCTION] = "func",
	[WINDOW_CALLTIME] = "calltime",
	[WINDOW_RETTIME] = "rettime",
	[WINDOW_DEPTH] = "depth",
};

static const char *const superblock_names[SUPERBLOCK_COUNT] = {
	[SUPERBLOCK_SHRINKER] = "shr",
	[SUPERBLOCK_NAME] = "id",
	[SUPERBLOCK_DEVICE] = "dev",
	[SUPERBLOCK_CALLBACK] = "shrink",
};

static const struct {
	const char *name;
	enum event_field field;
} event_names[] = {
	{ "shr", FIELD_SHRINKER },
	{ "shrink", FIELD_CALLBACK },
	{ "gfp_flags", FIELD_GFP },
	{ "gfp_mask", FIELD_GFP },
	{ "nr_reclaimed", FIELD_NR_RECLAIMED },
	{ "nr_scanned", FIELD_NR_SCANNED },
	{ "memcg_id", FIELD_MEMCG_ID },
	{ "order", FIELD_ORDER },
	{ "nid", FIELD_NID },
	{ "status", FIELD_STATUS },
	{ "reason", FIELD_STATUS },
	{ "retval", FIELD_STATUS },
	{ "usec_delayed", FIELD_USEC_DELAYED },
};

struct format {
	int event;	/* index into the plan's events, or DECODE_… */
	size_t minimum; /* bytes of a whole record */
	struct field common[COMMON_COUNT];
	struct field fields[FIELDS_MAX];
	struct tep_event *parsed;
	struct print_format *text; /* NULL: libtraceevent has to print it */
};

struct role_entry {
	uint64_t function;
	int32_t role;
	bool used;
};

struct decode {
	struct decode_setup setup;
	struct tep_handle *tep;
	struct trace_seq seq;
	struct field type; /* common_type, the same in all formats */
	struct format *formats;
	size_t nr_formats;
	uint16_t *by_type;	  /* TYPES_MAX: index into formats plus one; 0: unknown */
	int16_t *indent;	  /* CPUS_MAX */
	struct role_entry *roles; /* ROLES_MAX */
	size_t nr_roles;
	bool asked; /* for more formats */
	uint64_t unknown;
	int first_unknown;
	uint64_t damaged;
	uint64_t frames[STACK_DEPTH_MAX]; /* of the stack that is being read */
};

/* ---- set-up ---- */

static struct tep_handle *new_handle(const struct page_layout *layout)
{
	struct tep_handle *tep = tep_alloc();

	if (!tep)
		return NULL;
	/* What it cannot parse is told by its return value; it must not write to our stderr. */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_file_bigendian(tep, layout->big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(tep, tep_is_bigendian() ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(tep, layout->long_size);
	tep_set_page_size(tep, (int)layout->size);
	return tep;
}

struct decode *decode_new(const struct decode_setup *setup)
{
	struct decode *decode = calloc(1, sizeof(*decode));

	if (!decode)
		return NULL;
	decode->setup = *setup;
	decode->first_unknown = -1;
	decode->tep = new_handle(&setup->layout);
	decode->by_type = calloc(TYPES_MAX, sizeof(*decode->by_type));
	decode->indent = calloc(CPUS_MAX, sizeof(*decode->indent));
	decode->roles = calloc(ROLES_MAX, sizeof(*decode->roles));
	trace_seq_init(&decode->seq);
	if (!decode->tep || !decode->by_type || !decode->indent || !decode->roles) {
		decode_free(decode);
		errno = ENOMEM;
		return NULL;
	}
	return decode;
}

void decode_free(struct decode *decode)
{
	if (!decode)
		return;
	for (size_t i = 0; i < decode->nr_formats; i++)
		print_format_free(decode->formats[i].text);
	free(decode->formats);
	free(decode->by_type);
	free(decode->indent);
	free(decode->roles);
	trace_seq_destroy(&decode->seq);
	tep_free(decode->tep);
	free(decode);
}

/* ---- formats ---- */

static bool bind(struct field *field, const struct tep_format_field *found)
{
	if (!found || found->offset < 0 || found->offset > UINT16_MAX)
		return false;
	if (found->size != 1 && found->size != 2 && found->size != 4 && found->size != 8)
		return false;
	field->offset = (uint16_t)found->offset;
	field->size = (uint8_t)found->size;
	field->is_signed = found->flags & TEP_FIELD_IS_SIGNED;
	return true;
}

static int bind_common(struct format *format)
{
	for (int i = 0; i < COMMON_COUNT; i++)
		if (!bind(&format->common[i],
			  tep_find_common_field(format->parsed, common_names[i])))
			return -EINVAL;
	return 0;
}

static int bind_window(struct format *format)
{
	for (int i = 0; i < WINDOW_COUNT; i++)
		if (!bind(&format->fields[i], tep_find_field(format->parsed, window_names[i])))
			return -EINVAL;
	return 0;
}

static int bind_print(struct format *format)
{
	struct tep_format_field *buf = tep_find_field(format->parsed, "buf");

	if (!buf || buf->offset < 0 || buf->offset > UINT16_MAX)
		return -EINVAL;
	format->fields[0].offset = (uint16_t)buf->offset;
	return 0;
}

/* Device and callback are there where a probe needs them. */
static int bind_superblock(struct format *format)
{
	for (int i = 0; i < SUPERBLOCK_COUNT; i++)
		bind(&format->fields[i], tep_find_field(format->parsed, superblock_names[i]));
	if (!format->fields[SUPERBLOCK_SHRINKER].size || format->fields[SUPERBLOCK_NAME].size != 4)
		return -EINVAL;
	return 0;
}

static int bind_stack(struct format *format)
{
	struct tep_format_field *caller = tep_find_field(format->parsed, "caller");

	if (!caller || caller->offset < 0 || caller->offset > UINT16_MAX)
		return -EINVAL;
	format->fields[0].offset = (uint16_t)caller->offset;
	return 0;
}

static void bind_event(struct format *format)
{
	for (size_t i = 0; i < sizeof(event_names) / sizeof(*event_names); i++)
		bind(&format->fields[event_names[i].field],
		     tep_find_field(format->parsed, event_names[i].name));
}

static int bind_fields(struct format *format, int id)
{
	int ret = bind_common(format);

	if (ret)
		return ret;
	if (format->event == DECODE_FUNCGRAPH_EXIT)
		return bind_window(format);
	if (format->event == DECODE_PRINT)
		return bind_print(format);
	if (format->event == DECODE_SUPERBLOCK)
		return bind_superblock(format);
	if (format->event == DECODE_STACK)
		return bind_stack(format);
	if (id != EVENT_USER)
		bind_event(format);
	return 0;
}

/* The end of the last of some fields; one of no fixed size (buf[]) has no bytes of its own. */
static size_t end_of_fields(const struct tep_format_field *field)
{
	size_t end = 0;

	for (; field; field = field->next)
		if (field->offset >= 0 && field->size >= 0 &&
		    (size_t)field->offset + (size_t)field->size > end)
			end = (size_t)field->offset + (size_t)field->size;
	return end;
}

static size_t minimum_size(const struct format *format)
{
	size_t common = end_of_fields(format->parsed->format.common_fields);
	size_t own = end_of_fields(format->parsed->format.fields);

	/* The format tells of 8 frames; a record has as many as there were. */
	if (format->event == DECODE_STACK)
		own = format->fields[0].offset;
	return own > common ? own : common;
}

/* An event that fails to parse its print format is there all the same, with its fields. */
static int parse_text(struct decode *decode, const char *system, const char *text, size_t length,
		      struct tep_event **ret_event)
{
	struct tep_event *event = NULL;
	char *mended;
	size_t size;

	mended = print_format_mend(text, length, &size);
	if (!mended)
		return -ENOMEM;
	tep_parse_format(decode->tep, &event, mended, size, system);
	free(mended);
	if (!event || !event->name || !event->format.nr_common)
		return -EINVAL;
	*ret_event = event;
	return 0;
}

/* The number behind "ID:", or -EINVAL for a text that is no format file. */
static int id_of_text(const char *text, size_t length)
{
	static const char head[] = "name: ", mark[] = "\nID: ";
	const char *at = memmem(text, length, mark, sizeof(mark) - 1);
	size_t left;
	int id = 0;

	if (!at || length < sizeof(head) || memcmp(text, head, sizeof(head) - 1))
		return -EINVAL;
	at += sizeof(mark) - 1;
	left = length - (size_t)(at - text);
	if (!left || *at < '0' || *at > '9')
		return -EINVAL;
	for (; left && *at >= '0' && *at <= '9' && id < TYPES_MAX; at++, left--)
		id = id * 10 + *at - '0';
	return id < TYPES_MAX ? id : -EINVAL;
}

/*
 * Is the text whole? libtraceevent leaks what it has of one that is cut, and takes some. The print
 * format is the last line and ends like one.
 */
static bool is_whole_format(const char *text, size_t length)
{
	static const char mark[] = "\nprint fmt: ";
	const char *print = memmem(text, length, mark, sizeof(mark) - 1);

	return print && text[length - 1] == '\n' && print < text + length - sizeof(mark);
}

static int compile_text(struct decode *decode, struct format *format)
{
	const struct print_setup setup = {
		.long_size = decode->setup.layout.long_size,
		.big_endian = decode->setup.layout.big_endian,
		.symbol = decode->setup.symbol,
		.context = decode->setup.context,
	};
	int ret;

	if (format->event < 0)
		return 0;
	ret = print_format_new(&format->text, format->parsed, &setup);
	return ret == -ENOTSUP ? 0 : ret;
}

/* All formats have the type at one place; else no record could be told from another. */
static int check_type_field(struct decode *decode, const struct field *type)
{
	if (!decode->nr_formats)
		decode->type = *type;
	if (type->offset != decode->type.offset || type->size != decode->type.size ||
	    type->size > sizeof(uint16_t))
		return -EINVAL;
	return 0;
}

static int store_format(struct decode *decode, int type, const struct format *format)
{
	struct format *formats =
		reallocarray(decode->formats, decode->nr_formats + 1, sizeof(*formats));

	if (!formats)
		return -ENOMEM;
	decode->formats = formats;
	formats[decode->nr_formats++] = *format;
	decode->by_type[type] = (uint16_t)decode->nr_formats;
	return 0;
}

int decode_add_format(struct decode *decode, int event, int id, const char *system,
		      const char *text, size_t length)
{
	struct format format = { .event = event };
	int ret, type;

	type = id_of_text(text, length);
	if (type < 0)
		return type;
	if (decode->by_type[type])
		return -EEXIST;
	if (!is_whole_format(text, length))
		return -EINVAL;
	if (event == DECODE_IGNORE) {
		decode->by_type[type] = TYPE_IGNORED;
		return 0;
	}
	ret = parse_text(decode, system, text, length, &format.parsed);
	if (!ret && format.parsed->id != type)
		ret = -EINVAL;
	if (!ret)
		ret = bind_fields(&format, id);
	if (!ret)
		ret = check_type_field(decode, &format.common[COMMON_TYPE]);
	if (ret)
		return ret;
	format.minimum = minimum_size(&format);
	ret = compile_text(decode, &format);
	if (!ret)
		ret = store_format(decode, type, &format);
	if (ret)
		print_format_free(format.text);
	return ret;
}

/* ---- records ---- */

static uint64_t read_bytes(const unsigned char *at, int size, bool big_endian)
{
	uint64_t value = 0;

	for (int i = 0; i < size; i++)
		value = value << 8 | at[big_endian ? i : size - 1 - i];
	return value;
}

static uint64_t read_field(const struct decode *decode, const struct field *field, const void *data)
{
	uint64_t value;
	int unused = 64 - field->size * 8;

	if (!field->size)
		return 0;
	value = read_bytes((const unsigned char *)data + field->offset, field->size,
			   decode->setup.layout.big_endian);
	if (field->is_signed)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	return value;
}

static int32_t read_int(const struct decode *decode, const struct field *field, const void *data)
{
	return (int32_t)read_field(decode, field, data);
}

static int ask_role(const struct decode *decode, uint64_t function)
{
	if (!decode->setup.role_of)
		return ROLE_NONE;
	return decode->setup.role_of(decode->setup.context, function);
}

/* The table never gets more than half full, so that a search in it ends soon. */
static int role_of(struct decode *decode, uint64_t function)
{
	size_t at = (function * 0x9e3779b97f4a7c15u) >> 52;
	struct role_entry *entry;

	_Static_assert(ROLES_MAX == 1 << (64 - 52), "the hash has the bits of the table");
	for (;; at++) {
		entry = &decode->roles[at % ROLES_MAX];
		if (!entry->used)
			break;
		if (entry->function == function)
			return entry->role;
	}
	if (decode->nr_roles >= ROLES_MAX / 2)
		return ask_role(decode, function);
	decode->nr_roles++;
	entry->used = true;
	entry->function = function;
	entry->role = ask_role(decode, function);
	return entry->role;
}

static int16_t indent_of(const struct decode *decode, int cpu)
{
	return cpu >= 0 && cpu < CPUS_MAX ? decode->indent[cpu] : 0;
}

static void set_indent(struct decode *decode, int cpu, int32_t depth)
{
	if (cpu >= 0 && cpu < CPUS_MAX)
		decode->indent[cpu] = (int16_t)(depth - 1);
}

static int give(const struct decode *decode, const struct record *record)
{
	return decode->setup.sink(decode->setup.sink_context, record);
}

/* Of what is wholly in the record itself. */
static void drop_payload(struct record *record)
{
	record->raw = NULL;
	record->raw_size = 0;
}

static int give_window(struct decode *decode, const struct format *format, const void *data,
		       struct record *record)
{
	struct record_window *window = &record->window;
	const struct field *fields = format->fields;

	window->depth = read_int(decode, &fields[WINDOW_DEPTH], data);
	if (window->depth < 0 || window->depth > DEPTH_MAX) {
		decode->damaged++;
		return 0;
	}
	window->function = read_field(decode, &fields[WINDOW_FUNCTION], data);
	window->calltime = read_field(decode, &fields[WINDOW_CALLTIME], data);
	window->rettime = read_field(decode, &fields[WINDOW_RETTIME], data);
	if (!decode->setup.local_clock) {
		window->calltime = record->ts - (window->rettime - window->calltime);
		window->rettime = record->ts;
	}
	window->role = role_of(decode, window->function);
	set_indent(decode, record->cpu, window->depth);
	record->kind = RECORD_WINDOW;
	record->indent = indent_of(decode, record->cpu);
	drop_payload(record);
	return give(decode, record);
}

static int give_event(struct decode *decode, const struct format *format, const void *data,
		      struct record *record)
{
	const struct field *bound = format->fields;
	struct record_fields *fields = &record->fields;

	record->kind = RECORD_EVENT;
	record->event = (uint16_t)format->event;
	fields->shrinker = read_field(decode, &bound[FIELD_SHRINKER], data);
	fields->callback = read_field(decode, &bound[FIELD_CALLBACK], data);
	fields->gfp = read_field(decode, &bound[FIELD_GFP], data);
	fields->nr_reclaimed = read_field(decode, &bound[FIELD_NR_RECLAIMED], data);
	fields->nr_scanned = read_field(decode, &bound[FIELD_NR_SCANNED], data);
	fields->memcg_id = read_field(decode, &bound[FIELD_MEMCG_ID], data);
	fields->order = read_int(decode, &bound[FIELD_ORDER], data);
	fields->nid = read_int(decode, &bound[FIELD_NID], data);
	fields->status = read_int(decode, &bound[FIELD_STATUS], data);
	fields->usec_delayed = read_int(decode, &bound[FIELD_USEC_DELAYED], data);
	return give(decode, record);
}

/* Our own mark is "allocfilt: realtime SECONDS.NANOSECONDS"; what else is printed is not ours. */
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
	*ret_ns = seconds * 1000000000 + ns;
	return true;
}

static int give_clock(struct decode *decode, const struct format *format, const void *data,
		      size_t size, struct record *record)
{
	size_t offset = format->fields[0].offset;

	if (!parse_clock((const char *)data + offset, size - offset, &record->realtime))
		return 0;
	record->kind = RECORD_CLOCK;
	drop_payload(record);
	return give(decode, record);
}

/* A __data_loc: where a text is, and how long with its NUL. */
static void locate_name(const struct decode *decode, const struct format *format, const void *data,
			size_t size, struct record_superblock *superblock)
{
	uint64_t location = read_field(decode, &format->fields[SUPERBLOCK_NAME], data);
	size_t offset = location & 0xffff, length = location >> 16 & 0xffff;

	if (!length || offset >= size || length > size - offset)
		return;
	length = strnlen((const char *)data + offset, length);
	superblock->name = (uint16_t)offset;
	superblock->name_length = (uint16_t)length;
}

static int give_superblock(struct decode *decode, const struct format *format, const void *data,
			   size_t size, struct record *record)
{
	const struct field *fields = format->fields;
	struct record_superblock *superblock = &record->superblock;

	record->kind = RECORD_SUPERBLOCK;
	superblock->shrinker = read_field(decode, &fields[SUPERBLOCK_SHRINKER], data);
	superblock->callback = read_field(decode, &fields[SUPERBLOCK_CALLBACK], data);
	superblock->device = (uint32_t)read_field(decode, &fields[SUPERBLOCK_DEVICE], data);
	locate_name(decode, format, data, size, superblock);
	return give(decode, record);
}

/* The kernel's print goes to the end of the record, or to a frame of all ones. */
static size_t read_frames(struct decode *decode, const struct format *format, const void *data,
			  size_t size)
{
	struct field frame = {
		.offset = format->fields[0].offset,
		.size = (uint8_t)decode->setup.layout.long_size,
	};
	uint64_t end = frame.size == 4 ? UINT32_MAX : UINT64_MAX;
	size_t count = 0;

	for (; count < STACK_DEPTH_MAX && frame.offset + frame.size <= size; count++) {
		decode->frames[count] = read_field(decode, &frame, data);
		if (decode->frames[count] == end)
			break;
		frame.offset += frame.size;
	}
	return count;
}

static int give_stack(struct decode *decode, const struct format *format, const void *data,
		      size_t size, struct record *record)
{
	struct record_stack *stack = &record->stack;
	size_t count;

	if (!decode->setup.stacks)
		return 0;
	count = read_frames(decode, format, data, size);
	record->kind = RECORD_STACK;
	drop_payload(record);
	stack->ts = record->ts;
	stack->flags = record->flags;
	stack->preempt_count =
		(uint8_t)read_field(decode, &format->common[COMMON_PREEMPT_COUNT], data);
	stack->number = stacks_add(decode->setup.stacks, decode->frames, count);
	return give(decode, record);
}

static void count_unknown(struct decode *decode, int type)
{
	if (!decode->unknown++)
		decode->first_unknown = type;
}

static uint16_t index_of(struct decode *decode, uint16_t type)
{
	if (!decode->by_type[type] && !decode->asked && decode->setup.more_formats) {
		decode->asked = true;
		decode->setup.more_formats(decode->setup.sink_context);
	}
	return decode->by_type[type];
}

/* The format of a record, or NULL for one that is to be left out, which is counted here. */
static const struct format *format_of(struct decode *decode, const void *data, size_t size)
{
	const struct format *format;
	uint16_t type, index;

	if (size < (size_t)decode->type.offset + decode->type.size || !decode->type.size) {
		decode->damaged += decode->type.size != 0;
		return NULL;
	}
	type = (uint16_t)read_field(decode, &decode->type, data);
	index = index_of(decode, type);
	if (!index)
		count_unknown(decode, type);
	if (!index || index == TYPE_IGNORED)
		return NULL;
	format = &decode->formats[index - 1];
	if (size < format->minimum || size > UINT16_MAX) {
		decode->damaged++;
		return NULL;
	}
	return format;
}

int decode_record(void *context, int cpu, uint64_t ts, const void *data, size_t size)
{
	struct decode *decode = context;
	const struct format *format = format_of(decode, data, size);
	struct record record = { .ts = ts, .cpu = cpu, .raw = data };

	if (!format)
		return 0;
	record.raw_size = (uint16_t)size;
	record.pid = read_int(decode, &format->common[COMMON_PID], data);
	record.flags = (uint8_t)read_field(decode, &format->common[COMMON_FLAGS], data);
	record.indent = indent_of(decode, cpu);
	if (format->event == DECODE_FUNCGRAPH_EXIT)
		return give_window(decode, format, data, &record);
	if (format->event == DECODE_PRINT)
		return give_clock(decode, format, data, size, &record);
	if (format->event == DECODE_SUPERBLOCK)
		return give_superblock(decode, format, data, size, &record);
	if (format->event == DECODE_STACK)
		return give_stack(decode, format, data, size, &record);
	return give_event(decode, format, data, &record);
}

int decode_lost(void *context, int cpu, uint64_t ts, int64_t count)
{
	const struct decode *decode = context;
	const struct record record = {
		.kind = RECORD_LOST,
		.ts = ts,
		.cpu = cpu,
		.indent = indent_of(decode, cpu),
		.lost = count,
	};

	return give(decode, &record);
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

/* ---- text ---- */

static size_t copy_text(char *text, size_t size, const char *from, size_t length)
{
	if (!size)
		return 0;
	if (length >= size)
		length = size - 1;
	memcpy(text, from, length);
	text[length] = '\0';
	return length;
}

/* For events whose format print_format does not know: only a user's own (-e) can have one. */
static size_t library_text(struct decode *decode, const struct record *record, char *text,
			   size_t size)
{
	struct tep_record raw = {
		.ts = record->ts,
		.cpu = record->cpu,
		.size = record->raw_size,
		.record_size = record->raw_size,
		.data = (void *)(uintptr_t)record->raw,
	};
	struct trace_seq *seq = &decode->seq;
	size_t length;

	trace_seq_reset(seq);
	tep_print_event(decode->tep, seq, &raw, "%s", TEP_PRINT_INFO);
	length = seq->len < seq->buffer_size ? seq->len : 0;
	while (length && seq->buffer[length - 1] == '\n')
		length--;
	return copy_text(text, size, seq->buffer, length);
}

size_t decode_text(struct decode *decode, const struct record *record, char *text, size_t size)
{
	const struct format *format = NULL;
	size_t length;
	uint16_t index = 0;

	if (record->raw_size >= decode->type.offset + decode->type.size)
		index = decode->by_type[(uint16_t)read_field(decode, &decode->type, record->raw)];
	if (!index || record->kind != RECORD_EVENT)
		return copy_text(text, size, "", 0);
	format = &decode->formats[index - 1];
	length = copy_text(text, size, format->parsed->name, strlen(format->parsed->name));
	length += copy_text(text + length, size - length, ": ", 2);
	if (format->text)
		return length + print_format_text(format->text, record->raw, record->raw_size,
						  text + length, size - length);
	return length + library_text(decode, record, text + length, size - length);
}
