// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of a format file, and a record that it describes. An input is a byte for the kernel, one
 * for the event that is bound, the text, a NUL and the record.
 */
#include <inttypes.h>

#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "fuzz.h"
#include "record/event_format.h"
#include "record/print_format.h"

static const int cpus[] = { 0 };

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	int length = snprintf(text, size, "%c_%" PRIx64, style, address);

	return length < (int)size ? length : (int)size - 1;
}

/* In room of several sizes, exactly: what is cut is the same text. */
static void print(size_t (*print_to)(const void *context, const void *record, size_t record_size,
				     char *text, size_t size),
		  const void *context, const void *record, size_t record_size)
{
	static const size_t sizes[] = { 4096, 300, 20, 2, 1 };
	char *whole = malloc(sizes[0]);
	size_t length = print_to(context, record, record_size, whole, sizes[0]);

	PROMISED(length < sizes[0] && strlen(whole) <= length);
	for (size_t i = 1; i < ARRAY_SIZE(sizes); i++) {
		size_t fits = length < sizes[i] ? length : sizes[i] - 1;
		char *text = malloc(sizes[i]);

		PROMISED(print_to(context, record, record_size, text, sizes[i]) == fits);
		PROMISED(!memcmp(text, whole, fits) && !text[fits]);
		free(text);
	}
	free(whole);
}

static size_t print_format(const void *format, const void *record, size_t record_size, char *text,
			   size_t size)
{
	return print_format_text(format, record, record_size, text, size);
}

static void use_record(struct decode *decode, struct record *record)
{
	char text[1024];

	if (record->kind == RECORD_WINDOW || record->kind == RECORD_EVENT)
		decode_fields(decode, record);
	if (record->kind == RECORD_SUPERBLOCK)
		PROMISED(record->superblock.name + record->superblock.name_length <=
			 record->raw_size);
	PROMISED(decode_text(decode, record, text, sizeof(text)) < sizeof(text));
}

/* Through decode, which finds the format by the type in the record. */
static void decode_one(const struct data_source *source, int event, const char *text, void *record,
		       size_t record_size)
{
	struct decode *decode = decode_new(source, symbol, NULL);
	const struct raw_record raw = { .ts = 1000, .data = record, .size = record_size };
	struct record decoded;
	const char *id = strstr(text, "ID: ");
	int number = event < 0 ? event : 0;

	if (!decode_add_format(decode, number, event < 0 ? EVENT_USER : event, text,
			       strlen(text))) {
		uint16_t type = (uint16_t)atoi(id + 4);
		uint8_t bytes[] = { type & 255, type >> 8 };

		if (record_size >= sizeof(type))
			memcpy(record,
			       source->layout.big_endian ? (uint8_t[]){ bytes[1], bytes[0] } :
							   bytes,
			       sizeof(type));
		for (int i = 0; i < 2; i++)
			if (decode_record(decode, &raw, &decoded))
				use_record(decode, &decoded);
	}
	decode_free(decode);
}

static void print_one(const struct data_source *source, const char *text, const void *record,
		      size_t record_size)
{
	const struct print_setup setup = {
		.long_size = source->layout.long_size,
		.big_endian = source->layout.big_endian,
		.symbol = symbol,
	};
	struct event_format event;
	struct print_format *format;
	char *copy = strdup(text);

	if (!event_format_parse(&event, copy)) {
		for (size_t i = 0; i < event.nr_fields; i++)
			PROMISED(event.fields[i].offset + event.fields[i].size <= UINT16_MAX);
		PROMISED(!print_format_new(&format, &event, &setup));
		free(copy);
		copy = NULL;
		print(print_format, format, record, record_size);
		print_format_free(format);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct data_source source = { .cpus = { cpus, 1 }, .local_clock = true, .proc = "/proc" };
	const uint8_t *end;
	size_t record_size;
	void *record;
	char *text;
	int event;

	if (size < 3)
		return 0;
	source.layout = (struct page_layout){
		.size = 4096,
		.header = data[0] & 1 ? 12 : 16,
		.long_size = data[0] & 1 ? 4 : 8,
		.big_endian = data[0] & 2,
	};
	event = data[1] % (EVENT_USER + 1 - DECODE_STACK) + DECODE_STACK;
	data += 2;
	size -= 2;
	end = memchr(data, '\0', size);
	text = strndup((const char *)data, size);
	record_size = end ? (size_t)(data + size - (end + 1)) : 0;
	record = exact_copy(data + size - record_size, record_size);
	print_one(&source, text, record, record_size);
	decode_one(&source, event, text, record, record_size);
	free(record);
	free(text);
	return 0;
}
