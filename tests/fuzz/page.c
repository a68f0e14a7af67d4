// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of a ring buffer: checked, walked, merged, and their records decoded and printed with the
 * formats of a fixture. The first byte chooses the fixture (each has another byte order or size of
 * a long), and whether pages come while others are merged.
 */
#include <inttypes.h>

#include "allocfilt/base/base.h"
#include "allocfilt/capture/read.h"
#include "allocfilt/record/decode.h"
#include "allocfilt/record/merge.h"
#include "allocfilt/record/stacks.h"
#include "fuzz.h"
#include "names/event_text.h"
#include "names/symbols.h"

#define PAGES_MAX 4

static const char *const fixtures[] = { "fixtures/kept", "fixtures/s390x", "fixtures/i386",
					"fixtures/off-cpu" };

struct kernel {
	struct capture *capture;
	struct plan *plan;
	const struct data_source *source;
	struct stacks *stacks;
	struct decode *decode;
	struct event_texts *texts;
};

static struct kernel kernels[ARRAY_SIZE(fixtures)];

/* The linker takes this one, as it comes before the library's. */
int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size)
{
	int length = snprintf(text, size, "%c_%" PRIx64, style, address);

	return length < (int)size ? length : (int)size - 1;
}

static void print(struct kernel *kernel, const struct record *record)
{
	static const size_t sizes[] = { 4096, 100, 7, 1 };
	char *whole = malloc(sizes[0]);
	size_t length = event_text(kernel->texts, record, NULL, whole, sizes[0]);

	PROMISED(length < sizes[0] && strlen(whole) == length);
	for (size_t i = 1; i < ARRAY_SIZE(sizes); i++) {
		size_t fits = length < sizes[i] ? length : sizes[i] - 1;
		char *text = malloc(sizes[i]);

		PROMISED(event_text(kernel->texts, record, NULL, text, sizes[i]) == fits);
		PROMISED(!memcmp(text, whole, fits) && !text[fits]);
		free(text);
	}
	free(whole);
}

static void use_record(struct kernel *kernel, struct record *record)
{
	struct record again;
	const uint64_t *frames;

	if (record->kind == RECORD_WINDOW || record->kind == RECORD_EVENT) {
		PROMISED(decode_task(kernel->decode, record->ts, record->raw, record->raw_size,
				     &again));
		PROMISED(again.tid == record->tid && again.event == record->event);
	}
	if (record->kind == RECORD_WINDOW)
		PROMISED(record->window.rettime >= record->window.calltime);
	if (record->kind == RECORD_EVENT) {
		decode_fields(kernel->decode, record);
		print(kernel, record);
	}
	if (record->kind == RECORD_SUPERBLOCK)
		PROMISED(record->superblock.name + record->superblock.name_length <=
			 record->raw_size);
	if (record->kind == RECORD_STACK) {
		record->stack.number =
			stacks_add(kernel->stacks, record->frames.at, record->frames.count);
		stacks_of(kernel->stacks, record->stack.number, &frames);
	}
}

static void read_formats(struct kernel *kernel)
{
	struct decode *decode = kernel->decode;

	for (int i = 0; i < kernel->plan->nr_events; i++) {
		const struct plan_event *event = &kernel->plan->events[i];

		decode_read_format(decode, i, event->id, event->system, event->name);
	}
	decode_read_format(decode, DECODE_PRINT, EVENT_USER, "ftrace", "print");
	decode_read_format(decode, DECODE_SUPERBLOCK, EVENT_USER, "allocfilt", "shrinker");
	decode_read_format(decode, DECODE_STACK, EVENT_USER, "ftrace", "kernel_stack");
	PROMISED(!decode_read_format(decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace",
				     "funcgraph_exit"));
}

static void read_texts(struct kernel *kernel)
{
	kernel->texts = event_texts_new(kernel->plan->nr_events, &kernel->source->layout, NULL);
	for (int i = 0; i < kernel->plan->nr_events; i++) {
		const struct plan_event *event = &kernel->plan->events[i];
		char path[256], *text;
		size_t length;

		snprintf(path, sizeof(path), "events/%s/%s/format", event->system, event->name);
		if (source_read(kernel->source, path, &text, &length))
			continue;
		PROMISED(!event_texts_add(kernel->texts, i, text, length));
		free(text);
	}
}

