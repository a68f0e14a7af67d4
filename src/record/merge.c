// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/record/merge.h"

#include <errno.h>
#include <stdlib.h>

struct merge *merge_new(const struct cpu_list *cpus, const struct page_layout *layout,
			const struct page_source *source)
{
	struct merge *merge;

	if (cpus->count < 1) {
		errno = EINVAL;
		return NULL;
	}
	merge = calloc(1, sizeof(*merge));
	if (!merge)
		return NULL;
	merge->source = *source;
	merge->layout = layout;
	merge->count = cpus->count;
	merge->cpus = calloc(cpus->count, sizeof(*merge->cpus));
	merge->heap = calloc(cpus->count, sizeof(*merge->heap));
	if (!merge->cpus || !merge->heap) {
		merge_free(merge);
		return NULL;
	}
	for (int place = 0; place < cpus->count; place++)
		merge->cpus[place].number = cpus->numbers[place];
	return merge;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	free(merge->heap);
	free(merge->cpus);
	free(merge);
}

void merge_reset(struct merge *merge)
{
	for (int place = 0; place < merge->count; place++)
		merge->cpus[place] = (struct merge_cpu){ .number = merge->cpus[place].number };
	merge->turn = NULL;
	merge->heap_size = 0;
	merge->newest = merge->line = 0;
}

/* ---- a heap of the CPUs with a page ---- */

static bool goes_before(const struct merge_head *a, const struct merge_head *b)
{
	return a->ts < b->ts || (a->ts == b->ts && a->place < b->place);
}

static void heap_up(struct merge *merge, struct merge_head head)
{
	int i = merge->heap_size++;

	for (; i > 0 && goes_before(&head, &merge->heap[(i - 1) / 2]); i = (i - 1) / 2)
		merge->heap[i] = merge->heap[(i - 1) / 2];
	merge->heap[i] = head;
}

/* The earlier one of those below; NULL: there are none. */
static const struct merge_head *heap_below(const struct merge *merge, int i)
{
	const struct merge_head *first = &merge->heap[2 * i + 1];

	if (2 * i + 1 >= merge->heap_size)
		return NULL;
	return 2 * i + 2 < merge->heap_size && goes_before(first + 1, first) ? first + 1 : first;
}

/* Puts another one in the place of the top. */
static void heap_down(struct merge *merge, struct merge_head head)
{
	const struct merge_head *least;
	int i = 0;

	while ((least = heap_below(merge, i)) && goes_before(least, &head)) {
		merge->heap[i] = *least;
		i = (int)(least - merge->heap);
	}
	merge->heap[i] = head;
}

/* ---- pages ---- */

/* Reads pages of a CPU up to one with a record or a loss. Returns 1, 0 or -errno. */
static int read_page_of(struct merge *merge, int place)
{
	struct merge_cpu *cpu = &merge->cpus[place];
	struct page_content content;

	while (!cpu->more) {
		int ret = merge->source.read(merge->source.context, place, &cpu->newest, &content);

		if (ret < 0)
			return ret;
		if (!ret) {
			cpu->ended = !merge->source.grows;
			cpu->complete = cpu->ended ? UINT64_MAX : merge->newest;
			return 0;
		}
		page_begin(&cpu->cursor, merge->layout, content.data, content.size, content.ts);
		cpu->lost = content.lost;
		cpu->more = cpu->lost || page_next(&cpu->cursor) > 0;
		if (cpu->more && content.newest > merge->newest)
			merge->newest = content.newest;
	}
	/* A CPU was complete up to the time when it had no page: a loss is later. */
	if (cpu->lost && cpu->complete > cpu->ts)
		cpu->ts = cpu->complete;
	else if (!cpu->lost && cpu->cursor.ts > cpu->ts)
		cpu->ts = cpu->cursor.ts;
	return 1;
}

/* Puts the CPU of the turn where its next record belongs. Returns 0 or -errno. */
static int end_turn(struct merge *merge)
{
	int place = merge->heap[0].place;
	int ret = merge->turn->more ? 1 : read_page_of(merge, place);

	if (ret < 0)
		return ret;
	if (ret) {
		heap_down(merge, (struct merge_head){ merge->turn->ts, place });
	} else {
		merge->heap_size--;
		heap_down(merge, merge->heap[merge->heap_size]);
		if (merge->cpus[place].complete < merge->line)
			merge->line = merge->cpus[place].complete;
	}
	merge->turn = NULL;
	return 0;
}

/* Reads the CPUs without a page that are not complete up to the earliest record. Returns 0 or -errno. */
static int read_others(struct merge *merge)
{
	bool any = !merge->heap_size;
	uint64_t ts = any ? 0 : merge->heap[0].ts, line = UINT64_MAX;

	if (ts > merge->newest)
		merge->newest = ts;
	for (int place = 0; place < merge->count; place++) {
		struct merge_cpu *cpu = &merge->cpus[place];
		int ret = 0;

		if (cpu->more)
			continue;
		if (!cpu->ended && (any || cpu->complete < ts))
			ret = read_page_of(merge, place);
		if (ret < 0)
			return ret;
		if (ret)
			heap_up(merge, (struct merge_head){ cpu->ts, place });
		else if (cpu->complete < line)
			line = cpu->complete;
	}
	merge->line = line;
	return 0;
}

/* ---- records ---- */

static void begin_turn(struct merge *merge)
{
	const struct merge_head *top = &merge->heap[0], *other = heap_below(merge, 0);
	struct merge_cpu *cpu = &merge->cpus[top->place];

	cpu->until = merge->line;
	/* At equal times the lower place comes first. */
	if (other && other->ts - (other->place < top->place) < cpu->until)
		cpu->until = other->ts - (other->place < top->place);
	merge->turn = cpu;
}

int merge_next_turn(struct merge *merge, struct raw_record *raw)
{
	int ret = merge->turn ? end_turn(merge) : 0;
	uint64_t until;

	/* A CPU that was read before another one had a record is read once more. */
	while (!ret && (!merge->heap_size || merge->heap[0].ts > merge->line)) {
		ret = read_others(merge);
		if (!merge->heap_size)
			break;
	}
	if (ret || !merge->heap_size)
		return ret;
	begin_turn(merge);
	/* The cursor has no data, and the time of the page, before the first record of a page. */
	until = merge->turn->cursor.ts;
	merge_pass(merge->turn, raw);
	if (!merge->turn->lost)
		return 1;
	raw->lost = merge->turn->lost;
	raw->until = until;
	merge->turn->lost = 0;
	if (merge->turn->ts < raw->ts)
		merge->turn->ts = raw->ts;
	return 1;
}
