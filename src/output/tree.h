/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_TREE_H
#define ALLOCFILT_OUTPUT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"

/* Stalls and phases as text for people. */

/* What the output may use. A file, all zeros: nothing. */
struct terminal {
	bool colour;	      /* SGR sequences */
	bool box;	      /* box drawing characters */
	enum text_rule names; /* how names are escaped */
};

/**
 * tree_stall - write a stall: a line with its facts, its phases as a tree, its stack
 *
 * One of nothing but rest has no tree.
 */
void tree_stall(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		const struct named_stall *named);

/**
 * tree_phases - write phases as an indented tree, with times in ms and shares of the whole
 * @stall: whose they are, for its shrinkers and what it did meanwhile; NULL: those of several
 */
void tree_phases(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		 const struct phases *phases, const struct stall *stall);

/**
 * tree_visit - the rows of a stall's tree, for another form
 * @visit: @level is 0 for a phase, 1 for its part, 2 for a shrinker; @title: any bytes
 */
void tree_visit(struct resolver *resolver, const struct stall *stall,
		void (*visit)(void *context, int level, const char *title, uint64_t ns),
		void *context);

/** tree_add_ms - add ns as milliseconds, "12.345"; @width: columns before the point, at least */
void tree_add_ms(struct line *line, int width, uint64_t ns);

#endif
