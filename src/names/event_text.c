// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/text.h"
#include "names/event_text.h"
#include "names/print_program.h"

struct text_of_event {
	char *name; /* NULL: no format is known */
	struct print_program program;
};

struct event_texts {
	struct page_layout layout;
	struct symbols *symbols;
	int count;
	struct text_of_event events[]; /* by index in the plan */
};

struct event_texts *event_texts_new(int count, const struct page_layout *layout,
				    struct symbols *symbols)
{
	struct event_texts *texts =
		calloc(1, sizeof(*texts) + (size_t)count * sizeof(texts->events[0]));

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
	for (int i = 0; i < texts->count; i++) {
		free(texts->events[i].name);
		print_program_free(&texts->events[i].program);
	}
	free(texts);
}

int event_texts_add(struct event_texts *texts, int event, const char *text, size_t length)
{
	struct text_of_event *added = &texts->events[event];
	struct event_format format;
	int ret = event_format_read(&format, text, length);

	if (ret)
		return ret;
	free(added->name);
	print_program_free(&added->program);
	added->name = NULL;
	ret = print_compile(&added->program, &format, texts->layout.long_size);
	if (!ret && !(added->name = strdup(format.event->name)))
		ret = -ENOMEM;
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
	const struct text_of_event *event;
	size_t used = 0;

	if (size)
		*text = '\0';
	if (!size || record->kind != RECORD_EVENT || record->event >= texts->count)
		return 0;
	event = &texts->events[record->event];
	if (!event->name)
		return 0;
	if (!field) {
		used = text_append(text, size, 0, event->name);
		used = text_append(text, size, used, ": ");
	}
	return print_run(&event->program, &source, field, text, size, used);
}
