/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_PROBE_H
#define ALLOCFILT_TRACING_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/plan/catalog.h"
#include "allocfilt/tracing/kernel.h"

/*
 * Dynamic events are global; ours are made by the session and enabled in our own buffer only.
 *
 * One names the superblock of a shrinker: an event probe on mm_shrink_slab_start, or a kprobe event on
 * super_cache_scan where the kernel has no event probes. It fetches the shrinker's address and the
 * superblock's s_id and s_dev, at offsets from BTF.
 *
 * Two tell memory waits: kprobe events on psi_memstall_enter() and psi_memstall_leave(), between which
 * the kernel counts a task for PSI (kernel/sched/psi.c). The first fetches its return address, which
 * tells the reason. The kernel calls both where PSI is off, too, and nests them.
 *
 * One tells that a task is about to read a page again that reclaim had taken: a kprobe event on
 * workingset_refault(), which the reader calls for each such page (mm/workingset.c).
 */

#define PROBE_NAME     "shrinker"
#define PROBE_CALLBACK "super_cache_scan" /* the scan function of all superblocks */
#define PROBE_EVENT    PROBE_SYSTEM "/" PROBE_NAME

/** probe_definition - the line for dynamic_events that makes an event of plan_is_probe() */
const char *probe_definition(enum event_id id);

struct probe {
	char definition[512];  /* the line for dynamic_events */
	bool on_event;	       /* an event probe, else a kprobe event */
	bool has_private_data; /* from 6.7: the shrinker points to the superblock */
	uint32_t private_data; /* bytes: shrinker.private_data */
	uint32_t s_shrink;     /* super_block.s_shrink, where the shrinker lies in it */
	uint32_t s_id;
	uint32_t s_dev;
};

/**
 * probe_find - look at what this kernel has and where the members lie, and define a probe
 *
 * Needs memory for a moment, for the names in the kernel's BTF: 2 MB on 5.10, 3 MB on 7.3. Changes
 * nothing. Returns 0, or -errno with @failure: why there will be no names of superblocks.
 */
int probe_find(struct probe *probe, const struct kernel *kernel, struct failure *failure);

/** probe_define - write the definition of a probe whose members are known */
void probe_define(struct probe *probe);

#endif
