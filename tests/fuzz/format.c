// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of a format file, and a record that it describes. An input is a byte for the kernel, one
 * for the event that is bound, the text, a NUL and the record.
 */
#include <inttypes.h>

#include "allocfilt/base/base.h"
#include "allocfilt/plan/catalog.h"
#include "allocfilt/record/decode.h"
#include "allocfilt/record/format.h"
#include "fuzz.h"
#include "names/symbols.h"

static const int cpus[] = { 0 };

/* The linker takes this one, as it comes before the library's. */
int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size)
{
	int length = snprintf(text, size, "%c_%" PRIx64, style, address);

	return length < (int)size ? length : (int)size - 1;
}

/* In room of several sizes, exactly: what is cut is the same text. */
static void print(const struct event_texts *texts, const struct record *record, const char *field)
{
	static const size_t sizes[] = { 4096, 300, 20, 2, 1 };
	char *whole = malloc(sizes[0]);
	size_t length = event_text(texts, record, field, whole, sizes[0]);

	PROMISED(length < sizes[0] && strlen(whole) == length);
	for (size_t i = 1; i < ARRAY_SIZE(sizes); i++) {
		size_t fits = length < sizes[i] ? length : sizes[i] - 1;
		char *text = malloc(sizes[i]);

		PROMISED(event_text(texts, record, field, text, sizes[i]) == fits);
		PROMISED(!memcmp(text, whole, fits) && !text[fits]);
		free(text);
	}
	free(whole);
}

static void use_record(struct decode *decode, struct record *record)
{
	if (record->kind == RECORD_WINDOW || record->kind == RECORD_EVENT)
		decode_fields(decode, record);
	if (record->kind == RECORD_SUPERBLOCK)
		PROMISED(record->superblock.name + record->superblock.name_length <=
			 record->raw_size);
}

/* Through decode, which finds the format by the type in the record. */
static void decode_one(const struct data_source *source, int event, const char *text, void *record,
		       size_t record_size)
{
	struct decode *decode = decode_new(source);
	const struct raw_record raw = { .ts = 1000, .data = record, .size = record_size };
	struct record decoded;
	int number = event < 0 ? event : 0;

	if (!decode_add_format(decode, number, event < 0 ? EVENT_USER : event, text,
			       strlen(text))) {
		uint16_t type = (uint16_t)event_format_id(text, strlen(text));
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

static void check_fields(const struct tep_format_field *field)
{
	for (; field; field = field->next)
		PROMISED(field->offset >= 0 && field->size >= 0 &&
			 field->offset + field->size <= UINT16_MAX && strlen(field->name) &&
			 strlen(field->type));
}

static void print_one(const struct data_source *source, const char *text, const void *record,
		      size_t record_size)
{
	struct event_texts *texts = event_texts_new(1, &source->layout, NULL);
	struct record event = {
		.kind = RECORD_EVENT,
		.raw = record,
		.raw_size = (uint16_t)record_size,
	};
	struct event_format format;
	int ret = event_format_read(&format, text, strlen(text));

	PROMISED(event_texts_add(texts, 0, text, strlen(text)) == ret);
	if (!ret) {
		check_fields(format.event->format.common_fields);
		check_fields(format.event->format.fields);
		print(texts, &event, NULL);
		print(texts, &event, "common_type");
		if (format.event->format.fields)
			print(texts, &event, format.event->format.fields->name);
		event_format_free(&format);
	}
	event_texts_free(texts);
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
	record_size = record_size > UINT16_MAX ? UINT16_MAX : record_size;
	record = exact_copy(data + size - record_size, record_size);
	print_one(&source, text, record, record_size);
	decode_one(&source, event, text, record, record_size);
	free(record);
	free(text);
	return 0;
}
