// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/traced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/text.h"

#define ENTRY_MAX 16 /* bytes: some architectures record the address of a call at its beginning */

/* Lines of "ADDRESS TYPE NAME", with a module after a tab. */
static void add_functions(struct traced *traced)
{
	char *next = traced->symbols, *line, *end;

	while ((line = strsep(&next, "\n")) &&
	       traced->nr_functions < ARRAY_SIZE(traced->functions)) {
		uint64_t address = strtoull(line, &end, 16);

		if (address && end[0] == ' ' && end[1] && end[2] == ' ' && !strchr(end, '\t') &&
		    catalog_role_of(end + 3) != ROLE_NONE)
			traced->functions[traced->nr_functions++] =
				(struct traced_function){ .address = address, .name = end + 3 };
	}
}

int traced_init(struct traced *traced, const struct data_source *source)
{
	*traced = (struct traced){ .decode = decode_new(source) };
	if (!traced->decode)
		return -ENOMEM;
	if (!source_read(source, "kallsyms", &traced->symbols, NULL))
		add_functions(traced);
	decode_read_format(traced->decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace",
			   "funcgraph_exit");
	decode_read_format(traced->decode, DECODE_PRINT, EVENT_USER, "ftrace", "print");
	for (int id = 0; id < EVENT_COUNT; id++)
		decode_read_format(traced->decode, id, EVENT_USER, catalog_events[id].system,
				   catalog_events[id].name);
	return 0;
}

void traced_end(struct traced *traced)
{
	decode_free(traced->decode);
	free(traced->symbols);
}

static void see_record(struct traced *traced, const struct record *record)
{
	traced->windows += record->kind == RECORD_WINDOW;
	traced->events += record->kind == RECORD_EVENT;
	if (!traced->first || record->ts < traced->first)
		traced->first = record->ts;
	if (record->kind == RECORD_CLOCK) {
		traced->date = record->realtime - record->ts;
		traced->threshold = record->threshold;
		traced->own = record->tid;
	}
	if (record->kind != RECORD_WINDOW)
		return;
	for (size_t i = 0; i < traced->nr_functions; i++)
		if (record->window.function - traced->functions[i].address < ENTRY_MAX)
			traced->functions[i].seen = true;
}

void traced_page(struct traced *traced, const struct data_source *source,
		 const struct capture_page *page)
{
	struct page_content content;
	struct page_cursor cursor;
	struct record record;
	enum page_state state = page_check(&source->layout, page->data, page->length, &content);

	/* A copy of a live buffer may end in a page that is cut. */
	if (state != PAGE_GOOD) {
		traced->bad_pages += state != PAGE_EMPTY && !(page->last && state != PAGE_DAMAGED);
		return;
	}
	page_begin(&cursor, &source->layout, content.data, content.size, content.ts);
	while (page_next(&cursor) > 0) {
		const struct raw_record raw = {
			.ts = cursor.ts,
			.data = cursor.data,
			.size = cursor.size,
		};

		if (decode_record(traced->decode, &raw, &record))
			see_record(traced, &record);
	}
}

/*
 * Does the role own an event that no other role can own? If its function was not traced, such an
 * event is not shown either way, and a stall has its facts.
 */
static bool owns_alone(const char *function)
{
	uint64_t role = ROLE_BIT(catalog_role_of(function));

	for (int id = 0; id < EVENT_COUNT; id++) {
		const struct catalog_event *event = &catalog_events[id];

		if (event->owners & role && event->side == EVENT_SINGLE && !event->any_window &&
		    event->needs == ROLE_NONE)
			return true;
	}
	return false;
}

char *traced_filter(const struct traced *traced)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	for (size_t i = 0; file && i < traced->nr_functions; i++)
		if (traced->functions[i].seen || owns_alone(traced->functions[i].name))
			fprintf(file, "%s\n", traced->functions[i].name);
	return text_close(file, &text);
}
