/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_ACCOUNT_SNAPSHOT_H
#define ALLOCFILT_ACCOUNT_SNAPSHOT_H

#include "account/family.h"
#include "allocfilt/account/account.h"
#include "allocfilt/base/hash.h"

#define ACCOUNT_WAITERS_MAX 4096 /* processes with stalls */

/* A process with stalls; it is never dropped. */
struct waiter {
	struct hash_link hash; /* by pid */
	uint64_t stalls;
	uint64_t waited; /* ns */
};

/* The rows that were read at one time, sorted by their keys. */
struct snapshot {
	char *texts[HISTOGRAM_COUNT]; /* which names are in */
	struct account_tables tables; /* without the sums, but in shown */
};

struct account {
	const struct plan *plan;
	const pid_t *pids;
	struct family family;
	struct hash waiters;
	struct waiter waiter[ACCOUNT_WAITERS_MAX];
	uint64_t dropped_stalls;
	struct snapshot now, before; /* before: when the interval began */
	bool begins_interval;	     /* now does */
	struct snapshot shown;	     /* the result of account_tables(), with the present names */
};

void snapshot_free(struct snapshot *snapshot);

/** snapshot_merge - one row for each call site of kmalloc or kmem_cache_alloc, and each process */
void snapshot_merge(struct snapshot *snapshot);

#endif
