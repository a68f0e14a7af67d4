/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_SOURCE_H
#define ALLOCFILT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Where pages come from: the buffers of a running kernel, or a capture. Both are read in rounds of
 * a few pages a CPU, so that no CPU starves another and time can be merged between rounds.
 */

#define SOURCE_QUOTA 32		/* pages a CPU and round */

struct source_sink {
	void *context;
	/* may a page of this CPU be read now? */
	bool (*ready)(void *context, int cpu);
	/* a page, valid during the call; @last: of a capture's file, nothing comes behind it */
	int (*page)(void *context, int cpu, const void *page, size_t length, bool last);
	/* this CPU was not read to its end in this round */
	void (*left_with_data)(void *context, int cpu);
};

#endif
