/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_TREE_H
#define ALLOCFILT_OUTPUT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base/line.h"
#include "allocfilt/stall/stall.h"

/* Stalls and phases as text for people. */

/* Abilities of the terminal. All zeros, as for a file: none. */
struct terminal {
	bool colour;	      /* SGR sequences */
	bool box;	      /* box drawing characters */
	enum text_rule names; /* how names are escaped */
};

/**
 * tree_stall - write a stall: who, when and how long; its cause; its facts; phases as a tree; its stack
 *
 * The time is that of the day. A stall of nothing but PHASE_OUTSIDE has no tree where its states are
 * not known.
 */
void tree_stall(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		const struct named_stall *named);

/**
 * tree_phases - write phases as an indented tree, with times in ms and shares of the whole
 *
 * Rows of a level come by time. Those below 1 % of the whole share one, so that rows add up.
 *
 * @stall: whose they are, for its shrinkers and what it did meanwhile; NULL: those of several
 */
void tree_phases(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		 const struct phases *phases, const struct stall *stall);

#endif
