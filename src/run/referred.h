/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_REFERRED_H
#define ALLOCFILT_RUN_REFERRED_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/capture.h"
#include "allocfilt/plan.h"

/* What the data of a capture refers to: addresses of functions, and tasks. */

struct referred {
	uint64_t *addresses; /* ascending, each once */
	size_t nr_addresses;
	int *pids; /* ascending, each once */
	size_t nr_pids;
};

/** referred_read - read all of a capture's data; 0 or -errno; release with referred_free() */
int referred_read(struct referred *referred, struct capture *capture, const struct plan *plan);
void referred_free(struct referred *referred);

#endif
