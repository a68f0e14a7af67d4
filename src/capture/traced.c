// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/traced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/plan.h"

#define FUNCTIONS_MAX 256
#define ENTRY_MAX     16 /* bytes: some architectures record the address of a call at its beginning */

struct traced_function {
	uint64_t address;
	const char *name; /* in the text of kallsyms */
	bool seen;
};

struct traced {
	const struct data_source *source;
	struct decode *decode;
	char *symbols;
	struct traced_function functions[FUNCTIONS_MAX]; /* by address */
	size_t count;
	uint64_t windows;
	uint64_t events;
	uint64_t bad_pages;
};

static int by_address(const void *left, const void *right)
{
	const struct traced_function *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Lines of "ADDRESS TYPE NAME", with a module after a tab. */
static void read_functions(struct traced *traced)
{
	char *next = traced->symbols, *line;

	while ((line = strsep(&next, "\n")) && traced->count < FUNCTIONS_MAX) {
		char *name, *end;
		uint64_t address = strtoull(line, &end, 16);

		if (!address || end[0] != ' ' || !end[1] || end[2] != ' ')
			continue;
		name = end + 3;
		if (strchr(name, '\t') || catalog_role_of(name) == ROLE_NONE)
			continue;
		traced->functions[traced->count++] =
			(struct traced_function){ .address = address, .name = name };
	}
	qsort(traced->functions, traced->count, sizeof(traced->functions[0]), by_address);
}

static void see_record(struct traced *traced, const struct record *record)
{
	size_t low = 0, high = traced->count;

	traced->windows += record->kind == RECORD_WINDOW;
	traced->events += record->kind == RECORD_EVENT;
	if (record->kind != RECORD_WINDOW)
		return;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (traced->functions[middle].address <= record->window.function)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && record->window.function - traced->functions[low - 1].address < ENTRY_MAX)
		traced->functions[low - 1].seen = true;
}

int traced_new(struct traced **ret_traced, const struct data_source *source)
{
	struct traced *traced = calloc(1, sizeof(*traced));

	if (!traced)
		return -ENOMEM;
	traced->source = source;
	traced->decode = decode_new(source, NULL, NULL);
	if (!traced->decode) {
		free(traced);
		return -ENOMEM;
	}
	if (!source_read(source, "kallsyms", &traced->symbols, NULL))
		read_functions(traced);
	decode_read_format(traced->decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace",
			   "funcgraph_exit");
	for (int id = 0; id < EVENT_COUNT; id++)
		decode_read_format(traced->decode, id, EVENT_USER, catalog_events[id].system,
				   catalog_events[id].name);
	*ret_traced = traced;
	return 0;
}

void traced_free(struct traced *traced)
{
	if (!traced)
		return;
	decode_free(traced->decode);
	free(traced->symbols);
	free(traced);
}

void traced_page(struct traced *traced, const struct capture_page *page)
{
	struct page_content content;
	struct page_cursor cursor;
	struct record record;
	enum page_state state =
		page_check(&traced->source->layout, page->data, page->length, &content);

	/* A copy of a live buffer may end in a page that is cut. */
	if (state != PAGE_GOOD) {
		traced->bad_pages += state != PAGE_EMPTY && !(page->last && state != PAGE_DAMAGED);
		return;
	}
	page_begin(&cursor, &traced->source->layout, content.data, content.size, content.ts);
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

uint64_t traced_windows(const struct traced *traced)
{
	return traced->windows;
}

uint64_t traced_events(const struct traced *traced)
{
	return traced->events;
}

uint64_t traced_bad_pages(const struct traced *traced)
{
	return traced->bad_pages;
}

/*
 * Does the role own an event that nothing else can claim? If its function was not traced, such an event
 * is not shown either way, and what it tells of a stall is known.
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

	if (!file)
		return NULL;
	for (size_t i = 0; i < traced->count; i++)
		if (traced->functions[i].seen || owns_alone(traced->functions[i].name))
			fprintf(file, "%s\n", traced->functions[i].name);
	if (!fclose(file))
		return text;
	free(text);
	return NULL;
}
