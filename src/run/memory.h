/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_MEMORY_H
#define ALLOCFILT_RUN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/**
 * memory_lock - lock our memory, so that no page fault stops us while memory is short
 *
 * To fault in all tables in advance would make memory shorter still: where they are a large share of what
 * is available, a page is locked once it is used. Returns whether nothing is left to do: all is locked,
 * or the kernel refuses it, which is logged; else call it again later.
 */
bool memory_lock(void);

/** memory_own - bytes of our address space, and those that are resident; 0: not known */
uint64_t memory_own(uint64_t *ret_resident);

#endif
