// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of a ring buffer: checked, walked, merged, and their records decoded and printed with the
 * formats of a fixture. The first byte chooses the fixture (each has another byte order or size of
 * a long), and whether a round of the merge is one page or all.
 */
#include <inttypes.h>

#include "allocfilt/capture.h"
#include "allocfilt/names/event_text.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "fuzz.h"
#include "names/symbols.h"

#define PAGES_MAX  4
#define STORED_MAX 8 /* at once */

static const char *const fixtures[] = { "fixtures/kept", "fixtures/s390x", "fixtures/i386",
					"fixtures/off-cpu" };

struct kernel {
	struct capture *capture;
	struct plan *plan;
	const struct data_source *source;
	struct stacks *stacks;
	struct decode *decode;
	struct event_texts *texts;
	struct payloads *payloads;
	struct stored_record stored[STORED_MAX];
	bool is_stored[STORED_MAX];
	unsigned int next;
};

static struct kernel kernels[ARRAY_SIZE(fixtures)];

static int role_of(void *context, uint64_t function)
{
	return (int)(function % (ROLE_COUNT + 1)) - 1;
}

/* The linker takes this one, as it comes before the library's. */
int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size)
{
	int length = snprintf(text, size, "%c_%" PRIx64, style, address);

	return length < (int)size ? length : (int)size - 1;
}

static uint64_t sleeps_in(void *context, const uint64_t *frames, size_t count)
{
	return count ? frames[count - 1] : 0;
}

static void print(struct kernel *kernel, const struct record *record)
{
	static const size_t sizes[] = { 4096, 100, 7, 1 };
	char *whole = malloc(sizes[0]);
	size_t length = event_text(kernel->texts, record, whole, sizes[0]);

	PROMISED(length < sizes[0] && strlen(whole) == length);
	for (size_t i = 1; i < ARRAY_SIZE(sizes); i++) {
		size_t fits = length < sizes[i] ? length : sizes[i] - 1;
		char *text = malloc(sizes[i]);

		PROMISED(event_text(kernel->texts, record, text, sizes[i]) == fits);
		PROMISED(!memcmp(text, whole, fits) && !text[fits]);
		free(text);
	}
	free(whole);
}

static void store(struct kernel *kernel, const struct record *record)
{
	unsigned int at = kernel->next++ % STORED_MAX;

	if (kernel->is_stored[at])
		record_store_release(&kernel->stored[at], kernel->payloads);
	kernel->is_stored[at] = false;
	while (record_store(&kernel->stored[at], record, kernel->payloads)) {
		struct stored_record *oldest = payloads_oldest(kernel->payloads);

		kernel->is_stored[oldest - kernel->stored] = false;
		record_store_release(oldest, kernel->payloads);
	}
	kernel->is_stored[at] = true;
	PROMISED(!record->raw_size ||
		 !memcmp(kernel->stored[at].record.raw, record->raw, record->raw_size));
}

static int use_record(void *context, struct record *record)
{
	struct kernel *kernel = context;
	struct record again;
	const uint64_t *frames;

	if (record->kind == RECORD_WINDOW || record->kind == RECORD_EVENT) {
		PROMISED(decode_task(kernel->decode, record->ts, record->raw, record->raw_size,
				     &again));
		PROMISED(again.tid == record->tid && again.event == record->event);
		decode_again(kernel->decode, record->cpu, record->ts, record->indent, record->raw,
			     record->raw_size, &again);
		decode_fields(kernel->decode, record);
		PROMISED(again.tid == record->tid && again.flags == record->flags &&
			 again.indent == record->indent);
	}
	if (record->kind == RECORD_WINDOW)
		PROMISED(record->window.rettime >= record->window.calltime);
	if (record->kind == RECORD_EVENT) {
		PROMISED(!memcmp(&again.fields, &record->fields, sizeof(again.fields)));
		print(kernel, record);
	}
	if (record->kind == RECORD_SUPERBLOCK)
		PROMISED(record->superblock.name + record->superblock.name_length <=
			 record->raw_size);
	if (record->kind == RECORD_STACK)
		stacks_of(kernel->stacks, record->stack.number, &frames);
	store(kernel, record);
	return 0;
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
	const struct decode_callbacks callbacks = {
		.role_of = role_of,
		.sleeps_in = sleeps_in,
		.sink = use_record,
		.sink_context = kernel,
	};

	decode_free(kernel->decode);
	stacks_free(kernel->stacks);
	kernel->stacks = stacks_new();
	kernel->decode = decode_new(kernel->source, kernel->stacks, &callbacks);
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
		kernel->payloads = payloads_new(0);
		read_texts(kernel);
		start_decode(kernel);
	}
	return 0;
}

