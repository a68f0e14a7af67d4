/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_TRACED_H
#define ALLOCFILT_CAPTURE_TRACED_H

#include "allocfilt/capture.h"
#include "allocfilt/record.h"

/*
 * What was traced, found in the data itself: a trace.dat does not tell. A function of the catalog was
 * traced if it has a window.
 */

struct traced;

/** traced_new - returns 0, or -ENOMEM; @source has to outlive it */
int traced_new(struct traced **traced, const struct data_source *source);
void traced_free(struct traced *traced);

/** traced_page - look at a page: all of the source's have to pass through it */
void traced_page(struct traced *traced, const struct capture_page *page);

/** traced_windows, traced_events - windows of any function, and events of the catalog */
uint64_t traced_windows(const struct traced *traced);
uint64_t traced_events(const struct traced *traced);

/** traced_bad_pages - pages that were damaged, and passed over */
uint64_t traced_bad_pages(const struct traced *traced);

/** traced_filter - the functions, as set_ftrace_filter has them; free() it; NULL where memory is short */
char *traced_filter(const struct traced *traced);

#endif
