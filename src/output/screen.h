/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_SCREEN_H
#define ALLOCFILT_OUTPUT_SCREEN_H

#include <stdbool.h>

#include "allocfilt/base.h"

/*
 * A text that is refreshed in place on a terminal, as top(1) does. It changes nothing of the
 * terminal that would have to be put back: a run may be killed at any moment.
 */

struct screen;

/** screen_is_capable - is it a terminal that knows escape sequences? TERM is set, and not "dumb" */
bool screen_is_capable(int fd);

/** screen_new - allocate all that is needed; NULL with errno ENOMEM */
struct screen *screen_new(void);
void screen_free(struct screen *screen);

/** screen_begin - where to write the next text; what exceeds the writer's buffer is lost */
struct writer *screen_begin(struct screen *screen);

/**
 * screen_show - show the text in place of the one before, as much as there is room for
 *
 * A line that is too long goes on in the next row. The cursor is then below. Returns 0 or -errno of the writer.
 */
int screen_show(struct screen *screen, struct writer *writer);

#endif
