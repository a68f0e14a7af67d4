// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stall/stalls.h"

int runs_init(struct runs *runs, size_t bytes, int nr_cpus)
{
	runs->size = runs->next = 1;
	runs->most = (uint32_t)MIN(bytes / sizeof(struct run), UINT32_MAX / 2);
	runs->nr_cpus = nr_cpus;
	runs->ring = calloc(MAX(runs->most, 1u), sizeof(*runs->ring));
	runs->newest = calloc((size_t)nr_cpus + 1, sizeof(*runs->newest));
	return runs->ring && runs->newest ? 0 : -ENOMEM;
}

void runs_destroy(struct runs *runs)
{
	free(runs->ring);
	free(runs->newest);
}

void runs_lost(struct runs *runs, uint16_t place)
{
	struct run *run = runs->newest ? runs_at(runs, runs->newest[place]) : NULL;

	if (run)
		run->tid = RUN_UNKNOWN;
}

/* The run at @place until the next one there; who it is remains to be set. */
static inline struct run *begin_run(struct runs *runs, uint16_t place, uint64_t ts, bool reclaims)
{
	const struct run *oldest = runs_at(runs, runs->next - runs->size);
	struct run *run;

	/* A stall may still ask for it. Runs whose numbers have a place in the other half go there. */
	if (oldest && runs->size <= runs->most / 2 && oldest->start + STALL_PATIENCE > ts) {
		for (uint32_t number = runs->next - runs->size; number != runs->next; number++)
			if (number & runs->size)
				runs->ring[number & (2 * runs->size - 1)] = *runs_at(runs, number);
		runs->size *= 2;
	}
	runs->known += runs->known < runs->size;
	run = &runs->ring[runs->next & (runs->size - 1)];
	run->start = ts;
	run->before = runs->newest[place];
	run->reclaims = reclaims;
	runs->newest[place] = runs->next++;
	return run;
}

void runs_switch(struct runs *runs, uint16_t place, const struct record *record, bool reclaims)
{
	struct run *before = runs_at(runs, runs->newest[place]), *run;

	if (place == runs->nr_cpus)
		return;
	/* The switch to the task that leaves now was lost. */
	if (before && before->tid != record->tid)
		before->tid = RUN_UNKNOWN;
	run = begin_run(runs, place, record->ts, reclaims);
	run->tid = record->sched.name ? record->sched.tid : RUN_UNKNOWN;
	if (record->sched.name)
		memcpy(run->name, (const char *)record->raw + record->sched.name,
		       sizeof(run->name));
}

void runs_work(struct runs *runs, uint16_t place, const struct record *record, bool reclaims)
{
	const struct run *before = runs_at(runs, runs->newest[place]);
	struct run *run;

	if (!before || before->tid != record->tid)
		return;
	run = begin_run(runs, place, record->ts, reclaims);
	run->tid = record->tid;
	/* The run before may be the oldest one, whose place the new one has. */
	memmove(run->name, before->name, sizeof(run->name));
}
