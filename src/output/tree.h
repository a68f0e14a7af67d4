/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_TREE_H
#define ALLOCFILT_OUTPUT_TREE_H

#include <stdbool.h>

#include "allocfilt/base/line.h"
#include "allocfilt/stall/stall.h"

/* Stalls as text for people. */

/* Abilities of the terminal. All zeros, as for a file: none. */
struct terminal {
	bool colour;	      /* SGR sequences */
	bool box;	      /* box drawing characters */
	enum text_rule names; /* how names are escaped */
};

/**
 * tree_stall - write a stall: who, when and how long; its cause; its facts; phases as a tree; its stack
 *
 * The time is that of the day. Rows of a level of the tree come by time, in ms and as shares of the
 * stall. Those below 1 % share one, so that rows add up. A stall of nothing but PHASE_OUTSIDE has no
 * tree where its states are not known.
 */
void tree_stall(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		const struct named_stall *named);

#endif
