/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PROBES_H
#define ALLOCFILT_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "failure.h"
#include "kernel.h"

/*
 * The probe that tells whose a superblock shrinker is: an event probe on mm_shrink_slab_start, or
 * a kprobe event on super_cache_scan where the kernel has no event probes. It fetches the
 * shrinker's address and the superblock's s_id and s_dev, at offsets that BTF tells. Dynamic events
 * are global; ours goes through the table of steps and is enabled in our own buffer only.
 */

#define PROBE_SYSTEM	"allocfilt"
#define PROBE_NAME	"shrinker"
#define PROBE_CALLBACK	"super_cache_scan"	/* the scan function of all superblocks */
#define PROBE_EVENT	PROBE_SYSTEM "/" PROBE_NAME

struct probe {
	char definition[512];	/* the line for dynamic_events */
	char filter[64];	/* for the probe's filter file, "" where the definition has it */
	bool on_event;		/* an event probe, else a kprobe event */
	bool filtered;		/* an event probe's definition may have its filter in it */
	bool has_private_data;	/* from 6.7: the shrinker points to the superblock */
	uint32_t private_data;	/* bytes: shrinker.private_data */
	uint32_t s_shrink;	/* super_block.s_shrink, where the shrinker lies within */
	uint32_t s_id;
	uint32_t s_dev;
};

/**
 * probe_find - look at what this kernel has, and where the members lie
 *
 * Takes as much memory for a moment as the kernel's BTF is long (6 MB). Changes nothing. Returns 0,
 * or -errno with @failure: why there will be no names of superblocks.
 */
int probe_find(struct probe *probe, const struct kernel *kernel, struct failure *failure);

/**
 * probe_define - write the definition of a probe that was found
 * @callback: address of PROBE_CALLBACK; 0 where it is not known: then each shrinker writes a
 *	record, and those of no superblock are left out when they are read
 */
void probe_define(struct probe *probe, uint64_t callback);

#endif
