// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "allocfilt/record.h"
#include "record/record_ring.h"

struct cpu_queue {
	struct record_ring ring;
	uint64_t newest; /* ns: last time read from this CPU */
	bool left_with_data;
};

struct merge {
	record_sink sink;
	void *context;
	struct cpu_list cpus;
	struct cpu_queue *queues; /* one for each place */
	int *heap;		  /* places with records, the one with the earliest on top */
	int heap_size;
	unsigned char *rings;
	uint64_t newest;	/* ns: over all CPUs, this round */
	uint64_t newest_before; /* the same, up to the round before */
	uint64_t forced;
};

size_t merge_page_bytes(size_t page_size)
{
	return RECORD_RING_PAGE_FACTOR * page_size;
}

size_t merge_share(int cpus, size_t page_size)
{
	size_t share = MERGE_BYTES / cpus;

	if (share > MERGE_CPU_BYTES)
		share = MERGE_CPU_BYTES;
	if (share < merge_page_bytes(page_size))
		share = merge_page_bytes(page_size);
	return share / RECORD_RING_ALIGN * RECORD_RING_ALIGN;
}

struct merge *merge_new(const struct cpu_list *cpus, size_t share, record_sink sink, void *context)
{
	struct merge *merge;

	if (cpus->count < 1 || share < RECORD_RING_ALIGN) {
		errno = EINVAL;
		return NULL;
	}
	merge = calloc(1, sizeof(*merge));
	if (!merge)
		return NULL;
	merge->sink = sink;
	merge->context = context;
	merge->cpus = *cpus;
	share = share / RECORD_RING_ALIGN * RECORD_RING_ALIGN;
	merge->queues = calloc(cpus->count, sizeof(*merge->queues));
	merge->heap = calloc(cpus->count, sizeof(*merge->heap));
	merge->rings = calloc(cpus->count, share);
	if (!merge->queues || !merge->heap || !merge->rings) {
		merge_free(merge);
		errno = ENOMEM;
		return NULL;
	}
	for (int place = 0; place < cpus->count; place++)
		record_ring_init(&merge->queues[place].ring, merge->rings + place * share, share);
	return merge;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	free(merge->rings);
	free(merge->heap);
	free(merge->queues);
	free(merge);
}

static uint64_t first_time(const struct merge *merge, int place)
{
	return record_ring_time(&merge->queues[place].ring);
}

static bool heap_before(const struct merge *merge, int a, int b)
{
	uint64_t ts_a = first_time(merge, a);
	uint64_t ts_b = first_time(merge, b);

	return ts_a < ts_b || (ts_a == ts_b && a < b);
}

static void heap_swap(struct merge *merge, int i, int k)
{
	int place = merge->heap[i];

	merge->heap[i] = merge->heap[k];
	merge->heap[k] = place;
}

static void heap_up(struct merge *merge, int i)
{
	while (i > 0 && heap_before(merge, merge->heap[i], merge->heap[(i - 1) / 2])) {
		heap_swap(merge, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void heap_down(struct merge *merge, int i)
{
	for (;;) {
		int least = i;

		for (int k = 2 * i + 1; k <= 2 * i + 2 && k < merge->heap_size; k++)
			if (heap_before(merge, merge->heap[k], merge->heap[least]))
				least = k;
		if (least == i)
			return;
		heap_swap(merge, i, least);
		i = least;
	}
}

/* Call it after the first record of the top CPU was replaced or removed. */
static void heap_settle_top(struct merge *merge)
{
	if (!merge->queues[merge->heap[0]].ring.held)
		merge->heap[0] = merge->heap[--merge->heap_size];
	if (merge->heap_size)
		heap_down(merge, 0);
}

/* Passes on the earliest record of all CPUs. */
static int emit_first(struct merge *merge)
{
	int place = merge->heap[0];
	struct record record;

	record_ring_pop(&merge->queues[place].ring, &record);
	record.cpu = merge->cpus.numbers[place];
	heap_settle_top(merge);
	return merge->sink(merge->context, &record);
}

int merge_put(void *context, const struct record *record)
{
	struct merge *merge = context;
	struct record in_order = *record;
	int place = cpu_list_place(&merge->cpus, record->cpu);
	struct cpu_queue *queue;
	int ret;

	if (place < 0)
		return -EINVAL;
	queue = &merge->queues[place];
	if (in_order.ts < queue->newest)
		in_order.ts = queue->newest;
	queue->newest = in_order.ts;
	if (in_order.ts > merge->newest)
		merge->newest = in_order.ts;
	/* Makes room in a full ring by passing on records early. */
	while ((ret = record_ring_put(&queue->ring, &in_order)) == -ENOSPC) {
		merge->forced++;
		ret = emit_first(merge);
		if (ret)
			return ret;
	}
	if (ret)
		return ret;
	if (queue->ring.held == 1) {
		merge->heap[merge->heap_size] = place;
		heap_up(merge, merge->heap_size++);
	}
	return 0;
}

bool merge_has_room(const struct merge *merge, int cpu, size_t bytes)
{
	int place = cpu_list_place(&merge->cpus, cpu);

	return place >= 0 && record_ring_room(&merge->queues[place].ring) >= bytes;
}

void merge_left_with_data(struct merge *merge, int cpu)
{
	int place = cpu_list_place(&merge->cpus, cpu);

	if (place >= 0)
		merge->queues[place].left_with_data = true;
}

/* Passes on all records up to a time. */
static int emit_until(struct merge *merge, uint64_t line)
{
	while (merge->heap_size && first_time(merge, merge->heap[0]) <= line) {
		int ret = emit_first(merge);

		if (ret)
			return ret;
	}
	return 0;
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

uint64_t merge_forced(const struct merge *merge)
{
	return merge->forced;
}
