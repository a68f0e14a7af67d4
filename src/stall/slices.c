// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/slices.h"

#include <string.h>

static bool is_same_slice(const struct stall_slice *a, const struct stall_slice *b)
{
	return a->shrinker == b->shrinker && a->callback == b->callback &&
	       a->function == b->function && a->tid == b->tid && a->group == b->group &&
	       a->part == b->part && a->state == b->state;
}

bool slices_add(struct stall_slice *slices, size_t *count, const struct stall_slice *slice)
{
	struct stall_slice *least = slices;

	for (size_t i = 0; i < *count; i++) {
		if (is_same_slice(&slices[i], slice)) {
			slices[i].ns += slice->ns;
			slices[i].count += slice->count;
			slices[i].scanned += slice->scanned;
			slices[i].freed += slice->freed;
			slices[i].reclaiming += slice->reclaiming;
			for (int state = 0; state < PHASE_STATES; state++)
				slices[i].in[state] += slice->in[state];
			return false;
		}
		if (slices[i].ns < least->ns)
			least = &slices[i];
	}
	if (*count < STALL_SLICES_MAX) {
		slices[(*count)++] = *slice;
		return false;
	}
	if (least->ns < slice->ns)
		*least = *slice;
	return true;
}

/* qsort(3) may allocate. */
void slices_sort(struct stall_slice *slices, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct stall_slice slice = slices[i];
		size_t place = i;

		for (; place; place--) {
			const struct stall_slice *before = &slices[place - 1];

			if (before->ns > slice.ns ||
			    (before->ns == slice.ns && before->shrinker <= slice.shrinker &&
			     before->function <= slice.function))
				break;
			slices[place] = *before;
		}
		slices[place] = slice;
	}
}

/* kswapd has the CPU because memory is short, ksoftirqd to free what was reclaimed. */
static bool is_reclaiming(const struct run *run)
{
	return run->reclaims || !strncmp(run->name, "kswapd", strlen("kswapd")) ||
	       !strncmp(run->name, "ksoftirqd", strlen("ksoftirqd"));
}

void slices_add_runners(const struct runs *runs, const struct log_off_cpu *off_cpu, uint64_t from,
			uint64_t to, struct stall_slice *slices, size_t *count)
{
	uint64_t until = off_cpu->came;
	const struct run *run;

	for (uint32_t number = off_cpu->run; until > from; number = run->before) {
		uint64_t start, end = until < to ? until : to;

		run = runs_at(runs, number);
		if (!run || run->start > until)
			return;
		start = run->start > from ? run->start : from;
		until = run->start;
		if (run->tid == RUN_UNKNOWN || start >= end)
			continue;
		struct stall_slice runner = {
			.tid = run->tid,
			.state = STATE_WAITED,
			.ns = end - start,
			.reclaiming = is_reclaiming(run) ? end - start : 0,
		};
		/* The idle task of a CPU has its number in its name: "swapper/0". */
		memcpy(runner.name, run->name,
		       strnlen(run->name, run->tid ? sizeof(run->name) : strlen("swapper")));
		slices_add(slices, count, &runner);
	}
}
