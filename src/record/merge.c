// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "allocfilt/merge.h"

struct held_record {
	struct stored_record stored;
	struct held_record *next;	/* of the same CPU, or of the free list */
};

struct cpu_queue {
	struct held_record *first;
	struct held_record *last;
	size_t held;
	uint64_t newest;		/* ns: last time read from this CPU */
	bool left_with_data;
};

struct merge {
	record_sink sink;
	void *context;
	int cpus;
	struct cpu_queue *queues;
	int *heap;			/* CPUs with records, the one with the earliest on top */
	int heap_size;
	struct held_record *pool;
	struct held_record *free;
	size_t held;
	size_t records;
	uint64_t newest;		/* ns: over all CPUs, this round */
	uint64_t newest_before;		/* the same, up to the round before */
	uint64_t forced;
};

static void fill_free_list(struct merge *merge, size_t records)
{
	for (size_t i = records; i-- > 0;) {
		merge->pool[i].next = merge->free;
		merge->free = &merge->pool[i];
	}
	merge->records = records;
}

struct merge *merge_new(int cpus, size_t records, record_sink sink, void *context)
{
	struct merge *merge;

	if (cpus < 1 || !records) {
		errno = EINVAL;
		return NULL;
	}
	merge = calloc(1, sizeof(*merge));
	if (!merge)
		return NULL;
	merge->sink = sink;
	merge->context = context;
	merge->cpus = cpus;
	merge->queues = calloc(cpus, sizeof(*merge->queues));
	merge->heap = calloc(cpus, sizeof(*merge->heap));
	merge->pool = calloc(records, sizeof(*merge->pool));
	if (!merge->queues || !merge->heap || !merge->pool) {
		merge_free(merge);
		errno = ENOMEM;
		return NULL;
	}
	fill_free_list(merge, records);
	return merge;
}

static void release_held(struct merge *merge, struct held_record *held)
{
	record_store_release(&held->stored);
	held->next = merge->free;
	merge->free = held;
	merge->held--;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	for (int cpu = 0; merge->queues && cpu < merge->cpus; cpu++) {
		struct held_record *held = merge->queues[cpu].first;

		for (; held; held = held->next)
			record_store_release(&held->stored);
	}
	free(merge->pool);
	free(merge->heap);
	free(merge->queues);
	free(merge);
}

static uint64_t first_time(const struct merge *merge, int cpu)
{
	return merge->queues[cpu].first->stored.record.ts;
}

static bool heap_before(const struct merge *merge, int a, int b)
{
	uint64_t ts_a = first_time(merge, a);
	uint64_t ts_b = first_time(merge, b);

	return ts_a < ts_b || (ts_a == ts_b && a < b);
}

static void heap_swap(struct merge *merge, int i, int k)
{
	int cpu = merge->heap[i];

	merge->heap[i] = merge->heap[k];
	merge->heap[k] = cpu;
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

static void heap_push(struct merge *merge, int cpu)
{
	merge->heap[merge->heap_size] = cpu;
	heap_up(merge, merge->heap_size++);
}

/* After the first record of the CPU on top has changed or gone. */
static void heap_settle_top(struct merge *merge)
{
	if (!merge->queues[merge->heap[0]].first)
		merge->heap[0] = merge->heap[--merge->heap_size];
	if (merge->heap_size)
		heap_down(merge, 0);
}

/* Hands on the earliest record of all. */
static int give_first(struct merge *merge)
{
	struct cpu_queue *queue = &merge->queues[merge->heap[0]];
	struct held_record *held = queue->first;
	int ret;

	queue->first = held->next;
	if (!queue->first)
		queue->last = NULL;
	queue->held--;
	heap_settle_top(merge);
	ret = merge->sink(merge->context, &held->stored.record);
	release_held(merge, held);
	return ret;
}

static void append(struct merge *merge, struct held_record *held, int cpu)
{
	struct cpu_queue *queue = &merge->queues[cpu];

	held->next = NULL;
	queue->held++;
	merge->held++;
	if (queue->last) {
		queue->last->next = held;
		queue->last = held;
		return;
	}
	queue->first = held;
	queue->last = held;
	heap_push(merge, cpu);
}

static void note_time(struct merge *merge, struct record *record)
{
	struct cpu_queue *queue = &merge->queues[record->cpu];

	if (record->ts < queue->newest)
		record->ts = queue->newest;
	queue->newest = record->ts;
	if (record->ts > merge->newest)
		merge->newest = record->ts;
}

int merge_put(void *context, const struct record *record)
{
	struct merge *merge = context;
	struct held_record *held;
	int ret;

	if (record->cpu < 0 || record->cpu >= merge->cpus)
		return -EINVAL;
	if (!merge->free) {
		merge->forced++;
		ret = give_first(merge);
		if (ret)
			return ret;
	}
	held = merge->free;
	ret = record_store(&held->stored, record);
	if (ret)
		return ret;
	merge->free = held->next;
	note_time(merge, &held->stored.record);
	append(merge, held, record->cpu);
	return 0;
}

bool merge_has_room(const struct merge *merge, int cpu, size_t records)
{
	return merge->queues[cpu].held + records <= merge->records / merge->cpus;
}

void merge_left_with_data(struct merge *merge, int cpu)
{
	merge->queues[cpu].left_with_data = true;
}

/* Up to which time everything has been read, and forgets the marks of the round. */
static uint64_t end_line(struct merge *merge)
{
	uint64_t line = merge->newest_before;

	for (int cpu = 0; cpu < merge->cpus; cpu++) {
		struct cpu_queue *queue = &merge->queues[cpu];

		if (queue->left_with_data && queue->newest < line)
			line = queue->newest;
		queue->left_with_data = false;
	}
	merge->newest_before = merge->newest;
	return line;
}

int merge_end_round(struct merge *merge)
{
	uint64_t line = end_line(merge);

	while (merge->heap_size && first_time(merge, merge->heap[0]) <= line) {
		int ret = give_first(merge);

		if (ret)
			return ret;
	}
	return 0;
}

int merge_flush(struct merge *merge)
{
	while (merge->heap_size) {
		int ret = give_first(merge);

		if (ret)
			return ret;
	}
	return 0;
}

size_t merge_held(const struct merge *merge)
{
	return merge->held;
}

uint64_t merge_forced(const struct merge *merge)
{
	return merge->forced;
}
