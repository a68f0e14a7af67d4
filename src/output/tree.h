/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_TREE_H
#define ALLOCFILT_OUTPUT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"

/* Stalls and phases as text for people. */

/* How a terminal is written to; all zeros: a file. */
struct terminal {
	bool colour; /* SGR sequences */
	bool box;    /* box drawing characters */
	enum text_rule names;
};

/** tree_stall - the line and the phases of a stall, and its stack */
void tree_stall(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		const struct named_stall *named);

/** tree_phases - phases as an indented tree with times and shares of the whole */
void tree_phases(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		 const struct phases *phases, const struct stall_shrinker *shrinkers,
		 size_t nr_shrinkers);

/** tree_add_ms - add ns as milliseconds, "12.345", the whole ones in at least @width columns */
void tree_add_ms(struct line *line, int width, uint64_t ns);

#endif
