/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_UNAVAILABLE_H
#define ALLOCFILT_RUN_UNAVAILABLE_H

#include "allocfilt/plan.h"

/** unavailable_report - what this kernel lacks of what would be traced, in a line for each kind */
void unavailable_report(const struct plan *plan);

#endif
