// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "allocfilt/record.h"
#include "record/page_walk.h"

/* What page_check() found, copied. */
struct held_page {
	STAILQ_ENTRY(held_page) link; /* in a queue's pages */
	uint64_t ts;
	size_t size;
	int64_t lost;
	unsigned char data[];
};

STAILQ_HEAD(held_pages, held_page);

/* A CPU's pages, oldest first. The cursor is at the record that is passed on next. */
struct cpu_queue {
	struct held_pages pages;
	size_t nr_pages;
	struct page_cursor cursor;
	int64_t lost;	 /* passed on in place of a record; 0: none */
	uint64_t newest; /* ns: last time read from this CPU */
	bool left_with_data;
};

/* A CPU with records. */
struct next_record {
	uint64_t ts; /* ns: of the record that is passed on next; no earlier than those before it */
	int place;
};

struct merge {
	struct merge_sink sink;
	struct page_layout layout;
	struct cpu_list cpus;
	size_t share;		  /* pages of each CPU */
	struct cpu_queue *queues; /* one for each place */
	struct next_record *heap; /* the earliest on top */
	int heap_size;
	unsigned char *pages;
	struct pool pool;	/* of pages */
	uint64_t newest;	/* ns: over all CPUs, this round */
	uint64_t newest_before; /* the same, up to the round before */
};

size_t merge_share(int cpus, size_t page_size)
{
	size_t share = MERGE_BYTES / cpus;

	if (share > MERGE_CPU_BYTES)
		share = MERGE_CPU_BYTES;
	return share > page_size ? share / page_size : 1;
}

struct merge *merge_new(const struct cpu_list *cpus, const struct page_layout *layout, size_t share,
			const struct merge_sink *sink)
{
	struct merge *merge;
	size_t stride;

	if (cpus->count < 1 || !share) {
		errno = EINVAL;
		return NULL;
	}
	merge = calloc(1, sizeof(*merge));
	if (!merge)
		return NULL;
	merge->sink = *sink;
	merge->layout = *layout;
	merge->cpus = *cpus;
	merge->share = share;
	stride = (sizeof(struct held_page) + layout->size - layout->header + 7) / 8 * 8;
	merge->queues = calloc(cpus->count, sizeof(*merge->queues));
	merge->heap = calloc(cpus->count, sizeof(*merge->heap));
	merge->pages = calloc(share * cpus->count, stride);
	pool_init(&merge->pool, merge->pages, stride, share * cpus->count);
	if (!merge->queues || !merge->heap || !merge->pages) {
		merge_free(merge);
		errno = ENOMEM;
		return NULL;
	}
	for (int place = 0; place < cpus->count; place++)
		STAILQ_INIT(&merge->queues[place].pages);
	return merge;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	free(merge->pages);
	free(merge->heap);
	free(merge->queues);
	free(merge);
}

/* ---- a heap of the CPUs with records ---- */

static bool is_before(const struct next_record *a, const struct next_record *b)
{
	return a->ts < b->ts || (a->ts == b->ts && a->place < b->place);
}

static void heap_up(struct merge *merge, struct next_record next)
{
	int i = merge->heap_size++;

	for (; i > 0 && is_before(&next, &merge->heap[(i - 1) / 2]); i = (i - 1) / 2)
		merge->heap[i] = merge->heap[(i - 1) / 2];
	merge->heap[i] = next;
}

/* The earlier one of those below; NULL: there are none. */
static const struct next_record *below(const struct merge *merge, int i)
{
	const struct next_record *first = &merge->heap[2 * i + 1];

	if (2 * i + 1 >= merge->heap_size)
		return NULL;
	return 2 * i + 2 < merge->heap_size && is_before(first + 1, first) ? first + 1 : first;
}

/* Puts another one in the place of the top. */
static void heap_down(struct merge *merge, struct next_record next)
{
	const struct next_record *least;
	int i = 0;

	while ((least = below(merge, i)) && is_before(least, &next)) {
		merge->heap[i] = *least;
		i = (int)(least - merge->heap);
	}
	merge->heap[i] = next;
}

/* ---- a CPU's pages ---- */

static void begin_page(const struct merge *merge, struct cpu_queue *queue)
{
	const struct held_page *page = STAILQ_FIRST(&queue->pages);

	page_begin(&queue->cursor, &merge->layout, page->data, page->size, page->ts);
	queue->lost = page->lost;
}