static void start_decode(struct kernel *kernel)
{
	decode_free(kernel->decode);
	stacks_free(kernel->stacks);
	kernel->stacks = stacks_new();
	kernel->decode = decode_new(kernel->source);
	read_formats(kernel);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
		struct plan_request request = { .threshold = 1000, .off_cpu = true };
		struct kernel *kernel = &kernels[i];
		struct plan_offer offer;
		struct failure failure;

		PROMISED(!capture_open(&kernel->capture, fixtures[i], &failure));
		kernel->source = capture_source(kernel->capture);
		capture_offer(kernel->capture, &offer);
		PROMISED(!plan_make(&kernel->plan, &request, &offer, &failure));
		read_texts(kernel);
		start_decode(kernel);
	}
	return 0;
}

#define PAGES_COME_LATE 0x80 /* in the first byte */

/* The pages of all CPUs in turn, of which some may not be there yet. */
struct pages {
	struct kernel *kernel;
	uint8_t *pages[PAGES_MAX]; /* in blocks of their own size; NULL: read */
	size_t lengths[PAGES_MAX];
	uint8_t *given[PAGES_MAX]; /* by place: until the next one */
	int there;		   /* pages that can be read */
	int64_t lost;		   /* losses that were given */
	size_t records;		   /* that were given */
};

static size_t count_records(const struct kernel *kernel, const struct page_content *content)
{
	uint64_t newest = content->ts;
	struct page_cursor cursor;
	size_t records = 0;
	int ret;

	page_begin(&cursor, &kernel->source->layout, content->data, content->size, content->ts);
	while ((ret = page_next(&cursor)) > 0) {
		newest = cursor.ts > newest ? cursor.ts : newest;
		records++;
	}
	PROMISED(!ret && newest == content->newest);
	return records;
}

static int read_page(void *context, int place, uint64_t *newest, struct page_content *content)
{
	struct pages *pages = context;
	const struct page_layout *layout = &pages->kernel->source->layout;
	struct page_layout guess = *layout;
	enum page_state state;
	int i = place;

	if (place >= PAGES_MAX)
		return 0;
	free(pages->given[place]);
	pages->given[place] = NULL;
	while (i < pages->there && !pages->pages[i])
		i += pages->kernel->source->cpus.count;
	if (i >= pages->there)
		return 0;
	pages->given[place] = pages->pages[i];
	page_layout_guess_order(&guess, pages->pages[i], pages->lengths[i]);
	state = page_check(layout, pages->pages[i], pages->lengths[i], content);
	if (state > PAGE_EMPTY || !page_in_order(content, UINT64_MAX, newest))
		*content = (struct page_content){ .lost = RECORD_LOST_UNKNOWN };
	else
		pages->records += count_records(pages->kernel, content);
	PROMISED(!content->size || (const uint8_t *)content->data + content->size <=
					   pages->pages[i] + pages->lengths[i]);
	pages->lost += !!content->lost;
	pages->pages[i] = NULL;
	return 1;
}

static void use_raw(struct kernel *kernel, const struct raw_record *raw)
{
	void *data = raw->data ? exact_copy(raw->data, raw->size) : NULL;
	struct raw_record copy = *raw;
	struct record record;

	copy.data = data;
	if (decode_record(kernel->decode, &copy, &record))
		use_record(kernel, &record);
	free(data);
}

/* Times never go back, but where pages come late: then those of a CPU do not. */
static void merge_all(struct pages *pages, bool late)
{
	const struct data_source *source = pages->kernel->source;
	const struct page_source from = { read_page, pages, late };
	struct merge *merge = merge_new(&source->cpus, &source->layout, &from);
	uint64_t last[PAGES_MAX] = { 0 };
	int64_t lost = 0;
	size_t records = 0;

	for (pages->there = late ? 1 : PAGES_MAX; pages->there <= PAGES_MAX; pages->there++) {
		struct raw_record raw;

		while (merge_next(merge, &raw) > 0) {
			uint64_t *before = &last[late ? raw.cpu % PAGES_MAX : 0];

			PROMISED(raw.ts >= *before);
			*before = raw.ts;
			records += !!raw.data;
			lost += !raw.data;
			use_raw(pages->kernel, &raw);
		}
		PROMISED(records == pages->records && lost == pages->lost);
	}
	merge_free(merge);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pages pages = { NULL };
	bool late;

	if (!size)
		return 0;
	pages.kernel = &kernels[*data % ARRAY_SIZE(fixtures)];
	late = *data & PAGES_COME_LATE;
	data++;
	size--;
	for (int i = 0; size && i < PAGES_MAX; i++) {
		size_t length = pages.kernel->source->layout.size;

		if (length > size)
			length = size;
		pages.pages[i] = exact_copy(data, length);
		pages.lengths[i] = length;
		data += length;
		size -= length;
	}
	merge_all(&pages, late);
	for (int i = 0; i < PAGES_MAX; i++) {
		free(pages.given[i]);
		free(pages.pages[i]);
	}
	return 0;
}
