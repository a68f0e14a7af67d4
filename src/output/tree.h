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
 * tree_stall - write a stall: a line with its facts, its phases as a tree, its stack
 *
 * One of nothing but outside reclaim has no tree.
 */
void tree_stall(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		const struct named_stall *named);

/**
 * tree_phases - write phases as an indented tree, with times in ms and shares of the whole
 * @stall: whose they are, for its shrinkers and what it did meanwhile; NULL: those of several
 */
void tree_phases(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		 const struct phases *phases, const struct stall *stall);

#define TREE_ROWS_MAX 160

struct tree_row {
	int level; /* 0: a phase, 1: its part, 2: a shrinker; states are one level below these */
	uint64_t ns;
	bool is_half;	 /* a part that has at least half of all */
	char title[160]; /* any bytes */
};

struct tree_rows {
	struct resolver *resolver;
	const struct phases *phases;
	const struct stall *stall; /* NULL: phases are those of several */
	size_t count;
	struct tree_row row[TREE_ROWS_MAX];
};

/** tree_rows - the rows of tree_phases(), for another form; none for a stall of nothing but outside reclaim */
void tree_rows(struct tree_rows *rows, struct resolver *resolver, const struct phases *phases,
	       const struct stall *stall);

#endif
