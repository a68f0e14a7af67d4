/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATUS_LINE_H
#define ALLOCFILT_STATUS_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "output.h"

/** status_line - "312 stalls, worst 1.2 s (nginx[812]), 0 records lost": one printable line
 *
 * Stalls of tasks that waited, and the longest of them. Returns its length.
 */
size_t status_line(char *text, size_t size, const struct summary_view *view);

/** status_lost - records lost on all CPUs; @ret_times: how often nobody knows how many */
uint64_t status_lost(const struct summary_view *view, uint64_t *ret_times);

#endif
