/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_STALL_TEXT_H
#define ALLOCFILT_OUTPUT_STALL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"
#include "output/terminal.h"

/* Stalls and phases for people. */

/** stall_text - head line and phases of a stall; 0 or -errno of the writer */
int stall_text(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
	       const struct named_stall *named);

/** stall_text_phases - phases as an indented tree with times and shares of the whole */
int stall_text_phases(struct writer *writer, const struct terminal *terminal,
		      struct resolver *resolver, const struct phases *phases,
		      const struct stall_shrinker *shrinkers, size_t nr_shrinkers);

/** stall_text_ms - "12.345 ms"; returns @text */
#define STALL_TEXT_MS 32
const char *stall_text_ms(char text[STALL_TEXT_MS], uint64_t ns);

#endif
