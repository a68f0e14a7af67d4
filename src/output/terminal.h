/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_TERMINAL_H
#define ALLOCFILT_OUTPUT_TERMINAL_H

#include <stdbool.h>

#include "allocfilt/base.h"

/* What may be written to a descriptor for a person to read. */
struct terminal {
	bool colour; /* SGR sequences */
	bool box;    /* box drawing characters */
	enum text_rule names;
};

/**
 * terminal_look - look at a descriptor, and at NO_COLOR, TERM and the locale
 *
 * Colour on a terminal whose TERM is set and not "dumb", unless NO_COLOR is set to something
 * (no-color.org). Box drawing on such a terminal where the locale's characters are UTF-8. A file or
 * pipe gets neither, and names as they are.
 */
void terminal_look(struct terminal *terminal, int fd);

#endif
