// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int runs_init(struct runs *runs, size_t bytes, int nr_cpus)
{
	runs->size = 1;
	while (runs->size < UINT32_MAX / 4 && runs->size * 2 * sizeof(struct run) <= bytes)
		runs->size *= 2;
	/* So number 0 is one that the ring does not know any more. */
	runs->next = runs->size + 1;
	runs->nr_cpus = nr_cpus;
	runs->ring = calloc(runs->size, sizeof(*runs->ring));
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

void runs_switch(struct runs *runs, uint16_t place, const struct record *record, bool reclaims)
{
	struct run *before = runs_at(runs, runs->newest[place]);
	struct run *run = &runs->ring[runs->next & (runs->size - 1)];

	if (place == runs->nr_cpus)
		return;
	/* The switch to the task that leaves now was lost. */
	if (before && before->tid != record->tid)
		before->tid = RUN_UNKNOWN;
	run->start = record->ts;
	run->before = runs->newest[place];
	run->reclaims = reclaims;
	run->tid = record->sched.name ? record->sched.tid : RUN_UNKNOWN;
	if (record->sched.name)
		memcpy(run->name, (const char *)record->raw + record->sched.name,
		       sizeof(run->name));
	runs->newest[place] = runs->next++;
}

void runs_work(struct runs *runs, uint16_t place, const struct record *record, bool reclaims)
{
	const struct run *before = runs_at(runs, runs->newest[place]);
	struct run *run = &runs->ring[runs->next & (runs->size - 1)];

	if (!before || before->tid != record->tid)
		return;
	*run = *before;
	run->start = record->ts;
	run->before = runs->newest[place];
	run->reclaims = reclaims;
	runs->newest[place] = runs->next++;
}