/* Goes to the next page that has something to pass on. False: all are read, and given back. */
static bool next_page(struct merge *merge, struct cpu_queue *queue)
{
	do {
		struct held_page *page = STAILQ_FIRST(&queue->pages);

		STAILQ_REMOVE_HEAD(&queue->pages, link);
		pool_put(&merge->pool, page);
		if (!--queue->nr_pages)
			return false;
		begin_page(merge, queue);
	} while (!queue->lost && page_walk(&queue->cursor) <= 0);
	return true;
}

int merge_put(struct merge *merge, int cpu, const struct page_content *content)
{
	int place = cpu_list_place(&merge->cpus, cpu);
	struct cpu_queue *queue;
	struct held_page *page;

	if (place < 0 || content->size > merge->layout.size - merge->layout.header)
		return -EINVAL;
	queue = &merge->queues[place];
	if (!content->size && !content->lost)
		return 0;
	if (queue->nr_pages == merge->share)
		return -ENOSPC;
	page = pool_take(&merge->pool); /* The one used last is in the caches. */
	page->ts = content->ts;
	page->size = content->size;
	page->lost = content->lost;
	if (content->size) /* A loss has no data. */
		memcpy(page->data, content->data, content->size);
	STAILQ_INSERT_TAIL(&queue->pages, page, link);
	if (!queue->nr_pages++) {
		struct next_record next = { queue->newest, place };

		begin_page(merge, queue);
		if (!queue->lost && page_walk(&queue->cursor) <= 0 && !next_page(merge, queue))
			return 0; /* Nothing but padding. */
		if (queue->cursor.ts > next.ts)
			next.ts = queue->cursor.ts;
		heap_up(merge, next);
	}
	if (content->newest > queue->newest)
		queue->newest = content->newest;
	if (queue->newest > merge->newest)
		merge->newest = queue->newest;
	return 0;
}

size_t merge_room(const struct merge *merge, int cpu)
{
	int place = cpu_list_place(&merge->cpus, cpu);

	return place < 0 ? 0 : merge->share - merge->queues[place].nr_pages;
}

void merge_left_with_data(struct merge *merge, int cpu)
{
	int place = cpu_list_place(&merge->cpus, cpu);

	if (place >= 0)
		merge->queues[place].left_with_data = true;
}

/* ---- passing on ---- */

/*
 * Passes on records of the CPU with the earliest one, until another CPU has an earlier one or its page
 * ends.
 */
static int emit_run(struct merge *merge, uint64_t line)
{
	struct next_record next = merge->heap[0];
	const struct next_record *other = below(merge, 0);
	struct cpu_queue *queue = &merge->queues[next.place];
	int cpu = merge->cpus.numbers[next.place];
	bool more = true;
	int ret = 0;

	/* At equal times the lower place comes first. */
	if (other && other->ts - (other->place < next.place) < line)
		line = other->ts - (other->place < next.place);
	if (queue->lost) {
		ret = merge->sink.lost(merge->sink.context, cpu, next.ts, queue->lost);
		queue->lost = 0;
		more = page_walk(&queue->cursor) > 0;
		if (more && queue->cursor.ts > next.ts)
			next.ts = queue->cursor.ts;
	}
	while (!ret && more && next.ts <= line) {
		ret = merge->sink.record(merge->sink.context, cpu, next.ts, queue->cursor.data,
					 queue->cursor.size);
		more = page_walk(&queue->cursor) > 0;
		if (more && queue->cursor.ts > next.ts)
			next.ts = queue->cursor.ts;
	}
	if (!more) {
		more = next_page(merge, queue);
		if (queue->cursor.ts > next.ts)
			next.ts = queue->cursor.ts;
	}
	heap_down(merge, more ? next : merge->heap[--merge->heap_size]);
	return ret;
}

/* Passes on all records up to a time. */
static int emit_until(struct merge *merge, uint64_t line)
{
	int ret = 0;

	while (!ret && merge->heap_size && merge->heap[0].ts <= line)
		ret = emit_run(merge, line);
	return ret;
}

int merge_end_round(struct merge *merge)
{
	uint64_t line = merge->newest_before;

	for (int place = 0; place < merge->cpus.count; place++) {
		struct cpu_queue *queue = &merge->queues[place];

		if (queue->left_with_data && queue->newest < line)
			line = queue->newest;
		queue->left_with_data = false;
	}
	merge->newest_before = merge->newest;
	return emit_until(merge, line);
}

int merge_flush(struct merge *merge)
{
	return emit_until(merge, UINT64_MAX);
}