#define EACH_PAGE_A_ROUND 0x80 /* in the first byte */

struct order {
	bool rounds;
	uint64_t ts[PAGES_MAX]; /* of each CPU, or of all */
	size_t records;
};

/* What comes in a later round may be older than what other CPUs had before. */
static void check_order(struct order *order, int cpu, uint64_t ts)
{
	uint64_t *last = &order->ts[order->rounds ? cpu % PAGES_MAX : 0];

	PROMISED(ts >= *last);
	*last = ts;
}

static int see_record(void *context, int cpu, uint64_t ts, const void *data, size_t size)
{
	struct order *order = context;

	check_order(order, cpu, ts);
	order->records++;
	free(exact_copy(data, size));
	return 0;
}

static int see_lost(void *context, int cpu, uint64_t ts, int64_t count)
{
	check_order(context, cpu, ts);
	return 0;
}

/* Returns the number of records. */
static size_t walk(struct kernel *kernel, int cpu, const struct page_content *content)
{
	uint64_t newest = content->ts;
	struct page_cursor cursor;
	size_t records = 0;
	int ret;

	if (content->lost)
		decode_lost(kernel->decode, cpu, content->ts, content->lost);
	page_begin(&cursor, &kernel->source->layout, content->data, content->size, content->ts);
	while ((ret = page_next(&cursor)) > 0) {
		void *record = exact_copy(cursor.data, cursor.size);

		decode_record(kernel->decode, cpu, cursor.ts, record, cursor.size);
		free(record);
		newest = cursor.ts > newest ? cursor.ts : newest;
		records++;
	}
	PROMISED(!ret && newest == content->newest);
	return records;
}

static size_t use_page(struct kernel *kernel, struct merge *merge, int cpu, const uint8_t *page,
		       size_t length)
{
	struct page_layout layout = kernel->source->layout;
	struct page_content content;
	enum page_state state;

	page_layout_guess_order(&layout, page, length);
	state = page_check(&kernel->source->layout, page, length, &content);
	if (state != PAGE_GOOD && state != PAGE_EMPTY)
		return 0;
	PROMISED((const uint8_t *)content.data + content.size <= page + length);
	PROMISED(!merge_put(merge, cpu, &content));
	return walk(kernel, cpu, &content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order order = { 0 };
	const struct merge_sink sink = { &order, see_record, see_lost };
	struct kernel *kernel;
	struct merge *merge;
	size_t records = 0;

	if (!size)
		return 0;
	kernel = &kernels[*data % ARRAY_SIZE(fixtures)];
	order.rounds = *data & EACH_PAGE_A_ROUND;
	data++;
	size--;
	merge = merge_new(&kernel->source->cpus, &kernel->source->layout, PAGES_MAX, &sink);
	for (int i = 0; size && i < PAGES_MAX; i++) {
		int cpu = kernel->source->cpus.numbers[i % kernel->source->cpus.count];
		size_t length = kernel->source->layout.size;
		uint8_t *page;

		if (length > size)
			length = size;
		page = exact_copy(data, length);
		records += use_page(kernel, merge, cpu, page, length);
		free(page);
		data += length;
		size -= length;
		if (order.rounds) {
			merge_left_with_data(merge, cpu);
			PROMISED(!merge_end_round(merge) && order.records <= records);
		}
	}
	PROMISED(!merge_flush(merge) && order.records == records);
	merge_free(merge);
	/* A full table takes no other stack. */
	if (stacks_overflow(kernel->stacks))
		start_decode(kernel);
	return 0;
}
