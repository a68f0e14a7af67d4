// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "names/event_text.h"
#include "names/print_program.h"

struct event_texts {
	struct page_layout layout;
	struct symbols *symbols;
	int count;
	struct print_program programs[]; /* by index in the plan; without steps: no format */
};

struct event_texts *event_texts_new(int count, const struct page_layout *layout,
				    struct symbols *symbols)
{
	struct event_texts *texts =
		calloc(1, sizeof(*texts) + (size_t)count * sizeof(texts->programs[0]));

	if (!texts)
		return NULL;
	texts->layout = *layout;
	texts->symbols = symbols;
	texts->count = count;
	return texts;
}

void event_texts_free(struct event_texts *texts)
{
	if (!texts)
		return;
	for (int i = 0; i < texts->count; i++)
		print_program_free(&texts->programs[i]);
	free(texts);
}

int event_texts_add(struct event_texts *texts, int event, const char *text, size_t length)
{
	struct event_format format;
	int ret = event_format_read(&format, text, length);

	if (ret)
		return ret;
	print_program_free(&texts->programs[event]);
	ret = print_compile(&texts->programs[event], &format, texts->layout.long_size);
	event_format_free(&format);
	return ret;
}

size_t event_text(const struct event_texts *texts, const struct record *record, const char *field,
		  char *text, size_t size)
{
	const struct print_source source = {
		.data = record->raw,
		.size = record->raw_size,
		.big_endian = texts->layout.big_endian,
		.symbols = texts->symbols,
	};

	if (size)
		*text = '\0';
	if (!size || record->kind != RECORD_EVENT || record->event >= texts->count ||
	    !texts->programs[record->event].steps)
		return 0;
	return print_run(&texts->programs[record->event], &source, field, text, size);
}
