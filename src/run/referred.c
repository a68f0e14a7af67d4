// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/record.h"
#include "allocfilt/tracing.h"
#include "run/referred.h"

#define TEXT_MAX 4096

/* A set that is kept as a list in order. */
struct number_set {
	uint64_t *numbers;
	size_t count;
	size_t room;
};

struct reading {
	struct number_set addresses;
	struct number_set pids;
	struct decode *decode;
	struct page_reader *pages;
	struct stacks *stacks;
	uint32_t nr_stacks; /* whose frames are noted; the table may be full */
	int error;
	char text[TEXT_MAX];
};

static size_t place_of(const struct number_set *set, uint64_t number)
{
	size_t low = 0;
	size_t high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->numbers[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int make_room(struct number_set *set)
{
	size_t room = set->room ? 2 * set->room : 64;
	uint64_t *more;

	if (set->count < set->room)
		return 0;
	more = realloc(set->numbers, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	set->numbers = more;
	set->room = room;
	return 0;
}

static int add_number(struct number_set *set, uint64_t number)
{
	size_t place = place_of(set, number);

	if (place < set->count && set->numbers[place] == number)
		return 0;
	if (make_room(set))
		return -ENOMEM;
	memmove(set->numbers + place + 1, set->numbers + place,
		(set->count - place) * sizeof(*set->numbers));
	set->numbers[place] = number;
	set->count++;
	return 0;
}

static int note_function(void *context, uint64_t function)
{
	struct reading *reading = context;

	if (add_number(&reading->addresses, function))
		reading->error = -ENOMEM;
	return ROLE_NONE;
}

static int note_symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	struct reading *reading = context;

	(void)style;
	if (add_number(&reading->addresses, address))
		reading->error = -ENOMEM;
	if (size)
		*text = '\0';
	return 0;
}

/* Numbers are given in the order of first sight. */
static void note_stack(struct reading *reading, uint32_t number)
{
	const uint64_t *frames;
	size_t count;

	if (number <= reading->nr_stacks)
		return;
	reading->nr_stacks = number;
	count = stacks_of(reading->stacks, number, &frames);
	for (size_t i = 0; i < count; i++)
		if (add_number(&reading->addresses, frames[i]))
			reading->error = -ENOMEM;
}

static int note_record(void *context, const struct record *record)
{
	struct reading *reading = context;

	if (record->kind == RECORD_EVENT)
		decode_text(reading->decode, record, reading->text, sizeof(reading->text));
	if (record->kind == RECORD_STACK)
		note_stack(reading, record->stack.number);
	if (record->kind == RECORD_EVENT || record->kind == RECORD_WINDOW)
		if (add_number(&reading->pids, record->pid))
			reading->error = -ENOMEM;
	return reading->error;
}

static void add_format(struct reading *reading, const char *dir, int event, int id,
		       const char *system, const char *name)
{
	char path[600];
	size_t length;
	char *text;

	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	if (!file_read(dir, path, &text, &length)) {
		decode_add_format(reading->decode, event, id, system, text, length);
		free(text);
	}
}

static int prepare(struct reading *reading, const struct capture *capture, const struct plan *plan)
{
	const struct data_source *source = capture_source(capture);
	const struct decode_callbacks decode = {
		.role_of = note_function,
		.symbol = note_symbol,
		.context = reading,
		.sink = note_record,
		.sink_context = reading,
	};
	struct page_sink pages = { .record = decode_record, .lost = decode_lost };

	reading->stacks = stacks_new();
	reading->decode = decode_new(source, reading->stacks, &decode);
	pages.context = reading->decode;
	if (reading->decode)
		reading->pages = page_reader_new(&source->layout, &pages);
	if (!reading->pages || !reading->stacks)
		return -ENOMEM;
	for (int i = 0; i < plan->nr_events; i++)
		add_format(reading, source->dir, i, plan->events[i].id, plan->events[i].system,
			   plan->events[i].name);
	add_format(reading, source->dir, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace",
		   "funcgraph_exit");
	add_format(reading, source->dir, DECODE_STACK, EVENT_USER, "ftrace", "kernel_stack");
	return 0;
}

static bool always_ready(void *context, int cpu)
{
	(void)context;
	(void)cpu;
	return true;
}

static void left_with_data(void *context, int cpu)
{
	(void)context;
	(void)cpu;
}

static int read_page(void *context, int cpu, const void *page, size_t length, bool last)
{
	struct reading *reading = context;
	enum page_state state;

	(void)last;
	return page_read(reading->pages, cpu, page, length, &state);
}

static int read_pages(struct reading *reading, struct capture *capture)
{
	struct source_sink sink = {
		.context = reading,
		.ready = always_ready,
		.page = read_page,
		.left_with_data = left_with_data,
	};
	int more;

	do {
		more = capture_round(capture, &sink);
	} while (more > 0);
	return more;
}

static int give(struct referred *referred, struct reading *reading)
{
	referred->pids = calloc(reading->pids.count + 1, sizeof(*referred->pids));
	if (!referred->pids)
		return -ENOMEM;
	for (size_t i = 0; i < reading->pids.count; i++)
		referred->pids[i] = reading->pids.numbers[i];
	referred->nr_pids = reading->pids.count;
	referred->addresses = reading->addresses.numbers;
	referred->nr_addresses = reading->addresses.count;
	reading->addresses.numbers = NULL;
	return 0;
}

int referred_read(struct referred *referred, struct capture *capture, const struct plan *plan)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	int ret;

	if (!reading)
		return -ENOMEM;
	ret = prepare(reading, capture, plan);
	if (!ret)
		ret = read_pages(reading, capture);
	if (!ret)
		ret = give(referred, reading);
	page_reader_free(reading->pages);
	decode_free(reading->decode);
	stacks_free(reading->stacks);
	free(reading->addresses.numbers);
	free(reading->pids.numbers);
	free(reading);
	return ret;
}

void referred_free(struct referred *referred)
{
	free(referred->addresses);
	free(referred->pids);
}
