/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_RUNS_H
#define ALLOCFILT_STALL_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base/trace_dir.h"
#include "allocfilt/record/record.h"

/*
 * Who ran on which CPU: a ring of the latest switches of all CPUs, from which a stall reads at its end
 * what others did while its task waited. A run lasts from its switch to the next one of its CPU, or until
 * its task begins or ends to reclaim. Each has a number, which goes round; the ring knows the newest numbers.
 */

#define RUN_UNKNOWN (-1)

struct run {
	uint64_t start;	 /* ns */
	uint32_t before; /* number of the run before it on its CPU */
	int32_t tid;	 /* 0: the CPU was idle; RUN_UNKNOWN: not all of it was recorded */
	char name[RECORD_COMM_SIZE - 1]; /* as the kernel wrote it: any bytes may follow its end */
	bool reclaims;			 /* the task, compacts, or is in a memory wait */
};

struct runs {
	struct run *ring;
	uint32_t most;	  /* room of the ring */
	uint32_t size;	  /* of it in use: a power of two */
	uint32_t known;	  /* latest runs that are in it */
	uint32_t next;	  /* number of the next run */
	uint32_t *newest; /* number, by place of a CPU; behind these that of a CPU without runs */
	int nr_cpus;
};

/** runs_init - allocate a ring, which uses @bytes at most; 0 or -ENOMEM */
int runs_init(struct runs *runs, size_t bytes, int nr_cpus);
void runs_destroy(struct runs *runs);

/** runs_cpu - the place of a CPU, as the next functions take it; that of one without runs if it has none */
static inline uint16_t runs_cpu(const struct cpu_list *cpus, int cpu)
{
	int place = cpu_list_place(cpus, cpu);

	return (uint16_t)(place < 0 ? cpus->count : place);
}

/** runs_at - a run that the ring still knows; NULL: it does not, or there was none */
static inline struct run *runs_at(const struct runs *runs, uint32_t number)
{
	return runs->next - number <= runs->known ? &runs->ring[number & (runs->size - 1)] : NULL;
}

/**
 * runs_switch - a task comes
 * @record: of sched_switch, with its fields and raw data
 */
void runs_switch(struct runs *runs, uint16_t place, const struct record *record, bool reclaims);

/** runs_work - the task that runs on a CPU begins to reclaim, or ends; @record: of it */
void runs_work(struct runs *runs, uint16_t place, const struct record *record, bool reclaims);

/** runs_lost - who runs on a CPU up to its next switch is not known; nothing if there is no ring */
void runs_lost(struct runs *runs, uint16_t place);

#endif
